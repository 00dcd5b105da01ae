// Waits for work that other processes have claimed, and takes over work that they abandon.
#include "core/run/peer_work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/run/run_parts.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

// There are fewer claims than configurations, and the final wait for other processes is at most a hundredth of the
// whole.
constexpr std::uint64_t blocks_a_process = 64, max_in_a_block = 64;
// Each block of another process that is claimed already costs three operations of the file system to find that out,
// and towards the end nearly all are.
constexpr std::uint64_t max_asked_a_look = 16;

}  // namespace

BlockWalk::BlockWalk(const search::Sequence& sequence, const Peers& peers, Take take, std::string name)
    : take_(std::move(take)), name_(std::move(name)), size_(sequence.size()), random_(peers.place()) {
  const std::uint64_t processes = std::max<std::uint64_t>(peers.size(), 1), place = peers.place();
  block_size_ = std::clamp<std::uint64_t>(size_ / (blocks_a_process * processes), 1, max_in_a_block);
  const std::uint64_t blocks = size_ / block_size_ + (size_ % block_size_ != 0);
  const auto begin_of = [&](std::uint64_t part) {
    return blocks / processes * part + std::min(part, blocks % processes);
  };
  for (std::uint64_t part = 0; part < processes; ++part) {
    const std::uint64_t begin = begin_of(part), end = begin_of(part + 1);
    if (begin == end) continue;
    if (part == place) {
      own_ = begin;
      own_end_ = end;
    } else {
      theirs_.push_back({range_of(begin).begin, range_of(end - 1).end});
    }
  }
}

BlockWalk::Range BlockWalk::range_of(std::uint64_t block) const {
  return {block * block_size_, std::min((block + 1) * block_size_, size_)};
}

bool BlockWalk::take(std::uint64_t block) { return take_(fmt::format("{} block {}", name_, block)); }

std::optional<std::uint64_t> BlockWalk::next() {
  while (ours_.empty() && own_ != own_end_) {
    const std::uint64_t block = own_++;
    if (take(block)) {
      ours_.push_back(range_of(block));
    } else {
      const Range lost = range_of(block);
      const auto after =
          std::find_if(theirs_.begin(), theirs_.end(), [&](const Range& range) { return range.begin >= lost.end; });
      theirs_.insert(after, lost);
    }
  }
  if (ours_.empty() && looked_) take_from_others();
  if (ours_.empty()) return std::nullopt;
  const std::uint64_t number = ours_.back().begin++;
  if (ours_.back().begin == ours_.back().end) ours_.pop_back();
  return number;
}

bool BlockWalk::look(const std::function<bool(std::uint64_t number)>& has_come, std::uint64_t budget) {
  for (Range& range : theirs_)
    for (; range.begin != range.end && budget > 0 && has_come(range.begin); ++range.begin) --budget;
  std::erase_if(theirs_, [](const Range& range) { return range.begin == range.end; });
  looked_ = budget > 0;
  return budget == 0;
}

std::uint64_t BlockWalk::first_block(const Range& range) const { return range.begin / block_size_; }
std::uint64_t BlockWalk::blocks_of(const Range& range) const {
  return (range.end - 1) / block_size_ + 1 - first_block(range);
}

/// Starts at a random place, so that helping processes do not all help the same one.
void BlockWalk::take_from_others() {
  std::uint64_t blocks = 0;
  for (const Range& range : theirs_) blocks += blocks_of(range);
  if (blocks > 0) {
    std::uint64_t start = random_.below(blocks);
    std::size_t place = 0;
    while (start >= blocks_of(theirs_[place])) start -= blocks_of(theirs_[place++]);
    std::uint64_t each = start, left = std::min(blocks, max_asked_a_look);
    for (std::size_t here = place; left > 0; here = (here + 1) % theirs_.size(), each = 0)
      for (; each < blocks_of(theirs_[here]) && left > 0; ++each, --left)
        if (take(first_block(theirs_[here]) + each)) return cut_out(here, first_block(theirs_[here]) + each);
  }
  looked_ = false;  // no more until something changes
}

void BlockWalk::cut_out(std::size_t place, std::uint64_t block) {
  const Range range = theirs_[place], won = range_of(block);
  const Range before{range.begin, std::max(won.begin, range.begin)}, behind{std::min(won.end, range.end), range.end};
  ours_.push_back({before.end, behind.begin});
  std::vector<Range> left;
  for (const Range& each : {before, behind})
    if (each.begin != each.end) left.push_back(each);
  const auto there = theirs_.erase(theirs_.begin() + static_cast<std::ptrdiff_t>(place));
  theirs_.insert(there, left.begin(), left.end());
}

namespace {

// Numbers of the sequence between two turns of the event loop.
constexpr std::uint64_t numbers_a_look = 1000;

}  // namespace

PeerWork::PeerWork(RunParts& run, Peers& peers) : run_(run), peers_(peers) {}

void PeerWork::leave_over(const std::string& why) {
  if (std::exchange(left_, true)) return;
  run_.observer.on_warning(why);
  peers_.leave();
}

bool PeerWork::take(const std::string& name) {
  if (left_) return true;
  try {
    return peers_.take(name);
  } catch (const Error& error) {
    leave_over(std::string(error.what()) + "; this process goes on by itself");
    return true;
  }
}

std::vector<store::Record> PeerWork::news() {
  try {
    return peers_.news();
  } catch (const Error& error) {
    leave_over(std::string(error.what()) + "; this process goes on by itself");
    return {};
  }
}

void PeerWork::share_in_blocks(const search::Sequence& sequence) {
  if (sequence.size() == 0) return;
  sequence_ = &sequence;
  // Processes with the same first key have the same sequence, settings and kind of device.
  blocks_.emplace(
      sequence, peers_, [this](const std::string& name) { return take(name); },
      fmt::format("{} of {}", run_.make_trial(sequence.at(0))->record.key, sequence.size()));
}

std::optional<SearchPath::Proposal> PeerWork::next() {
  const auto number = blocks_->next();
  if (!number) return std::nullopt;
  return SearchPath::Proposal{*number, sequence_->at(*number)};
}

bool PeerWork::claim(const TrialPtr& trial, const std::string& name) {
  if (take(name)) return true;
  elsewhere_.push_back({trial, name});
  return false;
}

void PeerWork::forget() { elsewhere_.clear(); }

void PeerWork::look_at_blocks() {
  const bool more = blocks_->look(
      [this](std::uint64_t number) {
        return run_.outcomes.serve({number, sequence_->at(number)});
      },
      numbers_a_look);
  ++run_.totals.answers;
  if (more) next_turn_ = run_.loop.call_after(0, [this] { look_at_blocks(); });
}

void PeerWork::look_at_trials() {
  for (Elsewhere& each : std::exchange(elsewhere_, {})) {
    if (run_.outcomes.has_come(*each.trial))
      ++run_.totals.answers;
    else if (take(each.claim))
      run_.take_over(each.trial);
    else
      elsewhere_.push_back(std::move(each));
  }
}

void PeerWork::every_look(std::function<void()> look) {
  next_look_ = run_.loop.call_after(peers_.look_every_ms(), [this, look = std::move(look)]() mutable {
    look();
    every_look(std::move(look));
  });
}

bool PeerWork::leave() {
  if (left_) return false;
  leave_over(
      "what was measured here could not be stored, so the other processes of the job will measure it again, and this "
      "one does not wait for theirs: it goes on by itself");
  return true;
}

}  // namespace xtune::run
