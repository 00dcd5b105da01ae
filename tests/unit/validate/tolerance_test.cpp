// Default tolerances: large enough for a right kernel's rounding, and small enough for minor mistakes, at any scale.
#include "core/validate/tolerance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "core/validate/compare.hpp"
#include "unit/validate/encode_all.hpp"

using namespace xtune::base;
using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;
using namespace xtune::test;

namespace {

double rounded(DType type, double value) {
  std::byte element[8];
  encode(type, value, element);
  return decode(type, element);
}

/// count dot products of `terms` products each, whose factors come from draw.
struct Products {
  std::vector<std::vector<double>> terms;
  std::vector<double> exact;
  Products(std::size_t count, std::size_t length, const std::function<double(Random&)>& draw) {
    Random random(11);
    for (std::size_t i = 0; i < count; ++i) {
      terms.emplace_back();
      exact.push_back(0);
      for (std::size_t k = 0; k < length; ++k) {
        terms[i].push_back(draw(random) * draw(random));
        exact[i] += terms[i].back();
      }
    }
  }
  /// Added one after another, every sum rounded to `sums`: the least accurate order that kernels use.
  std::vector<double> added(DType sums, std::size_t length) const {
    std::vector<double> results;
    for (const auto& list : terms) {
      double sum = 0;
      for (std::size_t k = 0; k < length; ++k) sum = rounded(sums, sum + list[k]);
      results.push_back(sum);
    }
    return results;
  }
};

Comparison judged(DType type, const std::vector<double>& actual, const std::vector<double>& expected,
                  const ToleranceRule& rule, const ResultFacts& facts, std::uint64_t rows = 1) {
  const auto bytes = encode_all(type, expected);
  const std::uint64_t shape[] = {rows, actual.size() / rows};
  return compare("C", type, encode_all(type, actual), bytes, shape, tolerance_for(rule, type, facts, bytes, shape));
}

double symmetric(Random& random) { return 2 * random.uniform() - 1; }
double positive(Random& random) { return random.uniform(); }

}  // namespace

TEST_CASE("Long sums in another order pass, and one that lacks a term does not, whatever the data's scale") {
  constexpr std::size_t count = 64;
  for (const double scale : {1e-6, 1.0, 1e6})
    for (const std::size_t length : {16u, 512u, 4096u})
      for (const auto& draw : {symmetric, positive}) {
        const Products products(count, length, [&](Random& random) { return scale * draw(random); });
        for (const DType type : {DType::f32, DType::f64}) {
          const ResultFacts facts{length, 0};
          const Comparison right = judged(type, products.added(type, length), products.exact, {}, facts);
          CHECK_MESSAGE(right.passed, right.text());
          const Comparison short_one = judged(type, products.added(type, length - 1), products.exact, {}, facts);
          CHECK_MESSAGE(!short_one.passed, short_one.text());
        }
      }
}

TEST_CASE("Results in few bits are judged as sums in f32 that are rounded once") {
  constexpr std::size_t length = 512;
  const Products products(256, length, symmetric);
  const std::vector<double> sums = products.added(DType::f32, length);
  for (const DType type : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const Comparison right = judged(type, sums, products.exact, {}, {length, 0});
    CHECK_MESSAGE(right.passed, right.text());
  }
  for (const DType type : {DType::f16, DType::bf16}) {
    const Comparison short_one = judged(type, products.added(DType::f32, length - 1), products.exact, {}, {length, 0});
    CHECK_MESSAGE(!short_one.passed, short_one.text());
  }
  // A kernel that adds up in f16 must declare it.
  const std::vector<double> coarse = products.added(DType::f16, length);
  CHECK_FALSE(judged(DType::f16, coarse, products.exact, {}, {length, 0}).passed);
  ToleranceRule rule;
  rule.accumulate = DType::f16;
  CHECK(judged(DType::f16, coarse, products.exact, rule, {length, 0}).passed);
}

TEST_CASE("The formula") {
  const std::vector<double> expected{3, -4, 0, std::numeric_limits<double>::infinity(), std::nan("")};
  const auto bytes = encode_all(DType::f32, expected);
  const double rms = std::sqrt(25.0 / 3), eta = 2 * 0x1p-24 + 8 * 8 * 0x1p-24;
  CHECK(root_mean_square(DType::f32, bytes) == doctest::Approx(rms).epsilon(1e-14));
  Tolerance tolerance = tolerance_for({}, DType::f32, {64, 0}, bytes);
  CHECK(tolerance.rtol == doctest::Approx(eta).epsilon(1e-14));
  CHECK(tolerance.atol == doctest::Approx(eta * rms).epsilon(1e-14));
  CHECK(tolerance.max_mismatched_ratio == 0);
  // The reference reports that its one result could have been larger.
  CHECK(tolerance_for({}, DType::f32, {64, 100}, bytes).atol == doctest::Approx(eta * 100).epsilon(1e-14));
  ToleranceRule rule;
  rule.reduction = 256;
  CHECK(tolerance_for(rule, DType::f32, {64, 0}, bytes).rtol == doctest::Approx(130 * 0x1p-24).epsilon(1e-14));
  rule.accumulate = DType::f64;
  CHECK(tolerance_for(rule, DType::f32, {64, 0}, bytes).rtol == doctest::Approx(2 * 0x1p-24).epsilon(1e-6));
  rule.atol = 7;
  rule.max_mismatched_ratio = 0.25;
  rule.outlier_factor = 3;
  tolerance = tolerance_for(rule, DType::f32, {64, 0}, bytes);
  CHECK(tolerance.atol == 7);
  CHECK(tolerance.rtol == doctest::Approx(2 * 0x1p-24).epsilon(1e-6));
  CHECK(tolerance.max_mismatched_ratio == 0.25);
  CHECK(tolerance.outlier_factor == 3);
}

TEST_CASE("A few large values, or a mask of any size, do not widen the tolerance of the rest") {
  constexpr std::size_t length = 64;
  const Products products(1024, length, symmetric);
  const std::vector<double> sums = products.added(DType::f32, length);
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3})
    for (const double mask : {-400.0, -1e4, -1e9, -3.4e38})
      for (const std::size_t masked : {std::size_t{1}, std::size_t{500}, std::size_t{1000}}) {
        std::vector<double> expected = products.exact, actual = sums, halves = products.added(DType::f32, length / 8);
        for (std::size_t i = 0; i < masked; ++i) expected[i] = actual[i] = halves[i] = rounded(type, mask);
        const Comparison right = judged(type, actual, expected, {}, {length, 0});
        CHECK_MESSAGE(right.passed, right.text());
        const Comparison wrong = judged(type, halves, expected, {}, {length, 0});
        const double share = static_cast<double>(wrong.mismatched) / static_cast<double>(1024 - masked);
        CHECK_MESSAGE(share > 0.5, wrong.text());
      }
}

TEST_CASE("Rows of different magnitude have their own tolerances") {
  constexpr std::size_t length = 64, rows = 12, columns = 128;
  const Products products(rows * columns, length, symmetric);
  const std::vector<double> right = products.added(DType::f32, length), halves = products.added(DType::f32, length / 2);
  // The last kind is a matrix of which every other row is a mask.
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const bool masked : {false, true})
      for (std::size_t wrong_row = 0; wrong_row < rows; wrong_row += 2) {
        std::vector<double> expected = products.exact, actual = right;
        for (std::size_t i = 0; i < actual.size(); ++i) {
          const std::size_t row = i / columns;
          const double scale = std::pow(10, static_cast<double>(row % 6) - 2);
          expected[i] *= scale;
          actual[i] = (row == wrong_row ? halves : right)[i] * scale;
          if (masked && row % 2) expected[i] = actual[i] = -3e4;
        }
        // What the reference knows of its sums is a number of the whole array.
        for (const double known_scale : {0.0, 2 * typical_magnitude(DType::f64, encode_all(DType::f64, expected))}) {
          const Comparison wrong = judged(type, actual, expected, {}, {length, known_scale}, rows);
          CHECK_MESSAGE(wrong.mismatched > columns / 2, wrong.text());
          CHECK(wrong.mismatched <= columns);
          CHECK(wrong.first_coordinates.at(0) == wrong_row);
        }
      }
  std::vector<double> expected = products.exact;
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = i / columns == 5 ? 0 : expected[i] * (i < 640 ? 1 : 1e-6);
  const auto bytes = encode_all(DType::f32, expected);
  const auto by_shape = [&](std::vector<std::uint64_t> shape, ToleranceRule rule = {}) {
    return tolerance_for(rule, DType::f32, {length, 0}, bytes, shape);
  };
  const Tolerance whole = by_shape({rows * columns}), by_row = by_shape({3, 4, columns});
  CHECK(whole.row_atol.empty());
  REQUIRE(by_row.row_atol.size() == rows);
  CHECK(by_row.rtol == whole.rtol);
  CHECK(by_row.row_atol[4] > 1e5 * by_row.row_atol[6]);
  CHECK(by_row.atol == *std::max_element(by_row.row_atol.begin(), by_row.row_atol.end()));
  CHECK(by_row.row_atol[5] == whole.atol);  // a row of zeros
  CHECK(by_row.at(6 * columns).atol == by_row.row_atol[6]);
  // Too few elements for a scale; one row; a given atol.
  ToleranceRule given;
  given.atol = 0.5;
  for (const Tolerance& tolerance :
       {by_shape({48, 32}), by_shape({1, rows * columns}), by_shape({rows, columns}, given)})
    CHECK(tolerance.row_atol.empty());
  CHECK(by_shape({48, 32}).atol == whole.atol);
  CHECK(by_shape({rows, columns}, given).atol == 0.5);
}

TEST_CASE("Sums of rows that differ in magnitude pass, also by what the reference knows of them") {
  constexpr std::size_t length = 512, rows = 32, columns = 64;
  const Products products(rows * columns, length, symmetric);
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3}) {
    std::vector<double> expected = products.exact, actual = products.added(DType::f32, length);
    for (std::size_t i = 0; i < actual.size(); ++i)
      for (auto* values : {&expected, &actual}) (*values)[i] *= std::pow(2, static_cast<double>(i / columns % 4) - 4);
    const Comparison right = judged(type, actual, expected, {}, {length, 0}, rows);
    CHECK_MESSAGE(right.passed, right.text());
  }
  // Sums that cancel throughout: their terms are 1, and the rest of the array shows nothing of that.
  std::vector<double> expected(rows * columns, 0.0), actual(rows * columns, 1e-6);
  for (std::size_t i = 0; i < expected.size(); i += columns) expected[i] = actual[i] = 1;
  CHECK_FALSE(judged(DType::f32, actual, expected, {}, {5, 0}, rows).passed);
  CHECK(judged(DType::f32, actual, expected, {}, {5, 1}, rows).passed);
}

TEST_CASE("The typical magnitude is that of sums, without zeros and masks") {
  const auto of = [](const std::vector<double>& values) {
    return typical_magnitude(DType::f64, encode_all(DType::f64, values));
  };
  CHECK(of({}) == 0);
  CHECK(of({0, 0}) == 0);
  CHECK(of({0, -3}) == 3);
  CHECK(of({1, 2, 3, 1e30, std::nan("")}) == 3);
  CHECK(of({1, 2, 3, -1e9, -1e9, -1e9, -1e9, 0, 0, 0}) == 2);
  CHECK(of({5, 5, 5, 5, -7, -7, -7, -7}) == 5);
  CHECK(typical_magnitude(DType::c64, encode_all(DType::f32, {3, 4})) == 5);
  std::vector<double> many(200'000, -1e9);
  for (std::size_t i = 0; i < 20'000; ++i) many[i * 10] = 1 + 1e-6 * static_cast<double>(i);
  CHECK(of(many) == doctest::Approx(1.01).epsilon(0.005));
}

TEST_CASE("Elements for which 0 would pass are counted") {
  const auto count = [](DType type, double rtol, double atol) {
    const ZeroFacts facts = zero_facts(type, encode_all(type, {0, 1, -2, 3}), {rtol, atol});
    return std::pair(facts.agreeing, facts.others);
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(count(DType::f32, 0.5, 0) == Counts(0, 0));
  CHECK(count(DType::f32, 0, 2) == Counts(2, 3));
  CHECK(count(DType::f16, 0.5, 1) == Counts(2, 3));
  CHECK(count(DType::i8, 1, 0) == Counts(3, 3));
  const Tolerance by_row{0, 4, 0, 10, {4, 0.5}, 2};
  const ZeroFacts facts = zero_facts(DType::f32, encode_all(DType::f32, {3, 5, 3, 0.25}), by_row);
  CHECK(Counts(facts.agreeing, facts.others) == Counts(2, 4));
}

TEST_CASE("What is moved and what is whole must be equal; nothing is ever judged by more than a quarter") {
  const auto ones = encode_all(DType::f16, {1, 1});
  CHECK(tolerance_for({}, DType::f16, {0, 9}, ones).rtol == 0);
  CHECK(tolerance_for({}, DType::f16, {0, 9}, ones).atol == 0);
  for (const DType type : {DType::i8, DType::i64, DType::u32, DType::boolean}) {
    const auto whole = encode_all(type, {1, 1});
    CHECK(tolerance_for({}, type, {4096, 9}, whole).rtol == 0);
    CHECK(tolerance_for({}, type, {4096, 9}, whole).atol == 0);
  }
  ToleranceRule rule;
  rule.accumulate = DType::f8e5m2;
  CHECK(tolerance_for(rule, DType::f16, {1 << 20, 0}, ones).rtol == 0.25);
}

TEST_CASE("The unit roundoff is half the distance from 1 to the next number") {
  for (const DType type : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const double u = unit_roundoff(type);
    CHECK(rounded(type, 1 + 2 * u) == 1 + 2 * u);
    CHECK(rounded(type, 1 + u) == 1);
  }
}

TEST_CASE("Root mean squares neither overflow nor vanish, and are the same however long the array") {
  for (const double size : {1e-300, 1e300}) {
    const auto bytes = encode_all(DType::f64, std::vector<double>(100001, size));
    CHECK(root_mean_square(DType::f64, bytes) == doctest::Approx(size).epsilon(1e-12));
  }
  CHECK(root_mean_square(DType::f64, encode_all(DType::f64, {5e-324, -5e-324})) > 0);
  CHECK(root_mean_square(DType::f32, {}) == 0);
  CHECK(root_mean_square(DType::f32, encode_all(DType::f32, {0, 0, std::nan("")})) == 0);
}
