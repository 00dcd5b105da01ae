// A kernel that faults: crashed, with the driver's message, and every later use of the device reports it too.
#include <cstdlib>

#include "device/gpu_case.hpp"

using namespace xtune::backend;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::testing;

TEST_CASE("an illegal address") {
  // One backend a process: after the fault nothing else in it may count on the GPU.
  const char* arch = std::getenv("XTUNE_TEST_ARCH");
  use_emulated_gpus(arch ? arch : "gfx942");
  const char* only = std::getenv("XTUNE_TEST_BACKEND");
  for (const std::string& name : backend_names()) {
    if (name == "host" || (only && name != only)) continue;
    auto backend = make_backend(name);
    if (const DeviceList list = backend->list_devices(); list.devices.empty()) {
      MESSAGE("skipped: no " << name << " device: " << list.reason);
      continue;
    }
    const DeviceInfo device = backend->list_devices().devices[0];
    if (name == "hip" && device.vendor == "amd" && !is_emulated(device)) {
      MESSAGE("skipped: the ROCm runtime aborts the process on a memory fault, which the worker's parent sees");
      continue;
    }
    CAPTURE(name);
    Gpu gpu{backend->open_device(0), open_toolchain(*backend, "", code_arch(device.arch))};
    const auto artifact = gpu.compile("extern \"C\" __global__ void k(int* out) { out[1ll << 40] = 1; }");
    auto out = gpu.device->allocate(4);
    auto program = gpu.device->load(artifact, launch_of(1, 1));
    const KernelArgument arguments[] = {out.get()};
    CHECK(outcome_of([&] { program->run({arguments, true, 0}); }) == Outcome::crashed);
    std::array<std::byte, 4> bytes{};
    CHECK(outcome_of([&] { out->read(0, bytes); }) == Outcome::crashed);
    CHECK(outcome_of([&] { program->run({arguments, true, 0}); }) == Outcome::crashed);
    return;
  }
}
