// Files are compared by their digests, so a store may come from another machine.
#include "core/build/artifact_sources.hpp"

#include <map>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/build/keyed_files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

std::string name_of(const SourceFile& file) { return std::filesystem::path(file.path).filename().string(); }

std::map<std::string, std::string> by_path(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> digests;
  for (const SourceFile& file : files) digests.emplace(file.path, file.sha256);
  return digests;
}

/// Files in both lists with different contents.
std::vector<std::string> changed_files(const ArtifactSources& a, const ArtifactSources& b) {
  std::vector<std::string> changed;
  const auto other = by_path(b.files);
  for (const auto& [path, digest] : by_path(a.files))
    if (const auto found = other.find(path); found != other.end() && found->second != digest) changed.push_back(path);
  return changed;
}

bool is_other_source(const ArtifactSources& a, const ArtifactSources& b) {
  return a.source && b.source && a.source->sha256 != b.source->sha256;
}

}  // namespace

ArtifactSources sources_of(const CompileRequest& request) {
  ArtifactSources sources;
  // For a program this is a list of its sources, which are among the files.
  if (request.folder.empty()) sources.source = {base::printable(request.source_name), base::sha256(request.source)};
  if (request.files)
    for (const KeyedFile& file : request.files->files)
      sources.files.push_back({base::printable(file.path), file.sha256});
  sources.toolchain = base::printable(request.toolchain);
  return sources;
}

ArtifactSources stored_sources(const std::filesystem::path& store, const std::string& key) {
  try {
    const ArtifactCache cache(store);
    return artifact_sources(key, system::read_trusted_file(cache.entry_path(key, "json")));
  } catch (const Error&) {
    return {};
  }
}

bool same_sources(const ArtifactSources& a, const ArtifactSources& b) {
  return !is_other_source(a, b) && changed_files(a, b).empty();
}

std::vector<std::string> source_changes(const ArtifactSources& stored, const ArtifactSources& now) {
  std::vector<std::string> lines;
  if (is_other_source(stored, now)) lines.push_back("source " + name_of(*now.source) + ": changed");
  for (const std::string& path : changed_files(stored, now)) lines.push_back("file " + path + ": changed");
  if (!stored.toolchain.empty() && !now.toolchain.empty() && stored.toolchain != now.toolchain)
    lines.push_back("compiler: " + stored.toolchain + " -> " + now.toolchain);
  return lines;
}

}  // namespace xtune::build
