// Writes a recording in xtune's own formats.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/spec/document.hpp"
#include "core/spec/spec.hpp"
#include "core/store/record.hpp"
#include "lab/formats.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::lab {
namespace {

void check_names(const Recording& recording) {
  for (const space::Parameter& parameter : recording.space.parameters()) {
    const std::string& name = parameter.name;
    const auto part_of_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::all_of(name.begin(), name.end(), part_of_name))
      throw Error(ErrorKind::invalid_argument, "the parameter '" + base::printable(name, 80) +
                                                   "' cannot be named in a spec, which takes C identifiers: rename it "
                                                   "in the recording");
  }
}

std::string spec_text(const Recording& recording, const std::string& stem, const std::string& file) {
  std::string text = fmt::format("# What {} recorded on {}, imported from {}: `xtune run` replays it.",
                                 recording.source, recording.device.name, base::printable(file));
  std::replace(text.begin(), text.end(), '\n', ' ');  // a comment must be one line
  text += '\n';
  text += fmt::format("[kernel]\nname = {}\nbackend = \"replay\"\nrecording = {}\n",
                      spec::toml_text(kernel_name_of(recording, stem)), spec::toml_text(stem + ".jsonl"));
  if (!recording.problem.empty()) {
    text += "\n[problem]\n";
    for (const auto& [name, value] : recording.problem) text += name + " = " + spec::toml_text(value) + "\n";
  }
  text += "\n[space]\nconfigs = " + spec::toml_text(stem + ".configs.csv") + "\n\n[space.params]\n";
  for (const space::Parameter& parameter : recording.space.parameters())
    text += parameter.name + " = " + spec::toml_list(parameter.values) + "\n";
  if (recording.statistic)
    text += fmt::format("\n[measure]\nstatistic = \"{}\"\n",
                        *recording.statistic == spec::Statistic::mean ? "mean" : "median");
  return text;
}

store::Record record_of(const Recording& recording, const std::string& kernel, std::uint64_t index) {
  const RecordedConfig& config = recording.configs[index];
  store::Record record;
  record.kernel = kernel;
  record.problem = recording.problem;
  record.config = recording.space.named(recording.space.at(index));
  record.outcome = config.outcome;
  record.stage = config.outcome == Outcome::ok ? "measure" : config.stage;
  record.message = config.message;
  record.samples_ms = config.samples_ms;
  record.tainted = config.tainted;
  if (config.outcome == Outcome::ok || config.outcome == Outcome::pruned)
    record.time_ms = measure::summarize(config.samples_ms);
  record.device = recording.device;
  record.toolchain = recording.source;
  record.unix_time_ms = config.unix_time_ms;
  record.compile_s = config.compile_s;
  record.bench_s = config.bench_s;
  record.key_parts = {{"recorded by", recording.source},
                      {"kernel", kernel},
                      {"problem", store::to_json(record.problem).dump()},
                      {"config", store::to_json(record.config).dump()},
                      {"device", recording.device.name}};
  record.key = build::key_of(record.key_parts);
  return record;
}

}  // namespace

std::string kernel_name_of(const Recording& recording, const std::string& stem) {
  std::string name = recording.kernel.empty() ? stem : recording.kernel;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || c == '+' || c == '.';
    if (!plain) c = '_';
  }
  if (name.size() > 100) name.resize(100);
  if (name.empty() || name.front() == '.') name = "_" + name.substr(0, 99);
  return name;
}

ImportedTexts import_texts(const Recording& recording, const std::string& stem, const std::string& file) {
  check_names(recording);
  ImportedTexts texts;
  texts.spec = spec_text(recording, stem, file);
  texts.configs = spec::configs_text(recording.space);
  const std::string kernel = kernel_name_of(recording, stem);
  texts.records = nlohmann::json{{"xtune_records", store::Record::schema},
                                 {"xtune", version},
                                 {"kernel", kernel},
                                 {"arch", recording.device.arch},
                                 {"imported_from", base::printable(file)}}
                      .dump() +
                  "\n";
  for (std::uint64_t index = 0; index < recording.space.size(); ++index)
    texts.records += store::to_json(record_of(recording, kernel, index)).dump() + "\n";
  return texts;
}

}  // namespace xtune::lab
