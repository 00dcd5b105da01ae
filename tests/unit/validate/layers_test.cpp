// The builtins of neural networks and grids against plain loops written for each case, with odd shapes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "builtin_call.hpp"

using namespace xtune::validate;

using namespace xtune;
using namespace xtune::test;

namespace {

using Shape = std::vector<std::uint64_t>;
using Scalars = std::map<std::string, Value>;

/// Reads an element by its coordinates.
double at(const Array& array, const Shape& place) {
  std::uint64_t index = 0;
  for (std::size_t d = 0; d < place.size(); ++d) index = index * array.layout.shape[d] + place[d];
  return array.at(index);
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }

Value number(std::int64_t value) { return value; }
Value text(const char* value) { return std::string(value); }

}  // namespace

TEST_CASE("gemv equals the plain loop in both orientations") {
  for (const bool transposed : {false, true}) {
    const Array a = make("A", DType::f64, transposed ? Shape{31, 7} : Shape{7, 31});
    const Array x = make("x", DType::f64, {31}), y = make("y", DType::f64, {7});
    const Array out = run("gemv", {{"a", &a}, {"x", &x}, {"y", &y}}, DType::f64, {7},
                          {{"alpha", 2.0}, {"beta", 0.5}, {"transpose_a", transposed}});
    for (std::uint64_t i = 0; i < 7; ++i) {
      double sum = 0;
      for (std::uint64_t k = 0; k < 31; ++k) sum += (transposed ? at(a, {k, i}) : at(a, {i, k})) * x.at(k);
      CHECK(near(out.at(i), 2 * sum + 0.5 * y.at(i)));
    }
  }
  const Array a = make("A", DType::f32, {3, 4}), x = make("x", DType::f32, {3});
  CHECK(has(refused([&] { run("gemv", {{"a", &a}, {"x", &x}}, DType::f32, {3}); }), "a is f32[3, 4], x f32[3]"));
  CHECK(has(refused([&] { run("gemv", {{"a", &a}, {"x", &a}}, DType::f32, {3}, {{"beta", 1.0}}); }), "gemv"));
}

TEST_CASE("softmax along each axis: parts of one, the largest without overflow") {
  const Array x = make("x", DType::f64, {3, 5, 7}, Fill::normal);
  for (const std::int64_t axis : {0, 1, 2, -1, -3})
    for (const bool logarithm : {false, true}) {
      const std::size_t along = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      const Array out =
          run("softmax", {{"x", &x}}, DType::f64, {3, 5, 7}, {{"axis", axis}, {"scale", 300.0}, {"log", logarithm}});
      for (std::uint64_t i = 0; i < 3 * 5 * 7; ++i) {
        Shape place{i / 35, i / 7 % 5, i % 7};
        const double own = at(x, place);
        double inverse = 0;  // the sum of exp(300 (x - own)) is one part's inverse
        for (place[along] = 0; place[along] < x.layout.shape[along]; ++place[along])
          inverse += std::exp(300 * (at(x, place) - own));
        const double want = logarithm ? -std::log(inverse) : 1 / inverse;
        if (std::isfinite(want)) CHECK(std::abs(out.at(i) - want) <= 1e-10 * (1 + std::abs(want)));
        CHECK(std::isfinite(out.at(i)));
      }
    }
  CHECK(has(refused([&] { run("softmax", {{"x", &x}}, DType::f64, {3, 5}); }), "one shape"));
  CHECK(has(refused([&] {
              run("softmax", {{"x", &x}}, DType::f64, {3, 5, 7}, {{"axis", number(3)}});
            }),
            "axis is 3; x has 3 dimensions"));
}

TEST_CASE("layer norm and its variant without a mean") {
  const Array x = make("x", DType::f64, {4, 13}), gamma = make("g", DType::f64, {13}),
              beta = make("b", DType::f64, {13});
  for (const char* op : {"layer", "rms"}) {
    const Array out = run("layernorm", {{"x", &x}, {"gamma", &gamma}, {"beta", &beta}}, DType::f64, {4, 13},
                          {{"eps", 0.25}, {"op", text(op)}});
    for (std::uint64_t row = 0; row < 4; ++row) {
      double sum = 0, squares = 0;
      for (std::uint64_t k = 0; k < 13; ++k) sum += at(x, {row, k}), squares += at(x, {row, k}) * at(x, {row, k});
      const double mean = *op == 'l' ? sum / 13 : 0, variance = squares / 13 - mean * mean;
      for (std::uint64_t k = 0; k < 13; ++k)
        CHECK(
            near(at(out, {row, k}), (at(x, {row, k}) - mean) / std::sqrt(variance + 0.25) * gamma.at(k) + beta.at(k)));
    }
  }
  const Array columns = run("layernorm", {{"x", &x}}, DType::f64, {4, 13}, {{"axis", number(0)}, {"eps", 0.0}});
  for (std::uint64_t k = 0; k < 13; ++k) {
    double sum = 0, squares = 0;
    for (std::uint64_t row = 0; row < 4; ++row)
      sum += at(columns, {row, k}), squares += std::pow(at(columns, {row, k}), 2);
    CHECK(std::abs(sum) < 1e-12);
    CHECK(squares == doctest::Approx(4).epsilon(1e-12));
  }
  CHECK(has(refused([&] {
              run("layernorm", {{"x", &x}, {"gamma", &gamma}}, DType::f64, {4, 13}, {{"axis", number(0)}});
            }),
            "gamma is f64[13], but the axis has 4 elements"));
  CHECK(has(refused([&] {
              run("layernorm", {{"x", &x}}, DType::f64, {4, 13}, {{"op", text("batch")}});
            }),
            "op is 'batch'; known: layer, rms"));
}

TEST_CASE("conv2d with stride, padding, dilation and groups, in both layouts") {
  // Written from the definition over a padded image, unlike the builtin.
  constexpr std::uint64_t n = 2, c = 6, h = 9, w = 8, k = 4, r = 3, s = 2, groups = 2;
  constexpr std::uint64_t up = 2, across = 3, pad_h = 2, pad_w = 1, dil_h = 2, dil_w = 3;
  constexpr std::uint64_t p = (h + 2 * pad_h - dil_h * (r - 1) - 1) / up + 1;
  constexpr std::uint64_t q = (w + 2 * pad_w - dil_w * (s - 1) - 1) / across + 1;
  for (const bool last : {false, true}) {
    const Array x = make("x", DType::f64, last ? Shape{n, h, w, c} : Shape{n, c, h, w});
    const Array f = make("w", DType::f64, last ? Shape{k, r, s, c / groups} : Shape{k, c / groups, r, s});
    const Array bias = make("bias", DType::f64, {k});
    const Array out =
        run("conv2d", {{"x", &x}, {"w", &f}, {"bias", &bias}}, DType::f64, last ? Shape{n, p, q, k} : Shape{n, k, p, q},
            {{"stride_h", number(up)},
             {"stride_w", number(across)},
             {"padding", number(2)},
             {"padding_w", number(1)},
             {"dilation_h", number(dil_h)},
             {"dilation_w", number(dil_w)},
             {"groups", number(groups)},
             {"layout", text(last ? "nhwc" : "nchw")}});
    std::vector<double> padded(n * c * (h + 2 * pad_h) * (w + 2 * pad_w));
    const auto cell = [&](std::uint64_t in, std::uint64_t ic, std::uint64_t y, std::uint64_t z) -> double& {
      return padded[((in * c + ic) * (h + 2 * pad_h) + y) * (w + 2 * pad_w) + z];
    };
    for (std::uint64_t i = 0; i < n * c * h * w; ++i) {
      const std::uint64_t z = i % w, y = i / w % h, ic = i / w / h % c, in = i / w / h / c;
      cell(in, ic, y + pad_h, z + pad_w) = last ? at(x, {in, y, z, ic}) : at(x, {in, ic, y, z});
    }
    for (std::uint64_t i = 0; i < n * k * p * q; ++i) {
      const std::uint64_t iq = i % q, ip = i / q % p, ik = i / q / p % k, in = i / q / p / k;
      double want = bias.at(ik);
      for (std::uint64_t j = 0; j < c / groups * r * s; ++j) {
        const std::uint64_t is = j % s, ir = j / s % r, ic = j / s / r;
        const std::uint64_t channel = (ik < k / 2 ? 0 : c / 2) + ic;
        want += cell(in, channel, ip * up + ir * dil_h, iq * across + is * dil_w) *
                (last ? at(f, {ik, ir, is, ic}) : at(f, {ik, ic, ir, is}));
      }
      CHECK(near(last ? at(out, {in, ip, iq, ik}) : at(out, {in, ik, ip, iq}), want));
    }
  }
}

TEST_CASE("calls that conv2d refuses") {
  const Array x = make("x", DType::f32, {1, 4, 5, 5}), f = make("w", DType::f32, {2, 4, 3, 3});
  CHECK(has(refused([&] {
              run("conv2d", {{"x", &x}, {"w", &f}}, DType::f32, {1, 2, 5, 5});
            }),
            "[N, K, P, Q], here f32[1, 2, 3, 3]"));
  CHECK(run("conv2d", {{"x", &x}, {"w", &f}}, DType::f32, {1, 2, 5, 5}, {{"padding", number(1)}}).data.size() == 200);
  CHECK(has(refused([&] {
              run("conv2d", {{"x", &x}, {"w", &f}}, DType::f32, {1, 2, 3, 3}, {{"groups", number(2)}});
            }),
            "2 groups"));
  CHECK(has(refused([&] {
              run("conv2d", {{"x", &x}, {"w", &f}}, DType::f32, {1, 2, 3, 3}, {{"stride", number(0)}});
            }),
            "stride is 0"));
  CHECK(has(refused([&] {
              run("conv2d", {{"x", &x}, {"w", &f}}, DType::f32, {1, 2, 3, 3}, {{"stride", 1.5}});
            }),
            "an integer is needed"));
}

namespace {

/// One result of attention for query i of head h of batch b, from its definition.
double attended(const Array& q, const Array& k, const Array& v, const Shape& place, double scale,
                const std::function<double(std::uint64_t i, std::uint64_t j)>& added) {
  const std::uint64_t b = place[0], h = place[1], i = place[2], e = place[3];
  const std::uint64_t group = h * k.layout.shape[1] / q.layout.shape[1];
  double above = 0, below = 0;
  for (std::uint64_t j = 0; j < k.layout.shape[2]; ++j) {
    double dot = 0;
    for (std::uint64_t d = 0; d < q.layout.shape[3]; ++d) dot += at(q, {b, h, i, d}) * at(k, {b, group, j, d});
    const double weight = std::exp(scale * dot + added(i, j));
    above += weight * at(v, {b, group, j, e});
    below += weight;
  }
  return below == 0 ? 0 : above / below;
}

constexpr double hidden = -std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("attention: causal, scaled, grouped heads, another width of values") {
  const Array q = make("q", DType::f64, {2, 6, 5, 3}), k = make("k", DType::f64, {2, 2, 7, 3}),
              v = make("v", DType::f64, {2, 2, 7, 4});
  struct Case {
    Scalars scalars;
    double scale;
    std::function<double(std::uint64_t, std::uint64_t)> added;
  };
  const auto none = [](std::uint64_t, std::uint64_t) { return 0.0; };
  for (const Case& c :
       {Case{{}, 1 / std::sqrt(3.0), none}, Case{{{"scale", 2.5}}, 2.5, none},
        Case{{{"causal", true}}, 1 / std::sqrt(3.0), [](auto i, auto j) { return j <= i ? 0 : hidden; }},
        Case{{{"causal", true}, {"offset", number(2)}},
             1 / std::sqrt(3.0),
             [](auto i, auto j) { return j <= i + 2 ? 0 : hidden; }},
        Case{{{"causal", true}, {"offset", number(-2)}}, 1 / std::sqrt(3.0), [](auto i, auto j) {
               return j + 2 <= i ? 0 : hidden;
             }}}) {
    const Array out = run("attention", {{"q", &q}, {"k", &k}, {"v", &v}}, DType::f64, {2, 6, 5, 4}, c.scalars);
    for (std::uint64_t i = 0; i < 2 * 6 * 5 * 4; ++i)
      CHECK(near(out.at(i), attended(q, k, v, {i / 120, i / 20 % 6, i / 4 % 5, i % 4}, c.scale, c.added)));
  }
}

TEST_CASE("attention with a mask, and with rows before heads") {
  const Array q = make("q", DType::f64, {2, 3, 5, 4}), k = make("k", DType::f64, {2, 3, 6, 4}),
              v = make("v", DType::f64, {2, 3, 6, 4});
  const Array mask = make("mask", DType::f64, {5, 6}), keep = make("keep", DType::boolean, {5, 6});
  for (const Array* m : {&mask, &keep}) {
    const Array out = run("attention", {{"q", &q}, {"k", &k}, {"v", &v}, {"mask", m}}, DType::f64, {2, 3, 5, 4});
    for (std::uint64_t i = 0; i < 2 * 3 * 5 * 4; ++i)
      CHECK(near(out.at(i), attended(q, k, v, {i / 60, i / 20 % 3, i / 4 % 5, i % 4}, 0.5, [&](auto row, auto j) {
                   return m == &mask ? at(mask, {row, j}) : at(keep, {row, j}) != 0 ? 0 : hidden;
                 })));
  }
  // The same numbers, moved: [batch, rows, heads, width].
  const auto moved = [](const Array& from) {
    const Shape& old = from.layout.shape;
    Array to = make(from.layout.name, DType::f64, {old[0], old[2], old[1], old[3]});
    for (std::uint64_t i = 0; i < from.layout.elements(); ++i) {
      const Shape place{i / (old[1] * old[2] * old[3]), i / (old[2] * old[3]) % old[1], i / old[3] % old[2],
                        i % old[3]};
      const std::uint64_t index = ((place[0] * old[2] + place[2]) * old[1] + place[1]) * old[3] + place[3];
      std::memcpy(to.data.data() + index * 8, from.data.data() + i * 8, 8);
    }
    return to;
  };
  const Array plain = run("attention", {{"q", &q}, {"k", &k}, {"v", &v}}, DType::f64, {2, 3, 5, 4});
  const Array mq = moved(q), mk = moved(k), mv = moved(v);
  CHECK(run("attention", {{"q", &mq}, {"k", &mk}, {"v", &mv}}, DType::f64, {2, 5, 3, 4}, {{"layout", text("bshd")}})
            .data == moved(plain).data);
  CHECK(has(refused([&] {
              run("attention", {{"q", &q}, {"k", &mk}, {"v", &v}}, DType::f64, {2, 3, 5, 4});
            }),
            "k f64[2, 6, 3, 4]"));
  CHECK(has(refused([&] {
              run("attention", {{"q", &q}, {"k", &k}, {"v", &v}, {"mask", &q}}, DType::f64, {2, 3, 5, 4});
            }),
            "[S, T] = [5, 6]"));
}

TEST_CASE("a star stencil on a grid, at each kind of edge") {
  const Array x = make("x", DType::f64, {7, 5}), y = make("y", DType::f64, {7, 5});
  for (const char* boundary : {"zero", "clamp", "periodic", "keep"}) {
    const Array out =
        run("stencil", {{"x", &x}, {"y", &y}}, DType::f64, {7, 5},
            {{"radius", number(2)}, {"c0", -3.0}, {"c1", 1.5}, {"c2", number(2)}, {"boundary", text(boundary)}});
    const auto value = [&](int i, int j) {
      if (*boundary == 'c') i = std::max(0, std::min(6, i)), j = std::max(0, std::min(4, j));
      if (*boundary == 'p') i = (i + 14) % 7, j = (j + 10) % 5;
      const bool outside = i < 0 || j < 0 || i > 6 || j > 4;
      return outside ? 0.0 : at(x, {static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)});
    };
    for (int i = 0; i < 7; ++i)
      for (int j = 0; j < 5; ++j) {
        double want = -3 * value(i, j);
        want += 1.5 * (value(i - 1, j) + value(i + 1, j) + value(i, j - 1) + value(i, j + 1));
        want += 2 * (value(i - 2, j) + value(i + 2, j) + value(i, j - 2) + value(i, j + 2));
        const Shape place{static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)};
        if (*boundary == 'k' && (i < 2 || i > 4 || j != 2)) want = at(y, place);
        CHECK(near(at(out, place), want));
      }
  }
}

TEST_CASE("a stencil with its own weights, in three dimensions and in one") {
  const Array x = make("x", DType::f64, {4, 5, 6}), weights = make("w", DType::f64, {3, 1, 5});
  const Array out = run("stencil", {{"x", &x}, {"weights", &weights}}, DType::f64, {4, 5, 6});
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 5; ++b)
      for (int c = 0; c < 6; ++c) {
        double want = 0;
        for (int i = -1; i <= 1; ++i)
          for (int j = -2; j <= 2; ++j)
            if (a + i >= 0 && a + i < 4 && c + j >= 0 && c + j < 6)
              want += weights.at(static_cast<std::uint64_t>((i + 1) * 5 + j + 2)) *
                      x.at(static_cast<std::uint64_t>(((a + i) * 5 + b) * 6 + c + j));
        CHECK(near(out.at(static_cast<std::uint64_t>((a * 5 + b) * 6 + c)), want));
      }
  const Array line = make("x", DType::f64, {9});
  const Array second = run("stencil", {{"x", &line}}, DType::f64, {9}, {{"c0", -2.0}, {"c1", 1.0}});
  CHECK(near(second.at(4), line.at(3) - 2 * line.at(4) + line.at(5)));
}

TEST_CASE("calls that stencil refuses") {
  const Array x = make("x", DType::f32, {4, 5}), even = make("w", DType::f32, {2, 3}),
              flat = make("w", DType::f32, {3});
  const auto complaint = [&](const std::map<std::string, const Array*>& arrays, Scalars scalars) {
    return refused([&] { run("stencil", arrays, DType::f32, {4, 5}, std::move(scalars)); });
  };
  CHECK(has(complaint({{"x", &x}}, {{"c0", 1.0}}), "needs the weight c1"));
  CHECK(has(complaint({{"x", &x}}, {{"radius", number(17)}}), "radius is 17"));
  CHECK(has(complaint({{"x", &x}, {"weights", &even}}, {}), "odd extent"));
  CHECK(has(complaint({{"x", &x}, {"weights", &flat}}, {}), "x's 2 dimensions"));
  CHECK(has(complaint({{"x", &x}}, {{"c0", 1.0}, {"c1", 1.0}, {"boundary", text("keep")}}), "needs an array 'y'"));
  CHECK(has(complaint({{"x", &x}}, {{"c0", 1.0}, {"c1", 1.0}, {"boundary", text("wrap")}}), "boundary is 'wrap'"));
}

TEST_CASE("the builtins' facts about their sums") {
  const auto facts = [](const std::string& name, const std::map<std::string, const Array*>& arrays, DType type,
                        const Shape& shape, Scalars scalars = {}) {
    ArgumentLayout output;
    output.dtype = type;
    output.shape = shape;
    BuiltinCall call;
    for (const auto& [role, array] : arrays) call.arrays[role] = array->view();
    call.scalars = std::move(scalars);
    call.output = &output;
    return builtin_facts(name, call);
  };
  const Array a = make("A", DType::f32, {3, 50}, Fill::one), b = make("B", DType::f32, {50, 4}, Fill::one);
  CHECK(facts("gemm", {{"a", &a}, {"b", &b}}, DType::f32, {3, 4}).reduction == 50);
  CHECK(facts("gemm", {{"a", &a}, {"b", &b}}, DType::f32, {3, 4}, {{"alpha", -2.0}}).scale ==
        doctest::Approx(2 * std::sqrt(50.0)));
  CHECK(facts("reduction", {{"x", &a}}, DType::f32, {1}).reduction == 150);
  CHECK(facts("reduction", {{"x", &a}}, DType::f32, {1}).scale == doctest::Approx(std::sqrt(150.0)));
  CHECK(facts("reduction", {{"x", &a}}, DType::f32, {1}, {{"op", text("max")}}).reduction == 0);
  CHECK(facts("transpose", {{"x", &a}}, DType::f32, {50, 3}).reduction == 0);
  CHECK(facts("transpose", {{"x", &a}}, DType::f16, {50, 3}).reduction == 1);
  CHECK(facts("softmax", {{"x", &a}}, DType::f32, {3, 50}).reduction == 50);
  CHECK(facts("layernorm", {{"x", &a}}, DType::f32, {3, 50}, {{"axis", number(0)}}).reduction == 3);
  CHECK(facts("attention", {{"q", &a}, {"k", &a}, {"v", &a}}, DType::f32, {3, 50}).reduction == 53);
  CHECK(facts("stencil", {{"x", &a}}, DType::f32, {3, 50}, {{"c0", 1.0}, {"c1", 1.0}}).reduction == 5);
  const Array x = make("x", DType::f32, {1, 3, 5, 5}), f = make("w", DType::f32, {2, 3, 3, 3});
  CHECK(facts("conv2d", {{"x", &x}, {"w", &f}}, DType::f32, {1, 2, 3, 3}).reduction == 28);
}
