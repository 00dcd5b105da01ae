// Checks the files before and after: if their states are the same, they did not change while the compiler read them.
#include "core/build/checked_compile.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/tool_files.hpp"

namespace xtune::build {
namespace {

constexpr int max_compiles = 4;

/// Whether some file was touched meanwhile, with the same content before and after.
bool was_touched(ManifestNow& before) {
  try {
    return settle(before.keyed);
  } catch (const Error&) {  // changed again
    return true;
  }
}

/// One compile, and what it threw.
struct Attempt {
  Artifact artifact;
  std::exception_ptr failure;
  std::optional<FilesRead> read;

  Attempt(Toolchain& toolchain, const CompileRequest& request) {
    try {
      artifact = toolchain.compile(request);
      read = std::move(artifact.files_read);
    } catch (const CandidateFailure& failed) {
      failure = std::current_exception();
      if (failed.files_read) read = *failed.files_read;
    }
  }
};

/// Whether the compile may have read files that neither the source's text nor the compiler's list shows.
bool may_have_read_others(Toolchain& toolchain, const CompileRequest& request, const Attempt& attempt) {
  if (attempt.read) return request.files && request.files->may_probe_others();
  return toolchain.lists_files() || (request.files && !request.files->unknown.empty());
}

}  // namespace

ToolFiles Toolchain::parts() { return {}; }
std::vector<std::string> Toolchain::archs() { return {}; }

ToolchainChanged::ToolchainChanged(const std::string& expected, const std::string& found)
    : Error(ErrorKind::unavailable,
            fmt::format("the compiler here is '{}', and the keys of this run are of '{}': it was "
                        "replaced meanwhile. Nothing that it made was stored; run again, and "
                        "the results will be those of the compiler that is here now",
                        base::printable(found), base::printable(expected))) {}

Artifact compile_checked(Toolchain& toolchain, const CompileRequest& request, CompileKey* key) {
  const std::string fingerprint = base::printable(toolchain.fingerprint());
  if (!request.toolchain.empty() && fingerprint != base::printable(request.toolchain))
    throw ToolchainChanged(request.toolchain, fingerprint);
  KeyedFiles files;
  if (request.files) files = *request.files;
  settle(files);
  std::vector<ManifestNow> looked_at;  // at the contents of these manifests, before the compile
  const auto look_at = [&](const Manifest& manifest) {
    looked_at.push_back(contents_of(manifest, request.source_name));
  };
  for (const Manifest& manifest : request.known_manifests) look_at(manifest);
  for (int compiles = 1;; ++compiles) {
    Attempt attempt(toolchain, request);
    // If a file was touched meanwhile, the compiler may have read other contents.
    bool again = settle(files);
    if (const std::string now = base::printable(toolchain.fingerprint()); now != fingerprint)
      throw ToolchainChanged(fingerprint, now);
    ManifestNow after;
    if (attempt.read) after = contents_of(manifest_of(*attempt.read, request), request.source_name);
    if (!after.manifest.empty()) {
      const auto before = std::find_if(looked_at.begin(), looked_at.end(),
                                       [&](const ManifestNow& each) { return each.manifest == after.manifest; });
      const bool same = before != looked_at.end() && before->digest == after.digest;
      if (!same || (was_touched(*before) && compiles < max_compiles)) {
        if (compiles == max_compiles)
          throw Error(ErrorKind::io,
                      fmt::format("{}: files that the compiler reads change all the time, such as {}; "
                                  "try again later",
                                  base::printable(request.source_name),
                                  base::printable(after.manifest.files.empty() ? after.manifest.absent.front()
                                                                               : after.manifest.files.front())));
        if (before != looked_at.end()) looked_at.erase(before);
        looked_at.push_back(after);
        continue;
      }
    }
    if (again && compiles == 1) continue;
    if (key && !request.base_key.empty()) {
      key->reads = after;
      key->key = key_with_reads(request.base_key, may_have_read_others(toolchain, request, attempt)
                                                      ? "unknown files in run " + request.run
                                                      : after.digest);
    }
    if (attempt.failure) std::rethrow_exception(attempt.failure);
    attempt.artifact.toolchain = fingerprint;
    attempt.artifact.manifest = after.manifest;
    return std::move(attempt.artifact);
  }
}

}  // namespace xtune::build
