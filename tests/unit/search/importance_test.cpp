// Tests of the importance of parameters and pairs.
#include "core/search/importance.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

Space grid() {
  const std::vector<Value> values{1, 2, 4, 8};
  return Space({{"A", values}, {"B", values}, {"C", values}, {"fixed", {1}}}, {}, {});
}

template <class Time>
std::vector<MeasuredIndex> measured(const Space& space, const Time& time) {
  std::vector<MeasuredIndex> list;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const std::vector<std::uint32_t> at = space.value_indices(i);
    list.push_back({i, time(at[0], at[1], at[2])});
  }
  return list;
}

}  // namespace

TEST_CASE("The parameter that decides the time is the most important") {
  const Space space = grid();
  const Importance importance =
      importance_of(space, measured(space, [](auto a, auto b, auto) { return std::exp(1.0 * a + 0.2 * b); }));
  REQUIRE(importance.parameters.size() == 3);
  CHECK(importance.parameters[0].parameter == 0);
  CHECK(importance.parameters[0].share > 0.8);
  CHECK(importance.parameters[1].parameter == 1);
  CHECK(importance.parameters[1].share < 0.2);
  CHECK(importance.parameters[2].share < 0.02);
  for (const PairImportance& pair : importance.pairs) CHECK(pair.share < 0.1);
}

TEST_CASE("What two parameters decide together shows in their pair") {
  const Space space = grid();
  // Fast only where both are small: each explains a third of the variance by itself, and both together the last third.
  const Importance importance =
      importance_of(space, measured(space, [](auto a, auto b, auto) { return a < 2 && b < 2 ? 1.0 : 10.0; }));
  REQUIRE(importance.pairs.size() == 3);
  const PairImportance& pair = importance.pairs[0];
  CHECK(std::min(pair.first, pair.second) == 0);
  CHECK(std::max(pair.first, pair.second) == 1);
  for (const double share : {pair.share, importance.parameters[0].share, importance.parameters[1].share}) {
    CHECK(share > 0.2);
    CHECK(share < 0.5);
  }
  CHECK(importance.pairs[1].share < 0.05);
}

TEST_CASE("Importance is the same each time, and unknown where there is little to learn") {
  const Space space = grid();
  const auto list = measured(space, [](auto a, auto b, auto c) { return 1.0 + a * b + c; });
  CHECK(importance_of(space, list).parameters[0].share == importance_of(space, list).parameters[0].share);
  CHECK(importance_of(space, std::span(list).first(7)).empty());
  CHECK(importance_of(space, measured(space, [](auto, auto, auto) { return 3.0; })).empty());
}
