// One page that this process serves by HTTP on the loopback address while it works.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "system/event_loop.hpp"

namespace xtune::system {

/// Only who knows the address, which has a random part, gets the page. It is made on the loop's thread, for a request
/// after a change; making it takes at most a twentieth of that thread's time. Sockets do not keep the loop running.
class LoopbackPage {
 public:
  /// port 0: a free one. Throws Error(io) if the port cannot be had.
  LoopbackPage(EventLoop& loop, int port, std::function<std::string()> make);
  ~LoopbackPage();
  LoopbackPage(const LoopbackPage&) = delete;
  LoopbackPage& operator=(const LoopbackPage&) = delete;

  const std::string& address() const noexcept;  ///< "http://127.0.0.1:40123/5f1c.../"
  /// The page's contents have changed.
  void changed() noexcept;
  /// The last change. If the page was read within the last seconds, runs the loop until its reader has this state too,
  /// for up to `most_ms`.
  void finish(std::uint64_t most_ms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::system
