// A StoreView returns the same as a plain scan over all problems, and rankings are computed at first use.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <thread>

#include "base/random.hpp"
#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::store;

using namespace xtune;

namespace {

/// Sizes from few values, so that problems repeat and distances tie; sometimes a value that is not a size.
Value random_size(Random& random) {
  if (random.below(40) == 0) return Value(std::int64_t{0});
  if (random.below(40) == 0) return Value(HUGE_VAL);
  if (random.below(40) == 0) return Value(std::string(random.below(2) ? "row" : "col"));
  if (random.below(40) == 0) return Value(random.below(2) == 0);
  const std::int64_t power = std::int64_t{1} << random.below(12);
  if (random.below(10) == 0) return Value(0.5 * static_cast<double>(power));
  return Value(power + static_cast<std::int64_t>(random.below(3)) * (power / 2));
}

Bindings random_problem(Random& random, std::size_t dimensions) {
  Bindings problem;
  for (std::size_t i = 0; i < dimensions; ++i)
    problem.emplace(std::string(1, static_cast<char>('A' + i)), random_size(random));
  if (random.below(20) == 0) problem.emplace("Z", std::int64_t{1});
  return problem;
}

}  // namespace

TEST_CASE("with thousands of problems it finds what look_up finds") {
  const TemporaryDirectory store;
  Random random(5);
  std::vector<Record> written = random_records(17, 3000);
  for (Record& record : written) {
    record.problem = random_problem(random, 3);
    for (const auto& [name, value] : record.problem) record.key += name + to_text(value);
  }
  write_records(store.path(), written);
  const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  for (int i = 0; i < 100; ++i) {
    const Bindings asked = random_problem(random, 3);
    const LookupResult expected = look_up(records, asked, example_device());
    const LookupResult found = find(view, asked, example_device());
    REQUIRE(found.match == expected.match);
    if (!expected.record) continue;
    CHECK(found.distance == expected.distance);
    CHECK(to_json(*found.record).dump() == to_json(*expected.record).dump());
  }
}

TEST_CASE("with a radius it finds what look_up finds") {
  const TemporaryDirectory store;
  Random random(9);
  std::vector<Record> written = random_records(17, 300);
  for (Record& record : written) {
    record.problem = random_problem(random, 3);
    for (const auto& [name, value] : record.problem) record.key += name + to_text(value);
  }
  write_records(store.path(), written);
  const std::vector<Record> records = read_records(store.path(), "sm_90", "gemm").records;
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  LookupRules rules;
  std::set<Match> matches;
  for (int i = 0; i < 200; ++i) {
    rules.radius = static_cast<double>(random.below(4));
    const Bindings asked = random_problem(random, 3);
    const LookupResult expected = look_up(records, asked, example_device(), measure::Statistic::median, rules);
    const LookupResult found = find(view, asked, example_device(), rules);
    matches.insert(expected.match);
    REQUIRE(found.match == expected.match);
    CHECK(found.beyond == expected.beyond);
    if (!expected.beyond) continue;
    CHECK(summary_of(found, asked, example_device(), measure::Statistic::median, rules.radius)
              .find("outside of [dispatch] radius") != std::string::npos);
  }
  CHECK(matches.contains(Match::nearest));
  CHECK(matches.contains(Match::none));
}

TEST_CASE("a problem whose newest measurement failed never answers, nor is it a group") {
  const TemporaryDirectory store;
  std::vector<Record> records;
  for (std::int64_t m = 1; m <= 3; ++m) {
    Record record = example_record(64, 1);
    record.problem = {{"M", 100 * m}};
    record.key = std::to_string(m);
    records.push_back(record);
  }
  Record failed = records[1];
  failed.outcome = Outcome::wrong_result;
  failed.unix_time_ms += 1;
  records.push_back(failed);
  records[2].time_ms.count = 0;  // no time at all
  write_records(store.path(), records);
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  REQUIRE(view.groups().size() == 1);
  CHECK(find(view, {{"M", std::int64_t{200}}}, example_device()).match == Match::nearest);
  CHECK(find(view, {{"M", std::int64_t{300}}}, example_device()).record->problem == records[0].problem);
}

TEST_CASE("threads that ask first, all at once, get the same orders") {
  const TemporaryDirectory store;
  write_records(store.path(), random_records(23, 2000));
  const StoreView expected = StoreView::load(store.path(), "sm_90", "gemm");
  for (const StoreView::Group& group : expected.groups()) expected.order(group);
  for (int round = 0; round < 5; ++round) {
    const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
    REQUIRE(view.groups().size() == expected.groups().size());
    std::vector<std::vector<std::vector<std::string>>> orders(4);
    {
      std::vector<std::jthread> threads;
      for (auto& own : orders)
        threads.emplace_back([&] {
          for (const StoreView::Group& group : view.groups()) {
            std::vector<std::string>& texts = own.emplace_back();
            for (const StoredConfig* config : view.order(group)) texts.emplace_back(config_text(*config));
          }
        });
    }
    std::vector<std::vector<std::string>> texts;
    for (const StoreView::Group& group : expected.groups()) {
      texts.emplace_back();
      for (const StoredConfig* config : expected.order(group)) texts.back().emplace_back(config_text(*config));
    }
    for (const auto& own : orders) CHECK(own == texts);
  }
}
