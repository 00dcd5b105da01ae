// A server: a program that answers requests for one configuration after the other, each by a line of JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "backends/process/run_program.hpp"

namespace xtune::process {

/// Longer lines are a violation of the protocol.
inline constexpr std::size_t longest_answer = std::size_t{16} << 20;

/// What came of a request. Exactly one holds: answer is set, violation is not empty, or the server ended or was killed
/// at its time limit (end).
struct ServerReply {
  std::shared_ptr<const nlohmann::json> answer;  ///< a JSON object; null: none came
  std::string violation;                         ///< why a line of its output is not an answer; it was killed
  /// stderr_text: standard error, and the texts of "log" members, since the request. For one that did not answer also
  /// how it ended; stdout_text: the line that it had begun.
  ProgramEnd end;
};

/// A running server. Single-threaded; a request blocks. It stays in this process's group, so killing the group also
/// kills the server. Destruction kills it with everything that it has started.
class Server {
 public:
  /// Throws system::CannotStart. The command's time limit is not used.
  explicit Server(const ProgramRun& command);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Sends the request with an additional member "id", and waits for the line with this id. A server that has not
  /// answered is not running afterwards.
  ServerReply ask(nlohmann::ordered_json request, double timeout_s);
  /// False from its end on.
  bool running() const noexcept;
  /// Also of a process that has ended and was not reaped yet: only this object may reap it. 0: it was reaped.
  int pid() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::process
