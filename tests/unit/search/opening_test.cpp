// The first proposals of a search with sources.
#include "core/search/opening.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace xtune::base;
using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

// Two implementations in a kernel, each with different tiles that suit it.
Space space_of_tiles() {
  std::vector<Value> tiles;
  for (std::int64_t tile = 1; tile <= 64; ++tile) tiles.emplace_back(tile);
  return Space({{"SHARED", {false, true}, true}, {"TILE", tiles, true}}, {}, {});
}

std::int64_t tile_of(const Space& space, std::uint64_t index) { return std::get<std::int64_t>(space.at(index)[1]); }
bool is_shared(const Space& space, std::uint64_t index) { return std::get<bool>(space.at(index)[0]); }

// Best at one tile; the other way costs so much more.
double tile_time(const Space& space, std::uint64_t index, bool shared, double tile, double surplus) {
  const double away = std::abs(std::log2(static_cast<double>(tile_of(space, index)) / tile));
  return std::exp(0.3 * away + (is_shared(space, index) == shared ? 0 : surplus));
}

Source source(const Space& space, bool shared, double tile, double surplus) {
  Source source{"other", {}};
  for (std::uint64_t i = 0; i < space.size(); ++i)
    source.observations.push_back({i, Outcome::ok, 5 * tile_time(space, i, shared, tile, surplus)});
  return source;
}

struct Study {
  explicit Study(const std::vector<Source>& given) : sources(given) {}
  std::optional<std::uint64_t> next() {
    return opening.next(results, under_way, [this](std::uint64_t index) { return known.contains(index); });
  }
  void answer(std::uint64_t index, double time_ms) {
    known.insert(index);
    results.push_back({index, SearchResult::Kind::measured, time_ms});
  }
  void start(std::uint64_t index) {
    known.insert(index);
    under_way.push_back(index);
  }

  Space space = space_of_tiles();
  Features features{space};
  Random random{1};
  std::vector<Source> sources;
  Guidance guidance{space, features, sources, random};
  Opening opening{space, features, guidance};
  std::vector<SearchResult> results;
  std::vector<std::uint64_t> under_way;
  std::set<std::uint64_t> known;
};

}  // namespace

TEST_CASE("the opening begins with what a source holds to be best") {
  Study study({source(space_of_tiles(), true, 8, 0.5)});
  const auto first = study.next();
  REQUIRE(first);
  CHECK(is_shared(study.space, *first));
  CHECK(tile_of(study.space, *first) == 8);
}

TEST_CASE("where sources contradict each other both have their way, and then the one that is right") {
  Study study({source(space_of_tiles(), true, 4, 1.5), source(space_of_tiles(), false, 32, 1.5)});
  const auto truth = [&](std::uint64_t index) { return tile_time(study.space, index, false, 32, 1.5); };
  std::set<bool> ways;
  for (int i = 0; i < 6; ++i) {
    const auto index = study.next();
    REQUIRE(index);
    ways.insert(is_shared(study.space, *index));
    study.answer(*index, truth(*index));
  }
  CHECK(ways.size() == 2);
  const auto best =
      std::min_element(study.results.begin(), study.results.end(),
                       [](const SearchResult& a, const SearchResult& b) { return a.time_ms < b.time_ms; });
  CHECK(best->time_ms < 1.1);
}

TEST_CASE("a batch without results spreads over ways and places") {
  Study study({source(space_of_tiles(), true, 8, 0.2)});
  std::set<bool> ways;
  std::set<std::int64_t> tiles;
  for (int i = 0; i < 8; ++i) {
    const auto index = study.next();
    REQUIRE(index);
    CHECK_FALSE(study.known.contains(*index));
    study.start(*index);
    ways.insert(is_shared(study.space, *index));
    tiles.insert(tile_of(study.space, *index));
  }
  CHECK(ways.size() == 2);
  CHECK(*tiles.rbegin() - *tiles.begin() > 8);
}

TEST_CASE("only failures and bounds do not stop the opening, and it ends when nothing is left") {
  Study study({source(space_of_tiles(), true, 8, 0.2)});
  study.answer(3, 1);
  study.results.back() = {3, SearchResult::Kind::failed, 0};
  study.answer(4, 1);
  study.results.back() = {4, SearchResult::Kind::bound, 2};
  std::size_t proposed = 0;
  while (const auto index = study.next()) {
    CHECK_FALSE(study.known.contains(*index));
    study.known.insert(*index);
    REQUIRE(++proposed <= study.space.size());
  }
  CHECK(proposed == study.space.size() - 2);
}

TEST_CASE("Without results, the sources together name one configuration; a few times name the fastest") {
  const Space space = space_of_tiles();
  CHECK_FALSE(predicted_best(space, {}));
  const std::vector<Source> two{source(space, true, 8, 1), source(space, true, 8, 0.5)};
  const auto best = predicted_best(space, two);
  REQUIRE(best);
  CHECK(is_shared(space, *best));
  CHECK(tile_of(space, *best) == 8);
  const std::vector<Source> few{{"failures", {{1, Outcome::crashed, 0}}},
                                {"other", {{4, Outcome::crashed, 0}, {3, Outcome::ok, 2}, {5, Outcome::ok, 1}}}};
  CHECK(predicted_best(space, few) == std::uint64_t{5});
}
