// Follows ar(5) of GNU binutils (thin archives) and ld's manual ("Commands Dealing with Files").
#include "core/build/linked_files.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

#include "base/files.hpp"
#include "core/build/tool_files.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view thin_magic = "!<thin>\n", archive_magic = "!<arch>\n";
constexpr std::uint64_t thin_limit_bytes = std::uint64_t{1} << 30;
constexpr std::uintmax_t script_limit_bytes = 1 << 20;
constexpr std::size_t header_bytes = 60, name_bytes = 16, size_at = 48, size_bytes = 10;

std::size_t number_at(std::string_view text, std::size_t at, std::size_t length) {
  std::size_t value = 0;
  for (std::size_t i = at; i < std::min(at + length, text.size()) && text[i] >= '0' && text[i] <= '9'; ++i)
    value = value * 10 + static_cast<std::size_t>(text[i] - '0');
  return value;
}

/// In a thin archive only the tables have contents after their headers.
void add_members(std::string_view archive, const fs::path& folder, LinkedNames& to) {
  std::string_view names;
  for (std::size_t at = thin_magic.size(); at + header_bytes <= archive.size();) {
    const std::string_view name = archive.substr(at, name_bytes);
    const std::size_t size = number_at(archive, at + size_at, size_bytes);
    at += header_bytes;
    const bool is_member = name[0] != '/' || std::isdigit(static_cast<unsigned char>(name[1]));
    std::string_view member = name;
    if (name.starts_with("//")) names = archive.substr(at, size);
    if (name[0] == '/' && is_member) member = names.substr(std::min(number_at(name, 1, name_bytes), names.size()));
    if (is_member) member = member.substr(0, member.find(name[0] == '/' ? "/\n" : "/"));
    std::error_code error;
    if (is_member && fs::is_regular_file(folder / member, error)) to.files.push_back(folder / member);
    if (!is_member) at += size + size % 2;
  }
}

/// Every word of a script may be a file: INPUT(a.o "b c.a" -lm).
void add_words(std::string_view script, const fs::path& folder, LinkedNames& to) {
  constexpr std::string_view ends = " \t\r\n\f\v(),;\"{}";
  while (!script.empty()) {
    const std::string_view word = script.substr(0, script.find_first_of(ends));
    script.remove_prefix(std::min(word.size() + 1, script.size()));
    std::error_code error;
    if (word.starts_with("-l") && word.size() > 2)
      to.libraries.emplace_back(word.substr(2));
    else if (!word.empty() && fs::is_regular_file(folder / word, error) && !is_system_library(folder / word))
      to.files.push_back(folder / word);
  }
}

}  // namespace

bool is_system_library(const fs::path& path) {
  std::error_code error;
  const std::string real = fs::weakly_canonical(path, error).string();
  for (const std::string_view folder : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"})
    if (real.starts_with(folder)) return true;
  return false;
}

LinkedNames names_in_library(const fs::path& path) {
  LinkedNames found;
  char start[8] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  const std::string_view magic(start, sizeof start);
  std::error_code error;
  if (magic == thin_magic) {
    add_members(base::read_file(path, thin_limit_bytes), path.parent_path(), found);
  } else if (is_elf(path)) {
    for (const std::string& library : libraries_of(path))
      if (!is_system_library(library)) found.files.emplace_back(library);
  } else if (magic != archive_magic && fs::file_size(path, error) <= script_limit_bytes && !error) {
    const std::string text = base::read_file(path, script_limit_bytes);
    if (text.find('\0') == text.npos) add_words(text, path.parent_path(), found);
  }
  return found;
}

}  // namespace xtune::build
