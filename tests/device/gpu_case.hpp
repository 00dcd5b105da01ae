// Common parts of the tests on a real GPU: a device of each GPU backend that has one, and small kernels compiled for
// it.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/device/backend_facts.hpp"
#include "support/emulated_gpu.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::testing {

struct Gpu {
  std::unique_ptr<measure::Device> device;
  std::unique_ptr<build::Toolchain> toolchain;

  build::Artifact compile(const std::string& source, const std::string& entry = "k") const {
    build::CompileRequest request;
    request.source_name = "k.cu";
    request.source = source;
    request.entry = entry;
    request.arch = device::code_arch(device->info().arch);
    return toolchain->compile(request);
  }
};

/// Runs the check on the first device of every GPU backend, or on all that are emulated; reports backends without one.
inline void for_each_gpu(const std::function<void(Gpu&)>& check) {
  use_emulated_gpus(all_emulated);
  bool any = false;
  for (const std::string& name : device::backend_names()) {
    if (name == "host") continue;
    auto backend = backend::make_backend(name);
    const backend::DeviceList list = backend->list_devices();
    if (list.devices.empty()) {
      MESSAGE("skipped: no " << name << " device: " << list.reason);
      continue;
    }
    for (const device::DeviceInfo& found : list.devices) {
      if (found.index != 0 && !device::is_emulated(found)) continue;
      CAPTURE(name);
      CAPTURE(found.arch);
      Gpu gpu{backend->open_device(found.index), backend::open_toolchain(*backend, "", device::code_arch(found.arch))};
      check(gpu);
      any = true;
    }
  }
  if (!any) MESSAGE("skipped: this test needs a GPU");
}

template <class T>
measure::ScalarArgument scalar(T value) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
  return {{bytes.begin(), bytes.end()}};
}

inline device::Launch launch_of(std::uint32_t grid, std::uint32_t block, std::uint32_t shared = 0) {
  device::Launch launch;
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.shared_bytes = shared;
  return launch;
}

template <class Call>
Outcome outcome_of(Call call) {
  try {
    call();
  } catch (const build::CandidateFailure& failure) {
    MESSAGE(std::string(failure.what()));
    return failure.outcome();
  }
  return Outcome::ok;
}

}  // namespace xtune::testing
