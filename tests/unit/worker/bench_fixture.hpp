// A bench session over a fake device: y = 2x for 32 floats, its reference kernel, and configurations as functions.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "fakes/fake_clock.hpp"
#include "fakes/fake_device.hpp"
#include "system/files.hpp"
#include "worker/bench_session.hpp"

namespace xtune::fakes {

inline constexpr std::size_t count = 32;

inline run::ArgumentPlan buffer(const std::string& name, spec::ArgRole role, Fill fill = Fill::uniform) {
  validate::ArgumentLayout layout;
  layout.name = name;
  layout.role = role;
  layout.dtype = DType::f32;
  layout.shape = {count};
  layout.fill = fill;
  return {layout};
}

/// y = 2x, up to the length in the scalar.
inline double doubling(const FakeLaunch& call) {
  const auto* x = call.buffer<float>(0);
  auto* y = call.buffer<float>(1);
  const auto n = call.scalar<std::int32_t>(0);
  for (std::int32_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return 1.5;
}

struct Bench {
  system::TemporaryDirectory folder;
  FakeDevice device;
  FakeClock clock;
  run::OpenJob open;
  int reference_runs = 0;

  Bench() {
    device.device_info.l2_bytes = 1 << 20;
    device.device_info.memory_bytes = std::int64_t{1} << 30;
    open.cache = folder.path() / "store";
    open.scratch = folder.path() / "scratch";
    std::filesystem::create_directories(open.scratch);
    open.arguments = {buffer("x", spec::ArgRole::in), buffer("y", spec::ArgRole::out), {}};
    open.reference.kind = spec::ReferenceSpec::Kind::kernel;
    open.reference.name = "reference";
    open.reference.artifact = artifact("reference");
    open.reference.launch = device::Launch{};
    open.reference.scalars = {number(count)};
    open.measure.warmup = 2;
    open.measure.rep = 5;
    open.measure.min_rep = 5;
    open.measure.noise = 0;
    device.kernels[artifact("reference").key] = [this](const FakeLaunch& call) {
      ++reference_runs;
      return doubling(call);
    };
  }

  static measure::ScalarArgument number(std::int32_t value) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
    return {{bytes.begin(), bytes.end()}};
  }
  /// Stored in the cache under a key that a fake kernel can be registered for.
  build::Artifact artifact(const std::string& name) {
    build::Artifact made;
    made.key = base::sha256(name);
    made.backend = "fake";
    made.format = "bin";
    made.entry_symbol = name;
    made.image = "image of " + name;
    build::ArtifactCache(open.cache).insert(made, build::CompileRequest{});
    made.image.clear();
    return made;
  }
  run::BenchJob job(const std::string& name, fakes::FakeKernel kernel) {
    run::BenchJob made{{artifact(name), device::Launch{}, {number(count)}}};
    device.kernels[made.artifact.key] = std::move(kernel);
    return made;
  }
  run::BenchAnswer run(const std::string& name, fakes::FakeKernel kernel) {
    worker::BenchSession session(device, open, clock);
    return session.bench(job(name, std::move(kernel)));
  }
};

}  // namespace xtune::fakes
