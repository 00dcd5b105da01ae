// Asks the compiler itself for its programs (-###) and its search directories (-print-search-dirs). No list has the
// files that were looked for in vain: they follow from the directories that the compiler searches. GCC, Clang and GNU
// ld quote in the same way for make: src/mkdeps.cc of libcpp, DependencyFile.cpp of Clang.
#include "backends/compiler/files_read.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/identity.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"

namespace xtune::compiler {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

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
  for (const std::string& file : files_outside(listed.linked, own.library_folders)) {
    read.files.push_back(file);
    // Linkers do not list the libraries of a library.
    append(read.files, files_outside(build::libraries_of(file), own.library_folders));
  }
  const Names users = files_outside(folders, own.library_folders);
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
  Names parts = without(files_outside(planned.files, own.library_folders), [&] {
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
  return files_outside({files.begin(), files.end()}, {own});
}

namespace {

/// Whether it has the form of GCC's temporary files, in any directory of a wrapper: "/var/tmp/ccXdQ3aB.o".
bool is_temporary(const std::string& word) {
  constexpr std::size_t random = 6;
  const std::string name = fs::path(word).stem().string();
  return word.find('/') != std::string::npos && name.size() == 2 + random && name.starts_with("cc");
}

/// The lines with the programs that would be started and the files that were read, without names of temporary files,
/// which change each time.
std::string planned(const std::string& compiler, const std::vector<std::string>& language, bool again) {
  Question question{{"-###"}};
  question.again = again;
  question.options.insert(question.options.end(), language.begin(), language.end());
  question.options.insert(question.options.end(), {"/dev/null", "-o", "/dev/null"});
  const system::CommandResult result = ask_compiler(compiler, question);
  std::string plan;
  if (!result.ok()) return plan;
  for (const std::string_view line : base::split_lines(result.stderr_text)) {
    if (!line.starts_with(" ") && !line.starts_with("Reading specs from ") && !line.starts_with("Configuration file: "))
      continue;
    for (const std::string& word : system::shell_words(line))
      if (word.find(temporary_place) == std::string::npos && !is_temporary(word)) plan += word + " ";
    plan += "\n";
  }
  return plan;
}

std::vector<std::string> listed(const std::vector<std::string_view>& lines, const std::string& what) {
  std::vector<std::string> folders;
  for (const std::string_view line : lines) {
    if (!line.starts_with(what + ": =")) continue;
    std::string_view rest = line.substr(what.size() + 3);
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
      std::string plain = fs::path(folder).lexically_normal().string();
      if (std::find(folders.begin(), folders.end(), plain) == folders.end()) folders.push_back(std::move(plain));
    }
  }
  return folders;
}

std::vector<fs::path> in_each(const std::vector<std::string>& folders, const std::string& name) {
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) paths.push_back(fs::path(folder) / name);
  return paths;
}

/// Removes the directories of LIBRARY_PATH, which belong to the user.
std::vector<std::string> without_users(std::vector<std::string> folders) {
  for (const std::string& own : build::folders_of_variable("LIBRARY_PATH"))
    std::erase_if(folders, [&](const std::string& folder) {
      const fs::path relative = fs::path(folder).lexically_relative(fs::path(own).lexically_normal());
      return !relative.empty() && *relative.begin() != "..";
    });
  return folders;
}

/// Options that the compiler adds to each call, because of its configuration or a wrapper. Not the directories of
/// libraries, because the files that the linker reads are known, nor the working directory.
bool is_own_option(std::string_view word) {
  for (const std::string_view other : {"-L", "-fdebug-compilation-dir=", "-fcoverage-compilation-dir="})
    if (word.starts_with(other)) return false;
  return true;
}

/// A file named by a word: a start file, a plugin.
void add_named_file(std::string_view word, build::ToolFiles& to) {
  const std::size_t value = word.starts_with('-') ? word.find('=') + 1 : 0;
  std::error_code failed;
  if (const fs::path file = word.substr(value); file.is_absolute() && fs::is_regular_file(file, failed))
    build::add_tool_file(file, to);
}

}  // namespace

bool CompilerParts::refresh() {
  const bool known = !files_.files.files.empty() && build::are_untouched(files_.files);
  if (known && !files_.may_start_others) return false;
  std::string plan = planned(compiler_, language_, known);
  if (known && plan == plan_) return false;
  find(plan);
  plan_ = std::move(plan);
  return true;
}

void CompilerParts::find(const std::string& plan) {
  files_ = {};
  build::add_tool(compiler_, files_);
  files_.may_start_others = !build::is_elf(compiler_);
  const std::string answer = ask_compiler(compiler_, {{"-print-search-dirs"}}).stdout_text;
  const std::vector<std::string_view> lines = base::split_lines(answer);
  std::vector<std::string> places = listed(lines, "programs");
  const std::vector<std::string> own = places;
  for (const std::string& folder : build::folders_of_variable("PATH")) places.push_back(folder);
  library_folders_ = without_users(listed(lines, "libraries"));

  bool collects = false;
  std::string options;
  for (const std::string_view line : base::split_lines(plan)) {
    const std::vector<std::string> words = system::shell_words(line);
    if (words.empty()) continue;
    if (words[0] == "Reading" || words[0] == "Configuration") {
      build::add_tool_file(words.back(), files_);
      continue;
    }
    const fs::path program = words[0];
    // A name without a directory is searched; so is the linker that Clang shows with the directory in which it found
    // it.
    const bool is_searched = !program.is_absolute() || program.filename().string().starts_with("ld");
    if (!is_searched || build::add_first(in_each(places, program.filename().string()), files_) != program)
      if (program.is_absolute()) build::add_tool(program, files_);
    collects = collects || program.filename() == "collect2";
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "-plugin" && i + 1 < words.size()) build::add_tool(words[i + 1], files_);
      add_named_file(words[i], files_);
      if (is_own_option(words[i])) options += words[i] + "\n";
    }
  }
  if (collects) {
    // collect2 searches by itself, in this order.
    for (const char* name : {"real-ld", "collect-ld"}) build::add_first(in_each(own, name), files_);
    const std::string linker = ask_compiler(compiler_, {{"-print-prog-name=ld"}}).stdout_text;
    const fs::path named = base::first_line(linker);
    named.is_absolute() ? build::add_tool(named, files_) : void(build::add_first(in_each(places, "ld"), files_));
    for (const fs::path& specs : in_each(library_folders_, "specs")) build::add_tool_file(specs, files_);
  } else {
    std::error_code error;
    for (const fs::path& driver : {fs::path(compiler_), fs::canonical(compiler_, error)})
      for (const char* name : {"clang++.cfg", "clang.cfg"}) build::add_tool_file(driver.parent_path() / name, files_);
  }
  digest_ = base::sha256(build::digest_of(files_) + options).substr(0, 12);
}

namespace {

// Files that GCC and Clang search in the directories of -B and COMPILER_PATH before their own.
constexpr const char* part_names[] = {"as",          "cc1plus",  "collect2",         "crt1.o", "crtbegin.o",
                                      "crtbeginS.o", "crtend.o", "crtendS.o",        "crti.o", "crtn.o",
                                      "ld",          "ld.bfd",   "ld.gold",          "ld.lld", "ld.mold",
                                      "lto-wrapper", "lto1",     "liblto_plugin.so", "specs"};

/// The first file of this name in PATH, and the places before it.
void add_from_path(const std::string& name, PlannedFiles& to) {
  std::error_code failed;
  for (const fs::path& path : in_each(build::folders_of_variable("PATH"), name)) {
    if (fs::is_regular_file(path, failed)) return to.files.push_back(path.string());
    to.absent.push_back(path.string());
  }
}

}  // namespace

PlannedFiles planned_files(const std::string& compiler, const std::vector<std::string>& options) {
  PlannedFiles found;
  std::error_code failed;
  const std::string plan = planned(compiler, options, names_options(options));
  for (const std::string_view line : base::split_lines(plan)) {
    const std::vector<std::string> words = system::shell_words(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.starts_with("-L")) {
        const std::string folder = word.size() > 2 ? word.substr(2) : i + 1 < words.size() ? words[i + 1] : "";
        if (!folder.empty()) found.library_folders.push_back(folder);
      }
      const fs::path file = word.starts_with('-') ? word.substr(word.find('=') + 1) : word;
      const bool is_output = i > 0 && (words[i - 1] == "-o" || words[i - 1] == "-dumpbase");
      if (file.is_absolute() && !is_output && fs::is_regular_file(file, failed)) found.files.push_back(file.string());
    }
  }
  const auto places = [&](const std::vector<std::string>& with) {
    Question question{with};
    question.again = names_options(with);
    question.options.emplace_back("-print-search-dirs");
    const std::string answer = ask_compiler(compiler, question).stdout_text;
    return listed(base::split_lines(answer), "programs");
  };
  std::vector<std::string> prefixes = places(options);
  const std::vector<std::string> own = places({});
  std::erase_if(prefixes,
                [&](const std::string& each) { return std::find(own.begin(), own.end(), each) != own.end(); });
  for (const std::string& folder : build::folders_of_variable("COMPILER_PATH")) prefixes.push_back(folder + "/");
  for (const std::string& prefix : prefixes)
    for (const char* name : part_names) found.absent.push_back(prefix + name);
  for (const std::string& option : options)
    if (option.starts_with("-fuse-ld=")) add_from_path("ld." + option.substr(option.find('=') + 1), found);
  return found;
}

std::optional<std::vector<std::string>> files_of_rule(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(rule, failed)) return std::nullopt;
  const std::string text = system::read_file(rule);
  std::vector<std::string> files;
  std::string name;
  const auto end_name = [&] {
    // "<stdin>" and similar names are not files.
    if (!name.empty() && name != "-" && name.front() != '<') files.push_back((own / name).string());
    name.clear();
  };
  const std::size_t colon = text.find(": ");
  for (std::size_t i = colon == std::string::npos ? text.size() : colon + 2; i < text.size(); ++i) {
    const std::size_t slashes = std::min(text.find_first_not_of('\\', i), text.size()) - i;
    i += slashes;
    const char c = i < text.size() ? text[i] : '\n';
    const bool escaped = slashes % 2 == 1;
    if (slashes > 0 && (c == ' ' || c == '\t')) {
      // Before a blank, each backslash of the name is doubled; one more escapes the blank.
      name.append(slashes / 2, '\\');
      if (escaped)
        name += c;
      else
        end_name();
    } else if (slashes > 0 && c == '\n') {
      // The last backslash continues the line.
      name.append(slashes - 1, '\\');
      end_name();
    } else if (slashes > 0) {
      name.append(c == '#' ? slashes - 1 : slashes, '\\');
      if (c == '#')
        name += c;
      else
        --i;  // an ordinary character
    } else if (c == '\n') {
      break;  // the following rules are for other targets
    } else if (c == '$' && i + 1 < text.size() && text[i + 1] == '$') {
      name += c;
      ++i;
    } else if (c == ' ') {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return files_outside(std::move(files), {own.string()});
}

std::optional<std::vector<std::string>> files_of_link(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(rule, failed)) return std::nullopt;
  const std::string text = system::read_file(rule);
  std::vector<std::string> files;
  const std::size_t begin = text.find(": \\\n");
  std::size_t at = begin == std::string::npos ? text.size() : begin + 4;
  while (at < text.size() && text[at] == ' ') {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string name = text.substr(at, end - at);
    at = end + 1;
    if (name.ends_with(" \\")) name.resize(name.size() - 2);
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    std::string plain;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const char next = i + 1 < name.size() ? name[i + 1] : '\0';
      if ((name[i] == '\\' && (next == ' ' || next == '#')) || (name[i] == '$' && next == '$')) ++i;
      plain += name[i];
    }
    for (const std::string& each : {name, plain})
      if (std::filesystem::exists(own / each, failed)) {
        files.push_back((own / each).string());
        break;
      }
  }
  return files_outside(std::move(files), {own.string()});
}

std::vector<std::string> files_outside(std::vector<std::string> files, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<fs::path> roots;
  for (const std::string& folder : folders) roots.push_back(fs::weakly_canonical(folder, failed));
  std::erase_if(files, [&](const std::string& file) {
    const fs::path path = fs::weakly_canonical(file, failed);
    return std::any_of(roots.begin(), roots.end(), [&](const fs::path& root) {
      const fs::path relative = path.lexically_relative(root);
      return !root.empty() && !relative.empty() && *relative.begin() != "..";
    });
  });
  return files;
}

}  // namespace xtune::compiler
