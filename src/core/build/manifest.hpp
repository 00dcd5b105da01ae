// What a compile read, as the compiler listed it, besides the files that the text of the source shows.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// A manifest with the contents of its files now.
struct ManifestNow {
  Manifest manifest;
  std::string digest;  ///< over names, contents and absences; empty for an empty manifest
  KeyedFiles keyed;
};
/// What was read besides the request's own files. A name is a path, relative to the source's directory unless the file
/// is of the system. A path in `absent` where a file is now counts as read.
Manifest manifest_of(const FilesRead& read, const CompileRequest& request);
/// source_name: as in a CompileRequest.
ManifestNow contents_of(const Manifest& manifest, const std::string& source_name);

/// The request with what its compile read among its files.
CompileRequest with_reads(CompileRequest request, const ManifestNow& reads);

/// The key of a compile that read this; base_key itself for an empty digest.
std::string key_with_reads(const std::string& base_key, const std::string& digest);
/// The keys that an artifact may have, as far as earlier compiles show: the most likely one first.
std::vector<std::string> possible_keys(const std::string& base_key, const std::vector<ManifestNow>& known);

/// Of one source; the newest ones are used.
inline constexpr std::size_t max_manifests = 16;

/// The manifests in a store, <store>/manifests/<aa>/<digest>: <aa> is that of a backend's sources of one file name.
/// They only show which files to look at: each key describes what was read.
std::vector<Manifest> stored_manifests(const std::filesystem::path& store, const std::string& backend,
                                       const std::string& source_name);
/// Does nothing for one that is there. Errors are ignored: then the next run compiles again.
void store_manifest(const std::filesystem::path& store, const std::string& backend, const std::string& source_name,
                    const Manifest& manifest) noexcept;

}  // namespace xtune::build
