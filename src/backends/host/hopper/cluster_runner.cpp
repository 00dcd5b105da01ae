// The turn that blocks pass on also starts the threads, and ends them.
#include "backends/host/hopper/cluster_runner.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "backends/host/block/block_place.hpp"
#include "backends/host/block/block_runner.hpp"

namespace xtune::host {

ClusterRunner::ClusterRunner(BlockPlace& own_place, std::int64_t shared_limit_bytes)
    : own_place_(own_place), shared_limit_bytes_(shared_limit_bytes) {}

ClusterRunner::~ClusterRunner() {
  ending_ = true;
  for (unsigned rank = 1; rank < members_.size(); ++rank) {
    cluster_.give_turn(rank);
    members_[rank]->thread.join();
  }
}

void ClusterRunner::require_members(unsigned count) {
  while (members_.size() < count) {
    const auto rank = static_cast<unsigned>(members_.size());
    members_.push_back(std::make_unique<Member>(cluster_, rank, shared_limit_bytes_));
    blocks_.push_back(&members_.back()->block);
    if (rank == 0)
      members_[0]->place = &own_place_;
    else
      members_[rank]->thread = std::thread([this, rank] { wait_and_work(rank); });
  }
}

void ClusterRunner::wait_and_work(unsigned rank) {
  for (;;) {
    cluster_.take_turn(rank);
    if (ending_) return;
    run_block(rank);
    cluster_.end(rank);
  }
}

std::string ClusterRunner::run(const BlockJob& job, std::uint64_t cluster) {
  const auto& grid = job.launch.grid;
  std::array<std::uint32_t, 3> shape = job.launch.cluster;
  for (std::uint32_t& extent : shape) extent = std::max(extent, 1u);
  const unsigned count = shape[0] * shape[1] * shape[2];
  require_members(count);
  job_ = &job;
  cluster_.begin(count, job.launch.block[0] * job.launch.block[1] * job.launch.block[2]);
  const std::array<std::uint64_t, 3> clusters{grid[0] / shape[0], grid[1] / shape[1], grid[2] / shape[2]};
  const std::array<std::uint64_t, 3> first{cluster % clusters[0] * shape[0],
                                           cluster / clusters[0] % clusters[1] * shape[1],
                                           cluster / clusters[0] / clusters[1] * shape[2]};
  for (unsigned rank = 0; rank < count; ++rank)
    members_[rank]->index = {static_cast<unsigned>(first[0] + rank % shape[0]),
                             static_cast<unsigned>(first[1] + rank / shape[0] % shape[1]),
                             static_cast<unsigned>(first[2] + rank / shape[0] / shape[1])};
  run_block(0);
  if (!cluster_.end(0)) cluster_.take_turn(0);
  return failures();
}

void ClusterRunner::run_block(unsigned rank) {
  Member& member = *members_[rank];
  member.failure.clear();
  member.refused = false;
  member.shortage = nullptr;
  if (cluster_.is_stopped()) return;
  const KeepFloatingPoint keep;
  try {
    const bool is_first = member.launch != job_->number;
    if (is_first && rank != 0) member.place->begin_launch(*job_);
    job_->entry.kernel->begin_block(member.index);
    if (is_first) {
      member.window =
          shared_window(*job_->entry.kernel, member.place->shared(), job_->launch.shared_bytes, job_->entry.sanitized);
      member.launch = job_->number;
    }
    run_prepared_block(member, rank);
  } catch (const std::exception&) {
    member.shortage = std::current_exception();
  }
  if (!member.failure.empty() || member.shortage) cluster_.stop();
}

void ClusterRunner::run_prepared_block(Member& member, unsigned rank) {
  const XtuneKernel& kernel = *job_->entry.kernel;
  const XtuneUint3 block = uint3_of(job_->launch.block);
  BlockRunner& runner = member.place->runner(*job_);
  member.block.begin(runner, member.window, block.x * block.y * block.z, {blocks_.data(), cluster_.blocks()});
  cluster_.start(rank, member.window);
  member.failure = runner.run(kernel, job_->arguments, block, &member.block);
  member.refused = runner.is_refused();
  if (!member.failure.empty()) return;
  try {
    member.block.end();
  } catch (const Refusal& refusal) {
    member.failure = refusal.what();
    member.refused = true;
  }
}

std::string ClusterRunner::failures() {
  refused_ = false;
  std::string waiting, refused;
  for (unsigned rank = 0; rank < cluster_.blocks(); ++rank) {
    const Member& member = *members_[rank];
    if (member.shortage) std::rethrow_exception(member.shortage);
    if (member.failure.empty()) continue;
    std::string& text = member.refused ? refused : waiting;
    text += fmt::format("{}block ({}, {}, {}): {}", text.empty() ? "" : "; ", member.index.x, member.index.y,
                        member.index.z, member.failure);
  }
  // Blocks that wait for one that was ended do not explain anything.
  refused_ = !refused.empty();
  return refused_ ? refused : waiting;
}

bool ClusterRunner::take_damage() {
  bool damaged = false;
  for (unsigned rank = 1; rank < members_.size(); ++rank) damaged |= members_[rank]->owned.take_damage();
  return damaged;
}

}  // namespace xtune::host
