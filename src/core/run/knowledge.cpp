// Gathers what guides a search.
#include "core/run/knowledge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/candidates/rank.hpp"
#include "core/device/device_model.hpp"
#include "core/record/best.hpp"
#include "core/record/key_fit.hpp"
#include "core/record/record_log.hpp"
#include "core/replay/records.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::size_t most_sources = 8;

/// How much less a source is worth: another architecture weighs more than another device of this one, that more than
/// another problem, that more than another driver.
int distance(const Recording& recording, const Bindings& problem, const DeviceInfo& own) {
  if (same_device(recording.device, own)) return recording.problem == problem ? 0 : 1;
  if (recording.device.arch == own.arch) return 2;
  return recording.device.vendor == own.vendor ? 3 : 4;
}

std::string describe(const Recording& recording, const DeviceInfo& own) {
  std::string text = fmt::format("{} ({})", recording.device.name, recording.device.arch);
  for (const auto& [name, value] : recording.problem) text += fmt::format(", {}={}", name, to_text(value));
  if (same_device(recording.device, own) && !same_driver(recording.device, own))
    text += ", driver " + recording.device.driver;
  return text;
}

}  // namespace

Knowledge candidates_of(const Spec& spec, const Space& space, const Bindings& problem, const Target& target) {
  Knowledge knowledge;
  if (!spec.candidates || is_cpu(target.device)) return knowledge;
  try {
    const Ranking ranking =
        rank_candidates(spec, space, problem, device_model(target.device), rank_options(*spec.candidates));
    for (const RankedConfig& config : ranking.configs) knowledge.first.push_back(config.index);
    knowledge.notes.push_back(
        fmt::format("starts from {} candidates of the {} model; {} of {} configurations do not fit",
                    knowledge.first.size(), spec.candidates->template_name, ranking.unfit, ranking.scored));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_spec) throw;
    knowledge.notes.push_back(fmt::format("starts without candidates: {}", error.what()));
  }
  return knowledge;
}

void add_sources(Knowledge& knowledge, const Spec& spec, const Space& space, const Bindings& problem,
                 const Target& target, const std::vector<Record>& here, const std::filesystem::path& store) {
  const auto is_own = [&](const Record& record) {
    return record.problem == problem && same_device(record.device, target.device) &&
           same_driver(record.device, target.device);
  };
  // A replay would be guided by what it is to find, whoever measured it. A run that measures is not: what another
  // backend found on this device is knowledge like any other.
  const auto is_replayed = [&](const Record& record) {
    return target.device.backend == "replay" && record.problem == problem &&
           may_be_same_hardware(record.device, target.device);
  };
  std::int64_t first_own_ms = std::numeric_limits<std::int64_t>::max();
  for (const Record& record : here)
    if (is_own(record)) first_own_ms = std::min(first_own_ms, record.unix_time_ms);
  RecordSet others;
  const auto guides = [&](const Record& record) {
    return !is_own(record) && !is_replayed(record) && record.unix_time_ms < first_own_ms &&
           is_cpu(record.device) == is_cpu(target.device);
  };
  for (const std::string& arch : recorded_archs(store, spec.kernel.name)) {
    if (arch == target.device.arch) {
      std::copy_if(here.begin(), here.end(), std::back_inserter(others.records), guides);
      continue;
    }
    RecordSet set = read_records(store, arch, spec.kernel.name);
    std::copy_if(std::move_iterator(set.records.begin()), std::move_iterator(set.records.end()),
                 std::back_inserter(others.records), guides);
  }
  std::vector<Recording> recordings;
  try {
    if (!others.records.empty()) recordings = recordings_of(std::move(others), store.string(), spec.measure.statistic);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::nothing_valid) throw;
  }
  std::stable_sort(recordings.begin(), recordings.end(), [&](const Recording& a, const Recording& b) {
    const int left = distance(a, problem, target.device), right = distance(b, problem, target.device);
    return left != right ? left < right : a.valid() > b.valid();
  });
  for (const Recording& recording : recordings) {
    if (knowledge.sources.size() == most_sources) break;
    Source source{describe(recording, target.device), map_observations(recording, space)};
    if (source.observations.empty()) continue;
    knowledge.notes.push_back(fmt::format("guided by {} records of {}", source.observations.size(), source.name));
    knowledge.sources.push_back(std::move(source));
  }
}

}  // namespace xtune
