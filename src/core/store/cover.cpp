// Set cover: branch on the case that the fewest configurations serve, with more configurations allowed each round.
#include "core/store/cover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace xtune::store {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Search {
 public:
  Search(const std::vector<std::vector<double>>& ratios, double limit, std::size_t steps)
      : ratios_(ratios), limit_(limit), steps_(steps), servers_(ratios.size()) {
    for (std::size_t i = 0; i < ratios.size(); ++i)
      for (std::size_t config = 0; config < ratios[i].size(); ++config)
        if (ratios[i][config] <= limit) servers_[i].push_back(config);
  }

  bool gave_up() const noexcept { return steps_ == 0; }

  /// The best set of exactly this size; empty: there is none, or the search gave up.
  std::vector<std::size_t> of_size(std::size_t size) {
    best_.clear();
    best_cost_ = infinity;
    chosen_.clear();
    std::vector<std::size_t> open(ratios_.size());
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
    descend(open, size);
    return best_;
  }

  /// Always adds the configuration that serves most of the remaining cases, the faster one of equals.
  std::vector<std::size_t> greedy(std::size_t most) const {
    std::vector<std::size_t> set, open(ratios_.size());
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
    const std::size_t configs = ratios_.empty() ? 0 : ratios_.front().size();
    while (!open.empty() && set.size() < most) {
      std::size_t best = configs, max_served = 0;
      double least = infinity;
      for (std::size_t config = 0; config < configs; ++config) {
        std::size_t served = 0;
        double cost = 0;
        for (const std::size_t i : open)
          if (ratios_[i][config] <= limit_) ++served, cost += std::log(ratios_[i][config]);
        if (served > max_served || (served == max_served && served > 0 && cost < least))
          best = config, max_served = served, least = cost;
      }
      if (max_served == 0) break;
      set.push_back(best);
      std::erase_if(open, [&](std::size_t i) { return ratios_[i][best] <= limit_; });
    }
    return set;
  }

  bool serves_all(const std::vector<std::size_t>& set) const {
    return std::all_of(ratios_.begin(), ratios_.end(), [&](const std::vector<double>& row) {
      return std::any_of(set.begin(), set.end(), [&](std::size_t config) { return row[config] <= limit_; });
    });
  }

  /// Always adds the configuration that leaves the fewest cases without a measurement, then the fewest beyond the
  /// limit, then the faster one.
  std::vector<std::size_t> measured_first(std::size_t most) const {
    std::vector<std::size_t> set;
    std::vector<double> least(ratios_.size(), infinity);  // by case, with the set
    const std::size_t configs = ratios_.empty() ? 0 : ratios_.front().size();
    auto known = failures_with(least, configs);
    while (set.size() < most) {
      std::size_t best = configs;
      auto best_failures = known;
      for (std::size_t config = 0; config < configs; ++config)
        if (const auto failures = failures_with(least, config); failures < best_failures)
          best = config, best_failures = failures;
      if (best == configs) break;
      set.push_back(best);
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], ratios_[i][best]);
      known = {std::get<0>(best_failures), std::get<1>(best_failures), -infinity};  // a set grows only to serve more
    }
    return set;
  }

 private:
  /// Of the cases with these ratios, and with one more configuration if there is one of this number: how many are not
  /// measured, how many are beyond the limit, and the logarithm of the product of ratios.
  std::tuple<std::size_t, std::size_t, double> failures_with(const std::vector<double>& least,
                                                             std::size_t config) const {
    std::size_t unmeasured = 0, above = 0;
    double cost = 0;
    for (std::size_t i = 0; i < least.size(); ++i) {
      const double ratio = config < ratios_[i].size() ? std::min(least[i], ratios_[i][config]) : least[i];
      if (std::isinf(ratio))
        ++unmeasured;
      else
        above += ratio > limit_, cost += std::log(ratio);
    }
    return {unmeasured, above, cost};
  }

  void descend(const std::vector<std::size_t>& open, std::size_t left) {
    if (steps_ == 0) return;
    --steps_;
    if (open.empty()) {
      if (const double cost = cost_of(chosen_); cost < best_cost_) best_cost_ = cost, best_ = chosen_;
      return;
    }
    if (left == 0) return;
    const std::size_t hardest = *std::min_element(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      return servers_[a].size() < servers_[b].size();
    });
    for (const std::size_t config : servers_[hardest]) {
      std::vector<std::size_t> rest;
      for (const std::size_t i : open)
        if (ratios_[i][config] > limit_) rest.push_back(i);
      chosen_.push_back(config);
      descend(rest, left - 1);
      chosen_.pop_back();
    }
  }

  double cost_of(const std::vector<std::size_t>& set) const {
    double cost = 0;
    for (const std::vector<double>& row : ratios_) {
      double least = infinity;
      for (const std::size_t config : set) least = std::min(least, row[config]);
      cost += std::log(least);
    }
    return cost;
  }

  const std::vector<std::vector<double>>& ratios_;
  const double limit_;
  std::size_t steps_;
  std::vector<std::vector<std::size_t>> servers_;
  std::vector<std::size_t> chosen_, best_;
  double best_cost_ = infinity;
};

}  // namespace

Cover smallest_cover(const std::vector<std::vector<double>>& ratios, double limit, std::size_t most,
                     Preference preference, std::size_t steps) {
  Cover cover;
  Search search(ratios, limit, steps);
  for (std::size_t size = 1; size <= most && cover.configs.empty() && !search.gave_up(); ++size) {
    cover.configs = search.of_size(size);
    cover.smallest = !cover.configs.empty();
  }
  cover.too_many = cover.configs.empty() && !search.gave_up() && !ratios.empty();
  if (cover.configs.empty()) {
    cover.configs = search.greedy(most);
    if (preference == Preference::measured && !search.serves_all(cover.configs))
      cover.configs = search.measured_first(most);
  }
  std::sort(cover.configs.begin(), cover.configs.end());
  for (const std::vector<double>& row : ratios) {
    std::optional<std::size_t> server;
    double least = infinity;
    for (const std::size_t config : cover.configs)
      if (row[config] < least) server = config, least = row[config];
    cover.served_by.push_back(server);
    cover.ratio.push_back(least);
    cover.within += least <= limit;
  }
  return cover;
}

}  // namespace xtune::store
