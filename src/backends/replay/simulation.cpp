// The queue of simulated events.
#include "backends/replay/simulation.hpp"

#include <algorithm>
#include <cmath>

namespace xtune::replay {

void Simulation::after_s(double seconds, std::function<void()> event) {
  constexpr double longest_s = 1e9;  // about thirty years: a recording may contain any number
  const double delay_s = std::isfinite(seconds) ? std::clamp(seconds, 0.0, longest_s) : 0;
  events_.emplace(std::pair(now_ns_ + static_cast<std::int64_t>(std::llround(delay_s * 1e9)), asked_++),
                  std::move(event));
  if (stepping_) return;
  stepping_ = true;
  loop_.post([this] { step(); });
}

void Simulation::step() {
  auto first = events_.extract(events_.begin());
  now_ns_ = first.key().first;
  stepping_ = !events_.empty();
  if (stepping_) loop_.post([this] { step(); });
  first.mapped()();
}

}  // namespace xtune::replay
