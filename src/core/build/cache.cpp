// Entries are three files, of which the metadata appear last and contain the hash of the image. Sources are compared by
// their digests, so a store may come from another machine.
#include "core/build/cache.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t longest_metadata = std::uint64_t{1} << 28;

SourceFile source_file_from(const Json& json) { return {json.at(0), json.at(1)}; }

ArtifactSources sources_from(const Json& json) {
  ArtifactSources sources;
  if (const auto source = json.find("source"); source != json.end()) sources.source = source_file_from(*source);
  for (const Json& file : json.value("files", Json::array())) sources.files.push_back(source_file_from(file));
  sources.toolchain = json.value("toolchain", "");
  sources.settings = json.value("settings", KeyParts());
  return sources;
}

// One comment line each, for any text: a newline, or a backslash before one, would end or extend the comment.
std::string comment(const std::string& name, const std::string& text) {
  std::string line = base::printable(text);
  for (std::size_t at = 0; (at = line.find('\n', at)) != std::string::npos;) line.replace(at, 1, "\\n");
  return "// " + name + ": '" + line + "'\n";
}

std::string source_text(const Artifact& artifact, const CompileRequest& request) {
  std::string text = comment("artifact", artifact.key) + comment("source", request.source_name) +
                     comment("backend", artifact.backend) + comment("arch", request.arch);
  for (const std::string& entry : entries_of(request)) text += comment("entry", entry);
  for (const std::string& option : request.options) text += comment("option", option);
  for (const auto& [name, value] : request.defines) text += comment("define", name + "=" + value);
  for (const std::string& folder : request.include_dirs) text += comment("include directory", folder);
  if (request.sanitize) text += comment("sanitize", "true");
  return text + request.source;
}

}  // namespace

bool is_artifact_key(std::string_view key) noexcept {
  return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_artifact_format(std::string_view format) noexcept {
  return !format.empty() && format.size() <= 16 &&
         format.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string_view::npos && format != "json";
}

ArtifactMetadata read_metadata(const std::string& key, std::string_view text) {
  const auto fail = [&](const std::string& why) -> Error {
    return {ErrorKind::io, "artifact " + base::printable(key, 80) + ": " + why};
  };
  try {
    const Json json = Json::parse(text);
    ArtifactMetadata metadata{artifact_from_json(json), json.at("sha256"), json.at("image_bytes"),
                              json.value("source_sha256", ""), sources_from(json)};
    if (metadata.artifact.key != key) throw fail("its metadata are of another artifact");
    if (!is_artifact_format(metadata.artifact.format))
      throw fail("'" + base::printable(metadata.artifact.format, 20) + "' is not a format");
    return metadata;
  } catch (const Json::exception& error) {
    throw fail("its metadata are damaged: " + base::json_error_text(error));
  }
}

Artifact checked_artifact(const std::string& key, std::string_view metadata, std::string image) {
  ArtifactMetadata read = read_metadata(key, metadata);
  if (image.size() != read.image_bytes || base::sha256(image) != read.sha256)
    throw Error(ErrorKind::io, "artifact " + base::printable(key, 80) + ": its image is not the one that was stored");
  read.artifact.image = std::move(image);
  return std::move(read.artifact);
}

std::string artifact_metadata(const Artifact& artifact, const std::string& source_sha256,
                              const ArtifactSources& sources) {
  Json json = to_json(artifact);
  json["sha256"] = base::sha256(artifact.image);
  json["image_bytes"] = artifact.image.size();
  if (!source_sha256.empty()) json["source_sha256"] = source_sha256;
  if (sources.source) json["source"] = {sources.source->path, sources.source->sha256};
  for (const SourceFile& file : sources.files) json["files"].push_back({file.path, file.sha256});
  if (!sources.settings.empty()) json["settings"] = sources.settings;
  return json.dump();
}

ArtifactCache::ArtifactCache(std::filesystem::path store) : store_(std::move(store)) {}

std::optional<Artifact> ArtifactCache::find(const std::string& key, const std::string& toolchain) const {
  try {
    Artifact found = read(key);
    if (!toolchain.empty() && !found.toolchain.empty() && found.toolchain != base::printable(toolchain))
      return std::nullopt;
    return found;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Artifact ArtifactCache::read(const std::string& key) const {
  require_trusted_way(key);
  const std::string metadata = system::read_trusted_file(entry_path(key, "json"), longest_metadata);
  return checked_artifact(key, metadata,
                          system::read_trusted_file(entry_path(key, read_metadata(key, metadata).artifact.format)));
}

// If other users can create names in a directory, a file with the right owner there proves nothing.
void ArtifactCache::require_trusted_way(const std::string& key) const {
  const std::filesystem::path folder = entry_path(key, "json").parent_path();
  for (const std::filesystem::path& directory : {store_, folder.parent_path(), folder})
    system::require_trusted(directory);
}

std::optional<ArtifactMetadata> ArtifactCache::metadata(const std::string& key) const try {
  return read_metadata(key, system::read_trusted_file(entry_path(key, "json"), longest_metadata));
} catch (const Error&) {
  return std::nullopt;
}

std::string ArtifactCache::image_sha256(const std::string& key) const {
  const auto found = metadata(key);
  return found ? found->sha256 : "";
}

Manifest ArtifactCache::manifest(const std::string& key) const {
  const auto found = metadata(key);
  return found ? found->artifact.manifest : Manifest();
}

void ArtifactCache::mark_used(const std::string& key) const noexcept try {
  constexpr std::time_t often_enough_s = 600;
  const std::filesystem::path metadata = entry_path(key, "json");
  struct stat info {};
  if (::stat(metadata.c_str(), &info) == 0 && std::time(nullptr) - info.st_mtim.tv_sec > often_enough_s)
    ::utimensat(AT_FDCWD, metadata.c_str(), nullptr, 0);
} catch (const std::exception&) {  // no memory, or an invalid key: the entry then only seems older
}

void ArtifactCache::insert(const Artifact& artifact, const CompileRequest& request) {
  if (!is_artifact_key(artifact.key) || !is_artifact_format(artifact.format))
    throw Error(ErrorKind::invalid_argument,
                "the artifact cache takes keys of 64 hex digits and formats of small letters, not '" +
                    base::printable(artifact.key, 80) + "." + base::printable(artifact.format, 20) + "'");
  require_trusted_way(artifact.key);
  system::write_file_atomically(image_path(artifact), artifact.image);
  const std::string source = source_text(artifact, request);
  system::write_file_atomically(source_path(artifact.key), source);
  system::write_file_atomically(entry_path(artifact.key, "json"),
                                artifact_metadata(artifact, base::sha256(source), sources_of(request)));
}

std::filesystem::path ArtifactCache::image_path(const Artifact& artifact) const {
  return entry_path(artifact.key, artifact.format);
}

std::filesystem::path ArtifactCache::entry_path(const std::string& key, const std::string& ending) const {
  if (!is_artifact_key(key))
    throw Error(ErrorKind::invalid_argument, "'" + base::printable(key, 80) + "' is not an artifact's key");
  return store_ / "artifacts" / key.substr(0, 2) / (key + "." + ending);
}

std::filesystem::path ArtifactCache::source_path(const std::string& key) const {
  return store_ / "sources" / (key + ".cu");
}

namespace {

std::string name_of(const SourceFile& file) { return std::filesystem::path(file.path).filename().string(); }

std::map<std::string, std::string> by_path(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> digests;
  for (const SourceFile& file : files) digests.emplace(file.path, file.sha256);
  return digests;
}

/// Files in both lists with different contents.
std::vector<std::string> changed_files(const ArtifactSources& a, const ArtifactSources& b) {
  std::vector<std::string> changed;
  const auto other = by_path(b.files);
  for (const auto& [path, digest] : by_path(a.files))
    if (const auto found = other.find(path); found != other.end() && found->second != digest) changed.push_back(path);
  return changed;
}

bool is_other_source(const ArtifactSources& a, const ArtifactSources& b) {
  return a.source && b.source && a.source->sha256 != b.source->sha256;
}

}  // namespace

KeyParts settings_of(const CompileRequest& request) {
  KeyParts settings{{"arch", request.arch}, {"entry", fmt::format("{}", fmt::join(entries_of(request), " "))}};
  if (!request.options.empty()) settings.emplace_back("options", fmt::format("{}", fmt::join(request.options, " ")));
  for (const auto& [name, value] : request.defines) settings.emplace_back("define " + name, value);
  for (auto& [name, value] : settings) name = base::printable(name), value = base::printable(value);
  return settings;
}

ArtifactSources sources_of(const CompileRequest& request) {
  ArtifactSources sources;
  // For a program this is a list of its sources, which are among the files.
  if (request.folder.empty()) sources.source = {base::printable(request.source_name), base::sha256(request.source)};
  if (request.files)
    for (const KeyedFile& file : request.files->files)
      sources.files.push_back({base::printable(file.path), file.sha256});
  sources.toolchain = base::printable(request.toolchain);
  sources.settings = settings_of(request);
  return sources;
}

ArtifactSources stored_sources(const std::filesystem::path& store, const std::string& key) {
  try {
    const ArtifactCache cache(store);
    return read_metadata(key, system::read_trusted_file(cache.entry_path(key, "json"))).sources;
  } catch (const Error&) {
    return {};
  }
}

bool same_sources(const ArtifactSources& a, const ArtifactSources& b) {
  return !is_other_source(a, b) && changed_files(a, b).empty();
}

std::vector<std::string> source_changes(const ArtifactSources& stored, const ArtifactSources& now) {
  std::vector<std::string> lines;
  if (is_other_source(stored, now)) lines.push_back("source " + name_of(*now.source) + ": changed");
  for (const std::string& path : changed_files(stored, now)) lines.push_back("file " + path + ": changed");
  if (!stored.settings.empty() && !now.settings.empty())
    for (std::string& line : key_difference(stored.settings, now.settings)) lines.push_back(std::move(line));
  if (!stored.toolchain.empty() && !now.toolchain.empty() && stored.toolchain != now.toolchain)
    lines.push_back("compiler: " + stored.toolchain + " -> " + now.toolchain);
  return lines;
}

}  // namespace xtune::build
