// Two files: the performance level, and the levels of the compute units' clock.
#include "backends/gpu/amd_clocks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "backends/gpu/amd_sysfs.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::gpu {
namespace {

namespace fs = std::filesystem;

class AmdClocks final : public measure::ClockLock {
 public:
  explicit AmdClocks(const fs::path& device)
      : level_(device / "power_dpm_force_performance_level"), clocks_(device / "pp_dpm_sclk") {}

  int lock(int mhz) override {
    std::string level;
    std::ifstream(level_) >> level;
    if (level.empty())
      throw Error(ErrorKind::unsupported, "--lock-clocks: " + level_.string() +
                                              " cannot be read: the amdgpu driver does not let this device's "
                                              "clock be set");
    if (level != "auto")
      throw Error(ErrorKind::unavailable,
                  fmt::format("--lock-clocks: the device's performance level is '{}', so somebody has set it already: "
                              "`{}` first",
                              base::printable(level, 60), undo_command()));
    return mhz == 0 ? lock_standard() : lock_level(mhz);
  }

  void unlock() override { write(level_, "auto"); }

  std::string undo_command() const override { return "echo auto > " + level_.string(); }

 private:
  int lock_standard() {
    write(level_, "profile_standard");
    for (const ClockLevel& each : clock_levels(clocks_))
      if (each.current) return static_cast<int>(each.mhz);
    throw Error(ErrorKind::unsupported, "--lock-clocks: " + clocks_.string() +
                                            " does not show the device's clock, so records could not name it" +
                                            undone());
  }

  int lock_level(int mhz) {
    std::vector<std::string> known;
    for (const ClockLevel& each : clock_levels(clocks_)) {
      const int own = static_cast<int>(each.mhz);
      known.push_back(std::to_string(own));
      if (own != mhz) continue;
      write(level_, "manual");
      try {
        write(clocks_, each.number);
      } catch (const Error& error) {
        throw Error(error.kind(), error.what() + undone());
      }
      return mhz;
    }
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--lock-clocks={}: the device has no such clock (MHz); it has {}", mhz,
                            known.empty() ? "none that can be chosen" : fmt::format("{}", fmt::join(known, ", "))));
  }

  /// Undoes what lock() has begun. The end of its error's text: how to do it, if it failed.
  std::string undone() {
    try {
      unlock();
      return "";
    } catch (const Error& error) {
      return fmt::format("; the level is not restored ({}); this does it: {}", error.what(), undo_command());
    }
  }

  /// In one call, and without creating a file: that is how the driver's files take a value.
  static void write(const fs::path& file, const std::string& word) {
    const int opened = open(file.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
    const bool written = opened >= 0 && ::write(opened, word.data(), word.size()) == static_cast<ssize_t>(word.size());
    const int reason = errno;
    if (opened >= 0) close(opened);
    if (written) return;
    const bool forbidden = reason == EACCES || reason == EPERM || reason == EROFS;
    throw Error(
        forbidden ? ErrorKind::unavailable : ErrorKind::unsupported,
        fmt::format("--lock-clocks: '{}' cannot be written to {}: {}{}", word, file.string(), std::strerror(reason),
                    forbidden ? "; it needs root, so run xtune as root, or without --lock-clocks" : ""));
  }

  const fs::path level_, clocks_;
};

}  // namespace

std::unique_ptr<measure::ClockLock> amd_clocks(const std::string& pci_address, const fs::path& root) {
  const fs::path device = root / "sys/bus/pci/devices" / base::lower_case(pci_address);
  std::error_code error;
  if (pci_address.empty() || !fs::is_directory(device, error))
    throw Error(ErrorKind::unavailable, "--lock-clocks: " + device.string() +
                                            " is not there: this machine does not "
                                            "show the device's clock");
  return std::make_unique<AmdClocks>(device);
}

}  // namespace xtune::gpu
