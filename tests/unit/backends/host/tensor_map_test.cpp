// Tensor maps of the host: what they describe, and copies of boxes with strides, rounding and NaN.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/backend.hpp"
#include "backends/host/block/block_runner.hpp"
#include "backends/host/hopper/tiles.hpp"
#include "core/build/candidate_failure.hpp"
#include "support/text.hpp"

using namespace xtune;
using namespace xtune::host;
using namespace xtune::test;

namespace {

measure::TensorMap description(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> box) {
  measure::TensorMap map;
  map.dtype = dtype;
  map.strides = measure::dense_strides(shape);
  map.element_strides.assign(shape.size(), 1);
  map.shape = std::move(shape);
  map.box = std::move(box);
  return map;
}

template <class T>
std::vector<T> loaded(const host::TensorMap& map, std::vector<int> at) {
  alignas(1024) static std::byte shared[8192];
  load_box(map, at, shared);
  std::vector<T> values(map.box_bytes() / sizeof(T));
  std::memcpy(values.data(), shared, map.box_bytes());
  return values;
}

}  // namespace

TEST_CASE("rows of a tensor may be longer than its shape, and elements may be skipped") {
  std::vector<int> memory(10 * 16);
  std::iota(memory.begin(), memory.end(), 0);
  measure::TensorMap described = description(DType::i32, {10, 12}, {4, 8});
  described.strides = {16};
  described.element_strides = {3, 2};
  const host::TensorMap map = encode_tensor_map(described, memory.data());
  CHECK(map.box_bytes() == 2 * 4 * 4);
  CHECK(loaded<int>(map, {1, 2}) == std::vector<int>{33, 35, 37, 39, 81, 83, 85, 87});
  CHECK(loaded<int>(map, {8, 8}) == std::vector<int>{136, 138, 0, 0, 0, 0, 0, 0});
  std::vector<std::byte> rows(32, std::byte{1});
  store_box(map, std::vector<int>{8, 8}, rows);
  CHECK(memory[136] == 0x01010101);
  CHECK(memory[137] == 137);
  CHECK(memory[138] == 0x01010101);
  CHECK(memory[140] == 140);  // beyond the shape
}

TEST_CASE("what is outside may read as NaN, and tf32 rounds when it is read") {
  std::vector<float> memory{1 + 0x1p-11f, 1 + 0x1p-12f, 3, -1 - 0x1p-11f};
  measure::TensorMap described = description(DType::f32, {1, 4}, {2, 8});
  described.nan_outside = described.tf32 = true;
  const std::vector<float> values = loaded<float>(encode_tensor_map(described, memory.data()), {0, 0});
  CHECK(std::vector<float>(values.begin(), values.begin() + 4) ==
        std::vector<float>{1 + 0x1p-10f, 1, 3, -1 - 0x1p-10f});
  for (std::size_t i = 4; i < 16; ++i) CHECK(std::isnan(values[i]));
}

TEST_CASE("each swizzle exchanges parts of 16 bytes as it is described, and store reads them back") {
  std::vector<int> memory(16 * 32);
  std::iota(memory.begin(), memory.end(), 0);
  for (const std::int64_t swizzle : {32, 64, 128}) {
    CAPTURE(swizzle);
    const std::int64_t columns = swizzle / 4;
    measure::TensorMap described = description(DType::i32, {16, columns}, {16, columns});
    described.swizzle = swizzle;
    const host::TensorMap map = encode_tensor_map(described, memory.data());
    const std::vector<int> shared = loaded<int>(map, {0, 0});
    for (std::size_t i = 0; i < shared.size(); ++i) {
      // 32: bit 4 by bit 7; 64: bits 4 and 5 by 7 and 8; 128: bits 4 to 6 by 7 to 9.
      std::size_t byte = i * 4;
      for (unsigned bit = 4; (16u << (bit - 4)) < static_cast<unsigned>(swizzle); ++bit)
        if (i * 4 >> (bit + 3) & 1) byte ^= std::size_t{1} << bit;
      CHECK(shared[byte / 4] == static_cast<int>(i));
    }
    alignas(1024) std::byte copy[2048];
    std::memcpy(copy, shared.data(), map.box_bytes());
    std::vector<int> back(shared.size());
    std::memcpy(back.data(), read_box(map, copy).data(), map.box_bytes());
    CHECK(back == std::vector<int>(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(back.size())));
  }
}

TEST_CASE("the device encodes maps, and refuses interleaved ones by name") {
  const auto device = backend::make_backend("host")->open_device(0);
  const auto buffer = device->allocate(4096);
  measure::TensorMap described = description(DType::f16, {8, 32}, {8, 16});
  const measure::EncodedTensorMap encoded = device->encode(described, buffer->address());
  CHECK(checked_map(encoded.bytes.data(), 2).address == buffer->address());
  CHECK_THROWS_AS(checked_map(encoded.bytes.data(), 3), Refusal);
  described.interleave = 16;
  try {
    (void)device->encode(described, buffer->address());
    CHECK(false);
  } catch (const build::CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::rejected);
    CHECK(has(failure.what(), "interleave = 16: the host backend has no interleaved tensor maps"));
  }
}
