// Of large files states are compared first, because that needs no reading; contents decide. Libraries are those that
// the system's loader lists: it handles RUNPATH, LD_LIBRARY_PATH and its cache.
#include "core/build/keyed_files.hpp"

#include <elf.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "system/chosen_store.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

namespace {

constexpr std::uint64_t limit_bytes = std::uint64_t{1} << 40;

// How far apart two changes are that certainly have other times: the kernel's tick is at most 10 ms; FAT has even
// seconds; a server has another clock, whose time is that of this machine to a second or two.
constexpr std::int64_t tick_ns = 50'000'000, second_ns = 2'000'000'000, server_ns = 3'000'000'000;

constexpr int attempts = 5;

// Files of at most this size are always read again: a write through a mapping may leave all times as they are.
constexpr off_t small_bytes = 1 << 18;

std::int64_t ns_of(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

timespec time_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

std::string text_of(const struct stat& info) {
  return fmt::format("{}:{}:{}:{}:{}", info.st_dev, info.st_ino, info.st_size, ns_of(info.st_mtim),
                     ns_of(info.st_ctim));
}

/// As unseen_changes_ns, for a file now; 0: there is none.
std::int64_t unseen_changes_ns(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return 0;
  return build::unseen_changes_ns(info.st_mtim, info.st_ctim, time_now(), system::is_local(path));
}

bool is_small(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && info.st_size <= small_bytes;
}

bool is_recent(const std::string& path) {
  return unseen_changes_ns(path) > 0 || (!is_small(path) && system::has_writer(path));
}

bool is_there(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

[[noreturn]] void fail_changed(const std::string& path) {
  throw Error(ErrorKind::io,
              base::printable(path) +
                  ": changed since the run began, and what is made from it now is not what the key "
                  "describes. Nothing of that was stored; run again to go on with the files as they are");
}

[[noreturn]] void fail_unsteady(const std::string& path) {
  throw Error(ErrorKind::io, base::printable(path) + ": the file is written to all the time; try again later");
}

/// Of a file that may be large: signals that end the program are heard meanwhile.
std::string digest_of_file(const std::filesystem::path& path) {
  const system::SignalsHeard signals;
  return base::sha256_of_file(path, [&] {
    if (signals.asked())
      throw Error(ErrorKind::interrupted, "stopped while " + base::printable(path.string()) + " was read");
  });
}

/// Returns true if the file may have had another content since.
bool settle(KeyedFile& file) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::string state = file_state(file.path);
    const bool same = state == file.state;
    if (same && !file.recent && !is_small(file.path)) return false;
    const bool recent = is_recent(file.path), vouched = same && !file.recent;
    try {
      if (digest_of_file(file.path) != file.sha256) fail_changed(file.path);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      fail_changed(file.path);  // removed, or unreadable
    }
    if (file_state(file.path) != state) continue;
    file.state = state;
    file.recent = recent;
    return !vouched;
  }
  fail_unsteady(file.path);
}

}  // namespace

bool KeyedFiles::may_probe_others() const {
  return std::any_of(unknown.begin(), unknown.end(),
                     [](const std::string& text) { return text.find(": __has_include(") != text.npos; });
}

void KeyedFiles::add(const KeyedFiles& other) {
  std::set<std::string> known(absent.begin(), absent.end());
  for (const std::string& path : other.absent)
    if (known.insert(path).second) absent.push_back(path);
  known.clear();
  for (const KeyedFile& file : files) known.insert(file.path);
  for (const KeyedFile& file : other.files)
    if (known.insert(file.path).second) files.push_back(file);
  for (const std::string& text : other.unknown) base::add_once(unknown, text);
}

std::int64_t unseen_changes_ns(const timespec& modified, const timespec& changed, const timespec& now, bool is_local) {
  const bool has_whole_seconds = modified.tv_nsec == 0 && changed.tv_nsec == 0;
  const std::int64_t grain = !is_local ? server_ns : has_whole_seconds ? second_ns : tick_ns;
  return std::max<std::int64_t>(grain - (ns_of(now) - ns_of(changed)), 0);
}

bool wait_until_old(const KeyedFiles& files) {
  std::int64_t longest = 0;
  for (const KeyedFile& file : files.files)
    if (const std::int64_t ns = file.recent ? unseen_changes_ns(file.path) : 0; ns <= server_ns)
      longest = std::max(longest, ns);
  if (longest > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(longest));
  return longest > 0;
}

std::string file_state(const std::filesystem::path& path) {
  struct stat link {
  }, info{};
  if (stat(path.c_str(), &info) != 0) return {};
  std::string text = text_of(info);
  // A link that had another target meanwhile may lead to the same file again.
  if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) text += " " + text_of(link);
  return text;
}

KeyedFile look_at(const std::filesystem::path& path) { return {path.string(), file_state(path), {}, is_recent(path)}; }

bool are_untouched(const KeyedFiles& files) {
  return std::all_of(files.files.begin(), files.files.end(),
                     [](const KeyedFile& file) { return !file.recent && file_state(file.path) == file.state; }) &&
         std::none_of(files.absent.begin(), files.absent.end(), is_there);
}

namespace {

/// Appends a file with the result of `digest`, computed again if the file changed meanwhile.
template <class Digest>
void append(const std::filesystem::path& path, KeyedFiles& to, const Digest& digest) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    KeyedFile file = look_at(path);
    file.sha256 = digest();
    if (file_state(path) != file.state) continue;
    to.files.push_back(std::move(file));
    return;
  }
  fail_unsteady(path.string());
}

}  // namespace

std::string read_keyed(const std::filesystem::path& path, KeyedFiles& to) {
  std::string text;
  append(path, to, [&] {
    text = system::read_file(path, limit_bytes);
    return base::sha256(text);
  });
  return text;
}

void key_file(const std::filesystem::path& path, KeyedFiles& to) {
  append(path, to, [&] { return digest_of_file(path); });
}

bool settle(KeyedFiles& files) {
  bool touched = false;
  for (KeyedFile& file : files.files) touched = settle(file) || touched;
  for (const std::string& path : files.absent)
    if (is_there(path)) fail_changed(path);
  return touched;
}

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

/// The program interpreter of this program; empty: it is linked statically.
std::string find_loader() {
  std::string path;
  const auto take = [](dl_phdr_info* program, std::size_t, void* to) {
    for (int i = 0; i < program->dlpi_phnum; ++i)
      if (const auto& segment = program->dlpi_phdr[i]; segment.p_type == PT_INTERP)
        *static_cast<std::string*>(to) = reinterpret_cast<const char*>(program->dlpi_addr + segment.p_vaddr);
    return 1;  // the first one is the program; others are its libraries
  };
  dl_iterate_phdr(take, &path);
  return path;
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
