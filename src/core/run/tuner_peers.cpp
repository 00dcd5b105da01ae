// Other processes at the same search: what they have in hand is waited for, what they leave behind is taken over.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/record/best.hpp"
#include "core/run/tuning.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

// Of each process, so that all of them walk the same way whatever their machines are like.
constexpr std::size_t window_a_process = 4, least_a_process = 2;
// Of the evaluations: proposals made without the outcomes of more than that are worth too little.
constexpr std::uint64_t share_of_evals = 8;
// Numbers of the sequence between two turns of the event loop.
constexpr std::uint64_t numbers_a_look = 1000;

}  // namespace

std::size_t proposals_in_flight(std::size_t processes, std::uint64_t evals) {
  const auto share = static_cast<std::size_t>(std::min<std::uint64_t>(evals / share_of_evals, 1 << 20));
  return std::max(least_a_process * processes, std::min(window_a_process * processes, share));
}

/// Proposals without an outcome at most.
std::size_t Tuning::window() const {
  if (options_.peers) return proposals_in_flight(options_.peers->size(), evals_);
  return alternate_ ? batch_ : batch_ + compiler_.parallel();
}

/// Nothing is to be learned from the order: each process goes its own way through the same sequence.
void Tuning::share_in_blocks() {
  const Sequence* const sequence = path_.sequence();
  if (!sequence || sequence->size() == 0) return;
  // Who has the same first key goes through the same sequence, measures alike, and on the same kind of device.
  blocks_.emplace(*sequence, *peers_,
                  fmt::format("{} of {}", make_trial(sequence->at(0))->record.key, sequence->size()));
}

std::optional<SearchPath::Proposal> Tuning::next_proposal() {
  if (!blocks_) return path_.next();
  const auto number = blocks_->next();
  if (!number) return std::nullopt;
  return SearchPath::Proposal{*number, path_.sequence()->at(*number)};
}

bool Tuning::waits_for_peers() const {
  return !elsewhere_.empty() || finals_elsewhere_.has_value() || (blocks_ && !search_cut_ && !blocks_->over());
}

/// What it measured and could not store the others wait for, until it gives it up; it must not wait for them. Whatever
/// it has not heard of it does itself then, as if there were nobody else.
void Tuning::leave_peers() {
  if (!untold_ || !waits_for_peers() || in_flight() > 0 || peers_->has_left()) return;
  observer_.on_warning(
      "what was measured here could not be stored, so the other processes of the job will measure it again, and this "
      "one does not wait for theirs: it goes on by itself");
  peers_->leave();
  look_at_peers();
}

bool Tuning::ours(const TrialPtr& trial, const std::string& claim) {
  if (!peers_ || peers_->take(claim)) return true;
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
  tell_peers();
  std::vector<Record> news = peers_->news();
  for (const Record& record : news) stamps_.learn(KeyDigest(record.key), record.unix_time_ms);
  if (blocks_) consider_news(news);
  for (Record& record : news) stored_.add(std::move(record));
  if (blocks_ && !search_cut_) look_at_blocks();
  for (Elsewhere& each : std::exchange(elsewhere_, {})) {
    if (has_come(each.trial)) {
      ++answers_;
    } else if (!peers_->take(each.claim)) {
      elsewhere_.push_back(std::move(each));
    } else if (each.trial->purpose == Trial::Purpose::settle) {
      start_compile(each.trial);
    } else {
      begin(each.trial);
    }
  }
  if (!finals_elsewhere_) return;
  // Theirs are this search's, disturbed or not: nobody holds them twice.
  if (take_stored_finals(finals_elsewhere_->keys, Tainted::too, options_.peers->began_unix_ms())) {
    finals_elsewhere_.reset();
  } else if (peers_->take(finals_elsewhere_->claim)) {
    const FinalsElsewhere left = *std::exchange(finals_elsewhere_, std::nullopt);
    for (const TrialPtr& trial : left.finalists) start_compile(trial);
  }
}

/// A client of NFS may keep what was written to itself for half a minute.
void Tuning::tell_peers() {
  if (!std::exchange(news_here_, false)) return;
  try {
    writer_->sync();
  } catch (const Error& error) {
    untold_ = true;
    observer_.on_warning(error.what());
  }
}

void Tuning::look_at_blocks() {
  const bool more = blocks_->look(
      [this](std::uint64_t number) {
        if (stored_.empty()) return false;
        const SearchPath::Proposal proposal{number, path_.sequence()->at(number)};
        return serve_from_store(proposal, key_at(proposal.index));
      },
      numbers_a_look);
  ++answers_;
  if (more) next_turn_ = loop_.call_after(0, [this] { look_at_blocks(); });
}

/// Challengers race the best of all processes: it is measured long before this one comes by its place.
void Tuning::consider_news(const std::vector<Record>& news) {
  if (!races()) return;
  const Record* best = nullptr;
  for (const Record& record : news)
    if (record.outcome == Outcome::ok && is_first(record) && record.tainted.empty() &&
        same_device(record.device, target_.device) && (!best || criterion_.of(record) < criterion_.of(*best)))
      best = &record;
  const auto index = best ? index_of(space_, best->config) : std::nullopt;
  if (!index) return;
  const TrialPtr trial = make_trial(*index);
  if (trial->record.key != best->key) return;
  trial->record = *best;
  consider_incumbent(trial, true);
}

bool Tuning::has_come(const TrialPtr& trial) {
  const KeyDigest key(trial->record.key);
  if (trial->purpose != Trial::Purpose::settle) return serve_from_store(trial->proposal, key);
  const Record* const found = stored_.find(key).record;
  if (!found || found->outcome == Outcome::pruned) return false;
  ++result_.from_store;
  ++result_.from_peers;
  Record record = *found;
  stored_.take(key);
  take(*trial, std::move(record), "", true);
  return true;
}

}  // namespace xtune
