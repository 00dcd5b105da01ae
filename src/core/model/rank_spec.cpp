// The parts of a spec for a ranking: checks, options, the work of given configurations, and the spec of a template
// without a spec file.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/model/field_table.hpp"
#include "core/model/rank.hpp"
#include "core/model/template.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::model {

namespace {

/// Checks the sizes that -D sets for a template: each is one of the template's, occurs once, and is in its range.
void check_sizes(const CandidateTemplate& candidate, const Bindings& problem) {
  std::string names;
  for (const Field& field : candidate.fields)
    if (field.need == Need::problem) names += (names.empty() ? "" : ", ") + std::string(field.name);
  std::set<std::string> seen;
  for (const auto& [name, value] : problem) {
    const std::string given = "-D " + name + "=" + space::shown_text(value);
    const auto field = std::find_if(candidate.fields.begin(), candidate.fields.end(),
                                    [&size = name, &number = value](const Field& known) {
                                      return known.need == Need::problem && has_size({{size, number}}, known);
                                    });
    if (field == candidate.fields.end())
      throw Error(ErrorKind::invalid_argument,
                  given + ": the template " + candidate.name + " has no such size; it takes " + names);
    if (!seen.insert(field->name).second)
      throw Error(ErrorKind::invalid_argument, given + ": the size " + field->name + " is given twice");
    if (const auto* size = std::get_if<std::int64_t>(&value); !size || !in_range(*field, static_cast<double>(*size)))
      throw Error(ErrorKind::invalid_argument,
                  given + ": " + field->name + " (" + field->meaning + ") " + range_text(*field));
  }
}

}  // namespace

RankOptions rank_options(const spec::CandidatesSpec& spec) {
  RankOptions options;
  options.top_k = static_cast<std::size_t>(spec.top_k);
  options.mode = spec.rank == "carver" ? RankMode::carver : RankMode::model;
  return options;
}

void check_candidates(const spec::Spec& spec) {
  if (!spec.candidates) return;
  const spec::CandidatesSpec& section = *spec.candidates;
  const CandidateTemplate* const candidate = find_template(section.template_name);
  if (candidate == nullptr) {
    throw Error(ErrorKind::invalid_spec, spec::to_string(section.template_at) + ": unknown template '" +
                                             section.template_name + "'" +
                                             base::did_you_mean(section.template_name, template_names()) +
                                             "; there are " + fmt::format("{}", fmt::join(template_names(), ", ")));
  }
  std::vector<std::string> fields;
  for (const Field& field : candidate->fields) fields.emplace_back(field.name);
  for (const spec::CandidateField& entry : section.map)
    if (std::find(fields.begin(), fields.end(), entry.name) == fields.end())
      throw Error(ErrorKind::invalid_spec, spec::to_string(entry.at) + ": the template " + section.template_name +
                                               " has no field '" + entry.name + "'" +
                                               base::did_you_mean(entry.name, fields));
  for (const Field& field : candidate->fields) {
    const bool mapped = base::find_named(section.map, field.name) != nullptr;
    const bool sized =
        field.need == Need::problem && std::all_of(spec.cases.begin(), spec.cases.end(),
                                                   [&](const Bindings& problem) { return has_size(problem, field); });
    if (field.need != Need::optional && !mapped && !sized) throw missing_field(section, *candidate, field);
  }
}

std::optional<std::string> check_fields(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                        const Bindings& device_facts) {
  if (!spec.candidates || space.size() == 0) return std::nullopt;
  FieldTable fields(spec, space, problem, device_facts, *find_template(spec.candidates->template_name));
  // Enough to include every value of most parameters, and the first and the last configuration.
  constexpr std::uint64_t looked_at = 1000;
  const std::uint64_t step = std::max<std::uint64_t>(1, space.size() / looked_at);
  std::optional<Error> complaint;
  bool any_sensible = false;
  const auto look = [&](std::uint64_t index) {
    fields.values(space.value_indices(index));
    const std::optional<Error> found = fields.complaint();
    any_sensible = any_sensible || !found;
    if (!complaint) complaint = found;
  };
  for (std::uint64_t index = 0; index < space.size(); index += step) look(index);
  look(space.size() - 1);
  if (any_sensible) return std::nullopt;
  if (complaint->kind() == ErrorKind::invalid_spec) throw Error(*complaint);
  return complaint->what();
}

spec::Spec template_spec(const std::string& template_name, const std::string& dtype, const Bindings& problem,
                         const device::DeviceModel& device) {
  spec::Spec spec;
  spec.path = spec.kernel.name = template_name;
  spec.candidates.emplace();
  spec.candidates->template_name = template_name;
  spec.candidates->dtype = dtype_from_string(dtype);
  if (!spec.candidates->dtype)
    throw Error(ErrorKind::invalid_argument, "--dtype '" + base::printable(dtype, 80) + "' is not an element type" +
                                                 spec::did_you_mean_dtype(dtype) + "; give f16, bf16, f32, f64, ...");
  const CandidateTemplate* const candidate = find_template(template_name);
  if (candidate == nullptr)
    throw Error(ErrorKind::invalid_argument,
                "unknown template '" + template_name + "'" + base::did_you_mean(template_name, template_names()));
  check_sizes(*candidate, problem);
  std::string missing;
  for (const Field& field : candidate->fields) {
    if (field.need != Need::problem) continue;
    if (!has_size(problem, field)) missing += std::string(" -D ") + field.name + "=<" + field.meaning + ">";
  }
  if (!missing.empty())
    throw Error(ErrorKind::invalid_argument, "the template " + template_name + " needs sizes:" + missing);
  spec.cases = {problem};
  for (const DefaultParameter& parameter : candidate->space(device, *spec.candidates->dtype)) {
    space::Parameter values{parameter.field, {}, true};
    for (const long long value : parameter.values) values.values.emplace_back(std::int64_t{value});
    spec.parameters.push_back(std::move(values));
    spec.parameters_at.emplace_back();
    spec.candidates->map.push_back({parameter.field, {}, {parameter.field, {}}});
  }
  return spec;
}

std::vector<std::optional<ModelledWork>> modelled_work(const spec::Spec& spec, const space::Space& space,
                                                       const Bindings& problem, const device::DeviceModel& device,
                                                       std::span<const std::uint64_t> indices) try {
  std::vector<std::optional<ModelledWork>> result;
  const CandidateTemplate* const candidate = spec.candidates ? find_template(spec.candidates->template_name) : nullptr;
  if (!candidate) return result;
  FieldTable fields(spec, space, problem, device::device_facts(device.info), *candidate);
  for (const std::uint64_t index : indices) {
    const FieldValues values = fields.values(space.value_indices(index));
    if (fields.complaint()) {
      result.emplace_back();
      continue;
    }
    const Work work = candidate->work(values, device, input_type(spec, problem));
    result.push_back(ModelledWork{work.flops * work.blocks, work.memory_bytes, work.rate});
  }
  return result;
} catch (const Error&) {
  return {};
}

}  // namespace xtune::model
