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

/// Keys and formats become file names: 64 hex digits, and a few small letters; nothing else may.
bool is_artifact_key(std::string_view key) noexcept;
bool is_artifact_format(std::string_view format) noexcept;

/// The artifact of an entry's metadata (its .json) and image. Throws Error(io) that says how they are not this key's or
/// each other's: another key, a format that is no file name, another size or hash of the image, bad JSON.
Artifact checked_artifact(const std::string& key, std::string_view metadata, std::string image);
/// The image's format, as the metadata name it. Throws as checked_artifact.
std::string artifact_format(const std::string& key, std::string_view metadata);
/// The .json of an artifact. source_sha256: of its file in sources/; empty: it has none.
std::string artifact_metadata(const Artifact& artifact, const std::string& source_sha256 = "",
                              const ArtifactSources& sources = {});
/// What the metadata say of that file; empty: nothing, as those of earlier versions. Throws as checked_artifact.
std::string artifact_source_sha256(const std::string& key, std::string_view metadata);
/// What the artifact was made from, as far as the metadata say. Throws as checked_artifact.
ArtifactSources artifact_sources(const std::string& key, std::string_view metadata);

/// Any number of processes may share one cache: files are immutable and appear by atomic rename, the .json last.
class ArtifactCache {
 public:
  explicit ArtifactCache(std::filesystem::path store);

  /// nullopt: not there. A damaged entry (missing image, wrong image hash, bad JSON) counts as not there, and so does
  /// one that another compiler than `toolchain` made (empty: any will do, as it will where the metadata name none), and
  /// one that others than trusted users can change (base/trust.hpp): it, or a directory on the way from the store to
  /// it.
  std::optional<Artifact> find(const std::string& key, const std::string& toolchain = "") const;
  /// The same, but throws Error(io) that says what is missing, damaged or not to be trusted.
  Artifact read(const std::string& key) const;
  /// SHA-256 of the image as the metadata have it, which is not read; empty where there is no sound entry's.
  std::string image_sha256(const std::string& key) const;
  /// Writes the image, the source as it was compiled (readable, with the flags as a comment) and the metadata.
  /// Replaces a damaged entry of the same key. Throws Error(io), also for a directory that is not to be trusted,
  /// Error(invalid_argument) for a key or format that is no file name.
  void insert(const Artifact& artifact, const CompileRequest& request);
  /// For gc, which removes what was used longest ago first: the time of the entry's metadata becomes now. Where that
  /// cannot be, or was so lately, nothing happens.
  void mark_used(const std::string& key) const noexcept;
  std::filesystem::path image_path(const Artifact& artifact) const;
  /// <store>/artifacts/<aa>/<key>.<ending>; a key that is none is Error(invalid_argument).
  std::filesystem::path entry_path(const std::string& key, const std::string& ending) const;
  std::filesystem::path source_path(const std::string& key) const;

 private:
  void require_trusted_way(const std::string& key) const;
  std::filesystem::path store_;
};

}  // namespace xtune::build
