// The built-in references against plain loops, and their errors.

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "builtin_call.hpp"
#include "encode_all.hpp"
#include "system/parallel.hpp"

using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;
using namespace xtune::test;

TEST_CASE("gemm of any shape, orientation and scaling equals the plain triple loop") {
  struct Case {
    std::uint64_t m, n, k;
  };
  for (const Case& s : {Case{1, 1, 1}, Case{3, 5, 7}, Case{9, 300, 131}, Case{33, 17, 260}, Case{8, 256, 128},
                        Case{2, 3, 0}, Case{0, 4, 2}})
    for (int orientation = 0; orientation < 4; ++orientation) {
      const bool ta = orientation & 1, tb = orientation & 2;
      const Array a = make("A", DType::f64, ta ? std::vector{s.k, s.m} : std::vector{s.m, s.k});
      const Array b = make("B", DType::f64, tb ? std::vector{s.n, s.k} : std::vector{s.k, s.n});
      const Array c = make("C", DType::f64, {s.m, s.n});
      const Array out = run("gemm", {{"a", &a}, {"b", &b}, {"c", &c}}, DType::f64, {s.m, s.n},
                            {{"alpha", 2.0}, {"beta", std::int64_t{-3}}, {"transpose_a", ta}, {"transpose_b", tb}});
      for (std::uint64_t i = 0; i < s.m; ++i)
        for (std::uint64_t j = 0; j < s.n; ++j) {
          double sum = 0;
          for (std::uint64_t k = 0; k < s.k; ++k)
            sum += a.at(ta ? k * s.m + i : i * s.k + k) * b.at(tb ? j * s.k + k : k * s.n + j);
          const double want = 2 * sum - 3 * c.at(i * s.n + j);
          if (std::abs(out.at(i * s.n + j) - want) > 1e-12 * (1 + std::abs(want)))
            FAIL(s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j);
        }
    }
}

TEST_CASE("gemm of small integers is exact in every dtype that holds the result") {
  const Array a = make("A", DType::i8, {20, 40}), b = make("B", DType::i8, {40, 30});
  const Array wide = run("gemm", {{"a", &a}, {"b", &b}}, DType::i32, {20, 30});
  const Array half = run("gemm", {{"a", &a}, {"b", &b}}, DType::f16, {20, 30});
  for (std::uint64_t i = 0; i < 600; ++i) {
    double want = 0;
    for (std::uint64_t k = 0; k < 40; ++k) want += a.at(i / 30 * 40 + k) * b.at(k * 30 + i % 30);
    CHECK(wide.at(i) == want);
    CHECK(half.at(i) == want);
  }
}

TEST_CASE("results of integers wrap, and those of floats saturate, as conversions in kernels do") {
  Array a = make("A", DType::i32, {1, 2}), b = make("B", DType::i32, {2, 1});
  const std::int32_t factors[2] = {100'000, 5};
  for (Array* const each : {&a, &b}) std::memcpy(each->data.data(), factors, sizeof factors);
  const std::map<std::string, const Array*> both{{"a", &a}, {"b", &b}};
  CHECK(run("gemm", both, DType::i32, {1, 1}).at(0) == 1'410'065'433);  // 10^10 + 25 - 2 * 2^32
  CHECK(run("gemm", both, DType::u8, {1, 1}).at(0) == 25);
  CHECK(run("gemm", both, DType::i64, {1, 1}).at(0) == 1e10 + 25);
  CHECK(run("gemm", both, DType::i8, {1, 1}, {{"alpha", 0.5}}).at(0) == 127);
  CHECK(run("transpose", {{"x", &a}}, DType::u8, {2, 1}).at(0) == 100'000 % 256);
  const std::int32_t large[2] = {2'000'000'000, 2'000'000'000};
  for (Array* const each : {&a, &b}) std::memcpy(each->data.data(), large, sizeof large);
  CHECK_THROWS_AS(run("gemm", both, DType::i32, {1, 1}), Error);
}

TEST_CASE("gemm takes 8-bit floats, whose products are exact") {
  const Array a = make("A", DType::f8e4m3, {9, 33}), b = make("B", DType::f8e5m2, {33, 5});
  const Array wide = run("gemm", {{"a", &a}, {"b", &b}}, DType::f32, {9, 5});
  const Array narrow = run("gemm", {{"a", &a}, {"b", &b}}, DType::bf16, {9, 5});
  for (std::uint64_t i = 0; i < 9; ++i)
    for (std::uint64_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (std::uint64_t k = 0; k < 33; ++k) sum += a.at(i * 33 + k) * b.at(k * 5 + j);
      CHECK(sum == std::trunc(sum));  // small integers
      CHECK(wide.at(i * 5 + j) == sum);
      CHECK(narrow.at(i * 5 + j) == sum);
    }
}

TEST_CASE("results too large for an 8-bit float become its largest number, and NaN stays NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Array a = make("A", DType::f32, {3, 1}), b = make("B", DType::f32, {1, 1});
  a.data = encode_all(DType::f32, {1000, -1e9, nan});
  b.data = encode_all(DType::f32, {100});
  for (const auto& [dtype, largest] : {std::pair(DType::f8e4m3, 448.0), std::pair(DType::f8e5m2, 57344.0)}) {
    const Array out = run("gemm", {{"a", &a}, {"b", &b}}, dtype, {3, 1});
    CHECK(out.at(0) == largest);
    CHECK(out.at(1) == -largest);
    CHECK(std::isnan(out.at(2)));
  }
}

TEST_CASE("gemm with beta = 0 does not look at c") {
  const Array a = make("A", DType::f32, {2, 2}), b = make("B", DType::f32, {2, 2});
  Array c = make("C", DType::f32, {2, 2});
  std::memset(c.data.data(), 0xFF, c.data.size());
  const Array out = run("gemm", {{"a", &a}, {"b", &b}, {"c", &c}}, DType::f32, {2, 2});
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(std::isfinite(out.at(i)));
}

TEST_CASE("gemm of 512^3 is the same for any number of threads") {
  const Array a = make("A", DType::f32, {512, 512}), b = make("B", DType::f32, {512, 512});
  const Array once = run("gemm", {{"a", &a}, {"b", &b}}, DType::f64, {512, 512});
  double sum = 0;
  for (std::uint64_t k = 0; k < 512; ++k) sum += a.at(77 * 512 + k) * b.at(k * 512 + 400);
  CHECK(once.at(77 * 512 + 400) == doctest::Approx(sum).epsilon(1e-12));
  CHECK(run("gemm", {{"a", &a}, {"b", &b}}, DType::f64, {512, 512}).data == once.data);
}

TEST_CASE("calls that gemm refuses, by name") {
  const Array a = make("A", DType::f32, {2, 3}), b = make("B", DType::f32, {4, 5});
  CHECK(has(refused([&] { run("gemm", {{"a", &a}, {"b", &b}}, DType::f32, {2, 5}); }), "a is f32[2, 3], b f32[4, 5]"));
  CHECK(has(refused([&] { run("gemm", {{"a", &a}}, DType::f32, {2, 5}); }), "needs an array 'b'"));
  CHECK(has(refused([&] { run("gemm", {{"a", &a}, {"b", &a}, {"x", &a}}, DType::f32, {2, 2}); }), "no array 'x'"));
  CHECK(has(refused([&] {
              run("gemm", {{"a", &a}, {"b", &a}}, DType::f32, {2, 2}, {{"transpose_b", true}, {"beta", 1.0}});
            }),
            "'c'"));
  CHECK(has(refused([&] { run("gemm", {{"a", &a}, {"b", &a}}, DType::f32, {2, 2}, {{"alpa", 1.0}}); }), "'alpha'"));
  CHECK(has(refused([&] {
              run("gemm", {{"a", &a}, {"b", &a}}, DType::f32, {2, 2}, {{"alpha", std::string("x")}});
            }),
            "'alpha' is a string"));
  CHECK(has(refused([&] { run("gem", {{"a", &a}}, DType::f32, {2, 2}); }), "'gemm'"));
  const Array line = make("L", DType::f32, {6});
  CHECK(has(refused([&] { run("gemm", {{"a", &line}, {"b", &a}}, DType::f32, {2, 2}); }), "a is f32[6]"));
  CHECK(has(refused([&] {
              run("gemm", {{"a", &a}, {"b", &b}}, DType::f32, {std::uint64_t{1} << 50, 1000});
            }),
            "'out'"));
  Array cut = a;
  cut.data.resize(5);
  CHECK(has(refused([&] { run("gemm", {{"a", &cut}, {"b", &b}}, DType::f32, {2, 5}); }), "5 bytes"));
}

TEST_CASE("reductions over all elements") {
  const Array x = make("x", DType::f32, {1000, 77});
  double sum = 0, least = 2, most = -2;
  for (std::uint64_t i = 0; i < 77000; ++i) {
    sum += x.at(i);
    least = std::min(least, x.at(i));
    most = std::max(most, x.at(i));
  }
  const auto value = [&](const char* op) {
    return run("reduction", {{"x", &x}}, DType::f64, {1}, {{"op", std::string(op)}}).at(0);
  };
  CHECK(value("sum") == doctest::Approx(sum).epsilon(1e-12));
  CHECK(value("mean") == doctest::Approx(sum / 77000).epsilon(1e-12));
  CHECK(value("min") == least);
  CHECK(value("max") == most);
  CHECK(run("reduction", {{"x", &x}}, DType::f64, {}).at(0) == value("sum"));
}

TEST_CASE("reductions over each axis equal the plain loop") {
  const Array x = make("x", DType::f64, {5, 300, 7});
  for (const std::int64_t axis : {0, 1, 2, -1, -2, -3})
    for (const char* op : {"sum", "min", "max", "mean"}) {
      const auto a = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      std::vector<std::uint64_t> shape = x.layout.shape;
      const std::uint64_t length = shape[a];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(a));
      const Array out = run("reduction", {{"x", &x}}, DType::f64, shape, {{"op", std::string(op)}, {"axis", axis}});
      const std::uint64_t inner = a == 2 ? 1 : a == 1 ? 7 : 2100;
      for (std::uint64_t i = 0; i < out.layout.elements(); ++i) {
        double total = 0, least = 2, most = -2;
        for (std::uint64_t k = 0; k < length; ++k) {
          const double v = x.at((i / inner * length + k) * inner + i % inner);
          total += v;
          least = std::min(least, v);
          most = std::max(most, v);
        }
        const double want = op[0] == 's'   ? total
                            : op[1] == 'i' ? least
                            : op[1] == 'a' ? most
                                           : total / static_cast<double>(length);
        if (std::abs(out.at(i) - want) > 1e-12) FAIL(op << " over axis " << axis << " at " << i);
      }
    }
  CHECK(run("reduction", {{"x", &x}}, DType::f64, {5, 1, 7}, {{"axis", std::int64_t{1}}}).data.size() == 35 * 8);
}

TEST_CASE("integer sums are exact, and wrap as the output's type does") {
  Array x = make("x", DType::i64, {3});
  const std::int64_t values[3] = {(std::int64_t{1} << 53) + 1, 1,
                                  std::numeric_limits<std::int64_t>::max() - (std::int64_t{1} << 53) - 2};
  std::memcpy(x.data.data(), values, sizeof values);
  std::int64_t sum = 0;
  std::memcpy(&sum, run("reduction", {{"x", &x}}, DType::i64, {1}).data.data(), 8);
  CHECK(sum == std::numeric_limits<std::int64_t>::max());
  CHECK(run("reduction", {{"x", &x}}, DType::i32, {1}).at(0) == -1);
  const std::int64_t beyond[3] = {std::numeric_limits<std::int64_t>::max(), 3, 200};
  std::memcpy(x.data.data(), beyond, sizeof beyond);
  std::memcpy(&sum, run("reduction", {{"x", &x}}, DType::i64, {1}).data.data(), 8);
  CHECK(sum == std::numeric_limits<std::int64_t>::min() + 202);
  CHECK(run("reduction", {{"x", &x}}, DType::u8, {1}).at(0) == 202);
  Array u = make("x", DType::u64, {2});
  const std::uint64_t large[2] = {~std::uint64_t{0} - 5, 4};
  std::memcpy(u.data.data(), large, sizeof large);
  std::uint64_t total = 0;
  std::memcpy(&total, run("reduction", {{"x", &u}}, DType::u64, {1}).data.data(), 8);
  CHECK(total == ~std::uint64_t{0} - 1);
  std::memcpy(&total, run("reduction", {{"x", &u}}, DType::u64, {1}, {{"op", std::string("max")}}).data.data(), 8);
  CHECK(total == large[0]);
}

TEST_CASE("a NaN anywhere makes every reduction NaN") {
  for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{20000}, std::uint64_t{39999}})
    for (const char* op : {"sum", "min", "max", "mean"}) {
      Array x = make("x", DType::f32, {40000});
      encode(DType::f32, std::nan(""), x.data.data() + place * 4);
      CHECK(std::isnan(run("reduction", {{"x", &x}}, DType::f32, {1}, {{"op", std::string(op)}}).at(0)));
    }
}

TEST_CASE("calls that reduction refuses") {
  const Array x = make("x", DType::f32, {4, 5}), none = make("x", DType::f32, {0});
  CHECK(has(refused([&] { run("reduction", {{"x", &x}}, DType::f32, {4}); }), "name an axis"));
  CHECK(has(refused([&] {
              run("reduction", {{"x", &x}}, DType::f32, {4}, {{"axis", std::int64_t{0}}});
            }),
            "it must be f32[5]"));
  CHECK(has(refused([&] {
              run("reduction", {{"x", &x}}, DType::f32, {4}, {{"axis", std::int64_t{2}}});
            }),
            "axis is 2"));
  CHECK(has(refused([&] {
              run("reduction", {{"x", &x}}, DType::f32, {4}, {{"axis", std::int64_t{-3}}});
            }),
            "axis is -3"));
  CHECK(has(refused([&] { run("reduction", {{"x", &x}}, DType::f32, {4}, {{"axis", 1.0}}); }), "axis is 1.0"));
  CHECK(has(refused([&] { run("reduction", {{"x", &x}}, DType::f32, {1}, {{"op", std::string("prod")}}); }), "'prod'"));
  CHECK(has(refused([&] {
              run("reduction", {{"x", &none}}, DType::f32, {1}, {{"op", std::string("min")}});
            }),
            "no elements"));
  CHECK(run("reduction", {{"x", &none}}, DType::f32, {1}).at(0) == 0);
}

TEST_CASE("transpose moves bits, or converts") {
  Array x = make("x", DType::f32, {45, 70});
  std::memset(x.data.data(), 0xFF, 4);  // a NaN with a payload
  const Array out = run("transpose", {{"x", &x}}, DType::f32, {70, 45});
  const Array half = run("transpose", {{"x", &x}}, DType::f16, {70, 45});
  for (std::uint64_t row = 0; row < 45; ++row)
    for (std::uint64_t column = 0; column < 70; ++column) {
      const bool same =
          std::memcmp(out.data.data() + (column * 45 + row) * 4, x.data.data() + (row * 70 + column) * 4, 4) == 0;
      if (!same) FAIL(row << ", " << column);
    }
  CHECK(std::abs(half.at(1) - x.at(70)) < 1e-3);
  CHECK(has(refused([&] {
              run("transpose", {{"x", &x}}, DType::f32, {45, 70});
            }),
            "x is f32[45, 70] and the output f32[45, 70]"));
}

TEST_CASE("signatures") {
  for (const std::string& name : builtin_names()) CHECK(builtin_signature(name) != nullptr);
  CHECK(builtin_signature("gemm")->required == std::vector<std::string>{"a", "b"});
  CHECK(builtin_signature("nothing") == nullptr);
}

TEST_CASE("parallel_for covers every index once and passes exceptions on") {
  std::vector<std::atomic<int>> seen(10007);
  system::parallel_for(seen.size(), 64, [&](std::uint64_t begin, std::uint64_t end) {
    CHECK(end - begin <= 64);
    for (std::uint64_t i = begin; i < end; ++i) ++seen[i];
  });
  for (const auto& count : seen) CHECK(count == 1);
  system::parallel_for(0, 0, [](std::uint64_t, std::uint64_t) { FAIL("called"); });
  CHECK_THROWS_WITH_AS(system::parallel_for(1000, 1,
                                            [](std::uint64_t begin, std::uint64_t) {
                                              if (begin == 500) throw std::runtime_error("at 500");
                                            }),
                       "at 500", std::runtime_error);
}
