// What is taken from a process, from the kernel's counters.
#include "backends/host/cpu_contention.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "fakes/environment_variable.hpp"

using namespace xtune::host;

namespace {
ProcessorTimes times(const std::string& text) {
  std::istringstream stream(text);
  return read_processor_times(stream);
}
}  // namespace

TEST_CASE("The first line of /proc/stat is summed without its guest columns") {
  const ProcessorTimes read = times("cpu  100 2 30 1000 4 5 6 70 99 98\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  CHECK(read.total == 1217);
  CHECK(read.stolen == 70);
  CHECK(read.idle == 1004);
  for (const char* text : {"", "cpu  1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu  a b c d e f g h"}) {
    CHECK(times(text).total == 0);
    CHECK(times(text).stolen == 0);
  }
}

TEST_CASE("The share is a difference, and nothing where too little time passed") {
  CHECK(stolen_share({1000, 10}, {1200, 60}) == doctest::Approx(0.25));
  CHECK(stolen_share({1000, 10}, {1200, 10}) == 0);
  CHECK(stolen_share({1000, 10}, {1002, 12}) == 0);
  CHECK(stolen_share({1000, 10}, {0, 0}) == 0);
  CHECK(stolen_share({1000, 70}, {1200, 60}) == 0);
}

TEST_CASE("What other processes had is what was neither idle, nor stolen, nor used by this one") {
  CHECK(others_share({1000, 0, 0}, {1200, 20, 80}, 60) == doctest::Approx(0.2));
  CHECK(others_share({1000, 0, 0}, {1200, 20, 80}, 120) == 0);
  CHECK(others_share({1000, 0, 0}, {1005, 0, 0}, 0) == 0);  // too few ticks
  CHECK(others_share({0, 0, 0}, {1200, 0, 5}, 0) == 0);     // nothing was reported
}

TEST_CASE("A reading is about the time since the last one, unless the user says what it is") {
  CpuContention contention;
  const auto state = [&](const char* said) {
    const xtune::Variable variable("XTUNE_BUSY", said);
    xtune::measure::DeviceState found;
    contention.report(found);
    return found;
  };
  CHECK_FALSE(state("").lost_share);  // the first one
  const auto second = state("perhaps");
  REQUIRE(second.lost_share);
  CHECK(*second.lost_share >= 0);
  CHECK(*second.lost_share <= 1);
  CHECK_FALSE(second.said_busy);
  for (const char* said : {"yes", "no"}) {
    CHECK(state(said).said_busy == (said[0] == 'y'));
    CHECK_FALSE(state(said).lost_share);
    CHECK_FALSE(state(said).stolen_share);
  }
}
