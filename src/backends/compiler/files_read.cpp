// No list has the files that were looked for in vain: they follow from the directories that the compiler searches.
#include "backends/compiler/files_read.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "backends/compiler/ask_compiler.hpp"
#include "backends/compiler/compiler_parts.hpp"
#include "backends/compiler/identity.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "core/build/dependency_rule.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"

namespace xtune::compiler {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr std::uint64_t max_header_bytes = std::uint64_t{64} << 20;

void append(Names& to, const Names& from) { to.insert(to.end(), from.begin(), from.end()); }

std::string canonical(const fs::path& path) {
  std::error_code failed;
  return fs::weakly_canonical(path, failed).string();
}

Names without(Names names, const Names& others) {
  std::set<std::string> known;
  for (const std::string& other : others) known.insert(canonical(other));
  std::erase_if(names, [&](const std::string& name) { return known.contains(canonical(name)); });
  return names;
}

/// The names that #include, __has_include, #embed and .incbin give.
std::set<std::string> names_in(const std::string& text) {
  const build::SourceScan scan = build::scan_source(text);
  std::set<std::string> names;
  for (const auto* directives : {&scan.includes, &scan.mentioned})
    for (const build::IncludeDirective& directive : *directives) names.insert(directive.name);
  return names;
}

std::set<std::string> names_in_files(const Names& files) {
  std::set<std::string> names;
  for (const std::string& file : files) try {
      names.merge(names_in(base::read_file(file, max_header_bytes)));
    } catch (const Error&) {  // removed meanwhile: the compile is repeated
    }
  return names;
}

/// "libm.so" and "libm.a" of "/lib/x86_64-linux-gnu/libm.so.6"; none for another file.
Names library_names(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t end = std::min(name.find(".so"), name.ends_with(".a") ? name.size() - 2 : name.npos);
  if (!name.starts_with("lib") || end == name.npos) return {};
  return {name.substr(0, end) + ".so", name.substr(0, end) + ".a"};
}

void add_headers(const SearchedFolders& searched, const build::CompileRequest& request, const ListedFiles& listed,
                 const OwnFiles& own, build::FilesRead& read) {
  const build::IncludeOptions options = build::include_options_here(request.options);
  Names known = request.include_dirs;
  for (const Names* folders : {&options.folders, &options.quoted}) append(known, *folders);
  known.push_back(fs::path(request.source_name).parent_path().string());
  Names all = searched.quoted;
  append(all, searched.angled);
  Names users = without(without(all, own.header_folders), build::shared_header_folders());
  const Names hidden = without(users, known);
  Names shown{request.source_name};
  if (request.files)
    for (const build::KeyedFile& file : request.files->files) shown.push_back(file.path);
  const Names more = without(listed.headers, shown);
  if (hidden.empty() && more.empty()) return;
  const auto add = [&](const Names& folders, const std::set<std::string>& names) {
    for (const std::string& folder : folders)
      for (const std::string& name : names) read.absent.push_back((fs::path(folder) / name).string());
  };
  std::set<std::string> names = names_in(request.source);
  names.merge(names_in_files(without(shown, {request.source_name})));
  add(hidden, names);

  append(users, known);
  for (const Names* files : {static_cast<const Names*>(&shown), &more})
    for (const std::string& file : *files) users.push_back(fs::path(file).parent_path().string());
  for (const std::string& folder : build::shared_header_folders())
    if (!folder.starts_with("/usr/include")) users.push_back(folder);
  std::set<std::string> folders;
  for (const std::string& folder : users)
    if (!folder.empty()) folders.insert(canonical(folder));
  std::set<std::string> wanted = names_in_files(more);
  for (const std::string& file : more)
    for (const std::string& folder : folders)
      if (const std::string path = canonical(file); path.starts_with(folder + "/"))
        wanted.insert(path.substr(folder.size() + 1));
  add({folders.begin(), folders.end()}, wanted);
}

void add_libraries(const Names& folders, const ListedFiles& listed, const OwnFiles& own, build::FilesRead& read) {
  append(read.files, build::files_outside(listed.linked, own.library_folders));
  const Names users = build::files_outside(folders, own.library_folders);
  for (const std::string& file : listed.linked)
    for (const std::string& name : library_names(file))
      for (const std::string& folder : users) read.absent.push_back((fs::path(folder) / name).string());
}

}  // namespace

build::FilesRead files_read(const std::string& compiler, const Names& options, const build::CompileRequest& request,
                            const ListedFiles& listed, const OwnFiles& own) {
  build::FilesRead read{listed.headers, {}};
  add_headers(searched_folders(compiler, options), request, listed, own, read);
  const PlannedFiles planned = planned_files(compiler, options);
  add_libraries(planned.library_folders, listed, own, read);
  Names parts = without(build::files_outside(planned.files, own.library_folders), [&] {
    Names known;
    for (const build::KeyedFile& file : own.parts.files.files) known.push_back(file.path);
    return known;
  }());
  append(read.files, parts);
  append(read.absent, planned.absent);
  return read;
}

Names files_in_markers(const std::string& text, const std::string& own) {
  std::set<std::string> files;
  for (const std::string_view line : base::split_lines(text)) {
    if (!line.starts_with("# ")) continue;
    const std::size_t open = line.find('"');
    std::string name;
    for (std::size_t i = open + 1; open != line.npos && i < line.size() && line[i] != '"'; ++i) {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      name += line[i];
    }
    std::error_code failed;
    if (name.empty() || name.front() == '<') continue;
    if (const fs::path path = fs::path(own) / name; fs::is_regular_file(path, failed)) files.insert(path.string());
  }
  return build::files_outside({files.begin(), files.end()}, {own});
}

}  // namespace xtune::compiler
