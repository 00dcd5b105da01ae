// Of large files states are compared first, because that needs no reading; contents decide.
#include "core/build/keyed_files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

constexpr std::uint64_t limit_bytes = std::uint64_t{1} << 40;

// File systems use the kernel's tick for timestamps, which is at most 10 ms.
constexpr std::int64_t recent_ns = 50'000'000;
constexpr int attempts = 5;

// Files of at most this size are always read again: a write through a mapping may leave all times as they are.
constexpr off_t small_bytes = 1 << 18;

std::int64_t ns_of(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::string text_of(const struct stat& info) {
  return fmt::format("{}:{}:{}:{}:{}", info.st_dev, info.st_ino, info.st_size, ns_of(info.st_mtim),
                     ns_of(info.st_ctim));
}

bool is_recent(const std::filesystem::path& path) {
  struct stat info {};
  timespec now{};
  if (stat(path.c_str(), &info) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return true;
  // A time in the future comes from another machine's clock.
  return ns_of(now) - ns_of(info.st_ctim) < recent_ns;
}

bool is_small(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && info.st_size <= small_bytes;
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

/// Returns true if the file was touched.
bool settle(KeyedFile& file) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::string state = file_state(file.path);
    const bool same = state == file.state;
    if (same && !file.recent && !is_small(file.path)) return false;
    const bool recent = is_recent(file.path);
    try {
      if (base::sha256_of_file(file.path) != file.sha256) fail_changed(file.path);
    } catch (const Error&) {  // removed, or unreadable
      fail_changed(file.path);
    }
    if (file_state(file.path) != state) continue;
    file.state = state;
    file.recent = recent;
    return !same;
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
  append(path, to, [&] { return base::sha256_of_file(path); });
}

bool settle(KeyedFiles& files) {
  bool touched = false;
  for (KeyedFile& file : files.files) touched = settle(file) || touched;
  for (const std::string& path : files.absent)
    if (is_there(path)) fail_changed(path);
  return touched;
}

void throw_if_changed(KeyedFiles files) { settle(files); }

}  // namespace xtune::build
