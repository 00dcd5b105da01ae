// Counts the contents of a store.
#include "core/store/summary.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "core/record/record_log.hpp"
#include "core/store/layout.hpp"
#include "core/store/store_view.hpp"

namespace xtune::store {

bool StoreSummary::nothing_read() const {
  return unreadable > 0 && artifacts == 0 &&
         std::all_of(parts.begin(), parts.end(), [](const StorePart& part) { return part.records == 0; });
}

StoreSummary summary_of(const std::filesystem::path& store) {
  require_store(store);
  const StoreLayout layout = layout_of(store);
  StoreSummary summary;
  for (const record::Unreadable& one : layout.unreadable) summary.warnings.push_back(one.text());
  summary.unreadable = layout.unreadable.size();
  std::map<std::pair<std::string, std::string>, std::vector<record::RecordSource>> parts;
  for (const RecordFile& file : layout.records)
    parts[{file.arch, file.kernel}].push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  for (const auto& [name, sources] : parts) {
    StorePart part;
    part.arch = record::name_of_component(name.first).value_or(name.first);
    part.kernel = record::name_of_component(name.second).value_or(name.second);
    part.files = sources.size();
    for (const record::RecordSource& source : sources) {
      std::error_code error;
      const std::uint64_t bytes = std::filesystem::file_size(source.path, error);
      part.bytes += error ? 0 : bytes;
    }
    const StoreView view = StoreView::load(sources);
    summary.warnings.insert(summary.warnings.end(), view.warnings().begin(), view.warnings().end());
    summary.unreadable += view.row_set().unreadable;
    part.records = view.records();
    part.answers = view.groups().size();
    std::set<std::string> devices;
    view.rank_all();
    for (const StoreView::Group& group : view.groups()) devices.insert(view.device_of(*view.order(group).front()).name);
    part.newest_unix_ms = view.newest_unix_ms();
    part.devices.assign(devices.begin(), devices.end());
    summary.parts.push_back(std::move(part));
  }
  for (const auto& [key, files] : layout.artifacts) {
    summary.artifacts += files.has_metadata;
    summary.artifact_bytes += files.bytes;
  }
  return summary;
}

}  // namespace xtune::store
