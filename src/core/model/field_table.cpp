// Fields by lookup: an expression is evaluated once for each combination of the parameters that it uses.
#include "core/model/field_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_map>

#include "base/named.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::model {
namespace {

constexpr std::size_t max_kept = 1 << 17;  // results of a field

double number(const Value& value, const spec::Text& text, const std::string& field) {
  if (const auto known = space::number_or_flag(value)) return *known;
  throw spec::TextError(text, text.at, "the field '" + field + "' needs a number, and this is a string");
}

/// The problem size with this name, ignoring letter case.
std::optional<spec::Text> from_problem(const Bindings& problem, std::string_view field) {
  for (const auto& [name, value] : problem)
    if (base::lower_case(name) == base::lower_case(field)) return spec::Text{name, {}};
  return std::nullopt;
}

}  // namespace

Error missing_field(const spec::CandidatesSpec& section, const CandidateTemplate& candidate, const Field& field) {
  return {ErrorKind::invalid_spec, spec::to_string(section.map_at) + ": the template " + candidate.name + " needs '" +
                                       field.name + "', " + field.meaning + ": add " + field.name +
                                       " = \"...\" to [candidates.map]"};
}

bool has_size(const Bindings& problem, const Field& field) { return from_problem(problem, field.name).has_value(); }

struct FieldTable::Column {
  std::size_t field;
  std::string name;
  spec::CompiledText text;
  std::vector<std::size_t> parameters;                ///< that the expression uses, by their number in the space
  std::unordered_map<std::uint64_t, double> results;  ///< by a hash of their values
};

FieldTable::FieldTable(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                       const Bindings& device_facts, const CandidateTemplate& candidate)
    : space_(space),
      candidate_(candidate),
      origin_(spec.candidates->template_at.line ? spec::to_string(spec.candidates->template_at) : spec.path.string()),
      constants_(device_facts),
      values_(candidate.fields.size(), NAN) {
  constants_.insert(problem.begin(), problem.end());
  const spec::CandidatesSpec& section = *spec.candidates;
  for (std::size_t i = 0; i < candidate.fields.size(); ++i) {
    const Field& field = candidate.fields[i];
    std::optional<spec::Text> text;
    if (const auto* mapped = base::find_named(section.map, field.name))
      text = mapped->expression;
    else if (field.need == Need::problem)
      text = from_problem(problem, field.name);
    if (!text && field.need != Need::optional) throw missing_field(section, candidate, field);
    if (!text) continue;
    Column column{i, field.name, spec::CompiledText::expression(*text), {}, {}};
    for (std::size_t p = 0; p < space.parameters().size(); ++p)
      if (column.text.parts().front().expression.front().names().contains(space.parameters()[p].name))
        column.parameters.push_back(p);
    columns_.push_back(std::move(column));
  }
}

FieldTable::~FieldTable() = default;

FieldValues FieldTable::values(const std::vector<std::uint32_t>& value_indices) {
  const std::vector<space::Parameter>& parameters = space_.parameters();
  for (Column& column : columns_) {
    std::uint64_t place = 0;
    for (const std::size_t p : column.parameters) place = base::mix64(place + value_indices[p] + 1);
    if (const auto known = column.results.find(place); known != column.results.end()) {
      values_[column.field] = known->second;
      continue;
    }
    const Value value = column.text.evaluate([&](std::string_view name) -> const Value* {
      for (const std::size_t p : column.parameters)
        if (parameters[p].name == name) return &parameters[p].values[value_indices[p]];
      return space::find_value(constants_, name);
    });
    values_[column.field] = number(value, column.text.source(), column.name);
    if (column.results.size() < max_kept) column.results.emplace(place, values_[column.field]);
  }
  return values_;
}

std::optional<Error> FieldTable::complaint() const {
  for (const Column& column : columns_) {
    const Field& field = candidate_.fields[column.field];
    const double value = values_[column.field];
    if (in_range(field, value)) continue;
    const spec::Text& text = column.text.source();
    const bool only_too_large = std::isfinite(value) && value >= beyond_any_field;
    return Error(only_too_large ? ErrorKind::nothing_valid : ErrorKind::invalid_spec,
                 fmt::format("{}: the field {} ({}) is {:g}, and {}", text.at.line ? spec::to_string(text.at) : origin_,
                             field.name, field.meaning, value, range_text(field)));
  }
  return std::nullopt;
}

}  // namespace xtune::model
