// One run at a time in a process.
#pragma once

#include <functional>
#include <stop_token>

#include "base/write_signals.hpp"

namespace xtune {

/// Holds the process's turn to tune or compile, and keeps the signals of failed writes from its thread. Throws
/// Error(invalid_argument) on a thread that already has it, from a callback; Error(interrupted) if the token is set
/// before the turn comes.
class RunTurn {
 public:
  /// poll: called regularly while another thread has the turn; may be empty. Its exceptions leave.
  RunTurn(const std::stop_token& stop, const std::function<void()>& poll);
  ~RunTurn();
  RunTurn(const RunTurn&) = delete;
  RunTurn& operator=(const RunTurn&) = delete;

 private:
  const base::WriteSignals quiet_;
};

}  // namespace xtune
