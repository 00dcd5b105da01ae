// The amdgpu driver's files, as its documentation shows them.
#include <doctest/doctest.h>

#include <fstream>

#include "backends/gpu/amd_sysfs.hpp"
#include "support/file_tree.hpp"
#include "system/files.hpp"

using namespace xtune::measure;

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string amd_device = "sys/bus/pci/devices/0000:c1:00.0/";

}  // namespace

TEST_CASE("amdgpu's files contain temperature, power, errors and processes") {
  const FileTree tree;
  tree.write(amd_device + "hwmon/hwmon3/temp1_input", "41000\n");
  tree.write(amd_device + "hwmon/hwmon3/temp2_input", "52000\n");
  tree.write(amd_device + "hwmon/hwmon3/power1_average", "305000000\n");
  tree.write(amd_device + "pp_dpm_sclk", "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n");
  tree.write(amd_device + "ras/umc_err_count", "ue: 2\nce: 17\n");
  tree.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
  tree.write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51000\n");
  tree.write("sys/class/kfd/kfd/proc/4711/pasid", "3\n");
  tree.write("sys/class/kfd/kfd/proc/12/pasid", "4\n");
  const auto monitor = gpu::open_amd_monitor("0000:C1:00.0", tree.folder.path());
  REQUIRE(monitor);
  DeviceState state = monitor();
  CHECK(state.temperature_c == 52);
  CHECK(state.power_w == doctest::Approx(305));
  CHECK(state.max_clock_mhz == 1700);
  CHECK(state.uncorrected_errors == 2);
  CHECK(state.processes == std::vector<int>{12, 4711});
  CHECK(state.throttling.empty());

  tree.write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "51001\n");
  state = monitor();
  CHECK(state.processes.empty());  // their GPU is unknown
}

TEST_CASE("the energy counter is read where the revision of gpu_metrics has it") {
  const FileTree tree;
  const auto energy_j = [&](int bytes, int format, int content, std::size_t place, std::uint64_t count) {
    std::string table(static_cast<std::size_t>(bytes), '\x01');
    table[0] = static_cast<char>(bytes & 255), table[1] = static_cast<char>(bytes >> 8);
    table[2] = static_cast<char>(format), table[3] = static_cast<char>(content);
    for (std::size_t i = 0; i < 8 && place + i < table.size(); ++i)
      table[place + i] = static_cast<char>(count >> 8 * i);
    tree.write(amd_device + "gpu_metrics", table);
    return gpu::open_amd_monitor("0000:c1:00.0", tree.folder.path())().energy_j;
  };
  const std::uint64_t joules = 5'000'000'000, count = joules << 16;
  CHECK(energy_j(288, 1, 4, 24, count) == doctest::Approx(joules));
  CHECK(energy_j(360, 1, 5, 88, count) == doctest::Approx(joules));
  CHECK(energy_j(376, 1, 6, 88, count) == doctest::Approx(joules));
  CHECK(energy_j(1664, 1, 6, 16, count) == doctest::Approx(joules));
  CHECK(energy_j(2200, 1, 7, 24, count) == doctest::Approx(joules));
  CHECK(energy_j(3000, 1, 8, 24, count) == doctest::Approx(joules));
  CHECK(energy_j(288, 1, 4, 24, 1) == doctest::Approx(15.259e-6).epsilon(1e-4));
  CHECK_FALSE(energy_j(288, 1, 4, 24, UINT64_MAX));
  CHECK_FALSE(energy_j(120, 1, 3, 24, count));  // of another unit, or none
  CHECK_FALSE(energy_j(120, 2, 4, 24, count));  // of processors
  CHECK_FALSE(energy_j(3000, 1, 9, 24, count));
  CHECK_FALSE(energy_j(90, 1, 5, 88, count));
  CHECK_FALSE(energy_j(4, 1, 4, 24, count));
}

TEST_CASE("a part of an AMD device is named by its compute and memory mode; a whole one is not") {
  const FileTree tree;
  const auto partition = [&](const std::string& address) { return gpu::amd_partition(address, tree.folder.path()); };
  CHECK(partition("0000:c1:00.0").empty());  // GPUs before MI300 lack the files
  CHECK(partition("").empty());
  tree.write(amd_device + "current_compute_partition", "SPX\n");
  CHECK(partition("0000:c1:00.0").empty());
  tree.write(amd_device + "current_memory_partition", "NPS1\n");
  CHECK(partition("0000:C1:00.0").empty());
  tree.write(amd_device + "current_compute_partition", "CPX\n");
  CHECK(partition("0000:c1:00.0") == "CPX, NPS1");
  tree.write(amd_device + "current_memory_partition", "NPS4\n");
  CHECK(partition("0000:c1:00.0") == "CPX, NPS4");
  CHECK(partition("0000:c1:00.3") == "CPX, NPS4");  // of the fourth partition
}

TEST_CASE("energy and power of a part are unknown, since the counters are those of the whole device") {
  const FileTree tree;
  tree.write(amd_device + "hwmon/hwmon3/power1_average", "305000000\n");
  tree.write(amd_device + "gpu_metrics", std::string("\x20\x01\x01\x04", 4) + std::string(284, '\x01'));
  const auto counts = [&](const std::string& compute) {
    tree.write(amd_device + "current_compute_partition", compute);
    const DeviceState state = gpu::open_amd_monitor("0000:c1:00.0", tree.folder.path())();
    CHECK(state.power_w.has_value() == state.energy_j.has_value());
    return state.energy_j.has_value();
  };
  tree.write(amd_device + "current_memory_partition", "NPS4\n");
  CHECK(counts("SPX\n"));
  CHECK_FALSE(counts("CPX\n"));
}

TEST_CASE("values that are not in the files stay unset; no device, no monitor") {
  const FileTree tree;
  CHECK_FALSE(gpu::open_amd_monitor("0000:c1:00.0", tree.folder.path()));
  CHECK_FALSE(gpu::open_amd_monitor("", tree.folder.path()));
  tree.write(amd_device + "ras/umc_err_count", "nothing here\n");
  tree.write(amd_device + "pp_dpm_sclk", "no clock\n");
  tree.write(amd_device + "hwmon/hwmon0/temp1_input", "warm\n");
  const DeviceState state = gpu::open_amd_monitor("0000:c1:00.0", tree.folder.path())();
  CHECK_FALSE(state.temperature_c);
  CHECK_FALSE(state.power_w);
  CHECK_FALSE(state.max_clock_mhz);
  CHECK_FALSE(state.uncorrected_errors);
  CHECK(state.processes.empty());
}
