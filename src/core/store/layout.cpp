// Lists a store's files.
#include "core/store/layout.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/store/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;

// Size and time of a file or directory; false: it has been removed meanwhile.
bool stat_of(const fs::path& path, std::uint64_t& bytes, std::int64_t& unix_time_ms) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  bytes = static_cast<std::uint64_t>(info.st_size);
  unix_time_ms = std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
  return true;
}

class Listing {
 public:
  Listing(const fs::path& store, Owners owners) : store_(store), owners_(owners) {}

  StoreLayout run() {
    list_records();
    layout_.unreadable_records = layout_.unreadable.size();
    for (const StoreEntry& folder : entries(store_ / "artifacts"))
      if (folder.folder && folder.name.size() == 2)
        for (const StoreEntry& file : entries(folder.path)) add_file(file);
    for (const StoreEntry& file : entries(store_ / "sources")) add_file(file);
    list_jobs("studies", "claims of a job that has ended");
    list_jobs("transfers", "what an interrupted pull had fetched");
    return std::move(layout_);
  }

 private:
  std::vector<StoreEntry> entries(const fs::path& folder) { return store_entries(folder, layout_.unreadable, owners_); }

  void list_jobs(const char* place, const char* what) {
    for (const StoreEntry& job : entries(store_ / place)) {
      Leftover leftover{job.path, what};
      std::uint64_t ignored = 0;
      if (!job.folder || !is_path_component(job.name) || !link_on_the_way(store_, job.path).empty() ||
          !stat_of(job.path, ignored, leftover.unix_time_ms))
        continue;
      measure(job.path, leftover);
      layout_.leftovers.push_back(std::move(leftover));
    }
  }

  void list_records() {
    for (const StoreEntry& arch : entries(store_ / "records")) {
      if (!arch.folder || !is_path_component(arch.name)) continue;
      for (const StoreEntry& kernel : entries(arch.path)) {
        if (!kernel.folder || !is_path_component(kernel.name)) continue;
        for (const StoreEntry& file : entries(kernel.path)) {
          add_leftover(file);
          if (file.name.starts_with('.') || !file.name.ends_with(".jsonl")) continue;
          if (file.folder)
            layout_.unreadable.push_back({file.path, "it is a directory"});
          else
            layout_.records.push_back({file.path, arch.name, kernel.name});
        }
      }
    }
  }

  void add_leftover(const StoreEntry& file) {
    Leftover leftover{file.path, "a temporary file"};
    if (!file.folder && file.name.starts_with('.') && file.name.ends_with(".tmp") &&
        link_on_the_way(store_, file.path).empty() && stat_of(file.path, leftover.bytes, leftover.unix_time_ms))
      layout_.leftovers.push_back(std::move(leftover));
  }

  void add_file(const StoreEntry& file) {
    add_leftover(file);
    const std::string key = file.name.substr(0, file.name.find('.'));
    std::uint64_t bytes = 0;
    std::int64_t unix_time_ms = 0;
    if (file.folder || !build::is_artifact_key(key) || !stat_of(file.path, bytes, unix_time_ms)) return;
    ArtifactFiles& artifact = layout_.artifacts[key];
    artifact.files.push_back(file.path);
    artifact.bytes += bytes;
    artifact.unix_time_ms = std::max(artifact.unix_time_ms, unix_time_ms);
    artifact.has_metadata = artifact.has_metadata || file.name == key + ".json";
    if (artifact.link.empty()) artifact.link = link_on_the_way(store_, file.path);
  }

  void measure(const fs::path& folder, Leftover& job) {
    for (const StoreEntry& entry : entries(folder)) {
      std::uint64_t bytes = 0;
      std::int64_t unix_time_ms = 0;
      if (!stat_of(entry.path, bytes, unix_time_ms) || fs::is_symlink(entry.path)) continue;
      if (entry.folder) measure(entry.path, job);
      if (!entry.folder) job.bytes += bytes;
      job.unix_time_ms = std::max(job.unix_time_ms, unix_time_ms);
    }
  }

  const fs::path store_;
  const Owners owners_;
  StoreLayout layout_;
};

}  // namespace

StoreLayout layout_of(const fs::path& store, Owners owners) { return Listing(store, owners).run(); }

void require_store(const fs::path& store) {
  std::error_code error;
  const fs::file_status status = fs::status(store, error);
  if (fs::is_directory(status)) return;
  const std::string name = "the store " + base::printable(store.string()), hint = "; --store DIR names another";
  if (fs::exists(status)) throw Error(ErrorKind::invalid_argument, name + " is not a directory" + hint);
  if (status.type() != fs::file_type::not_found)
    throw Error(ErrorKind::io, name + " cannot be read: " + error.message() + hint);
  throw Error(
      ErrorKind::invalid_argument,
      name + (fs::is_symlink(fs::symlink_status(store, error)) ? " is a link that leads nowhere" : " does not exist") +
          hint);
}

std::string title_of(const RecordFile& file) {
  return name_of_component(file.arch).value_or(file.arch) + "/" + name_of_component(file.kernel).value_or(file.kernel);
}

}  // namespace xtune::store
