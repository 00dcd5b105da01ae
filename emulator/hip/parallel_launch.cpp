#include "emulator/hip/parallel_launch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <vector>

#include "core/device/device_info.hpp"
#include "system/machine.hpp"
#include "system/parallel.hpp"

namespace xtune::emulator {

namespace {

std::int64_t first_place_ms() {
  const char* const named = std::getenv(device::emulated_place_variable);
  return std::max(named ? std::atoi(named) : 4000, 1);
}

/// Writes to stderr where a launch is after a time, and after each doubling of it. A driver that ends the process
/// because the launch takes too long reports the last of these lines: it is never older than half of the time.
class SlowLaunch {
 public:
  void look(const std::function<std::string()>& place) {
    const auto passed = std::chrono::steady_clock::now() - begin_;
    std::int64_t limit = limit_ms_;
    if (passed < std::chrono::milliseconds(limit) || !limit_ms_.compare_exchange_strong(limit, 2 * limit)) return;
    // In one piece: the process may be ended at any time.
    const std::string line =
        fmt::format("{}after {:g} s: {}\n", device::emulated_place_line, static_cast<double>(limit) * 1e-3, place());
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> limit_ms_{first_place_ms()};
};

}  // namespace

Report launch_in_threads(const Program& program, const Launch& launch, const Memory& memory) {
  const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const auto parts = static_cast<std::size_t>(std::clamp<std::uint64_t>(groups, 1, system::usable_cpus()));
  struct Share {
    Report report;
    std::exception_ptr error;
  };
  std::vector<Share> done(parts);
  std::atomic<bool> stop{false};
  SlowLaunch slow;
  system::for_each_index(parts, static_cast<unsigned>(parts), [&](std::size_t i) {
    Launch own = launch;
    own.stop = &stop;
    own.watch = [&slow](const std::function<std::string()>& place) { slow.look(place); };
    own.first_group = groups * i / parts;
    own.groups = groups * (i + 1) / parts - own.first_group;
    try {
      done[i].report = program.launch(own, memory);
    } catch (...) {
      done[i].error = std::current_exception();
      stop = true;
    }
  });
  Report report;
  for (const Share& part : done) {
    if (part.error) std::rethrow_exception(part.error);
    report += part.report;
  }
  return report;
}

}  // namespace xtune::emulator
