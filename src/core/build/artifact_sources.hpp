// What a stored artifact was made from, to name what has changed since.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// A file as it was when the artifact's key was made: its path, printable, and the SHA-256 of its content.
struct SourceFile {
  std::string path, sha256;
};

struct ArtifactSources {
  std::optional<SourceFile> source;  ///< the kernel's own; none: a program, or metadata of an earlier version
  std::vector<SourceFile> files;     ///< headers, and the files of a program
  std::string toolchain;             ///< fingerprint; empty: unknown
};

/// Of what is compiled now.
ArtifactSources sources_of(const CompileRequest& request);
/// Of the store's artifact with that key; everything is empty where there is no sound metadata.
ArtifactSources stored_sources(const std::filesystem::path& store, const std::string& key);

/// False: the kernel's source differs, or a file that both have. What only one of the two names says nothing, because
/// configurations may include different files.
bool same_sources(const ArtifactSources& a, const ArtifactSources& b);

/// A line for each difference: "source k.cu: changed", "compiler: g++ 12 -> g++ 13". Empty: none is known.
std::vector<std::string> source_changes(const ArtifactSources& stored, const ArtifactSources& now);

}  // namespace xtune::build
