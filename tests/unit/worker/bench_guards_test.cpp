// Tests of the guard zones around the buffers that a kernel is given.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "bench_fixture.hpp"
#include "worker/arguments.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::measure;
using namespace xtune::spec;
using namespace xtune::validate;

namespace {

using namespace xtune;
using namespace xtune::fakes;

}  // namespace

TEST_CASE("A kernel that writes before the start of a buffer is wrong, and the buffer is named") {
  for (const std::ptrdiff_t offset : {std::ptrdiff_t{-1}, -static_cast<std::ptrdiff_t>(guard_bytes)}) {
    Bench bench;
    const BenchAnswer answer = bench.run("before", [offset](const FakeLaunch& call) {
      doubling(call);
      call.buffer<std::byte>(1)[offset] = std::byte{7};
      return 1.0;
    });
    CHECK(answer.outcome == Outcome::wrong_result);
    CHECK(answer.stage == "validate");
    CHECK(answer.message == "y: the kernel wrote before the start of this buffer");
    CHECK(bench.run("doubling", doubling).outcome == Outcome::ok);
  }
}

TEST_CASE("A guarded buffer keeps to itself and to its alignment") {
  FakeDevice device;
  GuardedBuffer guarded(device, 10, 256);
  guarded.renew_guards();
  guarded.fill(0, 10, std::byte{1});
  CHECK(guarded.size() == 10);
  CHECK(guarded.damage() == nullptr);
  CHECK_THROWS_AS(guarded.fill(10, 1, std::byte{1}), std::out_of_range);
  CHECK_THROWS_AS(guarded.fill(1, ~std::size_t{0}, std::byte{1}), std::out_of_range);
  static_cast<std::byte*>(guarded.address())[10] = std::byte{0};
  CHECK(std::string(guarded.damage()) == "past the end of");
  guarded.renew_guards();
  CHECK(guarded.damage() == nullptr);
  GuardedBuffer bare(device, 10, 0);
  bare.renew_guards();
  CHECK(bare.damage() == nullptr);
}

TEST_CASE("What a kernel computes from beyond a buffer is NaN in every float type, also multiplied by nothing") {
  for (const DType type : {DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64}) {
    FakeDevice device;
    GuardedBuffer guarded(device, 4 * size_of(type), guard_bytes);
    guarded.renew_guards();
    const auto* const first = static_cast<const std::byte*>(guarded.address());
    for (const std::ptrdiff_t index : {-3, -1, 4, 7})
      CHECK(std::isnan(decode(type, first + index * static_cast<std::ptrdiff_t>(size_of(type)))));
  }
  Bench bench;
  const BenchAnswer answer = bench.run("reads too much", [](const FakeLaunch& call) {
    doubling(call);
    call.buffer<float>(1)[2] += 0 * call.buffer<float>(0)[count];
    return 1.0;
  });
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message.find("1 NaN where the reference has none") != std::string::npos);
}

TEST_CASE("A kernel that overruns by any single value is found") {
  for (const int value : {0x00, 0xA5, 0xFE, 0xFF}) {
    Bench bench;
    CHECK(bench
              .run("memset",
                   [value](const FakeLaunch& call) {
                     doubling(call);
                     std::memset(call.buffer<float>(1) + count, value, 2);
                     return 1.0;
                   })
              .outcome == Outcome::wrong_result);
  }
}

TEST_CASE("A kernel that writes past the end of a buffer is wrong, and the buffer is named") {
  const auto past_end = [](std::size_t argument, std::size_t offset) {
    return [=](const FakeLaunch& call) {
      doubling(call);
      call.buffer<std::byte>(argument)[count * sizeof(float) + offset] = std::byte{7};
      return 1.0;
    };
  };
  for (const std::size_t offset : {std::size_t{0}, guard_bytes - 1}) {
    Bench bench;
    const BenchAnswer output = bench.run("output", past_end(1, offset));
    CHECK(output.outcome == Outcome::wrong_result);
    CHECK(output.stage == "validate");
    CHECK(output.message.find("y: ") == 0);
    CHECK(output.samples_ms.empty());
    const BenchAnswer input = bench.run("input", past_end(0, offset));
    CHECK(input.outcome == Outcome::wrong_result);
    CHECK(input.message.find("x: ") == 0);
  }
}

TEST_CASE("A buffer whose size is not a multiple of anything has its guard right behind the last element") {
  Bench bench;
  bench.open.arguments = {buffer("x", ArgRole::in), buffer("y", ArgRole::out), {}};
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer) {
      plan.buffer->dtype = DType::u8;
      plan.buffer->shape = {13};
    }
  const auto copy = [](const FakeLaunch& call) {
    std::copy_n(call.buffer<std::uint8_t>(0), 13, call.buffer<std::uint8_t>(1));
    return 1.0;
  };
  bench.device.kernels[bench.open.reference.artifact.key] = copy;
  CHECK(bench.run("copy", copy).outcome == Outcome::ok);
  CHECK(bench
            .run("one more",
                 [&](const FakeLaunch& call) {
                   call.buffer<std::uint8_t>(1)[13] = 1;
                   return copy(call);
                 })
            .message.find("y: ") == 0);
}

TEST_CASE("Under a sanitizer buffers end where the arguments end") {
  Bench bench;
  bench.open.sanitize = true;
  const BenchAnswer answer = bench.run("exact", [](const FakeLaunch& call) {
    for (Buffer* argument : call.buffers) CHECK(argument->size() == count * sizeof(float));
    return doubling(call);
  });
  CHECK(answer.outcome == Outcome::ok);
}
