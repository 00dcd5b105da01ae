// The index of a store: whatever happens to it or to the logs, the answers are those of the logs.
#include "core/store/index.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/store/database.hpp"
#include "core/store/record_check.hpp"
#include "core/store/store_view.hpp"
#include "fakes/environment_variable.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::system;
using namespace xtune::device;
using namespace xtune::store;

namespace xtune {
namespace {

namespace fs = std::filesystem;

/// A store that is large enough for an index, and its own cache directory.
struct IndexedStore {
  TemporaryDirectory store, cache;
  Variable cache_variable{"XTUNE_CACHE_DIR", cache.path().string()};
  fs::path log;

  IndexedStore() {
    std::vector<Record> records = random_records(1, 300);
    log = write_records(store.path(), records);
  }
  /// Each record as JSON, by the view, and the view's warnings.
  std::vector<std::string> view() const {
    RowOptions options;
    options.all = true;
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
    std::vector<std::string> found = view.warnings();
    view.each_row([&](const StoredConfig& row) {
      const Record record = read_record(row);
      CHECK(row.problem() == record.problem);
      CHECK(config_bindings(row) == record.config);
      CHECK(row.median_ms == record.time_ms.median);
      found.push_back(to_json(record).dump());
    });
    return found;
  }
  /// The same, by the reader of whole records.
  std::vector<std::string> expected() const {
    const RecordSet set = read_records(store.path(), "sm_90", "gemm");
    std::vector<std::string> found = set.warnings;
    for (const Record& record : set.records) found.push_back(to_json(record).dump());
    return found;
  }
  /// Empty: there is none.
  fs::path file() const {
    for (const auto& entry : fs::recursive_directory_iterator(cache.path()))
      if (entry.path().extension() == ".sqlite") return entry.path();
    return {};
  }
  std::int64_t version() const {
    Database database(file());
    Statement statement = database.prepare("PRAGMA user_version");
    statement.next();
    return statement.integer(0);
  }
};

void write_at(const fs::path& path, std::uint64_t offset, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == std::ssize(bytes));
  ::close(file);
}

}  // namespace

TEST_CASE("only lines that are new since the last call are read, and the index needs no store") {
  const IndexedStore indexed;
  REQUIRE(fs::file_size(indexed.log) > (256u << 10));
  const std::vector<std::string> first = indexed.view();
  CHECK(first == indexed.expected());
  REQUIRE_FALSE(indexed.file().empty());
  CHECK(indexed.view() == first);
  // Damage in the middle, which a file with the times of before does not show: these lines are not read again.
  const std::uint64_t middle = fs::file_size(indexed.log) / 2;
  const std::string before = read_file_part(indexed.log, middle, 1);
  struct stat info {};
  REQUIRE(::stat(indexed.log.c_str(), &info) == 0);
  write_at(indexed.log, middle, before == "x" ? "y" : "x");
  const struct timespec times[] = {info.st_atim, info.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, indexed.log.c_str(), times, 0) == 0);
  RowOptions all;
  all.all = true;
  const auto records = [&] { return StoreView::load(indexed.store.path(), "sm_90", "gemm", all).records(); };
  CHECK(records() == 300);
  std::ofstream(indexed.log, std::ios::app) << with_checksum(to_json(example_record(8, 8)).dump()) << "\n";
  CHECK(records() == 301);
  write_at(indexed.log, middle, before);
  CHECK(indexed.view() == indexed.expected());
}

TEST_CASE("logs that shrank, were replaced, changed in place or are torn are read again") {
  const IndexedStore indexed;
  const std::string text = read_file(indexed.log);
  indexed.view();
  const std::size_t cut = text.find('\n', text.size() / 2) + 1;
  SUBCASE("shrank") { fs::resize_file(indexed.log, cut); }
  SUBCASE("shrank, and grew again with other records") {
    const TemporaryDirectory other;
    const std::string others = read_file(write_records(other.path(), random_records(2, 400)));
    REQUIRE(others.size() > text.size());
    std::ofstream(indexed.log, std::ios::trunc) << others;
  }
  SUBCASE("replaced by one of the same size") {
    write_text(indexed.log.string() + ".new", text.substr(0, cut) + std::string(text.size() - cut - 1, 'x') + "\n");
    fs::rename(indexed.log.string() + ".new", indexed.log);
  }
  SUBCASE("changed in place") { write_at(indexed.log, cut + 100, "\x01"); }
  SUBCASE("removed") { fs::remove(indexed.log); }
  SUBCASE("torn, and finished later") {
    fs::resize_file(indexed.log, cut + 700);
    std::vector<std::string> torn = indexed.view();
    CHECK(torn == indexed.expected());
    CHECK(torn.front().ends_with("the last line is torn (its writer was stopped); dropped"));
    CHECK(indexed.view() == torn);
    std::ofstream(indexed.log, std::ios::app) << text.substr(cut + 700);
    CHECK(indexed.view().size() == 300);
  }
  SUBCASE("another one beside it") { write_records(indexed.store.path(), random_records(3, 20), "a0"); }
  SUBCASE("ended by a header of a newer version") {
    std::ofstream(indexed.log, std::ios::app) << "{\"xtune_records\":7}\n" << text;
  }
  CHECK(indexed.view() == indexed.expected());
  CHECK(indexed.view() == indexed.expected());
}

TEST_CASE("an index that is damaged or of another version is made again") {
  const IndexedStore indexed;
  const std::vector<std::string> expected = indexed.view();
  const std::int64_t version = indexed.version();
  const fs::path file = indexed.file();
  SUBCASE("another version") { Database(file).run("PRAGMA user_version = 1"); }
  SUBCASE("another schema") { Database(file).run("DROP TABLE block; CREATE TABLE block(a)"); }
  SUBCASE("not a database") { std::ofstream(file, std::ios::trunc) << std::string(10'000, 'x'); }
  SUBCASE("cut") { fs::resize_file(file, fs::file_size(file) / 2); }
  SUBCASE("zeros inside") { write_at(file, 4096, std::string(8192, '\0')); }
  SUBCASE("a text is missing") { Database(file).run("DELETE FROM text"); }
  SUBCASE("places of other records") {
    Database(file).run("UPDATE block SET offset = offset + 7");
    const StoreView view = StoreView::load(indexed.store.path(), "sm_90", "gemm");
    CHECK_THROWS_AS(read_record(*view.order(view.groups().front()).front()), RecordsChanged);
  }
  CHECK(indexed.view() == expected);
  CHECK(indexed.version() == version);
  CHECK(indexed.view() == expected);
}

TEST_CASE("rows that are read after another process changed the index are those of the view") {
  const IndexedStore indexed;
  indexed.view();
  RowOptions all;
  all.all = true;
  const StoreView view = StoreView::load(indexed.store.path(), "sm_90", "gemm", all);
  std::size_t expected = 300;
  SUBCASE("it was made again") { Database(indexed.file()).run("DELETE FROM block"); }
  SUBCASE("it was removed") { remove_database(indexed.file()); }
  SUBCASE("it was damaged") { Database(indexed.file()).run("UPDATE block SET data = zeroblob(length(data))"); }
  SUBCASE("and the log was removed, too") {
    Database(indexed.file()).run("DELETE FROM block");
    fs::remove(indexed.log);
    CHECK_THROWS_AS(view.each_row([](const StoredConfig&) {}), Error);
    expected = 0;
  }
  std::size_t rows = 0;
  if (expected != 0)
    view.each_row([&](const StoredConfig& row) {
      rows += config_bindings(row) == read_record(row).config && row.median_ms == read_record(row).time_ms.median;
    });
  CHECK(rows == expected);
}

TEST_CASE("without a place for an index the answers are the same") {
  const IndexedStore indexed;
  const TemporaryDirectory temporary;
  const std::vector<std::string> expected = indexed.expected();
  const Variable temporaries("XTUNE_TMP_DIR", temporary.path().string());
  SUBCASE("nothing is kept") {
    const Variable disabled("XTUNE_DISABLE_CACHE", "1");
    CHECK(index_folder().empty());
    CHECK(indexed.view() == expected);
  }
  SUBCASE("the directory cannot be made") {
    write_text(temporary.path() / "file", "");
    const Variable cache("XTUNE_CACHE_DIR", (temporary.path() / "file" / "cache").string());
    const Variable elsewhere("XTUNE_TMP_DIR", (temporary.path() / "file").string());
    CHECK(index_folder().empty());
    CHECK(indexed.view() == expected);
  }
  SUBCASE("others can write to it: the temporary directory has it") {
    fs::permissions(indexed.cache.path(), fs::perms::all);
    CHECK(index_folder().string().starts_with(temporary.path().string()));
    CHECK(indexed.view() == expected);
  }
  SUBCASE("it is not on a local file system: the temporary directory has it") {
    const Variable cache("XTUNE_CACHE_DIR", "/proc/xtune");  // as little local as NFS is, for is_local
    CHECK_FALSE(is_local("/proc/xtune"));
    CHECK(is_local(temporary.path() / "not" / "there"));
    CHECK(index_folder().string().starts_with(temporary.path().string()));
    CHECK(indexed.view() == expected);
  }
  CHECK(indexed.file().empty());
}

TEST_CASE("processes that index at once, some of them killed, leave an index that is right") {
  const IndexedStore indexed;
  const std::vector<std::string> expected = indexed.expected();
  for (int round = 0; round < 6; ++round) {
    if (!indexed.file().empty()) remove_database(indexed.file());
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(indexed.view() == expected ? 0 : 1);
      children.push_back(child);
    }
    // Each round at another moment of its work.
    ::usleep(static_cast<useconds_t>(round) * 4'000);
    ::kill(children[0], SIGKILL);
    ::kill(children[1], SIGKILL);
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK((status == 0 || WIFSIGNALED(status)));
    }
    CHECK(indexed.view() == expected);
  }
}

TEST_CASE("an index that was not opened for a month is removed when another one is made") {
  const IndexedStore indexed;
  const fs::path folder = index_folder();
  for (const auto& [name, days] : {std::pair("old", 31), std::pair("recent", 29)}) {
    write_text(folder / name, "");
    age(folder / name, days);
  }
  indexed.view();
  CHECK_FALSE(fs::exists(folder / "old"));
  CHECK(fs::exists(folder / "recent"));
}

}  // namespace xtune
