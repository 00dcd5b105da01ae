// The worker processes' main loops: `xtune worker compile | bench | probe`.
#pragma once

#include <cstdint>
#include <string>

#include "core/target/inventory.hpp"

namespace xtune::worker {

/// Reads messages from fd in, writes answers to fd out, until in ends; returns the process's exit code. The loops own
/// the process: they redirect standard output to standard error, so that output of a kernel or compiler cannot corrupt
/// the protocol, and kill their whole process group as soon as the driver is gone.
int compile_worker_main(int in, int out, std::uint64_t memory_limit_bytes);
/// sanitize: with the run-time libraries of AddressSanitizer and UBSan, which host kernels call.
int bench_worker_main(int in, int out, bool sanitize);

/// Queries a backend in this process, which initialises its driver. Never throws for missing parts.
target::BackendState probe_backend(const std::string& name, target::Probe probe = target::Probe::all);
/// Prints one line of JSON with the backend's state on this machine (read by core/target/inventory.hpp).
int probe_worker_main(const std::string& backend, target::Probe probe);

}  // namespace xtune::worker
