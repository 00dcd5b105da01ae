// A recording as a spec, its list of configurations and xtune's records.
#pragma once

#include <string>

#include "core/replay/recording.hpp"

namespace xtune::replay {

/// The three files of an import, as texts; all are named after `stem`: stem.toml, stem.configs.csv, stem.jsonl.
struct ImportedTexts {
  std::string spec, configs, records;
};

/// file: the origin of the recording, for the spec's first line. Throws Error(invalid_argument) for parameter names
/// that a spec cannot have.
ImportedTexts import_texts(const Recording& recording, const std::string& stem, const std::string& file);

/// A valid name for a spec's kernel: other characters become '_'.
std::string kernel_name_of(const Recording& recording, const std::string& stem);

}  // namespace xtune::replay
