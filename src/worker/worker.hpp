// The worker processes' main loops: `xtune worker compile | bench | probe | clocks`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/measure/device.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::worker {

/// Reads messages from fd in, writes answers to fd out, until in ends; returns the process's exit code. The loops own
/// the process: they redirect standard output to standard error, so that output of a kernel or compiler cannot corrupt
/// the protocol, and kill their whole process group as soon as the driver is gone.
int compile_worker_main(int in, int out, std::uint64_t memory_limit_bytes);
/// sanitize: with the run-time libraries of AddressSanitizer and UBSan, which host kernels call.
int bench_worker_main(int in, int out, bool sanitize);

/// Queries a backend in this process, which initialises its driver. Never throws for missing parts.
run::BackendState probe_backend(const std::string& name, Probe probe = Probe::all);
/// Prints one line of JSON with the backend's state on this machine (read by worker/ipc/inventory.cpp).
int probe_worker_main(const std::string& backend, Probe probe);

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
