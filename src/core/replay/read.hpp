// Reads recordings from files and directories.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/replay/recording.hpp"
#include "core/spec/statistic.hpp"

namespace xtune::replay {

/// The statistic of the samples that ranks the configurations of a recording; unset: the recording's own time (Kernel
/// Tuner's "time"), else the median.
struct ReadOptions {
  std::optional<spec::Statistic> statistic;
};

/// path: a Kernel Tuner cache (.json), a file of xtune's records (.jsonl), either of them also with gzip, or a
/// directory with record files (a store). A cache gives one recording, records give one for each kernel, problem and
/// device. Throws Error(io) if it cannot be read, Error(invalid_argument) for other contents, Error(nothing_valid) if
/// it is empty; each names the path.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const ReadOptions& options = {});

/// The name of the file or directory without .json, .jsonl, .gz.
std::string recording_name(const std::filesystem::path& path);

}  // namespace xtune::replay
