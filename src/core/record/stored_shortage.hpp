// Failures that earlier versions stored although the machine caused them.
#pragma once

#include "core/record/record.hpp"

namespace xtune::record {

/// Whether a stored failure was caused by a lack of its machine: such a record counts as not there. The rules:
/// - compile_failed, launch_failed, crashed: a build, program or check that "cannot start" for want of processes,
///   memory, descriptors, the program itself, or leave to run it (a noexec directory); a line of the message in which
///   lack_in_line finds a full disk, a want of processes, a kill, or a missing library or program; a build that "left
///   an empty file at {out}"; a process that a signal from elsewhere ended.
/// - these and wrong_result, of a check: the exit code of a program that is not there (126, 127).
/// - timed_out, of a compiler: it was stopped later than a second and a half after its limit, as only a process can be
///   that was suspended.
/// What this version stores fits none of them. Other time-outs of that kind, and compilers without memory, cannot be
/// told from real ones: `xtune run --retry-failed` tries those again.
bool is_stored_shortage(const Record& record);

}  // namespace xtune::record
