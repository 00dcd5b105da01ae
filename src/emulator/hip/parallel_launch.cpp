#include "emulator/hip/parallel_launch.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "base/cpus.hpp"
#include "base/parallel.hpp"

namespace xtune::emulator {

Report launch_in_threads(const Program& program, const Launch& launch, const Memory& memory) {
  const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const auto parts = static_cast<std::size_t>(std::clamp<std::uint64_t>(groups, 1, base::usable_cpus()));
  struct Share {
    Report report;
    std::exception_ptr error;
  };
  std::vector<Share> done(parts);
  std::atomic<bool> stop{false};
  base::for_each_index(parts, static_cast<unsigned>(parts), [&](std::size_t i) {
    Launch own = launch;
    own.stop = &stop;
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
