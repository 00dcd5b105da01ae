// Records in the form of the public API.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"
#include "xtune/result.hpp"

namespace xtune {

/// attempts: the ids of this call's runs, whose own records did not come from the store.
Measurement measurement_of(const spec::Spec& spec, const record::Record& record, const std::set<std::string>& attempts);
Resources resources_of(const build::ResourceUsage& usage, std::optional<std::int64_t> shared_bytes);

/// Everything except the binary.
Result result_of(const spec::Spec& spec, const run::TuneResult& tuned, const target::Target& target,
                 const std::set<std::string>& attempts);

/// From the store, or from the run's scratch directory, which is used if the store cannot be written; nullopt if
/// neither has it undamaged.
std::optional<build::Artifact> artifact_of(const std::string& key, const std::filesystem::path& store,
                                           const std::filesystem::path& scratch);

/// The winner's binary and source; nullopt if there is no such artifact.
std::optional<WinningKernel> winning_kernel(const spec::Spec& spec, const Result& result, const target::Target& target,
                                            const std::filesystem::path& store, const std::filesystem::path& scratch);

}  // namespace xtune
