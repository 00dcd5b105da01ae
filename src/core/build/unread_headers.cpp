// Which headers a kernel needs is asked of the compiler: it gets an empty file for each that is missing. Of headers
// that a request has other texts for, it gets a tree. In that, each file has its own absolute path below the tree's
// root, so that includes relative to a file are found, and a message names the user's file once the root is removed
// from it.
#include "core/build/unread_headers.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/keys.hpp"
#include "core/build/portable_headers.hpp"
#include "core/build/system_headers.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

namespace {

namespace fs = std::filesystem;

/// The directory of a file's project: the nearest one around it that is a repository, else the outermost of a few that
/// can be built.
fs::path project_of(const fs::path& file) {
  constexpr int max_levels = 6;
  std::error_code failed;
  fs::path found = fs::weakly_canonical(file, failed).parent_path(), at = found;
  for (int level = 0; level < max_levels && at != at.root_path(); ++level, at = at.parent_path()) {
    if (fs::exists(at / ".git", failed)) return at;
    for (const char* name : {"CMakeLists.txt", "Makefile", "compile_commands.json"})
      if (fs::exists(at / name, failed)) found = at;
  }
  return found;
}

/// The directories of the project in which an #include of this name finds a file, the nearest one first.
std::vector<std::string> directories_with(const std::string& name, const fs::path& file) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::string>> known;
  const fs::path project = project_of(file);
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(project.string() + "\n" + name);
  std::vector<std::string>& found = entry->second;
  if (!is_new || name.find("..") != name.npos) return found;
  constexpr int max_files = 50'000;
  std::error_code failed;
  int files = 0;
  for (fs::recursive_directory_iterator each(project, fs::directory_options::skip_permission_denied, failed), end;
       !failed && each != end && files < max_files; each.increment(failed), ++files) {
    const std::string path = each->path().string();
    if (each->path().filename().string().starts_with('.'))
      each.disable_recursion_pending();
    else if (path.ends_with("/" + name) && each->is_regular_file(failed))
      found.push_back(path.substr(0, path.size() - name.size() - 1));
  }
  const auto distance = [&](const std::string& directory) {
    const fs::path way = fs::path(directory).lexically_relative(file.parent_path());
    return std::pair(std::distance(way.begin(), way.end()), directory);
  };
  std::ranges::sort(found, {}, distance);
  return found;
}

/// Whether xtune, C++ or the system has a header of this name, so that its absence from the user's is not a mistake.
bool is_known_header(const std::string& name) {
  if (name.find_first_of("./") == name.npos || is_system_header(name)) return true;
  if (find_header(standin_headers(), name) || find_header(portable_headers(), name)) return true;
  std::error_code failed;
  return std::ranges::any_of(shared_header_folders(),
                             [&](const std::string& folder) { return fs::exists(fs::path(folder) / name, failed); });
}

std::string as_included(const IncludeDirective& include) {
  return fmt::format("{}{}{}", include.quoted ? '"' : '<', base::printable(include.name, 100),
                     include.quoted ? '"' : '>');
}

/// "a, b and 2 more".
std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(shown, names.size())));
  return base::printable(fmt::format("{}", fmt::join(first, ", "))) +
         (names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

/// A name that an empty file below a directory can have. Each ".." needs a directory above that one.
bool can_be_empty_file(const std::string& name) {
  return !name.empty() && name.front() != '/' && !fs::path(name).lexically_normal().string().starts_with("../../../");
}

}  // namespace

std::vector<std::string> missing_lines(const std::vector<MissingInclude>& missing,
                                       const std::vector<std::string>& searched) {
  std::vector<std::string> lines;
  for (const auto& [include, file] : missing) {
    if (is_known_header(include.name)) continue;
    const std::vector<std::string> candidates = directories_with(include.name, file);
    // <x>, an #if and a project without the file are each a hint that only some compilers have it: two are enough.
    if (candidates.empty() + !include.quoted + include.conditional > 1) continue;
    std::vector<std::string> all = searched;
    if (include.quoted) all.insert(all.begin(), file.parent_path().string());
    std::vector<std::string> once;
    for (const std::string& each : all)
      base::add_once(once, (fs::path(each) / "").lexically_normal().parent_path().string());
    const std::string place = include.line > 0 ? fmt::format(":{}", include.line) : "";
    lines.push_back(fmt::format("{}{}: #include {} is not in {}. ", base::printable(file.filename().string()), place,
                                as_included(include), first_of(once)) +
                    (candidates.empty() ? "Name its directory: include_dirs of [kernel], or -I"
                                        : fmt::format("{} {} it: add {} to include_dirs of [kernel], or as -I",
                                                      first_of(candidates), candidates.size() == 1 ? "has" : "have",
                                                      candidates.size() == 1 ? "that" : "one")));
  }
  return lines;
}

bool states_an_error(std::string_view line) {
  // "k.cu(3): error: ...", "ptxas fatal   : ...", "ptxas application ptx input, line 38; error   : ..."
  static const RE2 error("(?:^|[^0-9A-Za-z])(?:error|Error|ERROR|fatal) *[:#]", RE2::Latin1);
  return RE2::PartialMatch({line.data(), line.size()}, error);
}

std::string_view quoted_name(std::string_view line) {
  const std::size_t begin = line.find_first_of("\"'");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = line.find(line[begin], begin + 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

std::string_view missing_header(std::string_view line) {
  for (const std::string_view words :
       {"cannot open source file \"", "could not open source file \"", "' file not found"})
    if (line.find(words) != line.npos) return quoted_name(line);
  constexpr std::string_view opening = ": fatal error: ", end = ": No such file or directory";
  const std::size_t at = line.find(opening);
  if (at == line.npos || !line.ends_with(end)) return {};
  return line.substr(at + opening.size(), line.size() - end.size() - at - opening.size());
}

std::string_view first_error(std::string_view log) {
  for (const std::string_view line : base::split_lines(log))
    if (states_an_error(line)) return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  return {};
}

std::string unread_warning(const Artifact& artifact) {
  if (artifact.unread.empty()) return {};
  return fmt::format(
      "not found and read as empty: {} (if the kernel needs one, add its directory to include_dirs of [kernel])",
      fmt::join(artifact.unread, ", "));
}

std::string text_of(const UnreadHeaders::Names& unread) {
  std::string text;
  for (const auto& [why, names] : {std::pair("not found", &unread.missing), {"not for device code", &unread.unusable}})
    if (!names->empty()) text += fmt::format("; {} and read as empty: <{}>", why, fmt::join(*names, ">, <"));
  return text;
}

std::string missing_hint(const CompileRequest& request, const UnreadHeaders::Names& unread) {
  if (unread.notable.empty()) return {};
  std::vector<MissingInclude> missing = compile_closure(request).missing;
  std::erase_if(missing, [&](const MissingInclude& each) { return !unread.missing.contains(each.include.name); });
  for (MissingInclude& each : missing) each.include.conditional = false;  // the compiler did look for it
  std::vector<std::string> searched = request.include_dirs;
  const IncludeOptions options = include_options(request.options);
  searched.insert(searched.end(), options.folders.begin(), options.folders.end());
  const std::vector<std::string> lines = missing_lines(missing, searched);
  return lines.empty() ? "" : lines.front();
}

UnreadHeaders::Names UnreadHeaders::of(const std::string& source_name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(fs::path(source_name).filename());
  return found == names_.end() ? Names{} : found->second;
}

bool UnreadHeaders::add(std::set<std::string> Names::*kind, const std::string& source_name, const std::string& header) {
  const std::lock_guard lock(mutex_);
  std::set<std::string>& names = names_[fs::path(source_name).filename()].*kind;
  // A file cannot be a directory, too.
  const auto clashes = [&](const std::string& other) {
    return other.starts_with(header + "/") || header.starts_with(other + "/");
  };
  return std::ranges::none_of(names, clashes) && names.insert(header).second;
}

namespace {

/// The compiler's log of these lines, without the rest of the source.
std::string log_of(const CompileRequest& request, const std::string& lines,
                   const std::function<Artifact(const CompileRequest&)>& compile) {
  CompileRequest only = request;
  only.source = lines + "extern \"C\" __global__ void xtune_probe() {}\n";
  only.entry = "xtune_probe";
  only.defines.clear();
  only.variables.clear();
  only.more_entries.clear();
  try {
    return compile(only).log;
  } catch (const CandidateFailure& failure) {
    return failure.log();
  }
}

}  // namespace

bool UnreadHeaders::learn(const CompileRequest& request, const CandidateFailure& failure,
                          const std::function<Artifact(const CompileRequest&)>& compile) {
  const std::string_view error = first_error(failure.log());
  const auto is_in_own = [&](std::string_view line) {
    return std::ranges::any_of(own_folders_, [&](const std::string& folder) { return line.starts_with(folder + "/"); });
  };
  const std::string missing(missing_header(error));
  if (!is_in_own(error) && missing.empty()) return false;
  const std::vector<MissingInclude> includes = compile_closure(request).missing;
  if (missing.empty()) {
    bool learned = false;
    for (const auto& [include, file] : includes)
      if (add(&Names::readable, request.source_name, include.name) &&
          is_in_own(first_error(log_of(request, "#include <" + include.name + ">\n", compile))))
        learned = add(&Names::unusable, request.source_name, include.name) || learned;
    return learned;
  }
  const auto add_missing = [&](const IncludeDirective& include) {
    if (!can_be_empty_file(include.name) || !add(&Names::missing, request.source_name, include.name)) return false;
    if (!is_known_header(include.name)) add(&Names::notable, request.source_name, as_included(include));
    return true;
  };
  const auto known = std::ranges::find(includes, missing, [](const MissingInclude& each) { return each.include.name; });
  if (!add_missing(known == includes.end() ? IncludeDirective{missing, true} : known->include)) return false;
  // All others at once: a compiler stops at the first one.
  std::string lines;
  for (const auto& [include, file] : includes)
    lines += fmt::format("#if !__has_include(<{0}>)\n#warning no <{0}>\n#endif\n", include.name);
  const std::string log = log_of(request, lines, compile);
  for (const auto& [include, file] : includes)
    if (log.find("no <" + include.name + ">") != log.npos) add_missing(include);
  return true;
}

namespace {

class Tree {
 public:
  explicit Tree(const CompileRequest& request) {
    for (const auto& [path, text] : request.headers) {
      fs::create_directories(place(path).parent_path());
      if (!(std::ofstream(place(path), std::ios::binary) << text).flush())
        throw Error(ErrorKind::io, place(path).string() + ": cannot be written");
    }
    if (!request.files) return;
    for (const KeyedFile& file : request.files->files) {
      std::error_code failed;
      const fs::path path = fs::weakly_canonical(file.path, failed);
      fs::create_directories(place(path).parent_path(), failed);
      if (!request.headers.contains(path)) fs::create_symlink(path, place(path), failed);
    }
  }

  fs::path place(const fs::path& path) const { return root_.path() / path.relative_path(); }

  CompileRequest redirected(CompileRequest request) const {
    const auto inside = [&](const std::string& path) {
      std::error_code failed;
      return place(fs::weakly_canonical(path, failed));
    };
    std::vector<std::string> searched = request.include_dirs;
    const IncludeOptions options = include_options(request.options);
    searched.insert(searched.end(), options.folders.begin(), options.folders.end());
    std::vector<std::string> found;
    for (const std::string& directory : searched)
      if (fs::is_directory(inside(directory))) found.push_back(inside(directory).string());
    request.include_dirs.insert(request.include_dirs.begin(), found.begin(), found.end());
    const fs::path source = fs::absolute(request.source_name);
    fs::create_directories(inside(source.parent_path().string()));
    request.source_name = (inside(source.parent_path().string()) / source.filename()).string();
    request.headers.clear();
    return request;
  }

  std::string restored(std::string text) const {
    const std::string& root = root_.path().string();
    for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root, at))
      text.erase(at, root.size());
    return text;
  }
  void restore(FilesRead& read) const {
    for (auto* names : {&read.files, &read.absent}) {
      for (std::string& name : *names) name = restored(std::move(name));
      std::sort(names->begin(), names->end());
      names->erase(std::unique(names->begin(), names->end()), names->end());
    }
  }

 private:
  const system::TemporaryDirectory root_;
};

/// The same one for requests in succession, as compilers keep what they parsed by the names of directories.
std::shared_ptr<const Tree> tree_of(const CompileRequest& request) {
  static std::mutex mutex;
  static std::string last;
  static std::shared_ptr<const Tree> tree;
  std::vector<std::string> parts;
  for (const auto& [path, text] : request.headers) parts.insert(parts.end(), {path, base::sha256(text)});
  if (request.files)
    for (const KeyedFile& file : request.files->files) parts.push_back(file.path);
  const std::string key = canonical_list(parts);
  const std::lock_guard lock(mutex);
  if (!tree || key != last) {
    tree.reset();
    tree = std::make_shared<const Tree>(request);
    last = key;
  }
  return tree;
}

}  // namespace

Artifact compile_with_headers(const CompileRequest& request,
                              const std::function<Artifact(const CompileRequest&)>& compile) {
  if (request.headers.empty()) return compile(request);
  const std::shared_ptr<const Tree> tree = tree_of(request);
  try {
    Artifact artifact = compile(tree->redirected(request));
    artifact.log = tree->restored(std::move(artifact.log));
    if (artifact.files_read) tree->restore(*artifact.files_read);
    return artifact;
  } catch (CandidateFailure& failure) {
    failure.set_message(tree->restored(failure.what()));
    failure.set_log(tree->restored(failure.log()));
    if (failure.files_read) tree->restore(*failure.files_read);
    throw;
  }
}

}  // namespace xtune::build
