// Time limits that are part of no key, and what they mean for stored records.
#pragma once

#include <string_view>

#include "core/record/record.hpp"
#include "core/spec/spec.hpp"

namespace xtune::run {

/// In seconds, of what a record's stage runs: kernel.compile_timeout_s of "compile", [process] timeout_s of a program.
/// 0: the key has the limit, as [measure] timeout_s of kernels.
double limit_beside_key(const spec::Spec& spec, std::string_view stage);

/// Whether a record answers under today's limits. What timed out does not where today's limit is larger, or where the
/// record does not say under which it timed out, as those of earlier versions.
bool answers_under_limits(const record::Record& record, const spec::Spec& spec);

}  // namespace xtune::run
