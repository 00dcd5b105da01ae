// Reads whole record files.
#include "core/store/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"
#include "core/build/artifact_sources.hpp"
#include "core/record/best.hpp"
#include "core/record/record_log.hpp"
#include "core/space/value.hpp"
#include "core/store/bundle.hpp"
#include "core/store/layout.hpp"
#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// The winners of a store, for bundles and exports.

namespace {

bool is_newer(const StoredConfig* a, const StoredConfig* b) {
  return std::tie(a->unix_time_ms, a->key) > std::tie(b->unix_time_ms, b->key);
}

/// The data with which results were validated, of which arguments, and whether the caches were warm.
std::vector<std::string> judged_by(const record::Record& record) {
  std::vector<std::string> parts{record::protocol_setting(record.key_parts, "flush"),
                                 record::protocol_setting(record.key_parts, "launch")};
  for (const auto& [name, value] : record.key_parts)
    if (name == "reference" || name == "tolerance" || name == "buffers") parts.push_back(name + value);
  return parts;
}

/// A valid configuration with its whole record.
struct Valid {
  const StoredConfig* row;
  record::Record record;
  double time_ms = 0;  ///< on the scale of the best one's
};

/// The valid configurations, best first, judged by the newest measurements: with the driver, the sources and the
/// validation of the newest one of all, and whose own newest measurement did not fail. A configuration that was faster
/// with an earlier driver may not be with this one, and an earlier source, or results that were not compared, may be
/// wrong. Ends after `most` of them.
std::vector<Valid> valid_configs(const std::filesystem::path& store, const StoreView& view,
                                 const StoreView::Group& group, std::size_t most) {
  std::vector<Valid> valid;
  const StoredConfig* newest = nullptr;
  std::unordered_map<std::string, const StoredConfig*> newest_of_config;
  for (const StoredConfig* row : view.members(group)) {
    if (!record::is_verdict(ConfigAccess::facts(row))) continue;
    if (!newest || is_newer(row, newest)) newest = row;
    const StoredConfig*& own = newest_of_config[config_text(*row)];
    if (!own || is_newer(row, own)) own = row;
  }
  if (!newest) return valid;
  const record::Record newest_record = view.record_of(*newest);
  const std::vector<std::string> judge = judged_by(newest_record);
  const build::ArtifactSources sources = build::stored_sources(store, newest_record.artifact_key);
  std::map<std::string, bool> fits;  // by artifact, which configurations may share
  for (const StoredConfig* config : view.order(group)) {
    if (valid.size() == most) break;
    const StoredConfig* const own = newest_of_config[config_text(*config)];
    if (own && own->outcome != Outcome::ok) continue;
    if (!record::same_driver(view.device_of(*config), view.device_of(*newest))) continue;
    record::Record record = view.record_of(*config);
    if (judged_by(record) != judge) continue;
    const auto [fit, is_new] = fits.try_emplace(record.artifact_key);
    if (is_new) fit->second = build::same_sources(build::stored_sources(store, record.artifact_key), sources);
    if (fit->second) valid.push_back({config, std::move(record), config->median_ms});
  }
  if (valid.size() < 2) return valid;
  std::unordered_map<const StoredConfig*, double> times_ms;
  for (const auto& [config, time_ms] : configs_on_one_scale(view.members(group), measure::Statistic::median))
    times_ms.emplace(config, time_ms);
  for (Valid& one : valid) one.time_ms = times_ms.at(one.row);
  return valid;
}

/// Calls visit(valid configurations, files of the view) for each kernel, architecture, problem and kind of device that
/// the filter selects and that has one. Throws as winners_of.
template <class Visit>
void each_problem(const std::filesystem::path& store, const WinnerFilter& filter, std::size_t most,
                  std::vector<std::string>& warnings, const Visit& visit) {
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  bool any = false;
  for (auto& [part, sources] : found.parts) {
    const StoreView view = StoreView::load(sources);
    warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
    found.unreadable += view.row_set().unreadable;
    records += view.records();
    view.rank_all();
    for (const StoreView::Group& group : view.groups()) {
      const Bindings& problem = view.problem_of(*view.order(group).front());
      const bool wanted = filter.takes(problem);
      std::vector<Valid> valid = valid_configs(store, view, group, wanted ? most : 1);
      if (valid.empty()) continue;
      for (const auto& [name, value] : problem) sizes.insert(name);
      if (!wanted) continue;
      any = true;
      visit(std::move(valid), sources);
    }
  }
  if (records == 0) found.require_something(store, warnings);
  require_problem(filter, sizes, any);
}

}  // namespace

bool WinnerFilter::takes(const Bindings& sizes) const {
  return std::all_of(problem.begin(), problem.end(), [&](const auto& asked) {
    const auto size = sizes.find(asked.first);
    return size != sizes.end() && to_text(size->second) == asked.second;
  });
}

std::vector<Winner> winners_of(const std::filesystem::path& store, const WinnerFilter& filter,
                               std::vector<std::string>& warnings) {
  std::vector<Winner> winners;
  each_problem(store, filter, 1, warnings,
               [&](std::vector<Valid> valid, const std::vector<record::RecordSource>& sources) {
                 const StoredConfig& best = *valid.front().row;
                 record::Record& record = valid.front().record;
                 std::string line = system::read_file_part(sources[best.block->file].path, best.offset(), best.bytes);
                 winners.push_back({record.device.arch, record.kernel, std::move(record), std::move(line)});
               });
  const auto rank = [](const Winner& winner) {
    return std::tuple(winner.kernel, winner.arch, space::bindings_text(winner.record.problem),
                      winner.record.device.name, winner.record.device.compute_units, winner.record.device.backend,
                      winner.line);
  };
  std::sort(winners.begin(), winners.end(), [&](const Winner& a, const Winner& b) { return rank(a) < rank(b); });
  return winners;
}

std::vector<MeasuredCase> measured_cases(const std::filesystem::path& store, const WinnerFilter& filter,
                                         std::vector<std::string>& warnings) {
  std::vector<MeasuredCase> cases;
  each_problem(store, filter, SIZE_MAX, warnings,
               [&](const std::vector<Valid>& valid, const std::vector<record::RecordSource>&) {
                 const record::Record& best = valid.front().record;
                 MeasuredCase one{best.kernel, best.device.arch, best.device.name, best.problem, {}, 0};
                 for (const Valid& config : valid) {
                   one.times_ms.emplace_back(config.record.config, config.time_ms);
                   one.newest_unix_ms = std::max(one.newest_unix_ms, config.record.unix_time_ms);
                 }
                 cases.push_back(std::move(one));
               });
  const auto rank = [](const MeasuredCase& one) {
    return std::tuple(one.kernel, one.arch, space::bindings_text(one.problem), one.device);
  };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const MeasuredCase& a, const MeasuredCase& b) { return rank(a) < rank(b); });
  return cases;
}

Error no_answers() {
  return {ErrorKind::nothing_valid, "the store has no configuration that may answer; `xtune run` makes some"};
}

namespace {

bool wanted(const std::vector<std::string>& names, const std::string& component) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return record::path_component(name) == component;
         });
}

void require_all(const std::vector<std::string>& names, const std::set<std::string>& found, const char* what,
                 const std::filesystem::path& store) {
  for (const std::string& name : names)
    if (!found.contains(record::path_component(name))) {
      std::vector<std::string> known;
      for (const std::string& component : found)
        known.push_back(record::name_of_component(component).value_or(component));
      throw Error(ErrorKind::invalid_argument, "the store " + base::printable(store.string()) +
                                                   " has no records of the " + what + " '" + base::printable(name, 80) +
                                                   "'" + base::did_you_mean(name, known) +
                                                   "; `xtune store ls` lists what it has");
    }
}

constexpr std::uint64_t any_size = UINT64_MAX;

}  // namespace

void FilteredParts::require_something(const std::filesystem::path& store,
                                      const std::vector<std::string>& warnings) const {
  if (unreadable > 0)
    throw Error(ErrorKind::io, "nothing of the store " + base::printable(store.string()) +
                                   " that is asked for could be read: " + warnings.front());
}

FilteredParts filtered_parts(const std::filesystem::path& store, const WinnerFilter& filter,
                             std::vector<std::string>& warnings) {
  require_store(store);
  const StoreLayout layout = layout_of(store);
  for (const record::Unreadable& one : layout.unreadable) warnings.push_back(one.text());
  FilteredParts found;
  found.unreadable = layout.unreadable_records;
  std::set<std::string> archs, kernels;
  for (const RecordFile& file : layout.records) {
    archs.insert(file.arch);
    kernels.insert(file.kernel);
    if (wanted(filter.archs, file.arch) && wanted(filter.kernels, file.kernel))
      found.parts[{file.kernel, file.arch}].push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  }
  if (found.parts.empty()) found.require_something(store, warnings);
  require_all(filter.archs, archs, "architecture", store);
  require_all(filter.kernels, kernels, "kernel", store);
  return found;
}

void require_problem(const WinnerFilter& filter, const std::set<std::string>& sizes, bool found) {
  for (const auto& [name, value] : filter.problem)
    if (!sizes.contains(name))
      throw Error(ErrorKind::invalid_argument, "-D " + base::printable(name, 80) + "=" + base::printable(value, 80) +
                                                   ": no stored problem has such a size" +
                                                   base::did_you_mean(name, {sizes.begin(), sizes.end()}));
  if (!filter.problem.empty() && !found)
    throw Error(
        ErrorKind::nothing_valid,
        "the store has no winner of the problem that -D asks for; `xtune store export` without -D lists all of them");
}

std::vector<StoredMeasurements> measurements_of(const std::filesystem::path& store, const WinnerFilter& filter,
                                                std::vector<std::string>& warnings) {
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::vector<StoredMeasurements> all;
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  for (const auto& [part, sources] : found.parts) {
    StoredMeasurements one;
    for (const record::RecordSource& source : sources) {
      record::RecordSet set;
      try {
        set = record::parse_records(source.name, system::read_file(source.path, any_size));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::io) throw;
        warnings.emplace_back(error.what());
        ++found.unreadable;
      }
      warnings.insert(warnings.end(), set.warnings.begin(), set.warnings.end());
      records += set.records.size();
      for (record::Record& record : set.records) {
        for (const auto& [name, value] : record.problem) sizes.insert(name);
        if (filter.takes(record.problem)) one.records.push_back(std::move(record));
      }
    }
    if (one.records.empty()) continue;
    std::stable_sort(one.records.begin(), one.records.end(), record::is_earlier);
    one.kernel = one.records.front().kernel;
    one.arch = one.records.front().device.arch;
    all.push_back(std::move(one));
  }
  if (records == 0) found.require_something(store, warnings);
  require_problem(filter, sizes, !all.empty());
  return all;
}

std::string group_of(const record::Record& record) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", record.kernel, space::bindings_text(record.problem),
                     record.device.backend, record.device.arch, record.device.name, record.device.compute_units);
}

}  // namespace xtune::store
