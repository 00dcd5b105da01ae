// A space as recordings are: tiles and switches, a bowl for each way, noise and failures; and sources for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "core/search/strategy.hpp"

namespace xtune {

class Valley {
 public:
  Valley() : space_(parameters(), {}, {}) {
    for (std::uint64_t index = 0; index < space_.size(); ++index) {
      const auto digits = space_.value_indices(index);
      const bool on = digits[4] == 1;
      double square = 0;
      for (std::size_t i = 0; i < 4; ++i)
        square += std::pow(digits[i] - (on ? 5.0 : 2.0) + 0.4 * digits[(i + 1) % 4] - 1, 2);
      const bool fails = digits[0] + digits[1] + digits[2] > 17;
      times_ms_.push_back(fails ? 0 : (on ? 1.3 : 1.0) * (1 + 0.1 * square) * (1 + 0.02 * noise(index)));
      if (!fails) optimum_ms_ = std::min(optimum_ms_, times_ms_.back());
    }
  }

  const space::Space& space() const { return space_; }
  double optimum_ms() const { return optimum_ms_; }
  /// Infinite: it fails.
  double time_ms(std::uint64_t index) const {
    return times_ms_[index] > 0 ? times_ms_[index] : std::numeric_limits<double>::infinity();
  }

  search::Source alike() const {
    return source("alike", [&](std::uint64_t index) { return 3 * times_ms_[index] * (1 + 0.1 * noise(index + 7)); });
  }
  search::Source inverted() const {
    return source("inverted", [&](std::uint64_t index) { return 1 / times_ms_[index]; });
  }
  search::Source shuffled() const {
    std::vector<double> times_ms;
    for (const double time_ms : times_ms_)
      if (time_ms > 0) times_ms.push_back(time_ms);
    return source("shuffled", [&](std::uint64_t index) { return times_ms[base::mix64(index) % times_ms.size()]; });
  }

  /// What `auto` proposes, one at a time.
  std::vector<std::uint64_t> search(std::uint64_t seed, std::uint64_t evals,
                                    const std::vector<search::Source>& sources) const {
    const auto strategy = search::make_strategy("auto", {space_, seed, evals, {}, sources});
    std::vector<std::uint64_t> proposed;
    for (auto next = strategy->propose(1); !next.empty(); next = strategy->propose(1)) {
      proposed.push_back(next.front());
      const double time = times_ms_[next.front()];
      strategy->observe({next.front(), time > 0 ? Outcome::ok : Outcome::launch_failed, time});
    }
    return proposed;
  }

 private:
  static std::vector<space::Parameter> parameters() {
    std::vector<space::Parameter> parameters;
    for (const char* name : {"A", "B", "C", "D"}) {
      space::Parameter parameter{name, {}, true};
      for (int i = 0; i < 8; ++i) parameter.values.emplace_back(std::int64_t{1} << i);
      parameters.push_back(parameter);
    }
    parameters.push_back({"SWITCH", {false, true}, true});
    return parameters;
  }
  static double noise(std::uint64_t index) { return static_cast<double>(base::mix64(index) % 1000) / 1000; }
  template <class Time>
  search::Source source(const char* name, const Time& time_of) const {
    search::Source source{name, {}};
    for (std::uint64_t index = 0; index < space_.size(); ++index)
      if (times_ms_[index] > 0) source.observations.push_back({index, Outcome::ok, time_of(index)});
    return source;
  }

  space::Space space_;
  std::vector<double> times_ms_;  // 0: fails
  double optimum_ms_ = std::numeric_limits<double>::infinity();
};

}  // namespace xtune
