// A record file is only appended to: the view grows with it.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text.hpp"
#include "core/store/best.hpp"
#include "core/store/store_view.hpp"

namespace xtune::store {

GrowingRecords::GrowingRecords(std::filesystem::path store, std::string arch, std::string kernel,
                               measure::Statistic statistic)
    : store_(std::move(store)), arch_(std::move(arch)), kernel_(std::move(kernel)), statistic_(statistic) {}

// Taken before the file is read: lines that are appended meanwhile make it differ at the next refresh.
GrowingRecords::File GrowingRecords::file_at(const std::filesystem::path& path) {
  struct stat info {};
  File file{path, 0, 0, 0, 0};
  if (::stat(path.c_str(), &info) != 0) return file;
  file.bytes = static_cast<std::uint64_t>(info.st_size);
  file.inode = info.st_ino, file.device = info.st_dev;
  file.changed_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return file;
}

void GrowingRecords::refresh() {
  listing_warnings_.clear();
  std::vector<File> now;
  for (const std::filesystem::path& path : record_files(store_, arch_, kernel_, listing_warnings_))
    now.push_back(file_at(path));
  if (view_ && now == files_) return view_->forget_rows();
  const auto sources_of = [](const std::vector<File>& files, const std::vector<File>& but) {
    const auto is_at = [](const File& a, const File& b) { return a.path < b.path; };
    std::vector<File> wanted;
    std::set_difference(files.begin(), files.end(), but.begin(), but.end(), std::back_inserter(wanted), is_at);
    std::vector<RecordSource> sources;
    for (const File& file : wanted) sources.push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
    return sources;
  };
  const bool grew = view_ && !files_.empty() && sources_of(files_, now).empty() && view_->grow(sources_of(now, files_));
  files_ = std::move(now);
  if (grew) return;
  StoreView::Options options;
  options.all = true, options.statistic = statistic_;
  view_.reset();
  view_ = StoreView::load(sources_of(files_, {}), options);
}

std::vector<GrowingRecords::Row> GrowingRecords::rows_of(const Bindings& problem,
                                                         const device::DeviceInfo& device) const {
  std::vector<Row> rows;
  if (!view_) return rows;
  for (const StoredConfig* row : view_->read_members(problem, device).rows) rows.push_back({&*view_, row});
  for (const RowBlock& block : view_->row_set().blocks)
    if (block.sanitized && view_->row_set().problems[block.problem].sizes == problem)
      for (const StoredConfig& row : view_->row_set().rows_of(block)->rows)
        if (same_device(view_->device_of(row), device)) rows.push_back({&*view_, &row});
  return rows;
}

std::vector<std::string> GrowingRecords::warnings() const {
  std::vector<std::string> all = listing_warnings_;
  if (view_) all.insert(all.end(), view_->warnings().begin(), view_->warnings().end());
  return all;
}

RecordSet GrowingRecords::read(std::vector<Row> rows) const {
  RecordSet set;
  set.warnings = warnings();
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::tuple(a.config->block->file, a.config->offset()) <
           std::tuple(b.config->block->file, b.config->offset());
  });
  for (const Row& row : rows) {
    try {
      set.records.push_back(row.view->record_of(*row.config));
    } catch (const Error& error) {  // its file was repaired or removed meanwhile
      set.warnings.emplace_back(error.what());
    }
  }
  return set;
}

}  // namespace xtune::store
