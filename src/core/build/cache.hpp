// The content-addressed artifact cache: <store>/artifacts/<aa>/<key>.<format> with <key>.json beside it, and
// <store>/sources/<key>.cu.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/build/artifact.hpp"

namespace xtune {

/// Any number of processes may share one cache: files are immutable and appear by atomic rename, the .json last.
class ArtifactCache {
 public:
  explicit ArtifactCache(std::filesystem::path store);

  /// nullopt: not there. A damaged entry (missing image, wrong image hash, bad JSON) counts as not there.
  std::optional<Artifact> find(const std::string& key) const;
  /// Writes the image, the source as it was compiled (readable, with the flags as a comment) and the metadata.
  /// Replaces a damaged entry of the same key. Throws Error(io), Error(invalid_argument) for a key or format that is no
  /// file name.
  void insert(const Artifact& artifact, const CompileRequest& request);
  std::filesystem::path image_path(const Artifact& artifact) const;

 private:
  std::filesystem::path store_;
};

}  // namespace xtune
