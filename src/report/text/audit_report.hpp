// The findings of `xtune audit`, as text and as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/run/audit.hpp"

namespace xtune::report {

/// A table of one case: each distinct winner with the number of repeats that named it, the default configuration and
/// the neighbours' winners, with their regrets.
std::string audit_case_text(const spec::Spec& spec, const run::AuditedCase& one, std::size_t width);
/// The findings for all cases, one a line.
std::string audit_text(const spec::Spec& spec, const std::vector<run::AuditedCase>& cases);
nlohmann::ordered_json audit_json(const spec::Spec& spec, const std::vector<run::AuditedCase>& cases);

/// "2.1 %"; "failed" for an infinite one.
std::string regret_text(double regret);

}  // namespace xtune::report
