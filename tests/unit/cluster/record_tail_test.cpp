// Tests of reading what others append: whole lines, once, of the attempts that are asked for.
#include <doctest/doctest.h>

#include <fstream>

#include "cluster/shared_study.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::cluster;
using namespace xtune::store;

namespace {

using namespace xtune;

Record made_record(const std::string& key) {
  Record made;
  made.kernel = "k";
  made.key = key;
  made.outcome = Outcome::rejected;
  made.device.arch = "sm_90";
  return made;
}

std::vector<std::string> keys(const std::vector<Record>& records) {
  std::vector<std::string> found;
  for (const Record& each : records) found.push_back(each.key);
  return found;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("Each whole line is read once, however it came to the file") {
  const TemporaryDirectory folder;
  RecordTail tail(folder.path(), "sm_90", "k");
  CHECK(tail.read({"one"}).empty());
  RecordWriter writer(folder.path(), "sm_90", "k", "one");
  writer.append(made_record("a"));
  writer.append(made_record("b"));
  CHECK(keys(tail.read({"one"})) == Keys{"a", "b"});
  CHECK(tail.read({"one"}).empty());
  // The next line comes in two parts.
  const std::string whole = read_file(writer.path());
  const std::string line = whole.substr(whole.rfind('\n', whole.size() - 2) + 1);
  std::ofstream(writer.path(), std::ios::app) << line.substr(0, 20);
  CHECK(tail.read({"one"}).empty());
  std::ofstream(writer.path(), std::ios::app) << line.substr(20) << "damaged\n" << line;
  CHECK(keys(tail.read({"one"})) == Keys{"b", "b"});
  CHECK(tail.lines() == std::map<std::string, std::uint64_t>{{"one", 5}});  // the damaged one too
}

TEST_CASE("Other attempts' files are not read, nor those of a newer version") {
  const TemporaryDirectory folder;
  RecordWriter one(folder.path(), "sm_90", "k", "0one"), two(folder.path(), "sm_90", "k", "two");
  one.append(made_record("a"));
  two.append(made_record("b"));
  RecordTail tail(folder.path(), "sm_90", "k");
  CHECK(keys(tail.read({"two", "three"})) == Keys{"b"});
  CHECK(tail.read({"one"}).empty());
  CHECK(keys(tail.read({"0one"})) == Keys{"a"});
  std::ofstream(two.path(), std::ios::app) << "{\"xtune_records\": 999}\n" << read_file(one.path());
  CHECK(tail.read({"two"}).empty());
  CHECK(tail.read({"two"}).empty());
}
