// Comparison of outputs: tolerances, traps, poison and the report, also against a plain loop on random data.
#include "core/validate/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/random.hpp"
#include "core/validate/inputs.hpp"
#include "unit/validate/encode_all.hpp"

using namespace xtune::base;
using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;
using namespace xtune::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

Comparison compare_values(DType type, const std::vector<double>& actual, const std::vector<double>& expected,
                          const Tolerance& tolerance = {}) {
  const std::uint64_t shape[] = {actual.size()};
  return compare("C", type, encode_all(type, actual), encode_all(type, expected), shape, tolerance);
}

template <class T>
Comparison compare_exactly(DType type, const std::vector<T>& actual, const std::vector<T>& expected,
                           const Tolerance& tolerance = {}) {
  const std::uint64_t shape[] = {actual.size()};
  return compare("C", type, std::as_bytes(std::span(actual)), std::as_bytes(std::span(expected)), shape, tolerance);
}

const DType float_types[] = {DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64};

}  // namespace

TEST_CASE("equal arrays pass with no tolerance") {
  for (const DType type : {DType::f8e4m3, DType::f16, DType::f32, DType::f64, DType::i8, DType::u64, DType::boolean}) {
    const Comparison result = compare_values(type, {0, 1, 1, 0}, {0, 1, 1, 0});
    CHECK(result.passed);
    CHECK(result.count == 4);
    CHECK(result.max_abs_error == 0);
    CHECK_FALSE(result.first_index);
  }
  CHECK(compare_values(DType::f32, {}, {}).passed);
}

TEST_CASE("the tolerance's edge belongs to it") {
  const Tolerance tolerance{0.5, 1, 0};
  CHECK(compare_values(DType::f64, {4}, {2}, tolerance).passed);
  CHECK_FALSE(compare_values(DType::f64, {std::nextafter(4.0, 5)}, {2}, tolerance).passed);
  CHECK(compare_values(DType::f64, {-4}, {-2}, tolerance).passed);
  // The expected value scales the tolerance, not the actual one.
  CHECK_FALSE(compare_values(DType::f64, {2}, {0.5}, tolerance).passed);
  CHECK(compare_values(DType::f64, {0.5}, {2}, {0.75, 0, 0}).passed);
  CHECK(compare_values(DType::f32, {-0.0}, {0.0}).passed);
}

TEST_CASE("each row has its tolerance, which the report names") {
  for (const DType type : {DType::i32, DType::f16, DType::f32, DType::f64, DType::c64}) {
    const std::size_t columns = 1500, parts = type == DType::c64 ? 2 : 1;  // longer than what is compared at once
    const std::uint64_t shape[] = {3, columns};
    std::vector<double> expected(3 * columns * parts, 2.0), actual = expected;
    for (std::size_t i = 0; i < actual.size(); i += parts) actual[i] = 5;
    const Tolerance tolerance{0, 4, 0, 10, {3, 2, 4}, columns};
    const auto judged = [&] {
      const DType part = part_of(type);
      return compare("C", type, encode_all(part, actual), encode_all(part, expected), shape, tolerance);
    };
    const Comparison wrong = judged();
    CHECK(wrong.mismatched == columns);
    CHECK(wrong.first_coordinates == std::vector<std::uint64_t>{1, 0});
    CHECK(wrong.text().find("tolerance rtol 0, atol 2") != std::string::npos);
    CHECK(wrong.tolerance.row_atol.empty());
    for (std::size_t i = columns; i < 2 * columns; ++i) actual[i * parts] = 4;
    CHECK(judged().passed);
    CHECK(judged().tolerance.atol == 4);
  }
}

TEST_CASE("NaN never passes where the reference has none, for any ratio and tolerance") {
  for (const DType type : float_types) {
    const Comparison result = compare_values(type, {1, not_a_number, 1}, {1, 1, 1}, {1e9, inf, 1.0});
    CHECK_FALSE(result.passed);
    CHECK(result.nans == 1);
    CHECK(result.mismatched == 1);
    CHECK(*result.first_index == 1);
    CHECK(std::isnan(result.actual));
    CHECK(result.expected == 1);
    CHECK_FALSE(compare_values(type, {not_a_number}, {inf}, {1e9, inf, 1.0}).passed);
  }
  CHECK_FALSE(compare_values(DType::f8e4m3, {not_a_number}, {1}, {1e9, inf, 1.0}).passed);
}

TEST_CASE("only NaN matches a NaN in the reference") {
  for (const DType type : float_types) {
    CHECK(compare_values(type, {not_a_number, 2}, {not_a_number, 2}).passed);
    const Comparison result = compare_values(type, {0, 2}, {not_a_number, 2}, {1e9, inf, 0});
    CHECK_FALSE(result.passed);
    CHECK(result.nans == 0);
    CHECK_FALSE(compare_values(type, {0, 2}, {not_a_number, 2}, {1e9, inf, 0.5}).passed);
  }
}

TEST_CASE("infinities agree only with themselves") {
  for (const DType type : float_types) {
    CHECK(compare_values(type, {inf, -inf}, {inf, -inf}).passed);
    for (const Tolerance& tolerance : {Tolerance{}, Tolerance{1, 1, 0}, Tolerance{inf, inf, 0}}) {
      CHECK(compare_values(type, {inf, -inf, -inf}, {-inf, inf, 1}, tolerance).mismatched == 3);
      CHECK(compare_values(type, {1}, {inf}, tolerance).mismatched == 1);
    }
    const Comparison overflowed = compare_values(type, {1, inf, -inf, inf}, {1, 1, 1, inf}, {1, inf, 1, inf});
    CHECK_FALSE(overflowed.passed);
    CHECK(overflowed.infinities == 2);
    CHECK_FALSE(compare_values(type, {1, 1}, {1, inf}, {1, inf, 1}).passed);
  }
  // Finite, yet further apart than the largest double.
  const double largest = std::numeric_limits<double>::max();
  const Comparison result = compare_values(DType::f64, {largest}, {-largest}, {0.5, 0, 0});
  CHECK(result.mismatched == 1);
  CHECK(std::isfinite(result.max_abs_error));
}

TEST_CASE("the ratio of elements that may differ") {
  std::vector<double> actual(100, 1.0), expected(100, 1.0);
  for (std::size_t i = 0; i < 29; ++i) actual[i * 3] = 1.5;
  CHECK(compare_values(DType::f32, actual, expected, {0, 0.1, 0.29}).passed);
  CHECK_FALSE(compare_values(DType::f32, actual, expected, {0, 0.1, 0.28}).passed);
  CHECK_FALSE(compare_values(DType::f32, actual, expected, {0, 0.1, 0.2899}).passed);
  CHECK(compare_values(DType::f32, actual, expected, {0, 0.1, 1}).passed);
  CHECK(allowed_mismatches(4096, 0.01) == 40);
  CHECK(allowed_mismatches(10, not_a_number) == 0);
  CHECK(allowed_mismatches(10, -1) == 0);
  CHECK(allowed_mismatches(10, 7) == 10);
}

TEST_CASE("mismatches within the ratio must still be near") {
  const std::vector<double> expected(100, 4.0);
  const auto with = [&](DType type, double value, const Tolerance& tolerance) {
    std::vector<double> actual = expected;
    actual[7] = value;
    return compare_values(type, actual, expected, tolerance);
  };
  for (const DType type : {DType::f16, DType::f32, DType::f64}) {
    CHECK(with(type, 14, {0.25, 0, 0.5}).passed);
    const Comparison far = with(type, 14.125, {0.25, 0, 0.5});
    CHECK_FALSE(far.passed);
    CHECK(far.outliers == 1);
    CHECK(far.text().find("; 1 by more than 10 times the tolerance") != std::string::npos);
    CHECK(with(type, 14.125, {0.25, 0, 0.5, 11}).passed);
    CHECK_FALSE(with(type, 14, {0.25, 0, 0}).passed);  // near, but none is forgiven
    CHECK_FALSE(with(type, -1e4, {0.25, 0, 0.5, 100}).passed);
    CHECK(with(type, -1e4, {0.25, 0, 0.5, inf}).passed);
  }
  // If the tolerance is 0, steps of the type count: 2^-10 at 4 in f16 is 2^-8.
  CHECK(with(DType::f16, 4 + 10 * 0x1p-8, {0, 0, 0.5}).passed);
  CHECK_FALSE(with(DType::f16, 4 + 11 * 0x1p-8, {0, 0, 0.5}).passed);
  CHECK(with(DType::i8, 14, {0, 0, 0.5}).passed);
  CHECK_FALSE(with(DType::i8, 15, {0, 0, 0.5}).passed);
  CHECK(with(DType::u64, 5, {0, 0, 0.5, 1}).passed);
}

TEST_CASE("integers are compared without rounding") {
  const std::int64_t big = (std::int64_t{1} << 53);
  CHECK(compare_exactly<std::int64_t>(DType::i64, {big + 1}, {big}).mismatched == 1);
  CHECK(compare_exactly<std::int64_t>(DType::i64, {big + 1}, {big}, {0, 1, 0}).passed);
  CHECK(compare_exactly<std::int64_t>(DType::i64, {std::numeric_limits<std::int64_t>::min()},
                                      {std::numeric_limits<std::int64_t>::max()})
            .max_abs_error == 0x1p64);
  CHECK(compare_exactly<std::uint64_t>(DType::u64, {~std::uint64_t{0}}, {~std::uint64_t{0} - 1}).max_abs_error == 1);
  CHECK(compare_exactly<std::int8_t>(DType::i8, {-128}, {127}).max_abs_error == 255);
  const Comparison result = compare_exactly<std::int32_t>(DType::i32, {5, 7, -3}, {5, 6, 3});
  CHECK(result.mismatched == 2);
  CHECK(*result.first_index == 1);
  CHECK(result.actual == 7);
  CHECK(result.max_rel_error == 2);
}

TEST_CASE("poison that is still there is counted, unless the reference holds the same bytes") {
  for (const DType type : {DType::f8e4m3, DType::f16, DType::f32, DType::f64, DType::i32, DType::u8}) {
    auto expected = encode_all(type, {1, 2, 3, 1});
    auto actual = expected;
    const std::size_t size = size_of(type);
    std::memset(actual.data() + size, std::to_integer<int>(poison_byte(type)), 2 * size);
    const std::uint64_t shape[] = {4};
    const Comparison result = compare("C", type, actual, expected, shape, {0, 1e10, 0});
    CHECK(result.unwritten == 2);
    CHECK(result.passed == !is_floating(type));
    CHECK(compare("C", type, actual, actual, shape, {}).unwritten == 0);
  }
}

TEST_CASE("the report") {
  std::vector<double> expected(4096, 1.5), actual = expected;
  for (int i = 0; i < 12; ++i) actual[static_cast<std::size_t>(209 + 300 * i)] = i == 0 ? not_a_number : 1.75;
  const std::uint64_t shape[] = {64, 64};
  const Comparison result = compare("C", DType::f32, encode_all(DType::f32, actual), encode_all(DType::f32, expected),
                                    shape, {1e-3, 0, 0.001});
  CHECK(result.first_coordinates == std::vector<std::uint64_t>{3, 17});
  CHECK(result.text() ==
        "C: 12 of 4096 elements differ (0.29 %, 4 allowed); first at [3, 17]: got nan, expected 1.5; max abs error "
        "0.25, rel 0.167; tolerance rtol 0.001, atol 0; "
        "1 NaN where the reference has none; 11 by more than 10 times the tolerance");
  CHECK(compare_values(DType::f32, {1, 1.5}, {1, 1}, {1, 0, 0}).text() ==
        "C: all 2 elements agree; max abs error 0.5, rel 0.5");
}

TEST_CASE("sizes that contradict each other are refused") {
  const std::vector<std::byte> four(4), eight(8);
  const std::uint64_t one[] = {1}, huge[] = {std::uint64_t{1} << 62, 16};
  CHECK_THROWS_AS(compare("C", DType::f32, four, eight, one, {}), std::invalid_argument);
  CHECK_THROWS_AS(compare("C", DType::f32, eight, eight, one, {}), std::invalid_argument);
  CHECK_THROWS_AS(compare("C", DType::f32, eight, eight, huge, {}), std::invalid_argument);
}

TEST_CASE("large arrays give what a plain loop gives") {
  Random random(3);
  for (const DType type : {DType::f32, DType::f16, DType::f64}) {
    const std::size_t count = 300001;
    std::vector<double> expected(count), actual(count);
    const Tolerance tolerance{1e-2, 1e-3, 0};
    for (std::size_t i = 0; i < count; ++i) {
      expected[i] = 4 * random.uniform() - 2;
      actual[i] = random.below(1000) == 0 ? expected[i] * 1.5 : expected[i] * 1.001;
      if (random.below(50000) == 0) actual[i] = not_a_number;
      if (random.below(50000) == 0) actual[i] = expected[i] = inf;
    }
    const Comparison result = compare_values(type, actual, expected, tolerance);
    std::uint64_t mismatched = 0, first = count;
    double largest = 0;
    const auto a = encode_all(type, actual), e = encode_all(type, expected);
    for (std::size_t i = 0; i < count; ++i) {
      const double got = decode(type, a.data() + i * size_of(type)), want = decode(type, e.data() + i * size_of(type));
      const bool same = got == want || std::abs(got - want) <= tolerance.atol + tolerance.rtol * std::abs(want);
      if (!same) ++mismatched;
      if (!same && first == count) first = i;
      if (std::isfinite(got) && std::isfinite(want)) largest = std::max(largest, std::abs(got - want));
    }
    CHECK(result.mismatched == mismatched);
    CHECK(*result.first_index == first);
    CHECK(result.max_abs_error == largest);
    CHECK(mismatched > 0);
  }
}

TEST_CASE("A float that the reference left unwritten agrees with the same bits only, and is never forgiven") {
  for (const DType type : {DType::f8e4m3, DType::f8e5m2, DType::bf16, DType::f16, DType::f32, DType::f64, DType::c64}) {
    CAPTURE(to_string(type));
    auto expected = encode_all(type, {1, 2, 3, 1});
    const std::size_t size = size_of(type);
    std::memset(expected.data() + size, 0xFF, size);
    auto actual = expected;
    const std::uint64_t shape[] = {4};
    const Tolerance loose{1, 1e9, 1, std::numeric_limits<double>::infinity()};
    CHECK(compare("C", type, actual, expected, shape, loose).passed);
    encode(type, 2.0, actual.data() + size);
    CHECK_FALSE(compare("C", type, actual, expected, shape, loose).passed);
    std::memset(actual.data() + size, 0xFF, size);
    actual[2 * size - 1] = std::byte{0x7F};  // NaN with other bits
    CHECK_FALSE(compare("C", type, actual, expected, shape, loose).passed);
    CHECK(compare("C", type, actual, actual, shape, loose).passed);
    CHECK(compare("C", type, expected, actual, shape, loose).passed);  // NaN that the reference wrote
  }
}

TEST_CASE("No integer type is poisoned with what stands for nothing found: -1, 0 or the largest value") {
  for (const DType type :
       {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean}) {
    CHECK(poison_byte(type) != std::byte{0xFF});
    CHECK(poison_byte(type) != std::byte{0x7F});
    CHECK(poison_byte(type) != std::byte{0});
  }
  for (const DType type : {DType::f8e4m3, DType::f8e5m2, DType::bf16, DType::f16, DType::f32, DType::f64}) {
    const std::vector<std::byte> element(size_of(type), poison_byte(type));
    CHECK(std::isnan(decode(type, element.data())));
    CHECK(holds_poison(type, element.data()));
  }
}
