// Strategies that ignore what they observe: the space in its own order, or in a random one.
#include <algorithm>
#include <unordered_set>

#include "core/search/permutation.hpp"
#include "core/search/strategies.hpp"

namespace xtune {

namespace {

template <class Order>
class Sweep : public Strategy {
 public:
  Sweep(Order order, const StrategyOptions& options)
      : order_(order), evals_(options.evals), size_(options.space.size()) {
    for (const std::uint64_t index : options.first)
      if (index < size_ && known_.insert(index).second) first_.push_back(index);
  }

  std::vector<std::uint64_t> propose(std::size_t max) override {
    std::vector<std::uint64_t> indices;
    while (indices.size() < max && proposed_ < evals_) {
      const bool begins = taken_ < first_.size();
      if (!begins && next_ == size_) break;
      const std::uint64_t index = begins ? first_[taken_++] : order_(next_++);
      if (!begins && known_.contains(index)) continue;
      indices.push_back(index);
      ++proposed_;
    }
    return indices;
  }
  void observe(const Observation&) override {}
  bool learns() const noexcept override { return false; }

 private:
  Order order_;
  std::uint64_t evals_, size_;
  std::uint64_t proposed_ = 0, taken_ = 0, next_ = 0;
  std::vector<std::uint64_t> first_;
  std::unordered_set<std::uint64_t> known_;  // of first_
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive_strategy(const StrategyOptions& options) {
  const auto in_order = [](std::uint64_t position) { return position; };
  return std::make_unique<Sweep<decltype(in_order)>>(in_order, options);
}

std::unique_ptr<Strategy> make_random_strategy(const StrategyOptions& options) {
  return std::make_unique<Sweep<Permutation>>(Permutation(options.space.size(), options.seed), options);
}

}  // namespace xtune
