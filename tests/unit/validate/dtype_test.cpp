// Conversions of element types: every pattern of the small ones, every midpoint, and the edges of the integers.
#include "core/spec/dtype.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace xtune::spec;

using namespace xtune;

namespace {

const std::vector<DType> all_types{DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32,
                                   DType::f64,    DType::i8,     DType::i16, DType::i32,  DType::i64,
                                   DType::u8,     DType::u16,    DType::u32, DType::u64,  DType::boolean};

double decoded(DType type, std::uint64_t bits) {
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &bits, 8);
  return decode(type, bytes.data());
}

template <class Number>
std::uint64_t encoded(DType type, Number value) {
  std::array<std::byte, 8> bytes{};
  encode(type, value, bytes.data());
  return std::bit_cast<std::uint64_t>(bytes);
}

struct Format {
  DType type;
  std::uint64_t patterns;
  std::uint64_t largest;  // bits of the largest finite value
  std::uint64_t beyond;   // result for a larger value
};
const Format formats[] = {{DType::f8e4m3, 256, 0x7E, 0x7F},
                          {DType::f8e5m2, 256, 0x7B, 0x7C},
                          {DType::f16, 65536, 0x7BFF, 0x7C00},
                          {DType::bf16, 65536, 0x7F7F, 0x7F80}};

}  // namespace

TEST_CASE("names and sizes") {
  for (const DType type : all_types) CHECK(dtype_from_string(to_string(type)) == type);
  CHECK_FALSE(dtype_from_string("float"));
  CHECK(std::string(to_string(DType::boolean)) == "bool");
  CHECK(size_of(DType::f8e5m2) == 1);
  CHECK(size_of(DType::bf16) == 2);
  CHECK(size_of(DType::u64) == 8);
  CHECK(is_floating(DType::f8e4m3));
  CHECK(is_floating(DType::f64));
  CHECK_FALSE(is_floating(DType::i8));
  CHECK_FALSE(is_floating(DType::boolean));
}

TEST_CASE("every pattern of the small floats comes back") {
  for (const Format& format : formats)
    for (std::uint64_t bits = 0; bits < format.patterns; ++bits) {
      if (encoded(format.type, decoded(format.type, bits)) == bits) continue;
      FAIL(to_string(format.type) << " pattern " << bits << " became "
                                  << encoded(format.type, decoded(format.type, bits)));
    }
}

TEST_CASE("f32 keeps its bits, NaN payloads included") {
  for (std::uint64_t bits = 0; bits < 0x100000000; bits += 65521)
    if (encoded(DType::f32, decoded(DType::f32, bits)) != bits) FAIL("pattern " << bits);
  for (const std::uint64_t bits : {0x7F800001u, 0xFFFFFFFFu, 0x7FC00000u, 0x80000001u, 0x7F7FFFFFu, 0xFF800000u})
    CHECK(encoded(DType::f32, decoded(DType::f32, bits)) == bits);
}

TEST_CASE("values from the formats' definitions") {
  CHECK(decoded(DType::f8e4m3, 0x7E) == 448);
  CHECK(decoded(DType::f8e4m3, 0x01) == 0x1p-9);
  CHECK(decoded(DType::f8e4m3, 0x08) == 0x1p-6);
  CHECK(std::isnan(decoded(DType::f8e4m3, 0x7F)));
  CHECK(std::isnan(decoded(DType::f8e4m3, 0xFF)));
  CHECK(decoded(DType::f8e5m2, 0x7B) == 57344);
  CHECK(decoded(DType::f8e5m2, 0x01) == 0x1p-16);
  CHECK(decoded(DType::f8e5m2, 0xFC) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(decoded(DType::f8e5m2, 0x7D)));
  CHECK(decoded(DType::f16, 0x3C00) == 1);
  CHECK(decoded(DType::f16, 0x7BFF) == 65504);
  CHECK(decoded(DType::f16, 0x0001) == 0x1p-24);
  CHECK(decoded(DType::bf16, 0x3F80) == 1);
  CHECK(decoded(DType::bf16, 0x0001) == 0x1p-133);
  CHECK(decoded(DType::bf16, 0xC049) == -3.140625);
  CHECK(std::signbit(decoded(DType::f8e4m3, 0x80)));
}

TEST_CASE("midpoints go to the even neighbour, and a hair beyond to the nearer one") {
  for (const Format& format : formats)
    for (std::uint64_t bits = 0; bits < format.largest; ++bits) {
      const double low = decoded(format.type, bits), high = decoded(format.type, bits + 1);
      const double middle = (low + high) / 2;
      const std::uint64_t even = bits % 2 ? bits + 1 : bits;
      const std::uint64_t sign = format.patterns / 2;
      const bool right = encoded(format.type, middle) == even && encoded(format.type, -middle) == (even | sign) &&
                         encoded(format.type, std::nextafter(middle, 0.0)) == bits &&
                         encoded(format.type, std::nextafter(middle, 1e300)) == bits + 1;
      if (!right) FAIL(to_string(format.type) << " between " << bits << " and " << bits + 1);
    }
}

TEST_CASE("values that are too large, and the half step before them") {
  for (const Format& format : formats) {
    CAPTURE(to_string(format.type));
    const double largest = decoded(format.type, format.largest);
    const double half_step = (largest - decoded(format.type, format.largest - 1)) / 2;
    CHECK(encoded(format.type, std::nextafter(largest + half_step, 0.0)) == format.largest);
    // The largest value of f8e4m3 is even (1110), so the tie rounds to it; that of IEEE formats is odd, so the tie
    // rounds to infinity.
    CHECK(encoded(format.type, largest + half_step) == (format.type == DType::f8e4m3 ? format.largest : format.beyond));
    CHECK(encoded(format.type, std::nextafter(largest + half_step, 1e300)) == format.beyond);
    CHECK(encoded(format.type, 1e308) == format.beyond);
    CHECK(encoded(format.type, std::numeric_limits<double>::infinity()) == format.beyond);
    CHECK(encoded(format.type, -1e308) == (format.beyond | format.patterns / 2));
    CHECK(encoded(format.type, 5e-324) == 0);
    CHECK(encoded(format.type, -5e-324) == format.patterns / 2);
    CHECK(encoded(format.type, -0.0) == format.patterns / 2);
    CHECK(std::isnan(decoded(format.type, encoded(format.type, std::nan("")))));
  }
}

TEST_CASE("doubles become integers by truncation, within the range") {
  CHECK(encoded(DType::i8, 127.9) == 127);
  CHECK(encoded(DType::i8, 128.0) == 127);
  CHECK(encoded(DType::i8, -1e30) == 0x80);
  CHECK(encoded(DType::i16, -1.9) == 0xFFFF);
  CHECK(encoded(DType::u8, -1.0) == 0);
  CHECK(encoded(DType::u8, 255.5) == 255);
  CHECK(encoded(DType::i64, 9223372036854775808.0) == 0x7FFFFFFFFFFFFFFF);
  CHECK(encoded(DType::i64, -9223372036854775808.0) == 0x8000000000000000);
  CHECK(encoded(DType::u64, 18446744073709551616.0) == 0xFFFFFFFFFFFFFFFF);
  CHECK(encoded(DType::u64, std::numeric_limits<double>::infinity()) == 0xFFFFFFFFFFFFFFFF);
  for (const DType type : all_types)
    if (!is_floating(type) && type != DType::boolean) CHECK(encoded(type, std::nan("")) == 0);
  CHECK(encoded(DType::boolean, 0.25) == 1);
  CHECK(encoded(DType::boolean, 0.0) == 0);
}

TEST_CASE("64-bit integers are stored exactly, or rounded once") {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max(),
                     smallest = std::numeric_limits<std::int64_t>::min();
  CHECK(encoded(DType::i64, largest) == 0x7FFFFFFFFFFFFFFF);
  CHECK(encoded(DType::u64, largest - 1) == 0x7FFFFFFFFFFFFFFE);
  CHECK(encoded(DType::u64, smallest) == 0);
  CHECK(encoded(DType::i32, largest) == 0x7FFFFFFF);
  CHECK(encoded(DType::u32, std::int64_t{-1}) == 0);
  CHECK(encoded(DType::i64, (std::int64_t{1} << 53) + 1) == (std::uint64_t{1} << 53) + 1);
  CHECK(encoded(DType::f64, smallest) == std::bit_cast<std::uint64_t>(-0x1p63));
  // 2^62 + 2^54 + 1 lies just above the middle of two bf16 values; through a double it would land on the middle and
  // round down.
  const std::int64_t above_middle = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  CHECK(decoded(DType::bf16, encoded(DType::bf16, above_middle)) == 0x1p62 + 0x1p55);
  CHECK(decoded(DType::bf16, encoded(DType::bf16, above_middle - 1)) == 0x1p62);
  CHECK(decoded(DType::bf16, encoded(DType::bf16, -above_middle)) == -0x1p62 - 0x1p55);
  for (const std::int64_t value :
       {above_middle, (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1, largest, smallest, std::int64_t{16777217}})
    CHECK(decoded(DType::f32, encoded(DType::f32, value)) == static_cast<double>(static_cast<float>(value)));
}

TEST_CASE("arrays are read from any address") {
  std::vector<std::byte> bytes(1 + 3 * 4);
  const float values[3] = {1.5f, -2.25f, 3e38f};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  std::array<double, 3> read{};
  decode(DType::f32, bytes.data() + 1, read);
  CHECK(read[0] == 1.5);
  CHECK(read[1] == -2.25);
  CHECK(read[2] == static_cast<double>(3e38f));
}
