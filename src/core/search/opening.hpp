// The first proposals of a search that is told what came of other devices or problem sizes.
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

/// Believes in turn that this device is like each of the sources, closely or loosely: up to an unknown factor, to a
/// surplus for each way through the kernel (its switches), and to a smooth difference, all of them normal a priori. One
/// more belief is that no source is like it. Every belief is weighed by how probable it makes the results (Bayesian
/// model averaging: Hoeting et al., Statistical Science 14, 1999), and what promises the most improvement under all of
/// them comes next. Sources that contradict each other are tried by turns until the results decide between them.
class Opening {
 public:
  /// All outlive it.
  Opening(const space::Space& space, const Features& features, const Guidance& guidance);

  /// under_way: proposed and not answered yet. Nothing is proposed that is in either, or that `known` says to be known;
  /// nullopt: nothing is left of what the sources hold to be good.
  std::optional<std::uint64_t> next(std::span<const SearchResult> results, std::span<const std::uint64_t> under_way,
                                    const std::function<bool(std::uint64_t)>& known) const;

  /// Logarithm of how much more probable the best belief in a source makes the results than the belief in none does.
  /// Above 0: they bear a source out. Failures do not count; 0 without results.
  double support(std::span<const SearchResult> results) const;

 private:
  struct Seen {
    std::vector<Place> places;   // with results, then under way
    std::vector<double> values;  // of those with results
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
