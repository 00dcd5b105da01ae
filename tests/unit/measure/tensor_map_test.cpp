// The limits of tensor maps: each is named with the value that exceeds it.
#include "core/measure/tensor_map.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/text.hpp"

using namespace xtune;
using namespace xtune::measure;

namespace {

/// Of a matrix of 1024 x 512.
TensorMap matrix() {
  TensorMap map;
  map.dtype = DType::f16;
  map.shape = {1024, 512};
  map.strides = {512};
  map.box = {128, 64};
  map.element_strides = {1, 1};
  map.swizzle = 128;
  return map;
}

template <class Change>
std::string complaint(Change change) {
  TensorMap map = matrix();
  change(map);
  const auto found = forbidden(map);
  if (!found) return "allowed";
  CHECK_MESSAGE(found->reason.find(found->key == "strides" ? "stride"
                                   : found->key == "dtype" ? "element"
                                                           : found->key) != std::string::npos,
                found->key, ": ", found->reason);
  return found->reason;
}

}  // namespace

TEST_CASE("a map within all limits is allowed, also at them") {
  CHECK(complaint([](TensorMap&) {}) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.box = {256, 64}, m.element_strides = {8, 1}; }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.swizzle = 0, m.box = {1, 256}; }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.shape = {512}, m.strides = {}, m.box = {64}, m.element_strides = {1}; }) ==
        "allowed");
  CHECK(complaint([](TensorMap& m) {
          m.shape = {1, 1, 2, 3, 64}, m.strides = dense_strides(m.shape), m.box = {1, 1, 1, 1, 64};
          m.element_strides = {1, 1, 1, 1, 1};
        }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.shape = {std::int64_t{1} << 32, 512}; }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.strides = {((std::int64_t{1} << 40) - 16) / 2}; }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.dtype = DType::f8e4m3, m.box = {64, 128}; }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.dtype = DType::c64, m.box = {64, 16}; }) == "allowed");
  CHECK(complaint([](TensorMap& m) { m.nan_outside = true; }) == "allowed");
}

TEST_CASE("each limit is named, with the values") {
  CHECK(complaint([](TensorMap& m) {
          m.box = {128, 512};
        }) == "box [128, 512] has the value 512, and 1 to 256 are allowed");
  CHECK(complaint([](TensorMap& m) { m.box = {0, 64}; }) == "box [0, 64] has the value 0, and 1 to 256 are allowed");
  CHECK(complaint([](TensorMap& m) { m.box = {128}; }) == "box [128] has 1 values, and shape [1024, 512] needs 2");
  CHECK(complaint([](TensorMap& m) {
          m.box = {128, 60};
        }) == "the last extent of box [128, 60] is 120 bytes of f16, and a multiple of 16 bytes is needed");
  CHECK(complaint([](TensorMap& m) { m.swizzle = 64; }) ==
        "the last extent of box [128, 64] is 128 bytes of f16, and swizzle = 64 allows at most 64");
  CHECK(complaint([](TensorMap& m) { m.swizzle = 48; }) == "swizzle = 48, and 0, 32, 64 and 128 bytes are allowed");
  CHECK(test::has(complaint([](TensorMap& m) { m.l2_promotion = 32; }), "l2_promotion = 32, and 0, 64"));
  CHECK(test::has(complaint([](TensorMap& m) { m.interleave = 64; }), "interleave = 64, and 0, 16"));
  CHECK(test::has(complaint([](TensorMap& m) { m.element_strides = {9, 1}; }), "has the value 9, and 1 to 8"));
  CHECK(test::has(complaint([](TensorMap& m) { m.element_strides = {1}; }), "needs 2"));
  CHECK(test::has(complaint([](TensorMap& m) {
                    m.element_strides = {1, 2};
                  }),
                  "element_strides [1, 2] has 2 for the last dimension, whose elements cannot be skipped"));
  CHECK(test::has(complaint([](TensorMap& m) { m.shape = {0, 512}; }), "shape [0, 512] has the value 0"));
  CHECK(test::has(complaint([](TensorMap& m) { m.shape = {(std::int64_t{1} << 32) + 1, 512}; }), "1 to 4294967296"));
  CHECK(complaint([](TensorMap& m) { m.shape = {1, 1, 1, 1, 1, 8}; }) ==
        "shape [1, 1, 1, 1, 1, 8] has 6 dimensions, and 1 to 5 are allowed");
  CHECK(test::has(complaint([](TensorMap& m) { m.shape = {}; }), "has 0 dimensions"));
  CHECK(complaint([](TensorMap& m) { m.strides = {516}; }) ==
        "a stride of 516 elements of f16 is 1032 bytes, and a multiple of 16 bytes is needed");
  CHECK(test::has(complaint([](TensorMap& m) { m.strides = {std::int64_t{1} << 39}; }), "less than 2^40 bytes"));
  CHECK(test::has(complaint([](TensorMap& m) { m.strides = {std::numeric_limits<std::int64_t>::max()}; }), "2^40"));
  CHECK(test::has(complaint([](TensorMap& m) { m.strides = {0}; }), "have the value 0"));
  CHECK(test::has(complaint([](TensorMap& m) { m.strides = {512, 1}; }), "needs 1"));
  CHECK(test::has(complaint([](TensorMap& m) { m.dtype = DType::c128; }), "c128 have 16 bytes"));
  CHECK(test::has(complaint([](TensorMap& m) { m.tf32 = true; }), "tf32 reads elements of f32, and these are f16"));
  CHECK(test::has(complaint([](TensorMap& m) { m.dtype = DType::i32, m.nan_outside = true; }), "these are i32"));
  CHECK(test::has(complaint([](TensorMap& m) { m.interleave = 16; }), "needs at least 3 dimensions"));
  CHECK(test::has(complaint([](TensorMap& m) { m.interleave = 32; }), "interleave = 32 needs swizzle = 32"));
}

TEST_CASE("an interleaved map has rows of any length, and strides of 32 bytes") {
  TensorMap map;
  map.dtype = DType::f16;
  map.shape = {4, 8, 16};
  map.strides = {128, 16};
  map.box = {1, 2, 3};
  map.element_strides = {1, 1, 1};
  map.interleave = 16;
  CHECK_FALSE(forbidden(map));
  map.interleave = 32;
  map.swizzle = 32;
  CHECK_FALSE(forbidden(map));
  map.strides = {128, 24};
  CHECK(test::has(forbidden(map)->reason, "48 bytes, and a multiple of 32"));
}

TEST_CASE("the bytes that a map spans are those up to its last element") {
  CHECK(dense_strides({2, 3, 4}) == std::vector<std::int64_t>{12, 4});
  CHECK(dense_strides({7}).empty());
  CHECK(span_bytes(matrix()) == 1024 * 512 * 2);
  TensorMap padded = matrix();
  padded.strides = {600};
  CHECK(span_bytes(padded) == (1023 * 600 + 512) * 2);
  padded.shape = {std::int64_t{1} << 32, 512};
  padded.strides = {std::int64_t{1} << 38};
  CHECK(span_bytes(padded) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("addresses must be aligned, and devices new enough") {
  alignas(64) const std::array<char, 64> memory{};
  TensorMap map = matrix();
  CHECK_FALSE(forbidden_address(map, memory.data()));
  CHECK_FALSE(forbidden_address(map, memory.data() + 16));
  CHECK(forbidden_address(map, memory.data() + 4) ==
        "it describes memory 4 bytes beyond a multiple of 16, and a tensor map needs a multiple");
  CHECK(forbidden_address(map, nullptr) == "it describes a null pointer");
  map.interleave = 32;
  CHECK(test::has(forbidden_address(map, memory.data() + 16).value_or(""), "a multiple of 32"));

  device::DeviceInfo device;
  device.vendor = "nvidia";
  device.arch = "sm_90a";
  CHECK_FALSE(lack_of_tensor_maps(device));
  device.arch = "sm_89";
  CHECK(lack_of_tensor_maps(device) == "sm_89 has no tensor maps; they need an NVIDIA GPU of sm_90 or newer");
  device.vendor = "amd";
  device.arch = "gfx942";
  CHECK(test::has(lack_of_tensor_maps(device).value_or(""), "gfx942 has no tensor maps"));
  device.vendor = "cpu";
  CHECK_FALSE(lack_of_tensor_maps(device));
}

TEST_CASE("the text of a map for keys differs with each of its values") {
  const auto text = [](auto change) {
    TensorMap map = matrix();
    change(map);
    return to_string(map);
  };
  const std::string plain = to_string(matrix());
  CHECK(text([](TensorMap& m) { m.dtype = DType::bf16; }) != plain);
  CHECK(text([](TensorMap& m) { m.tf32 = true; }) != plain);
  CHECK(text([](TensorMap& m) { m.shape[0] = 1; }) != plain);
  CHECK(text([](TensorMap& m) { m.strides[0] = 1; }) != plain);
  CHECK(text([](TensorMap& m) { m.box[1] = 1; }) != plain);
  CHECK(text([](TensorMap& m) { m.element_strides[0] = 2; }) != plain);
  CHECK(text([](TensorMap& m) { m.swizzle = 0; }) != plain);
  CHECK(text([](TensorMap& m) { m.l2_promotion = 0; }) != plain);
  CHECK(text([](TensorMap& m) { m.interleave = 16; }) != plain);
  CHECK(text([](TensorMap& m) { m.nan_outside = true; }) != plain);
}
