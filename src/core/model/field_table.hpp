// A template's fields as functions of a space's configurations.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/model/template.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"
#include "xtune/error.hpp"

namespace xtune::model {

/// Evaluates the expressions of [candidates.map]; each distinct combination of the parameters that an expression names
/// is evaluated once. Not safe to share between threads. spec and space outlive it.
class FieldTable {
 public:
  /// Throws Error(invalid_spec) for a field that the template misses.
  FieldTable(const spec::Spec& spec, const space::Space& space, const Bindings& problem, const Bindings& device_facts,
             const CandidateTemplate& candidate);
  ~FieldTable();

  /// The fields' values, in the template's order; NaN where nothing is mapped. Throws Error(invalid_spec), at its
  /// place, for an expression that fails or gives no number. Valid until the next call.
  FieldValues values(const std::vector<std::uint32_t>& value_indices);
  /// Which of the last values() is out of its field's range, with its place: "gemm.toml:22:11: the field block_m (rows
  /// of a block's tile of C) is 0, and must be ...". nullopt: none. invalid_spec, or nothing_valid for a value that is
  /// only more than the model counts.
  std::optional<Error> complaint() const;

 private:
  struct Column;
  const space::Space& space_;
  const CandidateTemplate& candidate_;
  std::string origin_;  ///< the place of what is not mapped: the section's template, else the spec
  Bindings constants_;
  std::vector<Column> columns_;
  std::vector<double> values_;
};

/// Whether the problem has the size that a field of Need::problem asks for, whatever its letter case.
bool has_size(const Bindings& problem, const Field& field);
Error missing_field(const spec::CandidatesSpec& section, const CandidateTemplate& candidate, const Field& field);

}  // namespace xtune::model
