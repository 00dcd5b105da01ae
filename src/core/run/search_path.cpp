// Keeps proposals and outcomes in step.
#include "core/run/search_path.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/run/advisor.hpp"

namespace xtune::run {

SearchPath::SearchPath(std::unique_ptr<search::Strategy> strategy, std::size_t window)
    : strategy_(std::move(strategy)),
      window_(learns() ? std::max<std::size_t>(window, 1) : std::numeric_limits<std::size_t>::max()) {}

SearchPath::~SearchPath() = default;

void SearchPath::set_advisor(std::unique_ptr<Advisor> advisor) { advisor_ = std::move(advisor); }

std::optional<AdvisorResult> SearchPath::advice() const {
  return advisor_ ? std::optional(advisor_->result()) : std::nullopt;
}

std::optional<SearchPath::Proposal> SearchPath::next() {
  if (!advisor_ || exhausted_) return next_of_strategy();
  for (auto wanted = advisor_->next(); wanted && !strategy_->offer(*wanted); wanted = advisor_->next())
    advisor_->refuse(*wanted);
  std::optional<Proposal> proposal = next_of_strategy();
  if (proposal) proposal->advised = advisor_->proposed(proposal->index);
  return proposal;
}

std::optional<SearchPath::Proposal> SearchPath::next_of_strategy() {
  while (!exhausted_) {
    if (!starved_ && outcomes_.size() < window_) {
      const std::vector<std::uint64_t> indices = strategy_->propose(1);
      if (!indices.empty()) {
        outcomes_.emplace_back();
        return Proposal{shown_ + outcomes_.size() - 1, indices.front()};
      }
      starved_ = true;
      exhausted_ = outcomes_.empty();
    }
    if (!show_next()) return std::nullopt;
  }
  return std::nullopt;
}

bool SearchPath::show_next() {
  if (outcomes_.empty() || !outcomes_.front()) return false;
  strategy_->observe(*outcomes_.front());
  outcomes_.pop_front();
  ++shown_;
  starved_ = false;
  return true;
}

void SearchPath::set_outcome(std::uint64_t number, const search::Observation& outcome) {
  outcomes_.at(number - shown_) = outcome;
  // For a strategy that does not learn, outcomes are not kept: there may be millions.
  while (!learns() && show_next()) {
  }
}

}  // namespace xtune::run
