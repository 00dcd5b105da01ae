// Bits of two launches: what differs, where, and how often.
#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "core/validate/compare.hpp"

using namespace xtune::validate;

using namespace xtune;

namespace {

template <class T>
std::optional<BitDifference> difference(DType type, const std::vector<T>& before, const std::vector<T>& now) {
  ArgumentLayout layout;
  layout.name = "y";
  layout.dtype = type;
  layout.shape = {before.size() / 2, 2};
  const auto bytes = std::as_bytes(std::span(now));
  return bit_difference(layout, std::as_bytes(std::span(before)), [&](std::size_t offset, std::span<std::byte> piece) {
    std::memcpy(piece.data(), bytes.data() + offset, piece.size());
  });
}

}  // namespace

TEST_CASE("the first element that differs is named, with both values, and all are counted") {
  std::vector<float> before(64, 1.5F), now = before;
  CHECK_FALSE(difference(DType::f32, before, now));
  now[7] = 1.25F;
  now[40] = 0;
  const auto found = difference(DType::f32, before, now);
  REQUIRE(found);
  CHECK(found->argument == "y");
  CHECK(found->text() == "[3, 1] was 1.5 and is 1.25, and 2 of 64 elements differ");
  CHECK(Repeatability{3, found}.text() ==
        "launch 3 gave other bits than launch 1: y: [3, 1] was 1.5 and is 1.25, and 2 of 64 elements differ");
  CHECK(Repeatability{5, {}}.text() == "the same bits in 5 launches");
}

TEST_CASE("zeros of both signs and NaNs with other payloads differ; equal NaNs do not") {
  const auto nan = [](std::uint32_t payload) { return std::bit_cast<float>(0x7fc00000 | payload); };
  CHECK_FALSE(difference<float>(DType::f32, {nan(3), 1}, {nan(3), 1}));
  const auto zeros = difference<float>(DType::f32, {0.0F, 1}, {-0.0F, 1});
  REQUIRE(zeros);
  CHECK(zeros->differing == 1);
  const auto payloads = difference<float>(DType::f32, {nan(1), 1}, {nan(2), 1});
  REQUIRE(payloads);
  CHECK(payloads->before.find("(bits 7fc00001)") != std::string::npos);
  CHECK(payloads->now.find("(bits 7fc00002)") != std::string::npos);
}

TEST_CASE("a large argument is compared in pieces, and its places are those of the whole") {
  std::vector<std::uint8_t> before(40 << 20, 7), now = before;
  now[(33 << 20) + 1] = 9;
  now[39 << 20] = 9;
  const auto found = difference(DType::u8, before, now);
  REQUIRE(found);
  CHECK(found->coordinates == std::vector<std::uint64_t>{33 << 19, 1});
  CHECK(found->differing == 2);
  CHECK(found->count == 40 << 20);
}
