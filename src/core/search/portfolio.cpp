// Several strategies share one budget, by their recent success.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/search/budgeted.hpp"

namespace xtune::search {

namespace {

constexpr double forget = 0.95;    // weight of a member's past per result
constexpr double curiosity = 0.3;  // weight of members that were seldom asked

struct Member {
  std::unique_ptr<Strategy> strategy;
  double earned = 0, asked = 0;
};

// A bandit over strategies (after Ansel et al., "OpenTuner", 2014, which weighs its techniques by recent success): a
// proposal scores by the number of earlier results that it beats, most for a new best. All members learn from all
// results.
class Portfolio : public BudgetedSearch {
 public:
  explicit Portfolio(const StrategyOptions& options) : BudgetedSearch(options) {
    constexpr StrategyFactory factories[] = {make_bayesian_strategy,      make_forest_strategy,
                                             make_local_strategy,         make_genetic_strategy,
                                             make_annealing_strategy,     make_differential_evolution_strategy,
                                             make_particle_swarm_strategy};
    for (const StrategyFactory factory : factories)
      members_.push_back({factory({options.space, random().next(), options.evals})});
  }

 protected:
  std::optional<std::uint64_t> next() override {
    if (proposed() < std::min<std::uint64_t>(8, evals() / 3)) return fresh();
    const std::size_t chosen = choose();
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto wish = members_[chosen].strategy->propose(1);
      if (wish.empty()) break;
      if (known(wish.front())) continue;  // outstanding for another member
      member_of_[wish.front()] = chosen;
      return wish.front();
    }
    return std::nullopt;
  }

  void learn(const SearchResult& result) override {
    const Outcome outcome = result.kind == SearchResult::Kind::measured ? Outcome::ok
                            : result.kind == SearchResult::Kind::bound  ? Outcome::pruned
                                                                        : Outcome::crashed;
    for (Member& member : members_) member.strategy->observe({result.index, outcome, result.time_ms});
    if (const auto owner = member_of_.find(result.index); owner != member_of_.end()) {
      Member& member = members_[owner->second];
      member.earned = forget * member.earned + worth(result);
      member.asked = forget * member.asked + 1;
      member_of_.erase(owner);
    }
    if (result.kind == SearchResult::Kind::measured)
      times_.insert(std::upper_bound(times_.begin(), times_.end(), result.time_ms), result.time_ms);
  }

 private:
  double worth(const SearchResult& result) const {
    if (result.kind != SearchResult::Kind::measured || times_.empty()) return 0;
    const auto faster = std::lower_bound(times_.begin(), times_.end(), result.time_ms) - times_.begin();
    if (faster == 0) return 1;
    return 0.5 * std::pow(1 - static_cast<double>(faster) / static_cast<double>(times_.size()), 4);
  }

  std::size_t choose() {
    double all = 1;
    for (const Member& member : members_) all += member.asked;
    std::size_t best = 0;
    double best_score = -1;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      // Outstanding proposals count as asked, so that a large batch is distributed.
      double asked = members_[i].asked + 1;
      for (const auto& [index, member] : member_of_) asked += member == i ? 1 : 0;
      const double score = (members_[i].earned + 0.2) / asked + curiosity * std::sqrt(std::log(all) / asked);
      if (score > best_score) {
        best_score = score;
        best = i;
      }
    }
    return best;
  }

  std::vector<Member> members_;
  std::unordered_map<std::uint64_t, std::size_t> member_of_;  // of outstanding proposals
  std::vector<double> times_;                                 // ascending
};

}  // namespace

std::unique_ptr<Strategy> make_portfolio_strategy(const StrategyOptions& options) {
  return std::make_unique<Portfolio>(options);
}

}  // namespace xtune::search
