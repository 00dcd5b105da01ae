// Gathers the sources that guide a search.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/measure/statistics.hpp"
#include "core/model/rank.hpp"
#include "core/run/search_path.hpp"
#include "core/space/value.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

using store::Row;

namespace {

constexpr std::size_t max_sources = 8;

/// First measurements of one problem on one kind of device.
struct Study {
  const Bindings* problem = nullptr;
  const device::DeviceInfo* device = nullptr;
  std::vector<const store::StoredConfig*> rows;
  std::size_t valid = 0;
};

/// How much less a source is worth: another architecture counts more than another device of this one, that more than
/// another problem, and that more than another driver.
int distance(const Study& study, const Bindings& problem, const device::DeviceInfo& own) {
  if (store::same_device(*study.device, own)) return *study.problem == problem ? 0 : 1;
  if (study.device->arch == own.arch) return 2;
  return study.device->vendor == own.vendor ? 3 : 4;
}

std::string describe(const Study& study, const device::DeviceInfo& own) {
  std::string text = fmt::format("{} ({})", study.device->name, study.device->arch);
  for (const auto& [name, value] : *study.problem) text += fmt::format(", {}={}", name, space::shown_text(value));
  if (store::same_device(*study.device, own) && !store::same_driver(*study.device, own))
    text += ", driver " + study.device->driver;
  return text;
}

/// The newest full measurement counts; a pruned record only if there is no other.
bool supersedes(const store::StoredConfig& row, const store::StoredConfig& other) {
  const bool pruned = row.outcome == Outcome::pruned, other_pruned = other.outcome == Outcome::pruned;
  if (pruned != other_pruned) return other_pruned;
  return row.unix_time_ms >= other.unix_time_ms;
}

bool same_names(const store::StoredConfig& a, const store::StoredConfig& b) { return a.names() == b.names(); }

/// Groups rows into studies, by their devices and problems, each of which is checked once.
class Studies {
 public:
  /// may_guide(problem, device): whether such a record may guide at all.
  using MayGuide = std::function<bool(const Bindings& problem, const device::DeviceInfo& device)>;
  explicit Studies(MayGuide may_guide) : may_guide_(std::move(may_guide)) {}

  void add(Row row) {
    if (row->drift || row->is_of_finals() || row->block->sanitized) return;
    Study* const study = study_of(row);
    if (!study) return;
    // A row with other parameters than the first belongs to another space.
    if (study->rows.empty() || same_names(*row, *study->rows.front())) study->rows.push_back(row);
  }

  /// Keeps one row of each configuration.
  std::vector<Study> sorted(const Bindings& problem, const device::DeviceInfo& own) && {
    for (Study& study : studies_) settle(study);
    std::stable_sort(studies_.begin(), studies_.end(), [&](const Study& a, const Study& b) {
      const int left = distance(a, problem, own), right = distance(b, problem, own);
      return left != right ? left < right : a.valid > b.valid;
    });
    return std::move(studies_);
  }

 private:
  using Kind = std::tuple<std::string, std::string, std::string, std::int64_t, std::string>;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  Study* study_of(Row row) {
    const auto [place, is_new] = numbers_.try_emplace(row->block, none);
    if (is_new) place->second = number_of(row->problem(), row->device());
    return place->second == none ? nullptr : &studies_[place->second];
  }
  std::size_t number_of(const Bindings& problem, const device::DeviceInfo& device) {
    if (!may_guide_(problem, device)) return none;
    const Kind kind(device.backend, device.arch, device.name, device.compute_units, space::bindings_text(problem));
    const auto [place, is_new] = kinds_.try_emplace(kind, studies_.size());
    if (is_new) studies_.push_back({&problem, &device, {}, 0});
    return place->second;
  }
  static void settle(Study& study) {
    std::unordered_map<std::string_view, std::size_t> places;
    std::vector<const store::StoredConfig*> current;
    for (Row row : study.rows) {
      const auto [place, is_new] = places.try_emplace(row->values(), current.size());
      if (is_new)
        current.push_back(row);
      else if (supersedes(*row, *current[place->second]))
        current[place->second] = row;
    }
    study.rows = std::move(current);
    study.valid = static_cast<std::size_t>(
        std::count_if(study.rows.begin(), study.rows.end(), [](Row row) { return row->outcome == Outcome::ok; }));
  }

  MayGuide may_guide_;
  std::vector<Study> studies_;
  std::map<Kind, std::size_t> kinds_;
  std::unordered_map<const store::RowBlock*, std::size_t> numbers_;
};

/// Whether a study's configurations can be in the space: parameters that only one of both has must have one value. own:
/// the names of the study's parameters.
bool is_comparable(const Study& study, const space::Space& space, const Bindings& first) {
  std::set<std::string_view> shared;
  for (const space::Parameter& parameter : space.parameters())
    if (first.contains(parameter.name))
      shared.insert(parameter.name);
    else if (parameter.values.size() > 1)
      return false;
  if (shared.size() == first.size()) return !shared.empty();
  return std::all_of(study.rows.begin(), study.rows.end(), [&](Row row) {
    const Bindings config = store::config_bindings(*row);
    return std::all_of(config.begin(), config.end(), [&](const auto& binding) {
      return shared.contains(binding.first) || binding.second == first.at(binding.first);
    });
  });
}

/// The study's results for configurations of the space, by their indices.
std::vector<search::Observation> observations_of(const Study& study, const space::Space& space) {
  if (study.rows.empty() || !is_comparable(study, space, store::config_bindings(*study.rows.front()))) return {};
  std::vector<std::pair<std::uint64_t, const store::StoredConfig*>> found;
  space::Config config(space.parameters().size());
  for (Row row : study.rows) {
    const Bindings values = store::config_bindings(*row);
    for (std::size_t i = 0; i < config.size(); ++i) {
      const auto value = values.find(space.parameters()[i].name);
      config[i] = value == values.end() ? space.parameters()[i].values.front() : value->second;
    }
    if (const auto index = space.index_of(config)) found.emplace_back(*index, row);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first
                              : supersedes(*a.second, *b.second) && !supersedes(*b.second, *a.second);
  });
  std::vector<search::Observation> observations;
  for (const auto& [index, row] : found) {
    if (!observations.empty() && observations.back().index == index) continue;
    const bool timed = row->outcome == Outcome::ok || row->outcome == Outcome::pruned;
    if (timed && !measure::is_time(row->time_ms))
      observations.push_back({index, Outcome::launch_failed, 0});
    else
      observations.push_back({index, row->outcome, timed ? row->time_ms : 0});
  }
  return observations;
}

}  // namespace

Knowledge candidates_of(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                        const run::Target& target) {
  Knowledge knowledge;
  const model::Suggestions suggestions = model::suggest(spec, space, problem, target.device);
  if (const auto& ranking = suggestions.ranking) {
    for (const model::RankedConfig& config : ranking->configs) knowledge.first.push_back(config.index);
    if (ranking->configs.front().estimate)
      knowledge.prior = {model::estimator(spec, space, problem, target.device), ranking->order};
    knowledge.notes.push_back(
        fmt::format("starts from {} candidates of the {} model; {} of {} configurations do not fit",
                    knowledge.first.size(), spec.candidates->template_name, ranking->unfit, ranking->scored));
  } else if (!suggestions.refused.empty()) {
    knowledge.notes.push_back("starts without candidates: " + suggestions.refused);
  }
  if (spec.partition.count == 1) knowledge.default_index = model::default_index(spec, space, knowledge.first);
  return knowledge;
}

void add_sources(Knowledge& knowledge, const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                 const run::Target& target, const store::GrowingRecords& here, const std::filesystem::path& store,
                 std::int64_t before_unix_ms) {
  const device::DeviceInfo& own = target.device;
  const auto is_own = [&](const Bindings& sizes, const device::DeviceInfo& device) {
    return store::same_device(device, own) && store::same_driver(device, own) && sizes == problem;
  };
  for (Row row : here.rows_of(problem, own))
    if (store::same_driver(row->device(), own)) before_unix_ms = std::min(before_unix_ms, row->unix_time_ms);
  Studies studies([&](const Bindings& sizes, const device::DeviceInfo& device) {
    if (device.backend == "replay" || device::is_cpu(device) != device::is_cpu(own) || is_own(sizes, device))
      return false;
    if (device::is_emulated(device) && !device::is_emulated(own)) return false;  // simulated times
    // A replay would be guided by the results that it is meant to find, from any backend. A run that measures is not:
    // results of another backend on this device are knowledge like any other.
    return own.backend != "replay" || sizes != problem || !device::may_be_same_hardware(device, own);
  });
  const auto take = [&](Row row) {
    if (row->unix_time_ms < before_unix_ms) studies.add(row);
  };
  std::deque<store::GrowingRecords> elsewhere;
  for (const std::string& arch : store::recorded_archs(store, spec.kernel.name)) {
    if (arch == own.arch) {
      here.each_row(take);
      continue;
    }
    store::GrowingRecords& other = elsewhere.emplace_back(store, arch, spec.kernel.name, spec.measure.statistic);
    other.refresh();
    other.each_row(take);
  }
  for (const Study& study : std::move(studies).sorted(problem, own)) {
    if (knowledge.sources.size() == max_sources) break;
    search::Source source{describe(study, own), observations_of(study, space)};
    if (source.observations.empty()) continue;
    knowledge.notes.push_back(fmt::format("guided by {} records of {}", source.observations.size(), source.name));
    knowledge.sources.push_back(std::move(source));
  }
}

}  // namespace xtune::run
