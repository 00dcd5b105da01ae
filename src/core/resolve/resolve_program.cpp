// From a configuration to the build and the call of a program.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "core/build/environment.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"

namespace xtune::resolve {

template <class Use>
void CandidateResolver::State::each_word(const std::vector<const spec::CommandWord*>& words,
                                         const space::Config& config, const Use& use) const {
  const space::Lookup names = lookup(config);
  for (const spec::CommandWord* word : words)
    valued(word->text(), config, [&](const spec::CompiledText&) { use(*word, names); });
}

std::string CandidateResolver::State::call_text(const spec::CommandWord& word, const space::Config& config) const {
  std::vector<std::string> texts;
  each_word({&word}, config,
            [&](const spec::CommandWord& each, const space::Lookup& names) { each.expand(names, texts); });
  return texts.empty() ? std::string() : texts.front();
}

std::vector<std::string> CandidateResolver::State::call_texts(const spec::ProcessCommand& command,
                                                              const space::Config& config) const {
  if (!command.given()) return {};
  std::vector<std::string> texts;
  if (command.shell)
    each_word({&command.shell->word()}, config,
              [&](const spec::CommandWord&, const space::Lookup& names) { texts = command.expand(names); });
  else
    each_word(command.texts(), config,
              [&](const spec::CommandWord& each, const space::Lookup& names) { each.expand(names, texts); });
  return texts;
}

/// A text without a value is replaced by its error, as in the requests of kernels; the call then rejects it.
build::CompileRequest CandidateResolver::State::program_request(const space::Config& config) const {
  const spec::ProcessSpec& process = *spec.process;
  build::CompileRequest request;
  request.source_name = spec.path.string();
  request.source = sources.tuned.text;
  request.folder = process.folder.string();
  request.entry = "program";
  try {
    request.options = call_texts(process.build, config);
    for (const auto& [name, word] : process.build_env) request.defines.emplace_back(name, call_text(word, config));
  } catch (const NoValue& failure) {
    request.options = {"(" + failure.complaint + ")"};
  }
  request.arch = arch;
  return request;
}

device::ProgramCall CandidateResolver::State::program_call(const space::Config& config) const {
  const spec::ProcessSpec& process = *spec.process;
  call_texts(process.build, config);
  for (const auto& [name, word] : process.build_env) call_text(word, config);
  device::ProgramCall call;
  call.words = call_texts(process.exec_prefix, config);
  for (std::string& word : call_texts(process.run, config)) call.words.push_back(std::move(word));
  if (call.words.empty()) throw NoValue(process.run.at, "process.run has no words for this configuration");
  call.check = call_texts(process.check, config);
  for (const auto& [name, word] : process.env) call.environment.emplace_back(name, call_text(word, config));
  call.folder = process.folder.string();
  call.time = process.time;
  call.metrics = process.metrics;
  call.expect = process.expect;
  for (const std::filesystem::path& output : process.outputs) call.outputs.push_back(output.string());
  call.timeout_s = process.timeout_s;
  if (process.device != "host") call.device = process.device;
  if (!process.serves) return call;
  call.request =
      nlohmann::json{{"config", space::to_json(space.named(config))}, {"problem", space::to_json(problem)}}.dump();
  call.checks = process.checks;
  call.start_timeout_s = process.start_timeout_s;
  return call;
}

/// The parts of a call that affect its times and its validation.
std::string call_key_text(const device::ProgramCall& call, const spec::ProcessSpec& process) {
  const auto value_text = [](const device::ProgramValue& value) {
    return fmt::format("{}={} '{}' {} {} {}", value.name.empty() ? "time" : value.name, static_cast<int>(value.form),
                       value.where, value.file, value.unit, value.row);
  };
  std::vector<std::string> variables, values{value_text(call.time)};
  std::map<std::string, std::string> set =
      build::set_variables({build::VariableReader::threads, build::VariableReader::loader}, process.environment);
  for (const auto& [name, text] : call.environment) {
    set.erase(name);
    variables.push_back(name + "=" + text);
  }
  for (const auto& [name, value] : set) variables.push_back(name + "=" + device::to_call_text(value));
  for (const device::ProgramValue& metric : call.metrics) values.push_back(value_text(metric));
  std::string text = "call " + build::canonical_list(call.words);
  if (!variables.empty()) text += " environment " + build::canonical_list(variables);
  text += " values " + build::canonical_list(values);
  if (!call.expect.empty()) text += " expect " + build::canonical_list({call.expect});
  if (!call.check.empty()) text += " check " + build::canonical_list(call.check);
  if (!call.request.empty()) text += " request " + build::canonical_list({call.request});
  if (call.checks) text += " checked";
  return text;
}

}  // namespace xtune::resolve
