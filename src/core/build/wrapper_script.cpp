// A shell's language is large, so everything that is not certainly simple is refused.
#include "core/build/wrapper_script.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

namespace xtune::build {
namespace {

/// A word without quotes, expansions, or a second command.
bool is_plain(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%";
  return !word.empty() && word.find_first_not_of(plain) == word.npos;
}

/// bash reads BASH_ENV and functions of the environment unless it is started as sh.
bool is_shell_line(const std::string& line) {
  return line == "#!/bin/sh" || line == "#! /bin/sh" || line == "#!/bin/sh -e" || line == "#!/usr/bin/sh";
}

/// The program of `exec PROGRAM OPTION... "$@" OPTION...`. A word that is not an option may name another program, as in
/// `exec ccache g++ "$@"`.
std::optional<std::string> started_by(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.size() < 3 || words[0] != "exec" || std::count(words.begin(), words.end(), "\"$@\"") != 1) return {};
  const std::string& program = words[1];
  const bool is_relative = program.find('/') != program.npos && program[0] != '/';
  if (!is_plain(program) || program[0] == '-' || is_relative) return {};
  for (std::size_t i = 2; i < words.size(); ++i)
    if (words[i] != "\"$@\"" && (!is_plain(words[i]) || words[i][0] != '-')) return {};
  return program;
}

}  // namespace

std::optional<std::string> program_of_wrapper(const std::string& script) {
  std::istringstream lines(script);
  std::string line;
  if (!std::getline(lines, line) || !is_shell_line(line)) return {};
  std::optional<std::string> program;
  while (std::getline(lines, line)) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == line.npos || line[start] == '#') continue;
    if (program) return {};
    program = started_by(line);
    if (!program) return {};
  }
  return program;
}

}  // namespace xtune::build
