// Complex numbers: filled, stored, compared and computed with; and the counting fill of every type.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "builtin_call.hpp"
#include "core/validate/compare.hpp"

using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;
using namespace xtune::test;

namespace {

using Number = std::complex<double>;

Number element(const Array& array, std::uint64_t index) {
  const DType part = part_of(array.layout.dtype);
  const std::byte* at = array.data.data() + index * size_of(array.layout.dtype);
  return {decode(part, at), is_complex(array.layout.dtype) ? decode(part, at + size_of(part)) : 0};
}

Comparison judged(const std::vector<Number>& actual, const std::vector<Number>& expected, const Tolerance& tolerance) {
  const std::uint64_t shape[] = {actual.size()};
  return compare("C", DType::c128, std::as_bytes(std::span(actual)), std::as_bytes(std::span(expected)), shape,
                 tolerance);
}

}  // namespace

TEST_CASE("complex types are two floats, the real part first") {
  CHECK(size_of(DType::c64) == 8);
  CHECK(size_of(DType::c128) == 16);
  CHECK(dtype_from_string("c64") == DType::c64);
  CHECK(part_of(DType::c64) == DType::f32);
  CHECK(part_of(DType::c128) == DType::f64);
  CHECK(part_of(DType::bf16) == DType::bf16);
  CHECK(is_floating(DType::c64));
  CHECK_FALSE(is_complex(DType::f64));
  std::byte bytes[8];
  std::memset(bytes, 0xFF, sizeof bytes);
  encode(DType::c64, 1.5, bytes);
  float parts[2];
  std::memcpy(parts, bytes, sizeof bytes);
  CHECK(parts[0] == 1.5F);
  CHECK(parts[1] == 0);
  CHECK(decode(DType::c64, bytes) == 1.5);
}

TEST_CASE("complex fills: independent parts, but for those that count or are constant") {
  const Array uniform = make("z", DType::c128, {1000}), one = make("z", DType::c64, {3}, Fill::one),
              counted = make("z", DType::c64, {5}, Fill::range);
  double product = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Number z = element(uniform, i);
    CHECK(std::abs(z.real()) < 1);
    CHECK(std::abs(z.imag()) < 1);
    product += z.real() * z.imag();
  }
  CHECK(std::abs(product / 1000) < 0.05);
  CHECK(element(one, 2) == Number(1, 0));
  CHECK(element(counted, 4) == Number(4, 0));
}

TEST_CASE("complex numbers are judged by the magnitude of their difference") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK(judged({{3, 4}}, {{3, 4}}, {}).passed);
  CHECK(judged({{3 + 3, 4 + 4}}, {{3, 4}}, {1, 0, 0}).passed);
  CHECK_FALSE(judged({{3 + 3, 4 + 4.001}}, {{3, 4}}, {1, 0, 0}).passed);
  const Comparison result = judged({{1, 1}, {0.5, -2}}, {{1, 1}, {0.5, 2}}, {});
  CHECK(result.mismatched == 1);
  CHECK(result.max_abs_error == 4);
  CHECK(result.text().find("got 0.5-2i, expected 0.5+2i") != std::string::npos);
  CHECK(judged({{nan, 0}}, {{0, nan}}, {}).passed);
  CHECK(judged({{1, nan}}, {{1, 0}}, {inf, inf, 1}).nans == 1);
  CHECK_FALSE(judged({{1, nan}}, {{1, 0}}, {1, 1, 1}).passed);
  CHECK(judged({{1, inf}}, {{1, 0}}, {1, 1, 1}).infinities == 1);
  CHECK(judged({{1, inf}}, {{1, inf}}, {}).passed);
  CHECK_FALSE(judged({{2, inf}}, {{1, inf}}, {9, 9, 1}).passed);
  const std::vector<Number> expected{{3, 4}, {0, 5}};
  CHECK(root_mean_square(DType::c128, std::as_bytes(std::span(expected))) == doctest::Approx(5));
}

TEST_CASE("products and sums of complex numbers equal the plain loop") {
  const Array a = make("A", DType::c128, {5, 9}), b = make("B", DType::c64, {7, 9}), c = make("C", DType::c128, {5, 7});
  const Array out = run("gemm", {{"a", &a}, {"b", &b}, {"c", &c}}, DType::c128, {5, 7},
                        {{"alpha", 2.0}, {"beta", -1.0}, {"transpose_b", true}});
  for (std::uint64_t i = 0; i < 35; ++i) {
    Number sum = 0;
    for (std::uint64_t k = 0; k < 9; ++k) sum += element(a, i / 7 * 9 + k) * element(b, i % 7 * 9 + k);
    CHECK(std::abs(element(out, i) - (2.0 * sum - element(c, i))) < 1e-13);
  }
  const Array real = make("x", DType::f64, {9});
  const Array product = run("gemv", {{"a", &a}, {"x", &real}}, DType::c128, {5});
  const Array rows = run("reduction", {{"x", &a}}, DType::c128, {5}, {{"axis", std::int64_t{1}}});
  const Array all = run("reduction", {{"x", &a}}, DType::c128, {1}, {{"op", std::string("mean")}});
  Number total = 0;
  for (std::uint64_t i = 0; i < 5; ++i) {
    Number weighted = 0, sum = 0;
    for (std::uint64_t k = 0; k < 9; ++k) {
      weighted += element(a, i * 9 + k) * element(real, k);
      sum += element(a, i * 9 + k);
    }
    total += sum;
    CHECK(std::abs(element(product, i) - weighted) < 1e-13);
    CHECK(std::abs(element(rows, i) - sum) < 1e-13);
  }
  CHECK(std::abs(element(all, 0) - total / 45.0) < 1e-13);
  const Array turned = run("transpose", {{"x", &a}}, DType::c128, {9, 5});
  CHECK(element(turned, 3 * 5 + 2) == element(a, 2 * 9 + 3));
}

TEST_CASE("what is not defined for complex numbers, or would lose a part, is refused") {
  const Array z = make("z", DType::c64, {4, 4}), x = make("x", DType::f32, {4, 4});
  CHECK(has(refused([&] { run("softmax", {{"x", &z}}, DType::c64, {4, 4}); }), "only with real numbers"));
  CHECK(has(refused([&] { run("gemm", {{"a", &z}, {"b", &x}}, DType::f32, {4, 4}); }), "array 'a' is c64[4, 4]"));
  CHECK(has(refused([&] { run("transpose", {{"x", &z}}, DType::c128, {4, 4}); }), "not converted"));
  CHECK(has(refused([&] {
              run("reduction", {{"x", &z}}, DType::c64, {1}, {{"op", std::string("max")}});
            }),
            "sums and means"));
}

TEST_CASE("a range counts from 0, and again where the type would skip an integer") {
  const auto last_before_zero = [](DType type, std::uint64_t length) {
    const Array array = make("r", type, {length}, Fill::range);
    CHECK(array.at(0) == 0);
    for (std::uint64_t i = 1; i < length; ++i) {
      if (array.at(i) == 0) return array.at(i - 1);
      if (array.at(i) != array.at(i - 1) + 1) FAIL("a gap at " << i);
    }
    return -1.0;
  };
  CHECK(last_before_zero(DType::i8, 300) == 127);
  CHECK(last_before_zero(DType::u8, 300) == 255);
  CHECK(last_before_zero(DType::i16, 40000) == 32767);
  CHECK(last_before_zero(DType::boolean, 5) == 1);
  CHECK(last_before_zero(DType::f8e4m3, 40) == 15);
  CHECK(last_before_zero(DType::f8e5m2, 40) == 7);
  CHECK(last_before_zero(DType::bf16, 300) == 255);
  CHECK(last_before_zero(DType::f16, 3000) == 2047);
  CHECK(last_before_zero(DType::f32, 100000) == -1);
  CHECK(last_before_zero(DType::i64, 100000) == -1);
}
