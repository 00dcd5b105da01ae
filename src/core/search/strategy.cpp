// The registry of strategies.
#include "core/search/strategy.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "core/search/strategies.hpp"
#include "xtune/error.hpp"

namespace xtune::search {

namespace {

struct Entry {
  const char* name;
  StrategyFactory factory;
};

constexpr Entry entries[] = {
#define STRATEGY(name, factory) {name, factory},
#include "core/search/strategies.def"
#undef STRATEGY
};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

std::string strategy_complaint(std::string_view name) {
  const std::vector<std::string> known = strategy_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  std::string hint = base::did_you_mean(name, known);
  // The names of other tuners.
  for (const auto& [other, own] : {std::pair("grid", "exhaustive"),
                                   {"grid_search", "exhaustive"},
                                   {"brute_force", "exhaustive"},
                                   {"bayes_opt", "bayesian"},
                                   {"bo", "bayesian"},
                                   {"simulated_annealing", "annealing"},
                                   {"pso", "particle_swarm"}})
    if (name == other) hint = std::string(" (did you mean '") + own + "'?)";
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return "unknown strategy '" + base::printable(name, 80) + "'" + hint + "; one of " + list;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, StrategyOptions options) {
  options.evals = std::min(options.evals, options.space.size());
  for (const Entry& entry : entries)
    if (name == entry.name) return entry.factory(options);
  throw Error(ErrorKind::invalid_argument, strategy_complaint(name));
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const space::Space& space, std::uint64_t seed,
                                        std::uint64_t evals) {
  return make_strategy(name, {space, seed, evals});
}

}  // namespace xtune::search
