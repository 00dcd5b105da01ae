// Recordings from records and files, and their use for another space.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <fstream>

#include "caches.hpp"
#include "core/spec/spec.hpp"
#include "lab/formats.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::lab;
using namespace xtune::search;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;
namespace fs = std::filesystem;

namespace {

Record made_record(std::int64_t x, Outcome outcome, std::vector<double> samples_ms, std::int64_t when = 1) {
  Record result;
  result.kernel = "copy";
  result.key = std::to_string(x);
  result.problem = {{"N", std::int64_t{64}}};
  result.config = {{"X", x}};
  result.outcome = outcome;
  result.samples_ms = std::move(samples_ms);
  if (!result.samples_ms.empty()) result.time_ms = summarize(result.samples_ms);
  result.device.backend = "cuda";
  result.device.name = "GPU";
  result.device.arch = "sm_90";
  result.unix_time_ms = when;
  result.bench_s = 2;
  return result;
}

std::vector<Recording> recordings(std::vector<Record> records) {
  return recordings_of({std::move(records), {}}, "store", spec::Statistic::median);
}

std::string gzip(const std::string& text) {
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

fs::path write(const TemporaryDirectory& folder, const std::string& name, const std::string& text) {
  fs::create_directories((folder.path() / name).parent_path());
  std::ofstream(folder.path() / name, std::ios::binary) << text;
  return folder.path() / name;
}

}  // namespace

TEST_CASE("records become a recording: the newest full measurement of a configuration counts") {
  const auto all = recordings({made_record(1, Outcome::ok, {1, 3, 2}), made_record(2, Outcome::crashed, {}),
                               made_record(1, Outcome::ok, {9, 9, 9}, 5), made_record(1, Outcome::pruned, {1}, 7)});
  REQUIRE(all.size() == 1);
  CHECK(all[0].kernel == "copy");
  CHECK(all[0].space.size() == 2);
  CHECK(all[0].configs[0].time_ms == 9);
  CHECK(all[0].configs[0].bench_s == 2);
  CHECK(all[0].configs[1].outcome == Outcome::crashed);
}

TEST_CASE("a suspect time says nothing against a clean one, and stays suspect in a recording") {
  Record suspect = made_record(1, Outcome::ok, {1}, 9), alone = made_record(2, Outcome::ok, {2});
  suspect.tainted = alone.tainted = {"the clock was low"};
  const auto all = recordings({made_record(1, Outcome::ok, {5}, 1), suspect, alone});
  REQUIRE(all.size() == 1);
  CHECK(all[0].configs[0].time_ms == 5);
  CHECK(all[0].configs[0].tainted.empty());
  CHECK(all[0].configs[1].tainted == alone.tainted);
}

TEST_CASE("records of another device or problem are other recordings, of other parameters skipped, of a replay none") {
  Record device = made_record(1, Outcome::ok, {1});
  device.device.name = "other GPU";
  Record space = made_record(1, Outcome::ok, {1});
  space.config = {{"Y", std::int64_t{1}}};
  Record replayed = made_record(3, Outcome::ok, {1});
  replayed.device.backend = "replay";
  const auto all = recordings({made_record(1, Outcome::ok, {1}), device, space, replayed});
  REQUIRE(all.size() == 2);
  CHECK(all[0].space.size() == 1);
  CHECK(all[0].warnings.size() == 2);
  CHECK(all[1].name == "copy on other GPU");
  CHECK(error_of([&] { recordings({replayed}); }) == "nothing_valid: store: it holds no records of measurements");
}

TEST_CASE("samples that are not times are damage") {
  const auto all = recordings(
      {made_record(1, Outcome::ok, {1, -1}), made_record(2, Outcome::ok, {}), made_record(3, Outcome::ok, {2})});
  CHECK(all[0].damage.count == 2);
  CHECK(all[0].damage.first == "record of {\"X\":1}: a sample is not a time that a kernel can take");
  CHECK(all[0].valid() == 1);
}

TEST_CASE("a record with a value that is not a number is skipped") {
  Record odd = made_record(2, Outcome::ok, {1});
  odd.config["X"] = std::nan("");
  const auto all = recordings({made_record(1, Outcome::ok, {1}), odd});
  CHECK(all[0].space.size() == 1);
  CHECK(all[0].warnings.size() == 1);
  CHECK(error_of([&] { recordings({odd}); }).starts_with("invalid_argument"));
}

TEST_CASE("a recording is mapped to another space by names and values") {
  const Recording from = read_kernel_tuner(cache, "copy.json");
  const Space to = Space::listed({{"y", {std::string("col"), std::string("row")}, true},
                                  {"z", {std::int64_t{7}}, true},
                                  {"x", {std::int64_t{2}, 1.5, std::int64_t{8}}, true}},
                                 {{0, 0, 0}, {1, 0, 0}, {1, 0, 2}});
  const std::vector<Observation> known = map_observations(from, to);
  REQUIRE(known.size() == 2);  // 2,row and 2,col
  for (const Observation& one : known) {
    CHECK(std::get<std::int64_t>(to.at(one.index)[2]) == 2);
    const bool row = std::get<std::string>(to.at(one.index)[0]) == "row";
    CHECK(one.outcome == (row ? Outcome::ok : Outcome::rejected));
    if (row) CHECK(one.time_ms == 1);
  }
  const Space foreign = Space::listed({{"q", {std::int64_t{1}, std::int64_t{2}}, true}}, {{0}, {1}});
  CHECK(map_observations(from, foreign).empty());
}

TEST_CASE("guides are the other recordings of the same kernel") {
  std::vector<Recording> all;
  for (const char* name : {"a", "b", "c"}) {
    all.push_back(recording_of({1, 2, 3}, name));
    all.back().device.name = name;
  }
  all[1].kernel = "another";
  const Guides guides = guides_for(all, 0);
  REQUIRE(guides.sources.size() == 1);
  CHECK(guides.sources[0].name == "c");
  CHECK(guides.sources[0].observations.size() == 3);
  CHECK(guides.notes.empty());
  const Guides none = guides_for(all, 1);
  CHECK(none.sources.empty());
  REQUIRE(none.notes.size() == 1);
  CHECK(none.notes[0].find("nothing guides the search on b") == 0);
}

TEST_CASE("no recording guides another of the same device and problem") {
  std::vector<Recording> all{recording_of({1, 2, 3}, "a"), recording_of({3, 2, 1}, "a again"),
                             recording_of({1, 2, 4}, "elsewhere"), recording_of({1, 2, 5}, "larger")};
  for (Recording& recording : all) recording.device.name = "NVIDIA A100", recording.device.arch = "sm_80";
  all[1].device.arch = "unknown";
  all[1].device.backend = "cuda";
  all[2].device.arch = "sm_90";
  all[3].problem["n"] = std::int64_t{2};
  const Guides guides = guides_for(all, 0);
  REQUIRE(guides.sources.size() == 2);
  CHECK(guides.sources[0].name == "elsewhere");
  CHECK(guides.sources[1].name == "larger");
  REQUIRE(guides.notes.size() == 1);
  CHECK(guides.notes[0] == "a again does not guide the search on a: it is of the same device and problem");
}

TEST_CASE("recordings of devices without a name are distinguished by their measurements") {
  std::vector<Recording> all{recording_of({1, 2, 3}, "a"), recording_of({1, 2, 3}, "copy"),
                             recording_of({2, 2, 3}, "b"), recording_of({1, 2, 0}, "c")};
  for (Recording& recording : all) recording.device.name = recording.device.arch = "unknown";
  const Guides guides = guides_for(all, 0);
  REQUIRE(guides.sources.size() == 2);
  CHECK(guides.sources[0].name == "b");
  CHECK(guides.sources[1].name == "c");
}

TEST_CASE("an import reads back as the same recording") {
  const TemporaryDirectory folder;
  const Recording original = read_kernel_tuner(cache, "copy.json");
  const ImportedTexts texts = import_texts(original, "copy", "copy.json.gz");
  write(folder, "copy.configs.csv", texts.configs);
  const fs::path records = write(folder, "copy.jsonl", texts.records);
  const Spec spec = parse_spec(texts.spec, "copy.toml", folder.path());
  CHECK(spec.kernel.name == "copy");
  CHECK(spec.replays());
  CHECK(spec.kernel.recording == records);
  CHECK(spec.cases.front() == original.problem);
  CHECK(spec.measure.statistic == spec::Statistic::mean);
  const Space space = make_space(spec, spec.cases.front(), {});
  REQUIRE(space.size() == original.space.size());
  for (std::uint64_t index = 0; index < space.size(); ++index) CHECK(space.at(index) == original.space.at(index));

  const Recording again = read_recordings(records, {spec::Statistic::mean}).at(0);
  CHECK(again.name == "copy");
  CHECK(again.source == "Kernel Tuner");
  CHECK(again.problem == original.problem);
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const RecordedConfig& expected = original.configs[index];
    const RecordedConfig& found = again.configs[*again.space.index_of(space.at(index))];
    CHECK(found.outcome == expected.outcome);
    CHECK(found.message == expected.message);
    CHECK(found.samples_ms == expected.samples_ms);
    CHECK(found.time_ms == expected.time_ms);
    CHECK(found.compile_s == expected.compile_s);
    CHECK(found.bench_s == expected.bench_s);
    CHECK(found.unix_time_ms == expected.unix_time_ms);
  }
}

TEST_CASE("names that no spec can have") {
  Recording recording = recording_of({1, 2});
  recording.kernel = "Xgemm<float, 4>";
  CHECK(kernel_name_of(recording, "stem") == "Xgemm_float__4_");
  recording.kernel = "";
  CHECK(kernel_name_of(recording, ".stem") == "_.stem");
  recording.space = Space::listed({{"block size", {std::int64_t{1}, std::int64_t{2}}, true}}, {{0}, {1}});
  CHECK(error_of([&] { import_texts(recording, "s", "s.json"); }).find("'block size'") != std::string::npos);
}

TEST_CASE("a device's name of two lines does not end the comment that it stands in") {
  Recording recording = recording_of({1, 2});
  recording.device.name = "two\nlines = [";
  const std::string spec = import_texts(recording, "s", "s\n.json").spec;
  CHECK(spec.substr(0, spec.find('\n')).find("two lines = [, imported from s .json") != std::string::npos);
}

TEST_CASE("files: plain, gzip by content, several members, truncated, damaged, too large") {
  const TemporaryDirectory folder;
  const std::string packed = gzip(cache);
  CHECK(read_recordings(write(folder, "a.json", cache)).at(0).space.size() == 5);
  CHECK(read_recordings(write(folder, "b.json.gz", packed)).at(0).name == "b");
  CHECK(read_recordings(write(folder, "no-ending", packed)).at(0).space.size() == 5);
  CHECK(read_file_gunzipped(write(folder, "two.gz", gzip("one ") + gzip("two"))) == "one two");
  for (std::size_t size = 2; size < packed.size(); size += 7) {
    const fs::path cut = write(folder, "cut.json.gz", packed.substr(0, size));
    CHECK(error_of([&] { read_recordings(cut); }).find("truncated") != std::string::npos);
  }
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  CHECK(error_of([&] { read_recordings(write(folder, "d.gz", damaged)); }).starts_with("io: "));
  const fs::path bomb = write(folder, "bomb.gz", gzip(std::string(10'000'000, ' ')));
  CHECK(error_of([&] { read_file_gunzipped(bomb, 1'000'000); }).find("once decompressed") != std::string::npos);
  CHECK(error_of([&] { read_recordings(folder.path() / "absent.json"); }).starts_with("io: "));
}

TEST_CASE("a store's directory gives every recording in it") {
  const TemporaryDirectory folder;
  const ImportedTexts texts = import_texts(recording_of({1, 2, 3}), "line", "line.json");
  write(folder, "records/sm_90/line/a.jsonl", texts.records);
  CHECK(read_recordings(folder.path()).at(0).space.size() == 3);
  CHECK(read_recordings(folder.path() / "records" / "sm_90").at(0).space.size() == 3);
  const TemporaryDirectory empty;
  CHECK(error_of([&] { read_recordings(empty.path()); }).starts_with("nothing_valid: "));
}
