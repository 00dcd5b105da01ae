// tune_cases where one configuration is to serve all cases.
#include <doctest/doctest.h>

#include <set>

#include "unit/api/tune_fixture.hpp"

using namespace xtune::system;

namespace xtune {
namespace {

using namespace api_test;

std::int64_t size_of_case(const Bindings& problem) { return std::get<std::int64_t>(problem.at("N")); }

Tunable two_cases(AcrossRule rule) {
  Tunable tunable = saxpy();
  tunable.add_case({{"N", Value(64)}}).add_case({{"N", Value(128)}}).across(rule);
  return tunable;
}

/// Passes if the case is in the set of the configuration.
Tunable passing(AcrossRule rule, std::set<std::pair<std::int64_t, Bindings>> passes, const std::string& label) {
  Tunable tunable = two_cases(rule);
  tunable.validator(
      [passes = std::move(passes)](const Arguments& arguments) {
        return passes.contains({arguments.size("N"), arguments.config});
      },
      label);
  return tunable;
}

TEST_CASE("[objective] across names what serves all cases") {
  const Tunable tunable =
      passing(AcrossRule::worst, {{64, config(32, 1)}, {64, config(64, 1)}, {128, config(64, 1)}, {128, config(64, 2)}},
              "overlap");
  const std::vector<Result> results = tune_cases(tunable, host_settings());
  REQUIRE(results.size() == 2);
  for (const Result& result : results) {
    CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::wrong_result, 2}});
    REQUIRE(result.across);
    CHECK(result.across->rule == AcrossRule::worst);
    CHECK(result.across->measurement.config == config(64, 1));
    CHECK(result.across->measurement.time_ms > 0);
    CHECK(result.across->ratio >= 1);
    CHECK(result.across->score >= result.across->ratio);
    CHECK_FALSE(result.across->measurement.from_store);
  }
  CHECK(results[0].across->score == results[1].across->score);
  CHECK(std::max(results[0].across->ratio, results[1].across->ratio) == results[0].across->score);

  const TemporaryDirectory folder;
  results[0].save(folder.path());
  const Result loaded = Result::load(folder.path());
  REQUIRE(loaded.across);
  CHECK(loaded.across->rule == AcrossRule::worst);
  CHECK(loaded.across->score == results[0].across->score);
  CHECK(loaded.across->ratio == results[0].across->ratio);
  CHECK(loaded.across->measurement.config == config(64, 1));
}

TEST_CASE("where nothing passes in all cases, there is none, and it is said") {
  const Tunable tunable = passing(AcrossRule::geomean, {{64, config(32, 1)}, {128, config(64, 2)}}, "apart");
  const std::vector<Result> results = tune_cases(tunable, host_settings());
  REQUIRE(results.size() == 2);
  CHECK(results[0].best().config == config(32, 1));
  CHECK(results[1].best().config == config(64, 2));
  for (const Result& result : results) CHECK_FALSE(result.across);
  REQUIRE(results[0].warnings.size() == 1);
  CHECK(has(results[0].warnings[0], "none serves them all"));
}

TEST_CASE("the best of each case are measured in the others, with the same data and reference") {
  Tunable tunable = two_cases(AcrossRule::geomean);
  std::size_t references = 0, told = 0;
  tunable.reference([&](const Arguments& arguments) {
    ++references;
    return saxpy_reference(arguments);
  });
  TuneSettings settings = host_settings();
  settings.configs_of = [](const Bindings& problem) {
    return std::vector<Bindings>{size_of_case(problem) == 64 ? config(32, 1) : config(64, 2)};
  };
  settings.on_measurement = [&](const Measurement&, const std::string&) { ++told; };
  SUBCASE("kept") {}
  SUBCASE("not kept") { settings.keep = false; }
  SUBCASE("in process") { settings.isolation = Isolation::in_process; }
  const std::vector<Result> results = tune_cases(tunable, settings);
  REQUIRE(results.size() == 2);
  CHECK(references == 2);
  CHECK(told == 4);
  for (const Result& result : results) {
    CHECK(result.measurements.size() == 2);
    CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}});
    CHECK(result.across.has_value());
    CHECK(result.binary.has_value());
  }
}

TEST_CASE("one case, a stop, and a rule that there is none of") {
  TuneSettings settings = host_settings();
  settings.problem = {{"N", Value(64)}};
  const std::vector<Result> one = tune_cases(two_cases(AcrossRule::worst), settings);
  REQUIRE(one.size() == 1);
  CHECK_FALSE(one[0].across);
  CHECK(one[0].found());

  std::stop_source source;
  settings = host_settings();
  settings.stop = source.get_token();
  settings.on_measurement = [&](const Measurement&, const std::string&) { source.request_stop(); };
  const std::vector<Result> interrupted = tune_cases(two_cases(AcrossRule::worst), settings);
  REQUIRE(interrupted.size() == 1);
  CHECK(interrupted[0].interrupted);
  CHECK_FALSE(interrupted[0].across);

  // In the second part, where the cases measure each other's best: what there was is returned.
  std::stop_source late;
  std::size_t measured = 0;
  settings.stop = late.get_token();
  settings.configs_of = [](const Bindings& problem) {
    return std::vector<Bindings>{size_of_case(problem) == 64 ? config(32, 1) : config(64, 2)};
  };
  settings.on_measurement = [&](const Measurement&, const std::string&) {
    if (++measured == 3) late.request_stop();
  };
  const std::vector<Result> partial = tune_cases(two_cases(AcrossRule::worst), settings);
  REQUIRE(partial.size() == 2);
  CHECK(partial[0].measurements.size() == 2);
  CHECK(partial[1].measurements.size() == 1);
  CHECK(partial[0].interrupted);
  for (const Result& each : partial) {
    CHECK(each.found());
    CHECK_FALSE(each.across);
  }
}

}  // namespace
}  // namespace xtune
