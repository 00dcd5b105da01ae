// Merging is a union of sets: of record lines, and of artifacts by key.
#include "core/store/merge.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/record/record_log.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_file = std::uint64_t{1} << 32;

using Folder = std::pair<std::string, std::string>;  // arch, kernel: path components

class Merge {
 public:
  Merge(fs::path store, const fs::path& other) : store_(std::move(store)), other_(other) {}

  MergeReport run() {
    StoreLayout theirs = layout_of(other_);
    for (const std::string& warning : theirs.warnings) warn(warning);
    const StoreLayout ours = layout_of(store_);
    std::map<Folder, std::set<std::string>> fresh;
    for (const RecordFile& file : theirs.records)
      each_record(file, true, [&](std::string line) { fresh[{file.arch, file.kernel}].insert(std::move(line)); });
    std::uint64_t read = 0;
    for (const auto& [folder, lines] : fresh) read += lines.size();
    for (const RecordFile& file : ours.records) {
      const auto place = fresh.find({file.arch, file.kernel});
      if (place != fresh.end()) each_record(file, false, [&](const std::string& line) { place->second.erase(line); });
    }
    for (const auto& [folder, lines] : fresh) write_records(folder, lines);
    report_.known_records = read - report_.records;
    for (const auto& [key, files] : theirs.artifacts) take_artifact(key, files);
    return std::move(report_);
  }

 private:
  void warn(const std::string& text) { report_.warnings.push_back(text); }

  template <class Take>
  void each_record(const RecordFile& file, bool checked, const Take& take) {
    const std::string name = printable(file.path.string());
    std::string text;
    try {
      text = read_file(file.path, longest_file);
    } catch (const Error& error) {
      if (!checked) throw;  // what the own store has must be known
      return warn(error.what());
    }
    std::string_view rest = text;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
      const std::size_t newline = rest.find('\n');
      if (newline == std::string_view::npos) {
        if (checked) warn(fmt::format("{}:{}: left out: the line is torn, or still being written", name, number));
        return;
      }
      const std::string_view line = rest.substr(0, newline);
      rest.remove_prefix(newline + 1);
      if (!checked) {
        take(std::string(line));
        continue;
      }
      const RecordLine read = read_record_line(line);
      if (read.kind == RecordLine::Kind::newer) return warn(name + ": left out: " + read.why);
      if (read.kind == RecordLine::Kind::damaged) warn(fmt::format("{}:{}: left out: {}", name, number, read.why));
      if (read.kind == RecordLine::Kind::record) take(std::string(line));
    }
  }

  void write_records(const Folder& folder, const std::set<std::string>& lines) {
    if (lines.empty()) return;
    const nlohmann::json header = {{"xtune_records", Record::schema}, {"xtune", version}, {"merged", true}};
    std::string text = header.dump() + "\n";
    for (const std::string& line : lines) text.append(line).append("\n");
    const fs::path path =
        store_ / "records" / folder.first / folder.second / ("merged-" + sha256(text).substr(0, 32) + ".jsonl");
    write_file_atomically(path, text);
    report_.records += lines.size();
  }

  void take_artifact(const std::string& key, const ArtifactFiles& files) {
    if (!files.has_metadata) return;
    const ArtifactCache theirs(other_), ours(store_);
    try {
      const std::string metadata = read_file(theirs.entry_path(key, "json"), longest_file);
      const std::string format = artifact_format(key, metadata);
      const Artifact artifact = checked_artifact(key, metadata, read_file(theirs.entry_path(key, format)));
      if (const auto known = ours.find(key)) {
        const auto rank = [](const Artifact& one, const std::string& text) {
          return std::pair(sha256(one.image), text);
        };
        if (rank(*known, read_file(ours.entry_path(key, "json"), longest_file)) <= rank(artifact, metadata)) {
          ++report_.known_artifacts;
          return;
        }
      }
      write_artifact(artifact, metadata, theirs, ours);
    } catch (const Error& error) {
      if (failed_to_write_) throw;
      warn(std::string("left out: ") + error.what());
    }
  }

  // As ArtifactCache::insert writes them: the metadata last, as they vouch for the image.
  void write_artifact(const Artifact& artifact, const std::string& metadata, const ArtifactCache& theirs,
                      const ArtifactCache& ours) {
    std::string source;
    try {
      source = read_file(theirs.source_path(artifact.key));
    } catch (const Error&) {  // a store without sources works as well
    }
    failed_to_write_ = true;
    write_file_atomically(ours.image_path(artifact), artifact.image);
    if (!source.empty()) write_file_atomically(ours.source_path(artifact.key), source);
    write_file_atomically(ours.entry_path(artifact.key, "json"), metadata);
    failed_to_write_ = false;
    ++report_.artifacts;
  }

  const fs::path store_, other_;
  MergeReport report_;
  bool failed_to_write_ = false;
};

}  // namespace

MergeReport merge_store(const fs::path& store, const fs::path& other) {
  require_store(other);
  std::error_code error;
  if (fs::equivalent(store, other, error))
    throw Error(ErrorKind::invalid_argument, printable(other.string()) + ": a store cannot be merged into itself");
  return Merge(store, other).run();
}

}  // namespace xtune
