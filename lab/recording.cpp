// Builds recordings, and maps one's outcomes to another space.
#include "lab/recording.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "xtune/error.hpp"

namespace xtune::lab {
namespace {

/// Independent of the statistic that ranks the configurations. Infinite if no configuration is ok.
double lowest_sample_ms(const Recording& recording) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const RecordedConfig& config : recording.configs)
    if (config.outcome == Outcome::ok)
      lowest = std::min(lowest, *std::min_element(config.samples_ms.begin(), config.samples_ms.end()));
  return lowest;
}

}  // namespace

void RecordedConfig::set_damaged(const std::string& why) {
  outcome = Outcome::launch_failed;
  stage = "measure";
  message = "the recording is damaged here: " + why;
  time_ms = 0;
  samples_ms.clear();
}

bool is_cost(double seconds) noexcept { return seconds >= 0 && seconds <= 1e9; }

std::uint64_t Recording::valid() const noexcept {
  return static_cast<std::uint64_t>(std::count_if(
      configs.begin(), configs.end(), [](const RecordedConfig& config) { return config.outcome == Outcome::ok; }));
}

Recording make_recording(std::vector<space::Parameter> parameters, std::vector<RecordedRow> rows) {
  if (rows.empty()) throw Error(ErrorKind::nothing_valid, "the recording holds no configuration");
  std::vector<std::vector<std::uint32_t>> values;
  for (const RecordedRow& row : rows) values.push_back(row.values);
  Recording recording{{}, {}, {}, {}, {}, space::Space::listed(std::move(parameters), std::move(values)), {}, {}, {}};
  recording.configs.resize(rows.size());
  for (RecordedRow& row : rows) recording.configs[*recording.space.index_of(row.values)] = std::move(row.result);
  return recording;
}

std::vector<Value> unified_values(std::vector<Value> values) {
  bool floats = false, numbers = true, same = true;
  for (const Value& value : values) {
    floats = floats || std::holds_alternative<double>(value);
    numbers = numbers && (std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value));
    same = same && value.index() == values.front().index();
  }
  for (Value& value : values) {
    if (same) break;
    if (!numbers)
      value = to_text(value);
    else if (const auto* integer = std::get_if<std::int64_t>(&value); floats && integer)
      value = static_cast<double>(*integer);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::optional<std::uint32_t> index_among(const std::vector<Value>& values, const Value& value) {
  const auto find = [&](const Value& wanted) -> std::optional<std::uint32_t> {
    const auto found = std::find(values.begin(), values.end(), wanted);
    if (found == values.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - values.begin());
  };
  if (const auto exact = find(value)) return exact;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    if (const auto as_float = find(static_cast<double>(*integer))) return as_float;
  if (const auto* floating = std::get_if<double>(&value);
      floating && *floating == std::trunc(*floating) && std::abs(*floating) <= 0x1p53)
    if (const auto as_integer = find(static_cast<std::int64_t>(*floating))) return as_integer;
  return find(to_text(value));
}

std::vector<search::Observation> map_observations(const Recording& from, const space::Space& to) {
  const std::vector<space::Parameter>& sources = from.space.parameters();
  const std::vector<space::Parameter>& targets = to.parameters();
  std::vector<std::optional<std::size_t>> source_of(targets.size());
  std::set<std::string> shared;
  for (std::size_t i = 0; i < targets.size(); ++i)
    for (std::size_t j = 0; j < sources.size(); ++j)
      if (targets[i].name == sources[j].name) {
        source_of[i] = j;
        shared.insert(targets[i].name);
      }
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!source_of[i] && targets[i].values.size() > 1) return {};
  for (const space::Parameter& source : sources)
    if (!shared.contains(source.name) && source.values.size() > 1) return {};

  std::vector<std::vector<std::optional<std::uint32_t>>> renumbered(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (source_of[i])
      for (const Value& value : sources[*source_of[i]].values)
        renumbered[i].push_back(index_among(targets[i].values, value));
  std::vector<search::Observation> observations;
  std::vector<std::uint32_t> digits(targets.size());
  for (std::uint64_t index = 0; index < from.space.size(); ++index) {
    const std::vector<std::uint32_t> values = from.space.value_indices(index);
    bool known = true;
    for (std::size_t i = 0; i < targets.size() && known; ++i) {
      const std::optional<std::uint32_t> digit = source_of[i] ? renumbered[i][values[*source_of[i]]] : 0;
      known = digit.has_value();
      digits[i] = digit.value_or(0);
    }
    if (!known) continue;
    if (const auto found = to.index_of(digits))
      observations.push_back({*found, from.configs[index].outcome, from.configs[index].time_ms});
  }
  return observations;
}

bool same_study(const Recording& a, const Recording& b) {
  if (a.kernel != b.kernel || a.problem != b.problem || !device::may_be_same_hardware(a.device, b.device)) return false;
  if (!a.device.name.empty() && a.device.name != "unknown") return true;
  const double lowest = lowest_sample_ms(a);
  return a.valid() == b.valid() && std::abs(lowest - lowest_sample_ms(b)) <= 1e-4 * lowest;  // a copy may be rounded
}

Guides guides_for(const std::vector<Recording>& recordings, std::size_t target) {
  const Recording& own = recordings[target];
  Guides guides;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (i == target || recordings[i].kernel != own.kernel) continue;
    if (same_study(recordings[i], own)) {
      guides.notes.push_back(recordings[i].name + " does not guide the search on " + own.name +
                             ": it is of the same device and problem");
      continue;
    }
    std::vector<search::Observation> known = map_observations(recordings[i], own.space);
    if (!known.empty()) guides.sources.push_back({recordings[i].name, std::move(known)});
  }
  if (guides.sources.empty())
    guides.notes.push_back("nothing guides the search on " + own.name +
                           ": no recording of its kernel with its parameters is of another device or problem");
  return guides;
}

}  // namespace xtune::lab
