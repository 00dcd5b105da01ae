// Strategies that ignore their observations: the space in its order, or in a random one.
#include <algorithm>
#include <unordered_set>

#include "core/search/permutation.hpp"
#include "core/search/strategies.hpp"

namespace xtune::search {

namespace {

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
