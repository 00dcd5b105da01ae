// Scans a store, then reads the lines that were chosen.
#include "core/store/selected_records.hpp"

#include "xtune/error.hpp"

namespace xtune {

RecordSet read_selected_records(const std::filesystem::path& store, const std::string& arch, const std::string& kernel,
                                const std::function<bool(const StoreView&, const StoredConfig&)>& wanted,
                                const std::function<void(const StoreView&)>& look) {
  StoreView::Options options;
  options.all = true;
  const StoreView view = StoreView::load(store, arch, kernel, options);
  if (look) look(view);
  RecordSet set;
  set.warnings = view.warnings();
  view.each_row([&](const StoredConfig& row) {
    if (!wanted(view, row)) return;
    try {
      set.records.push_back(view.record_of(row));
    } catch (const Error& error) {  // its file was repaired or removed meanwhile
      set.warnings.emplace_back(error.what());
    }
  });
  return set;
}

}  // namespace xtune
