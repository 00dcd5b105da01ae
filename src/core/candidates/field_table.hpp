// A template's fields as functions of a space's configurations.
#pragma once

#include <memory>
#include <vector>

#include "core/candidates/template.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"

namespace xtune {

/// Evaluates the expressions of [candidates.map]; each distinct combination of the parameters that an expression names
/// is evaluated once. Not safe to share between threads. spec and space outlive it.
class FieldTable {
 public:
  /// Throws Error(invalid_spec) for a field that the template does not have or that it misses.
  FieldTable(const Spec& spec, const Space& space, const Bindings& problem, const Bindings& device_facts,
             const CandidateTemplate& candidate);
  ~FieldTable();

  /// The fields' values, in the template's order; NaN where nothing is mapped. Throws Error(invalid_spec), at its
  /// place, for an expression that fails or gives no number. Valid until the next call.
  FieldValues values(const std::vector<std::uint32_t>& value_indices);

 private:
  struct Column;
  const Space& space_;
  Bindings constants_;
  std::vector<Column> columns_;
  std::vector<double> values_;
};

}  // namespace xtune
