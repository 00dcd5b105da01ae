// Stores are read through their layout, but not behind links; a bundle's names become path components.
#include "core/store/merge_source.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "core/build/cache.hpp"
#include "core/record/record_log.hpp"
#include "core/store/bundle.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_source_file = std::uint64_t{1} << 32;

class StoreSource final : public MergeSource {
 public:
  explicit StoreSource(const fs::path& store)
      : store_(store), cache_(store), layout_(layout_of(store, record::Owners::any)) {}

  std::uint64_t each_file(const std::function<void(const Folder&, const std::string&, std::string)>& visit,
                          std::vector<std::string>& warnings) override {
    std::uint64_t unread = layout_.unreadable_records;
    for (const record::Unreadable& one : layout_.unreadable) warnings.push_back("skipped: " + one.text());
    for (const auto& [key, files] : layout_.artifacts) pass_over(files.link, warnings);
    for (const RecordFile& file : layout_.records) {
      try {
        if (!pass_over(record::link_on_the_way(store_, file.path), warnings)) {
          visit({file.arch, file.kernel}, base::printable(file.path.string()),
                base::read_file(file.path, longest_source_file));
          continue;
        }
      } catch (const Error& error) {
        warnings.emplace_back(error.what());
      }
      ++unread;
    }
    return unread;
  }

  std::vector<std::string> artifacts() override {
    std::vector<std::string> keys;
    for (const auto& [key, files] : layout_.artifacts)
      if (files.has_metadata && files.link.empty()) keys.push_back(key);
    return keys;
  }

  Packed artifact(const std::string& key) override {
    Packed packed{base::read_file(cache_.entry_path(key, "json"), longest_source_file), "", ""};
    packed.image = base::read_file(cache_.entry_path(key, build::artifact_format(key, packed.metadata)));
    try {
      packed.source = base::read_file(cache_.source_path(key));
    } catch (const Error&) {  // a store without sources works as well
    }
    return packed;
  }

 private:
  // The author of the store chose the targets of its links, which may be private files of the user who merges.
  static bool pass_over(const fs::path& link, std::vector<std::string>& warnings) {
    if (!link.empty())
      base::add_once(warnings, "skipped: " + base::printable(link.string()) +
                                   " is a link, which merge does not follow; a copy made by `cp -rL` has none");
    return !link.empty();
  }

  const fs::path store_;
  const build::ArtifactCache cache_;
  const StoreLayout layout_;
};

class BundleSource final : public MergeSource {
 public:
  explicit BundleSource(const fs::path& path) : bundle_(path), name_(base::printable(path.string())) {}

  std::uint64_t each_file(const std::function<void(const Folder&, const std::string&, std::string)>& visit,
                          std::vector<std::string>&) override {
    for (const Bundle::Part& part : bundle_.parts())
      visit({record::path_component(part.arch), record::path_component(part.kernel)},
            name_ + " (" + base::printable(part.kernel, 80) + " on " + base::printable(part.arch, 80) + ")",
            bundle_.records(part));
    return 0;
  }

  std::vector<std::string> artifacts() override { return bundle_.artifact_keys(); }

  Packed artifact(const std::string& key) override {
    return {bundle_.metadata(key), bundle_.artifact(key).value().image, ""};
  }

 private:
  const Bundle bundle_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<MergeSource> open_merge_source(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::make_unique<BundleSource>(path);
  require_store(path);
  // A new store has neither directory; but then there is nothing to merge, and a wrong path is more likely.
  if (!fs::exists(fs::symlink_status(path / "records", error)) &&
      !fs::exists(fs::symlink_status(path / "artifacts", error)))
    throw Error(ErrorKind::invalid_argument,
                base::printable(path.string()) + " is not a store: it has neither records nor artifacts");
  base::require_unwritable(path);
  return std::make_unique<StoreSource>(path);
}

}  // namespace xtune::store
