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

/// Evaluates the expressions of [candidates.map], each once for each distinct combination of the parameters that it
/// uses. Not safe to share between threads. spec and space must outlive it.
class FieldTable {
 public:
  /// Throws Error(invalid_spec) if the spec does not map a required field.
  FieldTable(const spec::Spec& spec, const space::Space& space, const Bindings& problem, const Bindings& device_facts,
             const CandidateTemplate& candidate);
  ~FieldTable();

  /// The fields' values, in the template's order; NaN for fields that are not mapped. Throws Error(invalid_spec), at
  /// its place, for an expression that fails or does not give a number. Valid until the next call.
  FieldValues values(const std::vector<std::uint32_t>& value_indices);
  /// An error for a field of the last values() that is out of range, with its place: "gemm.toml:22:11: the field
  /// block_m (rows of a block's tile of C) is 0, and must be ...". nullopt: none. The kind is invalid_spec, or
  /// nothing_valid for a value that is only above the maximum of the model.
  std::optional<Error> complaint() const;

 private:
  struct Column;
  const space::Space& space_;
  const CandidateTemplate& candidate_;
  std::string origin_;  ///< place for fields that are not mapped: the section's template, else the spec
  Bindings constants_;
  std::vector<Column> columns_;
  std::vector<double> values_;
};

/// Whether the problem has the size that a field of Need::problem requires, ignoring letter case.
bool has_size(const Bindings& problem, const Field& field);
Error missing_field(const spec::CandidatesSpec& section, const CandidateTemplate& candidate, const Field& field);

}  // namespace xtune::model
