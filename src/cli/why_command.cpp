// xtune why: why the store answers for a configuration, or why it does not.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cli/commands.hpp"
#include "cli/stored_answers.hpp"
#include "core/candidates/resolve.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

// Telling apart more configurations than this helps nobody and takes seconds.
constexpr std::uint64_t most_configs = 20'000;

struct Verdicts {
  std::uint64_t asked = 0, stored = 0, never = 0;
  std::map<std::string, std::uint64_t> differing;  ///< which parts of the key differ -> configurations
  std::vector<std::string> example;                ///< the differences of the first miss, in full
  std::string example_config;
};

/// What is stored of one configuration that the spec asks for.
struct Measured {
  std::vector<const StoredConfig*> rows;
  std::vector<const Record*> records;  ///< where there are no rows

  bool empty() const { return rows.empty() && records.empty(); }
  bool has(const std::string& key) const {
    const KeyDigest digest(key);
    return std::any_of(rows.begin(), rows.end(), [&](const auto* row) { return row->key == digest; }) ||
           std::any_of(records.begin(), records.end(), [&](const auto* record) { return record->key == key; });
  }
};

/// By the configuration's text.
using MeasuredConfigs = std::unordered_map<std::string, Measured>;

void find(MeasuredConfigs& asked, const StoredAnswers& stored) {
  for (const Record& record : stored.records())
    if (const auto found = asked.find(bindings_text(record.config)); found != asked.end())
      found->second.records.push_back(&record);
  if (!stored.view()) return;
  stored.view()->each_row([&](const StoredConfig& row) {
    if (const auto found = asked.find(config_text(row)); found != asked.end()) found->second.rows.push_back(&row);
  });
}

/// How the stored record differs whose key does so in the fewest parts; empty: not at all.
std::vector<std::string> nearest_difference(const Measured& measured, const StoreView* view, const KeyParts& parts,
                                            const DeviceInfo& device) {
  if (measured.has(key_of(parts))) return {};
  std::optional<std::vector<std::string>> best;
  const auto add = [&](const Record& record) {
    std::vector<std::string> difference = key_difference(parts, record.key_parts);
    if (same_driver(record.device, device))
      std::erase_if(difference, [](const std::string& line) { return line.starts_with("driver: "); });
    if (!best || difference.size() < best->size()) best = std::move(difference);
  };
  for (const Record* record : measured.records) add(*record);
  for (const StoredConfig* row : measured.rows) add(view->record_of(*row));
  return std::move(*best);
}

Verdicts judge(const Spec& spec, const Space& space, const CandidateResolver& resolver, const DeviceInfo& device,
               const StoredAnswers& stored) {
  Verdicts verdicts;
  verdicts.asked = std::min(space.size(), most_configs);
  MeasuredConfigs asked;
  for (std::uint64_t i = 0; i < verdicts.asked; ++i) asked[bindings_text(resolver.config_bindings(space.at(i)))];
  find(asked, stored);
  for (std::uint64_t i = 0; i < verdicts.asked; ++i) {
    const Config config = space.at(i);
    const Bindings named = resolver.config_bindings(config);
    const Measured& measured = asked.at(bindings_text(named));
    if (measured.empty()) {
      ++verdicts.never;
      continue;
    }
    const KeyParts parts =
        resolver.measurement_key_parts(config, resolver.artifact_key(resolver.compile_request(config)));
    const std::vector<std::string> difference = nearest_difference(measured, stored.view(), parts, device);
    if (difference.empty()) {
      ++verdicts.stored;
      continue;
    }
    ++verdicts.differing[part_names(difference)];
    if (verdicts.example.empty()) {
      verdicts.example = difference;
      verdicts.example_config = config_text(spec, named);
    }
  }
  return verdicts;
}

nlohmann::ordered_json verdicts_json(const Bindings& problem, const Verdicts& verdicts, const LookupResult& lookup) {
  nlohmann::ordered_json json{{"problem", bindings_json(problem)},
                              {"configurations", verdicts.asked},
                              {"stored", verdicts.stored},
                              {"never_measured", verdicts.never}};
  json["differing"] = nlohmann::ordered_json::object();
  for (const auto& [parts, count] : verdicts.differing) json["differing"][parts] = count;
  json["example"] = {{"config", verdicts.example_config}, {"differences", verdicts.example}};
  json["lookup"] = {{"match", to_string(lookup.match)}, {"reasons", lookup.reasons}};
  return json;
}

void print_text(const Bindings& problem, const Verdicts& verdicts, const LookupResult& lookup) {
  if (!problem.empty()) print_out("problem: {}\n", bindings_text(problem));
  print_out("{} configurations: {} stored, {} never measured here\n", verdicts.asked, verdicts.stored, verdicts.never);
  for (const auto& [parts, count] : verdicts.differing)
    print_out("  {} measured under another key; what differs: {}\n", count, parts);
  if (!verdicts.example.empty()) {
    print_out("  for example {}:\n", verdicts.example_config);
    for (const std::string& difference : verdicts.example) print_out("    {}\n", difference);
  }
  print_out("lookup: {}\n", to_string(lookup.match));
  for (const std::string& reason : lookup.reasons) print_out("  {}\n", reason);
}

int show(const std::string& path, const CommonOptions& options) {
  const Target target = target_for(path, options, TargetNeed::device_or_named);
  const Spec spec = load_spec_for(path, options, target);
  const StoredAnswers stored(spec, options, target);
  if (stored.empty())
    for (const std::string& arch : recorded_archs(options.store_path(), spec.kernel.name))
      if (arch != target.device.arch)
        tell("note: {} has records of this kernel for {}, which never answer for {}\n", options.store_path().string(),
             arch, target.device.arch);
  std::vector<nlohmann::ordered_json> answers;
  for (const Bindings& problem : spec.cases) {
    const Space space = make_space(spec, problem, device_facts(target.device));
    const CandidateResolver resolver(spec, space, problem, target.device, target.arch, target.backend.toolchain, false);
    const Verdicts verdicts = judge(spec, space, resolver, target.device, stored);
    SpecFit fit(spec, problem, target.device, target.arch, target.backend.toolchain);
    const LookupResult lookup = stored.look_up(problem, fit);
    if (options.json())
      answers.push_back(verdicts_json(problem, verdicts, lookup));
    else
      print_text(problem, verdicts, lookup);
  }
  if (options.json()) print_json(answers);
  return done;
}

}  // namespace

// Also a subcommand of `store`, where who looks after one looks for it.
void add_why_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "why", "tells why the store answers for a spec's configurations, or which part of their key differs");
  const std::string prefix = app.get_name() == "store" ? "xtune store why" : "xtune why";
  add_example(*command, prefix + " configs/gemm.toml -D BLOCK_M=64");
  static CommonOptions options;
  static std::string path;
  add_spec_argument(*command, path);
  add_common_options(*command, options);
  command->callback([&context] { context.exit_code = show(path, options); });
}

}  // namespace xtune::cli
