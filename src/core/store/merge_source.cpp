// Stores are read through their layout, which follows no link; a bundle's names become path components.
#include "core/store/merge_source.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/record/record_log.hpp"
#include "core/store/bundle.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_file = std::uint64_t{1} << 32;

class StoreSource final : public MergeSource {
 public:
  explicit StoreSource(const fs::path& store) : cache_(store), layout_(layout_of(store)) {}

  void each_file(const std::function<void(const Folder&, const std::string&, std::string)>& visit,
                 std::vector<std::string>& warnings) override {
    warnings.insert(warnings.end(), layout_.warnings.begin(), layout_.warnings.end());
    for (const RecordFile& file : layout_.records) {
      std::string text;
      try {
        text = read_file(file.path, longest_file);
      } catch (const Error& error) {
        warnings.emplace_back(error.what());
        continue;
      }
      visit({file.arch, file.kernel}, printable(file.path.string()), std::move(text));
    }
  }

  std::vector<std::string> artifacts() override {
    std::vector<std::string> keys;
    for (const auto& [key, files] : layout_.artifacts)
      if (files.has_metadata) keys.push_back(key);
    return keys;
  }

  Packed artifact(const std::string& key) override {
    Packed packed{read_file(cache_.entry_path(key, "json"), longest_file), "", ""};
    packed.image = read_file(cache_.entry_path(key, artifact_format(key, packed.metadata)));
    try {
      packed.source = read_file(cache_.source_path(key));
    } catch (const Error&) {  // a store without sources works as well
    }
    return packed;
  }

 private:
  const ArtifactCache cache_;
  const StoreLayout layout_;
};

class BundleSource final : public MergeSource {
 public:
  explicit BundleSource(const fs::path& path) : bundle_(path), name_(printable(path.string())) {}

  void each_file(const std::function<void(const Folder&, const std::string&, std::string)>& visit,
                 std::vector<std::string>&) override {
    for (const Bundle::Part& part : bundle_.parts())
      visit({path_component(part.arch), path_component(part.kernel)},
            name_ + " (" + printable(part.kernel, 80) + " on " + printable(part.arch, 80) + ")", bundle_.records(part));
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
  return std::make_unique<StoreSource>(path);
}

}  // namespace xtune
