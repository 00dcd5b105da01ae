// Record files: killed and racing writers, full disks, damage of every kind, and names that are not file names.
#include "core/store/record_log.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/random.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "unit/record/example_record.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::store;

using namespace xtune;
using namespace xtune::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* arch = "sm_90";

RecordSet read_all(const fs::path& store) { return read_records(store, arch, "gemm"); }

fs::path folder_of(const fs::path& store) { return store / "records" / arch / "gemm"; }

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::vector<std::int64_t> blocks(const RecordSet& set) {
  std::vector<std::int64_t> result;
  for (const Record& record : set.records) result.push_back(std::get<std::int64_t>(record.config.at("BLOCK")));
  return result;
}

fs::path write_records(const fs::path& store, int count, const std::string& attempt = "a1") {
  RecordWriter writer(store, arch, "gemm", attempt);
  for (int i = 0; i < count; ++i) writer.append(example_record(i, 1));
  return writer.path();
}

// Runs body in a child process; its result, or -signal.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("appended records are read back, in order, after a header") {
  const TemporaryDirectory store;
  const fs::path path = write_records(store.path(), 5);
  const RecordSet set = read_all(store.path());
  CHECK(blocks(set) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(set.warnings.empty());
  std::ifstream file(path);
  std::string header;
  std::getline(file, header);
  const auto json = nlohmann::json::parse(header);
  CHECK(json.at("xtune_records") == 1);
  CHECK(json.at("kernel") == "gemm");
  CHECK(json.at("arch") == arch);
  CHECK(json.at("attempt") == "a1");
  CHECK(path.parent_path() == folder_of(store.path()));
}

TEST_CASE("no file appears before the first append, and absence reads as nothing") {
  const TemporaryDirectory store;
  {
    RecordWriter writer(store.path(), arch, "gemm", "a1");
    writer.sync();
  }
  CHECK(fs::is_empty(store.path()));
  const RecordSet set = read_all(store.path());
  CHECK(set.records.empty());
  CHECK(set.warnings.empty());
  CHECK(read_records(store.path() / "no", arch, "gemm").warnings.empty());
}

TEST_CASE("two writers of the same process and attempt never share a file") {
  const TemporaryDirectory store;
  RecordWriter one(store.path(), arch, "gemm", "a1"), two(store.path(), arch, "gemm", "a1");
  for (int i = 0; i < 20; ++i) (i % 2 ? one : two).append(example_record(i, 1));
  one.sync();
  CHECK(one.path() != two.path());
  const RecordSet set = read_all(store.path());
  CHECK(set.warnings.empty());
  auto all = blocks(set);
  std::sort(all.begin(), all.end());
  for (std::int64_t i = 0; i < 20; ++i) CHECK(all.at(static_cast<std::size_t>(i)) == i);
}

TEST_CASE("a writer whose file was replaced or removed writes the line in flight and all others to a new one") {
  const TemporaryDirectory store;
  RecordWriter writer(store.path(), "sm_90", "gemm", "a1");
  writer.append(example_record(1, 1));
  writer.append(example_record(2, 2));
  const std::filesystem::path first = writer.path();
  write_file_atomically(first, read_file(first));  // as a repair does
  writer.append(example_record(3, 3));
  CHECK(writer.path() != first);
  writer.append(example_record(4, 4));
  const std::filesystem::path second = writer.path();
  RecordSet set = read_records(store.path(), "sm_90", "gemm");
  CHECK(set.warnings.empty());
  CHECK(set.records.size() == 4);
  std::filesystem::remove_all(first.parent_path());
  writer.append(example_record(5, 5));
  writer.append(example_record(6, 6));
  set = read_records(store.path(), "sm_90", "gemm");
  CHECK(set.warnings.empty());
  CHECK(set.records.size() == 2);
}

TEST_CASE("writers in several processes at once lose nothing") {
  const TemporaryDirectory store;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      write_records(store.path(), 50);
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  const RecordSet set = read_all(store.path());
  CHECK(set.records.size() == 200);
  CHECK(set.warnings.empty());
}

TEST_CASE("a writer killed at any moment loses at most the record in flight") {
  Random random(21);
  for (int round = 0; round < 12; ++round) {
    const TemporaryDirectory store;
    int progress[2];
    REQUIRE(pipe(progress) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      RecordWriter writer(store.path(), arch, "gemm", "a1");
      for (int i = 0;; ++i) {
        writer.append(example_record(i, 1));
        const char done = 1;
        if (::write(progress[1], &done, 1) != 1) _exit(1);
      }
    }
    close(progress[1]);
    // The kill comes after a random number of reported appends, at any point of the child's work.
    char byte = 0;
    std::size_t reported = 0;
    for (std::uint64_t n = random.below(60) + 1; n > 0 && ::read(progress[0], &byte, 1) == 1; --n) ++reported;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (::read(progress[0], &byte, 1) == 1) ++reported;
    close(progress[0]);
    const RecordSet set = read_all(store.path());
    CHECK(set.records.size() >= reported);
    CHECK(set.records.size() <= reported + 1);
    const auto all = blocks(set);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("a file cut anywhere gives every whole line and one warning at most") {
  const TemporaryDirectory store;
  const fs::path path = write_records(store.path(), 3);
  const std::string whole = read_file(path);
  for (std::size_t length = 0; length <= whole.size(); length += 7) {
    write_file(path, whole.substr(0, length));
    const RecordSet set = read_all(store.path());
    const auto lines =
        static_cast<std::size_t>(std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    CHECK(set.records.size() == (lines > 0 ? lines - 1 : 0));
    const bool torn = length > 0 && whole[length - 1] != '\n';
    CHECK(set.warnings.size() == (torn ? 1 : 0));
    if (torn) CHECK(any_has(set.warnings, "torn"));
  }
}

TEST_CASE("a full disk: an error, no torn line, and the next append works once there is room") {
  const TemporaryDirectory store;
  const int result = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 3000;
    setrlimit(RLIMIT_FSIZE, &limit);
    RecordWriter writer(store.path(), arch, "gemm", "a1");
    int written = 0, failed = 0;
    for (int i = 0; i < 8; ++i) {
      try {
        writer.append(example_record(i, 1));
        ++written;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::io ||
            std::string(error.what()).find(writer.path().string()) == std::string::npos)
          return 2;
        ++failed;
      }
    }
    if (written == 0 || failed == 0) return 3;
    if (read_all(store.path()).records.size() != static_cast<std::size_t>(written) ||
        !read_all(store.path()).warnings.empty())
      return 4;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    writer.append(example_record(100, 1));
    return read_all(store.path()).records.size() == static_cast<std::size_t>(written) + 1 &&
                   read_all(store.path()).warnings.empty()
               ? 0
               : 5;
  });
  CHECK(result == 0);
}

TEST_CASE("a header that did not fit is written with the first record that does") {
  const TemporaryDirectory store;
  const int result = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    RecordWriter writer(store.path(), arch, "gemm", "a1");
    try {
      writer.append(example_record(0, 1));
      return 2;
    } catch (const Error&) {
    }
    if (fs::file_size(writer.path()) != 0) return 3;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    writer.append(example_record(1, 1));
    const RecordSet set = read_all(store.path());
    return set.records.size() == 1 && set.warnings.empty() ? 0 : 4;
  });
  CHECK(result == 0);
}

TEST_CASE("a file that was closed is continued, and one that has changed since is left alone") {
  const TemporaryDirectory store;
  RecordWriter writer(store.path(), arch, "gemm", "a1");
  writer.close();  // nothing is open yet
  for (int i = 0; i < 3; ++i) {
    writer.append(example_record(i, 1));
    writer.close();
    writer.close();
  }
  const fs::path first = writer.path();
  CHECK(blocks(read_all(store.path())) == std::vector<std::int64_t>{0, 1, 2});
  const std::string shorter = read_file(first).substr(0, 10);
  write_file(first, shorter);
  writer.append(example_record(3, 1));
  CHECK(writer.path() != first);
  CHECK(read_file(first) == shorter);
  writer.close();
  fs::remove(writer.path());
  writer.append(example_record(4, 1));
  CHECK(blocks(read_all(store.path())) == std::vector<std::int64_t>{4});
}

TEST_CASE("a store that cannot be written is an error that names it") {
  const TemporaryDirectory store;
  write_file(store.path() / "records", "a file where a folder should be");
  RecordWriter writer(store.path(), arch, "gemm", "a1");
  std::string message;
  try {
    writer.append(example_record(1, 1));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    message = error.what();
  }
  CHECK(message.find(store.path().string()) != std::string::npos);
  CHECK(read_all(store.path()).records.empty());
}

TEST_CASE("damaged lines are skipped with their place, the rest is kept") {
  const TemporaryDirectory store;
  const fs::path path = write_records(store.path(), 3);
  std::string text = read_file(path);
  const std::size_t second = text.find('\n') + 1, third = text.find('\n', second) + 1;
  text[second + 10] = '\0';
  text.insert(third, "\n{\"schema\":1}\n[1,2\n\"text\"\n");
  write_file(path, text);
  const RecordSet set = read_all(store.path());
  CHECK(blocks(set) == std::vector<std::int64_t>{1, 2});
  CHECK(set.warnings.size() == 5);
  CHECK(any_has(set.warnings, path.string() + ":2: skipped"));
  CHECK(any_has(set.warnings, ":4: skipped: record field 'kernel': it is missing"));
}

TEST_CASE("a file of a newer version is not read, with a warning; the others are") {
  const TemporaryDirectory store;
  const fs::path path = write_records(store.path(), 2);
  std::string text = read_file(path);
  text.replace(0, text.find('\n'), "{\"xtune_records\":7}");
  write_file(folder_of(store.path()) / "new.jsonl", text);
  const RecordSet set = read_all(store.path());
  CHECK(set.records.size() == 2);
  CHECK(any_has(set.warnings, "new.jsonl"));
  CHECK(any_has(set.warnings, "record version 7, this one reads up to 1"));
}

TEST_CASE("files that are not record files are skipped, with a warning if records may be missing") {
  const TemporaryDirectory store;
  write_records(store.path(), 1);
  const fs::path folder = folder_of(store.path());
  write_file(folder / "empty.jsonl", "");
  write_file(folder / "notes.txt", "not JSON\n");
  write_file(folder / ".jsonl.tmp", "not JSON\n");
  fs::create_directory(folder / "folder.jsonl");
  mkfifo((folder / "pipe.jsonl").c_str(), 0600);
  fs::create_symlink("nowhere", folder / "broken.jsonl");
  const RecordSet set = read_all(store.path());
  CHECK(set.records.size() == 1);
  REQUIRE(set.warnings.size() == 2);
  CHECK(set.warnings[0] == "cannot read " + (folder / "broken.jsonl").string() + ": it is a link that leads nowhere");
  CHECK(set.warnings[1] == "cannot read " + (folder / "folder.jsonl").string() + ": it is a directory");
}

TEST_CASE("a file without a header is read, with a warning") {
  const TemporaryDirectory store;
  const std::string text = read_file(write_records(store.path(), 2));
  const TemporaryDirectory other;
  write_file(folder_of(other.path()) / "a.jsonl", text.substr(text.find('\n') + 1));
  CHECK(read_all(other.path()).records.size() == 2);
  CHECK(read_all(other.path()).warnings.size() == 1);
}

TEST_CASE("random bytes in a record file never do worse than warnings") {
  const TemporaryDirectory store;
  const fs::path path = write_records(store.path(), 3);
  const std::string whole = read_file(path);
  Random random(4);
  for (int i = 0; i < 400; ++i) {
    std::string text = whole;
    for (std::uint64_t n = 1 + random.below(8); n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    if (i % 3 == 0) text.resize(random.below(text.size()));
    write_file(path, text);
    CHECK(read_all(store.path()).records.size() <= 4);
  }
  write_file(path, std::string(2000000, '['));
  CHECK(read_all(store.path()).records.empty());
  write_file(path, std::string(2000000, '[') + "\n" + std::string(100000, '\n'));
  CHECK(read_all(store.path()).records.empty());
}

TEST_CASE("any name becomes a distinct path component") {
  CHECK(path_component("gfx90a") == "gfx90a");
  CHECK(path_component("gfx90a:sramecc+:xnack-") == "gfx90a%3Asramecc+%3Axnack-");
  CHECK(path_component("") == "%");
  CHECK(path_component(".") == "%2E");
  CHECK(path_component("..") == "%2E.");
  CHECK(path_component(".node-1") == "%2Enode-1");
  CHECK(name_of_component("%2Enode-1") == ".node-1");
  CHECK(path_component("a.b") == "a.b");
  CHECK(path_component("a/b") == "a%2Fb");
  CHECK(path_component("%2F") == "%252F");
  CHECK(path_component("\xc3\xa4") == "%C3%A4");
  CHECK(path_component(std::string_view("a\0b", 3)) == "a%00b");
  std::set<std::string> seen;
  for (std::size_t length = 90; length < 400; ++length)
    for (const char* unit : {"a", "/", "\xc3\xa4"}) {
      std::string name;
      while (name.size() < length) name += unit;
      const std::string component = path_component(name);
      CHECK(component.size() <= 120);
      CHECK(component.find_first_not_of("%~abcdefghijklmnopqrstuvwxyzABCDEF0123456789") == std::string::npos);
      seen.insert(component);
    }
  CHECK(seen.size() >= 2 * 310 + 155);
}

TEST_CASE("kernels and architectures of any name keep their records") {
  const TemporaryDirectory store;
  const std::string strange_arch = "gfx90a:sramecc+:xnack-";
  for (const std::string& kernel :
       {std::string(".."), std::string("a/../b"), std::string(), std::string(300, 'k'), std::string("\xc3\xa4")}) {
    RecordWriter writer(store.path(), strange_arch, kernel, "../../x");
    writer.append(example_record(1, 1));
    RecordWriter(store.path(), arch, kernel, "a").append(example_record(2, 1));
    CHECK(blocks(read_records(store.path(), strange_arch, kernel)) == std::vector<std::int64_t>{1});
    CHECK(recorded_archs(store.path(), kernel) == std::vector<std::string>{strange_arch, arch});
  }
  CHECK(recorded_archs(store.path(), "never").empty());
  CHECK(recorded_archs(store.path() / "no", "gemm").empty());
  // Nothing was written outside of the records.
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(store.path()))
    entries += entry.path().filename() == "records" ? 1 : 100;
  CHECK(entries == 1);
}
