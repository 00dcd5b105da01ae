// The process that fixes clocks and restores them, however the driver ends: `xtune worker clocks`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/measure/clock_lock.hpp"

namespace xtune::worker {

/// Fixes the clocks of these devices, writes one line of JSON to descriptor `out` ({"locked_mhz": [..], "undo": [..]},
/// or {"error": kind, "message": text} if one of them failed, and then none is fixed, or the text says which), waits
/// for the end of `in`, and restores them ({"restored": true}, or {"restored": false, "message": text}). The end of
/// `in` comes with the end of the driver, also when that is killed; signals that end processes are ignored, since
/// Ctrl-C and batch systems send them to all processes. Returns the exit code. Only a signal that cannot be ignored, or
/// a crash, leaves clocks fixed.
int guard_clocks(const std::vector<int>& devices, int mhz,
                 const std::function<std::unique_ptr<measure::ClockLock>(int device)>& open, int in, int out);

/// The same for devices of a backend, with standard input and output.
int clocks_worker_main(const std::string& backend, const std::vector<int>& devices, int mhz);

}  // namespace xtune::worker
