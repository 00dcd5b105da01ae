// Time limits that are not part of a key, and their effect on stored records.
#pragma once

#include <string_view>

#include "core/record/record.hpp"
#include "core/spec/spec.hpp"

namespace xtune::run {

/// The limit for a record's stage, in seconds: kernel.compile_timeout_s for "compile", [process] timeout_s for a
/// program. 0: the limit is part of the key, as [measure] timeout_s for kernels.
double limit_beside_key(const spec::Spec& spec, std::string_view stage);

/// Whether a record is valid under today's limits. One that timed out is not if today's limit is larger, or if the
/// record does not contain its limit, as in earlier versions.
bool answers_under_limits(const record::Record& record, const spec::Spec& spec);

}  // namespace xtune::run
