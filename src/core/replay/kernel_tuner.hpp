// Reading Kernel Tuner's cache files and results files.
#pragma once

#include <string>

#include "core/replay/recording.hpp"

namespace xtune::replay {

/// Reads the text of a cache file (kernel_tuner.util.store_cache and kernel_tuner.cache; times and durations in ms).
/// A file that Kernel Tuner was still writing has no closing braces, and maybe a torn last entry: the entry is dropped
/// with a warning. Failed configurations are those whose time or __error__ is InvalidConfig (rejected),
/// CompilationFailedConfig (compile_failed) or RuntimeFailedConfig (launch_failed), or whose time is 1e20, as old
/// versions wrote (launch_failed). A time that is none (NaN, zero, negative, absurd, another word, missing) counts as
/// damage; durations that are none, and entries that repeat a configuration, are summed up in a warning each. The time
/// that ranks a configuration is Kernel Tuner's own "time", the mean of "times". name: the file, for messages.
///
/// A file of T4 results (schema 1.0.0), such as `xtune store export --format kernel-tuner` writes, is read as the cache
/// of the same run; it names neither kernel nor device nor problem, and tells wrong results from other failures.
///
/// Throws Error(invalid_argument) for text that is no cache, naming the entry where there is one; Error(nothing_valid)
/// for a cache without entries.
Recording read_kernel_tuner(const std::string& text, const std::string& name);

}  // namespace xtune::replay
