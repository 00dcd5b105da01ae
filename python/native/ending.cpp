// SPDX-License-Identifier: Apache-2.0
// Only daemon threads are concerned: Python waits for the others before atexit.
#include "ending.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "xtune/error.hpp"

namespace xtune::python {

namespace py = pybind11;

namespace {

constexpr std::chrono::seconds longest_wait{10};  // a callback may never return

struct ActiveRuns {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<const std::stop_source*> sources;
  bool ending = false;
};

/// Never destroyed: threads may outlive it.
ActiveRuns& active_runs() {
  static auto& runs = *new ActiveRuns;
  return runs;
}

void end_runs() {
  ActiveRuns& runs = active_runs();
  const py::gil_scoped_release released;  // callbacks of the runs need it
  std::unique_lock lock(runs.mutex);
  runs.ending = true;
  for (const std::stop_source* source : runs.sources) std::stop_source(*source).request_stop();
  runs.changed.wait_for(lock, longest_wait, [&] { return runs.sources.empty(); });
}

}  // namespace

ActiveRun::ActiveRun(std::stop_source source) : source_(std::move(source)) {
  const std::lock_guard lock(active_runs().mutex);
  if (active_runs().ending) throw Error(ErrorKind::unavailable, "no run can begin any more: Python is ending");
  active_runs().sources.insert(&source_);
}

ActiveRun::~ActiveRun() {
  {
    const std::lock_guard lock(active_runs().mutex);
    active_runs().sources.erase(&source_);
  }
  active_runs().changed.notify_all();
}

void register_ending(std::function<void()> also) {
  py::module_::import("atexit").attr("register")(py::cpp_function([also = std::move(also)] {
    also();
    end_runs();
  }));
}

}  // namespace xtune::python
