// The sources of a search, and the parameters that choose between implementations.
#include "core/search/guidance.hpp"

#include <algorithm>

namespace xtune::search {

namespace {

bool chooses_way(const space::Parameter& parameter) {
  const auto& values = parameter.values;
  if (values.size() < 2 || values.size() > max_switch_values) return false;
  return values.size() == 2 || std::holds_alternative<std::string>(values.front()) ||
         std::find(values.begin(), values.end(), Value(std::int64_t{0})) != values.end();
}

}  // namespace

Guidance::Guidance(const space::Space& space, const Features& features, std::span<const Source> sources,
                   base::Random& random) {
  for (const Source& source : sources) {
    Guide guide(space, features, source, random);
    if (guide.usable()) guides_.push_back(std::move(guide));
  }
  for (const space::Parameter& parameter : space.parameters()) is_switch_.push_back(chooses_way(parameter));
}

const std::vector<double>& Guidance::scores(std::uint64_t index) const {
  std::vector<double>& scores = known_scores_[index];
  if (scores.empty())
    for (const Guide& guide : guides_) scores.push_back(guide.score(index));
  return scores;
}

}  // namespace xtune::search
