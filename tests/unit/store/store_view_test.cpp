// A StoreView gives the same answers as look_up and ranked for any records, and reads the same as read_records.
#include "core/store/store_view.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <thread>

#include "core/space/value.hpp"
#include "core/store/bundle.hpp"
#include "core/store/record_check.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::store;
using namespace xtune::resolve;
using namespace xtune::space;

using namespace xtune;

namespace {

std::string json_of(const Record& record) { return to_json(record).dump(); }

std::string bucket_of(const Bindings& problem) {
  const auto* m = std::get_if<std::int64_t>(&problem.at("M"));
  return !m || *m > 5000 ? "" : std::to_string(static_cast<int>(std::ceil(std::log2(static_cast<double>(*m)))));
}

std::vector<Bindings> asked_problems() {
  std::vector<Bindings> problems;
  for (const std::int64_t m : {1000, 1024, 1500, 3000, 4096, 5000, 100000})
    for (const std::int64_t n : {64, 96, 128}) problems.push_back({{"M", m}, {"N", n}});
  problems.push_back({{"M", std::int64_t{1024}}});
  problems.push_back({{"M", 1024.0}, {"N", 64.0}});
  problems.push_back({{"M", std::int64_t{0}}, {"N", std::int64_t{64}}});
  problems.push_back({{"M", std::string("many")}, {"N", std::int64_t{64}}});
  return problems;
}

void check_same(const LookupResult& found, const LookupResult& expected) {
  REQUIRE(found.match == expected.match);
  if (!expected.record) return;
  REQUIRE(found.record);
  CHECK(json_of(*found.record) == json_of(*expected.record));
  CHECK(found.distance == expected.distance);
}

}  // namespace

TEST_CASE("it finds what look_up finds, on random records, with and without buckets") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const TemporaryDirectory store;
    const std::vector<Record> written = random_records(seed, 10 + seed * 5);
    const auto middle = written.begin() + static_cast<std::ptrdiff_t>(written.size() / 3);
    write_records(store.path(), {written.begin(), middle}, "a1");
    write_records(store.path(), {middle, written.end()}, "a2");
    const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
    const measure::Statistic statistic = seed % 2 ? measure::Statistic::median : measure::Statistic::min;
    for (const bool buckets : {false, true}) {
      RowOptions options{statistic};
      LookupRules rules;
      if (buckets) rules.bucket = bucket_of;
      const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
      CHECK(view.records() == records.size());
      CHECK(view.warnings().empty());
      for (const Bindings& problem : asked_problems())
        for (const char* backend : {"cuda", "hip", "host"}) {
          DeviceInfo device = example_device();
          device.backend = backend;
          check_same(find(view, problem, device, rules), look_up(records, problem, device, statistic, rules));
        }
    }
  }
}

TEST_CASE("it ranks as ranked does") {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const TemporaryDirectory store;
    write_records(store.path(), random_records(seed, 200));
    const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
    REQUIRE_FALSE(view.groups().empty());
    for (const StoreView::Group& group : view.groups()) {
      const StoredConfig& first = *view.order(group).front();
      std::vector<const Record*> same;
      for (const Record& record : records)
        if (record.problem == first.problem() && same_device(record.device, first.device()) && !is_sanitized(record))
          same.push_back(&record);
      std::vector<std::string> expected, actual;
      for (const Record* record : ranked(same)) expected.push_back(json_of(*record));
      for (const StoredConfig* config : view.order(group)) {
        const Record record = read_record(*config);
        actual.push_back(json_of(record));
        CHECK(config_text(*config) == bindings_text(record.config));
        CHECK(config->key == KeyDigest(record.key));
        CHECK(config->artifact_key == KeyDigest(record.artifact_key));
      }
      CHECK(actual == expected);
    }
  }
}

TEST_CASE("rules turn away and prefer as they do in look_up") {
  for (std::uint64_t seed = 200; seed < 230; ++seed) {
    CAPTURE(seed);
    const TemporaryDirectory store;
    write_records(store.path(), random_records(seed, 150));
    const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
    LookupRules rules;
    rules.obstacle = [](const Record& record) {
      return std::get<std::int64_t>(record.config.at("BLOCK")) > 32 ? "" : "forbidden";
    };
    rules.differences = [](const Record& record) {
      return record.artifact_key.front() > 'c' ? std::vector<std::string>()
                                               : std::vector<std::string>{"artifact: a -> b"};
    };
    std::vector<Record> without_finals = records;
    std::erase_if(without_finals, [](const Record& record) { return !record.finals.empty(); });
    const TemporaryDirectory plain;
    write_records(plain.path(), without_finals);
    const StoreView plain_view = StoreView::load(plain.path(), "sm_90", "gemm");
    for (const Bindings& problem : asked_problems()) {
      const LookupResult lookup = look_up(without_finals, problem, example_device(), measure::Statistic::median, rules);
      const LookupResult found = find(plain_view, problem, example_device(), rules);
      check_same(found, lookup);
      CHECK(found.differences == lookup.differences);
      // Which finals are left to judge is another question where the first may answer and one behind it may not.
      const LookupResult settled = find(view, problem, example_device(), rules);
      if (settled.record) CHECK(rules.obstacle(*settled.record).empty());
      CHECK((settled.match == Match::none) ==
            (look_up(records, problem, example_device(), measure::Statistic::median, rules).match == Match::none));
    }
  }
}

TEST_CASE("the newest record of a key counts, and one of another driver is stale") {
  const auto record_with = [](std::int64_t block, double time_ms, std::int64_t unix_time_ms,
                              const std::string& driver) {
    Record record = example_record(block, time_ms);
    record.device.driver = driver;
    record.unix_time_ms = unix_time_ms;
    record.key_parts = {{"artifact", std::to_string(block)},
                        {"device", device_part(record.device)},
                        {"driver", driver},
                        {"sanitize", "false"}};
    record.key = key_of(record.key_parts);
    return record;
  };
  const TemporaryDirectory store;
  // BLOCK=1 was fast once and is not any more; BLOCK=2 was faster with the driver before.
  write_records(store.path(), {record_with(1, 1, 1000, "13"), record_with(1, 8, 2000, "13"),
                               record_with(2, 2, 1000, "12"), record_with(3, 9, 2000, "13")});
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.warnings().empty());
  REQUIRE(view.groups().size() == 1);
  CHECK(view.order(view.groups().front()).size() == 3);
  DeviceInfo device = example_device();
  std::set<std::string> read;
  LookupRules rules;
  rules.differences = [&](const Record& record) {
    read.insert(bindings_text(record.config));
    return record.device.driver == device.driver ? std::vector<std::string>()
                                                 : std::vector<std::string>{"driver: then -> now"};
  };
  rules.fit_at_best = [&](const DeviceInfo& measured) {
    return measured.driver == device.driver ? KeyFit::holds : KeyFit::stale;
  };
  device.driver = "13";
  const Bindings problem = example_record(1, 1).problem;
  LookupResult found = find(view, problem, device, rules);
  CHECK(bindings_text(found.record->config) == "BLOCK=1");
  CHECK(found.record->time_ms.median == doctest::Approx(8));
  CHECK(found.differences.empty());
  device.driver = "14";
  read.clear();
  found = find(view, problem, device, rules);
  CHECK(bindings_text(found.record->config) == "BLOCK=2");
  CHECK(found.stale);
  CHECK(read.size() == 1);
  CHECK(summary_of(found, problem, device, {}, 0).find("stale: driver 12 when it was measured, driver 14 now") !=
        std::string::npos);
  std::vector<std::string> warnings;
  const std::vector<Winner> winners = winners_of(store.path(), {}, warnings);
  REQUIRE(winners.size() == 1);
  CHECK(winners.front().record.config.at("BLOCK") == Value(std::int64_t{1}));
}

TEST_CASE(
    "a wrong result in finals counts against the measurement before, and a machine's shortage counts as not there") {
  const TemporaryDirectory store;
  Record fast = example_record(1, 1), wrong = fast, starved = example_record(2, 2);
  wrong.outcome = Outcome::wrong_result, wrong.finals = "f", wrong.unix_time_ms += 1000;
  wrong.samples_ms.clear(), wrong.time_ms = {};
  starved.outcome = Outcome::compile_failed, starved.stage = "compile", starved.unix_time_ms += 1000;
  starved.message = "x.cu:1: cannot write \"x.o\": No space left on device\n";
  starved.samples_ms.clear(), starved.time_ms = {};
  write_records(store.path(), {fast, example_record(2, 2), example_record(3, 3), wrong, starved});
  const std::vector<Record> whole = read_records(store.path(), "sm_90", "gemm").records;
  REQUIRE(whole.size() == 4);
  RowOptions options;
  options.all = true;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
  CHECK(view.records() == 4);
  const LookupResult found = find(view, fast.problem, example_device());
  REQUIRE(found.record);
  CHECK(bindings_text(found.record->config) == "BLOCK=2");
  const LookupResult expected = look_up(whole, fast.problem, example_device()),
                     answer = view.look_up(fast.problem, example_device(), {});
  CHECK(answer.reasons == expected.reasons);
  CHECK(answer.record->config == expected.record->config);
  CHECK(answer.record->config.at("BLOCK") == Value(std::int64_t{2}));
}

TEST_CASE("damage is reported as by read_records, and the rest is read") {
  const TemporaryDirectory store;
  const std::filesystem::path path = write_records(store.path(), random_records(7, 20));
  const std::filesystem::path folder = path.parent_path();
  std::string text = read_file(path);
  text.insert(text.find('\n', 2000) + 1, "{\"schema\":1,\"kernel\":\"gemm\"\n[]\n\xff\x01\n{\"schema\":9}\n");
  write_text(folder / "b.jsonl", text + "{\"schema\":1,\"ker");
  write_text(folder / "c.jsonl", text.substr(text.find('\n') + 1));
  write_text(folder / "d.jsonl", "{\"xtune_records\":2}\n" + text);
  write_text(folder / "e.jsonl", text + "{\"xtune_records\":7}\n" + text);
  write_text(folder / "empty.jsonl", "");
  write_text(folder / "torn.jsonl", "{\"xtune_rec");
  std::filesystem::create_directories(folder / "folder.jsonl");
  const RecordSet expected = read_records(store.path(), "sm_90", "gemm");
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.records() == expected.records.size());
  CHECK(view.warnings() == expected.warnings);
  CHECK(expected.warnings.size() > 10);
}

TEST_CASE("values that only look like JSON are damage, even if only finals read them") {
  const TemporaryDirectory store;
  Record record = example_record(64, 1);
  record.finals = "f";
  record.usage.registers = 7;
  const std::filesystem::path path = write_records(store.path(), {record});
  const std::string text = read_file(path);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"samples_ms\":[", "\"samples_ms\":[x,"},
                                                        {"\"registers\":7", "\"registers\":x"},
                                                        {"\"BLOCK\":64", "\"BLOCK\":064"},
                                                        {"\"BLOCK\":64", "\"BLOCK\":6."},
                                                        {"\"BLOCK\":64", "\"BLOCK\":null"},
                                                        {"\"arch\":\"sm_90\",\"backend\"", "\"arch\":7,\"backend\""},
                                                        {"\"M\":64", "\"M\":9999999999999999999"}}) {
    CAPTURE(to);
    std::string damaged = text;
    REQUIRE(damaged.find(from) != std::string::npos);
    write_text(path, damaged.replace(damaged.rfind(from), from.size(), to));
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
    CHECK(view.records() == 0);
    CHECK(view.groups().empty());
    CHECK(view.warnings() == read_records(store.path(), "sm_90", "gemm").warnings);
  }
}

TEST_CASE("a record that nothing could ever be newer than is damage") {
  Record endless = example_record(64, 1.0);
  endless.unix_time_ms = std::numeric_limits<std::int64_t>::max();
  const TemporaryDirectory store;
  write_records(store.path(), {endless, example_record(128, 2.0)});
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.warnings().size() == 1);
  const LookupResult found = find(view, endless.problem, endless.device);
  REQUIRE(found.record);
  CHECK(found.record->config.at("BLOCK") == Value(std::int64_t{128}));
}

TEST_CASE("large files are cut into pieces at line ends, and no line is lost or read twice") {
  const TemporaryDirectory store;
  std::vector<Record> records = random_records(9, 30);
  for (Record& record : records) record.outcome = Outcome::ok, record.drift = false, record.key_parts.clear();
  const std::filesystem::path path = write_records(store.path(), records);
  std::string text = read_file(path);
  const std::string lines = text.substr(text.find('\n') + 1);
  Record last = records.front();
  last.message = std::string(3u << 20, 'x');  // longer than a read
  for (std::size_t size = text.size(); size < (13u << 20); size += lines.size()) text += lines;
  text += to_json(last).dump() + "\n";
  write_text(path, text);
  const std::uint64_t count = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) - 1;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.records() == count);
  CHECK(view.warnings().empty());
  for (const StoreView::Group& group : view.groups()) CHECK_NOTHROW(read_record(*view.order(group).front()));
}

TEST_CASE("look_up answers for the same reasons as it does of whole records, with and without rules") {
  for (std::uint64_t seed = 300; seed < 330; ++seed) {
    CAPTURE(seed);
    const TemporaryDirectory store;
    write_records(store.path(), random_records(seed, 120));
    const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
    RowOptions options{seed % 3 == 0   ? measure::Statistic::median
                       : seed % 3 == 1 ? measure::Statistic::mean
                                       : measure::Statistic::inlier_mean};
    options.all = true;
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
    LookupRules rules;
    if (seed % 3) rules.bucket = bucket_of;
    if (seed % 5)
      rules.obstacle = [](const Record& record) {
        return std::get<std::int64_t>(record.config.at("BLOCK")) > 32 ? "" : "that are too small";
      };
    if (seed % 7)
      rules.differences = [](const Record& record) {
        return record.artifact_key.front() > 'c' ? std::vector<std::string>() : std::vector<std::string>{"launch: a"};
      };
    DeviceInfo other = example_device();
    other.backend = "hip";
    for (const Bindings& problem : asked_problems())
      for (const DeviceInfo& device : {example_device(), other}) {
        const LookupResult expected = look_up(records, problem, device, options.statistic, rules),
                           found = view.look_up(problem, device, rules);
        REQUIRE(found.match == expected.match);
        CHECK(found.reasons == expected.reasons);
        CHECK(found.differences == expected.differences);
        CHECK(found.distance == expected.distance);
        REQUIRE(found.record.has_value() == expected.record.has_value());
        if (found.record) CHECK(json_of(*found.record) == json_of(*expected.record));
        std::vector<const Record*> own;
        for (const Record& record : records)
          if (record.problem == problem && same_device(record.device, device) && !is_sanitized(record) &&
              (!rules.obstacle || rules.obstacle(record).empty()))
            own.push_back(&record);
        std::vector<std::string> expected_order, order;
        for (const Record* record : ranked(own, options.statistic)) expected_order.push_back(json_of(*record));
        for (const StoredConfig* config :
             rank_configs(view.members(problem, device, rules.obstacle), options.statistic))
          order.push_back(json_of(read_record(*config)));
        CHECK(order == expected_order);
      }
  }
}

TEST_CASE("rows have the same scale as whole records") {
  for (std::uint64_t seed = 400; seed < 420; ++seed) {
    CAPTURE(seed);
    const TemporaryDirectory store;
    write_records(store.path(), random_records(seed, 150));
    RowOptions options;
    options.all = true;
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
    for (const StoreView::Group& group : view.groups()) {
      const HeldRows held = view.read_members(group);
      std::vector<Record> records;
      for (const StoredConfig* row : held.rows) records.push_back(read_record(*row));
      const Standings standings(records);
      const auto factors = scale_factors(held.rows);
      REQUIRE(factors.size() == records.size());
      for (std::size_t i = 0; i < records.size(); ++i)
        CHECK(factors.at(held.rows[i]) == doctest::Approx(standings.factor(records[i])));
    }
  }
}

TEST_CASE("an overview of many rows has the answer, the best, those of finals and others from the whole time") {
  const TemporaryDirectory store;
  std::vector<Record> records;
  for (int i = 0; i < 1000; ++i) {
    Record& record = records.emplace_back(example_record(i, 1 + i * 7919 % 1000));
    record.key_parts.clear();
    record.unix_time_ms += i;
    if (i == 400) record.finals = "f1";
  }
  write_records(store.path(), records);
  RowOptions options;
  options.all = true;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
  const HeldRows held = view.read_members(view.groups().front());
  CHECK(overview_of(held.rows, 1000, {}).size() == 1000);
  const ConfigOrder chosen = overview_of(held.rows, 100, KeyDigest(records[999].key));
  CHECK(chosen.size() <= 100);
  CHECK(chosen.size() > 80);
  const auto has = [&](const StoredConfig* row) {
    return std::find(chosen.begin(), chosen.end(), row) != chosen.end();
  };
  CHECK(has(rank_configs(held.rows, {}).front()));
  std::size_t early = 0;
  for (const StoredConfig* row : held.rows) {
    if (row->key == KeyDigest(records[999].key) || row->is_of_finals()) CHECK(has(row));
    early += has(row) && row->unix_time_ms < records[500].unix_time_ms;
  }
  CHECK(early > 30);
  CHECK(early < 70);
}

TEST_CASE("a record of an earlier key never answers for a configuration that fails under today's") {
  Record earlier = example_record(64, 1.0), today = example_record(64, 1.0), slower = example_record(128, 2.0);
  earlier.artifact_key = "earlier", earlier.unix_time_ms = 1;
  today.outcome = Outcome::wrong_result, today.stage = "validate", today.message = "y[0] is 3, not 2";
  today.samples_ms.clear(), today.time_ms = {}, today.unix_time_ms = 2;
  slower.artifact_key = "earlier";
  earlier.key = "earlier key", today.key = "today's key";
  const TemporaryDirectory store;
  write_records(store.path(), {earlier, today, slower});
  LookupRules rules;
  rules.differences = [](const Record& record) {
    return record.artifact_key == "earlier" ? std::vector<std::string>{"source: a -> b"} : std::vector<std::string>();
  };
  RowOptions options;
  options.all = true;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
  CHECK(bindings_text(find(view, earlier.problem, earlier.device, rules).record->config) ==
        bindings_text(slower.config));
  const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
  for (const LookupResult& found :
       {view.look_up(earlier.problem, earlier.device, rules),
        look_up(records, earlier.problem, earlier.device, measure::Statistic::median, rules)}) {
    REQUIRE(found.record);
    CHECK(found.record->config == slower.config);
    CHECK(fmt::format("{}", fmt::join(found.reasons, "\n")).find("1 record skipped: their configurations failed") !=
          std::string::npos);
  }
}

TEST_CASE("what is wrong for one seed's inputs does not answer because another seed's do not show it") {
  Record wrong = example_record(64, 1.0), right = example_record(64, 1.0), other = example_record(128, 2.0);
  wrong.outcome = Outcome::wrong_result, wrong.stage = "validate", wrong.samples_ms.clear(), wrong.time_ms = {};
  wrong.key = "seed 1", right.key = "seed 2", right.unix_time_ms += 1000;
  LookupRules rules;
  rules.differences = [](const Record&) { return std::vector<std::string>(); };
  RowOptions options;
  options.all = true;
  const auto check = [&](const std::vector<Record>& records, const Record& expected) {
    const TemporaryDirectory store;
    write_records(store.path(), records);
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
    CHECK(bindings_text(find(view, right.problem, right.device, rules).record->config) ==
          bindings_text(expected.config));
    for (const LookupResult& found :
         {view.look_up(right.problem, right.device, rules),
          look_up(records, right.problem, right.device, measure::Statistic::median, rules)}) {
      REQUIRE(found.record);
      CHECK(found.record->config == expected.config);
    }
  };
  check({wrong, right, other}, other);
  wrong.outcome = Outcome::timed_out, wrong.stage = "run";  // a limit that may have been raised since
  check({wrong, right, other}, right);
  wrong.outcome = Outcome::wrong_result;
  Record repaired = right;
  repaired.key = wrong.key;
  check({wrong, right, repaired, other}, right);  // measured again under that key
}

TEST_CASE("with all records, each one is a row, also of what never answers") {
  const TemporaryDirectory store;
  const std::vector<Record> records = random_records(41, 200);
  write_records(store.path(), records);
  RowOptions options;
  options.all = true;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
  std::size_t row = 0, sanitized = 0;
  view.each_row([&](const StoredConfig& config) {
    CHECK(json_of(read_record(config)) == json_of(records.at(row++)));
    sanitized += config.block->sanitized;
  });
  CHECK(row == records.size());
  CHECK(sanitized == static_cast<std::size_t>(std::count_if(records.begin(), records.end(), is_sanitized)));
}

TEST_CASE("a line of absurd size is named, not kept, and the rest is read") {
  const TemporaryDirectory store;
  const std::filesystem::path path = write_records(store.path(), {example_record(64, 1)});
  const std::uint64_t before = std::filesystem::file_size(path);
  // Zeros that take no space on the disk.
  std::filesystem::resize_file(path, before + (std::uint64_t{300} << 20));
  std::ofstream(path, std::ios::app) << "\n" << to_json(example_record(32, 2)).dump() << "\n";
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.records() == 2);
  REQUIRE(view.warnings().size() == 1);
  CHECK(view.warnings()[0] == path.string() + ":3: skipped: the line is longer than 256 MiB");
}

TEST_CASE("places beyond 4 GiB are found") {
  const TemporaryDirectory store;
  const Record first = example_record(64, 1), second = example_record(32, 2);
  const std::filesystem::path path = write_records(store.path(), {first});
  constexpr std::uint64_t place = (std::uint64_t{4} << 30) + 100;
  std::filesystem::resize_file(path, place);  // zeros that take no space on the disk
  std::ofstream(path, std::ios::app) << "\n" << to_json(second).dump() << "\n";
  const RecordSource end{path, place + 1, UINT64_MAX, "end"};
  const StoreView view = StoreView::load({end});
  REQUIRE(view.records() == 1);
  const LookupResult found = find(view, second.problem, example_device());
  REQUIRE(found.record);
  view.each_row([&](const StoredConfig& row) { CHECK(row.offset() == place + 1); });
  CHECK(json_of(*found.record) == json_of(second));
}

TEST_CASE("a part of a file can be a source, as a bundle has it") {
  const TemporaryDirectory store;
  const std::filesystem::path path = write_records(store.path(), random_records(11, 50));
  const std::string text = read_file(path);
  write_text(store.path() / "container", "before\n" + text + "after\n");
  const StoreView whole = StoreView::load(store.path(), "sm_90", "gemm");
  const StoreView part = StoreView::load({{store.path() / "container", 7, text.size(), "container"}});
  CHECK(part.warnings().empty());
  REQUIRE(part.groups().size() == whole.groups().size());
  for (std::size_t i = 0; i < part.groups().size(); ++i)
    CHECK(json_of(read_record(*part.order(part.groups()[i]).front())) ==
          json_of(read_record(*whole.order(whole.groups()[i]).front())));
}

TEST_CASE("a missing store is empty, and a file that changed is said") {
  const TemporaryDirectory store;
  const StoreView none = StoreView::load(store.path() / "nowhere", "sm_90", "gemm");
  CHECK(none.records() == 0);
  CHECK(find(none, {}, example_device()).match == Match::none);
  CHECK(summary_of(find(none, {}, example_device()), {}, example_device(), {}, 0).starts_with("none: "));
  const std::filesystem::path path = write_records(store.path(), {example_record(64, 1)});
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  const LookupResult found = find(view, example_record(64, 1).problem, example_device());
  REQUIRE(found.match == Match::exact);
  CHECK(summary_of(found, example_record(64, 1).problem, example_device(), {}, 0) == "exact: BLOCK=64, 1.00 ms");
  write_text(path, std::string(5000, ' '));
  CHECK_THROWS_AS(find(view, example_record(64, 1).problem, example_device()), Error);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(find(view, example_record(64, 1).problem, example_device()), Error);
}

TEST_CASE("many threads may ask one view") {
  const TemporaryDirectory store;
  write_records(store.path(), random_records(13, 300));
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  const std::vector<Bindings> problems = asked_problems();
  const auto answer = [&](const Bindings& problem) {
    const LookupResult found = find(view, problem, example_device());
    return found.record ? json_of(*found.record) : "";
  };
  std::vector<std::string> expected;
  for (const Bindings& problem : problems) expected.push_back(answer(problem));
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (int& count : wrong)
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round)
          for (std::size_t i = 0; i < problems.size(); ++i) count += answer(problems[i]) != expected[i];
      });
  }
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("a row says of its record what a run asks, whichever way the line was read") {
  const TemporaryDirectory store;
  Record passed = example_record(16, 2), pruned = example_record(32, 3), failed = example_record(64, 1);
  pruned.outcome = Outcome::pruned;
  failed.outcome = Outcome::crashed, failed.time_ms = {}, failed.samples_ms.clear();
  std::vector<Record> written;
  for (const char* word : {"row", "a \"quoted\" word"})  // the second takes the reader of whole records
    for (Record record : {passed, pruned, failed}) {
      record.config["ORDER"] = std::string(word);
      record.message = record.outcome == Outcome::ok        ? ""
                       : record.outcome == Outcome::crashed ? "AddressSanitizer: \"heap\""
                                                            : "lost";
      record.key_parts.clear();
      record.key += word;
      written.push_back(record);
    }
  write_records(store.path(), written);
  StoreView::Options options;
  options.all = true;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm", options);
  std::size_t rows = 0;
  view.each_row([&](const StoredConfig& row) {
    ++rows;
    const Record record = read_record(row);
    CHECK(row.outcome == record.outcome);
    CHECK(row.explained == !record.message.empty());
    CHECK(row.sanitizer_report == (record.outcome == Outcome::crashed));
    if (record.outcome == Outcome::ok) CHECK(row.low_ms == record.time_ms.low);
    if (record.outcome != Outcome::pruned) return;
    CHECK(row.low_ms == record.time_ms.min);
    CHECK(row.samples == record.samples_ms.size());
  });
  CHECK(rows == 6);
  CHECK(KeyDigest(std::string(64, 'a')).hex() == std::string(32, 'a'));
}

TEST_CASE("times are read in whatever order they stand, and a line that breaks off within them is skipped") {
  const TemporaryDirectory store;
  Record record = example_record(16, 2);
  record.key_parts.clear(), record.samples_ms.clear();
  const nlohmann::json json = to_json(record);
  const std::string text = json.dump(), times = json["time_ms"].dump();
  std::string backwards;
  for (const auto& [name, value] : json["time_ms"].items())
    backwards = nlohmann::json(name).dump() + ":" + value.dump() + (backwards.empty() ? "" : ",") + backwards;
  const std::size_t place = text.find(times);
  REQUIRE(place != std::string::npos);
  const auto with_times = [&](const std::string& other) {
    return with_checksum(text.substr(0, place) + other + text.substr(place + times.size()));
  };
  const std::filesystem::path folder = store.path() / "records" / "sm_90" / "gemm";
  std::filesystem::create_directories(folder);
  std::string lines = with_checksum(R"({"xtune_records":1})") + "\n";
  for (const std::string& line : {with_times(times), with_times("{" + backwards + "}"), with_times("{\"count\":7}"),
                                  text.substr(0, place + 30), with_times(times)})
    lines += line + "\n";
  write_text(folder / "a.jsonl", lines);
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  std::vector<double> medians;
  view.each_row([&](const StoredConfig& row) { medians.push_back(row.median_ms); });
  CHECK(medians == std::vector<double>(3, record.time_ms.median));
  CHECK(view.warnings().size() == 2);
}
