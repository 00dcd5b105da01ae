// The content-addressed artifact cache: <store>/artifacts/<aa>/<key>.<format> with <key>.json beside it, and
// <store>/sources/<key>.cu.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/build/artifact.hpp"
#include "core/build/artifact_sources.hpp"

namespace xtune::build {

/// Keys and formats become file names: 64 hex digits, and a few small letters; no other characters are allowed.
bool is_artifact_key(std::string_view key) noexcept;
bool is_artifact_format(std::string_view format) noexcept;

/// The artifact of an entry's metadata (its .json) and image. Throws Error(io) with the reason if they do not belong to
/// this key or to each other: another key, a format that is not a valid file name, another size or hash of the image,
/// bad JSON.
Artifact checked_artifact(const std::string& key, std::string_view metadata, std::string image);
/// The image's format in the metadata. Throws as checked_artifact.
std::string artifact_format(const std::string& key, std::string_view metadata);
/// What its compile read. Throws as checked_artifact.
Manifest artifact_manifest(const std::string& key, std::string_view metadata);
/// The .json of an artifact. source_sha256: hash of its file in sources/; empty: there is no such file.
std::string artifact_metadata(const Artifact& artifact, const std::string& source_sha256 = "",
                              const ArtifactSources& sources = {});
/// The hash of that file in the metadata; empty: not recorded, as in earlier versions. Throws as checked_artifact.
std::string artifact_source_sha256(const std::string& key, std::string_view metadata);
/// The sources of the artifact, as far as the metadata have them. Throws as checked_artifact.
ArtifactSources artifact_sources(const std::string& key, std::string_view metadata);

/// Any number of processes may share one cache: files are immutable and appear by atomic rename, the .json last.
class ArtifactCache {
 public:
  explicit ArtifactCache(std::filesystem::path store);

  /// nullopt: not found. Some entries count as not found: a damaged one (missing image, wrong image hash, bad JSON),
  /// one made by another compiler than `toolchain` (empty: any compiler; also accepted if the metadata have none), and
  /// one that users who are not trusted can change (system/trust.hpp), either itself or a directory on the path from
  /// the store to it.
  std::optional<Artifact> find(const std::string& key, const std::string& toolchain = "") const;
  /// The same, but throws Error(io) with the reason if it is missing, damaged or not trusted.
  Artifact read(const std::string& key) const;
  /// SHA-256 of the image according to the metadata, without reading the image; empty if there is no valid entry.
  std::string image_sha256(const std::string& key) const;
  /// The manifest in the metadata; empty if there is no valid entry.
  Manifest manifest(const std::string& key) const;
  /// Writes the image, the source as it was compiled (readable, with the flags as a comment) and the metadata. Replaces
  /// a damaged entry of the same key. Throws Error(io), also for a directory that is not trusted, and
  /// Error(invalid_argument) for a key or format that is not a valid file name.
  void insert(const Artifact& artifact, const CompileRequest& request);
  /// Sets the time of the entry's metadata to now, for gc, which removes the least recently used entries first. Does
  /// nothing if that fails or the time is recent.
  void mark_used(const std::string& key) const noexcept;
  std::filesystem::path image_path(const Artifact& artifact) const;
  /// <store>/artifacts/<aa>/<key>.<ending>. Throws Error(invalid_argument) for an invalid key.
  std::filesystem::path entry_path(const std::string& key, const std::string& ending) const;
  std::filesystem::path source_path(const std::string& key) const;

 private:
  void require_trusted_way(const std::string& key) const;
  std::filesystem::path store_;
};

}  // namespace xtune::build
