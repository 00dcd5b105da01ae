#include "emulator/hip/parallel_launch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <vector>

#include "base/cpus.hpp"
#include "base/parallel.hpp"

namespace xtune::emulator {

namespace {

/// Writes to stderr where a launch is after 4, 8, 16 ... seconds. A driver that ends the process because the launch
/// takes too long reports the last of these lines.
class SlowLaunch {
 public:
  void look(const std::function<std::string()>& place) {
    const auto seconds = std::chrono::steady_clock::now() - begin_;
    int limit = limit_s_;
    if (seconds < std::chrono::seconds(limit) || !limit_s_.compare_exchange_strong(limit, 2 * limit)) return;
    fmt::print(stderr, "xtune emulator: after {} s: {}\n", limit, place());
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<int> limit_s_{4};
};

}  // namespace

Report launch_in_threads(const Program& program, const Launch& launch, const Memory& memory) {
  const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const auto parts = static_cast<std::size_t>(std::clamp<std::uint64_t>(groups, 1, base::usable_cpus()));
  struct Share {
    Report report;
    std::exception_ptr error;
  };
  std::vector<Share> done(parts);
  std::atomic<bool> stop{false};
  SlowLaunch slow;
  base::for_each_index(parts, static_cast<unsigned>(parts), [&](std::size_t i) {
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
