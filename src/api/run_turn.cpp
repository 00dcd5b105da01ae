// Two runs at once would measure each other.
#include "api/run_turn.hpp"

#include <condition_variable>
#include <mutex>

#include "base/per_process.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

struct Turn {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool taken = false;
};

/// Never destroyed: when the program ends threads may still run, and wait for their turn.
Turn& turn() {
  static auto& turn = *new base::PerProcess<Turn>;
  return turn.get();
}

thread_local bool taken_here = false;

}  // namespace

RunTurn::RunTurn(const std::stop_token& stop) {
  if (taken_here)
    throw Error(ErrorKind::invalid_argument,
                "a callback of a run asked for another run; start it once the first one has returned");
  Turn& its = turn();
  std::unique_lock lock(its.mutex);
  if (!its.changed.wait(lock, stop, [&] { return !its.taken; }) || stop.stop_requested())
    throw Error(ErrorKind::interrupted, "stopped before the run began");
  its.taken = taken_here = true;
}

RunTurn::~RunTurn() {
  Turn& its = turn();
  {
    const std::lock_guard lock(its.mutex);
    its.taken = taken_here = false;
  }
  its.changed.notify_all();
}

}  // namespace xtune
