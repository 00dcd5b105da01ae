// Reading, atomic writing and temporary directories, with full disks, wrong paths and unusual files.
#include "system/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fakes/environment_variable.hpp"
#include "fakes/io_error.hpp"
#include "support/text.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::test;
using fakes::io_error;
namespace fs = std::filesystem;

namespace {

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("written files are read back, with any content and size") {
  const TemporaryDirectory folder;
  std::string big(3 << 20, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 31);
  for (const std::string& bytes : {std::string(), std::string("a\0b\n\xff", 5), big}) {
    write_file_atomically(folder.path() / "deep" / "er" / "file", bytes);
    CHECK(read_file(folder.path() / "deep" / "er" / "file") == bytes);
    CHECK(entries(folder.path() / "deep" / "er") == 1);
  }
}

TEST_CASE("a path without a directory is in the current one") {
  const TemporaryDirectory folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file_atomically("plain", "bytes");
  CHECK(read_file("plain") == "bytes");
  fs::current_path(before);
}

TEST_CASE("unreadable files are named with the reason") {
  const TemporaryDirectory folder;
  const auto reading = [](const fs::path& path, std::uint64_t limit = 100) {
    return io_error([&] { read_file(path, limit); });
  };
  CHECK(reading(folder.path() / "missing") ==
        "cannot read " + (folder.path() / "missing").string() + ": No such file or directory");
  CHECK(has(reading(folder.path()), "it is a directory"));
  write_file_atomically(folder.path() / "large", std::string(101, 'x'));
  CHECK(has(reading(folder.path() / "large"), "larger than the limit of 100 B"));
  CHECK(read_file(folder.path() / "large", 101).size() == 101);
  CHECK(has(reading("/dev/zero", 1 << 20), "larger than the limit of 1 MiB"));
}

TEST_CASE("files without a size are read, and a FIFO without a writer does not block") {
  CHECK(has(read_file("/proc/self/status"), "Pid:"));
  CHECK(read_file("/dev/null").empty());
  const TemporaryDirectory folder;
  const fs::path fifo = folder.path() / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(read_file(fifo).empty());
}

TEST_CASE("a full disk leaves the old file and no temporary one") {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "record";
  write_file_atomically(path, "old");
  // The limit on file sizes fails a write half-way, as a full disk does.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = io_error([&] { write_file_atomically(path, std::string(10000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(message == "cannot write " + path.string() + ": File too large");
  CHECK(read_file(path) == "old");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("where nothing can be written, the message says where") {
  const TemporaryDirectory folder;
  write_file_atomically(folder.path() / "file", "x");
  CHECK(has(io_error([&] { write_file_atomically(folder.path() / "file" / "below", "x"); }),
            "cannot create the directory"));
  CHECK(has(io_error([&] { write_file_atomically("/proc/xtune", "x"); }), "cannot write in the directory /proc"));
  CHECK(has(io_error([&] { write_file_atomically(folder.path() / "", "x"); }), "it names no file"));
  fs::create_directory(folder.path() / "taken");
  CHECK(has(io_error([&] { write_file_atomically(folder.path() / "taken", "x"); }), "taken: Is a directory"));
  CHECK(entries(folder.path()) == 2);
}

TEST_CASE("concurrent writers of one path leave one whole file") {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "shared";
  std::vector<std::thread> threads;
  for (char c = 'a'; c < 'e'; ++c) {
    threads.emplace_back([&path, c] {
      for (int i = 0; i < 20; ++i) write_file_atomically(path, std::string(100000, c));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string bytes = read_file(path);
  CHECK(bytes == std::string(100000, bytes.at(0)));
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("temporary directories are private, distinct, and gone afterwards") {
  fs::path first_path;
  {
    TemporaryDirectory first;
    const TemporaryDirectory second;
    first_path = first.path();
    CHECK(first.path() != second.path());
    struct stat info {};
    REQUIRE(stat(first_path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    write_file_atomically(first_path / "a" / "b", "x");
    const TemporaryDirectory moved = std::move(first);
    CHECK(moved.path() == first_path);
    CHECK(fs::exists(first_path));
  }
  CHECK_FALSE(fs::exists(first_path));
}

TEST_CASE("XTUNE_TMP_DIR wins over TMPDIR, and one that cannot be used says so") {
  const TemporaryDirectory root;
  const Variable tmpdir("TMPDIR", "/nowhere");
  {
    const Variable own("XTUNE_TMP_DIR", (root.path() / "made").c_str());
    CHECK(TemporaryDirectory().path().parent_path() == root.path() / "made");
  }
  const Variable none("XTUNE_TMP_DIR", "/proc/none");
  CHECK(has(io_error([] { TemporaryDirectory(); }), "cannot make a temporary directory in /proc/none"));
}

TEST_CASE("the scratch directory is TMPDIR, else /tmp; an empty variable says nothing") {
  const Variable own("XTUNE_TMP_DIR", ""), tmpdir("TMPDIR", "");
  CHECK(temporary_folder() == "/tmp");
  const Variable site("TMPDIR", "/elsewhere");
  CHECK(temporary_folder() == "/elsewhere");
}

TEST_CASE("directories of processes that have ended are removed, and no others") {
  const TemporaryDirectory root;
  const Variable own("XTUNE_TMP_DIR", root.path().c_str());
  const TemporaryDirectory mine;
  const std::string name = mine.path().filename().string();
  const std::string pid = "-" + std::to_string(getpid()) + "-";
  REQUIRE(has(name, pid));
  const auto made = [&](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    fs::create_directories(root.path() / text / "inside");
    return root.path() / text;
  };
  // A process of the same number that started at another time is another process.
  const std::string start = name.substr(name.find(pid) + pid.size(), name.rfind('-') - name.find(pid) - pid.size());
  REQUIRE_FALSE(start.empty());
  const fs::path abandoned[] = {made(name, pid, "-999999999-"), made(name, "-" + start + "-", "-" + start + "1-")};
  const fs::path kept[] = {mine.path(), made(name, "xtune-", "xtune-0"),  // of another machine
                           made(name, "xtune-", "other-"),                // of another program
                           made(name, pid, "-x-"),                        // without an owner
                           made(name, "-" + start + "-", "-0-")};         // without a start time
  std::ofstream(root.path() / (name + "-file")) << "no folder";
  fs::create_directory_symlink(mine.path(), root.path() / fs::path(abandoned[0]).filename().string().append("x"));
  remove_abandoned_temporaries();
  for (const fs::path& folder : abandoned) CHECK_FALSE_MESSAGE(fs::exists(folder), folder.string());
  for (const fs::path& folder : kept) CHECK_MESSAGE(fs::exists(folder), folder.string());
  CHECK(fs::exists(root.path() / (name + "-file")));
  CHECK(entries(root.path()) == std::size(kept) + 2);
}

TEST_CASE("the default store follows the environment") {
  const Variable cache("XTUNE_CACHE_DIR", "/c"), xdg("XDG_CACHE_HOME", "/x"), home("HOME", "/h"),
      tmp("XTUNE_TMP_DIR", "/t");
  CHECK(default_store() == "/c");
  const Variable no_cache("XTUNE_CACHE_DIR", "");
  CHECK(default_store() == "/x/xtune");
  const Variable no_xdg("XDG_CACHE_HOME", std::nullopt);
  CHECK(default_store() == "/h/.cache/xtune");
  const Variable no_home("HOME", std::nullopt);
  CHECK(default_store().parent_path() == "/t");
}

TEST_CASE("the running program is found") {
  CHECK(own_executable().filename() == "test_system");
  CHECK(fs::exists(own_executable()));
}

TEST_CASE("an output keeps the link, the mode and the kind of what is there") {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "file", link = folder.path() / "link", pipe = folder.path() / "pipe";
  write_output_file(file, "first");
  CHECK(read_file(file) == "first");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("file", link);
  write_output_file(link, "second");
  CHECK(fs::is_symlink(link));
  CHECK(read_file(file) == "second");
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_output_file(pipe, "third");
  char text[8] = "";
  CHECK(read(reader, text, sizeof text) == 5);
  CHECK(std::string(text) == "third");
  close(reader);
  CHECK(fs::is_fifo(pipe));
  CHECK(io_error([] { write_output_file("/dev/full", "x"); }).find("/dev/full") != std::string::npos);
}
