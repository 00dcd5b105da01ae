// The clock of an AMD GPU through files as the amdgpu driver has them. No real device's clock is ever changed.
#include <doctest/doctest.h>

#include "backends/gpu/amd_sysfs.hpp"
#include "support/error_of.hpp"
#include "support/file_tree.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string device_files = "sys/bus/pci/devices/0000:c1:00.0/";
const std::string level = device_files + "power_dpm_force_performance_level", clocks = device_files + "pp_dpm_sclk";

struct Files {
  FileTree tree;
  Files() {
    tree.write(level, "auto\n");
    tree.write(clocks, "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n");
  }
  std::unique_ptr<measure::ClockLock> lock() const { return gpu::amd_clocks("0000:C1:00.0", tree.folder.path()); }
  std::string text(const std::string& file) const { return system::read_file(tree.folder.path() / file); }
};

}  // namespace

TEST_CASE("the standard profile, or a level of the device, until it is unlocked") {
  const Files files;
  const auto lock = files.lock();
  CHECK(lock->lock(0) == 800);
  CHECK(files.text(level) == "profile_standard");
  lock->unlock();
  CHECK(files.text(level) == "auto");
  CHECK(lock->lock(1700) == 1700);
  CHECK(files.text(level) == "manual");
  CHECK(files.text(clocks) == "2");
  lock->unlock();
  CHECK(files.text(level) == "auto");
  CHECK(lock->undo_command().starts_with("echo auto > "));
}

TEST_CASE("a clock that the device does not have, and a level that somebody has set, change nothing") {
  const Files files;
  CHECK(xtune::test::error_of([&] { files.lock()->lock(1234); }, ErrorKind::invalid_argument) ==
        "--lock-clocks=1234: the device has no such clock (MHz); it has 500, 800, 1700");
  CHECK(files.text(level) == "auto\n");
  files.tree.write(level, "high\n");
  CHECK(xtune::test::error_of([&] { files.lock()->lock(0); }, ErrorKind::unavailable)
            .find("is 'high', so somebody has set it") != std::string::npos);
  CHECK(files.text(level) == "high\n");
}

TEST_CASE("a device without these files is unsupported, and one that is not there unavailable") {
  const FileTree tree;
  xtune::test::error_of([&] { gpu::amd_clocks("0000:c1:00.0", tree.folder.path()); }, ErrorKind::unavailable);
  tree.write(device_files + "vendor", "0x1002\n");
  CHECK(xtune::test::error_of([&] { gpu::amd_clocks("0000:c1:00.0", tree.folder.path())->lock(0); },
                              ErrorKind::unsupported)
            .find("cannot be read") != std::string::npos);
  tree.write(level, "auto\n");
  tree.write(clocks, "no clock\n");
  CHECK(xtune::test::error_of([&] { gpu::amd_clocks("0000:c1:00.0", tree.folder.path())->lock(0); },
                              ErrorKind::unsupported)
            .find("does not show the device's clock") != std::string::npos);
  CHECK(system::read_file(tree.folder.path() / level) == "auto");
}
