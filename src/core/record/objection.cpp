// Goes through the launches from the nearest on until some that still hold decide.
#include "core/record/objection.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/record/lookup.hpp"

namespace xtune::record {

bool failed_when_run(Outcome outcome, std::string_view stage) {
  switch (outcome) {
    case Outcome::launch_failed:
    case Outcome::wrong_result:
    case Outcome::timed_out:
    case Outcome::crashed:
      return stage != "compile" && stage != "space";
    case Outcome::ok:
    case Outcome::rejected:
    case Outcome::compile_failed:
    case Outcome::pruned:
      break;
  }
  return false;
}

std::optional<std::size_t> objection(const std::vector<PastLaunch>& launches, const Bindings& problem,
                                     const device::DeviceInfo& device, const std::function<bool(std::size_t)>& holds) {
  using Rank = std::tuple<double, bool>;
  std::vector<Rank> ranks;
  for (const PastLaunch& launch : launches)
    ranks.emplace_back(shape_distance(*launch.problem, problem).value_or(std::numeric_limits<double>::infinity()),
                       !same_device(*launch.device, device));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i].device->arch == device.arch && launches[i].device->backend == device.backend) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    // Newest first, so that the first one of a problem counts for it.
    return std::tuple(ranks[a], -launches[a].unix_time_ms) < std::tuple(ranks[b], -launches[b].unix_time_ms);
  });
  for (auto from = order.begin(); from != order.end();) {
    const auto to = std::find_if(from, order.end(), [&](std::size_t i) { return ranks[i] != ranks[*from]; });
    std::vector<const Bindings*> passed;
    for (; from != to; ++from) {
      const PastLaunch& launch = launches[*from];
      const bool is_settled =
          std::any_of(passed.begin(), passed.end(), [&](const Bindings* other) { return *other == *launch.problem; });
      if (is_settled || !holds(*from)) continue;
      if (!launch.passed) return *from;
      passed.push_back(launch.problem);
    }
    if (!passed.empty()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace xtune::record
