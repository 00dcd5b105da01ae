// Fills in the commands of [process] for one configuration.
#include "core/spec/process_spec.hpp"

namespace xtune::spec {

std::vector<std::string> ProcessCommand::expand(const space::Lookup& lookup) const {
  if (shell) return {"/bin/sh", "-c", shell->expand(lookup)};
  std::vector<std::string> texts;
  for (const CommandWord& word : words) word.expand(lookup, texts);
  return texts;
}

std::vector<const CommandWord*> ProcessCommand::texts() const {
  std::vector<const CommandWord*> texts;
  for (const CommandWord& word : words) texts.push_back(&word);
  if (shell) texts.push_back(&shell->word());
  return texts;
}

std::string ProcessCommand::program() const {
  if (shell) return "/bin/sh";
  if (words.empty() || !words.front().expressions().empty()) return {};
  std::vector<std::string> texts;
  words.front().expand([](std::string_view) { return nullptr; }, texts);
  return texts.empty() ? std::string() : texts.front();
}

std::vector<std::string> reported_names(const Spec& spec) {
  std::vector<std::string> names;
  if (spec.process)
    for (const device::ProgramValue& metric : spec.process->metrics) names.push_back(metric.name);
  return names;
}

bool validates(const Spec& spec) {
  if (!spec.validate.check.empty()) return true;
  if (spec.process) return spec.process->check.given() || spec.process->checks || !spec.process->expect.empty();
  return spec.validate.reference.kind != ReferenceSpec::Kind::none;
}

}  // namespace xtune::spec
