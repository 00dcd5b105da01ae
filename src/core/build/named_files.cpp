// Words are interpreted as most programs do; the spec must list directories, and names inside files.
#include "core/build/named_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> writing_options{"-o", "--output", "--out", "--log", "--log-file", "-MF"};

bool writes(std::string_view option) {
  return std::find(writing_options.begin(), writing_options.end(), option) != writing_options.end();
}

bool is_shell(const std::string& word) {
  static const std::set<std::string> shells{"sh", "bash", "dash", "ash", "ksh", "zsh"};
  return shells.contains(fs::path(word).filename().string());
}

/// A word, or a piece of a shell's text.
struct Piece {
  std::size_t word;
  std::string text;
  bool of_this_machine = false;  ///< contains values of variables
};

/// The parts of a command, and the paths that it writes.
struct Command {
  std::vector<Piece> pieces;
  std::set<fs::path> written;
};

/// The index of the text that a shell at `at` gets with -c; 0: none. "bash --norc -euo pipefail -c TEXT".
std::size_t shell_text(const std::vector<std::string>& words, std::size_t at) {
  if (!is_shell(words[at])) return 0;
  bool given = false;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || (word[0] != '-' && word[0] != '+')) return given ? i : 0;
    if (word.starts_with("--")) {
      if (word == "--rcfile" || word == "--init-file") ++i;
      continue;
    }
    given = given || (word[0] == '-' && word.find('c') != word.npos);
    i += static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [](char c) { return c == 'o' || c == 'O'; }));
  }
  return 0;
}

Command taken_apart(const std::vector<std::string>& words, const fs::path& folder) {
  Command command;
  const auto write = [&](const std::string& name) { command.written.insert((folder / name).lexically_normal()); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t text = shell_text(words, i);
    if (text == 0) {
      command.pieces.push_back({i, words[i]});
      continue;
    }
    i = text;
    for (system::ExpandedWord& word : system::expanded_shell_words(words[i], folder))
      command.pieces.push_back({i, std::move(word.text), word.has_variables});
    for (const std::string& name : system::shell_outputs(words[i])) write(name);
  }
  for (std::size_t i = 0; i < command.pieces.size(); ++i) {
    const std::string& text = command.pieces[i].text;
    const std::size_t equals = text.find('=');
    if (equals != text.npos && writes(text.substr(0, equals))) write(text.substr(equals + 1));
    if (writes(text) && i + 1 < command.pieces.size()) write(command.pieces[i + 1].text);
  }
  return command;
}

/// What a word names if it is a file, or has one after a "@", a "=", a comma or the letter of an option.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names{text};
  if (text.starts_with("-W") || text.starts_with("-X") || text.starts_with("--ptxas-options="))
    for (std::string& piece : base::split(text, ',')) names.push_back(std::move(piece));
  // What follows a sign may be an option with another one: --ptxas-options=--apply-controls=FILE.
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].starts_with("@")) names.push_back(names[i].substr(1));
    if (const auto equals = names[i].find('='); equals != text.npos) names.push_back(names[i].substr(equals + 1));
  }
  const bool is_short = text.size() > 2 && text[0] == '-' && std::isalpha(static_cast<unsigned char>(text[1])) != 0;
  if (is_short && !writes(text.substr(0, 2)) && text.find_first_of("./", 2) != text.npos)
    names.push_back(text.substr(2));
  std::erase(names, "");
  return names;
}

/// Whether the name, without a version ("g++-12"), is that of a compiler, since another one may come first in PATH.
bool is_compiler(std::string_view name) {
  static const std::set<std::string_view> compilers{
      "amdclang", "amdclang++", "c++",     "cc",    "clang", "clang++", "flang",     "g++",
      "gcc",      "gfortran",   "go",      "hipcc", "icpx",  "icx",     "ifx",       "mpic++",
      "mpicc",    "mpicxx",     "mpifort", "nvc",   "nvc++", "nvcc",    "nvfortran", "rustc"};
  const std::size_t version = name.find_last_not_of("0123456789.");
  if (version != name.npos && version + 1 < name.size() && name[version] == '-') name = name.substr(0, version);
  return compilers.contains(name);
}

/// The compilers found in PATH: those among the words, and those that a build tool starts by default.
std::vector<Piece> compilers_in_path(const std::vector<Piece>& pieces,
                                     const std::function<std::string(const std::string&)>& find_in_path) {
  std::vector<Piece> found;
  const auto add = [&](std::size_t word, const std::string& name) {
    if (const std::string path = find_in_path(name); !path.empty()) found.push_back({word, path, true});
  };
  for (const Piece& piece : pieces) {
    if (is_compiler(piece.text)) add(piece.word, piece.text);
    if (is_build_tool(piece.text))
      for (const char* name : {"cc", "c++", "g++", "gfortran", "nvcc", "hipcc"}) add(piece.word, name);
  }
  return found;
}

/// The program in the first line of a script ("#!/opt/tool"); empty: another file, or a program found in PATH.
fs::path interpreter_of(const fs::path& script, const std::function<std::string(const std::string&)>& find_in_path) {
  char line[256] = {};
  std::ifstream(script, std::ios::binary).getline(line, sizeof line);
  const std::string_view text = line;
  const std::vector<std::string> words =
      text.starts_with("#!") ? base::split(base::trimmed(text.substr(2)), ' ') : std::vector<std::string>();
  if (words.empty() || words[0].empty()) return {};
  const fs::path program = words[0];
  std::error_code error;
  return fs::equivalent(program, find_in_path(program.filename().string()), error) ? fs::path() : program;
}

/// The files that build tools read first, in the command's directory and in those among the words after the tool.
std::vector<fs::path> files_of_tools(const std::vector<Piece>& pieces, std::size_t tool, const fs::path& folder) {
  std::vector<fs::path> folders{folder}, files;
  std::error_code failed;
  for (std::size_t i = tool + 1; i < pieces.size(); ++i)
    for (const std::string& name : names_in(pieces[i].text))
      if (fs::is_directory(folder / name, failed)) folders.push_back(folder / name);
  for (const fs::path& each : folders)
    for (const char* name : {"GNUmakefile", "makefile", "Makefile", "build.ninja", "CMakeLists.txt", "CMakeCache.txt",
                             "Cargo.toml", "Cargo.lock"})
      files.push_back(each / name);
  return files;
}

}  // namespace

bool is_build_tool(std::string_view name) {
  static const std::set<std::string_view> tools{"cargo", "cmake", "gmake", "make", "meson", "ninja", "samu"};
  return tools.contains(name.substr(name.rfind('/') + 1));
}

std::string search_path(const std::string& name) { return system::find_program(name); }

bool is_readable_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), R_OK) == 0;
}

std::vector<NamedFile> named_files(const std::vector<std::string>& words, const fs::path& folder,
                                   const std::function<bool(const fs::path&)>& is_file,
                                   const std::function<std::string(const std::string&)>& find_in_path) {
  const Command command = taken_apart(words, folder);
  std::vector<NamedFile> files;
  const auto add = [&](std::size_t word, std::string name, const fs::path& path) {
    if (command.written.contains(path.lexically_normal()) || !is_file(path)) return;
    files.push_back({word, std::move(name), path});
    // An interpreter may be a script itself.
    for (fs::path next = path; next = interpreter_of(next, find_in_path), !next.empty() && is_file(next);) {
      if (std::any_of(files.begin(), files.end(), [&](const NamedFile& file) { return file.path == next; })) break;
      files.push_back({word, next.filename().string(), next});
    }
  };
  for (const Piece& piece : command.pieces)
    for (std::string& name : names_in(piece.text)) {
      const fs::path path = folder / name;
      add(piece.word, piece.of_this_machine ? path.filename().string() : std::move(name), path);
    }
  for (std::size_t i = 0; i < command.pieces.size(); ++i)
    if (is_build_tool(command.pieces[i].text))
      for (const fs::path& path : files_of_tools(command.pieces, i, folder))
        add(command.pieces[i].word, path.filename().string(), path);
  for (const Piece& compiler : compilers_in_path(command.pieces, find_in_path))
    add(compiler.word, fs::path(compiler.text).filename().string(), compiler.text);
  return files;
}

std::vector<std::string> option_file_lines(const std::vector<std::string>& options, KeyedFiles& files) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  const auto add = [&](const fs::path& path) {
    if (!seen.insert(path.string()).second || !is_readable_file(path)) return false;
    key_remembered_file(path, files);
    lines.push_back("option file " + files.files.back().sha256);
    return true;
  };
  // Compilers do not list option files, which may name others: "@flags".
  const std::function<void(const std::string&)> add_named = [&](const std::string& option) {
    for (const std::string& name : names_in(option))
      if (add(name) && option.find("@" + name) != option.npos)
        for (const std::string& word : system::shell_words(system::read_file(name)))
          if (word.find('@') != word.npos) add_named(word);
  };
  for (const std::string& option : options) {
    add_named(option);
    std::error_code failed;
    if (const std::size_t value = option.find('=') + 1; value > 0 && option.starts_with("-fprofile"))
      for (const auto& entry : fs::recursive_directory_iterator(option.substr(value), failed)) add(entry.path());
  }
  return lines;
}

bool may_use_threads(const std::vector<std::string>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return option.find("openmp") != std::string::npos || option.starts_with("-l") || option.starts_with("--library") ||
           option.starts_with("-Wl,") || option == "-Xlinker" || option.starts_with('@') ||
           (!option.starts_with("-D") && (option.find(".so") != std::string::npos || option.ends_with(".a")));
  });
}

}  // namespace xtune::build
