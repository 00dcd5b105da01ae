// Records as the library hands them out.
#pragma once

#include <set>
#include <string>

#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"
#include "xtune/result.hpp"

namespace xtune {

/// attempts: the ids of this call's runs, whose own records did not come from the store.
Measurement measurement_of(const Spec& spec, const Record& record, const std::set<std::string>& attempts);
Resources resources_of(const ResourceUsage& usage, std::int64_t dynamic_shared_bytes);

/// Everything but the binary.
Result result_of(const Spec& spec, const TuneResult& tuned, const Target& target,
                 const std::set<std::string>& attempts);

/// The winner's binary and source from the store; nothing where they are not there, or are damaged.
std::optional<WinningKernel> winning_kernel(const Spec& spec, const Result& result, const Target& target,
                                            const std::filesystem::path& store);

}  // namespace xtune
