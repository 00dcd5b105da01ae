// The clock of an NVIDIA GPU through a library in the place of NVML: a real device's clock is never changed.
#include <doctest/doctest.h>

#include <fstream>

#include "backends/backend.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"

#if XTUNE_HAS_CUDA

#include "backends/cuda/driver.hpp"
#include "support/error_of.hpp"
#include "system/dynamic_library.hpp"
#include "xtune/error.hpp"

using namespace xtune;

namespace {

struct FakeNvml {
  system::DynamicLibrary library = system::DynamicLibrary::open({XTUNE_FAKE_NVML});
  unsigned (*locked_mhz)() = nullptr;
  void (*refuse)(int) = nullptr;
  void (*set_clients)(unsigned) = nullptr;
  void (*set_default)(bool) = nullptr;
  FakeNvml() {
    library.get("fake_nvml_locked_mhz", locked_mhz);
    library.get("fake_nvml_refuse", refuse);
    library.get("fake_nvml_set_clients", set_clients);
    library.get("fake_nvml_set_default", set_default);
    refuse(0);
    set_default(true);
  }
  static std::unique_ptr<measure::ClockLock> clocks(const std::string& address = "0000:18:00.0") {
    return cuda::nvml_clocks(address, XTUNE_FAKE_NVML);
  }
};

}  // namespace

TEST_CASE("the default application clock, or a given one, until it is unlocked") {
  FakeNvml nvml;
  const auto clocks = nvml.clocks();
  CHECK(clocks->lock(0) == 1500);
  CHECK(nvml.locked_mhz() == 1500);
  clocks->unlock();
  CHECK(nvml.locked_mhz() == 0);
  CHECK(clocks->lock(1410) == 1410);
  CHECK(nvml.locked_mhz() == 1410);
  clocks->unlock();
  CHECK(nvml.locked_mhz() == 0);
  CHECK(clocks->undo_command() == "nvidia-smi --id=0000:18:00.0 --reset-gpu-clocks");
}

TEST_CASE("of a MIG device only the processes of the own part count") {
  const auto processes = [](const std::string& uuid) {
    return cuda::open_monitor("0000:18:00.0", uuid, XTUNE_FAKE_NVML)().processes;
  };
  CHECK(processes("GPU-a1") == std::vector<int>{4711, 4712});
  CHECK(processes("MIG-a1") == std::vector<int>{4711});
  CHECK(processes("MIG-b1").empty());  // unknown to NVML
}

TEST_CASE("energy and power of a MIG device are unknown, since the counters are those of the whole") {
  const auto state = [](const std::string& uuid) {
    return cuda::open_monitor("0000:18:00.0", uuid, XTUNE_FAKE_NVML)();
  };
  CHECK(state("GPU-a1").energy_j == 5);
  CHECK(state("GPU-a1").power_w == 300);
  for (const char* part : {"MIG-a1", "MIG-b1"}) {
    CHECK_FALSE(state(part).energy_j);
    CHECK_FALSE(state(part).power_w);
  }
}

TEST_CASE("the server of MPS is not counted as another process, and other clients are") {
  const FakeNvml nvml;
  const auto processes = [&](unsigned clients) {
    nvml.set_clients(clients);
    return cuda::open_monitor("0000:18:00.0", "GPU-a1", XTUNE_FAKE_NVML)().processes;
  };
  CHECK(processes(1) == std::vector<int>{4712});
  CHECK(processes(2) == std::vector<int>{4711, 4712});
  CHECK(processes(0) == std::vector<int>{4711, 4712});  // no MPS
}

TEST_CASE("a client of MPS with a share of the threads is another device") {
  const system::TemporaryDirectory folder;
  const Variable pipes("CUDA_MPS_PIPE_DIRECTORY", folder.path().string());
  const Variable share("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50");
  CHECK(cuda::mps_share().empty());  // no daemon
  std::ofstream(folder.path() / "control") << "";
  CHECK(cuda::mps_share() == " (MPS 50 %)");
  for (const char* whole : {"100", "", "0", "many", "-3", "400"}) {
    const Variable all("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", whole);
    CHECK(cuda::mps_share().empty());
  }
}

TEST_CASE("what NVML refuses is an error that states what to do") {
  FakeNvml nvml;
  nvml.refuse(4);
  CHECK(xtune::test::error_of([&] { nvml.clocks()->lock(0); }, ErrorKind::unavailable) ==
        "--lock-clocks: NVML refuses to fix the clock at 1500 MHz: Insufficient Permissions; it needs root, so run "
        "xtune as root, or without --lock-clocks");
  nvml.refuse(3);
  xtune::test::error_of([&] { nvml.clocks()->lock(1410); }, ErrorKind::unsupported);
  nvml.refuse(0);
  CHECK(xtune::test::error_of([&] { nvml.clocks()->lock(9000); }, ErrorKind::invalid_argument) ==
        "--lock-clocks: NVML refuses to fix the clock at 9000 MHz: Invalid Argument; `nvidia-smi -q -d "
        "SUPPORTED_CLOCKS` lists clocks");
  nvml.set_default(false);
  CHECK(xtune::test::error_of([&] { nvml.clocks()->lock(0); }, ErrorKind::unsupported)
            .find("name a clock in MHz, as in --lock-clocks=1410") != std::string::npos);
  CHECK(nvml.locked_mhz() == 0);
  xtune::test::error_of([&] { nvml.clocks("no device"); }, ErrorKind::unavailable);
  xtune::test::error_of([&] { cuda::nvml_clocks("0000:18:00.0", "libno-such-library.so.9"); }, ErrorKind::unavailable);
}

#endif
