// Strategies that ignore what they observe: the space in its own order, or in a random one.
#include <algorithm>

#include "core/search/permutation.hpp"
#include "core/search/strategies.hpp"

namespace xtune {

namespace {

template <class Order>
class Sweep : public Strategy {
 public:
  Sweep(Order order, std::uint64_t evals) : order_(order), evals_(evals) {}

  std::vector<std::uint64_t> propose(std::size_t max) override {
    std::vector<std::uint64_t> indices;
    for (; indices.size() < max && next_ < evals_; ++next_) indices.push_back(order_(next_));
    return indices;
  }
  void observe(const Observation&) override {}
  bool learns() const noexcept override { return false; }

 private:
  Order order_;
  std::uint64_t evals_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive_strategy(const StrategyOptions& options) {
  const auto in_order = [](std::uint64_t position) { return position; };
  return std::make_unique<Sweep<decltype(in_order)>>(in_order, options.evals);
}

std::unique_ptr<Strategy> make_random_strategy(const StrategyOptions& options) {
  return std::make_unique<Sweep<Permutation>>(Permutation(options.space.size(), options.seed), options.evals);
}

}  // namespace xtune
