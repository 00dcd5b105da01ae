// The other processes that work at the same search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/record.hpp"

namespace xtune {

/// Of one kernel, problem and architecture. All of them walk the same way through the space: what one measures the
/// others read, and observe at its place.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Whether this process shall do it, now or since before; false: another one does, as long as it lives. Throws
  /// Error(io).
  virtual bool take(const std::string& name) = 0;
  /// This process has stored one more record: before anybody takes over from it, they must have read that.
  virtual void stored_one() noexcept = 0;
  /// What the others have stored since this was asked last, in no order. Throws Error(io).
  virtual std::vector<Record> news() = 0;
  /// Processes that were started, this one too; some may be of other architectures, or be gone.
  virtual std::size_t size() const noexcept = 0;
  /// Which of them this is: 0 .. size-1.
  virtual std::size_t place() const noexcept = 0;
  /// When the first of them began: what was stored later is news, and guides no search.
  virtual std::int64_t began_unix_ms() const noexcept = 0;
  /// So often news are worth asking for.
  virtual std::uint64_t look_every_ms() const noexcept = 0;
};

/// Proposals without an outcome that so many processes may have between them, of a search that learns: enough for each
/// to have work, and not more of the evaluations than are worth making without the outcomes of the others.
std::size_t proposals_in_flight(std::size_t processes, std::uint64_t evals);

}  // namespace xtune
