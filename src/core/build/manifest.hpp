// What a compile read besides the files that the text of the source shows, as the compiler listed it; and a compile
// whose result matches its key: made by that compiler, from those files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"
#include "xtune/error.hpp"

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

/// The compiler is not the one in the key: the facts about compilers that this machine remembers are out of date.
class ToolchainChanged : public Error {
 public:
  ToolchainChanged(const std::string& expected, const std::string& found);
};

/// The key of a compile, which is known when it has ended, successfully or not.
struct CompileKey {
  std::string key;    ///< empty: the request has no base_key, and its key is fixed
  ManifestNow reads;  ///< besides the request's files
};

/// toolchain.compile(request), with Artifact::toolchain set. Compiles again until two results agree if files may have
/// had another content meanwhile, and once more if it read files that were not known before to count. The key of a
/// compile whose files are unknown, or with no two results that agree, is valid in this run only. Throws the errors of
/// compile; Error(io) with the file's name if one of request.files changed, or another one changes repeatedly; and
/// ToolchainChanged. After these two, the compiler's result, even a failure, does not belong to any configuration. key:
/// set also if CandidateFailure is thrown.
Artifact compile_checked(Toolchain& toolchain, const CompileRequest& request, CompileKey* key = nullptr);

}  // namespace xtune::build
