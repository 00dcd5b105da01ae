// Merging is a union of sets: of record lines, and of artifacts by key.
#include "core/store/merge.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/build/manifest.hpp"
#include "core/record/record_check.hpp"
#include "core/record/record_log.hpp"
#include "core/store/bundle.hpp"
#include "core/store/layout.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {

// Stores are read through their layout, but not behind links; a bundle's names become path components.

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
                system::read_file(file.path, longest_source_file));
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
    Packed packed{system::read_file(cache_.entry_path(key, "json"), longest_source_file), "", ""};
    packed.image = system::read_file(cache_.entry_path(key, build::artifact_format(key, packed.metadata)));
    try {
      packed.source = system::read_file(cache_.source_path(key));
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
  system::require_unwritable(path);
  return std::make_unique<StoreSource>(path);
}

namespace {

constexpr std::uint64_t longest_merged_file = std::uint64_t{1} << 32;

using Folder = MergeSource::Folder;

class Merge {
 public:
  Merge(fs::path store, MergeSource& other) : store_(std::move(store)), other_(other), ours_(store_) {}

  MergeReport run() {
    std::map<Folder, std::set<std::string>> fresh;
    report_.unread = other_.each_file(
        [&](const Folder& folder, const std::string& name, const std::string& text) {
          each_record(name, text, true, [&](std::string line) { fresh[folder].insert(std::move(line)); });
        },
        report_.warnings);
    std::uint64_t read = 0, left = 0;
    for (const auto& [folder, lines] : fresh) read += lines.size();
    const StoreLayout layout = layout_of(store_);
    for (const record::Unreadable& one : layout.unreadable) warn(one.text());
    for (const RecordFile& file : layout.records) {
      const auto place = fresh.find({file.arch, file.kernel});
      if (place != fresh.end())
        each_record("", system::read_file(file.path, longest_merged_file), false,
                    [&](const std::string& line) { place->second.erase(line); });
    }
    for (const auto& [folder, lines] : fresh) left += lines.size();
    report_.known_records = read - left;
    for (const auto& [folder, lines] : fresh) write_records(folder, lines);
    for (const std::string& key : other_.artifacts()) take_artifact(key);
    return std::move(report_);
  }

 private:
  void warn(const std::string& text) { report_.warnings.push_back(text); }

  /// checked: they are the other store's, and problems with them are reported.
  template <class Take>
  void each_record(const std::string& name, std::string_view text, bool checked, const Take& take) {
    std::string_view rest = text;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
      const std::size_t newline = rest.find('\n');
      if (newline == std::string_view::npos) {
        if (checked)
          report_.notes.push_back(fmt::format(
              "{}: its last line ({}) is not finished: it is still being written, or its writer was stopped", name,
              number));
        return;
      }
      const std::string_view line = rest.substr(0, newline);
      rest.remove_prefix(newline + 1);
      if (!checked) {
        take(std::string(line));
        continue;
      }
      const record::RecordLine read = record::read_record_line(line);
      if (read.kind == record::RecordLine::Kind::newer) return warn(name + ": skipped: " + read.why);
      if (read.kind == record::RecordLine::Kind::damaged)
        warn(fmt::format("{}:{}: skipped: {}", name, number, read.why));
      if (read.kind != record::RecordLine::Kind::record) continue;
      if (const record::Record& record = *read.record; !record.artifact_sha256.empty())
        measured_[record.artifact_key].insert(record.artifact_sha256);
      take(std::string(line));
    }
  }

  void write_records(const Folder& folder, const std::set<std::string>& lines) {
    if (lines.empty()) return;
    const nlohmann::json header = {{"xtune_records", record::Record::schema}, {"xtune", version}, {"merged", true}};
    std::string text = record::with_checksum(header.dump()) + "\n";
    for (const std::string& line : lines) text.append(line).append("\n");
    const fs::path place = store_ / "records" / folder.first / folder.second,
                   path = place / ("merged-" + base::sha256(text).substr(0, 32) + ".jsonl");
    if (is_refused(place, lines.size())) return;
    system::write_file_atomically(path, text);
    report_.records += lines.size();
  }

  bool is_refused(const fs::path& place, std::uint64_t count) {
    const fs::path link = record::link_on_the_way(store_, place);
    if (link.empty()) return false;
    report_.refused += count;
    base::add_once(report_.warnings,
                   "skipped: nothing is merged into places outside of the store: " + record::behind_a_link(link));
    return true;
  }

  void take_artifact(const std::string& key) {
    try {
      const MergeSource::Packed packed = other_.artifact(key);
      const build::Artifact artifact = build::checked_artifact(key, packed.metadata, packed.image);
      if (const auto measured = measured_.find(key);
          measured != measured_.end() && !measured->second.contains(base::sha256(artifact.image)))
        throw Error(ErrorKind::io, "artifact " + key + ": its image is not one that its records measured");
      if (const auto known = ours_.find(key)) {
        const auto rank = [](const build::Artifact& one, const std::string& text) {
          return std::pair(base::sha256(one.image), text);
        };
        if (rank(*known, system::read_file(ours_.entry_path(key, "json"), longest_merged_file)) <=
            rank(artifact, packed.metadata)) {
          ++report_.known_artifacts;
          return;
        }
      }
      write_artifact(artifact, packed);
    } catch (const Error& error) {
      if (failed_to_write_) throw;
      warn(std::string("skipped: ") + error.what());
    }
  }

  // In the order of ArtifactCache::insert: the metadata last, as they contain the hashes of the rest.
  void write_artifact(const build::Artifact& artifact, const MergeSource::Packed& packed) {
    const fs::path image = ours_.image_path(artifact), source = ours_.source_path(artifact.key);
    const std::string source_sha256 = build::artifact_source_sha256(artifact.key, packed.metadata);
    for (const fs::path& file : {image, source, ours_.entry_path(artifact.key, "json")})
      if (is_refused(file, 1)) return;
    const bool right = source_sha256.empty() || base::sha256(packed.source) == source_sha256;
    if (!right && !packed.source.empty())
      warn("skipped: the source of artifact " + artifact.key + ": it is not the one that was stored");
    failed_to_write_ = true;
    system::write_file_atomically(image, artifact.image);
    if (right && !packed.source.empty()) system::write_file_atomically(source, packed.source);
    system::write_file_atomically(ours_.entry_path(artifact.key, "json"), packed.metadata);
    failed_to_write_ = false;
    if (const auto sources = build::artifact_sources(artifact.key, packed.metadata); sources.source)
      if (!is_refused(store_ / "manifests", 0))
        build::store_manifest(store_, artifact.backend, sources.source->path, artifact.manifest);
    ++report_.artifacts;
  }

  const fs::path store_;
  MergeSource& other_;
  const build::ArtifactCache ours_;
  MergeReport report_;
  std::map<std::string, std::set<std::string>> measured_;  ///< artifact -> hashes of its image in their records
  bool failed_to_write_ = false;
};

}  // namespace

MergeReport merge_store(const fs::path& store, const fs::path& other) {
  const std::unique_ptr<MergeSource> source = open_merge_source(other);
  std::error_code error;
  if (fs::equivalent(store, other, error))
    throw Error(ErrorKind::invalid_argument,
                base::printable(other.string()) + ": a store cannot be merged into itself");
  return Merge(store, *source).run();
}

}  // namespace xtune::store
