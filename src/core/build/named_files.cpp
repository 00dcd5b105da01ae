// Words are taken for what most programs take them for; a folder, or a name within a file, is for the spec to list.
#include "core/build/named_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "base/shell_words.hpp"

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
};

/// The pieces of a command, and the paths that it writes.
struct Command {
  std::vector<Piece> pieces;
  std::set<fs::path> written;
};

bool takes_text(const std::vector<std::string>& words, std::size_t at) {
  return at + 2 < words.size() && is_shell(words[at]) && words[at + 1].starts_with('-') && words[at + 1].ends_with('c');
}

Command taken_apart(const std::vector<std::string>& words, const fs::path& folder) {
  Command command;
  const auto write = [&](const std::string& name) { command.written.insert((folder / name).lexically_normal()); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!takes_text(words, i)) {
      command.pieces.push_back({i, words[i]});
      continue;
    }
    i += 2;
    for (std::string& word : base::shell_words(words[i])) command.pieces.push_back({i, std::move(word)});
    for (const std::string& name : base::shell_outputs(words[i])) write(name);
  }
  for (std::size_t i = 0; i < command.pieces.size(); ++i) {
    const std::string& text = command.pieces[i].text;
    const std::size_t equals = text.find('=');
    if (equals != text.npos && writes(text.substr(0, equals))) write(text.substr(equals + 1));
    if (writes(text) && i + 1 < command.pieces.size()) write(command.pieces[i + 1].text);
  }
  return command;
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names{text};
  if (text.starts_with("@")) names.push_back(text.substr(1));
  if (const auto equals = text.find('='); equals != text.npos) names.push_back(text.substr(equals + 1));
  if (text.starts_with("-W") || text.starts_with("-X"))
    for (std::size_t at = text.find(','); at != text.npos; at = text.find(',', at + 1))
      names.push_back(text.substr(at + 1, text.find(',', at + 1) - at - 1));
  const bool is_short = text.size() > 2 && text[0] == '-' && std::isalpha(static_cast<unsigned char>(text[1])) != 0;
  if (is_short && !writes(text.substr(0, 2)) && text.find_first_of("./", 2) != text.npos)
    names.push_back(text.substr(2));
  std::erase(names, "");
  return names;
}

}  // namespace

bool is_readable_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), R_OK) == 0;
}

std::vector<NamedFile> named_files(const std::vector<std::string>& words, const fs::path& folder,
                                   const std::function<bool(const fs::path&)>& is_file) {
  const Command command = taken_apart(words, folder);
  std::vector<NamedFile> files;
  for (const Piece& piece : command.pieces)
    for (std::string& name : names_in(piece.text)) {
      const fs::path path = folder / name;
      if (!command.written.contains(path.lexically_normal()) && is_file(path))
        files.push_back({piece.word, std::move(name), path});
    }
  return files;
}

}  // namespace xtune::build
