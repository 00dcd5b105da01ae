// Comparisons of synthetic records: what is noise, what changed, what is missing.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/store/compare.hpp"
#include "report/text/comparison_text.hpp"
#include "report/text/table.hpp"
#include "unit/record/example_record.hpp"
#include "xtune/error.hpp"

using namespace xtune;
using store::Change;

namespace {

/// BLOCK=block took time_ms, a little more or less; the artifact is that of `version`.
store::Record measured(std::int64_t block, double time_ms, const std::string& version = "v1",
                       std::int64_t unix_time_ms = 1'700'000'000'000) {
  store::Record record = example_record(block, time_ms, time_ms * 0.01);
  record.artifact_key = version + "-" + std::to_string(block);
  record.key = record.artifact_key;
  record.key_parts = {{"artifact", record.artifact_key}, {"problem", "[\"M=64\"]"}};
  record.unix_time_ms = unix_time_ms;
  return record;
}

store::Record failed(std::int64_t block, Outcome outcome, const std::string& message) {
  store::Record record = measured(block, 1);
  record.outcome = outcome;
  record.message = message;
  record.samples_ms.clear();
  record.time_ms = {};
  return record;
}

store::Comparisons compared(const std::vector<store::Record>& before, const std::vector<store::Record>& after,
                            double noise = 0.05) {
  return store::compare_all(store::compared_groups(before, {}), store::compared_groups(after, {}), noise);
}

store::TimeRatio ratio(double before, double after, double noise = 0.05) {
  return store::time_ratio(measured(1, before), measured(1, after), noise);
}

}  // namespace

TEST_CASE("a change is beyond the noise, and beyond the intervals") {
  CHECK(ratio(1, 1).change == Change::same);
  CHECK(ratio(1, 1.04).change == Change::same);
  CHECK(ratio(1.04, 1).change == Change::same);
  CHECK(ratio(1, 1.06).change == Change::slower);
  CHECK(ratio(1, 0.9).change == Change::faster);
  CHECK(ratio(1, 1.015, 0).change == Change::same);  // the intervals of 1 % on each side overlap
  CHECK(ratio(1, 1.04, 0).change == Change::slower);
  const store::TimeRatio twice = ratio(1, 2);
  CHECK(twice.value == doctest::Approx(2));
  CHECK(twice.low < 2);
  CHECK(twice.high > 2);
}

TEST_CASE("answers, configurations and outcomes of one problem") {
  const std::vector<store::Record> before{measured(16, 1), measured(32, 2), measured(64, 3), measured(128, 4),
                                          failed(256, Outcome::compile_failed, "no")};
  const std::vector<store::Record> after{measured(16, 1.5), measured(32, 1.2), measured(64, 3.01),
                                         failed(128, Outcome::wrong_result, "y: 3 of 4 elements differ (75 %)"),
                                         measured(512, 9)};
  const store::Comparisons all = compared(before, after);
  REQUIRE(all.cases.size() == 1);
  const store::CaseComparison& pair = all.cases.front();
  CHECK(pair.best_before == &before[0]);
  CHECK(pair.best_after == &after[1]);
  CHECK(pair.ratio.change == Change::slower);
  CHECK(pair.ratio.value == doctest::Approx(1.2));
  REQUIRE(pair.same_best);
  CHECK(pair.same_best->ratio.value == doctest::Approx(1.5));
  CHECK(pair.both == 4);
  CHECK(pair.same == 1);
  CHECK(pair.only_before == 1);
  CHECK(pair.only_after == 1);
  REQUIRE(pair.timed.size() == 2);
  CHECK(pair.timed[0].before == &before[1]);  // 2 -> 1.2 is more than 1 -> 1.5
  REQUIRE(pair.outcomes.size() == 1);
  CHECK(pair.outcomes[0].after->outcome == Outcome::wrong_result);
}

TEST_CASE("a configuration that failed later is not an answer, although it passed once") {
  store::Record wrong16 = failed(16, Outcome::wrong_result, "y: 3 of 4 elements differ (75 %)");
  wrong16.unix_time_ms += 1000;
  store::Record wrong32 = wrong16;
  wrong32.config = measured(32, 1).config;
  const std::vector<store::Record> before{measured(16, 1), measured(32, 2)};
  const std::vector<store::Record> after{measured(16, 0.9), measured(32, 2), wrong16};
  const store::Comparisons one = compared(before, after);
  CHECK(one.cases.at(0).best_after->config == before[1].config);
  CHECK(one.cases.at(0).ratio.change == Change::slower);
  const store::Comparisons lost = compared(before, {measured(16, 0.9), measured(32, 1.8), wrong16, wrong32});
  CHECK(lost.cases.at(0).best_after == nullptr);
  CHECK(lost.cases.at(0).ratio.change == Change::lost);
}

TEST_CASE("a pruned configuration is neither a change nor a time") {
  std::vector<store::Record> pruned{measured(16, 1), measured(32, 5)};
  pruned[1].outcome = Outcome::pruned;
  const store::CaseComparison pair = compared({measured(16, 1), measured(32, 2)}, pruned).cases.at(0);
  CHECK(pair.outcomes.empty());
  CHECK(pair.timed.empty());
  CHECK(pair.same == 1);
}

TEST_CASE("an answer may be lost or found") {
  const std::vector<store::Record> good{measured(16, 1)}, bad{failed(16, Outcome::crashed, "signal 11")};
  CHECK(compared(good, bad).cases.at(0).ratio.change == Change::lost);
  CHECK(compared(bad, good).cases.at(0).ratio.change == Change::found);
  CHECK(compared(bad, bad).cases.at(0).ratio.change == Change::same);
}

TEST_CASE("problems and devices are paired") {
  std::vector<store::Record> before{measured(16, 1), measured(16, 1)}, after{measured(16, 1), measured(16, 1)};
  before[1].problem = {{"M", std::int64_t{128}}};
  after[1].problem = {{"M", std::int64_t{256}}};
  after[0].device.name = "NVIDIA H100";
  const store::Comparisons all = compared(before, after);
  REQUIRE(all.cases.size() == 1);  // each side has one device for this problem, so that they are compared
  CHECK(all.cases[0].after.device.name == "NVIDIA H100");
  CHECK(all.only_before.size() == 1);
  CHECK(all.only_after.size() == 1);
  // Two devices on one side: the same one is taken, the other is left.
  after.push_back(measured(16, 3));
  const store::Comparisons two = compared({measured(16, 1)}, after);
  REQUIRE(two.cases.size() == 1);
  CHECK(two.cases[0].after.device.name == "NVIDIA H200");
  CHECK(two.only_after.size() == 2);
}

TEST_CASE("what differs in the keys is named") {
  std::vector<store::Record> after{measured(16, 1, "v2")};
  after[0].toolchain = "nvrtc 13.1";
  after[0].device.driver = "14.0";
  after[0].key_parts.emplace_back("driver", "14.0");
  const std::vector<std::string> lines = compared({measured(16, 1)}, after).cases.at(0).differences;
  CHECK(lines == std::vector<std::string>{"artifact: another source, compiler or option", "driver: (none) -> 14.0",
                                          "compiler: nvrtc 13.0 -> nvrtc 13.1"});
  CHECK(compared({measured(16, 1)}, {measured(16, 1)}).cases.at(0).differences.empty());
}

TEST_CASE("versions of a store: another artifact of one configuration, compiler or driver") {
  constexpr std::int64_t day = 86'400'000, first = 1'700'000'000'000;
  std::vector<store::Record> records{measured(16, 1, "v1", first), measured(32, 2, "v1", first + 1),
                                     measured(16, 3, "v2", first + day), measured(32, 4, "v2", first + day + 1)};
  const auto versions = [&] { return store::versions_of(store::compared_groups(records, {}).front()); };
  REQUIRE(versions().size() == 2);
  CHECK(versions()[0].records.size() == 2);
  CHECK(versions()[1].records[0]->artifact_key == "v2-16");
  records.push_back(measured(64, 1, "v1", first + 2 * day));
  records.back().device.driver = "14.0";
  CHECK(versions().size() == 3);
  // Going back to the first source makes it the newest.
  records = {measured(16, 1, "v1", first), measured(16, 2, "v2", first + 1), measured(16, 1, "v1", first + 2)};
  CHECK(versions().back().records.size() == 2);
  CHECK(versions().back().records[0]->artifact_key == "v1-16");
}

TEST_CASE("text has 80 columns, and its counts are those of JSON and of the rows") {
  const std::vector<store::Record> before{measured(16, 1), measured(32, 2), measured(64, 1.1)};
  const std::vector<store::Record> after{
      measured(16, 2), failed(32, Outcome::wrong_result, "y: 3 of 4 elements differ (75 %), first at [0]"),
      measured(64, 2.2)};
  const store::Comparisons all = compared(before, after);
  const std::string text = report::comparison_text(all, 1);
  std::istringstream lines(report::wrapped_lines(text, 80));
  for (std::string line; std::getline(lines, line);) CHECK(report::columns_of(line) <= 80);
  CHECK(text.find("answer, after / before: 2.000 (") != std::string::npos);
  CHECK(text.find("BLOCK=32: ok -> wrong_result: y: 3 of 4 elements differ\n") != std::string::npos);
  CHECK(text.find("... 1 more (--rows lists them)") != std::string::npos);
  CHECK(text.ends_with("1 problem compared: 1 slower\n"));
  const auto json = report::comparison_json(all, 10);
  CHECK(json["summary"]["slower"] == 1);
  CHECK(json["cases"][0]["configurations"]["slower"] == 2);
  CHECK(json["cases"][0]["configurations"]["other_outcome"] == 1);
  CHECK(json["cases"][0]["changed"].size() == 2);
  CHECK(json["cases"][0]["answer"]["ratio"].get<double>() == doctest::Approx(2));
  const auto rows = report::comparison_rows(all);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["change"] == "slower");
  CHECK(rows[0]["before"]["BLOCK"] == 16);
}

TEST_CASE("results of a run stand for records") {
  const auto result = [](double best) {
    return nlohmann::json{
        {"kernel", "k"},
        {"problem", {{"N", 4}}},
        {"device", {{"name", "D"}, {"backend", "host"}, {"arch", "x86_64"}}},
        {"trace",
         {{{"config", {{"B", 1}}}, {"outcome", "ok"}, {"time_ms", best}},
          {{"config", {{"B", 2}}}, {"outcome", "crashed"}, {"time_ms", nullptr}, {"message", "signal 11"}},
          {{"config", {{"B", 3}}}, {"outcome", "pruned"}, {"time_ms", 9.0}}}},
        {"top", {{{"config", {{"B", 1}}}, {"time_ms", best}, {"interval_ms", {best * 0.99, best * 1.01}}}}},
        {"best", {{"config", {{"B", 1}}}, {"time_ms", best}, {"interval_ms", {best * 0.99, best * 1.01}}}}};
  };
  const std::vector<store::Record> before = store::records_of_result(result(1), "a.json");
  CHECK(before.size() == 3);
  const std::vector<store::Record> after =
      store::records_of_result(nlohmann::json::array({result(2), {{"error", "none"}}}), "b.json");
  const store::CaseComparison pair = compared(before, after).cases.at(0);
  CHECK(pair.ratio.change == Change::slower);
  CHECK(pair.ratio.value == doctest::Approx(2));
  CHECK(pair.both == 3);
  CHECK(pair.outcomes.empty());
  CHECK(pair.differences.empty());
  CHECK_THROWS_AS(store::records_of_result(nlohmann::json{{"kernel", "k"}}, "c.json"), Error);
}
