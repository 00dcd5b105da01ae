// Recordings from and to files: Kernel Tuner's caches, and xtune's own records and specs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec/spec.hpp"
#include "core/store/record_log.hpp"
#include "lab/recording.hpp"

namespace xtune::lab {

/// path: a Kernel Tuner cache (.json), a file of xtune's records (.jsonl), either of them also with gzip, or a
/// directory with record files (a store). A cache gives one recording, records give one for each kernel, problem and
/// device. Throws Error(io) if it cannot be read, Error(invalid_argument) for other contents, Error(nothing_valid) if
/// it is empty; each names the path. ranking: the statistic of the samples that ranks configurations; unset: the
/// recording's own time (Kernel Tuner's "time"), else the median. by_time: as read_kernel_tuner.
std::vector<Recording> read_recordings(const std::filesystem::path& path,
                                       std::optional<spec::Statistic> ranking = std::nullopt, bool by_time = false);

/// The name of the file or directory without .json, .jsonl, .gz.
std::string recording_name(const std::filesystem::path& path);

/// One recording for each kernel, problem and device among the records, in the order of their first record; for each
/// configuration the newest full measurement counts. Records that a replay made are skipped, and so are records whose
/// parameters differ from those of the recording's first, each with a warning. name: the file or directory, for
/// messages and the recordings' names.
std::vector<Recording> recordings_of(store::RecordSet set, const std::string& name, spec::Statistic ranking);

/// Reads the text of a cache file (kernel_tuner.util.store_cache and kernel_tuner.cache; times and durations in ms). A
/// file that Kernel Tuner was still writing has no closing braces, and possibly a torn last entry, which is dropped
/// with a warning. Failed configurations are those whose time or __error__ is InvalidConfig (rejected),
/// CompilationFailedConfig (compile_failed) or RuntimeFailedConfig (launch_failed), or whose time is 1e20, as old
/// versions wrote (launch_failed). An invalid time (NaN, zero, negative, unrealistic, another word, missing) counts as
/// damage; invalid durations, and entries that are skipped because they repeat a configuration or have a key that names
/// another one, are summarised in one warning each. The time that ranks a configuration is "time": Kernel Tuner's is
/// the mean of "times", xtune's exports have the median. Where it is neither, "times" are dropped with a warning. A
/// file with another objective is refused unless it is known what is better of the objective, and this ranks as the
/// time does in every entry, or by_time asks for the times anyway. name: the file, for messages.
///
/// A file of T4 results (schema 1.0.0), such as `xtune store export --format kernel-tuner` writes, is read as the cache
/// of the same run. It contains no kernel, device or problem, and distinguishes wrong results from other failures.
/// Times are converted from their units.
///
/// Throws Error(invalid_argument), with the entry if there is one, for text that is not a cache; Error(nothing_valid)
/// for a cache without entries.
Recording read_kernel_tuner(const std::string& text, const std::string& name, bool by_time = false);

/// "2023-12-22 13:17:23.719843+00:00" (also with T; fraction and offset may be missing, no offset means UTC) in
/// milliseconds since 1970. nullopt: another format, or before 1970.
std::optional<std::int64_t> unix_time_ms_of(std::string_view text);

/// The three files of an import, as texts; all are named after `stem`: stem.toml, stem.configs.csv, stem.jsonl.
struct ImportedTexts {
  std::string spec, configs, records;
};

/// file: the origin of the recording, for the spec's first line. Throws Error(invalid_argument) for parameter names
/// that a spec cannot have.
ImportedTexts import_texts(const Recording& recording, const std::string& stem, const std::string& file);

/// A valid name for a spec's kernel: other characters become '_'.
std::string kernel_name_of(const Recording& recording, const std::string& stem);

}  // namespace xtune::lab
