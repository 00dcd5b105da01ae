// Results of other devices and problem sizes as predictions for a configuration.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/search/extra_trees.hpp"
#include "core/search/features.hpp"
#include "core/search/strategy.hpp"

namespace xtune::search {

/// One source: a score for every configuration of the space, measured there or predicted from its measurements.
class Guide {
 public:
  Guide(const space::Space& space, const Features& features, const Source& source, base::Random& random);

  /// A source with only a few times is not usable.
  bool usable() const noexcept { return !order_.empty(); }
  /// SoftLogarithm of the source's time, centred on the median.
  double score(std::uint64_t index) const;
  /// Configurations that the source measured, fastest first.
  const std::vector<std::uint64_t>& order() const noexcept { return order_; }

 private:
  const space::Space* space_;
  const Features* features_;
  std::unordered_map<std::uint64_t, double> scores_;
  std::vector<std::uint64_t> order_;
  ExtraTrees forest_;
};

/// Maximum number of values of a switch; see Guidance::is_switch.
inline constexpr std::size_t max_switch_values = 4;

/// All sources together.
class Guidance {
 public:
  /// space and features must outlive it.
  Guidance(const space::Space& space, const Features& features, std::span<const Source> sources, base::Random& random);

  bool empty() const noexcept { return guides_.empty(); }
  const std::vector<Guide>& guides() const noexcept { return guides_; }

  /// The score of each source; the reference stays valid.
  const std::vector<double>& scores(std::uint64_t index) const;
  /// Whether the parameter chooses between implementations in a kernel: two values, a few words, or a few numbers with
  /// zero for "off". Devices differ in which one is best.
  bool is_switch(std::size_t parameter) const { return is_switch_[parameter]; }

 private:
  std::vector<Guide> guides_;
  std::vector<bool> is_switch_;                                                  // by parameter
  mutable std::unordered_map<std::uint64_t, std::vector<double>> known_scores_;  // cache
};

}  // namespace xtune::search
