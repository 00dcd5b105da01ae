// Entries of the artifact cache: three files, of which the metadata appear last and vouch for the image by its hash.
#include "core/build/cache.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/artifact_json.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

using Json = nlohmann::json;

// Keys and formats become file names: nothing else may.
bool is_key(const std::string& key) {
  return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}
bool is_format(const std::string& format) {
  return !format.empty() && format.size() <= 16 &&
         format.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos && format != "json";
}

std::filesystem::path entry_path(const std::filesystem::path& store, const std::string& key,
                                 const std::string& format) {
  return store / "artifacts" / key.substr(0, 2) / (key + "." + format);
}

struct Metadata {
  Artifact artifact;
  std::string sha256;
  std::uint64_t image_bytes = 0;
};

std::optional<Metadata> read_metadata(const std::filesystem::path& store, const std::string& key) {
  if (!is_key(key)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(entry_path(store, key, "json"), std::uint64_t{1} << 28));
    Metadata metadata{artifact_from_json(json), json.at("sha256"), json.at("image_bytes")};
    if (metadata.artifact.key != key || !is_format(metadata.artifact.format)) return std::nullopt;
    return metadata;
  } catch (const Error&) {  // not there
  } catch (const Json::exception&) {
  }
  return std::nullopt;
}

// One comment line each, whatever the text holds: neither a newline nor a backslash before one may end or stretch the
// comment.
std::string comment(const std::string& name, const std::string& text) {
  std::string line = printable(text);
  for (std::size_t at = 0; (at = line.find('\n', at)) != std::string::npos;) line.replace(at, 1, "\\n");
  return "// " + name + ": '" + line + "'\n";
}

std::string source_text(const Artifact& artifact, const CompileRequest& request) {
  std::string text = comment("artifact", artifact.key) + comment("source", request.source_name) +
                     comment("entry", request.entry) + comment("backend", artifact.backend) +
                     comment("arch", request.arch);
  for (const std::string& option : request.options) text += comment("option", option);
  for (const auto& [name, value] : request.defines) text += comment("define", name + "=" + value);
  for (const std::string& folder : request.include_dirs) text += comment("include folder", folder);
  if (request.sanitize) text += comment("sanitize", "true");
  return text + request.source;
}

}  // namespace

ArtifactCache::ArtifactCache(std::filesystem::path store) : store_(std::move(store)) {}

std::optional<Artifact> ArtifactCache::find(const std::string& key) const {
  auto metadata = read_metadata(store_, key);
  if (!metadata) return std::nullopt;
  try {
    metadata->artifact.image = read_file(image_path(metadata->artifact));
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::string& image = metadata->artifact.image;
  if (image.size() != metadata->image_bytes || sha256(image) != metadata->sha256) return std::nullopt;
  return std::move(metadata->artifact);
}

void ArtifactCache::insert(const Artifact& artifact, const CompileRequest& request) {
  if (!is_key(artifact.key) || !is_format(artifact.format))
    throw Error(ErrorKind::invalid_argument,
                "the artifact cache takes keys of 64 hex digits and formats of small letters, not '" +
                    printable(artifact.key, 80) + "." + printable(artifact.format, 20) + "'");
  Json json = to_json(artifact);
  json["sha256"] = sha256(artifact.image);
  json["image_bytes"] = artifact.image.size();
  write_file_atomically(image_path(artifact), artifact.image);
  write_file_atomically(store_ / "sources" / (artifact.key + ".cu"), source_text(artifact, request));
  write_file_atomically(entry_path(store_, artifact.key, "json"), json.dump());
}

std::filesystem::path ArtifactCache::image_path(const Artifact& artifact) const {
  return entry_path(store_, artifact.key, artifact.format);
}

}  // namespace xtune
