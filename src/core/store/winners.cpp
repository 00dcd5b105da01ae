// The winners of a store, for bundles and exports.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/files.hpp"
#include "core/build/artifact_sources.hpp"
#include "core/record/finals.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/bundle.hpp"
#include "core/store/config_ranking.hpp"
#include "core/store/measurements.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
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

/// The best valid configuration, judged by the newest measurements: with the driver, the sources and the validation of
/// the newest one of all, and whose own newest measurement did not fail. A configuration that was faster with an
/// earlier driver may not be with this one, and an earlier source, or results that were not compared, may be wrong.
/// nullptr: none is valid.
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
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::vector<Winner> winners;
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  for (auto& [part, sources] : found.parts) {
    const StoreView view = StoreView::load(sources);
    warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
    found.unreadable += view.unreadable();
    records += view.records();
    view.rank_all();
    for (const StoreView::Group& group : view.groups()) {
      const StoredConfig* const chosen = best_of(store, view, group);
      if (!chosen) continue;
      const StoredConfig& best = *chosen;
      for (const auto& [name, value] : view.problem_of(best)) sizes.insert(name);
      if (!filter.takes(view.problem_of(best))) continue;
      record::Record record = view.record_of(best);
      std::string line = base::read_file_part(sources[best.file].path, best.offset, best.bytes);
      winners.push_back({record.device.arch, record.kernel, std::move(record), std::move(line)});
    }
  }
  if (records == 0) found.require_something(store, warnings);
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
