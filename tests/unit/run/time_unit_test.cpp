// A program's number that is in seconds, read as milliseconds.
#include <doctest/doctest.h>

#include "core/run/run_parts.hpp"

using namespace xtune;
using namespace xtune::run;

TEST_CASE("a time that the wall clock contradicts by a factor of 1000 is mentioned") {
  spec::ProcessSpec process;
  process.time.form = device::ProgramValue::Form::regex;
  run::BenchAnswer answer;
  answer.samples_ms = {0.108, 0.110, 0.109};
  answer.busy_s = 0.6;  // five runs of 0.12 s
  CHECK(
      time_unit_warning(process, answer) ==
      "the program reports 109 us and ran for about 150 ms: if its number is in s, set unit = \"s\" in [process] time; "
      "unit = \"ms\" keeps it");
  answer.samples_ms = {120000};
  CHECK(time_unit_warning(process, answer).find("unit = \"us\"") != std::string::npos);
  answer.samples_ms = {100, 110, 120};
  CHECK(time_unit_warning(process, answer).empty());
  answer.samples_ms = {0.109};
  CHECK_FALSE(time_unit_warning(process, answer).empty());
  process.time.unit = "ms";
  CHECK(time_unit_warning(process, answer).empty());
  process.time.unit = "";
  process.time.form = device::ProgramValue::Form::wall;
  CHECK(time_unit_warning(process, answer).empty());
  // Starting on a GPU may take a thousand times as long as a kernel.
  process.time.form = device::ProgramValue::Form::regex;
  process.device = "cuda";
  CHECK(time_unit_warning(process, answer).empty());
}
