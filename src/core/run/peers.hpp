// The other processes that share a search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace xtune::run {

/// Processes with the same kernel, problem and architecture. All of them take the same path through the space: results
/// that one measures are read by the others, and observed at their place.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Whether this process must do the work, by a claim now or before; false: another process does it, as long as it
  /// lives. Throws Error(io).
  virtual bool take(const std::string& name) = 0;
  /// Gives up all claims of this process: it claims nothing more, and its records can still be found.
  virtual void leave() noexcept = 0;
  /// This process has stored one more record: other processes must read it before they take over its work.
  virtual void stored_one() noexcept = 0;
  /// The records that other processes have stored since the last call, in no particular order. Throws Error(io).
  virtual std::vector<store::Record> news() = 0;
  /// Number of started processes, including this one; some may have other architectures, or have ended.
  virtual std::size_t size() const noexcept = 0;
  /// Number of this process: 0 .. size-1.
  virtual std::size_t place() const noexcept = 0;
  /// When the first process began: records that were stored later are news, and do not guide the search.
  virtual std::int64_t began_unix_ms() const noexcept = 0;
  /// Useful interval for calls of news().
  virtual std::uint64_t look_every_ms() const noexcept = 0;
};

/// Maximum number of proposals without an outcome over all processes, for a search that learns: enough for each process
/// to have work, but no more of the evaluations than are worth making without the outcomes of the others.
std::size_t proposals_in_flight(std::size_t processes, std::uint64_t evals);

}  // namespace xtune::run
