// Reads caches, record files and stores, and groups records into recordings.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/measure/statistics.hpp"
#include "core/store/best.hpp"
#include "core/store/record.hpp"
#include "lab/formats.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::lab {
namespace {

namespace fs = std::filesystem;

struct Group {
  std::vector<const store::Record*> records;
  std::uint64_t other_space = 0;
};

/// Whether the values can be compared: NaN cannot.
bool sound(const Bindings& config) {
  return std::all_of(config.begin(), config.end(), [](const auto& entry) {
    const auto* number = std::get_if<double>(&entry.second);
    return !number || std::isfinite(*number);
  });
}

std::vector<std::string> names_of(const Bindings& config) {
  std::vector<std::string> names;
  for (const auto& [name, value] : config) names.push_back(name);
  return names;
}

std::string group_key(const store::Record& record) {
  const device::DeviceInfo& device = record.device;
  return nlohmann::json{record.kernel, device.backend,       device.arch,
                        device.name,   device.compute_units, store::to_json(record.problem).dump()}
      .dump();
}

RecordedConfig result_of(const store::Record& record, spec::Statistic ranking, RecordingDamage& damage) {
  RecordedConfig result;
  result.outcome = record.outcome;
  result.stage = record.stage;
  result.message = record.message;
  result.samples_ms = record.samples_ms;
  result.tainted = record.tainted;
  result.compile_s = is_cost(record.compile_s) ? record.compile_s : 0;
  result.bench_s = is_cost(record.bench_s) ? record.bench_s : 0;
  result.unix_time_ms = record.unix_time_ms;
  if (record.outcome != Outcome::ok && record.outcome != Outcome::pruned) return result;
  const bool sound =
      !record.samples_ms.empty() && std::all_of(record.samples_ms.begin(), record.samples_ms.end(), measure::is_time);
  if (sound) {
    for (double& sample_ms : result.samples_ms) sample_ms /= record.slowness;
    result.time_ms = measure::statistic(measure::summarize(result.samples_ms), ranking);
  } else {
    const std::string why =
        record.samples_ms.empty() ? "it has no samples" : "a sample is not a time that a kernel can take";
    damage.add("record of " + store::to_json(record.config).dump() + ": " + why);
    result.set_damaged(why);
  }
  return result;
}

/// As in rankings of a store; a pruned record counts only if there is no other.
bool supersedes(const store::Record& record, const store::Record& other) {
  const bool pruned = record.outcome == Outcome::pruned, other_pruned = other.outcome == Outcome::pruned;
  if (pruned != other_pruned) return other_pruned;
  return store::counts_before(store::RecordAccess::facts(&record), store::RecordAccess::facts(&other));
}

Recording recording_of(const Group& group, spec::Statistic ranking) {
  const store::Record& first = *group.records.front();
  std::vector<space::Parameter> parameters;
  for (const auto& [name, value] : first.config) {
    std::vector<Value> values;
    for (const store::Record* record : group.records) values.push_back(record->config.find(name)->second);
    parameters.push_back({name, unified_values(std::move(values)), true});
  }
  std::map<std::vector<std::uint32_t>, const store::Record*> newest;
  for (const store::Record* record : group.records) {
    std::vector<std::uint32_t> row;
    for (const space::Parameter& parameter : parameters)
      row.push_back(*index_among(parameter.values, record->config.find(parameter.name)->second));
    const store::Record*& slot = newest[row];
    if (!slot || supersedes(*record, *slot)) slot = record;
  }
  RecordingDamage damage;
  std::vector<RecordedRow> rows;
  for (const auto& [row, record] : newest) rows.push_back({row, result_of(*record, ranking, damage)});
  Recording recording = make_recording(std::move(parameters), std::move(rows));
  recording.source = first.device.backend == "kernel-tuner" ? "Kernel Tuner" : "xtune";
  recording.kernel = first.kernel;
  recording.problem = first.problem;
  recording.device = first.device;
  recording.damage = damage;
  return recording;
}

bool holds_records(const fs::path& path, std::string_view text) {
  const std::string_view first = text.substr(0, std::min(text.find('\n'), text.size()));
  if (first.find("\"xtune_records\"") != std::string_view::npos) return true;
  const std::string name = path.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
}

store::RecordSet records_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  const fs::path inner = folder / "records";
  const fs::path start = fs::is_directory(inner, error) ? inner : folder;
  fs::recursive_directory_iterator entry(start, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".jsonl" && entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  if (error) throw Error(ErrorKind::io, base::printable(folder.string()) + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  store::RecordSet all;
  for (const fs::path& file : files) {
    store::RecordSet set = store::parse_records(base::printable(file.string()), system::read_file_gunzipped(file));
    std::move(set.records.begin(), set.records.end(), std::back_inserter(all.records));
    std::move(set.warnings.begin(), set.warnings.end(), std::back_inserter(all.warnings));
  }
  return all;
}

void rank_by(Recording& recording, spec::Statistic ranking) {
  for (RecordedConfig& config : recording.configs)
    if (config.outcome == Outcome::ok)
      config.time_ms = measure::statistic(measure::summarize(config.samples_ms), ranking);
}

}  // namespace

std::vector<Recording> recordings_of(store::RecordSet set, const std::string& name, spec::Statistic ranking) {
  std::vector<std::string> order;
  std::map<std::string, Group> groups;
  std::uint64_t replayed = 0;
  for (const store::Record& record : set.records) {
    if (!store::is_first(record)) continue;  // a search evaluates a configuration once
    if (record.device.backend == "replay") {
      ++replayed;
      continue;
    }
    const std::string key = group_key(record);
    const auto [found, added] = groups.try_emplace(key);
    if (added) order.push_back(key);
    Group& group = found->second;
    if (!sound(record.config) ||
        (!group.records.empty() && names_of(record.config) != names_of(group.records.front()->config)))
      ++group.other_space;
    else
      group.records.push_back(&record);
  }
  if (replayed)
    set.warnings.push_back(fmt::format("{}: {} records of a replay are not measurements; skipped", name, replayed));
  if (order.empty()) throw Error(ErrorKind::nothing_valid, name + ": it holds no records of measurements");
  std::vector<Recording> recordings;
  for (const std::string& key : order) {
    const Group& group = groups.at(key);
    if (group.records.empty())
      throw Error(ErrorKind::invalid_argument, name + ": no record of a group has parameters that are finite numbers");
    if (group.records.front()->config.empty())
      throw Error(ErrorKind::invalid_argument, name + ": a record has no parameters: there is nothing to search");
    recordings.push_back(recording_of(group, ranking));
    Recording& recording = recordings.back();
    recording.name = order.size() == 1 ? "" : fmt::format("{} on {}", recording.kernel, recording.device.name);
    if (group.other_space)
      recording.warnings.push_back(
          fmt::format("{}: {} records have other parameters than the first; skipped", name, group.other_space));
  }
  auto& warnings = recordings.front().warnings;
  warnings.insert(warnings.begin(), set.warnings.begin(), set.warnings.end());
  return recordings;
}

std::string recording_name(const fs::path& path) {
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  for (const std::string_view ending : {".gz", ".jsonl", ".json"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return base::printable(name);
}

std::vector<Recording> read_recordings(const fs::path& path, std::optional<spec::Statistic> ranking, bool by_time) {
  const std::string name = base::printable(path.string());
  const spec::Statistic by = ranking.value_or(spec::Statistic::median);
  std::error_code error;
  std::vector<Recording> recordings;
  if (fs::is_directory(path, error)) {
    recordings = recordings_of(records_below(path), name, by);
  } else {
    const std::string text = system::read_file_gunzipped(path);
    if (holds_records(path, text)) {
      recordings = recordings_of(store::parse_records(name, text), name, by);
    } else {
      recordings.push_back(read_kernel_tuner(text, name, by_time));
      if (ranking) rank_by(recordings.front(), by);
    }
  }
  const std::string own = recording_name(path);
  for (Recording& recording : recordings) recording.name = own + (recording.name.empty() ? "" : ": " + recording.name);
  return recordings;
}

}  // namespace xtune::lab
