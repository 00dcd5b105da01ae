// Which files are trusted, and how files are made where other users may create names.
#include "system/trust.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "fakes/environment_variable.hpp"
#include "fakes/io_error.hpp"
#include "support/text.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::test;
using fakes::io_error;
namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 54321;
constexpr gid_t strange_group = 54322;

struct stat file_of(uid_t uid, gid_t gid, mode_t mode) {
  struct stat info {};
  info.st_uid = uid;
  info.st_gid = gid;
  info.st_mode = mode;
  return info;
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}

void write_with_mode(const fs::path& path, mode_t mode) {
  std::ofstream(path) << "text";
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

struct Umask {
  explicit Umask(mode_t mask) : before(::umask(mask)) {}
  ~Umask() { ::umask(before); }
  const mode_t before;
};

}  // namespace

TEST_CASE("only this user, root and those that XTUNE_TRUST names are trusted") {
  const Variable none("XTUNE_TRUST", std::nullopt);
  const uid_t own = ::geteuid();
  CHECK(why_distrusted(file_of(own, strange_group, S_IFREG | 0644)).empty());
  CHECK(why_distrusted(file_of(0, 0, S_IFREG | 0644)).empty());
  CHECK(why_distrusted(file_of(stranger, strange_group, S_IFREG | 0600)) == "it belongs to uid 54321");
  CHECK(why_distrusted(file_of(own, strange_group, S_IFREG | 0602)) == "every user may write to it");
  CHECK(why_distrusted(file_of(own, strange_group, S_IFDIR | 0770)) == "users of group 54322 may write to it");
  CHECK(why_distrusted(file_of(own, 0, S_IFDIR | 0770)).empty());
  CHECK(why_distrusted(file_of(own, strange_group, S_IFLNK | 0777)).empty());
  CHECK_FALSE(why_distrusted(file_of(stranger, strange_group, S_IFLNK | 0777)).empty());
  const Variable user("XTUNE_TRUST", "54321");
  CHECK(why_distrusted(file_of(stranger, strange_group, S_IFREG | 0644)).empty());
  CHECK(why_distrusted(file_of(stranger, strange_group, S_IFREG | 0646)) == "every user may write to it");
  CHECK_FALSE(why_distrusted(file_of(stranger, strange_group, S_IFREG | 0664)).empty());
  const Variable group("XTUNE_TRUST", " root, group:54322");
  CHECK(why_distrusted(file_of(stranger, strange_group, S_IFREG | 0664)).empty());
  CHECK_FALSE(why_distrusted(file_of(stranger, strange_group + 1, S_IFREG | 0644)).empty());
  CHECK(why_distrusted(file_of(own, strange_group, S_IFREG | 0666)) == "every user may write to it");
}

TEST_CASE("a name that XTUNE_TRUST misspells is an error") {
  for (const char* text : {"no such user", "root,group:no such group"}) {
    const Variable trust("XTUNE_TRUST", text);
    try {
      why_distrusted(file_of(stranger, 0, S_IFREG | 0644));
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_argument);
      CHECK(has(error.what(), "'no such"));
    }
  }
}

TEST_CASE("only what is trusted is read, and the message says what to do") {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "file";
  write_with_mode(file, 0644);
  CHECK(read_trusted_file(file) == "text");
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  const std::string error = io_error([&] { read_trusted_file(file); });
  CHECK(has(error, file.string() + ": every user may write to it"));
  CHECK(has(error, "chmod -R go-w"));
  const fs::path pipe = folder.path() / "pipe", link = folder.path() / "link";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(has(io_error([&] { read_trusted_file(pipe); }), "it is not a regular file"));
  fs::create_symlink(file, link);
  CHECK(has(io_error([&] { require_trusted(link); }), "every user may write to it"));
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  CHECK_NOTHROW(require_trusted(link));
  CHECK_NOTHROW(require_trusted(folder.path() / "none"));
}

TEST_CASE("a file that an access control list opens to others is refused") {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "file";
  write_with_mode(file, 0644);
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  const auto set_list = [&](std::uint32_t user, std::uint16_t permissions, std::uint16_t mask) {
    constexpr std::uint32_t none = 0xFFFFFFFF;
    const Entry entries[] = {{1, 6, none}, {2, permissions, user}, {4, 4, none}, {0x10, mask, none}, {0x20, 4, none}};
    std::string bytes("\2\0\0\0", 4);
    bytes.append(reinterpret_cast<const char*>(entries), sizeof entries);
    return ::setxattr(file.c_str(), "system.posix_acl_access", bytes.data(), bytes.size(), 0) == 0;
  };
  if (!set_list(12345, 6, 6)) {
    MESSAGE("skipped: this file system has no access control lists");
    return;
  }
  const std::string error = io_error([&] { read_trusted_file(file); });
  CHECK(has(error, file.string() + ": uid 12345 may write to it by an access control list"));
  CHECK(has(error, "setfacl -R -b '" + file.string()));
  CHECK(has(io_error([&] { require_trusted(file); }), "uid 12345"));
  REQUIRE(set_list(12345, 6, 4));  // the mask takes the right away
  CHECK(read_trusted_file(file) == "text");
  REQUIRE(set_list(12345, 4, 6));
  CHECK(read_trusted_file(file) == "text");
  REQUIRE(set_list(::geteuid(), 6, 6));
  REQUIRE(::chmod(file.c_str(), 0644) == 0);  // the mask, too
  CHECK(read_trusted_file(file) == "text");
}

TEST_CASE("a file of another user is refused through a link, too") {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "file", link = folder.path() / "link";
  write_with_mode(file, 0644);
  if (::chown(file.c_str(), stranger, strange_group) != 0) {
    MESSAGE("skipped: only root can give files away");
    return;
  }
  fs::create_symlink(file, link);
  const Variable none("XTUNE_TRUST", std::nullopt);
  CHECK(has(io_error([&] { read_trusted_file(link); }), "set XTUNE_TRUST=54321"));
  CHECK(has(io_error([&] { require_trusted(link); }), "it belongs to uid 54321"));
  const Variable user("XTUNE_TRUST", "54321");
  CHECK(read_trusted_file(link) == "text");
  REQUIRE(::lchown(link.c_str(), stranger + 1, 0) == 0);
  CHECK_THROWS_AS(require_trusted(link), Error);
}

TEST_CASE("without HOME the default store is made for this user, or refused") {
  const TemporaryDirectory folder;
  const Variable cache("XTUNE_CACHE_DIR", std::nullopt), xdg("XDG_CACHE_HOME", std::nullopt),
      home("HOME", std::nullopt), own("XTUNE_TMP_DIR", folder.path().string());
  const fs::path store = folder.path() / ("xtune-" + std::to_string(::geteuid()));
  {
    const RememberNothing nothing;
    CHECK(place_in_default_store("inventory/file") == store / "inventory/file");
    CHECK_FALSE(fs::exists(store));
  }
  CHECK(chosen_store({}) == store);
  CHECK(mode_of(store) == 0700);
  CHECK(chosen_store({}) == store);
  CHECK(place_in_default_store("inventory/file") == store / "inventory/file");
  REQUIRE(::chmod(store.c_str(), 0777) == 0);
  CHECK(has(io_error([] { chosen_store({}); }), "every user may write to it; set HOME"));
  CHECK_FALSE(place_in_default_store("inventory/file"));
  fs::remove(store);
  fs::create_directory_symlink(folder.path(), store);
  CHECK(has(io_error([] { chosen_store({}); }), "it is a link"));
  fs::remove(store);
  write_with_mode(store, 0600);
  CHECK(has(io_error([] { chosen_store({}); }), "it is not a directory"));
  fs::remove(store);
  fs::create_directory(store);
  if (::chown(store.c_str(), stranger, strange_group) != 0) return;
  CHECK(has(io_error([] { chosen_store({}); }), "it belongs to uid 54321"));
}

TEST_CASE("a store that every user may write to is refused") {
  const TemporaryDirectory folder;
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  CHECK(has(io_error([&] { chosen_store(folder.path()); }), "chmod -R go-w"));
  CHECK(chosen_store(folder.path() / "new") == folder.path() / "new");
}

TEST_CASE("no other user may write to new files in a store, with any umask") {
  const TemporaryDirectory folder;
  const Umask none(0);
  const fs::path file = folder.path() / "a" / "b" / "file";
  write_file_atomically(file, "text");
  CHECK(mode_of(file) == 0644);
  CHECK(mode_of(file.parent_path()) == 0755);
  CHECK(mode_of(folder.path() / "a") == 0755);
  write_output_file(folder.path() / "output", "text");
  CHECK(mode_of(folder.path() / "output") == 0666);
  CHECK(make_directories(file) == std::errc::not_a_directory);
}

TEST_CASE("directories of a store that a group shares are the group's") {
  const TemporaryDirectory folder;
  const fs::path store = folder.path() / "store";
  fs::create_directory(store);
  REQUIRE(::chmod(store.c_str(), 02775) == 0);
  const Variable trust("XTUNE_TRUST", "group:" + std::to_string(::getegid()));
  REQUIRE_FALSE(make_directories(store / "records" / "sm_90"));
  CHECK(mode_of(store / "records") == 02775);
  CHECK(mode_of(store / "records" / "sm_90") == 02775);
}

TEST_CASE("links that others put where a temporary file might go lead nowhere") {
  const TemporaryDirectory folder;
  const fs::path victim = folder.path() / "victim", place = folder.path() / "place";
  write_with_mode(victim, 0600);
  fs::create_directory(place);
  // The form of earlier names, which other users could predict.
  const std::string known = "." + host_name() + "-" + std::to_string(::getpid()) + "-";
  for (int n = 0; n < 1000; ++n) fs::create_symlink(victim, place / (known + std::to_string(n) + ".tmp"));
  write_file_atomically(place / "file", "new");
  CHECK(read_file(victim) == "text");
  CHECK(read_file(place / "file") == "new");
}
