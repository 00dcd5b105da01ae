// Results of other devices and problem sizes as predictions for a configuration, and the first proposals of a search
// that has such results.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/random.hpp"
#include "core/search/extra_trees.hpp"
#include "core/search/features.hpp"
#include "core/search/moves.hpp"
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

/// The properties by which beliefs compare places.
struct Place {
  std::uint64_t index = 0, way = 0;             ///< way: the values of its switches as one number
  std::vector<float> point;                     ///< features in units of the length
  const std::vector<double>* scores = nullptr;  ///< by source; not owned
};

/// Considers for each source the belief that this device is like it, closely or loosely: up to an unknown factor, an
/// offset for each implementation (the kernel's switches), and a smooth difference, all of them normal a priori. One
/// more belief is that no source is similar. Every belief is weighted by the probability that it gives the results
/// (Bayesian model averaging: Hoeting et al., Statistical Science 14, 1999), and the place with the largest expected
/// improvement under all of them comes next. Contradictory sources are tried in turns until the results decide between
/// them.
class Opening {
 public:
  /// All arguments must outlive it.
  Opening(const space::Space& space, const Features& features, const Guidance& guidance);

  /// under_way: proposed and without a result. Does not propose a configuration that is in either list or that `known`
  /// returns true for; nullopt: no promising configuration of the sources remains.
  std::optional<std::uint64_t> next(std::span<const SearchResult> results, std::span<const std::uint64_t> under_way,
                                    const std::function<bool(std::uint64_t)>& known) const;

  /// Logarithm of the ratio between the probability of the results under the best belief in a source and under the
  /// belief in none. Above 0: the results support a source. Failures do not count; 0 without results.
  double support(std::span<const SearchResult> results) const;

 private:
  struct Seen {
    std::vector<Place> places;   // with results, then outstanding
    std::vector<double> values;  // of places with results
  };

  std::uint64_t way_of(const Digits& digits) const;
  Place place(std::uint64_t index) const;
  Seen seen(std::span<const SearchResult> results) const;

  const space::Space& space_;
  const Features& features_;
  const Guidance& guidance_;
  std::vector<Place> pool_;
};

/// The configuration that the sources together rate best, or the first one of them if each has only a few times,
/// without any result; nullopt: no source has a time.
std::optional<std::uint64_t> predicted_best(const space::Space& space, std::span<const Source> sources);

/// Lets the sources propose only while the results support one of them, and only as long as that pays. A proposal of
/// the sources is lost if its result is not better than everything that the strategy found on its own. It is partly
/// lost if it is better than that, but hardly an improvement. The allowed loss grows with the support, up to three for
/// a search with one proposal at a time.
class Following {
 public:
  /// Whether one more proposal of the sources, if lost, would stay within the allowed loss. support: that of the
  /// sources by the results, as Opening::support.
  bool allows(double support) const;
  /// Whether no further proposal of the sources can be allowed.
  bool over() const;
  void proposed(std::uint64_t index, bool by_sources);
  /// Receives each configuration's first result. Returns whether the sources proposed it.
  bool observe(const SearchResult& result);

  /// The loss of the sources' proposals so far.
  double lost() const noexcept { return lost_; }

 private:
  void judge();

  std::unordered_set<std::uint64_t> own_under_way_, theirs_under_way_;
  std::vector<SearchResult> unjudged_;  // of the sources, before the strategy itself had a success
  std::uint64_t own_ = 0, theirs_ = 0;
  double lost_ = 0;
  double best_ms_ = std::numeric_limits<double>::infinity(), own_best_ms_ = best_ms_;
};

/// The proposals of a search's sources, as often as Following allows; none without sources.
class SourceProposals {
 public:
  /// space and features must outlive it.
  SourceProposals(const space::Space& space, const Features& features, std::span<const Source> sources,
                  std::uint64_t seed);
  SourceProposals(const SourceProposals&) = delete;
  SourceProposals& operator=(const SourceProposals&) = delete;

  /// As Opening::next; nullopt also while the sources may not propose.
  std::optional<std::uint64_t> next(std::span<const SearchResult> results, std::span<const std::uint64_t> under_way,
                                    const std::function<bool(std::uint64_t)>& known);
  void proposed(std::uint64_t index, bool by_sources) { following_.proposed(index, by_sources); }
  /// Receives each configuration's first result.
  void observe(const SearchResult& result) { own_results_ += following_.observe(result) ? 0 : 1; }
  /// Number of results for proposals that did not come from the sources.
  std::uint64_t own_results() const noexcept { return own_results_; }
  bool any() const noexcept { return !guidance_.empty(); }

 private:
  base::Random random_;
  Guidance guidance_;
  std::optional<Opening> opening_;  ///< while the sources are followed
  Following following_;
  std::uint64_t own_results_ = 0;
};

}  // namespace xtune::search
