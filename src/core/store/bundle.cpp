// A bundle: a line with the hash of the index, the index, then the parts at the positions in the index.
#include "core/store/bundle.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/build/manifest.hpp"
#include "core/space/value.hpp"
#include "core/store/best.hpp"
#include "core/store/layout.hpp"
#include "core/store/record.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int bundle_version = 1;
constexpr std::size_t longest_header = 512;

struct Parts {
  std::map<std::pair<std::string, std::string>, std::string> records;
  std::map<std::string, build::Artifact> artifacts;
};

Parts parts_of(const fs::path& store, const WinnerFilter& filter, BundleReport& report) {
  Parts parts;
  const build::ArtifactCache cache(store);
  for (const Winner& winner : winners_of(store, filter, report.warnings)) {
    std::string& text = parts.records[{winner.arch, winner.kernel}];
    if (text.empty()) text = Json{{"xtune_records", Record::schema}, {"xtune", version}}.dump() + "\n";
    text += winner.line + "\n";
    ++report.records;
    const std::string& key = winner.record.artifact_key;
    if (parts.artifacts.contains(key)) continue;
    try {
      build::Artifact artifact = cache.read(key);
      if (!is_measured(winner.record, artifact))
        throw Error(ErrorKind::io, "artifact " + key + " is not the one that its record measured");
      parts.artifacts.emplace(key, std::move(artifact));
    } catch (const Error& error) {
      report.warnings.push_back(fmt::format("{} on {}, {}: its artifact is not in the bundle: {}", winner.kernel,
                                            winner.arch, space::shown_text(winner.record.config), error.what()));
    }
  }
  if (report.records == 0) throw no_answers();
  report.artifacts = parts.artifacts.size();
  return parts;
}

std::map<std::string, const BundledSpec*> specs_by_kernel(const std::vector<BundledSpec>& specs) {
  std::map<std::string, const BundledSpec*> by_kernel;
  for (const BundledSpec& spec : specs)
    if (!by_kernel.emplace(spec.kernel, &spec).second)
      throw Error(ErrorKind::invalid_argument, "two specs of the kernel '" + base::printable(spec.kernel, 80) +
                                                   "': a bundle holds one of each kernel");
  return by_kernel;
}

// Whether it is a path below a directory, in its canonical form.
bool is_inner_path(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
         path.lexically_normal() == path && *path.begin() != ".." && path.has_filename() && *path.begin() != ".";
}

}  // namespace

BundleReport write_bundle(const fs::path& store, const fs::path& path, const WinnerFilter& filter,
                          const std::vector<BundledSpec>& specs) {
  BundleReport report;
  const Parts parts = parts_of(store, filter, report);
  std::string data;
  Json index = {{"records", Json::array()}, {"artifacts", Json::array()}};
  for (const auto& [name, text] : parts.records) {
    index["records"].push_back({{"arch", name.first},
                                {"kernel", name.second},
                                {"offset", data.size()},
                                {"bytes", text.size()},
                                {"sha256", base::sha256(text)}});
    data += text;
  }
  for (const auto& [key, artifact] : parts.artifacts) {
    build::ArtifactSources named;  // a manifest is found by its source's name
    if (!artifact.manifest.empty())
      if (const auto source = build::stored_sources(store, key).source)
        named.source = {fs::path(source->path).filename().string(), source->sha256};
    index["artifacts"].push_back({{"key", key},
                                  {"offset", data.size()},
                                  {"bytes", artifact.image.size()},
                                  {"metadata", Json::parse(build::artifact_metadata(artifact, "", named))}});
    data += artifact.image;
  }
  for (const auto& [kernel, spec] : specs_by_kernel(specs)) {
    Json files = Json::array();
    for (const auto& [name, text] : spec->files) {
      files.push_back(
          {{"name", name}, {"offset", data.size()}, {"bytes", text.size()}, {"sha256", base::sha256(text)}});
      data += text;
    }
    index["specs"].push_back({{"kernel", kernel}, {"spec", spec->spec}, {"files", std::move(files)}});
  }
  const std::string index_text = index.dump() + "\n";
  const Json header = {{"xtune_bundle", bundle_version},
                       {"xtune", version},
                       {"index_bytes", index_text.size()},
                       {"index_sha256", base::sha256(index_text)}};
  const std::string text = header.dump() + "\n" + index_text + data;
  system::write_output_file(path, text);
  report.bytes = text.size();
  return report;
}

Bundle::Bundle(fs::path path) : path_(std::move(path)) {
  const auto fail = [&](const std::string& why) {
    return Error(ErrorKind::io, base::printable(path_.string()) + " is not a bundle of xtune, or is damaged: " + why);
  };
  system::require_unwritable(path_);
  std::error_code error;
  const std::uint64_t size = fs::file_size(path_, error);
  const std::string start = system::read_file_part(path_, 0, error ? 0 : std::min<std::uint64_t>(size, longest_header));
  const std::size_t newline = start.find('\n');
  if (newline == std::string::npos) throw fail("it does not begin with a header line");
  try {
    const Json header = Json::parse(start.substr(0, newline));
    const int written = header.at("xtune_bundle");
    if (written > bundle_version)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: written by a newer xtune (bundle version {}, this one reads up to {})",
                              base::printable(path_.string()), written, bundle_version));
    const std::uint64_t index_bytes = header.at("index_bytes"), begin = newline + 1;
    if (index_bytes > size - begin) throw fail("it is cut off");
    const std::string text = system::read_file_part(path_, begin, index_bytes);
    if (header.at("index_sha256") != base::sha256(text)) throw fail("its index is not the one that was written");
    const std::uint64_t data = begin + index_bytes;
    header_ = start.substr(0, newline);
    data_ = data;
    const Json index = Json::parse(text);
    const auto place_of = [&](const Json& part) {
      const std::uint64_t offset = part.at("offset"), bytes = part.at("bytes");
      if (offset > size - data || bytes > size - data - offset) throw fail("it is cut off");
      return Place{data + offset, bytes};
    };
    for (const Json& part : index.at("records")) {
      Part name{part.at("arch"), part.at("kernel")};
      const Place place = place_of(part);
      if (part.at("sha256") != base::sha256(system::read_file_part(path_, place.offset, place.bytes)))
        throw fail("the records of " + base::printable(name.kernel, 80) + " are not those that were packed");
      if (!records_.emplace(std::pair(name.arch, name.kernel), place).second)
        throw fail("it lists the records of " + base::printable(name.kernel, 80) + " on " +
                   base::printable(name.arch, 80) + " twice");
      parts_.push_back(std::move(name));
    }
    for (const Json& part : index.at("artifacts"))
      if (!artifacts_.emplace(part.at("key"), Packed{place_of(part), part.at("metadata").dump()}).second)
        throw fail("it lists the artifact " + base::printable(part.at("key").get<std::string>(), 80) + " twice");
    for (const Json& spec : index.value("specs", Json::array())) {
      PackedSpec& packed = specs_[spec.at("kernel")];
      packed.spec = spec.at("spec");
      for (const Json& file : spec.at("files")) packed.files[file.at("name")] = {place_of(file), file.at("sha256")};
    }
  } catch (const Json::exception& damage) {
    throw fail(base::json_error_text(damage));
  }
}

std::string Bundle::contents() const {
  std::map<std::string, std::vector<std::string>> archs;
  for (const Part& part : parts_) archs[part.kernel].push_back(part.arch);
  std::string text;
  for (const auto& [kernel, of_kernel] : archs)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", base::printable(kernel, 80),
                        base::printable(fmt::format("{}", fmt::join(of_kernel, ", ")), 200));
  return text.empty() ? "nothing" : text;
}

std::vector<std::string> Bundle::specs() const {
  std::vector<std::string> kernels;
  for (const auto& [kernel, spec] : specs_) kernels.push_back(kernel);
  return kernels;
}

BundledSpec Bundle::spec(const std::string& kernel) const {
  const std::string bundle = base::printable(path_.string());
  const auto found = specs_.find(kernel);
  if (found == specs_.end())
    throw Error(ErrorKind::invalid_argument,
                specs_.empty() ? bundle + " holds no spec, but measurements of " + contents() +
                                     ": name it beside a spec, or make it again with `xtune store bundle --spec FILE`"
                               : fmt::format("{} has no spec of the kernel '{}'{}; it has those of {}", bundle,
                                             base::printable(kernel, 80), base::did_you_mean(kernel, specs()),
                                             base::printable(fmt::format("{}", fmt::join(specs(), ", ")), 400)));
  BundledSpec spec{kernel, found->second.spec, {}};
  for (const auto& [name, file] : found->second.files) {
    if (!is_inner_path(name))
      throw Error(ErrorKind::io,
                  bundle + " names a file '" + base::printable(name, 80) + "', which may lead elsewhere");
    std::string text = system::read_file_part(path_, file.place.offset, file.place.bytes);
    if (base::sha256(text) != file.sha256)
      throw Error(ErrorKind::io,
                  bundle + ": its file " + base::printable(name, 80) + " is not the one that was packed");
    spec.files.emplace(name, std::move(text));
  }
  if (!spec.files.contains(spec.spec))
    throw Error(ErrorKind::io, bundle + " lacks the spec of " + base::printable(kernel, 80));
  return spec;
}

StoreView Bundle::view(const std::string& arch, const std::string& kernel, const RowOptions& options) const {
  const auto found = records_.find({arch, kernel});
  if (found == records_.end()) return StoreView::load(std::vector<RecordSource>(), options);
  return StoreView::load({{path_, found->second.offset, found->second.bytes, base::printable(path_.string())}},
                         options);
}

std::string Bundle::records(const Part& part) const {
  const auto found = records_.find({part.arch, part.kernel});
  if (found == records_.end())
    throw Error(ErrorKind::invalid_argument, base::printable(path_.string()) + " has no records of " +
                                                 base::printable(part.kernel, 80) + " on " +
                                                 base::printable(part.arch, 80));
  return system::read_file_part(path_, found->second.offset, found->second.bytes);
}

RecordSet Bundle::record_set(const std::string& arch, const std::string& kernel) const {
  if (!records_.contains({arch, kernel})) return {};
  return parse_records(base::printable(path_.string()), records({arch, kernel}));
}

std::vector<std::string> Bundle::artifact_keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, packed] : artifacts_) keys.push_back(key);
  return keys;
}

std::string Bundle::metadata(const std::string& key) const {
  const auto found = artifacts_.find(key);
  return found == artifacts_.end() ? std::string() : found->second.metadata;
}

std::optional<build::Artifact> Bundle::artifact(const std::string& key) const {
  const auto found = artifacts_.find(key);
  if (found == artifacts_.end()) return std::nullopt;
  const Packed& packed = found->second;
  return build::checked_artifact(key, packed.metadata,
                                 system::read_file_part(path_, packed.place.offset, packed.place.bytes));
}

// What a bundle contains, and what is taken from it, as one hash each.

namespace {

/// The hash of a text's lines in any order.
std::string hash_of_lines(const std::string& text) {
  std::vector<std::string> lines = base::split(text, '\n');
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted.append(line).append("\n");
  return base::sha256(sorted);
}

}  // namespace

std::string Bundle::digest() const {
  const auto fail = [&](const std::string& why) {
    return Error(ErrorKind::io, base::printable(path_.string()) + ": it has no digest: " + why);
  };
  const std::uint64_t index_begin = header_.size() + 1;
  if (system::read_file_part(path_, 0, index_begin) != header_ + "\n") throw fail("it has changed since it was opened");
  const nlohmann::json header = nlohmann::json::parse(header_);
  if (header.dump() != header_ || header.size() != 4 || !header.contains("xtune"))
    throw fail("its first line is not as xtune writes it");
  if (header.at("index_sha256") != base::sha256(system::read_file_part(path_, index_begin, data_ - index_begin)))
    throw fail("it has changed since it was opened");
  std::vector<Place> places;
  nlohmann::json contents = {{"xtune_bundle", header.at("xtune_bundle")}, {"xtune", header.at("xtune")}};
  for (const Part& part : parts_) {
    places.push_back(records_.at({part.arch, part.kernel}));
    contents["records"][part.arch][part.kernel] = hash_of_lines(records(part));
  }
  for (const auto& [key, packed] : artifacts_) {
    places.push_back(packed.place);
    contents["artifacts"][key] = {base::sha256(packed.metadata), base::sha256(artifact(key).value().image)};
  }
  for (const auto& [kernel, packed] : specs_) {
    nlohmann::json& files = contents["specs"][kernel] = {{"spec", packed.spec}};
    for (const auto& [name, text] : spec(kernel).files) files["files"][name] = base::sha256(text);
    for (const auto& [name, file] : packed.files) places.push_back(file.place);
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
  std::uint64_t end = data_;
  for (const Place& place : places) {
    if (place.bytes > 0 && place.offset != end) throw fail("some of its bytes belong to no part, or to two");
    end += place.bytes;
  }
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) != end)
    throw fail("some of its bytes belong to no part");
  return base::sha256(contents.dump());
}

std::string choices_digest(const std::string& bundle_digest, const std::string& kernel,
                           const std::vector<ProblemChoice>& choices) {
  nlohmann::json json = {{"bundle", bundle_digest}, {"kernel", base::utf8_text(kernel)}};
  json["choices"] = nlohmann::json::array();
  for (const auto& [problem, config] : choices)
    json["choices"].push_back({to_json(problem), config ? to_json(*config) : nlohmann::json(nullptr)});
  return base::sha256(json.dump());
}

// Stores are read through their layout, but not behind links; a bundle's names become path components.

namespace {

constexpr std::uint64_t longest_source_file = std::uint64_t{1} << 32;

/// Files of records and artifacts from elsewhere: the caller must check them.
struct MergeSource {
  using Folder = std::pair<std::string, std::string>;  ///< arch, kernel: path components
  using Visit = std::function<void(const Folder&, const std::string& name, const std::string& text)>;

  struct Packed {
    std::string metadata, image;
    std::string source = {};  ///< empty: none
  };

  /// Calls back with the text of each file of record lines, and a name for it. Files that cannot be read give a
  /// warning. Returns the number of files or directories of records that were skipped: links, or unreadable ones.
  std::function<std::uint64_t(const Visit&, std::vector<std::string>& warnings)> each_file;
  std::vector<std::string> artifacts;  ///< keys, or names that replace them
  /// Throws Error if it cannot be read, or has no valid key.
  std::function<Packed(const std::string& key)> artifact;
};

// The author of the store chose the targets of its links, which may be private files of the user who merges.
bool pass_over(const fs::path& link, std::vector<std::string>& warnings) {
  if (!link.empty())
    base::add_once(warnings, "skipped: " + base::printable(link.string()) +
                                 " is a link, which merge does not follow; a copy made by `cp -rL` has none");
  return !link.empty();
}

MergeSource::Packed stored_artifact(const build::ArtifactCache& cache, const std::string& key) {
  MergeSource::Packed packed{system::read_file(cache.entry_path(key, "json"), longest_source_file), ""};
  packed.image = system::read_file(cache.entry_path(key, build::read_metadata(key, packed.metadata).artifact.format));
  try {
    packed.source = system::read_file(cache.source_path(key));
  } catch (const Error&) {  // a store without sources works as well
  }
  return packed;
}

MergeSource source_of_store(const fs::path& store) {
  StoreLayout layout = layout_of(store, Owners::any);
  MergeSource source;
  for (const auto& [key, files] : layout.artifacts)
    if (files.has_metadata && files.link.empty()) source.artifacts.push_back(key);
  source.artifact = [cache = build::ArtifactCache(store)](const std::string& key) {
    return stored_artifact(cache, key);
  };
  source.each_file = [store, layout = std::move(layout)](const auto& visit, std::vector<std::string>& warnings) {
    std::uint64_t unread = layout.unreadable_records;
    for (const Unreadable& one : layout.unreadable) warnings.push_back("skipped: " + one.text());
    for (const auto& [key, files] : layout.artifacts) pass_over(files.link, warnings);
    for (const RecordFile& file : layout.records) {
      try {
        if (!pass_over(link_on_the_way(store, file.path), warnings)) {
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
  };
  return source;
}

MergeSource source_of_bundle(const fs::path& path) {
  const auto bundle = std::make_shared<const Bundle>(path);
  const auto each_file = [bundle, name = base::printable(path.string())](const auto& visit, auto&) {
    for (const Bundle::Part& part : bundle->parts())
      visit({path_component(part.arch), path_component(part.kernel)},
            name + " (" + base::printable(part.kernel, 80) + " on " + base::printable(part.arch, 80) + ")",
            bundle->records(part));
    return std::uint64_t{0};
  };
  return {each_file, bundle->artifact_keys(), [bundle](const std::string& key) {
            return MergeSource::Packed{bundle->metadata(key), bundle->artifact(key).value().image};
          }};
}

/// Opens a file as a bundle, anything else as a store. Throws Error as Bundle and require_store do.
MergeSource open_merge_source(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return source_of_bundle(path);
  require_store(path);
  // A new store has neither directory; but then there is nothing to merge, and a wrong path is more likely.
  if (!fs::exists(fs::symlink_status(path / "records", error)) &&
      !fs::exists(fs::symlink_status(path / "artifacts", error)))
    throw Error(ErrorKind::invalid_argument,
                base::printable(path.string()) + " is not a store: it has neither records nor artifacts");
  system::require_unwritable(path);
  return source_of_store(path);
}

using Folder = MergeSource::Folder;

class Merge {
 public:
  Merge(fs::path store, const MergeSource& other) : store_(std::move(store)), other_(other), ours_(store_) {}

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
    for (const Unreadable& one : layout.unreadable) warn(one.text());
    for (const RecordFile& file : layout.records) {
      const auto place = fresh.find({file.arch, file.kernel});
      if (place != fresh.end())
        each_record("", system::read_file(file.path, longest_source_file), false,
                    [&](const std::string& line) { place->second.erase(line); });
    }
    for (const auto& [folder, lines] : fresh) left += lines.size();
    report_.known_records = read - left;
    for (const auto& [folder, lines] : fresh) write_records(folder, lines);
    for (const std::string& key : other_.artifacts) take_artifact(key);
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
      const RecordLine read = read_record_line(line);
      if (read.kind == RecordLine::Kind::newer) return warn(name + ": skipped: " + read.why);
      if (read.kind == RecordLine::Kind::damaged) warn(fmt::format("{}:{}: skipped: {}", name, number, read.why));
      if (read.kind != RecordLine::Kind::record) continue;
      if (const Record& record = *read.record; !record.artifact_sha256.empty())
        measured_[record.artifact_key].insert(record.artifact_sha256);
      take(std::string(line));
    }
  }

  void write_records(const Folder& folder, const std::set<std::string>& lines) {
    if (lines.empty()) return;
    const nlohmann::json header = {{"xtune_records", Record::schema}, {"xtune", version}, {"merged", true}};
    std::string text = with_checksum(header.dump()) + "\n";
    for (const std::string& line : lines) text.append(line).append("\n");
    const fs::path place = store_ / "records" / folder.first / folder.second,
                   path = place / ("merged-" + base::sha256(text).substr(0, 32) + ".jsonl");
    if (is_refused(place, lines.size())) return;
    system::write_file_atomically(path, text);
    report_.records += lines.size();
  }

  bool is_refused(const fs::path& place, std::uint64_t count) {
    const fs::path link = link_on_the_way(store_, place);
    if (link.empty()) return false;
    report_.refused += count;
    base::add_once(report_.warnings,
                   "skipped: nothing is merged into places outside of the store: " + behind_a_link(link));
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
        if (rank(*known, system::read_file(ours_.entry_path(key, "json"), longest_source_file)) <=
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
    const build::ArtifactMetadata metadata = build::read_metadata(artifact.key, packed.metadata);
    for (const fs::path& file : {image, source, ours_.entry_path(artifact.key, "json")})
      if (is_refused(file, 1)) return;
    const bool right = metadata.source_sha256.empty() || base::sha256(packed.source) == metadata.source_sha256;
    if (!right && !packed.source.empty())
      warn("skipped: the source of artifact " + artifact.key + ": it is not the one that was stored");
    failed_to_write_ = true;
    system::write_file_atomically(image, artifact.image);
    if (right && !packed.source.empty()) system::write_file_atomically(source, packed.source);
    system::write_file_atomically(ours_.entry_path(artifact.key, "json"), packed.metadata);
    failed_to_write_ = false;
    if (metadata.sources.source && !is_refused(store_ / "manifests", 0))
      build::store_manifest(store_, artifact.backend, metadata.sources.source->path, artifact.manifest);
    ++report_.artifacts;
  }

  const fs::path store_;
  const MergeSource& other_;
  const build::ArtifactCache ours_;
  MergeReport report_;
  std::map<std::string, std::set<std::string>> measured_;  ///< artifact -> hashes of its image in their records
  bool failed_to_write_ = false;
};

}  // namespace

MergeReport merge_store(const fs::path& store, const fs::path& other) {
  const MergeSource source = open_merge_source(other);
  std::error_code error;
  if (fs::equivalent(store, other, error))
    throw Error(ErrorKind::invalid_argument,
                base::printable(other.string()) + ": a store cannot be merged into itself");
  return Merge(store, source).run();
}

}  // namespace xtune::store
