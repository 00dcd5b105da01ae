// Libraries are those that the system's loader lists: it handles RUNPATH, LD_LIBRARY_PATH and its cache.
#include "core/build/tool_files.hpp"

#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t large_bytes = std::uintmax_t{1} << 20;
constexpr std::uint64_t loader_timeout_ms = 20'000;

// Without version and extension. A security update of one of these must not discard every result.
constexpr std::string_view runtime_libraries =
    " ld-linux-aarch64 ld-linux-x86-64 libbsd libbz2 libc libcrypt libdl libedit libffi libgcc_s libicudata"
    " libicuuc liblzma libm libmd libncurses libncursesw libnsl libpthread libresolv librt libstdc++ libtinfo"
    " libutil libxml2 libz libzstd linux-vdso"
    " ";

bool is_of_runtime(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return runtime_libraries.find(" " + name.substr(0, name.find(".so")) + " ") != runtime_libraries.npos;
}

/// The program interpreter in this program's own file; empty: it is linked statically.
std::string find_loader() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff) + static_cast<std::streamoff>(i) * header.e_phentsize);
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    if (segment.p_type != PT_INTERP || segment.p_filesz == 0 || segment.p_filesz > 4096) continue;
    std::string path(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(path.data(), static_cast<std::streamsize>(path.size()))) return {};
    return path.substr(0, path.find('\0'));
  }
  return {};
}

/// The file with the stored digest of a file in this state; nullopt: it is not stored.
std::optional<fs::path> digest_memory(const fs::path& path, const KeyedFile& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error || bytes < large_bytes || file.recent || system::cache_disabled()) return std::nullopt;
  const std::string id = system::read_if_there("/proc/sys/kernel/random/boot_id") + file.path + "\n" + file.state;
  return system::place_in_default_store(fs::path("inventory") / ("digest-" + base::sha256(id).substr(0, 32)));
}

bool is_known(const ToolFiles& tool, const fs::path& path) {
  return std::any_of(tool.files.files.begin(), tool.files.files.end(),
                     [&](const KeyedFile& file) { return file.path == path; });
}

}  // namespace

void key_remembered_file(const fs::path& path, KeyedFiles& to) {
  KeyedFile file = look_at(path);
  const auto memory = digest_memory(path, file);
  std::error_code ignored;
  if (memory && fs::exists(*memory, ignored)) try {
      file.sha256 = system::read_trusted_file(*memory, 64);
      if (file.sha256.size() == 64) return to.files.push_back(std::move(file));
    } catch (const Error&) {  // not trusted: read the file
    }
  key_file(path, to);
  if (memory && to.files.back().state == file.state) system::remember(*memory, to.files.back().sha256);
}

bool is_elf(const fs::path& path) {
  char first[SELFMAG] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::memcmp(first, ELFMAG, SELFMAG) == 0;
}

std::vector<std::string> libraries_of(const fs::path& path, const system::Environment& env, const fs::path& folder) {
  static const std::string loader = find_loader();
  std::vector<std::string> libraries;
  if (loader.empty() || !is_elf(path)) return libraries;
  system::CommandOptions options;
  options.own_group = false;
  options.timeout_ms = loader_timeout_ms;
  options.env = env;
  options.cwd = folder.string();
  const system::CommandResult result = system::run_command({loader, "--list", fs::absolute(path).string()}, options);
  if (!result.ok()) return libraries;
  // "\tlibisl.so.23 => /lib/x86_64-linux-gnu/libisl.so.23 (0x00007fb6b9400000)"
  for (const std::string_view line : base::split_lines(result.stdout_text)) {
    const std::size_t arrow = line.find(" => "), end = line.rfind(" (0x");
    if (arrow == line.npos || end == line.npos || end < arrow + 4) continue;
    // A directory of LD_LIBRARY_PATH may be relative.
    std::string library = fs::absolute(folder / line.substr(arrow + 4, end - arrow - 4)).string();
    if (!is_of_runtime(library)) libraries.push_back(std::move(library));
  }
  std::sort(libraries.begin(), libraries.end());
  return libraries;
}

void add_tool_file(const fs::path& path, ToolFiles& to) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    auto& absent = to.files.absent;
    if (std::find(absent.begin(), absent.end(), path.string()) == absent.end()) absent.push_back(path.string());
  } else if (!is_known(to, path)) {
    key_remembered_file(path, to.files);
  }
}

void add_tool(const fs::path& path, ToolFiles& to) {
  if (is_known(to, path)) return;
  add_tool_file(path, to);
  for (const std::string& library : libraries_of(path)) add_tool_file(library, to);
}

fs::path add_first(const std::vector<fs::path>& candidates, ToolFiles& to) {
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) {
      add_tool(candidate, to);
      return candidate;
    }
    add_tool_file(candidate, to);
  }
  return {};
}

std::string digest_of(const ToolFiles& tool) {
  std::vector<std::string> lines;
  for (const KeyedFile& file : tool.files.files)
    lines.push_back(fs::path(file.path).filename().string() + " " + file.sha256 + "\n");
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return base::sha256(text).substr(0, 12);
}

}  // namespace xtune::build
