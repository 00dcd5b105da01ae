// What a ranking takes from a spec: its checks, its options, and the spec of a bare template.
#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "core/candidates/rank.hpp"
#include "core/candidates/template.hpp"
#include "xtune/error.hpp"

namespace xtune {

RankOptions rank_options(const CandidatesSpec& spec) {
  RankOptions options;
  options.top_k = static_cast<std::size_t>(spec.top_k);
  options.mode = spec.rank == "carver" ? RankMode::carver : RankMode::model;
  return options;
}

void check_candidates(const Spec& spec) {
  if (!spec.candidates) return;
  const CandidatesSpec& section = *spec.candidates;
  const CandidateTemplate* const candidate = find_template(section.template_name);
  if (candidate == nullptr) {
    std::string known;
    for (const std::string& name : template_names()) known += (known.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::invalid_spec,
                to_string(section.template_at) + ": unknown template '" + section.template_name + "'" +
                    did_you_mean(section.template_name, template_names()) + "; there are " + known);
  }
  std::vector<std::string> fields;
  for (const Field& field : candidate->fields) fields.emplace_back(field.name);
  for (const CandidateField& entry : section.map)
    if (std::find(fields.begin(), fields.end(), entry.name) == fields.end())
      throw Error(ErrorKind::invalid_spec, to_string(entry.at) + ": the template " + section.template_name +
                                               " has no field '" + entry.name + "'" + did_you_mean(entry.name, fields));
}

Spec template_spec(const std::string& template_name, const std::string& dtype, const Bindings& problem,
                   const DeviceModel& device) {
  Spec spec;
  spec.path = spec.kernel.name = template_name;
  spec.candidates.emplace();
  spec.candidates->template_name = template_name;
  spec.candidates->dtype = dtype_from_string(dtype);
  if (!spec.candidates->dtype)
    throw Error(ErrorKind::invalid_argument, "--dtype " + dtype + " is no element type: give f16, bf16, f32, f64, ...");
  const CandidateTemplate* const candidate = find_template(template_name);
  if (candidate == nullptr)
    throw Error(ErrorKind::invalid_argument,
                "unknown template '" + template_name + "'" + did_you_mean(template_name, template_names()));
  std::string missing;
  for (const Field& field : candidate->fields) {
    if (field.need != Need::problem) continue;
    const bool given = std::any_of(problem.begin(), problem.end(), [&](const auto& size) {
      return std::equal(size.first.begin(), size.first.end(), field.name,
                        field.name + std::string_view(field.name).size(),
                        [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
    });
    if (!given) missing += std::string(" -D ") + field.name + "=<" + field.meaning + ">";
  }
  if (!missing.empty())
    throw Error(ErrorKind::invalid_argument, "the template " + template_name + " needs sizes:" + missing);
  spec.cases = {problem};
  for (const DefaultParameter& parameter : candidate->space(device, *spec.candidates->dtype)) {
    Parameter values{parameter.field, {}, true};
    for (const long long value : parameter.values) values.values.emplace_back(std::int64_t{value});
    spec.parameters.push_back(std::move(values));
    spec.parameters_at.emplace_back();
    spec.candidates->map.push_back({parameter.field, {}, {parameter.field, {}}});
  }
  return spec;
}

}  // namespace xtune
