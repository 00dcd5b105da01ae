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
#include "base/text.hpp"
#include "core/build/dependency_rule.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"
#include "system/files.hpp"

namespace xtune::compiler {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

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

/// "libm.so" and "libm.a" of "/lib/x86_64-linux-gnu/libm.so.6"; none for another file.
Names library_names(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t end = std::min(name.find(".so"), name.ends_with(".a") ? name.size() - 2 : name.npos);
  if (!name.starts_with("lib") || end == name.npos) return {};
  return {name.substr(0, end) + ".so", name.substr(0, end) + ".a"};
}

/// Adds where headers were looked for, if the source's text does not show it. False: that is not known.
bool add_headers(const std::string& compiler, const Names& options, const build::CompileRequest& request,
                 const ListedFiles& listed, const OwnFiles& own, build::FilesRead& read) {
  const SearchedFolders searched = searched_folders(compiler, options);
  const build::IncludeOptions plain = build::include_options_here(request.options);
  Names known = request.include_dirs, shown{request.source_name};
  for (const Names* folders : {&plain.folders, &plain.quoted}) append(known, *folders);
  known.push_back(fs::path(request.source_name).parent_path().string());
  if (request.files)
    for (const build::KeyedFile& file : request.files->files) shown.push_back(file.path);
  const auto of_user = [&](const Names& folders) {
    return without(without(folders, own.header_folders), build::shared_header_folders());
  };
  Names all = searched.quoted;
  append(all, searched.angled);
  const Names more = without(listed.headers, shown);
  const bool has_option_files = names_options(options);
  if (without(of_user(all), known).empty() && more.empty() && !has_option_files) return true;
  // The source once more, with the directories that the compiler searches, and with all that it read.
  build::CompileRequest whole = request;
  whole.include_dirs = of_user(searched.angled);
  for (const std::string& folder : searched.quoted) whole.options.insert(whole.options.begin(), {"-iquote", folder});
  for (const std::string& file : more) whole.source += "\n#include \"" + canonical(file) + "\"\n";
  if (has_option_files) {
    Question macros{options};
    macros.options.insert(macros.options.end(), {"-dM", "-E", "-x", "c++", "/dev/null"});
    macros.again = true;
    const system::CommandResult result = ask_compiler(compiler, macros);
    if (!result.ok()) return false;
    whole.source = result.stdout_text + "\n" + whole.source;
  }
  try {
    build::ScannedFiles scanned;
    const build::KeyedFiles files = build::compile_closure(whole, {build::shared_header_folders()}, scanned).keyed;
    append(read.absent, files.absent);
    return !files.may_probe_others();
  } catch (const Error&) {  // a file was removed meanwhile
    return false;
  }
}

void add_libraries(const Names& folders, const ListedFiles& listed, const OwnFiles& own, build::FilesRead& read) {
  for (const std::string& file : build::files_outside(listed.linked, own.library_folders)) {
    read.files.push_back(file);
    // Linkers do not list the libraries of a library.
    append(read.files, build::files_outside(build::libraries_of(file), own.library_folders));
  }
  const Names users = build::files_outside(folders, own.library_folders);
  for (const std::string& file : listed.linked)
    for (const std::string& name : library_names(file))
      for (const std::string& folder : users) read.absent.push_back((fs::path(folder) / name).string());
}

}  // namespace

std::optional<build::FilesRead> files_read(const std::string& compiler, const Names& options,
                                           const build::CompileRequest& request, const ListedFiles& listed,
                                           const OwnFiles& own) {
  build::FilesRead read{listed.headers, {}};
  if (!add_headers(compiler, options, request, listed, own, read)) return std::nullopt;
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
