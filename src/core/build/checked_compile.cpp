// Checks the files before and after: if their states are the same, they did not change while the compiler read them.
#include "core/build/checked_compile.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/tool_files.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

/// Throws if the compiler may have read files that the key does not describe. files_read: null if it does not list
/// them, or if it failed.
void require_known(const CompileRequest& request, const KeyedFiles& files,
                   const std::optional<std::vector<std::string>>& files_read) {
  if (!files_read) {
    if (files.unknown.empty()) return;
    throw Error(ErrorKind::io,
                fmt::format("{}: the file that this names cannot be told from the text, and this compiler does not say "
                            "what it read, so that no key would describe the result. Write the name where it is used, "
                            "or as one literal of a #define",
                            base::printable(files.unknown.front(), 300)));
  }
  std::set<fs::path> known;
  std::error_code failed;
  for (const KeyedFile& file : files.files) known.insert(fs::weakly_canonical(file.path, failed));
  known.insert(fs::weakly_canonical(request.source_name, failed));
  for (const std::string& path : *files_read)
    if (!known.contains(fs::weakly_canonical(path, failed)))
      throw Error(ErrorKind::io,
                  fmt::format("{}: the compiler read {}, which the key of the result would not describe: nothing in "
                              "the source or its options names it. Include a header by its name, or give it with "
                              "-include; give a library or an object by its path",
                              base::printable(request.source_name), base::printable(path)));
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

Artifact compile_checked(Toolchain& toolchain, const CompileRequest& request) {
  const std::string fingerprint = base::printable(toolchain.fingerprint());
  if (!request.toolchain.empty() && fingerprint != base::printable(request.toolchain))
    throw ToolchainChanged(request.toolchain, fingerprint);
  KeyedFiles files;
  if (request.files) files = *request.files;
  settle(files);
  // If a file was touched meanwhile, the compiler may have read other contents.
  const auto was_touched = [&](const std::optional<std::vector<std::string>>& files_read) {
    const bool touched = settle(files);
    require_known(request, files, files_read);
    if (const std::string now = base::printable(toolchain.fingerprint()); now != fingerprint)
      throw ToolchainChanged(fingerprint, now);
    return touched;
  };
  for (bool again = false;; again = true) {
    try {
      Artifact artifact = toolchain.compile(request);
      if (was_touched(artifact.files_read) && !again) continue;
      artifact.toolchain = fingerprint;
      return artifact;
    } catch (const CandidateFailure&) {
      if (!was_touched(std::nullopt) || again) throw;
    }
  }
}

}  // namespace xtune::build
