// The CPU's facts, the thread pool, and the images of kernels.
#include "system/machine.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "backends/cpu/cpu.hpp"
#include "backends/host/backend.hpp"
#include "backends/host/block/kernel_library.hpp"
#include "backends/host/engine.hpp"
#include "base/random.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;

using namespace xtune;
using namespace xtune::host;

namespace {

void put(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string refusal(Artifact artifact) {
  try {
    const KernelLibrary library(artifact, cpu::known_host_archs().front());
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::launch_failed);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the CPU's facts come from procfs and sysfs") {
  const TemporaryDirectory root;
  put(root.path() / "proc/cpuinfo", "processor : 0\nmodel name\t: Strange CPU 9000\ncpu MHz : 1234.5\n");
  put(root.path() / "proc/meminfo", "MemTotal:       2048 kB\n");
  const auto cache = root.path() / "sys/devices/system/cpu/cpu0/cache";
  put(cache / "index0/level", "1\n"), put(cache / "index0/type", "Data\n"), put(cache / "index0/size", "48K\n");
  put(cache / "index1/level", "1\n"), put(cache / "index1/type", "Instruction\n"), put(cache / "index1/size", "64K\n");
  put(cache / "index2/level", "2\n"), put(cache / "index2/type", "Unified\n"), put(cache / "index2/size", "2M\n");
  const DeviceInfo info = cpu::cpu_info(root.path());
  CHECK(info.name == "Strange CPU 9000");
  CHECK(info.memory_bytes == 2048 * 1024);
  CHECK(info.l2_bytes == 2 << 20);
  CHECK(info.clock_khz == 1234000);
  CHECK(info.compute_units == static_cast<int>(system::usable_cpus()));
  CHECK(info.arch == cpu::own_arch());
  CHECK(info.cpu_quota_milli == 0);
  put(root.path() / "proc/self/cgroup", "0::/\n");
  put(root.path() / "sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(cpu::cpu_info(root.path()).cpu_quota_milli == 500);
  put(root.path() / "sys/fs/cgroup/cpu.max", std::to_string(system::usable_cpus() * 100000) + " 100000\n");
  CHECK(cpu::cpu_info(root.path()).cpu_quota_milli == 0);
  put(cache / "index2/size", "300M\n");
  CHECK(cpu::cpu_info(root.path()).l2_bytes == 32 << 20);
}

TEST_CASE("a CPU without a name is named by its maker's numbers") {
  const TemporaryDirectory root;
  put(root.path() / "proc/cpuinfo",
      "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n");
  CHECK(cpu::cpu_info(root.path()).name == cpu::own_arch() + " CPU 0x41 0xd4f");
}

TEST_CASE("a machine that reports nothing is still a device") {
  const TemporaryDirectory root;
  put(root.path() / "proc/cpuinfo", "\n:\nmodel name\nmodel name :\n\xff\xfe");
  put(root.path() / "proc/meminfo", "MemTotal: much\n");
  const DeviceInfo info = cpu::cpu_info(root.path());
  CHECK(info.name == cpu::own_arch() + " CPU");
  CHECK(info.memory_bytes == 0);
  CHECK(info.compute_units > 0);
}

TEST_CASE("every worker of the pool works once a call") {
  ThreadPool pool(5);
  CHECK(pool.size() == 5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::atomic<int>> calls(5);
    pool.run([&](unsigned worker) { ++calls[worker]; });
    for (const auto& count : calls) REQUIRE(count == 1);
  }
  ThreadPool alone(1);
  int calls = 0;
  alone.run([&](unsigned) { ++calls; });
  CHECK(calls == 1);
}

TEST_CASE("levels of the instruction set run on those above") {
  CHECK(cpu::runs_on(cpu::own_arch(), cpu::own_arch()));
#if defined(__x86_64__)
  CHECK(cpu::runs_on("x86_64", "x86_64_v3"));
  CHECK_FALSE(cpu::runs_on("x86_64_v4", "x86_64_v3"));
  CHECK(cpu::arch_flag("x86_64_v3") == "-march=x86-64-v3");
  CHECK(cpu::arch_flag("x86_64") == "-march=x86-64");
#endif
  CHECK_FALSE(cpu::runs_on("sm_90", cpu::own_arch()));
  CHECK_THROWS_AS(cpu::arch_flag("x86_64_v9"), Error);
  CHECK_THROWS_AS(cpu::arch_flag(""), Error);
}

TEST_CASE("an image that cannot be loaded is refused with its reason") {
  Artifact artifact;
  artifact.arch = cpu::known_host_archs().front();
  artifact.entry_symbol = "xtune_kernel";
  CHECK(refusal(artifact).find("0 bytes") != std::string::npos);
  artifact.image =
      "\x7f"
      "ELF";
  CHECK(refusal(artifact).find("another version") != std::string::npos);
  artifact.image += XTUNE_HOST_MARKER "0";
  CHECK(refusal(artifact).find("cannot load") != std::string::npos);
#if defined(__x86_64__)
  artifact.arch = "x86_64_v4";
  CHECK(refusal(artifact).find("x86_64_v4") != std::string::npos);
#endif
}

TEST_CASE("shared memory is read from any image without harm") {
  CHECK_FALSE(thread_local_bytes("").has_value());
  CHECK_FALSE(thread_local_bytes("no ELF at all, but long enough to be one; no ELF at all, but long enough to be one")
                  .has_value());
  const std::string own = read_file(own_executable(), std::uint64_t{1} << 32);
  CHECK(thread_local_bytes(own).has_value());
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = own.substr(0, random.below(4096));
    for (int i = 0; i < 8 && damaged.size() > 64; ++i)
      damaged[16 + random.below(48)] = static_cast<char>(random.next());
    (void)thread_local_bytes(damaged);
  }
}
