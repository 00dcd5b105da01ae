// The content-addressed artifact cache: <store>/artifacts/<aa>/<key>.<format> with <key>.json beside it, and
// <store>/sources/<key>.cu; and the sources of a stored artifact, to find out what has changed since.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/keys.hpp"

namespace xtune::build {

/// A file at the time when the artifact's key was made: its path, printable, and the SHA-256 of its content.
struct SourceFile {
  std::string path, sha256;
};

struct ArtifactSources {
  std::optional<SourceFile> source;  ///< the kernel's source; unset: a program, or metadata of an earlier version
  std::vector<SourceFile> files;     ///< headers, and the files of a program
  std::string toolchain;             ///< fingerprint; empty: unknown
  KeyParts settings;  ///< "define NAME", "options" and the like, for people; none: metadata of an earlier version
};

/// Keys and formats become file names: 64 hex digits, and a few small letters; no other characters are allowed.
bool is_artifact_key(std::string_view key) noexcept;
bool is_artifact_format(std::string_view format) noexcept;

/// What an entry's .json contains.
struct ArtifactMetadata {
  Artifact artifact;   ///< without its image
  std::string sha256;  ///< of the image
  std::uint64_t image_bytes = 0;
  std::string source_sha256;  ///< hash of the file in sources/; empty: not recorded, as in earlier versions
  ArtifactSources sources;    ///< as far as they are recorded
};
/// Throws Error(io) with the reason if the text is not the metadata of this key: another key, a format that is not a
/// valid file name, bad JSON.
ArtifactMetadata read_metadata(const std::string& key, std::string_view text);
/// The artifact of an entry's metadata and image. Throws as read_metadata, and for another size or hash of the image.
Artifact checked_artifact(const std::string& key, std::string_view metadata, std::string image);
/// The .json of an artifact. source_sha256: hash of its file in sources/; empty: there is no such file.
std::string artifact_metadata(const Artifact& artifact, const std::string& source_sha256 = "",
                              const ArtifactSources& sources = {});

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
  std::optional<ArtifactMetadata> metadata(const std::string& key) const;
  std::filesystem::path store_;
};

/// ArtifactSources::settings of a request.
KeyParts settings_of(const CompileRequest& request);
/// The sources of a request that is compiled now.
ArtifactSources sources_of(const CompileRequest& request);
/// The sources of the store's artifact with that key; everything is empty if there is no valid metadata.
ArtifactSources stored_sources(const std::filesystem::path& store, const std::string& key);

/// False: the kernel's source differs, or a file that both list. A file that only one of them lists is ignored, because
/// configurations may include different files.
bool same_sources(const ArtifactSources& a, const ArtifactSources& b);

/// One line for each difference: "source k.cu: changed", "define LAYOUT: 0 -> 1", "compiler: g++ 12 -> g++ 13". Empty:
/// no difference is known.
std::vector<std::string> source_changes(const ArtifactSources& stored, const ArtifactSources& now);

}  // namespace xtune::build
