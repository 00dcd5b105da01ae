// The first proposals of a search that has results of other devices or problem sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/search/features.hpp"
#include "core/search/guidance.hpp"
#include "core/search/moves.hpp"
#include "core/search/place.hpp"
#include "core/search/result.hpp"

namespace xtune::search {

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

}  // namespace xtune::search
