// Quotas of CPU time, from an artificial /proc and /sys.
#include <doctest/doctest.h>

#include <string>

#include "support/file_tree.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::test;

namespace {

struct GroupFiles : FileTree {
  std::int64_t quota() const { return cpu_quota_milli(folder.path()); }
};

}  // namespace

TEST_CASE("Without control groups or a limit in them there is no quota") {
  const GroupFiles root;
  CHECK(root.quota() == 0);
  root.write("proc/self/cgroup", "0::/job\n");
  CHECK(root.quota() == 0);
  root.write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  CHECK(root.quota() == 0);
}

TEST_CASE("The least quota of a group and of those above it counts") {
  const GroupFiles root;
  root.write("proc/self/cgroup", "0::/job/step\n");
  root.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/job/cpu.max", "20000 100000\n");
  CHECK(root.quota() == 200);
  root.write("sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
  CHECK(root.quota() == 200);
  root.write("sys/fs/cgroup/job/step/cpu.max", "5000 50000\n");
  CHECK(root.quota() == 100);
}

TEST_CASE("A container shows its own group as the root, under whatever name the host has for it") {
  const GroupFiles root;
  root.write("proc/self/cgroup", "0::/docker/0123456789ab\n");
  root.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  CHECK(root.quota() == 1500);
}

TEST_CASE("Version 1 has two files, in a directory with the name of one or of all controllers") {
  const GroupFiles root;
  root.write("proc/self/cgroup", "4:cpuset:/\n3:cpu,cpuacct:/slurm/job\n0::/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/slurm/job/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/slurm/job/cpu.cfs_period_us", "100000\n");
  CHECK(root.quota() == 500);
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(root.quota() == 0);
  root.write("sys/fs/cgroup/cpu/slurm/job/cpu.cfs_quota_us", "250000\n");
  root.write("sys/fs/cgroup/cpu/slurm/job/cpu.cfs_period_us", "100000\n");
  CHECK(root.quota() == 2500);
}
