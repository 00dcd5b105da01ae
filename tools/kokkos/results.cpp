// Keys and records of what the connector measures.
#include "tools/kokkos/results.hpp"

#include <algorithm>
#include <map>

#include "core/measure/statistics.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/best.hpp"
#include "core/store/record.hpp"
#include "system/clock.hpp"
#include "system/processes.hpp"

namespace xtune::kokkos_tools {
namespace {

constexpr const char* config_part = "runtime";

std::string candidates_text(const space::Space& space) {
  std::vector<std::string> lines;
  for (const space::Parameter& parameter : space.parameters()) {
    lines.push_back(parameter.name);
    for (const Value& value : parameter.values) lines.push_back(to_text(value));
  }
  return build::canonical_list(lines);
}

Bindings config_of(Choice choice, const space::Space& space) {
  if (choice) return space.named(space.at(*choice));
  Bindings config;
  for (const space::Parameter& parameter : space.parameters()) config[parameter.name] = own_choice;
  return config;
}

bool is_default(const Bindings& config) {
  return !config.empty() &&
         std::all_of(config.begin(), config.end(), [](const auto& each) { return each.second == Value(own_choice); });
}

/// The configuration that won the newest finals, since earlier ones may have been of another problem size; nullopt:
/// there were none, or the default won.
Choice winner_of(const std::vector<const store::Record*>& records, const space::Space& space) {
  const store::Record* newest = nullptr;
  for (const store::Record* each : records)
    if (!each->finals.empty() && (!newest || each->unix_time_ms >= newest->unix_time_ms)) newest = each;
  if (!newest) return std::nullopt;
  std::vector<const store::Record*> members;
  const store::Record* of_default = nullptr;
  for (const store::Record* each : records) {
    if (each->finals != newest->finals) continue;
    members.push_back(each);
    if (is_default(each->config)) of_default = each;
  }
  if (!of_default) return std::nullopt;  // another process is writing them
  const store::FinalsResult result(members);
  return result.tied(*of_default) ? Choice() : space.index_of(result.order().front()->config);
}

/// Median times of the default by run, in the run's first measurement of it.
std::map<std::string, double> default_times(const std::vector<const store::Record*>& records) {
  std::map<std::string, double> times_ms;
  for (const store::Record* each : records)
    if (is_default(each->config) && each->time_ms.median > 0) times_ms.emplace(each->attempt, each->time_ms.median);
  return times_ms;
}

build::KeyParts without_config(const build::KeyParts& parts) {
  build::KeyParts rest;
  for (const auto& part : parts)
    if (part.first != config_part) rest.push_back(part);
  return rest;
}

}  // namespace

build::KeyParts question_parts(const Question& question, const space::Space& space,
                               const std::vector<std::string>& environment) {
  build::KeyParts parts{{"protocol", "kokkos-tools 1"},
                        {"kokkos", question.kokkos_version},
                        {"space", question.space},
                        {"kernel", question.kernel},
                        {"candidates", candidates_text(space)},
                        {"problem", resolve::problem_part(question.problem)},
                        {"device", resolve::device_part(question.device)}};
  if (!question.device.driver.empty()) parts.emplace_back("driver", question.device.driver);
  if (std::string quota = resolve::cpu_quota_part(question.device); !quota.empty())
    parts.emplace_back("cpu_quota", std::move(quota));
  parts.emplace_back("environment", build::canonical_list(environment));
  return parts;
}

Known read_known(const std::filesystem::path& store, const Question& question, const build::KeyParts& parts,
                 const space::Space& space) {
  const store::RecordSet stored = store::read_records(store, question.device.arch, question.kernel);
  std::vector<const store::Record*> fitting;
  for (const store::Record& each : stored.records)
    if (without_config(each.key_parts) == parts) fitting.push_back(&each);
  Known known;
  const std::map<std::string, double> default_ms = default_times(fitting);
  for (const store::Record* each : fitting) {
    const auto index = space.index_of(each->config);
    const auto of_default = default_ms.find(each->attempt);
    if (!index || !store::is_first(*each) || of_default == default_ms.end()) continue;
    const double time_ms = each->outcome == Outcome::pruned ? each->time_ms.min : each->time_ms.median;
    known.observations.push_back({*index, each->outcome, time_ms / of_default->second});
  }
  known.winner = winner_of(fitting, space);
  return known;
}

ResultWriter::ResultWriter(const std::filesystem::path& store, Question question, build::KeyParts parts,
                           std::string attempt)
    : question_(std::move(question)),
      parts_(std::move(parts)),
      attempt_(std::move(attempt)),
      writer_(store, question_.device.arch, question_.kernel, attempt_) {}

store::Record ResultWriter::record_of(const Finding& finding, const space::Space& space) const {
  store::Record record;
  record.kernel = question_.kernel;
  record.problem = question_.problem;
  record.config = config_of(finding.choice, space);
  record.key_parts = parts_;
  record.key_parts.emplace_back(config_part, resolve::problem_part(record.config));
  record.key = build::key_of(record.key_parts);
  record.outcome = finding.beaten ? Outcome::pruned : Outcome::ok;
  record.stage = "measure";
  for (const double time_ms : finding.samples_ms) record.samples_ms.push_back(store::kept_time_ms(time_ms));
  record.time_ms = measure::summarize(record.samples_ms);
  record.device = question_.device;
  record.toolchain = "Kokkos " + (question_.kokkos_version.empty() ? "(unknown version)" : question_.kokkos_version);
  record.host = system::host_name();
  record.attempt = attempt_;
  record.unix_time_ms = system::system_clock().unix_time_ms();
  return record;
}

void ResultWriter::write(const std::vector<Finding>& findings, const space::Space& space) {
  const std::string finals = store::new_attempt();
  for (const Finding& finding : findings) {
    if (finding.samples_ms.empty()) continue;
    store::Record record = record_of(finding, space);
    if (finding.final) record.finals = finals;
    writer_.append(record);
  }
  writer_.close();  // an application may need all of its descriptors
}

}  // namespace xtune::kokkos_tools
