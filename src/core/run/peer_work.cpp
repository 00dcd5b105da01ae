// Waits for work that other processes have claimed, and takes over work that they abandon.
#include "core/run/peer_work.hpp"

#include <fmt/core.h>

#include <utility>

namespace xtune::run {
namespace {

// Numbers of the sequence between two turns of the event loop.
constexpr std::uint64_t numbers_a_look = 1000;

}  // namespace

PeerWork::PeerWork(const RunContext& run, Peers& peers, base::EventLoop& loop, WorkerTotals& totals,
                   Listeners listeners)
    : run_(run),
      peers_(peers, [&run](const std::string& text) { run.observer.on_warning(text); }),
      loop_(loop),
      totals_(totals),
      listeners_(std::move(listeners)) {}

void PeerWork::share_in_blocks(const search::Sequence& sequence) {
  if (sequence.size() == 0) return;
  sequence_ = &sequence;
  // Processes with the same first key have the same sequence, settings and kind of device.
  blocks_.emplace(sequence, peers_,
                  fmt::format("{} of {}", run_.make_trial(sequence.at(0))->record.key, sequence.size()));
}

std::optional<SearchPath::Proposal> PeerWork::next() {
  const auto number = blocks_->next();
  if (!number) return std::nullopt;
  return SearchPath::Proposal{*number, sequence_->at(*number)};
}

bool PeerWork::claim(const TrialPtr& trial, const std::string& name) {
  if (peers_.take(name)) return true;
  elsewhere_.push_back({trial, name});
  return false;
}

void PeerWork::forget() { elsewhere_.clear(); }

void PeerWork::look_at_blocks() {
  const bool more = blocks_->look(
      [this](std::uint64_t number) {
        return listeners_.serve({number, sequence_->at(number)});
      },
      numbers_a_look);
  ++totals_.answers;
  if (more) next_turn_ = loop_.call_after(0, [this] { look_at_blocks(); });
}

void PeerWork::look_at_trials() {
  for (Elsewhere& each : std::exchange(elsewhere_, {})) {
    if (listeners_.has_come(*each.trial))
      ++totals_.answers;
    else if (peers_.take(each.claim))
      listeners_.take_over(each.trial);
    else
      elsewhere_.push_back(std::move(each));
  }
}

void PeerWork::every_look(std::function<void()> look) {
  next_look_ = loop_.call_after(peers_.look_every_ms(), [this, look = std::move(look)]() mutable {
    look();
    every_look(std::move(look));
  });
}

bool PeerWork::leave() {
  if (peers_.has_left()) return false;
  run_.observer.on_warning(
      "what was measured here could not be stored, so the other processes of the job will measure it again, and this "
      "one does not wait for theirs: it goes on by itself");
  peers_.leave();
  return true;
}

}  // namespace xtune::run
