// One run at a time in a process.
#pragma once

#include <stop_token>

namespace xtune {

/// Holds the process's turn to tune or compile. Throws Error(invalid_argument) on a thread that has it already, from a
/// callback; Error(interrupted) where the token is set before the turn comes.
class RunTurn {
 public:
  explicit RunTurn(const std::stop_token& stop);
  ~RunTurn();
  RunTurn(const RunTurn&) = delete;
  RunTurn& operator=(const RunTurn&) = delete;
};

}  // namespace xtune
