// Other processes at the same search: what they have in hand is waited for, what they leave behind is taken over.
#include <algorithm>
#include <utility>

#include "core/run/tuning.hpp"

namespace xtune {
namespace {

// Of each process, so that all of them walk the same way whatever their machines are like.
constexpr std::size_t window_a_process = 4, least_a_process = 2;
// Of the evaluations: proposals made without the outcomes of more than that are worth too little.
constexpr std::uint64_t share_of_evals = 8;

}  // namespace

/// Proposals without an outcome at most.
std::size_t Tuning::window() const {
  if (!options_.peers) return alternate_ ? batch_ : batch_ + compiler_.parallel();
  const std::size_t processes = options_.peers->size();
  const auto share = static_cast<std::size_t>(std::min<std::uint64_t>(evals_ / share_of_evals, 1 << 20));
  return std::max(least_a_process * processes, std::min(window_a_process * processes, share));
}

bool Tuning::ours(const TrialPtr& trial, const std::string& claim) {
  if (!options_.peers || options_.peers->take(claim)) return true;
  elsewhere_.push_back({trial, claim});
  return false;
}

void Tuning::look_at_peers_later() {
  next_look_ = loop_.call_after(options_.peers->look_every_ms(), [this] {
    look_at_peers();
    look_at_peers_later();
  });
}

void Tuning::look_at_peers() {
  for (Record& record : options_.peers->news()) stored_.add(std::move(record));
  for (Elsewhere& each : std::exchange(elsewhere_, {})) {
    if (has_come(each.trial)) {
      ++answers_;
    } else if (!options_.peers->take(each.claim)) {
      elsewhere_.push_back(std::move(each));
    } else if (each.trial->purpose == Trial::Purpose::settle) {
      start_compile(each.trial);
    } else {
      begin(each.trial);
    }
  }
  if (!finals_elsewhere_) return;
  // Theirs are this search's, disturbed or not: nobody holds them twice.
  if (take_stored_finals(finals_elsewhere_->keys, Tainted::too, finals_elsewhere_->known)) {
    finals_elsewhere_.reset();
  } else if (options_.peers->take(finals_elsewhere_->claim)) {
    const FinalsElsewhere left = *std::exchange(finals_elsewhere_, std::nullopt);
    for (const TrialPtr& trial : left.finalists) start_compile(trial);
  }
}

bool Tuning::has_come(const TrialPtr& trial) {
  if (trial->purpose != Trial::Purpose::settle) return serve_from_store(trial);
  const Record* const found = stored_.find(trial->record.key);
  if (!found || found->outcome == Outcome::pruned) return false;
  ++result_.from_store;
  ++result_.from_peers;
  take(*trial, stored_.take(trial->record.key), "", true);
  return true;
}

}  // namespace xtune
