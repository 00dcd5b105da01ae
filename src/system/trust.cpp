// Owners and modes are read from the open file whose bytes are used, so that the file that was checked is the one that
// is read.
#include "system/trust.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::system {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "XTUNE_TRUST";
constexpr std::string_view group_mark = "group:";
// for getpwnam_r and similar; an entry with more members than fit counts as unknown
constexpr std::size_t entry_bytes = 1 << 16;

struct Trusted {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
};

/// An entry of the system's databases of users and groups; null: there is none.
template <class Entry, class Find>
std::shared_ptr<const Entry> entry_by(Find find) {
  struct Held {
    Entry entry{};
    char texts[entry_bytes];
  };
  const auto held = std::make_shared<Held>();
  Entry* found = nullptr;
  if (find(&held->entry, held->texts, sizeof held->texts, &found) != 0 || !found) return nullptr;
  return {held, found};
}

auto user_of(uid_t uid) {
  return entry_by<passwd>([uid](auto... rest) { return ::getpwuid_r(uid, rest...); });
}
auto user_of(const std::string& name) {
  return entry_by<passwd>([&name](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); });
}
auto group_of(gid_t gid) {
  return entry_by<group>([gid](auto... rest) { return ::getgrgid_r(gid, rest...); });
}
auto group_of(const std::string& name) {
  return entry_by<group>([&name](auto... rest) { return ::getgrnam_r(name.c_str(), rest...); });
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Trusted parse(const std::string& text) {
  Trusted trusted;
  for (const std::string& part : base::split(text, ',')) {
    const std::string_view word = base::trimmed(part, " ");
    if (word.empty()) continue;
    const bool is_group = word.starts_with(group_mark);
    const std::string name(is_group ? word.substr(group_mark.size()) : word);
    std::optional<std::uint32_t> id = number(name);
    if (!id && is_group)
      if (const auto found = group_of(name)) id = found->gr_gid;
    if (!id && !is_group)
      if (const auto found = user_of(name)) id = found->pw_uid;
    if (!id)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: there is no {} '{}' on this machine; write users and groups such as "
                              "alice,group:lab, or their numbers",
                              variable, is_group ? "group" : "user", base::printable(name, 80)));
    (is_group ? trusted.groups : trusted.users).push_back(*id);
  }
  return trusted;
}

/// Names are looked up once, because a lookup may query a server.
Trusted trusted_by_name() {
  static std::mutex mutex;
  static std::string known_text;
  static Trusted known;
  const char* const value = std::getenv(variable);
  const std::string text = value ? value : "";
  const std::lock_guard lock(mutex);
  if (text != known_text) {
    known = parse(text);
    known_text = text;
  }
  return known;
}

/// The id of users that this process's user namespace does not map; nullopt: it maps all (user_namespaces(7)).
std::optional<uid_t> overflow_user() {
  const auto overflow =
      static_cast<uid_t>(std::strtoul(read_if_there("/proc/sys/kernel/overflowuid").c_str(), nullptr, 10));
  if (overflow == 0) return std::nullopt;
  const std::string map = read_if_there("/proc/self/uid_map");
  if (map.empty() && !fs::exists("/proc/self/uid_map")) return std::nullopt;
  std::istringstream lines(map);
  for (std::uint64_t inside = 0, outside = 0, count = 0; lines >> inside >> outside >> count;)
    if (overflow >= inside && overflow - inside < count) return std::nullopt;
  return overflow;
}

bool is_unknown_user(uid_t uid) {
  static const std::optional<uid_t> unknown = overflow_user();
  return unknown && uid == *unknown;
}

template <class Id>
bool contains(const std::vector<Id>& ids, Id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The group that many systems create for each user (umask 002): with the user's name, without other members.
bool is_private_group(gid_t gid) {
  const auto user = user_of(::geteuid());
  const auto found = group_of(gid);
  if (!user) return gid == ::getegid() && gid == ::geteuid() && !found;
  const std::string_view name = user->pw_name;
  if (user->pw_gid != gid || !found || found->gr_name != name) return false;
  for (char** member = found->gr_mem; member && *member; ++member)
    if (*member != name) return false;
  return true;
}

std::string user_text(uid_t uid) {
  if (is_unknown_user(uid))
    return fmt::format("uid {}, which stands for all users that this container does not know", uid);
  const auto user = user_of(uid);
  return user ? fmt::format("{} (uid {})", base::printable(user->pw_name, 80), uid) : fmt::format("uid {}", uid);
}

std::string group_text(gid_t gid) {
  const auto found = group_of(gid);
  return found ? base::printable(found->gr_name, 80) : std::to_string(gid);
}

bool belongs_to_trusted(const struct stat& info, const Trusted& trusted) {
  const bool own = info.st_uid == ::geteuid() && !is_unknown_user(info.st_uid);
  return own || info.st_uid == 0 || contains(trusted.users, info.st_uid) || contains(trusted.groups, info.st_gid);
}

/// Checks only permissions, not the owner.
std::string why_writable(const struct stat& info) {
  if (S_ISLNK(info.st_mode)) return {};  // its mode has no meaning
  if (info.st_mode & S_IWOTH) return "every user may write to it";
  if (!(info.st_mode & S_IWGRP) || info.st_gid == 0 || contains(trusted_by_name().groups, info.st_gid) ||
      is_private_group(info.st_gid))
    return {};
  return "users of group " + group_text(info.st_gid) + " may write to it";
}

std::string what_to_do(const fs::path& path, const struct stat& info) {
  if (!belongs_to_trusted(info, trusted_by_name())) {
    const auto user = user_of(info.st_uid);
    const std::string name = user && !is_unknown_user(info.st_uid) ? user->pw_name : std::to_string(info.st_uid);
    return fmt::format(
        "Run xtune as that user, name another store (--store or XTUNE_CACHE_DIR), or, if that user may run code as "
        "you, set {}={}",
        variable, base::printable(name, 80));
  }
  const std::string remedy = fmt::format("Run chmod -R go-w '{}'", base::printable(path.string()));
  if (info.st_mode & S_IWOTH) return remedy;
  return fmt::format("{}, or, if all users of that group may run code as you, set {}={}{}", remedy, variable,
                     group_mark, group_text(info.st_gid));
}

/// The users and groups that may also write by an access control list, in words; empty: none, or there is no list. The
/// format is that of Linux' attribute system.posix_acl_access (linux/posix_acl_xattr.h): a version, then entries in
/// this order.
std::string acl_writer(const fs::path& path) {
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  constexpr std::uint16_t named_user = 0x02, named_group = 0x08, mask = 0x10, write = 2;
  constexpr std::size_t header = 4, max_entries = 4096;
  std::vector<char> bytes(header + max_entries * sizeof(Entry));
  const ssize_t size = ::getxattr(path.c_str(), "system.posix_acl_access", bytes.data(), bytes.size());
  if (size < 0) return errno == ERANGE ? "a very long access control list" : "";
  std::vector<Entry> entries((static_cast<std::size_t>(size) - std::min<std::size_t>(size, header)) / sizeof(Entry));
  std::memcpy(entries.data(), bytes.data() + header, entries.size() * sizeof(Entry));
  const Trusted trusted = trusted_by_name();
  for (const Entry& entry : entries)
    if (entry.tag == mask && !(entry.permissions & write)) return {};
  for (const Entry& entry : entries) {
    if (!(entry.permissions & write)) continue;
    if (entry.tag == named_user && entry.id != 0 && entry.id != ::geteuid() && !contains(trusted.users, entry.id))
      return user_text(entry.id);
    if (entry.tag == named_group && entry.id != 0 && !contains(trusted.groups, entry.id) && !is_private_group(entry.id))
      return "group " + group_text(entry.id);
  }
  return {};
}

/// opened: the same file by another name, such as that of an open file in /proc; empty: none.
std::string why_refused(const fs::path& path, const struct stat& info, const fs::path& opened = {}) {
  const std::string why = why_distrusted(info);
  if (why.empty()) {
    const std::string writer = S_ISLNK(info.st_mode) ? std::string() : acl_writer(opened.empty() ? path : opened);
    if (writer.empty()) return {};
    return fmt::format(
        "{} may write to it by an access control list, so xtune does not use it: it could hold another "
        "user's code. Run setfacl -R -b '{}', or, if they may run code as you, name them in {}",
        writer, base::printable(path.string()), variable);
  }
  return why + ", so xtune does not use it: it could hold another user's code. " + what_to_do(path, info);
}

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::io, base::printable(path.string()) + ": " + why);
}

/// A regular file; throws Error(io) for anything else.
struct OpenedFile {
  // Non-blocking, so that opening a FIFO without a writer returns.
  explicit OpenedFile(const fs::path& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    const std::string cannot = "cannot read " + base::printable(path.string()) + ": ";
    if (descriptor.get() < 0 || ::fstat(descriptor.get(), &info) != 0)
      throw Error(ErrorKind::io, cannot + std::strerror(errno));
    if (!S_ISREG(info.st_mode)) throw Error(ErrorKind::io, cannot + "it is not a regular file");
    other_name = fmt::format("/proc/self/fd/{}", descriptor.get());
    if (!fs::exists(other_name)) other_name.clear();
  }

  const Descriptor descriptor;
  struct stat info {};
  fs::path other_name;  ///< in /proc; empty: it is not mounted
};

/// Who may write to a file besides its owner and those who are trusted, as a clause; empty: none.
std::string other_writers(const struct stat& info, const fs::path& opened) {
  if (std::string why = why_writable(info); !why.empty()) return why;
  const std::string writer = acl_writer(opened);
  return writer.empty() ? "" : writer + " may write to it by an access control list";
}

void require_unwritable(const fs::path& path, const struct stat& info, const fs::path& opened) {
  if (const std::string why = other_writers(info, opened); !why.empty())
    fail(path, why +
                   ", so it could hold another user's code. Use a copy that you trust, or, if you trust what it "
                   "holds, run chmod -R go-w on it");
}

}  // namespace

std::string why_distrusted(const struct stat& info) {
  if (!belongs_to_trusted(info, trusted_by_name())) return "it belongs to " + user_text(info.st_uid);
  return why_writable(info);
}

std::string why_refused(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  const std::string why = why_refused(path, info);
  if (!why.empty() || !S_ISLNK(info.st_mode) || ::stat(path.c_str(), &info) != 0) return why;
  return why_refused(path, info);
}

void require_trusted(const fs::path& path) {
  if (const std::string why = why_refused(path); !why.empty()) fail(path, why);
}

std::string read_trusted_file(const fs::path& path, std::uint64_t limit_bytes) {
  const OpenedFile file(path);
  if (const std::string why = why_refused(path, file.info, file.other_name); !why.empty()) fail(path, why);
  return read_all(file.descriptor, path, limit_bytes);
}

void require_unwritable(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;
  require_unwritable(path, info, path);
  if (!S_ISREG(info.st_mode)) return;
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  // In /tmp and the like (sticky), others cannot replace the file.
  if (::stat(directory.c_str(), &info) == 0 && !(info.st_mode & S_ISVTX))
    require_unwritable(directory, info, directory);
}

std::string read_file_of_named(const fs::path& directory, const std::string& name) {
  require_unwritable(directory);
  struct stat of_directory {
  }, link{};
  const fs::path path = directory / name;
  const OpenedFile file(path);
  if (::stat(directory.c_str(), &of_directory) != 0 || ::lstat(path.c_str(), &link) != 0)
    fail(path, std::strerror(errno));
  for (const struct stat& info : {link, file.info})
    if (info.st_uid != of_directory.st_uid && !belongs_to_trusted(info, trusted_by_name()))
      fail(path, fmt::format("it belongs to {}, and its directory to {}, so it could hold another user's code. Use a "
                             "copy that you trust",
                             user_text(info.st_uid), user_text(of_directory.st_uid)));
  require_unwritable(path, file.info, file.other_name.empty() ? path : file.other_name);
  return read_all(file.descriptor, path, std::uint64_t{1} << 30);
}

void make_private_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return;
  const int reason = errno;
  const std::string remedy = "; set HOME, or name another store (--store or XTUNE_CACHE_DIR)";
  const auto refuse = [&](const std::string& why) -> Error {
    return {ErrorKind::io, "cannot use " + base::printable(path.string()) + " as the store: " + why + remedy};
  };
  struct stat info {};
  if (reason != EEXIST || ::lstat(path.c_str(), &info) != 0) throw refuse(std::strerror(reason));
  if (S_ISLNK(info.st_mode)) throw refuse("it is a link, in a place where every user may make one");
  if (!S_ISDIR(info.st_mode)) throw refuse("it is not a directory");
  if (info.st_uid != ::geteuid()) throw refuse("it belongs to " + user_text(info.st_uid));
  if (const std::string why = other_writers(info, path); !why.empty()) throw refuse(why);
}

std::error_code make_directories(const fs::path& path) {
  struct stat info {};
  if (path.empty() || ::stat(path.c_str(), &info) == 0)
    return path.empty() || S_ISDIR(info.st_mode) ? std::error_code() : std::make_error_code(std::errc::not_a_directory);
  const fs::path above = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  if (const std::error_code failed = make_directories(above)) return failed;
  if (::mkdir(path.c_str(), 0755) != 0)
    return errno == EEXIST && fs::is_directory(path) ? std::error_code()
                                                     : std::error_code(errno, std::generic_category());
  if (::stat(above.empty() ? "." : above.c_str(), &info) == 0 && (info.st_mode & S_IWGRP) &&
      contains(trusted_by_name().groups, info.st_gid))
    ::chmod(path.c_str(), 0775 | (info.st_mode & S_ISGID));
  return {};
}

}  // namespace xtune::system
