// Covers: the smallest set where it can be found, a good one elsewhere, and saying which.
#include "core/store/cover.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

using namespace xtune::base;

namespace xtune::store {

namespace {
constexpr double none = std::numeric_limits<double>::infinity();
}

TEST_CASE("the smallest set is found where the greedy one is larger") {
  // 0 serves four cases and looks best; 1 and 2 together serve all six.
  const std::vector<std::vector<double>> ratios{{1.0, 1.0, none}, {1.0, 1.0, 2.0}, {2.0, 1.04, none},
                                                {1.0, none, 1.0}, {1.0, 2.0, 1.0}, {2.0, 3.0, 1.05}};
  const Cover cover = smallest_cover(ratios, 1.05, 8);
  CHECK(cover.configs == std::vector<std::size_t>{1, 2});
  CHECK(cover.smallest);
  CHECK(cover.within == 6);
  CHECK(cover.served_by[3] == 2);
  CHECK(cover.ratio[2] == 1.04);
}

TEST_CASE("among equally small sets the fastest is taken") {
  const Cover cover = smallest_cover({{1.04, 1.01, 1.05}, {1.0, 1.01, 1.0}}, 1.05, 8);
  CHECK(cover.configs == std::vector<std::size_t>{1});
}

TEST_CASE("where too few are allowed as many cases as possible are served, and it is said") {
  const std::vector<std::vector<double>> ratios{{1, none, none}, {none, 1, none}, {none, 1, none}, {none, none, 1}};
  const Cover cover = smallest_cover(ratios, 1.05, 2);
  CHECK(cover.too_many);
  CHECK_FALSE(cover.smallest);
  CHECK(cover.within == 3);
  CHECK(cover.configs.size() == 2);
  CHECK_FALSE(cover.served_by[3].has_value());
}

TEST_CASE("where too few are allowed, the preference decides between more cases served and fewer not measured") {
  // 0 serves three cases but was not measured in the last; 1 was measured in all.
  const std::vector<std::vector<double>> ratios{{1, 1.2, none}, {1, 1.2, none}, {1, 1.0, none}, {none, 1.0, 1.0}};
  CHECK(smallest_cover(ratios, 1.05, 1).configs == std::vector<std::size_t>{0});
  const Cover measured = smallest_cover(ratios, 1.05, 1, Preference::measured);
  CHECK(measured.configs == std::vector<std::size_t>{1});
  CHECK(measured.within == 2);
  CHECK(measured.too_many);
  // Two are enough: the preference makes no difference, also where the search gives up.
  for (const std::size_t steps : {0, 1'000'000})
    CHECK(smallest_cover(ratios, 1.05, 2, Preference::measured, steps).within == 4);
}

TEST_CASE("a set of measured configurations grows only while that serves more cases") {
  const std::vector<std::vector<double>> ratios{{1.0, 1.2, 1.1, none}, {1.3, 1.2, 1.15, none}, {none, 1.2, 1.2, 1.0}};
  CHECK(smallest_cover(ratios, 1.05, 1, Preference::measured).configs == std::vector<std::size_t>{2});
  const Cover two = smallest_cover({{1.2, 1.1}, {1.3, 1.15}}, 1.05, 2, Preference::measured);
  CHECK(two.configs == std::vector<std::size_t>{1});
}

TEST_CASE("out of steps the greedy set serves all cases and is not called the smallest") {
  Random random(7);
  std::vector<std::vector<double>> ratios(40, std::vector<double>(60, none));
  for (auto& row : ratios) {
    row[random.below(60)] = 1;
    for (double& ratio : row)
      if (random.below(8) == 0) ratio = std::min(ratio, 1.03);
  }
  const Cover greedy = smallest_cover(ratios, 1.05, 40, Preference::served, 10);
  CHECK_FALSE(greedy.smallest);
  CHECK_FALSE(greedy.too_many);
  CHECK(greedy.within == 40);
  const Cover exact = smallest_cover(ratios, 1.05, 40);
  CHECK(exact.within == 40);
  CHECK(exact.configs.size() <= greedy.configs.size());
}

TEST_CASE("no cases need no configurations") {
  const Cover cover = smallest_cover({}, 1.05, 8);
  CHECK(cover.configs.empty());
  CHECK(cover.within == 0);
  CHECK_FALSE(cover.too_many);
}

}  // namespace xtune::store
