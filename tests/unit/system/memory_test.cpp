// Available memory, from an artificial /proc and /sys.
#include <doctest/doctest.h>

#include <string>

#include "support/file_tree.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::test;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

struct MemoryFiles : FileTree {
  MemoryFiles() {
    write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1024 kB\nMemAvailable:    8388608 kB\n");
  }
  std::uint64_t available() const { return available_memory_bytes(folder.path()); }
};

}  // namespace

TEST_CASE("Without control groups MemAvailable is what there is") {
  const MemoryFiles root;
  CHECK(root.available() == 8 * gib);
  root.write("proc/self/cgroup", "0::/\n");
  CHECK(root.available() == 8 * gib);
}

TEST_CASE("The least of a group's limit and of those above it counts, less what is used and cannot be given back") {
  const MemoryFiles root;
  root.write("proc/self/cgroup", "0::/job/step\n");
  root.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  root.write("sys/fs/cgroup/job/step/memory.current", std::to_string(3 * gib) + "\n");
  CHECK(root.available() == 8 * gib);
  root.write("sys/fs/cgroup/job/memory.max", std::to_string(4 * gib) + "\n");
  root.write("sys/fs/cgroup/job/memory.current", std::to_string(3 * gib) + "\n");
  CHECK(root.available() == gib);
  root.write("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file " + std::to_string(gib) + "\nslab 7\n");
  CHECK(root.available() == 2 * gib);
  root.write("sys/fs/cgroup/job/memory.current", std::to_string(9 * gib) + "\n");
  CHECK(root.available() == 0);
}

TEST_CASE("A container shows its own group as the root of all") {
  const MemoryFiles root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", std::to_string(2 * gib) + "\n");
  root.write("sys/fs/cgroup/memory.current", std::to_string(gib) + "\n");
  CHECK(root.available() == gib);
}

TEST_CASE("Control groups of version 1 have files of other names") {
  const MemoryFiles root;
  root.write("proc/self/cgroup", "9:cpu,cpuacct:/elsewhere\n7:hugetlb,memory:/slurm/job\n0::/\n");
  const std::string folder = "sys/fs/cgroup/memory/slurm/job/";
  root.write(folder + "memory.limit_in_bytes", std::to_string(5 * gib) + "\n");
  root.write(folder + "memory.usage_in_bytes", std::to_string(3 * gib) + "\n");
  root.write(folder + "memory.stat", "inactive_file 1\ntotal_inactive_file " + std::to_string(gib) + "\n");
  CHECK(root.available() == 3 * gib);
}

TEST_CASE("All the memory of the machine does not depend on what others use, nor on control groups") {
  const MemoryFiles root;
  const auto total = [&] { return machine_memory_bytes(root.folder.path()); };
  CHECK(total() == 16 * gib);
  root.write("proc/self/cgroup", "0::/job/step\n");
  root.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  root.write("sys/fs/cgroup/job/memory.max", std::to_string(4 * gib) + "\n");
  CHECK(total() == 16 * gib);
  root.write("sys/fs/cgroup/job/memory.current", std::to_string(3 * gib) + "\n");
  CHECK(total() == 16 * gib);
  CHECK(root.available() == gib);
  root.write("proc/self/cgroup", "7:memory:/slurm\n");
  root.write("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", std::to_string(5 * gib) + "\n");
  CHECK(total() == 16 * gib);
}

TEST_CASE("Without information there is no limit") {
  const TemporaryDirectory empty;
  CHECK(available_memory_bytes(empty.path()) == (std::uint64_t{1} << 63) - 1);
  CHECK(available_memory_bytes() > 0);
  CHECK(machine_memory_bytes(empty.path()) == (std::uint64_t{1} << 63) - 1);
  CHECK(machine_memory_bytes() >= available_memory_bytes());
}

TEST_CASE("A peak is of this program, and stays when the memory is given back") {
  constexpr std::size_t large = std::size_t{64} << 20;
  {
    const std::string held(large, 'x');
    CHECK(held.back() == 'x');
  }
  const std::uint64_t peak = peak_memory_bytes();
  CHECK(peak >= large);
  // Of a program that one with a large peak has started: `cat` needs next to nothing.
  const CommandResult other = run_command({"cat", "/proc/self/status"}, {});
  const std::size_t at = other.stdout_text.find("VmHWM:");
  REQUIRE(at != std::string::npos);
  CHECK(std::stoull(other.stdout_text.substr(at + 6)) * 1024 < large);
}
