// The list of templates.
#include "core/model/template.hpp"

namespace xtune::model {

const std::vector<CandidateTemplate>& candidate_templates() {
  static const std::vector<CandidateTemplate> templates = {
#define TEMPLATE(name) name##_template(),
#include "core/model/templates.def"
#undef TEMPLATE
  };
  return templates;
}

std::string range_text(const Field& field) {
  return "must be a number from " + std::to_string(field.least) + " to below 1e12";
}

const CandidateTemplate* find_template(std::string_view name) {
  for (const CandidateTemplate& candidate : candidate_templates())
    if (name == candidate.name) return &candidate;
  return nullptr;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const CandidateTemplate& candidate : candidate_templates()) names.emplace_back(candidate.name);
  return names;
}

}  // namespace xtune::model
