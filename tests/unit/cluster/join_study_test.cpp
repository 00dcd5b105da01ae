// Tests of seats: a name that is used again is another run, whose processes find each other.
#include <doctest/doctest.h>

#include <fstream>

#include "cluster/shared_study.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::cluster;

using namespace xtune;

TEST_CASE("Processes of one run sit together, those of the next one beside them") {
  const TemporaryDirectory store;
  for (const char* run : {"job", "job+2", "job+3"})
    for (const char* place : {"0-of-3", "1-of-3", "2-of-3"}) CHECK(join_study(store.path(), "job", place) == run);
  CHECK(join_study(store.path(), "other/../job", "0-of-3") == "other/../job");
  // Components have separate places.
  CHECK(join_study(store.path(), "job", "1.0-of-3") == "job");
}

TEST_CASE("Runs of a name are told from other names") {
  CHECK(is_run_of("job", "job"));
  CHECK(is_run_of("job+12", "job"));
  for (const char* other : {"job+", "job+a", "job2", "job.r1", "jo", "my job"}) CHECK_FALSE(is_run_of(other, "job"));
}

TEST_CASE("A store without room for seats is an error") {
  const TemporaryDirectory store;
  std::ofstream(store.path() / "studies") << "in the way";
  CHECK_THROWS_AS(join_study(store.path(), "job", "0-of-1"), Error);
}
