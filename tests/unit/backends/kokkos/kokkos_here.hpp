// The Kokkos of this machine, for tests that need one.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "fakes/device_data.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"

namespace xtune::kokkos_test {

/// Its toolchain and its device, with a separate store; empty without Kokkos, with a message.
struct Here {
  system::TemporaryDirectory folder;
  Variable cache{"XTUNE_CACHE_DIR", (folder.path() / "cache").string()};
  std::unique_ptr<backend::Backend> backend = backend::make_backend("kokkos");
  std::unique_ptr<build::Toolchain> toolchain;
  std::unique_ptr<measure::Device> device;

  Here() {
    const backend::DeviceList list = backend->list_devices();
    if (list.devices.empty()) {
      MESSAGE("skipped: no Kokkos here: " << list.reason << " [apt: libtrilinos-kokkos-dev]");
      return;
    }
    toolchain = backend->open_toolchain();
    device = backend->open_device(0);
  }
  explicit operator bool() const { return device != nullptr; }

  build::CompileRequest request(const std::string& source, const std::string& entry) const {
    build::CompileRequest request;
    request.source_name = "unit.cpp";
    request.source = source;
    request.entry = entry;
    request.arch = toolchain->default_arch();
    return request;
  }
  std::unique_ptr<measure::Program> load(const build::CompileRequest& request) const {
    build::Artifact artifact = toolchain->compile(request);
    return device->load(artifact, device::Launch{});
  }
};

/// The failure that this must end in.
template <class Action>
build::CandidateFailure failure_of(const Action& action) {
  try {
    action();
  } catch (const build::CandidateFailure& failure) {
    return failure;
  }
  FAIL("it did not fail");
  return {Outcome::ok, ""};
}

using fakes::download;
using fakes::scalar;
using fakes::upload;

}  // namespace xtune::kokkos_test
