// A sample for compiling shows every value, and spends its limit on different binaries.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/search/samples.hpp"

using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

Parameter numbers(const std::string& name, std::vector<std::int64_t> values) {
  Parameter parameter{name, {}, true};
  for (const std::int64_t value : values) parameter.values.emplace_back(value);
  return parameter;
}

/// 576 configurations, of which a stride of 576 / 8 meets one value of each inner parameter.
Space histogram() {
  return Space({numbers("BLOCK", {64, 128, 256, 512}), numbers("ITEMS", {1, 2, 4, 8}), numbers("COPIES", {1, 2, 4}),
                numbers("PRIVATE", {0, 1}), numbers("SKEW", {0, 1}), numbers("WAVES", {1, 2, 4})},
               {}, {});
}

std::string itself(std::uint64_t index) { return std::to_string(index); }

std::vector<std::set<std::uint32_t>> shown(const Space& space, const std::vector<std::uint64_t>& sample) {
  std::vector<std::set<std::uint32_t>> values(space.parameters().size());
  for (const std::uint64_t index : sample) {
    const auto digits = space.value_indices(index);
    for (std::size_t i = 0; i < digits.size(); ++i) values[i].insert(digits[i]);
  }
  return values;
}

}  // namespace

TEST_CASE("a sample shows as many values of every parameter as its limit allows") {
  const Space space = histogram();
  REQUIRE(space.size() == 576);
  for (const std::uint64_t limit : {1, 2, 3, 4, 6, 8, 96}) {
    CAPTURE(limit);
    const std::vector<std::uint64_t> sample = spread_sample(space, limit, itself);
    CHECK(sample.size() == limit);
    CHECK(std::set(sample.begin(), sample.end()).size() == limit);
    const auto values = shown(space, sample);
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i].size() == std::min<std::uint64_t>(limit, space.parameters()[i].values.size()));
  }
}

TEST_CASE("constraints leave a sample every value that some configuration has") {
  // WIDE = 1 is valid with only one ITEMS, and BLOCK = 64 only without WIDE.
  const Space space({numbers("BLOCK", {64, 128, 256, 512, 1024}), numbers("ITEMS", {1, 2, 3, 4, 5, 6, 7, 8}),
                     numbers("WIDE", {0, 1}), numbers("NEVER", {0, 1})},
                    {Expression::parse("WIDE == 0 or ITEMS == 8"), Expression::parse("WIDE == 0 or BLOCK > 64"),
                     Expression::parse("NEVER == 0")},
                    {});
  const auto values = shown(space, spread_sample(space, 10, itself));
  CHECK(values[0].size() == 5);
  CHECK(values[1].size() == 8);
  CHECK(values[2].size() == 2);
  CHECK(values[3].size() == 1);
}

TEST_CASE("configurations that are the same work do not use up the limit of a sample") {
  const Space space = histogram();
  // WAVES, the innermost, is launch-only.
  const auto artifact_of = [](std::uint64_t index) { return std::to_string(index / 3); };
  const std::vector<std::uint64_t> sample = spread_sample(space, 8, artifact_of);
  std::map<std::string, int> artifacts;
  for (const std::uint64_t index : sample) ++artifacts[artifact_of(index)];
  CHECK(artifacts.size() == 8);
  CHECK(shown(space, sample)[5].size() == 3);

  // All are one work: what shows a new value, and no more.
  const auto one = spread_sample(space, 8, [](std::uint64_t) { return std::string("same"); });
  CHECK(one.size() < 20);
  for (std::size_t i = 0; i < 6; ++i) CHECK(shown(space, one)[i].size() == space.parameters()[i].values.size());
}

TEST_CASE("a sample is the beginning of a larger one, and the whole of a small space") {
  const Space space = histogram();
  const auto few = spread_sample(space, 10, itself), more = spread_sample(space, 40, itself);
  CHECK(std::equal(few.begin(), few.end(), more.begin()));
  const auto all = spread_sample(space, 576, itself);
  REQUIRE(all.size() == 576);
  for (std::uint64_t i = 0; i < all.size(); ++i) CHECK(all[i] == i);
  CHECK(spread_sample(Space({numbers("A", {1, 2})}, {Expression::parse("A > 2")}, {}), 5, itself).empty());
}
