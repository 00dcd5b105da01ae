// Files are append-only and mostly complete: lines that are new since the last refresh go into a separate view.
#include "core/store/growing_records.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "core/record/best.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

GrowingRecords::GrowingRecords(std::filesystem::path store, std::string arch, std::string kernel,
                               measure::Statistic statistic)
    : store_(std::move(store)), arch_(std::move(arch)), kernel_(std::move(kernel)), statistic_(statistic) {}

// Taken before the file is read: lines that are appended meanwhile make it differ at the next refresh.
GrowingRecords::File GrowingRecords::file_at(const std::filesystem::path& path) {
  struct stat info {};
  File file{path, 0, 0, 0, 0, true};
  if (::stat(path.c_str(), &info) != 0) return file;
  file.bytes = static_cast<std::uint64_t>(info.st_size);
  file.inode = info.st_ino, file.device = info.st_dev;
  file.changed_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return file;
}

void GrowingRecords::add_part(std::vector<File> files) {
  std::vector<record::RecordSource> sources;
  for (const File& file : files) sources.push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  StoreView::Options options;
  options.all = true, options.statistic = statistic_;
  parts_.push_back({StoreView::load(std::move(sources), options), std::move(files)});
}

void GrowingRecords::refresh() {
  listing_warnings_.clear();
  std::map<std::filesystem::path, File> now;
  for (const std::filesystem::path& path : record::record_files(store_, arch_, kernel_, listing_warnings_))
    now.emplace(path, file_at(path));
  for (Part& part : parts_) part.view.forget_rows();
  for (Part& part : parts_)
    for (File& file : part.files) {
      if (!file.current) continue;
      const auto found = now.find(file.path);
      file.current = found != now.end() && found->second == file;
      if (file.current) now.erase(found);
    }
  std::erase_if(parts_, [](const Part& part) {
    return std::none_of(part.files.begin(), part.files.end(), [](const File& file) { return file.current; });
  });
  std::vector<File> fresh;
  for (auto& [path, file] : now) fresh.push_back(std::move(file));
  if (!fresh.empty()) add_part(std::move(fresh));
}

std::vector<GrowingRecords::Row> GrowingRecords::rows_of(const Bindings& problem,
                                                         const device::DeviceInfo& device) const {
  std::vector<Row> rows;
  for (const Part& part : parts_) {
    const auto add = [&](const StoredConfig& row) {
      if (part.files[row.block->file].current) rows.push_back({&part.view, &row});
    };
    for (const StoredConfig* row : part.view.read_members(problem, device).rows) add(*row);
    for (const RowBlock& block : part.view.row_set().blocks)
      if (block.sanitized && part.view.row_set().problems[block.problem].sizes == problem)
        for (const StoredConfig& row : part.view.row_set().rows_of(block)->rows)
          if (record::same_device(part.view.device_of(row), device)) add(row);
  }
  return rows;
}

std::vector<std::string> GrowingRecords::warnings() const {
  std::vector<std::string> all = listing_warnings_;
  for (const Part& part : parts_) all.insert(all.end(), part.view.warnings().begin(), part.view.warnings().end());
  return all;
}

record::RecordSet GrowingRecords::read(std::vector<Row> rows) const {
  record::RecordSet set;
  set.warnings = warnings();
  const auto part_of = [&](const StoreView* view) {
    return std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return &part.view == view; }) -
           parts_.begin();
  };
  std::map<const StoreView*, std::ptrdiff_t> numbers;
  for (const Row& row : rows)
    if (const auto [place, is_new] = numbers.emplace(row.view, 0); is_new) place->second = part_of(row.view);
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::tuple(numbers[a.view], a.config->block->file, a.config->offset()) <
           std::tuple(numbers[b.view], b.config->block->file, b.config->offset());
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
