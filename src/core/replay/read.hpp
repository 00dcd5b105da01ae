// Reading recordings from whatever holds them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/replay/recording.hpp"
#include "core/spec/statistic.hpp"

namespace xtune::replay {

/// Which statistic of the samples ranks the configurations of a recording; unset: the time that the recording itself
/// gives (Kernel Tuner's "time"), else the median.
struct ReadOptions {
  std::optional<spec::Statistic> statistic;
};

/// path: a Kernel Tuner cache (.json), a file of xtune's records (.jsonl), either of them with gzip, or a folder with
/// record files (a store). A cache gives one recording, records one for each kernel, problem and device. Throws
/// Error(io) for what cannot be read, Error(invalid_argument) for what is neither, Error(nothing_valid) for what is
/// empty; each names the path.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const ReadOptions& options = {});

/// The file's or folder's name without .json, .jsonl, .gz.
std::string recording_name(const std::filesystem::path& path);

}  // namespace xtune::replay
