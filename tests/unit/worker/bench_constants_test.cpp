// Tests of constants: filled in every program, in the reference's too, and intact at the end.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "bench_fixture.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;

/// y = x times the program's only variable.
double scaling(const FakeLaunch& call) {
  const float factor = *static_cast<const float*>(call.variables.at(0)->address());
  for (std::size_t i = 0; i < count; ++i) call.buffer<float>(1)[i] = factor * call.buffer<float>(0)[i];
  return 1.5;
}

struct ConstantBench : Bench {
  ConstantBench() {
    validate::ArgumentLayout layout;
    layout.name = "factor";
    layout.dtype = DType::f32;
    layout.shape = {2};
    layout.fill = Fill::range;
    open.constants = {layout};
    open.constants.front().value = as_bytes(std::vector<float>{3, 4});
    open.reference.constants = std::vector<std::size_t>{0};
    const std::string reference = artifact("reference").key;
    device.variable_bytes[reference] = {8};
    device.kernels[reference] = scaling;
  }
  static std::vector<std::byte> as_bytes(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }
  BenchAnswer run_with(const std::string& name, std::size_t variable_bytes, const FakeKernel& kernel) {
    device.variable_bytes[artifact(name).key] = {variable_bytes};
    return run(name, kernel);
  }
};

}  // namespace

TEST_CASE("Variables of kernel and reference hold the constant before every launch") {
  ConstantBench bench;
  const BenchAnswer answer = bench.run_with("right", 8, scaling);
  CHECK(answer.outcome == Outcome::ok);
  CHECK(bench.run_with("larger", 64, scaling).outcome == Outcome::ok);
  const BenchAnswer wrong = bench.run_with("wrong", 8, doubling);
  CHECK(wrong.outcome == Outcome::wrong_result);
}

TEST_CASE("A variable that is smaller than the constant's data fails its configuration, with both sizes") {
  ConstantBench bench;
  const BenchAnswer answer = bench.run_with("small", 4, scaling);
  CHECK(answer.outcome == Outcome::launch_failed);
  CHECK(answer.message ==
        "constant 'factor': the variable in the source has 4 bytes, and f32[2] takes 8: declare it larger, or give the "
        "argument fewer elements");
}

TEST_CASE("A kernel that changes a constant has a wrong result") {
  ConstantBench bench;
  const auto changes = [](const FakeLaunch& call) {
    const double time_ms = scaling(call);
    static_cast<float*>(call.variables.at(0)->address())[1] = 7;
    return time_ms;
  };
  const BenchAnswer answer = bench.run_with("changes", 8, changes);
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message.find("factor: the kernel changed this constant: [1] was 4 and is 7") == 0);

  bench.device.variable_bytes[bench.artifact("right").key] = {8};
  bench.device.variable_bytes[bench.artifact("bad").key] = {8};
  BenchSession session(bench.device, bench.open, bench.clock);
  RoundsJob rounds{{bench.job("right", scaling), bench.job("bad", changes)}, {{0, 1}, {1, 0}}};
  const RoundsAnswer finals = session.measure_rounds(rounds);
  CHECK(finals.outcome == Outcome::wrong_result);
  CHECK(finals.failed == 1);
  rounds.jobs.pop_back();
  rounds.rounds = {{0}, {0}};
  CHECK(session.measure_rounds(rounds).outcome == Outcome::ok);
}

TEST_CASE("A builtin reads a constant like an input, and a constant that is NaN allows NaN in outputs") {
  ConstantBench bench;
  bench.open.constants.front().shape = {count};
  bench.open.constants.front().fill = Fill::uniform;
  bench.open.constants.front().value.clear();
  bench.open.reference = {};
  bench.open.reference.kind = ReferenceSpec::Kind::builtin;
  bench.open.reference.name = "transpose";
  bench.open.constants.front().shape = {1, count};
  bench.open.arguments[1].buffer->shape = {count, 1};
  bench.open.reference.arrays = {{"x", "factor"}};
  const BenchAnswer answer = bench.run_with("copies", 4 * count, [](const FakeLaunch& call) {
    std::copy_n(static_cast<const float*>(call.variables.at(0)->address()), count, call.buffer<float>(1));
    return 1.0;
  });
  CHECK(answer.outcome == Outcome::ok);
}
