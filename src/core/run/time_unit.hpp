// A program's time that was read in the wrong unit.
#pragma once

#include <string>

#include "core/spec/process_spec.hpp"
#include "ipc/protocol.hpp"

namespace xtune::run {

/// What the user should know where the wall clock of a program that ran on the CPU is about 1000 times its time, or
/// less than its time, and the spec gives no unit; else empty.
std::string time_unit_warning(const spec::ProcessSpec& process, const ipc::BenchAnswer& answer);

}  // namespace xtune::run
