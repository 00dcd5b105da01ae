// Queries over records: the best, its ties, and the nearest problem.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.hpp"
#include "core/store/lookup.hpp"
#include "support/text.hpp"
#include "unit/record/example_record.hpp"

using namespace xtune::base;
using namespace xtune::device;
using namespace xtune::store;

using namespace xtune;
using namespace xtune::test;

namespace {

std::int64_t block(const Record& record) { return std::get<std::int64_t>(record.config.at("BLOCK")); }

std::int64_t best_block(const std::vector<Record>& records) { return block(*best_of(records).value().record); }

Record with_problem(Record record, std::int64_t m, std::int64_t n) {
  record.problem = {{"M", m}, {"N", n}};
  record.key += "-" + std::to_string(m) + "x" + std::to_string(n);
  return record;
}

Bindings problem(std::int64_t m, std::int64_t n) { return {{"M", m}, {"N", n}}; }

}  // namespace

TEST_CASE("the best is the fastest ok record, in any order of the records") {
  std::vector<Record> records{example_record(1, 3), example_record(2, 1), example_record(3, 2), example_record(4, 0.5)};
  records[3].outcome = Outcome::wrong_result;
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    std::swap(records[random.below(4)], records[random.below(4)]);
    const auto best = best_of(records);
    REQUIRE(best);
    CHECK(block(*best->record) == 2);
    CHECK(best->ties.empty());
  }
}

TEST_CASE("no ok record, no best") {
  const std::vector<Record> none;
  CHECK_FALSE(best_of(none));
  Record failed = example_record(1, 1), pruned = example_record(2, 1), empty = example_record(3, 1);
  failed.outcome = Outcome::crashed;
  pruned.outcome = Outcome::pruned;
  empty.time_ms = {};
  const std::vector<Record> useless{failed, pruned, empty};
  CHECK_FALSE(best_of(useless));
}

TEST_CASE("records whose interval reaches the best's are ties, fastest first") {
  const std::vector<Record> records{example_record(1, 1.0, 0.1), example_record(2, 1.04, 0.001),
                                    example_record(3, 1.02, 0.001), example_record(4, 1.5, 0.1)};
  const auto best = best_of(records);
  REQUIRE(best);
  CHECK(block(*best->record) == 1);
  REQUIRE(best->ties.size() == 2);
  CHECK(block(*best->ties[0]) == 3);
  CHECK(block(*best->ties[1]) == 2);
}

TEST_CASE("the statistic that the spec chose decides") {
  Record steady = example_record(1, 1.0), lucky = example_record(2, 1.1);
  lucky.time_ms.min = steady.time_ms.min / 2;
  lucky.time_ms.mean = steady.time_ms.mean * 2;
  const std::vector<Record> records{steady, lucky};
  CHECK(block(*best_of(records)->record) == 1);
  CHECK(block(*best_of(records, measure::Statistic::min)->record) == 2);
  CHECK(block(*best_of(records, measure::Statistic::mean)->record) == 1);
  CHECK(block(*ranked(records, measure::Statistic::min).front()) == 2);
  const DeviceInfo device = example_device();
  CHECK(block(*look_up(records, steady.problem, device, measure::Statistic::min).record) == 2);
}

TEST_CASE("a tainted record ranks behind every clean one") {
  Record tainted = example_record(1, 0.1), clean = example_record(2, 1);
  tainted.tainted = {"throttled"};
  const std::vector<Record> records{tainted, clean};
  const auto order = ranked(records);
  REQUIRE(order.size() == 2);
  CHECK(block(*order[0]) == 2);
  CHECK(best_of(records)->ties.empty());
}

TEST_CASE("equal times break by the configuration's text") {
  const Record a = example_record(128, 1), b = example_record(64, 1), c = example_record(32, 1);
  CHECK(best_block({a, b, c}) == 128);
  CHECK(best_block({c, b, a}) == 128);
  const std::vector<Record> records{b, c, a};
  CHECK(best_of(records)->ties.size() == 2);
}

TEST_CASE("for one key the newest record counts, with any outcome; a race given up does not") {
  Record old = example_record(1, 1), again = example_record(1, 5), other = example_record(2, 3);
  again.unix_time_ms += 1;
  CHECK(best_block({old, again, other}) == 2);
  CHECK(best_block({again, other, old}) == 2);
  Record wrong = old;
  wrong.outcome = Outcome::wrong_result;
  wrong.unix_time_ms += 2;
  CHECK(best_block({wrong, old, other}) == 2);
  Record pruned = old;
  pruned.outcome = Outcome::pruned;
  pruned.unix_time_ms += 3;
  CHECK(best_block({pruned, old, other}) == 1);
}

TEST_CASE("a tainted time does not count once its configuration lost a clean race, as in a run") {
  Record tainted = example_record(1, 1), lost = tainted, other = example_record(2, 5);
  tainted.tainted = {"busy"}, other.tainted = {"busy"};
  lost.outcome = Outcome::pruned, lost.unix_time_ms += 1;
  CHECK(best_block({tainted, other}) == 1);
  CHECK(best_block({tainted, lost, other}) == 2);
  CHECK(best_block({lost, other, tainted}) == 2);
  lost.tainted = {"busy"};
  CHECK(best_block({tainted, lost, other}) == 1);
  lost.tainted.clear(), lost.unix_time_ms -= 2;
  CHECK(best_block({tainted, lost, other}) == 1);
}

TEST_CASE("a tainted record is best only where no clean one is") {
  Record tainted = example_record(1, 1);
  tainted.tainted = {"throttled"};
  const Record clean = example_record(2, 2);
  const std::vector<Record> records{tainted, clean};
  const auto best = best_of(records);
  CHECK(block(*best->record) == 2);
  CHECK(best->ties.empty());
  CHECK(best_block({tainted}) == 1);
}

TEST_CASE("a lookup finds the exact problem on this device") {
  const std::vector<Record> records{with_problem(example_record(1, 1), 64, 64),
                                    with_problem(example_record(2, 9), 128, 64)};
  const LookupResult result = look_up(records, problem(128, 64), example_device());
  CHECK(result.match == Match::exact);
  CHECK(block(*result.record) == 2);
  CHECK(result.distance == 0);
  CHECK(any_has(result.reasons, "taken as the exact match"));
  CHECK(any_has(result.reasons, "further away"));
}

TEST_CASE("the nearest problem is nearest in each dimension, not in volume") {
  // 64 x 4096 has the volume of the question but is 3 + 3 doublings away; 1024 x 1024 is 1 + 1.
  const std::vector<Record> records{with_problem(example_record(1, 1), 64, 4096),
                                    with_problem(example_record(2, 1), 1024, 1024)};
  const LookupResult result = look_up(records, problem(512, 512), example_device());
  CHECK(result.match == Match::nearest);
  CHECK(block(*result.record) == 2);
  CHECK(result.distance == doctest::Approx(2));
}

TEST_CASE("outside of the radius nothing answers, unless it is in the bucket") {
  const std::vector<Record> records{with_problem(example_record(1, 1), 64, 64),
                                    with_problem(example_record(2, 1), 512, 64)};
  LookupRules rules;
  rules.radius = 1;
  const auto ask = [&](std::int64_t m) {
    return look_up(records, problem(m, 64), example_device(), measure::Statistic::median, rules);
  };
  CHECK(ask(64).match == Match::exact);
  CHECK(block(*ask(128).record) == 1);
  CHECK(block(*ask(1024).record) == 2);
  const LookupResult outside = ask(4096);
  CHECK(outside.match == Match::none);
  CHECK_FALSE(outside.record);
  CHECK(outside.beyond == 3);
  CHECK(any_has(outside.reasons, "M=512 N=64 on"));
  CHECK(any_has(outside.reasons, "outside of [dispatch] radius = 1: the default configuration answers"));
  CHECK_FALSE(ask(128).beyond);
  rules.radius = 0;
  CHECK(ask(128).match == Match::none);
  CHECK(ask(512).match == Match::exact);
  rules.bucket = [](const Bindings&) { return "all"; };
  CHECK(ask(4096).match == Match::bucket);
  CHECK(block(*ask(4096).record) == 2);
}

TEST_CASE("a radius of zero still lets another device of this architecture answer") {
  Record other = with_problem(example_record(1, 1), 64, 64);
  other.device.name = "NVIDIA H100 PCIe";
  LookupRules rules;
  rules.radius = 0;
  CHECK(look_up({other}, problem(64, 64), example_device(), measure::Statistic::median, rules).match == Match::nearest);
}

TEST_CASE("records of another device of this architecture may only come near") {
  Record other = with_problem(example_record(1, 1), 64, 64);
  other.device.name = "NVIDIA H100 PCIe";
  other.device.compute_units = 114;
  LookupResult result = look_up({other}, problem(64, 64), example_device());
  CHECK(result.match == Match::nearest);
  CHECK(result.distance == 0);
  const Record own = with_problem(example_record(2, 9), 64, 64);
  result = look_up({other, own}, problem(64, 64), example_device());
  CHECK(result.match == Match::exact);
  CHECK(block(*result.record) == 2);
  // Another driver, index or board of the same model is the same device to a lookup.
  Record same = own;
  same.device.uuid = "GPU-9";
  same.device.driver = "14";
  same.device.index = 7;
  CHECK(look_up({same}, problem(64, 64), example_device()).match == Match::exact);
}

TEST_CASE("another architecture, backend or kind of problem never answers") {
  Record arch = with_problem(example_record(1, 1), 64, 64), backend = arch, shape = arch, word = arch;
  arch.device.arch = "sm_80";
  backend.device.backend = "hip";
  shape.problem["K"] = std::int64_t{4};
  word.problem["M"] = std::string("big");
  const LookupResult result = look_up({arch, backend, shape, word}, problem(64, 64), example_device());
  CHECK(result.match == Match::none);
  CHECK_FALSE(result.record);
  CHECK(any_has(result.reasons, "1 record of another architecture than sm_90"));
  CHECK(any_has(result.reasons, "1 record of another backend than cuda"));
  CHECK(any_has(result.reasons, "2 records of problems with other dimensions"));
  CHECK(any_has(look_up({}, problem(1, 1), example_device()).reasons, "no records of this kernel on sm_90"));
}

TEST_CASE("a problem without an ok record is skipped for the next") {
  Record failed = with_problem(example_record(1, 1), 64, 64);
  failed.outcome = Outcome::crashed;
  const Record near = with_problem(example_record(2, 1), 128, 64);
  const LookupResult result = look_up({failed, near}, problem(64, 64), example_device());
  CHECK(result.match == Match::nearest);
  CHECK(block(*result.record) == 2);
  CHECK(any_has(result.reasons, "none of them ok"));
}

TEST_CASE("sizes of zero, and words, must agree") {
  Record zero = example_record(1, 1), word = example_record(2, 1);
  zero.problem = {{"M", std::int64_t{0}}};
  word.problem = {{"M", std::int64_t{64}}, {"LAYOUT", std::string("row")}};
  CHECK(look_up({zero}, {{"M", std::int64_t{0}}}, example_device()).match == Match::exact);
  CHECK(look_up({zero}, {{"M", std::int64_t{1}}}, example_device()).match == Match::none);
  CHECK(look_up({word}, {{"M", std::int64_t{32}}, {"LAYOUT", std::string("row")}}, example_device()).match ==
        Match::nearest);
  CHECK(look_up({word}, {{"M", std::int64_t{64}}, {"LAYOUT", std::string("col")}}, example_device()).match ==
        Match::none);
}

TEST_CASE("a record that may not be used is skipped, and counted by the reason") {
  const std::vector<Record> records{with_problem(example_record(1, 1), 64, 64),
                                    with_problem(example_record(2, 2), 64, 64),
                                    with_problem(example_record(3, 3), 64, 64)};
  LookupRules rules;
  rules.obstacle = [](const Record& r) { return block(r) < 3 ? std::string("of odd blocks") : std::string(); };
  LookupResult result = look_up(records, problem(64, 64), example_device(), measure::Statistic::median, rules);
  CHECK(result.match == Match::exact);
  CHECK(block(*result.record) == 3);
  CHECK(any_has(result.reasons, "2 records of odd blocks: skipped"));
  rules.obstacle = [](const Record&) { return std::string("of the past"); };
  result = look_up(records, problem(64, 64), example_device(), measure::Statistic::median, rules);
  CHECK(result.match == Match::none);
  CHECK_FALSE(result.record);
  CHECK(any_has(result.reasons, "3 records of the past: skipped"));
}

TEST_CASE("a record whose key still holds goes before a faster one; without any, the differences are told") {
  const std::vector<Record> records{with_problem(example_record(1, 1), 64, 64),
                                    with_problem(example_record(2, 2), 64, 64)};
  LookupRules rules;
  rules.differences = [](const Record& r) {
    return block(r) == 1 ? std::vector<std::string>{"artifact: a -> b", "reference: c -> d"}
                         : std::vector<std::string>{};
  };
  LookupResult result = look_up(records, problem(64, 64), example_device(), measure::Statistic::median, rules);
  CHECK(block(*result.record) == 2);
  CHECK(result.differences.empty());
  CHECK(any_has(result.reasons, "faster, but skipped: 1 of another state (artifact; reference: c -> d)"));
  result = look_up({records[0]}, problem(64, 64), example_device(), measure::Statistic::median, rules);
  CHECK(block(*result.record) == 1);
  CHECK(result.differences.size() == 2);
  CHECK(any_has(result.reasons, "what differs: artifact; reference: c -> d"));
}

TEST_CASE("finals and speeds of another state of the spec do not rank today's results") {
  // The other state's finals were held last. Its best puts today's times on a scale on which the second one is faster.
  std::vector<Record> records{example_record(1, 1.00), example_record(2, 1.02)};
  for (const std::int64_t number : {1, 2, 3, 4}) {
    Record other = example_record(number, number < 3 ? 0.8 : 0.5 + 0.1 * static_cast<double>(number));
    other.unix_time_ms += 100 * number;
    other.key += "-other";
    if (number > 2) {
      other.finals = "f";
      other.samples_ms.assign(12, other.time_ms.median);
    }
    records.push_back(other);
  }
  for (Record& record : records) record = with_problem(record, 64, 64);
  LookupRules rules;
  rules.differences = [](const Record& r) {
    return r.key.find("other") != r.key.npos ? std::vector<std::string>{"artifact: a -> b"}
                                             : std::vector<std::string>{};
  };
  const LookupResult found = look_up(records, problem(64, 64), example_device(), measure::Statistic::median, rules);
  const std::vector<Record> own(records.begin(), records.begin() + 2);
  CHECK(found.record->key == look_up(own, problem(64, 64), example_device()).record->key);
  CHECK(found.passed_over == 4);
}

TEST_CASE("records of sanitized kernels never answer") {
  Record sanitized = with_problem(example_record(1, 1), 64, 64);
  sanitized.key_parts.emplace_back("sanitize", "true");
  CHECK(look_up({sanitized}, problem(64, 64), example_device()).match == Match::none);
  const LookupResult result =
      look_up({sanitized, with_problem(example_record(2, 9), 64, 64)}, problem(64, 64), example_device());
  CHECK(block(*result.record) == 2);
  CHECK(any_has(result.reasons, "1 record of kernels built with --sanitize: never served"));
}

namespace {

/// Records of a search and of finals that some of them reached, while the device was slower by `slowdown`.
struct TwoPhases {
  std::vector<Record> records;
  explicit TwoPhases(double slowdown, const std::vector<double>& searched, std::size_t finalists) {
    for (std::size_t i = 0; i < searched.size(); ++i) add(i, searched[i], "");
    for (std::size_t i = 0; i < finalists; ++i) add(i, searched[i] * slowdown, "f");
  }
  void add(std::size_t number, double time_ms, const std::string& finals) {
    Record record = example_record(static_cast<int>(number), time_ms);
    record.finals = finals;
    if (!finals.empty()) record.unix_time_ms += 60'000;
    record.samples_ms.clear();
    for (int i = 0; i < 20; ++i)
      record.samples_ms.push_back(time_ms * (1 + 0.001 * ((i + static_cast<int>(number)) % 5)));
    record.time_ms = measure::summarize(record.samples_ms);
    records.push_back(record);
  }
  std::vector<Record*> pointers() {
    std::vector<Record*> found;
    for (Record& record : records) found.push_back(&record);
    return found;
  }
};

}  // namespace

TEST_CASE("times of different phases are never compared: ratios, order and ties are those of an even device") {
  const std::vector<double> searched{2.7, 2.75, 2.76, 2.9, 3.3, 3.0};
  const TwoPhases even(1, searched, 3);
  for (const double slowdown : {1.37, 0.7}) {
    CAPTURE(slowdown);
    const TwoPhases phases(slowdown, searched, 3);
    const Standings standings(phases.records), expected(even.records);
    REQUIRE(standings.order().size() == searched.size());
    CHECK(standings.slowdown() == doctest::Approx(slowdown));
    CHECK(standings.ties().size() == expected.ties().size());
    for (std::size_t i = 0; i < searched.size(); ++i) {
      CHECK(block(*standings.order()[i]) == block(*expected.order()[i]));
      const Ratio ratio = standings.ratio(*standings.order()[i]).value(),
                  same = expected.ratio(*expected.order()[i]).value();
      CHECK(ratio.value == doctest::Approx(same.value));
      CHECK(ratio.low == doctest::Approx(same.low));
      CHECK(ratio.high == doctest::Approx(same.high));
      CHECK(ratio.met == (i < 3));
    }
    CHECK(standings.ratio(*standings.order().back())->value == doctest::Approx(3.3 / 2.7).epsilon(0.002));
    CHECK_FALSE(standings.ratio(*standings.order().back())->tied);
  }
}

TEST_CASE("on one scale the times are those of the best one's phase, sorted, and their standings stay") {
  TwoPhases phases(1.37, {2.7, 2.75, 2.76, 2.9, 3.3}, 3);
  phases.records.push_back(phases.records[4]);
  phases.records.back().config["BLOCK"] = std::int64_t{99};
  phases.records.back().key = "key-99";
  phases.records.back().outcome = Outcome::pruned;
  const std::vector<Record> raw = phases.records;
  const Standings before(phases.records);
  const std::vector<const Record*> order = before.order();
  put_on_one_scale(phases.pointers(), before);
  const Standings after(phases.records);
  CHECK(after.order() == order);
  CHECK(after.ties() == before.ties());
  CHECK(after.best().time_ms.median == raw[static_cast<std::size_t>(order[0] - phases.records.data())].time_ms.median);
  for (std::size_t i = 0; i < order.size(); ++i) {
    CHECK(order[i]->time_ms.median == doctest::Approx(after.ratio(*order[i])->value * after.best().time_ms.median));
    if (i > 0) CHECK(order[i]->time_ms.median >= order[i - 1]->time_ms.median);
  }
  for (std::size_t i = 0; i < raw.size(); ++i) {
    CHECK(after.factor(phases.records[i]) == doctest::Approx(1));
    CHECK(phases.records[i].samples_ms == raw[i].samples_ms);
  }
  CHECK(phases.records.back().time_ms.min == doctest::Approx(raw.back().time_ms.min * 1.37).epsilon(0.002));
}

TEST_CASE("results of another day are compared with the best one's measurement of that day") {
  TwoPhases today(1.2, {2.0, 2.02}, 2);
  for (const auto& [number, time_ms] : {std::pair(0, 4.0), std::pair(5, 4.4)}) {
    Record record = example_record(number, time_ms);
    record.key += "-old";
    record.unix_time_ms -= 86'400'000;
    today.records.push_back(record);
  }
  const Standings standings(today.records);
  CHECK(block(standings.best()) == 0);
  CHECK(standings.ratio(today.records.back())->value == doctest::Approx(1.1).epsilon(0.003));
}
