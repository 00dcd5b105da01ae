// A kernel over a fake runtime and compiler, with a store that tests fill.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/build/cache.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/record_log.hpp"
#include "dispatch/kernel_state.hpp"
#include "fakes/fake_runtime.hpp"
#include "support/error_of.hpp"
#include "system/files.hpp"

namespace xtune {

/// Its image contains its defines: "BLOCK=64".
class FakeToolchain final : public build::Toolchain {
 public:
  explicit FakeToolchain(std::atomic<int>& compiled) : compiled_(compiled) {}
  std::string fingerprint() override { return "fake 1"; }
  std::string default_arch() override { return "sm_90"; }
  build::Artifact compile(const build::CompileRequest& request) override {
    ++compiled_;
    build::Artifact artifact;
    for (const auto& [name, value] : request.defines) artifact.image += name + "=" + value + " ";
    if (artifact.image.find("BLOCK=13") != std::string::npos)
      throw build::CandidateFailure(Outcome::compile_failed, "13 is bad luck");
    artifact.arch = request.arch;
    artifact.format = "cubin";
    artifact.entry_symbol = request.entry;
    return artifact;
  }

 private:
  std::atomic<int>& compiled_;
};

/// y = scale * x over N elements, with BLOCK at compile time and ITEMS as a scalar that xtune fills in.
struct Shop {
  system::TemporaryDirectory folder;
  std::shared_ptr<fakes::FakeRuntime> runtime = std::make_shared<fakes::FakeRuntime>();
  std::atomic<int> compiled{0};
  std::string name = "scale", blocks = "[32, 64, 128]", more, kernel_keys;
  dispatch::Tuner tuner;
  std::vector<std::string> messages;
  std::mutex messages_mutex;
  LoadSettings settings;
  std::shared_ptr<const void> kept;  ///< lives as long as the kernel
  alignas(64) std::array<float, 4096> x{}, y{};

  Shop() {
    write_source("__global__ void scale() {}");
    runtime->info = *device::known_device("sm_90");
    runtime->info.backend = "cuda";
    runtime->parameter_bytes = {8, 8, 4, 4, 4};
    runtime->memory = {{x.data(), sizeof x}, {y.data(), sizeof y}};
    settings.store = folder.path() / "store";
    settings.on_message = [this](const std::string& text) {
      const std::lock_guard lock(messages_mutex);
      messages.push_back(text);
    };
  }

  void write_source(const std::string& text) const { std::ofstream(folder.path() / "scale.cu") << text; }

  spec::Spec spec() const {
    return spec::parse_spec("[kernel]\nname = \"" + name + "\"\nsource = \"scale.cu\"\n" + kernel_keys +
                                "[problem]\nN = 4096\n"
                                "[space.params]\nBLOCK = " +
                                blocks +
                                "\nITEMS = { values = [1, 2], compile_time = false }\n"
                                "[launch]\ngrid = [\"ceildiv(N, BLOCK * ITEMS)\"]\nblock = [\"BLOCK\"]\n"
                                "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n"
                                "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                                "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                                "[[args]]\nname = \"items\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"ITEMS\"\n"
                                "[[args]]\nname = \"factor\"\nkind = \"scalar\"\ndtype = \"f32\"\nvalue = \"2.0\"\n" +
                                more,
                            "scale.toml", folder.path());
  }

  /// A record of it in the store, with its artifact.
  void measure(std::int64_t n, std::int64_t block, double time_ms, std::int64_t items = 1,
               const std::string& arch = "sm_90", Outcome outcome = Outcome::ok) {
    const spec::Spec own = spec();
    device::DeviceInfo device = runtime->info;
    device.arch = arch;
    const Bindings problem{{"N", n}};
    const space::Space space = spec::make_space(own, problem, device::device_facts(device));
    FakeToolchain toolchain(compiled);
    const resolve::CandidateResolver resolver(own, space, problem, device, arch, toolchain.fingerprint(), false);
    const space::Config config = space.at(space.index_of(space::Config{block, items}).value());
    const build::CompileRequest request = resolver.compile_request(config);
    build::Artifact artifact = toolchain.compile(request);
    --compiled;
    artifact.key = resolver.artifact_key(request);
    artifact.backend = device.backend;
    build::ArtifactCache(settings.store).insert(artifact, request);
    store::Record record;
    record.kernel = own.kernel.name;
    record.key_parts = resolver.measurement_key_parts(config, artifact.key);
    record.key = build::key_of(record.key_parts);
    record.problem = problem;
    record.config = space.named(config);
    record.outcome = outcome;
    if (outcome == Outcome::ok) {
      record.samples_ms = {time_ms, time_ms, time_ms};
      record.time_ms = measure::summarize(record.samples_ms);
    } else {
      record.stage = stage_of_failures;
      record.message = "y[3] is 7";
    }
    record.artifact_key = artifact.key;
    record.device = device;
    record.toolchain = toolchain.fingerprint();
    record.attempt = "a" + std::to_string(written++);
    record.unix_time_ms = 1000 + written;
    store::RecordWriter(settings.store, arch, own.kernel.name, record.attempt).append(record);
  }
  /// The same of one that failed.
  void fail(std::int64_t n, std::int64_t block, std::int64_t items = 1, Outcome outcome = Outcome::wrong_result) {
    measure(n, block, 0, items, "sm_90", outcome);
  }
  std::string stage_of_failures = "validate";
  int written = 0;

  Kernel kernel() {
    dispatch::Parts parts;
    parts.spec = spec();
    parts.runtime = runtime;
    parts.open_toolchain = [this](const std::string&) { return std::make_unique<FakeToolchain>(compiled); };
    parts.tune = tuner;
    parts.kept = kept;
    return dispatch::make_kernel(std::move(parts), settings);
  }

  /// Calls it and returns the launch.
  fakes::FakeLaunchRecord call(const Kernel& kernel, std::int32_t n, float factor = 2.0F) {
    kernel(nullptr, static_cast<const float*>(x.data()), y.data(), n, factor);
    return runtime->launches().back();
  }
};

inline bool holds(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) MESSAGE("'" << part << "' is not in: " << text);
  return text.find(part) != std::string::npos;
}

}  // namespace xtune
