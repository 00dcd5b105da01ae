// <xtune/narrow.cuh>: short number types, packs and dot products, on every backend.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "suite.hpp"
#include "support/short_floats.hpp"

using namespace xtune;
using namespace xtune::conformance;
using namespace xtune::test;

namespace {

/// A kernel that converts each code to float, and each value to a code.
std::string conversions(const std::string& type, const std::string& bits) {
  return "#include <xtune/narrow.cuh>\nextern \"C\" __global__ void convert(const " + bits +
         "* codes, float* values, int code_count, const float* from, xtune::" + type + "* to, int count) {\n" +
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + "  if (i < code_count) { xtune::" + type +
         " x; x.bits = codes[i]; values[i] = x; }\n" + "  if (i < count) to[i] = xtune::" + type + "(from[i]);\n}\n";
}

template <class Code>
void check_conversions(const Target& t, const std::string& type, const std::string& bits, const ShortFloat& format,
                       bool saturates) {
  const auto artifact = compile(t, conversions(type, bits), "convert");
  if (!t.device) return;
  // On an emulated device, which is slow: every 13th code of a large type.
  const unsigned step = device::is_emulated(t.device->info()) && format.codes() > 1000 ? 13 : 1;
  std::vector<Code> codes((format.codes() + step - 1) / step);
  for (unsigned i = 0; i < codes.size(); ++i) codes[i] = static_cast<Code>(i * step);
  std::vector<float> from = format.interesting();
  if (from.size() > 20000) {  // an expected code is found by search
    std::vector<float> some;
    for (std::size_t i = 0; i < from.size(); i += 211) some.push_back(from[i]);
    from = std::move(some);
  }
  from.push_back(std::numeric_limits<float>::quiet_NaN());
  const auto code = upload(t, codes), input = upload(t, from);
  const auto value = upload(t, std::vector<float>(codes.size())), output = upload(t, std::vector<Code>(from.size()));
  const auto threads = static_cast<std::uint32_t>(std::max(codes.size(), from.size()));
  run(t, artifact, {{(threads + 127) / 128, 1, 1}, {128, 1, 1}},
      arguments(code, value, static_cast<int>(codes.size()), input, output, static_cast<int>(from.size())));
  const auto values = download<float>(*value);
  for (unsigned i = 0; i < codes.size(); ++i) {
    const double expected = format.value(codes[i]);
    if (std::isnan(expected)
            ? std::isnan(values[i])
            : values[i] == static_cast<float>(expected) && std::signbit(values[i]) == std::signbit(expected))
      continue;
    CHECK_MESSAGE(false, type << " code " << i * step << ": " << values[i] << ", expected " << expected);
  }
  const auto rounded = download<Code>(*output);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i])) {
      CHECK(std::isnan(format.value(rounded[i])));
      continue;
    }
    const unsigned expected = format.nearest(from[i], saturates);
    if (rounded[i] != expected)
      CHECK_MESSAGE(false, type << " of " << from[i] << ": " << unsigned(rounded[i]) << ", expected " << expected);
  }
}

}  // namespace

CONFORMANCE_TEST("f8e4m3 and f8e5m2 convert every code and every tie, and saturate") {
  check_conversions<std::uint8_t>(t, "f8e4m3", "unsigned char", e4m3, true);
  check_conversions<std::uint8_t>(t, "f8e5m2", "unsigned char", e5m2, true);
}

CONFORMANCE_TEST("f16 and bf16 convert every code, and ties to even") {
  check_conversions<std::uint16_t>(t, "f16", "unsigned short", binary16, false);
  check_conversions<std::uint16_t>(t, "bf16", "unsigned short", bfloat16, false);
}

CONFORMANCE_TEST("tf32 rounds to 10 bits of mantissa, ties away from zero") {
  const auto artifact = compile(t, R"(
#include <xtune/narrow.cuh>
extern "C" __global__ void convert(const float* from, xtune::tf32* to, int n) {
  if (static_cast<int>(threadIdx.x) < n) to[threadIdx.x] = xtune::tf32(from[threadIdx.x]);
})",
                                "convert");
  if (!t.device) return;
  const float step = 0x1p-10f, infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> from{1 + step / 2, 1 + step * 3 / 2, -1 - step / 2, 1 + step * 0.49f, 2 - step / 4, 0,
                                infinity};
  const std::vector<float> expected{1 + step, 1 + 2 * step, -1 - step, 1, 2, 0, infinity};
  const auto a = upload(t, from), b = upload(t, std::vector<float>(from.size()));
  run(t, artifact, {{1, 1, 1}, {32, 1, 1}}, arguments(a, b, static_cast<int>(from.size())));
  CHECK(download<float>(*b) == expected);
}

CONFORMANCE_TEST("packs of short floats, and dot products of four bytes") {
  const auto artifact = compile(t, R"(
#include <xtune/narrow.cuh>
extern "C" __global__ void packs(const xtune::pack<float, 4>* in, xtune::pack<xtune::f8e4m3, 4>* f8,
                                 xtune::pack<xtune::bf16, 2>* bf, float* back, int a, int b, unsigned c, unsigned d, int* dots) {
  const xtune::pack<float, 4> x = in[0];
  f8[0] = xtune::narrow<xtune::f8e4m3>(x[0], x[1], x[2], x[3]);
  bf[0] = xtune::narrow<xtune::bf16>(x[0], x[3]);
  const xtune::pack<xtune::f8e5m2, 2> two = xtune::narrow<xtune::f8e5m2>(x[1], x[2]);
  float wide[4], narrow[2];
  xtune::widen(f8[0], wide);
  xtune::widen(two, narrow);
  for (int i = 0; i < 4; ++i) back[i] = wide[i];
  back[4] = narrow[0];
  back[5] = narrow[1];
  dots[0] = xtune::dot4(a, b, 100);
  dots[1] = static_cast<int>(xtune::dot4(c, d, 7u));
  dots[2] = xtune::dot4(xtune::pack<signed char, 4>{{1, -2, 3, -128}}, xtune::pack<signed char, 4>{{5, 6, -7, -128}}, 0);
})",
                                "packs");
  if (!t.device) return;
  const auto in = upload(t, std::vector<float>{1.5f, -2.25f, 0.3f, 1000.0f});
  const auto f8 = upload(t, std::vector<std::uint8_t>(4)), back = upload(t, std::vector<float>(6));
  const auto bf = upload(t, std::vector<std::uint16_t>(2));
  const auto dots = upload(t, std::vector<int>(3));
  run(t, artifact, {{1, 1, 1}, {1, 1, 1}},
      arguments(in, f8, bf, back, static_cast<int>(0x80ff7f01u), 0x7f02ff05, 0x80ff7f01u, 0x7f02ff05u, dots));
  CHECK(download<std::uint8_t>(*f8) == std::vector<std::uint8_t>{0x3c, 0xc1, 0x2a, 0x7e});
  CHECK(download<std::uint16_t>(*bf) == std::vector<std::uint16_t>{0x3fc0, 0x447a});
  CHECK(download<float>(*back) == std::vector<float>{1.5f, -2.25f, 0.3125f, 448.0f, -2.0f, 0.3125f});
  CHECK(download<int>(*dots) == std::vector<int>{100 + 5 - 127 - 2 - 128 * 127, 7 + 5 + 127 * 255 + 255 * 2 + 128 * 127,
                                                 5 - 12 - 21 + 128 * 128});
}
