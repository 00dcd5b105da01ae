// A store's records of one kernel on one architecture, for a process that reads repeatedly while files grow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/record/record_log.hpp"
#include "core/store/store_view.hpp"

namespace xtune::store {

/// Scans each file once, and again only when it has changed. One thread at a time.
class GrowingRecords {
 public:
  /// statistic: that of StoredConfig::time_ms.
  GrowingRecords(std::filesystem::path store, std::string arch, std::string kernel,
                 measure::Statistic statistic = measure::Statistic::median);

  /// Reads the changes since the last call. Invalidates rows that were returned before.
  void refresh();

  /// A row with the view that contains its problem and device.
  struct Row {
    const StoreView* view = nullptr;
    const StoredConfig* config = nullptr;
  };
  /// The rows of exactly this problem on this kind of device, including sanitized ones, in no particular order.
  std::vector<Row> rows_of(const Bindings& problem, const device::DeviceInfo& device) const;
  /// Calls visit(Row) for every row.
  template <class Visit>
  void each_row(const Visit& visit) const {
    for (const Part& part : parts_)
      part.view.each_row([&](const StoredConfig& config) {
        if (part.files[config.block->file].current) visit(Row{&part.view, &config});
      });
  }
  /// The whole records of these rows, in the order of files and lines, and the warnings of the last refresh, with one
  /// for each record that can no longer be read.
  record::RecordSet read(std::vector<Row> rows) const;
  /// The warnings of the last refresh.
  std::vector<std::string> warnings() const;

 private:
  struct File {
    std::filesystem::path path;
    std::uint64_t bytes = 0, inode = 0, device = 0;
    std::int64_t changed_ns = 0;
    bool current = true;  ///< false: another part has its contents now, or it was removed
    bool operator==(const File&) const = default;
  };
  struct Part {
    StoreView view;
    std::vector<File> files;  ///< by RowBlock::file
  };
  static File file_at(const std::filesystem::path& path);
  void add_part(std::vector<File> files);

  const std::filesystem::path store_;
  const std::string arch_, kernel_;
  const measure::Statistic statistic_;
  std::vector<Part> parts_;
  std::vector<std::string> listing_warnings_;
};

}  // namespace xtune::store
