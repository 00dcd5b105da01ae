// The registry of strategies, and the two that ignore their observations: the space in its order, or in a random one.
#include "core/search/strategy.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/text.hpp"
#include "core/search/samples.hpp"
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

// Strategies that ignore their observations: the space in its order, or in a random one.

struct InOrder {
  std::uint64_t operator()(std::uint64_t position) const noexcept { return position; }
  std::uint64_t position_of(std::uint64_t index) const noexcept { return index; }
};

/// The configurations to try first, then the others in their order.
template <class Order>
class Sweep final : public SequenceStrategy {
 public:
  Sweep(Order order, const StrategyOptions& options)
      : order_(order), size_(std::min(options.evals, options.space.size())) {
    std::unordered_set<std::uint64_t> known;
    for (const std::uint64_t index : options.first)
      if (index < options.space.size() && known.insert(index).second) first_.push_back(index);
    for (const std::uint64_t index : first_) passed_over_.push_back(order_.position_of(index));
    std::sort(passed_over_.begin(), passed_over_.end());
  }

  std::uint64_t size() const noexcept override { return size_; }
  std::uint64_t at(std::uint64_t number) const override {
    if (number < first_.size()) return first_[number];
    std::uint64_t position = number - first_.size();
    for (const std::uint64_t known : passed_over_) {
      if (known > position) break;
      ++position;
    }
    return order_(position);
  }

 private:
  Order order_;
  std::uint64_t size_;
  std::vector<std::uint64_t> first_;
  std::vector<std::uint64_t> passed_over_;  ///< positions of first_ in the order, sorted
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

std::vector<std::uint64_t> SequenceStrategy::propose(std::size_t max) {
  std::vector<std::uint64_t> indices;
  while (indices.size() < max && proposed_ < size()) indices.push_back(at(proposed_++));
  return indices;
}

std::unique_ptr<Strategy> make_exhaustive_strategy(const StrategyOptions& options) {
  return std::make_unique<Sweep<InOrder>>(InOrder(), options);
}

std::unique_ptr<Strategy> make_random_strategy(const StrategyOptions& options) {
  return std::make_unique<Sweep<Permutation>>(Permutation(options.space.size(), options.seed), options);
}

}  // namespace xtune::search
