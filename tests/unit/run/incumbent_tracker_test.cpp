// The incumbent: which configuration it is, and when it is measured again.
#include <doctest/doctest.h>

#include "core/run/run_results.hpp"

using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;

Record record_of(const std::string& key, double time_ms) {
  Record record;
  record.key = key;
  record.samples_ms = {time_ms, time_ms, time_ms};
  record.time_ms = summarize(record.samples_ms);
  return record;
}

}  // namespace

TEST_CASE("The incumbent is measured again after 40 races") {
  IncumbentTracker tracker(measure::Statistic::median, 1);
  CHECK_FALSE(tracker.take_due());
  tracker.consider(7, record_of("a", 2), 1, false);
  for (int i = 0; i < 39; ++i) tracker.count_race();
  CHECK_FALSE(tracker.take_due());
  tracker.count_race();
  CHECK(tracker.take_due() == 7);
  CHECK_FALSE(tracker.take_due());  // it is under way
  CHECK(tracker.remeasured("b") == nullptr);
  REQUIRE(tracker.remeasured("a"));
  tracker.update("a", record_of("a", 3).time_ms);
  CHECK(tracker.bar()->median_ms == 3);
  // Another one takes over that is faster than the incumbent's current time.
  tracker.consider(8, record_of("b", 2.5), 1, false);
  CHECK(tracker.bar()->median_ms == 2.5);
  CHECK(tracker.remeasured("a") == nullptr);
}

TEST_CASE("An incumbent of another run is measured again after 8 races") {
  IncumbentTracker tracker(measure::Statistic::median, 1);
  tracker.consider(7, record_of("a", 2), 1, true);
  for (int i = 0; i < 7; ++i) tracker.count_race();
  CHECK_FALSE(tracker.take_due());
  tracker.count_race();
  CHECK(tracker.take_due() == 7);
}

TEST_CASE("Times of other devices count as the first one would take them") {
  IncumbentTracker tracker(measure::Statistic::median, 1);
  tracker.consider(1, record_of("a", 2), 1, false);
  tracker.consider(2, record_of("b", 2.01), 1.02, false);
  CHECK(tracker.bar()->median_ms == doctest::Approx(2.01 / 1.02));
  CHECK(tracker.may_lead(1.9, true));
  CHECK_FALSE(tracker.may_lead(1.9, false));
}

TEST_CASE("Where several are asked for, challengers race the slowest of them") {
  IncumbentTracker tracker(measure::Statistic::median, 2);
  tracker.consider(1, record_of("a", 2), 1, false);
  CHECK_FALSE(tracker.bar());
  tracker.consider(2, record_of("b", 4), 1, false);
  tracker.consider(3, record_of("c", 3), 1, false);
  CHECK(tracker.bar()->median_ms == 3);
  tracker.clear();
  CHECK_FALSE(tracker.bar());
}
