// When a search follows the sources that it was given, and when it stops.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/search/opening.hpp"
#include "core/search/strategy.hpp"
#include "valley.hpp"

using namespace xtune::base;
using namespace xtune::search;

using namespace xtune;

namespace {

SearchResult measured(std::uint64_t index, double time_ms) { return {index, SearchResult::Kind::measured, time_ms}; }

// One proposal and its result.
void try_one(Following& following, std::uint64_t index, bool by_sources, double time_ms) {
  following.proposed(index, by_sources);
  following.observe(measured(index, time_ms));
}

}  // namespace

TEST_CASE("sources propose only while results bear one of them out, and a lost proposal needs more support") {
  Following following;
  CHECK_FALSE(following.allows(0));
  CHECK_FALSE(following.allows(-3));
  CHECK(following.allows(1.2));
  try_one(following, 1, true, 5);
  CHECK_FALSE(following.allows(1.2));  // nothing to compare it with yet
  try_one(following, 2, false, 4);
  CHECK(following.lost() == 1);
  CHECK_FALSE(following.allows(1.2));
  CHECK(following.allows(20));
}

TEST_CASE("a failure of the sources' proposal is lost, and a new best is not") {
  Following lucky, failing;
  try_one(lucky, 1, true, 3);
  try_one(lucky, 2, false, 4);
  CHECK(lucky.lost() == 0);
  CHECK(lucky.allows(1.2));
  failing.proposed(1, true);
  failing.observe({1, SearchResult::Kind::failed, 0});
  try_one(failing, 2, false, 4);
  CHECK(failing.lost() == 1);
}

TEST_CASE("better than everything of one's own, but no improvement: lost in part") {
  Following following;
  try_one(following, 1, true, 3);
  try_one(following, 2, false, 4);
  try_one(following, 3, true, 3.5);
  CHECK(following.lost() > 0);
  CHECK(following.lost() < 1);
}

TEST_CASE("the loss that support allows is bounded, and so is the number of proposals") {
  Following following;
  try_one(following, 1, false, 1);
  std::uint64_t index = 2;
  for (; following.allows(1e6); ++index) {
    REQUIRE(index < 50);
    try_one(following, index, true, 2);
    try_one(following, ++index, false, 1);
  }
  CHECK(following.lost() <= 3);
  Following lucky;
  double time_ms = 100;
  for (index = 0; !lucky.over(); ++index) {
    REQUIRE(index < 200);
    try_one(lucky, index, lucky.allows(1e6), time_ms *= 0.9);
  }
  CHECK_FALSE(lucky.allows(1e6));
}

TEST_CASE("without results at most a quarter of a batch are the sources'") {
  Following following;
  int by_sources = 0;
  for (std::uint64_t index = 0; index < 16; ++index) {
    const bool allowed = following.allows(1.2);
    following.proposed(index, allowed);
    by_sources += allowed ? 1 : 0;
  }
  CHECK(by_sources >= 1);
  CHECK(by_sources <= 4);
}

TEST_CASE("results support a source that is alike, and no other") {
  const Valley valley;
  const std::vector<Source> alike{valley.alike()}, inverted{valley.inverted()}, shuffled{valley.shuffled()};
  const auto support = [&](const std::vector<Source>& sources) {
    const Features features(valley.space());
    Random random(1);
    const Guidance guidance(valley.space(), features, sources, random);
    std::vector<SearchResult> results;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const std::uint64_t index = mix64(i) % valley.space().size();
      const double time_ms = valley.time_ms(index);
      if (std::isinf(time_ms))
        results.push_back({index, SearchResult::Kind::failed, 0});
      else
        results.push_back(measured(index, time_ms));
    }
    const Opening opening(valley.space(), features, guidance);
    CHECK(opening.support({}) == 0);
    return opening.support(results);
  };
  CHECK(support(alike) > 1);
  CHECK(support(inverted) < 0);
  CHECK(support(shuffled) < 0);
}

TEST_CASE("misleading sources take few of the first proposals, and the cold design keeps its places") {
  const Valley valley;
  const auto proposed = [&](const std::vector<Source>& sources) { return valley.search(5, 14, sources); };
  const std::vector<std::uint64_t> cold = proposed({});
  for (const std::vector<Source>& sources :
       {std::vector{valley.inverted()}, {valley.shuffled()}, {valley.shuffled(), valley.inverted()}}) {
    const std::vector<std::uint64_t> guided = proposed(sources);
    // The first four of a cold search are its design, regardless of their results.
    std::size_t found = 0;
    for (std::size_t i = 0; i < 8; ++i)
      if (found < 4 && guided[i] == cold[found]) ++found;
    CHECK(found == 4);
  }
}

TEST_CASE("guided by misleading sources a search is hardly worse than a cold one, by alike ones it is better") {
  const Valley valley;
  // After 10 and after 25 evaluations: optimum / best found, the mean over seeds.
  const auto scores = [&](const std::vector<Source>& sources) {
    std::array<double, 2> sums{};
    constexpr std::uint64_t seeds = 24;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      double best_ms = INFINITY;
      const std::vector<std::uint64_t> proposed = valley.search(seed, 25, sources);
      for (std::size_t i = 0; i < proposed.size(); ++i) {
        best_ms = std::min(best_ms, valley.time_ms(proposed[i]));
        if (i + 1 == 10 || i + 1 == 25) sums[i / 10 > 0 ? 1 : 0] += valley.optimum_ms() / best_ms / seeds;
      }
    }
    return sums;
  };
  const auto cold = scores({}), inverted = scores({valley.inverted()}), shuffled = scores({valley.shuffled()}),
             both = scores({valley.inverted(), valley.shuffled()}), alike = scores({valley.alike()}),
             mixed = scores({valley.inverted(), valley.alike(), valley.shuffled()});
  for (std::size_t i = 0; i < cold.size(); ++i) {
    CAPTURE(i);
    CAPTURE(cold[i]);
    CHECK(inverted[i] > cold[i] - 0.02);
    CHECK(shuffled[i] > cold[i] - 0.02);
    CHECK(both[i] > cold[i] - 0.02);
    CHECK(alike[i] > cold[i] + 0.5 * (1 - cold[i]));
    CHECK(mixed[i] > cold[i] + 0.3 * (1 - cold[i]));
  }
}
