// Reading Kernel Tuner's cache files and results files.
#pragma once

#include <string>

#include "core/replay/recording.hpp"

namespace xtune::replay {

/// Reads the text of a cache file (kernel_tuner.util.store_cache and kernel_tuner.cache; times and durations in ms). A
/// file that Kernel Tuner was still writing has no closing braces, and possibly a torn last entry, which is dropped
/// with a warning. Failed configurations are those whose time or __error__ is InvalidConfig (rejected),
/// CompilationFailedConfig (compile_failed) or RuntimeFailedConfig (launch_failed), or whose time is 1e20, as old
/// versions wrote (launch_failed). An invalid time (NaN, zero, negative, unrealistic, another word, missing) counts as
/// damage; invalid durations, and entries that repeat a configuration, are summarised in one warning each. The time
/// that ranks a configuration is Kernel Tuner's "time", the mean of "times". name: the file, for messages.
///
/// A file of T4 results (schema 1.0.0), such as `xtune store export --format kernel-tuner` writes, is read as the cache
/// of the same run. It contains no kernel, device or problem, and distinguishes wrong results from other failures.
///
/// Throws Error(invalid_argument), with the entry if there is one, for text that is not a cache; Error(nothing_valid)
/// for a cache without entries.
Recording read_kernel_tuner(const std::string& text, const std::string& name);

}  // namespace xtune::replay
