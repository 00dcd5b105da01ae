// Asks the compiler itself: for its programs (-###), and for its search directories (-print-search-dirs).
#include "backends/compiler/compiler_parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "backends/compiler/ask_compiler.hpp"
#include "backends/compiler/identity.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/source_closure.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"

namespace xtune::compiler {
namespace {

namespace fs = std::filesystem;

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

}  // namespace xtune::compiler
