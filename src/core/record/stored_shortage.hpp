// Failures that earlier versions stored although the machine caused them.
#pragma once

#include "core/record/record.hpp"

namespace xtune::record {

/// Whether a stored failure was caused by a lack of resources on its machine: such a record is ignored. The rules:
/// - compile_failed, launch_failed, crashed: a build, program or check that "cannot start" for lack of processes,
///   memory, descriptors, the program itself, or permission to run it (a noexec directory); a line of the message in
///   which lack_in_line finds a full disk, a lack of processes, a kill, or a missing library or program; a build that
///   "left an empty file at {out}"; a process that was ended by a signal from elsewhere.
/// - these and wrong_result, of a check: the exit code of a missing program (126, 127).
/// - timed_out, of a compiler: it was stopped more than a second and a half after its limit, which happens only to a
///   process that was suspended.
/// Failures that this version stores do not match any of them. Other time-outs of that kind, and compilers without
/// memory, cannot be distinguished from real ones: `xtune run --retry-failed` tries those again.
bool is_stored_shortage(const Record& record);

}  // namespace xtune::record
