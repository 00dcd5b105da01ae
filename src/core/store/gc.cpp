// Decides what is removed, then removes it: metadata first, so that there is never half an artifact.
#include "core/store/gc.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/files.hpp"
#include "base/text.hpp"
#include "core/store/layout.hpp"
#include "core/store/store_view.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t day_ms = 86'400'000;

struct Named {
  std::unordered_set<KeyDigest, KeyDigestHash> all, best;
  bool known = true;  ///< every record file was read
};

Named named_by_records(const StoreLayout& layout, std::vector<std::string>& warnings) {
  Named named;
  named.known = layout.unreadable_records == 0;
  std::map<std::pair<std::string, std::string>, std::vector<record::RecordSource>> kernels;
  for (const RecordFile& file : layout.records)
    kernels[{file.arch, file.kernel}].push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  StoreView::Options options;
  options.all = true;  // a record that is never used also names its artifact
  for (auto& [kernel, sources] : kernels) {
    const StoreView view = StoreView::load(std::move(sources), options);
    warnings.insert(warnings.end(), view.row_set().unread.begin(), view.row_set().unread.end());
    named.known = named.known && view.row_set().unread.empty();
    view.each_row([&](const StoredConfig& row) { named.all.insert(row.artifact_key); });
    view.rank_all();
    for (const StoreView::Group& group : view.groups())
      if (const ConfigOrder& order = view.order(group); !order.empty()) named.best.insert(order.front()->artifact_key);
  }
  if (!named.known) warnings.emplace_back("not every record could be read: no artifact counts as unnamed");
  return named;
}

class Collection {
 public:
  Collection(const fs::path& store, const GcOptions& options, std::int64_t now)
      : store_(store), options_(options), now_(now) {}

  GcReport run() {
    StoreLayout layout = layout_of(store_);
    for (const record::Unreadable& one : layout.unreadable) report_.warnings.push_back(one.text());
    report_.nothing_read = !layout.unreadable.empty() && layout.records.empty() && layout.artifacts.empty();
    // Records first: artifacts that only removed records name count as unnamed.
    std::erase_if(layout.records,
                  [&](const RecordFile& file) { return options_.records && remove_records(file.path); });
    for (const Leftover& leftover : layout.leftovers)
      if (now_ - leftover.unix_time_ms > day_ms) remove(leftover.path, leftover.bytes, "a temporary file");
    for (const StudyFolder& study : layout.studies)
      if (now_ - study.unix_time_ms > day_ms) remove(study.path, study.bytes, study.what);
    const Named named = named_by_records(layout, report_.warnings);
    std::erase_if(layout.artifacts,
                  [&](const auto& artifact) { return remove_artifact(artifact.second, reason(artifact, named)); });
    for (const auto& [key, files] : layout.artifacts) report_.kept_bytes += files.link.empty() ? files.bytes : 0;
    for (const RecordFile& file : layout.records) report_.record_bytes += own_bytes(file.path);
    if (options_.max_bytes) shrink(layout.artifacts, named);
    return std::move(report_);
  }

 private:
  using Artifacts = std::map<std::string, ArtifactFiles>;

  std::string reason(const Artifacts::value_type& artifact, const Named& named) const {
    const std::int64_t age_ms = now_ - artifact.second.unix_time_ms;
    if (options_.older_than_ms && age_ms > *options_.older_than_ms) return "old";
    if (age_ms <= day_ms) return "";
    if (!artifact.second.has_metadata) return "unfinished";
    return named.known && !named.all.contains(KeyDigest(artifact.first)) ? "named by no record" : "";
  }

  void shrink(const Artifacts& artifacts, const Named& named) {
    std::vector<const Artifacts::value_type*> order;
    for (const auto& artifact : artifacts)
      if (artifact.second.link.empty() && !being_written(artifact.second)) order.push_back(&artifact);
    const auto rank = [&](const Artifacts::value_type* artifact) {
      return std::tuple(named.best.contains(KeyDigest(artifact->first)), artifact->second.unix_time_ms,
                        artifact->first);
    };
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    for (const auto* artifact : order) {
      if (report_.kept_bytes <= *options_.max_bytes) break;
      if (remove_artifact(artifact->second, "beyond the size asked for")) report_.kept_bytes -= artifact->second.bytes;
    }
    if (report_.kept_bytes > *options_.max_bytes) report_.excess_bytes = report_.kept_bytes - *options_.max_bytes;
  }

  bool being_written(const ArtifactFiles& artifact) const {
    return !artifact.has_metadata && now_ - artifact.unix_time_ms <= day_ms;
  }

  // 0 for a file behind a link.
  std::uint64_t own_bytes(const fs::path& path) const {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    return error || !record::link_on_the_way(store_, path).empty() ? 0 : bytes;
  }

  bool remove_records(const fs::path& path) {
    std::error_code error;
    const auto changed = fs::last_write_time(path, error);
    const std::uint64_t bytes = error ? 0 : fs::file_size(path, error);
    if (error) return false;
    const auto age = fs::file_time_type::clock::now() - changed;
    if (std::chrono::duration_cast<std::chrono::milliseconds>(age).count() <= *options_.older_than_ms) return false;
    return remove(path, bytes, "old records");
  }

  bool remove_artifact(const ArtifactFiles& files, const std::string& why) {
    if (why.empty()) return false;
    if (!files.link.empty()) {
      base::add_once(report_.warnings, record::behind_a_link(files.link));
      return false;
    }
    bool removed = true;
    for (const bool metadata : {true, false})
      for (const fs::path& file : files.files) {
        std::error_code error;
        const std::uint64_t bytes = fs::file_size(file, error);
        if ((file.extension() == ".json") == metadata) removed = remove(file, error ? 0 : bytes, why) && removed;
      }
    return removed;
  }

  bool remove(const fs::path& path, std::uint64_t bytes, const std::string& why) {
    if (const fs::path link = record::link_on_the_way(store_, path); !link.empty()) {
      base::add_once(report_.warnings, record::behind_a_link(link));
      return false;
    }
    std::error_code error;
    if (!options_.dry_run && fs::remove_all(path, error) == static_cast<std::uintmax_t>(-1)) {
      ++report_.failed;
      report_.warnings.push_back("cannot remove " + base::printable(path.string()) + ": " + error.message());
      return false;
    }
    report_.removed.push_back({path, bytes, why});
    report_.bytes += bytes;
    return true;
  }

  const fs::path store_;
  const GcOptions options_;
  const std::int64_t now_;
  GcReport report_;
};

}  // namespace

GcReport collect_garbage(const fs::path& store, const GcOptions& options, std::int64_t now_unix_ms) {
  require_store(store);
  if (options.records && !options.older_than_ms)
    throw Error(ErrorKind::invalid_argument, "records are removed only by age: give --older-than too, such as 365d");
  return Collection(store, options, now_unix_ms).run();
}

}  // namespace xtune::store
