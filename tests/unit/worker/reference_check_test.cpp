// Outputs that a reference must have written before they are used for comparisons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench_fixture.hpp"
#include "core/validate/npy.hpp"
#include "support/text.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;
using namespace xtune::validate;

namespace {

using namespace xtune;
using namespace xtune::fakes;
using namespace xtune::test;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

struct Judged : Bench {
  std::vector<std::string> warnings;
  Judged() { open.reference.at = "k.toml:9:1"; }
  /// What prepare_reference() complains about; empty: nothing.
  std::string complaint(FakeKernel reference) {
    std::filesystem::remove(open.scratch / "expected-complete");
    device.kernels[open.reference.artifact.key] = std::move(reference);
    return complaint();
  }
  std::string complaint() {
    try {
      BenchSession session(device, open, clock);
      session.prepare_reference();
      warnings = session.reference_findings().warnings;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_spec);
      CHECK(std::string(error.what()).starts_with("k.toml:9:1: "));
      return error.what();
    }
    return {};
  }
};

double nothing(const FakeLaunch&) { return 1.0; }

/// y += 2x, with the bits that a CPU or a GPU gives for a sum with NaN.
FakeKernel adding(bool canonical) {
  return [canonical](const FakeLaunch& call) {
    for (std::size_t i = 0; i < count; ++i) {
      float& y = call.buffer<float>(1)[i];
      y += 2 * call.buffer<float>(0)[i];
      if (canonical && std::isnan(y)) y = nan_value;
    }
    return 1.0;
  };
}

}  // namespace

TEST_CASE("A reference that writes nothing ends the run at its place") {
  Judged bench;
  CHECK(has(bench.complaint(nothing), "writes nothing to output 'y' (all 32 elements"));
  CHECK(has(bench.complaint(nothing), "role \"inout\""));
  for (const DType type : {DType::i32, DType::u8, DType::f16, DType::c64}) {
    bench.open.arguments[1].buffer->dtype = type;
    CHECK(has(bench.complaint(nothing), "writes nothing to output 'y'"));
  }
}

TEST_CASE("A reference that computes from its poisoned output ends the run, whatever NaN the processor makes") {
  Judged bench;
  for (const bool canonical : {false, true}) {
    const std::string said = bench.complaint(adding(canonical));
    CHECK(has(said, "computes 32 of 32 elements of output 'y' from what 'y' holds"));
    CHECK(has(said, "Give 'y' role \"inout\""));
  }
  // So does one that does it in a single element.
  const std::string said = bench.complaint([](const FakeLaunch& call) {
    const float before = call.buffer<float>(1)[7];
    doubling(call);
    call.buffer<float>(1)[7] = before + 1;
    return 1.0;
  });
  CHECK(has(said, "computes 1 of 32 elements"));
}

TEST_CASE("A reference that reads outside of its arguments ends the run; other NaN is warned of") {
  Judged bench;
  const auto shifted = [](std::ptrdiff_t shift, std::size_t changed) {
    return [=](const FakeLaunch& call) {
      doubling(call);
      for (std::size_t i = 0; i < changed; ++i)
        call.buffer<float>(1)[i] = call.buffer<float>(0)[static_cast<std::ptrdiff_t>(i) + shift];
      return 1.0;
    };
  };
  CHECK(has(bench.complaint(shifted(-2, 5)), "reads outside of its arguments for 2 of 32 elements of output 'y'"));
  CHECK(has(bench.complaint(shifted(count, 5)), "for 5 of 32 elements"));
  CHECK(bench.complaint(shifted(3, 5)).empty());
  CHECK(bench.warnings.empty());
  for (const ArgRole role : {ArgRole::out, ArgRole::inout}) {
    bench.open.arguments[1].buffer->role = role;
    CHECK(bench
              .complaint([](const FakeLaunch& call) {
                doubling(call);
                call.buffer<float>(1)[3] = nan_value;
                return 1.0;
              })
              .empty());
    REQUIRE(bench.warnings.size() == 1);
    CHECK(has(bench.warnings[0], "gives NaN in 1 of 32 elements of output 'y', although no input is NaN"));
  }
}

TEST_CASE("A tolerance with which zeros would pass is warned of") {
  Judged bench;
  for (const double atol : {0.01, 5.0}) {
    validate::ToleranceRule rule;
    rule.atol = atol;
    bench.open.tolerances = {{"y", rule}};
    CHECK(bench.complaint(doubling).empty());
    REQUIRE(bench.warnings.size() == (atol > 1 ? 1 : 0));
    if (atol > 1) CHECK(has(bench.warnings[0], "k.toml:9:1: for 32 of 32 elements of output 'y' that are not 0"));
  }
}

TEST_CASE("A reference of only NaN ends the run, unless an input is NaN or infinite") {
  Judged bench;
  const auto all_nan = [](const FakeLaunch& call) {
    std::fill_n(call.buffer<float>(1), count, nan_value);
    return 1.0;
  };
  CHECK(has(bench.complaint(all_nan), "gives NaN in all 32 elements of output 'y'"));
  std::vector<std::byte> bytes(4 * count);
  std::memcpy(bytes.data() + 8, &nan_value, sizeof nan_value);
  const std::filesystem::path file = bench.folder.path() / "x.npy";
  write_npy(file, {DType::f32, {count}, bytes});
  bench.open.arguments[0].buffer->file = file;
  CHECK(bench.complaint(all_nan).empty());
  CHECK(bench.warnings.empty());
}

TEST_CASE("What a reference leaves unwritten is warned of once, and configurations must leave it, too") {
  Judged bench;
  const auto inner = [](const FakeLaunch& call) {
    for (std::size_t i = 1; i + 1 < count; ++i) call.buffer<float>(1)[i] = 2 * call.buffer<float>(0)[i];
    return 1.0;
  };
  CHECK(bench.complaint(inner).empty());
  CHECK(bench.warnings ==
        std::vector<std::string>{"k.toml:9:1: the reference kernel 'reference' leaves 2 of 32 elements of output 'y' "
                                 "unwritten: a configuration must leave them, too"});
  CHECK(bench.complaint().empty());  // read by a worker that replaces the first
  CHECK(bench.warnings.empty());
  CHECK(bench.run("inner", inner).outcome == Outcome::ok);
  CHECK(bench.run("whole", doubling).outcome == Outcome::wrong_result);
  CHECK(bench
            .run("nan there",
                 [&](const FakeLaunch& call) {
                   call.buffer<float>(1)[0] = nan_value;
                   return inner(call);
                 })
            .outcome == Outcome::wrong_result);
}

TEST_CASE("A change in place that is smaller than the tolerance is warned of") {
  for (const float change : {1e-6f, 1.0f}) {
    Judged bench;
    bench.open.arguments[1].buffer->role = ArgRole::inout;
    const auto adds = [change](const FakeLaunch& call) {
      for (std::size_t i = 0; i < count; ++i) call.buffer<float>(1)[i] += change;
      return 1.0;
    };
    CHECK(bench.complaint(adds).empty());
    REQUIRE(bench.warnings.size() == (change < 1 ? 1 : 0));
    if (change < 1) CHECK(has(bench.warnings[0], "changes 'y' by less than the tolerance"));
  }
}

TEST_CASE("Integers that look like the poison are not taken for unwritten") {
  Judged bench;
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer) plan.buffer->dtype = DType::u8;
  const auto constant = [](std::uint8_t value) {
    return [value](const FakeLaunch& call) {
      std::fill_n(call.buffer<std::uint8_t>(1), count, value);
      return 1.0;
    };
  };
  CHECK(bench.complaint(constant(0xA5)).empty());
  CHECK(bench.warnings.empty());
  CHECK(bench.complaint(constant(0xFF)).empty());
  const BenchAnswer lazy = bench.run("lazy", nothing);
  CHECK(lazy.outcome == Outcome::wrong_result);
  REQUIRE(lazy.validation.has_value());
  CHECK(lazy.validation->unwritten == count);
}

TEST_CASE("NaN that a reference wrote on purpose still agrees with any NaN") {
  Judged bench;
  const auto with_nan = [](std::uint32_t bits) {
    return [bits](const FakeLaunch& call) {
      doubling(call);
      std::memcpy(call.buffer<float>(1) + 3, &bits, sizeof bits);
      return 1.0;
    };
  };
  CHECK(bench.complaint(with_nan(0xFFFFFFFF)).empty());
  CHECK(bench.run("another", with_nan(0x7FC00000)).outcome == Outcome::ok);
  CHECK(bench.run("the same", with_nan(0xFFFFFFFF)).outcome == Outcome::ok);
}

TEST_CASE("A file or a command that gives only NaN is refused, too") {
  Judged bench;
  std::vector<std::byte> bytes(4 * count, std::byte{0xFF});
  const std::filesystem::path file = bench.folder.path() / "y.npy";
  write_npy(file, {DType::f32, {count}, bytes});
  bench.open.reference.kind = ReferenceSpec::Kind::file;
  bench.open.reference.file = file;
  CHECK(has(bench.complaint(), "the reference gives NaN in all 32 elements of output 'y'"));
  bench.open.reference.kind = ReferenceSpec::Kind::command;
  bench.open.reference.command = {"/bin/sh", "-c", "cp " + file.string() + " $XTUNE_OUTPUTS/y.npy"};
  bench.open.reference.folder = bench.folder.path();
  CHECK(has(bench.complaint(), "the reference gives NaN in all 32 elements of output 'y'"));
}
