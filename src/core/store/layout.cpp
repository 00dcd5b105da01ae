// Lists a store's files.
#include "core/store/layout.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/record/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path path;
  std::string name;
  bool folder = false;
  std::uint64_t bytes = 0;
  std::int64_t unix_time_ms = 0;
};

// Folders and regular files, by name; nothing else, and no links.
std::vector<Entry> entries_of(const fs::path& folder, std::vector<std::string>& warnings) {
  std::vector<Entry> entries;
  std::error_code error;
  fs::directory_iterator place(folder, error);
  for (; !error && place != fs::directory_iterator(); place.increment(error)) {
    struct stat info {};
    if (::lstat(place->path().c_str(), &info) != 0 || !(S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))) continue;
    entries.push_back({place->path(), place->path().filename().string(), S_ISDIR(info.st_mode),
                       static_cast<std::uint64_t>(info.st_size),
                       std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    warnings.push_back("cannot list " + printable(folder.string()) + ": " + error.message());
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

bool is_temporary(const Entry& entry) {
  return !entry.folder && entry.name.starts_with('.') && entry.name.ends_with(".tmp");
}

void list_records(const fs::path& store, StoreLayout& layout) {
  for (const Entry& arch : entries_of(store / "records", layout.warnings)) {
    if (!arch.folder || !is_path_component(arch.name)) continue;
    for (const Entry& kernel : entries_of(arch.path, layout.warnings)) {
      if (!kernel.folder || !is_path_component(kernel.name)) continue;
      for (const Entry& file : entries_of(kernel.path, layout.warnings)) {
        if (is_temporary(file)) layout.leftovers.push_back({file.path, file.bytes, file.unix_time_ms});
        if (!file.folder && !file.name.starts_with('.') && file.name.ends_with(".jsonl"))
          layout.records.push_back({file.path, arch.name, kernel.name});
      }
    }
  }
}

void add_file(const Entry& file, StoreLayout& layout) {
  if (is_temporary(file)) layout.leftovers.push_back({file.path, file.bytes, file.unix_time_ms});
  const std::string key = file.name.substr(0, file.name.find('.'));
  if (file.folder || !is_artifact_key(key)) return;
  ArtifactFiles& artifact = layout.artifacts[key];
  artifact.files.push_back(file.path);
  artifact.bytes += file.bytes;
  artifact.unix_time_ms = std::max(artifact.unix_time_ms, file.unix_time_ms);
  artifact.has_metadata = artifact.has_metadata || file.name == key + ".json";
}

void measure(const fs::path& folder, StudyFolder& study, std::vector<std::string>& warnings) {
  for (const Entry& entry : entries_of(folder, warnings)) {
    if (entry.folder) measure(entry.path, study, warnings);
    if (!entry.folder) study.bytes += entry.bytes;
    study.unix_time_ms = std::max(study.unix_time_ms, entry.unix_time_ms);
  }
}

}  // namespace

StoreLayout layout_of(const fs::path& store) {
  StoreLayout layout;
  list_records(store, layout);
  for (const Entry& folder : entries_of(store / "artifacts", layout.warnings))
    if (folder.folder && folder.name.size() == 2)
      for (const Entry& file : entries_of(folder.path, layout.warnings)) add_file(file, layout);
  for (const Entry& file : entries_of(store / "sources", layout.warnings)) add_file(file, layout);
  for (const Entry& job : entries_of(store / "studies", layout.warnings)) {
    if (!job.folder || !is_path_component(job.name)) continue;
    StudyFolder study{job.path, 0, job.unix_time_ms};
    measure(job.path, study, layout.warnings);
    layout.studies.push_back(std::move(study));
  }
  return layout;
}

void require_store(const fs::path& store) {
  std::error_code error;
  const bool is_folder = fs::is_directory(store, error);
  if (!is_folder)
    throw Error(ErrorKind::invalid_argument,
                "the store " + printable(store.string()) +
                    (error && error != std::errc::no_such_file_or_directory ? ": " + error.message()
                     : fs::exists(store, error)                             ? " is no folder"
                                                                            : " does not exist") +
                    "; --store DIR names another");
}

std::string title_of(const RecordFile& file) {
  return name_of_component(file.arch).value_or(file.arch) + "/" + name_of_component(file.kernel).value_or(file.kernel);
}

}  // namespace xtune
