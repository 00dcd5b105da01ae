// The number of compilers: --jobs and XTUNE_JOBS.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "fakes/environment_variable.hpp"
#include "support/error_of.hpp"
#include "system/machine.hpp"
#include "worker/ipc/pool.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

std::size_t share_of_cores(double share) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * system::usable_cpus())));
}

TEST_CASE("The number of compilers is a count, or with a point a fraction of the cores") {
  const Variable none("XTUNE_JOBS", std::nullopt);
  CHECK(job_count("1") == 1);
  CHECK(job_count("16") == 16);
  CHECK(job_count("0.0001") == 1);
  CHECK(job_count("1.0") == system::usable_cpus());
  CHECK(job_count("0.5") == share_of_cores(0.5));
  for (const char* automatic : {"", "auto", "-1"}) CHECK(job_count(automatic) == share_of_cores(0.9));
}

TEST_CASE("A fraction of the cores may have a maximum") {
  CHECK(job_count("0.0001:32") == 1);
  CHECK(job_count("1.0:4096") == system::usable_cpus());
  CHECK(job_count("1.0:1") == 1);
}

TEST_CASE("--jobs comes before XTUNE_JOBS") {
  const Variable variable("XTUNE_JOBS", "3");
  CHECK(job_count() == 3);
  CHECK(job_count("5") == 5);
  CHECK(job_count("auto") == share_of_cores(0.9));
}

TEST_CASE("Other numbers of compilers are refused, by the name of the option or the variable") {
  for (const char* text : {"0",     "-2",   "x",     "4x",  " 4",    "nan",     "inf",     "1e3",    "0.0",
                           "99999", "0.9:", ":8",    "4:8", "0.5:0", "0.5:1.5", "0.5:8:9", "0.5:-1", "auto:8",
                           "0x10",  "1,5",  "\\xff", "1.5", "1.01",  "2.0",     "1.5:4"}) {
    CAPTURE(text);
    const Variable variable("XTUNE_JOBS", text);
    CHECK(test::error_of([] { job_count(); }, ErrorKind::invalid_argument).starts_with("XTUNE_JOBS='"));
    CHECK(test::error_of([&] { job_count(text); }, ErrorKind::invalid_argument).starts_with("--jobs='"));
  }
}

}  // namespace
}  // namespace xtune::worker
