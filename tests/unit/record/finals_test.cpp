// Finals as records: who takes part, their effect on the ranking, and which of a store's finals can be used.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.hpp"
#include "core/store/best.hpp"
#include "unit/record/example_record.hpp"

using namespace xtune::measure;
using namespace xtune::store;

using namespace xtune;

namespace {

std::int64_t block(const Record* record) { return std::get<std::int64_t>(record->config.at("BLOCK")); }

std::vector<std::int64_t> blocks(const std::vector<const Record*>& records) {
  std::vector<std::int64_t> found;
  for (const Record* record : records) found.push_back(block(record));
  return found;
}

std::vector<const Record*> pointers(const std::vector<Record>& records) {
  std::vector<const Record*> found;
  for (const Record& record : records) found.push_back(&record);
  return found;
}

/// Took part in finals some time after the first records: twelve rounds of about time_ms.
Record finalist(std::int64_t number, double time_ms, const std::string& id = "f", std::int64_t later_ms = 10) {
  Record record = example_record(number, time_ms);
  record.finals = id;
  record.unix_time_ms += later_ms;
  record.samples_ms.clear();
  for (int i = 0; i < 12; ++i) record.samples_ms.push_back(time_ms * (1 + 0.0001 * (i % 3)));
  record.time_ms = summarize(record.samples_ms);
  return record;
}

std::vector<std::int64_t> order(const std::vector<Record>& records) { return blocks(ranked(records)); }

}  // namespace

TEST_CASE("Finals order those that took part, by ties and resources before times") {
  Record third = finalist(3, 1.009);
  third.usage.registers = 16;
  const std::vector<Record> records{finalist(1, 1.0), finalist(2, 1.05), third, finalist(4, 1.02)};
  CHECK(order(records) == std::vector<std::int64_t>{1, 3, 4, 2});  // unknown resources count as none
  std::vector<Record> told = records;
  for (Record& record : told) record.usage.registers = block(&record) == 3 ? 16 : 32;
  CHECK(order(told) == std::vector<std::int64_t>{3, 1, 4, 2});
  CHECK(blocks(best_of(told)->ties) == std::vector<std::int64_t>{1});
  told[0].usage.spilled_bytes = 0;
  told[2].usage.spilled_bytes = 8;
  CHECK(order(told) == std::vector<std::int64_t>{1, 3, 4, 2});
  CHECK(FinalsResult(pointers(told)).decided());
  CHECK(FinalsResult(pointers(told)).rounds() == 12);
}

TEST_CASE("Finals order by the statistic that ranks") {
  Record lucky = finalist(2, 1.0);
  lucky.samples_ms.front() = 0.5;
  lucky.time_ms = summarize(lucky.samples_ms);
  std::vector<Record> records{finalist(1, 0.9), lucky, finalist(3, 2)};
  for (Record& record : records) record.finals_by = "min time_ms";
  CHECK(blocks(ranked(records, measure::Statistic::min)) == std::vector<std::int64_t>{2, 1, 3});
  CHECK(blocks(best_of(records, measure::Statistic::min)->ties) == std::vector<std::int64_t>{1});
}

TEST_CASE("Finals decide only by the criterion they were held for") {
  // By time the third is too slow to be invited; by time times block the first two are not.
  const std::vector<Record> known{example_record(1, 0.95), finalist(2, 1.0), finalist(3, 1.1)};
  CHECK(order(known) == std::vector<std::int64_t>{2, 1, 3});
  Criterion blocky;
  blocky.objective = "least time_ms * BLOCK";
  blocky.score = [](const Record& record, double time_ms) {
    return time_ms * static_cast<double>(std::get<std::int64_t>(record.config.at("BLOCK")));
  };
  CHECK(blocks(ranked(known, blocky)) == std::vector<std::int64_t>{1, 2, 3});
  std::vector<Record> held = known;
  held[1].finals_by = held[2].finals_by = blocky.finals_by();
  CHECK(order(held) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(blocks(ranked(held, blocky)) == std::vector<std::int64_t>{2, 1, 3});
  // The third lost there; the first was never there, and its interval reaches the second's.
  CHECK(blocks(best_of(held, blocky)->ties) == std::vector<std::int64_t>{1});
  blocky.times = false;
  CHECK(blocks(ranked(held, blocky)) == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("No finalist beats the answer by more than 1 %, unless noise lets none be the answer") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    xtune::base::Random random(seed);
    std::vector<Record> records;
    for (std::int64_t number = 1; number <= 5; ++number) {
      Record& record = records.emplace_back(finalist(number, 1));
      record.samples_ms.resize(7);
      for (double& sample : record.samples_ms) sample = 1 + 0.1 * random.uniform();
      record.time_ms = summarize(record.samples_ms);
    }
    const auto least = [&](const Record& one) {
      double found = 1;
      for (const Record& other : records)
        found = std::min(found, paired_ratio(other.samples_ms, one.samples_ms).median);
      return found;
    };
    const FinalsResult result(pointers(records));
    double possible = 0;
    for (const Record& record : records)
      if (result.ratio_to_fastest(record).value().median <= 1.01) possible = std::max(possible, least(record));
    CHECK(least(*result.order().front()) >= std::min(0.99, possible));
  }
}

TEST_CASE("A rival that only noise keeps in the finals never wins by its resources") {
  Record fast = finalist(1, 1.0), noisy = finalist(2, 4.0);
  fast.usage.registers = 64;
  noisy.usage.registers = 16;
  for (std::size_t i = 0; i < noisy.samples_ms.size(); i += 3) noisy.samples_ms[i] = 0.9;
  noisy.time_ms = summarize(noisy.samples_ms);
  const std::vector<Record> records{noisy, fast};
  CHECK(order(records) == std::vector<std::int64_t>{1, 2});
  CHECK(blocks(best_of(records)->ties) == std::vector<std::int64_t>{2});
}

TEST_CASE("The winner ranks before earlier measurements, and after later ones that are faster") {
  Record uninvited = example_record(5, 0.98), faster = example_record(6, 0.9), slower = example_record(7, 1.01);
  faster.unix_time_ms += 20;
  slower.unix_time_ms += 20;
  const std::vector<Record> records{finalist(1, 1.03), finalist(2, 1.0), uninvited};
  CHECK(order(records) == std::vector<std::int64_t>{2, 5, 1});
  const std::vector<Record> later{
      finalist(1, 1.03), example_record(2, 0.97), finalist(2, 1.0), uninvited, faster, slower};
  CHECK(order(later) == std::vector<std::int64_t>{6, 2, 5, 1, 7});
}

TEST_CASE("What a search found faster than each finalist was unknown to the finals, and stays before their winner") {
  const std::vector<Record> records{example_record(1, 1.26), example_record(2, 1.18), finalist(1, 1.9),
                                    finalist(2, 1.8),        example_record(5, 1.06), example_record(6, 1.2)};
  CHECK(order(records) == std::vector<std::int64_t>{5, 2, 6, 1});
  // At its own time it was slower than one of them.
  std::vector<Record> two_days = records;
  two_days[1].unix_time_ms -= 100;
  two_days.push_back(example_record(2, 1.0));
  CHECK(order(two_days).front() == 2);
  // It lost earlier finals.
  std::vector<Record> lost = records;
  lost.push_back(finalist(5, 1.2, "e", 5));
  lost.push_back(finalist(7, 1.1, "e", 5));
  CHECK(order(lost).front() != 5);
}

TEST_CASE("Without the winner, which may not answer, the finals do not put a slow one first") {
  // The default always takes part.
  const std::vector<Record> records{example_record(1, 2.0), finalist(1, 2.0), example_record(2, 1.5),
                                    example_record(3, 2.2)};
  CHECK(order(records) == std::vector<std::int64_t>{2, 1, 3});
}

TEST_CASE("Finals of another key keep their order behind the best") {
  // The first two met when the source was another one; outside of finals the second was faster.
  std::vector<Record> records{example_record(1, 1.01), example_record(2, 1.0), finalist(1, 1.0), finalist(2, 1.02)};
  for (const double time_ms : {0.9, 0.92}) {
    Record changed = time_ms < 0.91 ? finalist(2, time_ms, "g", 30) : finalist(3, time_ms, "g", 30);
    changed.key += "-changed";
    records.push_back(changed);
  }
  const std::vector<const Record*> found = ranked(records);
  REQUIRE(found.size() == 4);
  CHECK(found[0]->key == "key-2-changed");
  const auto place = [&](const std::string& key) {
    return std::find_if(found.begin(), found.end(), [&](const Record* one) { return one->key == key; }) - found.begin();
  };
  CHECK(place("key-1") < place("key-2"));
}

TEST_CASE("A finals record answers for its configuration; one that failed there is out") {
  Record crashed = finalist(1, 1.0);
  crashed.outcome = Outcome::crashed;
  crashed.samples_ms.clear();
  crashed.time_ms = {};
  const std::vector<Record> records{example_record(1, 0.9), example_record(2, 1.0), crashed, finalist(2, 1.1)};
  const auto best = best_of(records);
  CHECK(block(best->record) == 2);
  CHECK(best->record->time_ms.median > 1.05);
  CHECK(ranked(records).size() == 1);
}

TEST_CASE("Measurements of the drift are not used as answers") {
  Record drift = example_record(1, 0.5);
  drift.drift = true;
  drift.unix_time_ms += 5;
  const std::vector<Record> records{example_record(1, 1), drift};
  CHECK(best_of(records)->record->time_ms.median == 1);
  CHECK(ranked(std::vector<const Record*>{&drift}).empty());
}

TEST_CASE("Of one key a tainted time says nothing against a clean one") {
  Record tainted = example_record(1, 0.5);
  tainted.tainted = {"throttled"};
  tainted.unix_time_ms += 5;
  const std::vector<Record> records{example_record(1, 1), tainted};
  CHECK(best_of(records)->record->time_ms.median == 1);
}

TEST_CASE("Invited is what may be the best: near enough to the first") {
  std::vector<Record> records;
  for (int i = 0; i < 12; ++i) records.push_back(example_record(i, 1 + 0.004 * i));
  CHECK(finalists_of(ranked(records), 8).size() == 8);
  CHECK(finalists_of(ranked(records), 20).size() == 12);
  records[11] = example_record(11, 1.1);
  CHECK(finalists_of(ranked(records), 20).size() == 11);
  // Clean ones rank first, but a disturbed one may be as good: it is invited by its value.
  records[1].tainted = records[10].tainted = {"throttled"};
  const auto invited = finalists_of(ranked(records), 20);
  REQUIRE(invited.size() == 11);
  CHECK(invited[1] == &records[1]);
  CHECK(invited.back() == &records[10]);
  CHECK(finalists_of(ranked(records), 3).back() == &records[2]);
  CHECK(finalists_of({}, 8).empty());
}

TEST_CASE("What changed its process is not invited, unless nothing else passed") {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) records.push_back(example_record(i, 1 + 0.004 * i));
  records[0].tainted = {"the kernel left 4 descriptors open"};
  records[2].tainted = {"throttled", "a kernel changed the limits"};
  CHECK(finalists_of(ranked(records), 8) == std::vector<const Record*>{&records[1], &records[3]});
  records[1].tainted = records[3].tainted = {"throttled"};
  CHECK(finalists_of(ranked(records), 8) == std::vector<const Record*>{&records[1], &records[3]});
  for (Record& record : records) record.tainted = {"the kernel left 2 threads"};
  CHECK(finalists_of(ranked(records), 8).size() == 4);
}

TEST_CASE("Finals are found by those who met in them, the newest first, tainted ones never or last") {
  Record failed = finalist(2, 1, "b", 30);
  failed.outcome = Outcome::crashed;
  Record suspect = finalist(1, 1, "c", 40), other = finalist(2, 1, "c", 40);
  suspect.tainted = {"throttled"};
  const std::vector<Record> records{
      finalist(1, 1, "a", 20), finalist(2, 1, "a", 20), finalist(1, 1, "b", 30), failed, suspect, other,
      finalist(1, 1, "d", 50)};
  const std::vector<const Record*> all = pointers(records);
  CHECK(finals_of(all, {"key-2", "key-1"}, Tainted::never) == std::vector<std::string>{"b", "a"});
  CHECK(finals_of(all, {"key-2", "key-1"}, Tainted::too) == std::vector<std::string>{"b", "a", "c"});
  CHECK(finals_of(all, {"key-1"}, Tainted::never) == std::vector<std::string>{"d", "b", "a"});
  CHECK(finals_of(all, {"key-3"}, Tainted::too).empty());
}

TEST_CASE("Of ties those whose launches repeat come first, and those that do not last") {
  std::vector<Record> records{finalist(1, 1.0), finalist(2, 1.0), finalist(3, 1.0)};
  CHECK(order(records) == std::vector<std::int64_t>{1, 2, 3});
  records[0].repeatable = validate::Repeatability{3, validate::BitDifference{"y", {1}, "1", "2", 1, 4}};
  records[2].repeatable = validate::Repeatability{4, {}};
  CHECK(order(records) == std::vector<std::int64_t>{3, 2, 1});
}
