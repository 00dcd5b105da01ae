// Where to look before anything is known.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"

namespace xtune::search {

/// Of a hundred random configurations, the first takes the one nearest the centre of all features; later ones take one
/// that is far from those before and not far from the centre, since extremes of many parameters at once are seldom
/// good.
class InitialDesign {
 public:
  /// space and features outlive it.
  InitialDesign(const space::Space& space, const Features& features) : space_(space), features_(features) {}
  /// May be a configuration that is known elsewhere. nullopt: the space is empty.
  std::optional<std::uint64_t> next(base::Random& random);

 private:
  const space::Space& space_;
  const Features& features_;
  std::vector<std::vector<float>> taken_;
};

}  // namespace xtune::search
