// Recordings made from xtune's own records.
#pragma once

#include <string>
#include <vector>

#include "core/record/record_log.hpp"
#include "core/replay/recording.hpp"

namespace xtune::replay {

/// One recording for each kernel, problem and device among the records, in the order of their first record; for each
/// configuration the newest full measurement counts. Records that a replay made are skipped, and so are records whose
/// parameters differ from those of the recording's first, each with a warning. statistic: "median", "min" or "mean" of
/// the samples, which ranks configurations. name: the file or directory, for messages and the recordings' names.
std::vector<Recording> recordings_of(record::RecordSet set, const std::string& name, spec::Statistic statistic);

}  // namespace xtune::replay
