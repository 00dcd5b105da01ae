// The other processes that work at the same search.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/record/record.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

/// Of one kernel, problem and architecture. All of them walk the same way through the space: what one measures the
/// others read, and observe at its place.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Whether this process shall do it, now or since before; false: another one does, as long as it lives. Throws
  /// Error(io).
  virtual bool take(const std::string& name) = 0;
  /// Gives up all that this process took: it is asked for nothing more, and its records are still found.
  virtual void leave() noexcept = 0;
  /// This process has stored one more record: before anybody takes over from it, they must have read that.
  virtual void stored_one() noexcept = 0;
  /// What the others have stored since this was asked last, in no order. Throws Error(io).
  virtual std::vector<record::Record> news() = 0;
  /// Processes that were started, this one too; some may be of other architectures, or be gone.
  virtual std::size_t size() const noexcept = 0;
  /// Which of them this is: 0 .. size-1.
  virtual std::size_t place() const noexcept = 0;
  /// When the first of them began: what was stored later is news, and guides no search.
  virtual std::int64_t began_unix_ms() const noexcept = 0;
  /// So often news are worth asking for.
  virtual std::uint64_t look_every_ms() const noexcept = 0;
};

/// Peers for as long as work can be shared: once left, or once their store fails, everything is this process's to do.
class LeavablePeers final : public Peers {
 public:
  using Warn = std::function<void(const std::string& text)>;
  LeavablePeers(Peers& peers, Warn warn) : peers_(peers), warn_(std::move(warn)) {}
  bool has_left() const noexcept { return left_; }
  void leave() noexcept override;
  /// Throws nothing: what the store refuses is this process's to do.
  bool take(const std::string& name) override;
  std::vector<record::Record> news() override;
  void stored_one() noexcept override { peers_.stored_one(); }
  std::size_t size() const noexcept override { return peers_.size(); }
  std::size_t place() const noexcept override { return peers_.place(); }
  std::int64_t began_unix_ms() const noexcept override { return peers_.began_unix_ms(); }
  std::uint64_t look_every_ms() const noexcept override { return peers_.look_every_ms(); }

 private:
  void leave_over(const Error& error);
  Peers& peers_;
  Warn warn_;
  bool left_ = false;
};

/// Proposals without an outcome that so many processes may have between them, of a search that learns: enough for each
/// to have work, and not more of the evaluations than are worth making without the outcomes of the others.
std::size_t proposals_in_flight(std::size_t processes, std::uint64_t evals);

}  // namespace xtune::run
