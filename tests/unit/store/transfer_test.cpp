// Push and pull: nothing is replaced, logs grow, damage stays out, and what fails is named.
#include "core/store/transfer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/store/layout.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;
using store::Via;

/// Two stores and the place between them.
struct Places {
  system::TemporaryDirectory folder;
  fs::path here = folder.path() / "here", there = folder.path() / "there", other = folder.path() / "other";
  Via via = Via::rsync;

  store::TransferReport push(const fs::path& from, bool dry_run = false) const {
    return store::push_store(from, *store::open_remote(there.string(), via), dry_run);
  }
  store::TransferReport pull(const fs::path& into, bool dry_run = false) const {
    return store::pull_store(into, there.string(), *store::open_remote(there.string(), via), dry_run);
  }
  store::Record record(const std::string& artifact, double time_ms = 1) const {
    return sound_record(put_artifact(here, artifact).key, time_ms);
  }
};

void append(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

/// The lines of one record, as a writer writes them.
std::string line_of(const store::Record& record) {
  const system::TemporaryDirectory scratch;
  const std::string text = system::read_file(write_records(scratch.path(), {record}));
  return text.substr(text.find('\n') + 1);
}

bool is_installed(const std::string& program) {
  if (!system::find_program(program).empty()) return true;
  MESSAGE("skipped: " << program << " is not installed [apt: " << program << "]");
  return false;
}

}  // namespace

TEST_CASE("what is pushed and pulled is the same store, and nothing is copied twice") {
  if (!is_installed("rsync")) return;
  Places places;
  const fs::path log = write_records(places.here, {places.record("a"), places.record("b", 2)});
  const auto dry = places.push(places.here, true);
  CHECK(dry.files.size() == 7);  // two images, two sources, twice metadata, and records
  CHECK_FALSE(fs::exists(places.there));
  CHECK(places.push(places.here).files == dry.files);
  CHECK(places.push(places.here).files.empty());
  CHECK(places.pull(places.other, true).files.size() == 7);
  CHECK_FALSE(fs::exists(places.other));
  const auto pulled = places.pull(places.other);
  CHECK(pulled.merge.warnings.empty());
  CHECK(pulled.merge.records == 2);
  CHECK(pulled.merge.artifacts == 2);
  CHECK(texts_in(places.other) == texts_in(places.here));
  CHECK(places.pull(places.other).files.empty());
}

TEST_CASE("a log that has grown is continued in a file of its own, and a torn line stays behind") {
  if (!is_installed("rsync")) return;
  Places places;
  const fs::path log = write_records(places.here, {places.record("a")});
  places.push(places.here);
  places.pull(places.other);
  const std::string first = system::read_file(log), more = line_of(places.record("b", 2));
  append(log, more + more.substr(0, 20));
  CHECK(places.push(places.here).record_files == 1);
  CHECK(places.push(places.here).files.empty());
  CHECK(system::read_file(places.there / log.lexically_relative(places.here)) == first);
  CHECK(lines_in(places.there).size() == 2);
  CHECK(places.pull(places.other).merge.records == 1);
  CHECK(places.pull(places.other).files.empty());
  CHECK(lines_in(places.other) == lines_in(places.there));
  // The rest of the line, and one more: the second part begins where the first one ended.
  append(log, more.substr(20) + line_of(places.record("c", 3)));
  places.push(places.here);
  CHECK(places.pull(places.other).merge.warnings.empty());
  CHECK(lines_in(places.other) == lines_in(places.here));
  // What came from there, in parts, is nothing new there or at its origin.
  CHECK(places.push(places.other).files.empty());
  CHECK(places.pull(places.here).files.empty());
}

TEST_CASE("a log that grew at the source of a pull is continued here, and a shorter copy is never sent back") {
  if (!is_installed("rsync")) return;
  Places places;
  const fs::path log = write_records(places.here, {places.record("a")});
  places.push(places.here);
  places.pull(places.other);
  const fs::path there = places.there / log.lexically_relative(places.here);
  append(there, line_of(places.record("b", 2)));
  CHECK(places.push(places.other).files.empty());
  CHECK(places.pull(places.other).merge.records == 1);
  CHECK(lines_in(places.other) == lines_in(places.there));
  CHECK(places.pull(places.other).files.empty());
}

TEST_CASE("files at the destination are neither replaced nor removed") {
  if (!is_installed("rsync")) return;
  Places places;
  const auto artifact = put_artifact(places.here, "a");
  write_records(places.here, {sound_record(artifact.key)});
  places.push(places.here);
  const fs::path image = places.there / fs::path("artifacts") / artifact.key.substr(0, 2) / (artifact.key + ".cubin");
  write_text(image, "theirs");
  write_text(places.there / "records/sm_80/other/theirs-1-a.jsonl", "theirs\n");
  put_artifact(places.here, "b");
  CHECK(places.push(places.here).files.size() == 3);
  CHECK(system::read_file(image) == "theirs");
  CHECK(fs::exists(places.there / "records/sm_80/other/theirs-1-a.jsonl"));
}

TEST_CASE("a pull adds nothing damaged, and takes what is sound of a damaged file") {
  if (!is_installed("rsync")) return;
  Places places;
  const fs::path log = write_records(places.here, {places.record("a"), places.record("b", 2)});
  places.push(places.here);
  const fs::path there = places.there / log.lexically_relative(places.here);
  std::string text = system::read_file(there);
  text[text.find("\"outcome\"") + 12] ^= 1;
  text.insert(text.find('\n') + 1, "rubbish\n");
  write_text(there, text);
  for (const auto& entry : fs::recursive_directory_iterator(places.there / "artifacts"))
    if (entry.path().extension() == ".cubin") write_text(entry.path(), "another image");
  const auto pulled = places.pull(places.other);
  CHECK(pulled.merge.records == 1);
  CHECK(pulled.merge.artifacts == 0);
  REQUIRE(pulled.merge.warnings.size() == 4);  // two lines, two artifacts
  CHECK(pulled.merge.warnings[0].starts_with(there.string() + ":2: skipped: "));
  CHECK(pulled.merge.warnings[1].starts_with(there.string() + ":3: skipped: "));
  for (const std::string& warning : pulled.merge.warnings) CHECK(warning.find("transfers") == std::string::npos);
  CHECK(store::layout_of(places.other).artifacts.empty());
  CHECK(fs::is_empty(places.other / "transfers"));
}

TEST_CASE("a pull notes a last line that is not finished, until it is") {
  if (!is_installed("rsync")) return;
  Places places;
  const fs::path log = write_records(places.here, {places.record("a")});
  places.push(places.here);
  const fs::path there = places.there / log.lexically_relative(places.here);
  const std::string more = line_of(places.record("b", 2));
  append(there, more.substr(0, 20));
  for (const std::uint64_t added : {1, 0}) {
    const auto pulled = places.pull(places.other);
    CHECK(pulled.merge.records == added);
    CHECK(pulled.merge.warnings.empty());
    REQUIRE(pulled.merge.notes.size() == 1);
    CHECK(pulled.merge.notes[0].starts_with(there.string() + ": its last line (3) is not finished: "));
  }
  append(there, more.substr(20));
  const auto pulled = places.pull(places.other);
  CHECK(pulled.merge.records == 1);
  CHECK(pulled.merge.notes.empty());
  CHECK(lines_in(places.other) == lines_in(places.there));
}

TEST_CASE("a pull names the links and the files of others that it leaves out") {
  for (const Via via : {Via::rsync, Via::rclone}) {
    if (!is_installed(via == Via::rsync ? "rsync" : "rclone")) continue;
    Places places;
    places.via = via;
    const fs::path log = write_records(places.here, {places.record("a")});
    places.push(places.here);
    const std::string kernel = (places.there / log.lexically_relative(places.here)).parent_path();
    fs::create_symlink(log, kernel + "/linked.jsonl");
    fs::create_directory_symlink("sm_80", places.there / "records/sm_81");
    write_text(kernel + "/a copy.jsonl", "theirs");
    write_text(kernel + "/old.jsonl.damaged", "theirs");
    write_text(kernel + "/.old.tmp", "theirs");
    write_text(places.there / "records/x records/k/c.jsonl", "theirs");
    write_text(places.there / "artifacts/ab/notes.txt", "theirs");
    auto left_out = places.pull(places.other).warnings;
    std::sort(left_out.begin(), left_out.end());
    const std::string others = ": xtune creates no file of this name", link = ": it is a link, which is not followed";
    const std::string place = "skipped: " + places.there.string();
    std::vector<std::string> expected{"skipped: " + kernel + "/a copy.jsonl" + others,
                                      "skipped: " + kernel + "/linked.jsonl" + link,
                                      place + "/artifacts/ab/notes.txt" + others, place + "/records/sm_81" + link,
                                      place + "/records/x records/k/c.jsonl" + others};
    std::sort(expected.begin(), expected.end());
    CHECK(left_out == expected);
    CHECK(lines_in(places.other) == lines_in(places.here));
    CHECK(places.pull(places.other, true).files.empty());
  }
}

TEST_CASE("a push names the files of others that it leaves out, and does not miss them at the destination") {
  if (!is_installed("rsync")) return;
  Places places;
  const fs::path log = write_records(places.here, {places.record("a")});
  const fs::path copy = log.parent_path() / "a copy.jsonl";
  fs::copy_file(log, copy);
  for (int i = 0; i < 2; ++i) {
    const auto pushed = places.push(places.here);
    CHECK(pushed.warnings == std::vector{"skipped: " + copy.string() + ": xtune creates no file of this name"});
    CHECK(pushed.files.empty() == (i > 0));
  }
}

TEST_CASE("an interrupted pull is continued") {
  if (!is_installed("rsync")) return;
  Places places;
  write_records(places.here, {places.record("a")});
  places.push(places.here);
  // As if the process had been killed after fetching.
  const fs::path fetched = places.other / "transfers" / base::sha256(places.there.string()).substr(0, 16);
  fs::create_directories(fetched);
  fs::copy(places.there, fetched, fs::copy_options::recursive);
  CHECK(places.pull(places.other).merge.records == 1);
  CHECK(fs::is_empty(places.other / "transfers"));
  CHECK(texts_in(places.other) == texts_in(places.here));
}

TEST_CASE("hosts are reached by ssh, and its errors are shown") {
  if (!is_installed("rsync")) return;
  Places places;
  write_records(places.here, {places.record("a")});
  const fs::path ssh = places.folder.path() / "ssh";
  write_text(ssh,
             "#!/bin/sh\n[ \"$1\" = login ] || { echo \"no route to $1\" >&2; exit 255; }\nshift\nexec sh -c \"$*\"\n");
  fs::permissions(ssh, fs::perms::owner_all);
  const Variable shell("RSYNC_RSH", ssh.string());
  const std::string place = "login:" + places.there.string();
  CHECK(store::push_store(places.here, *store::open_remote(place, Via::automatic), false).files.size() == 4);
  CHECK(store::pull_store(places.other, place, *store::open_remote(place, Via::automatic), false).merge.records == 1);
  CHECK_THROWS_WITH_AS(store::push_store(places.here, *store::open_remote("moon:/x", Via::automatic), false),
                       doctest::Contains("no route to moon"), Error);
}

TEST_CASE("rsync keeps the other machine's shell from expanding the path") {
  const std::string rsync = system::find_program("rsync");
  if (!is_installed("rsync")) return;
  Places places;
  places.record("a");
  const fs::path programs = places.folder.path() / "programs", calls = places.folder.path() / "calls";
  fs::create_directories(programs);
  write_text(programs / "rsync", "#!/bin/sh\necho \"$*\" >> '" + calls.string() + "'\nexec '" + rsync + "' \"$@\"\n");
  fs::permissions(programs / "rsync", fs::perms::owner_all);
  const Variable path("PATH", programs.string() + ":" + std::getenv("PATH"));
  places.push(places.here);
  std::istringstream lines(system::read_file(calls));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(line.starts_with("--protect-args "));
  CHECK(count >= 2);
}

TEST_CASE("rclone copies as rsync does") {
  if (!is_installed("rclone")) return;
  Places places;
  places.via = Via::rclone;
  const fs::path log = write_records(places.here, {places.record("a"), places.record("b", 2)});
  CHECK(places.push(places.here).files.size() == 7);
  CHECK(places.push(places.here).files.empty());
  append(log, line_of(places.record("c", 3)));
  CHECK(places.push(places.here).record_files == 1);
  const auto pulled = places.pull(places.other);
  CHECK(pulled.merge.warnings.empty());
  CHECK(pulled.merge.records == 3);
  CHECK(lines_in(places.other) == lines_in(places.here));
  CHECK(places.pull(places.other).files.empty());
}

TEST_CASE("a missing program, place or store is an error that names it") {
  Places places;
  CHECK_THROWS_WITH_AS(store::open_remote("-e sh", Via::rsync), doctest::Contains("is not a place"), Error);
  {
    const Variable path("PATH", places.folder.path().string());
    CHECK_THROWS_WITH_AS(store::open_remote("a:b", Via::rsync), doctest::Contains("rsync is not installed"), Error);
    CHECK_THROWS_WITH_AS(store::open_remote("a:b", Via::rclone), doctest::Contains("rclone is not installed"), Error);
  }
  if (!is_installed("rsync")) return;
  CHECK_THROWS_WITH_AS(places.pull(places.other), doctest::Contains("does not exist"), Error);
  fs::create_directories(places.there);
  CHECK_THROWS_WITH_AS(places.pull(places.other), doctest::Contains("has no files of a store"), Error);
  CHECK_THROWS_AS(places.push(places.here), Error);
}

}  // namespace xtune
