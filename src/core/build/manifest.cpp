// A manifest is a list of names: the same on all machines where the source has the same neighbours. A checked compile
// looks at the files before and after. Contents count; states show only whether there was another content in between.
#include "core/build/manifest.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/keys.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_bytes = std::uint64_t{16} << 20;
constexpr std::string_view first_line = "xtune manifest 1";

fs::path folder_of(const std::string& source_name) {
  std::error_code failed;
  return fs::weakly_canonical(fs::absolute(source_name, failed).parent_path(), failed);
}

bool is_of_system(const fs::path& path) {
  constexpr std::string_view roots[] = {"/usr/", "/opt/", "/lib/", "/lib64/", "/etc/", "/bin/"};
  return std::any_of(std::begin(roots), std::end(roots),
                     [text = path.string()](std::string_view root) { return text.starts_with(root); });
}

/// The directory without links, and the name: a link is not its target.
fs::path plain(const fs::path& path) {
  std::error_code failed;
  return fs::weakly_canonical(path.parent_path(), failed) / path.filename();
}

std::string name_of(const fs::path& path, const fs::path& folder) {
  return is_of_system(path) ? path.string() : path.lexically_relative(folder).string();
}

std::vector<std::string> sorted(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

fs::path place_of(const fs::path& store, const std::string& backend, const std::string& source_name) {
  const std::string source = backend + "\n" + fs::path(source_name).filename().string();
  return store / "manifests" / base::sha256(source).substr(0, 16);
}

std::string text_of(const Manifest& manifest) {
  std::string text = std::string(first_line) + "\n";
  for (const std::string& name : manifest.files) text += "read " + name + "\n";
  for (const std::string& name : manifest.absent) text += "absent " + name + "\n";
  return text;
}

}  // namespace

Manifest manifest_of(const FilesRead& read, const CompileRequest& request) {
  const fs::path folder = folder_of(request.source_name);
  std::set<fs::path> known{plain(fs::absolute(request.source_name))};
  std::set<fs::path> known_absent;
  if (request.files) {
    for (const KeyedFile& file : request.files->files) known.insert(plain(file.path));
    for (const std::string& path : request.files->absent) known_absent.insert(plain(path));
  }
  std::error_code failed;
  std::set<fs::path> targets;
  for (const fs::path& path : known) targets.insert(fs::weakly_canonical(path, failed));
  std::set<std::string> files, absent;
  for (const std::string& file : read.files)
    if (const fs::path path = plain(file);
        !known.contains(path) && !targets.contains(fs::weakly_canonical(path, failed)))
      files.insert(name_of(path, folder));
  for (const std::string& file : read.absent) {
    const fs::path path = plain(file);
    if (known.contains(path) || known_absent.contains(path)) continue;
    (fs::is_regular_file(path, failed) ? files : absent).insert(name_of(path, folder));
  }
  return {sorted(files), sorted(absent)};
}

ManifestNow contents_of(const Manifest& manifest, const std::string& source_name) {
  ManifestNow now{manifest, {}, {}};
  if (manifest.empty()) return now;
  const fs::path folder = folder_of(source_name);
  std::vector<std::string> lines;
  for (const std::vector<std::string>* names : {&manifest.files, &manifest.absent})
    for (const std::string& name : *names) {
      const fs::path path = (folder / name).lexically_normal();
      std::error_code failed;
      std::string content = "none";
      if (fs::is_regular_file(path, failed)) try {
          key_remembered_file(path, now.keyed);
          content = now.keyed.files.back().sha256;
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::interrupted) throw;
          content = "unreadable";
        }
      else
        now.keyed.absent.push_back(path.string());
      lines.push_back(name);
      lines.push_back(std::move(content));
    }
  now.digest = base::sha256(canonical_list(lines));
  return now;
}

CompileRequest with_reads(CompileRequest request, const ManifestNow& reads) {
  KeyedFiles all;
  if (request.files) all = *request.files;
  all.add(reads.keyed);
  request.files = std::make_shared<const KeyedFiles>(std::move(all));
  return request;
}

std::string key_with_reads(const std::string& base_key, const std::string& digest) {
  return digest.empty() ? base_key : key_of({{"request", base_key}, {"reads", digest}});
}

std::vector<std::string> possible_keys(const std::string& base_key, const std::vector<ManifestNow>& known) {
  std::vector<std::string> keys;
  for (const ManifestNow& each : known) keys.push_back(key_with_reads(base_key, each.digest));
  keys.push_back(base_key);
  return keys;
}

std::vector<Manifest> stored_manifests(const fs::path& store, const std::string& backend,
                                       const std::string& source_name) {
  std::vector<std::pair<fs::file_time_type, Manifest>> found;
  std::error_code failed;
  if (store.empty()) return {};
  for (const auto& entry : fs::directory_iterator(place_of(store, backend, source_name), failed)) try {
      const std::string text = system::read_trusted_file(entry.path(), max_bytes);
      const std::vector<std::string_view> lines = base::split_lines(text);
      if (entry.path().filename() != base::sha256(text) || lines.empty() || lines[0] != first_line) continue;
      Manifest manifest;
      for (const std::string_view line : lines)
        for (const auto& [word, to] : {std::pair{"read ", &manifest.files}, {"absent ", &manifest.absent}})
          if (line.starts_with(word)) to->emplace_back(line.substr(std::string_view(word).size()));
      found.emplace_back(fs::last_write_time(entry.path()), std::move(manifest));
    } catch (const std::exception&) {  // removed, or not trusted
    }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > max_manifests) found.resize(max_manifests);
  std::vector<Manifest> manifests;
  for (auto& [time, manifest] : found) manifests.push_back(std::move(manifest));
  return manifests;
}

void store_manifest(const fs::path& store, const std::string& backend, const std::string& source_name,
                    const Manifest& manifest) noexcept try {
  const std::string text = text_of(manifest);
  const std::size_t lines = 1 + manifest.files.size() + manifest.absent.size();
  // A name with a line feed cannot be written, and the next run compiles again.
  if (manifest.empty() || base::split_lines(text).size() != lines) return;
  const fs::path place = place_of(store, backend, source_name) / base::sha256(text);
  if (!fs::exists(place)) system::write_file_atomically(place, text);
} catch (const std::exception&) {  // a store that cannot be written to
}

namespace {

constexpr int max_compiles = 4;

/// Whether some file may have had another content meanwhile, with the same one before and after.
bool may_have_changed(ManifestNow& before) {
  try {
    return settle(before.keyed);
  } catch (const Error& error) {  // changed again
    if (error.kind() == ErrorKind::interrupted) throw;
    return true;
  }
}

/// The contents before a compile, read when a later change is seen.
ManifestNow contents_before(const Manifest& manifest, const std::string& source_name) {
  ManifestNow now = contents_of(manifest, source_name);
  return wait_until_old(now.keyed) ? contents_of(manifest, source_name) : now;
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
      read = failed.files_read;
    }
  }

  bool agrees(const Attempt& other) const {
    return failure || other.failure ? failure && other.failure : artifact.image == other.artifact.image;
  }
};

/// Whether the compile may have read files that neither the source's text nor the compiler's list shows.
bool may_have_read_others(Toolchain& toolchain, const CompileRequest& request, const Attempt& attempt) {
  if (attempt.read) return request.files && request.files->may_probe_others();
  return toolchain.lists_files() || (request.files && !request.files->unknown.empty());
}

[[noreturn]] void fail_changing(const CompileRequest& request, const Manifest& read) {
  throw Error(ErrorKind::io,
              fmt::format("{}: files that the compiler reads change all the time, such as {}; try again later",
                          base::printable(request.source_name),
                          base::printable(read.files.empty() ? read.absent.front() : read.files.front())));
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
  std::vector<Manifest> manifests = request.known_manifests;
  std::optional<Attempt> earlier;  // during which files may have changed
  for (int compiles = 1;; ++compiles) {
    wait_until_old(files);
    settle(files);
    std::vector<ManifestNow> looked_at;
    for (const Manifest& manifest : manifests) looked_at.push_back(contents_before(manifest, request.source_name));
    Attempt attempt(toolchain, request);
    bool sure = !settle(files);
    if (const std::string now = base::printable(toolchain.fingerprint()); now != fingerprint)
      throw ToolchainChanged(fingerprint, now);
    ManifestNow after;
    if (attempt.read) after = contents_of(manifest_of(*attempt.read, request), request.source_name);
    if (!after.manifest.empty()) {
      const auto before = std::find_if(looked_at.begin(), looked_at.end(),
                                       [&](const ManifestNow& each) { return each.manifest == after.manifest; });
      // A file that the compiler had found would be among those that it read.
      const bool only_absent = after.manifest.files.empty();
      if (before == looked_at.end() ? !only_absent : before->digest != after.digest) {
        if (compiles == max_compiles) fail_changing(request, after.manifest);
        if (before == looked_at.end()) manifests.push_back(after.manifest);
        continue;
      }
      if (before != looked_at.end()) sure = !may_have_changed(*before) && sure;
    }
    const bool agreed = sure || (earlier && attempt.agrees(*earlier));
    if (!agreed && compiles < max_compiles) {
      earlier = std::move(attempt);
      continue;
    }
    if (key && !request.base_key.empty()) {
      key->reads = after;
      key->key = key_with_reads(request.base_key, !agreed || may_have_read_others(toolchain, request, attempt)
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
