// The sources of a stored artifact, to find out what has changed since.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// A file at the time when the artifact's key was made: its path, printable, and the SHA-256 of its content.
struct SourceFile {
  std::string path, sha256;
};

struct ArtifactSources {
  std::optional<SourceFile> source;  ///< the kernel's source; unset: a program, or metadata of an earlier version
  std::vector<SourceFile> files;     ///< headers, and the files of a program
  std::string toolchain;             ///< fingerprint; empty: unknown
};

/// The sources of a request that is compiled now.
ArtifactSources sources_of(const CompileRequest& request);
/// The sources of the store's artifact with that key; everything is empty if there is no valid metadata.
ArtifactSources stored_sources(const std::filesystem::path& store, const std::string& key);

/// False: the kernel's source differs, or a file that both list. A file that only one of them lists is ignored, because
/// configurations may include different files.
bool same_sources(const ArtifactSources& a, const ArtifactSources& b);

/// One line for each difference: "source k.cu: changed", "compiler: g++ 12 -> g++ 13". Empty: no difference is known.
std::vector<std::string> source_changes(const ArtifactSources& stored, const ArtifactSources& now);

}  // namespace xtune::build
