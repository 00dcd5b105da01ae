// Tests of the checks on the device: the same verdicts as the host's, and nothing believed that a kernel could forge.
#include "worker/device_check.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "bench_fixture.hpp"
#include "fakes/fake_check_kernel.hpp"

using namespace xtune::build;
using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::measure;
using namespace xtune::spec;
using namespace xtune::validate;

namespace {

using namespace xtune;
using namespace xtune::fakes;

/// Checks on the device; the tuned kernels of the tests get access to memory that they normally could not address.
struct DeviceBench : Bench {
  int checks = 0;
  DeviceBench() {
    open.check_kernel = artifact("check");
    device.kernels[open.check_kernel->key] = [this](const FakeLaunch& call) {
      ++checks;
      return check_kernel_of_f32(call);
    };
  }
};

FakeKernel then(std::function<void(const FakeLaunch&)> more) {
  return [more = std::move(more)](const FakeLaunch& call) {
    doubling(call);
    more(call);
    return 1.0;
  };
}

/// The session's copies on the device, without the arguments, which have guards.
std::vector<Buffer*> copies_of(const Bench& bench) {
  std::vector<Buffer*> copies;
  for (Buffer* buffer : bench.device.live)
    if (buffer->size() == count * sizeof(float)) copies.push_back(buffer);
  return copies;
}

}  // namespace

TEST_CASE("A device's checks end as the host's do") {
  const std::map<std::string, FakeKernel> kernels = {
      {"right", doubling},
      {"lazy", [](const FakeLaunch&) { return 1.0; }},
      {"slightly off", then([](const FakeLaunch& call) { call.buffer<float>(1)[3] *= 1.001f; })},
      {"far off", then([](const FakeLaunch& call) { call.buffer<float>(1)[3] += 5; })},
      {"nan", then([](const FakeLaunch& call) { call.buffer<float>(1)[9] = std::numeric_limits<float>::quiet_NaN(); })},
      {"infinite",
       then([](const FakeLaunch& call) { call.buffer<float>(1)[9] = std::numeric_limits<float>::infinity(); })},
      {"past the end", then([](const FakeLaunch& call) { call.buffer<std::byte>(1)[count * 4] = std::byte{1}; })},
      {"before the start", then([](const FakeLaunch& call) { call.buffer<std::byte>(0)[-1] = std::byte{1}; })},
      {"changes its input", then([](const FakeLaunch& call) { call.buffer<float>(0)[17] = -0.5f; })},
      {"changes it later", then([](const FakeLaunch& call) {
         if (call.number == 4) call.buffer<float>(0)[17] = -0.5f;
       })},
  };
  for (const auto& [name, kernel] : kernels) {
    CAPTURE(name);
    Bench host;
    DeviceBench there;
    host.open.tolerances = there.open.tolerances = {{"y", {0.01, 0.01, 0}}};
    const BenchAnswer by_host = host.run(name, kernel), by_device = there.run(name, kernel);
    CHECK(there.checks > 0);
    CHECK(by_device.outcome == by_host.outcome);
    CHECK(by_device.stage == by_host.stage);
    CHECK(by_device.message == by_host.message);
    CHECK(by_device.samples_ms == by_host.samples_ms);
    REQUIRE(by_device.validation.has_value() == by_host.validation.has_value());
    if (!by_host.validation) continue;
    CHECK(by_device.validation->text() == by_host.validation->text());
    CHECK(by_device.validation->passed == by_host.validation->passed);
    CHECK(by_device.validation->count == by_host.validation->count);
    CHECK(by_device.validation->max_rel_error == doctest::Approx(by_host.validation->max_rel_error));
  }
}

TEST_CASE("Outputs that agree are not read back, and intact inputs are not written again") {
  DeviceBench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(bench.job("first", doubling)).outcome == Outcome::ok);
  bench.device.written_bytes = 0;
  bench.device.read_bytes = 0;
  CHECK(session.bench(bench.job("second", doubling)).outcome == Outcome::ok);
  // Only work lists and their results: one reset, outputs poisoned twice and compared three times, inputs once.
  CHECK(bench.device.read_bytes == (3 * 6 + 1) * sizeof(CheckResult));
  CHECK(bench.device.written_bytes == (1 + 2 + 3 + 1) * 10 * (sizeof(CheckItem) + sizeof(CheckResult)));
}

TEST_CASE("Inputs are found intact after rounds, too, in every set of buffers") {
  DeviceBench bench;
  bench.open.measure.flush = Flush::rotate;
  BenchSession session(bench.device, bench.open, bench.clock);
  const BenchJob job = bench.job("first", doubling);
  CHECK(session.bench(job).outcome == Outcome::ok);
  CHECK(session.measure_rounds({{job}, {{0}, {0}}}).outcome == Outcome::ok);
  bench.device.written_bytes = 0;
  CHECK(session.measure_rounds({{job}, {{0}, {0}}}).outcome == Outcome::ok);
  CHECK(bench.device.written_bytes % (10 * (sizeof(CheckItem) + sizeof(CheckResult))) == 0);
}

TEST_CASE("A kernel that forges what is expected of it is found out, and harms no later one") {
  DeviceBench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(bench.job("right", doubling)).outcome == Outcome::ok);
  const auto copies = copies_of(bench);
  REQUIRE(copies.size() == 1);
  auto* const expected = static_cast<float*>(copies[0]->address());
  const auto forge = [expected](const FakeLaunch& call) {
    for (std::size_t i = 0; i < count; ++i) expected[i] = call.buffer<float>(1)[i] = 7;
    return 1.0;
  };
  CHECK(session.bench(bench.job("forged", forge)).outcome == Outcome::wrong_result);
  CHECK(session.bench(bench.job("right again", doubling)).outcome == Outcome::ok);
  CHECK(session
            .bench(bench.job("seven",
                             [](const FakeLaunch& call) {
                               std::fill_n(call.buffer<float>(1), count, 7.0f);
                               return 1.0;
                             }))
            .outcome == Outcome::wrong_result);
}

TEST_CASE("Rows of small values are checked by their own tolerance, which a kernel cannot forge on the device") {
  constexpr std::size_t rows = 3, columns = 64, all = rows * columns;
  std::vector<float> x(all);
  for (std::size_t i = 0; i < all; ++i) x[i] = (i < columns ? 1e-3f : 1e6f) * static_cast<float>(1 + i % columns);
  const auto doubling_rows = [](float small) {
    return [small](const FakeLaunch& call) {
      for (std::size_t i = 0; i < all; ++i)
        call.buffer<float>(1)[i] = (i < columns ? small : 2) * call.buffer<float>(0)[i];
      return 1.0;
    };
  };
  Bench host;
  DeviceBench there;
  for (Bench* bench : {&host, static_cast<Bench*>(&there)}) {
    for (std::size_t i = 0; i < 2; ++i) bench->open.arguments[i].buffer->shape = {rows, columns};
    const auto bytes = std::as_bytes(std::span(x));
    bench->open.arguments[0].buffer->value.assign(bytes.begin(), bytes.end());
    bench->open.tolerances = {{"y", {{}, {}, 0, 10, 1}}};
    bench->device.kernels[bench->open.reference.artifact.key] = doubling_rows(2);
    CHECK(bench->run("right", doubling_rows(2)).outcome == Outcome::ok);
    const BenchAnswer wrong = bench->run("half", doubling_rows(1));
    CHECK(wrong.outcome == Outcome::wrong_result);
    CHECK(wrong.message.starts_with("y: 64 of 192 elements differ"));
  }
  BenchSession session(there.device, there.open, there.clock);
  CHECK(session.bench(there.job("right", doubling_rows(2))).outcome == Outcome::ok);
  const auto forge = [&](const FakeLaunch& call) {
    for (Buffer* buffer : there.device.live)
      if (buffer->size() == rows * sizeof(double)) std::fill_n(static_cast<double*>(buffer->address()), rows, 1e30);
    return doubling_rows(1)(call);
  };
  CHECK(session.bench(there.job("forged", forge)).outcome == Outcome::wrong_result);
  CHECK(session.bench(there.job("half", doubling_rows(1))).outcome == Outcome::wrong_result);
}

TEST_CASE("In-place arguments are restored from a copy on the device, which is renewed where a kernel damaged it") {
  DeviceBench bench;
  bench.open.arguments = {buffer("z", ArgRole::inout)};
  bench.open.reference.scalars = {};
  const auto increment = [](const FakeLaunch& call) {
    for (std::size_t i = 0; i < count; ++i) call.buffer<float>(0)[i] += 1;
    return 1.0;
  };
  bench.device.kernels[bench.open.reference.artifact.key] = increment;
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto job = [&](const std::string& name, FakeKernel kernel) {
    BenchJob made = bench.job(name, std::move(kernel));
    made.scalars.clear();
    return made;
  };
  std::vector<float> first;
  CHECK(session
            .bench(job("right",
                       [&](const FakeLaunch& call) {
                         first.push_back(call.buffer<float>(0)[5]);
                         return increment(call);
                       }))
            .outcome == Outcome::ok);
  REQUIRE(first.size() == 8 + 2);
  CHECK(first == std::vector<float>(10, first[0]));

  bench.device.written_bytes = 0;
  CHECK(session.bench(job("once more", increment)).outcome == Outcome::ok);
  CHECK(bench.device.written_bytes % (5 * (sizeof(CheckItem) + sizeof(CheckResult))) == 0);

  REQUIRE(copies_of(bench).size() == 2);
  CHECK(session
            .bench(job("wild",
                       [&](const FakeLaunch& call) {
                         increment(call);
                         for (Buffer* copy : copies_of(bench)) std::memset(copy->address(), 3, copy->size());
                         return 1.0;
                       }))
            .outcome == Outcome::wrong_result);  // its later launches read the value that it wrote there
  CHECK(session.bench(job("right again", increment)).outcome == Outcome::ok);
}

TEST_CASE("A device without memory to spare, or that does not take the kernel, is checked by the host") {
  for (const bool memory : {true, false}) {
    DeviceBench bench;
    if (memory)
      bench.device.left_bytes = 2 * (count * sizeof(float) + 2 * guard_bytes) + 16;
    else
      bench.device.load_failures.emplace(bench.open.check_kernel->key,
                                         CandidateFailure(Outcome::launch_failed, "no such instruction"));
    CHECK(bench.run("right", doubling).outcome == Outcome::ok);
    CHECK(bench.run("lazy", [](const FakeLaunch&) { return 1.0; }).outcome == Outcome::wrong_result);
    CHECK(bench.checks == 0);
  }
}

TEST_CASE("Outputs are poisoned by their type, on the device as on the host") {
  for (const auto& [type, poison] : {std::pair{DType::i32, 0xA5A5A5A5u}, std::pair{DType::f32, 0xFFFFFFFFu}}) {
    DeviceBench there;
    Bench host;
    for (Bench* bench : {static_cast<Bench*>(&there), &host}) {
      bench->open.reference = {};
      bench->open.arguments[1].buffer->dtype = type;
      std::vector<std::uint32_t> seen;
      bench->run("looks", [&](const FakeLaunch& call) {
        seen.push_back(call.buffer<std::uint32_t>(1)[count - 1]);
        return 1.0;
      });
      REQUIRE_FALSE(seen.empty());
      CHECK(seen.front() == poison);
      // Of the last launch after the measured ones.
      CHECK(seen.back() == (type == DType::i32 ? 0x01010101u : 0xFBFBFBFBu));
    }
  }
}
