// Two runs at once would measure each other.
#include "api/run_turn.hpp"

#include <condition_variable>
#include <mutex>

#include "xtune/error.hpp"

namespace xtune {
namespace {

std::mutex mutex;
std::condition_variable_any changed;
bool taken = false;
thread_local bool taken_here = false;

}  // namespace

RunTurn::RunTurn(const std::stop_token& stop) {
  if (taken_here)
    throw Error(ErrorKind::invalid_argument,
                "a callback of a run asked for another run; start it once the first one has returned");
  std::unique_lock lock(mutex);
  if (!changed.wait(lock, stop, [] { return !taken; }) || stop.stop_requested())
    throw Error(ErrorKind::interrupted, "stopped before the run began");
  taken = taken_here = true;
}

RunTurn::~RunTurn() {
  {
    const std::lock_guard lock(mutex);
    taken = taken_here = false;
  }
  changed.notify_all();
}

}  // namespace xtune
