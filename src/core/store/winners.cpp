// The winners of a store, for bundles and exports.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/files.hpp"
#include "base/text.hpp"
#include "core/build/artifact_sources.hpp"
#include "core/record/finals.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/bundle.hpp"
#include "core/store/config_ranking.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
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

bool is_newer(const StoredConfig* a, const StoredConfig* b) {
  return std::tie(a->unix_time_ms, a->key) > std::tie(b->unix_time_ms, b->key);
}

/// What results were compared with, of which arguments, and whether the caches were warm.
std::vector<std::string> judged_by(const record::Record& record) {
  std::vector<std::string> parts{record::flush_of(record.key_parts)};
  for (const auto& [name, value] : record.key_parts)
    if (name == "reference" || name == "tolerance" || name == "buffers") parts.push_back(name + value);
  return parts;
}

/// The best of what still holds, by the newest measurements: with the driver, the sources and the validation of the
/// newest one of all, and of a configuration whose own newest one did not fail. What is faster with an earlier driver
/// may not be with this one, and an earlier source, or results that nobody compared, may be wrong. nullptr: none holds.
const StoredConfig* best_of(const std::filesystem::path& store, const StoreView& view, const StoreView::Group& group) {
  const StoredConfig* newest = nullptr;
  std::unordered_map<std::string, const StoredConfig*> newest_of_config;
  for (const StoredConfig* row : view.members(group)) {
    if (!record::is_verdict(ConfigAccess::facts(row))) continue;
    if (!newest || is_newer(row, newest)) newest = row;
    const StoredConfig*& own = newest_of_config[config_text(*row)];
    if (!own || is_newer(row, own)) own = row;
  }
  if (!newest) return nullptr;
  const record::Record newest_record = view.record_of(*newest);
  const std::vector<std::string> judge = judged_by(newest_record);
  const build::ArtifactSources sources = build::stored_sources(store, newest_record.artifact_key);
  for (const StoredConfig* config : view.order(group)) {
    const StoredConfig* const own = newest_of_config[config_text(*config)];
    if (own && own->outcome != Outcome::ok) continue;
    if (!record::same_driver(view.device_of(*config), view.device_of(*newest))) continue;
    const record::Record record = view.record_of(*config);
    if (judged_by(record) != judge) continue;
    if (build::same_sources(build::stored_sources(store, record.artifact_key), sources)) return config;
  }
  return nullptr;
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
  require_store(store);
  const StoreLayout layout = layout_of(store);
  for (const record::Unreadable& one : layout.unreadable) warnings.push_back(one.text());
  std::uint64_t unreadable = layout.unreadable_records;
  const auto require_something = [&] {
    if (unreadable > 0)
      throw Error(ErrorKind::io, "nothing of the store " + base::printable(store.string()) +
                                     " that is asked for could be read: " + warnings.front());
  };
  std::set<std::string> archs, kernels;
  std::map<std::pair<std::string, std::string>, std::vector<record::RecordSource>> parts;
  for (const RecordFile& file : layout.records) {
    archs.insert(file.arch);
    kernels.insert(file.kernel);
    if (wanted(filter.archs, file.arch) && wanted(filter.kernels, file.kernel))
      parts[{file.kernel, file.arch}].push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  }
  if (parts.empty()) require_something();
  require_all(filter.archs, archs, "architecture", store);
  require_all(filter.kernels, kernels, "kernel", store);
  std::vector<Winner> winners;
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  for (auto& [part, sources] : parts) {
    const StoreView view = StoreView::load(sources);
    warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
    unreadable += view.unreadable();
    records += view.records();
    view.rank_all();
    for (const StoreView::Group& group : view.groups()) {
      const StoredConfig* const found = best_of(store, view, group);
      if (!found) continue;
      const StoredConfig& best = *found;
      for (const auto& [name, value] : view.problem_of(best)) sizes.insert(name);
      if (!filter.takes(view.problem_of(best))) continue;
      record::Record record = view.record_of(best);
      std::string line = base::read_file_part(sources[best.file].path, best.offset, best.bytes);
      winners.push_back({record.device.arch, record.kernel, std::move(record), std::move(line)});
    }
  }
  if (records == 0) require_something();
  require_problem(filter, sizes, !winners.empty());
  const auto rank = [](const Winner& winner) {
    return std::tuple(winner.kernel, winner.arch, space::bindings_text(winner.record.problem),
                      winner.record.device.name, winner.record.device.compute_units, winner.record.device.backend,
                      winner.line);
  };
  std::sort(winners.begin(), winners.end(), [&](const Winner& a, const Winner& b) { return rank(a) < rank(b); });
  return winners;
}

}  // namespace xtune::store
