// The first configurations of a search, before there are results.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"

namespace xtune::search {

/// Draws a hundred random configurations. The first choice is the one nearest the centre of all features; later choices
/// are far from those before and not far from the centre, since extremes of many parameters at once are seldom good.
class InitialDesign {
 public:
  /// space and features must outlive it.
  InitialDesign(const space::Space& space, const Features& features) : space_(space), features_(features) {}
  /// The result may be known to the search already. nullopt: the space is empty.
  std::optional<std::uint64_t> next(base::Random& random);

 private:
  const space::Space& space_;
  const Features& features_;
  std::vector<std::vector<float>> taken_;
};

}  // namespace xtune::search
