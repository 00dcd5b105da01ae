// Scratch buffers that belong to the library: one block for each stream, zeroed where the spec says so.
#include <algorithm>
#include <cstring>

#include "unit/dispatch/shop.hpp"

namespace xtune {
namespace {

/// The shop's kernel with two scratch buffers at the end.
struct ScratchShop : Shop {
  ScratchShop() {
    more =
        "[[args]]\nname = \"sums\"\ndtype = \"f32\"\nshape = [\"N\", \"BLOCK\"]\nrole = \"scratch\"\n"
        "[[args]]\nname = \"count\"\ndtype = \"u32\"\nshape = [3]\nrole = \"scratch\"\nzero = true\n";
    runtime->parameter_bytes = {8, 8, 4, 4, 4, 8, 8};
  }
  void call(const Kernel& kernel, std::int32_t n, void* stream) {
    kernel(static_cast<CUstream_st*>(stream), static_cast<const float*>(x.data()), y.data(), n, 2.0F);
  }
  std::pair<std::byte*, std::byte*> last() const {
    const fakes::FakeLaunchRecord launch = runtime->launches().back();
    std::pair<std::byte*, std::byte*> addresses;
    std::memcpy(&addresses.first, launch.parameters[5].data(), sizeof(void*));
    std::memcpy(&addresses.second, launch.parameters[6].data(), sizeof(void*));
    return addresses;
  }
};

}  // namespace

TEST_CASE("scratch is allocated for each stream once, grows, and is zeroed before each launch") {
  ScratchShop shop;
  const Kernel kernel = shop.kernel();
  int first = 0, second = 0;
  shop.call(kernel, 1024, &first);
  const std::size_t bytes = 4 * 1024 * 32;
  const auto [sums, count] = shop.last();
  CHECK(sums - count == 256);  // what is zeroed comes first
  REQUIRE(shop.runtime->allocations.size() == 1);
  CHECK(shop.runtime->allocations[0].bytes >= bytes + 12);
  CHECK(shop.runtime->allocations[0].stream == &first);
  shop.call(kernel, 512, &first);
  CHECK(shop.last().first == sums);
  CHECK(shop.runtime->allocations.size() == 1);
  shop.call(kernel, 512, &second);
  CHECK(shop.last().first != sums);
  CHECK(shop.runtime->allocations.size() == 2);
  shop.call(kernel, 4096, &first);
  CHECK(shop.runtime->allocations.size() == 3);
  REQUIRE(shop.runtime->zeroed.size() == 4);
  CHECK(shop.runtime->zeroed[0].address == count);
  CHECK(shop.runtime->zeroed[0].bytes == 256);
  CHECK(shop.runtime->zeroed[0].launches_before == 0);
  CHECK(shop.runtime->zeroed[3].launches_before == 3);

  const Kernel other = shop.kernel();
  shop.call(other, 4096, &first);
  CHECK(shop.runtime->allocations.size() == 3);  // kernels share a stream's block
}

TEST_CASE("a graph has its own scratch, which no other launch uses") {
  ScratchShop shop;
  const Kernel kernel = shop.kernel();
  int stream = 0;
  shop.call(kernel, 64, &stream);
  const auto outside = shop.last();
  shop.runtime->capture = 7;
  shop.call(kernel, 64, &stream);
  const auto inside = shop.last();
  CHECK(inside != outside);
  CHECK(shop.runtime->allocations.back().captured);
  shop.call(kernel, 64, &stream);
  CHECK(shop.last() == inside);
  shop.runtime->capture = 0;
  shop.call(kernel, 64, &stream);
  CHECK(shop.last() == outside);
}

TEST_CASE("a call may pass scratch itself, and then all of it") {
  ScratchShop shop;
  shop.runtime->memory[shop.y.data() + 2048] = 4 * 1024;
  const Kernel kernel = shop.kernel();
  std::array<std::uint32_t, 3> count{};
  shop.runtime->memory[count.data()] = sizeof count;
  float* const sums = shop.y.data() + 2048;
  kernel(nullptr, static_cast<const float*>(shop.x.data()), shop.y.data(), 16, 2.0F, sums, count.data());
  CHECK(shop.last().first == reinterpret_cast<std::byte*>(sums));
  CHECK(shop.runtime->allocations.empty());
  CHECK(shop.runtime->zeroed.empty());
  CHECK(holds(test::error_of(
                  [&] {
                    kernel(nullptr, static_cast<const float*>(shop.x.data()), shop.y.data(), 64, 2.0F, sums,
                           count.data());
                  },
                  ErrorKind::invalid_argument),
              "scale: scratch 'sums', has 4096 bytes, and this problem needs 8192"));
}

TEST_CASE("the application's allocator provides scratch, and gets it back") {
  ScratchShop shop;
  std::vector<std::string> log;
  std::vector<std::byte> memory(1 << 20);
  shop.settings.allocator.allocate = [&](std::size_t bytes, void*) -> void* {
    log.push_back("allocate");
    return bytes <= memory.size() ? memory.data() : nullptr;
  };
  shop.settings.allocator.release = [&](void* address, std::size_t, void*) {
    log.push_back(address == memory.data() ? "release" : "release another");
  };
  {
    const Kernel kernel = shop.kernel();
    shop.call(kernel, 64, nullptr);
    shop.call(kernel, 64, nullptr);
    CHECK(shop.last().second == memory.data());
    memory.resize(1);
    CHECK(holds(test::error_of([&] { shop.call(kernel, 4096, nullptr); }, ErrorKind::unavailable),
                "the application's allocator has no"));
  }
  CHECK(log == std::vector<std::string>{"allocate", "allocate", "release"});
  shop.settings.allocator.release = nullptr;
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::invalid_argument), "has no release"));
}

TEST_CASE("a configuration with more scratch than the limit is not used") {
  ScratchShop shop;
  shop.measure(1024, 128, 0.5);
  shop.settings.scratch_limit = 4 * 1024 * 64;
  const Kernel kernel = shop.kernel();
  shop.call(kernel, 1024, nullptr);
  CHECK(shop.runtime->launches().back().image == "BLOCK=32 ");
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages[0], "more than LoadSettings::scratch_limit"));
}

}  // namespace xtune
