// Questions to an advisor as JSON, and the configurations of its answers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "core/run/run_context.hpp"

namespace xtune::run {

/// The version of the questions (docs/search.md).
inline constexpr int advisor_protocol = 1;

/// What does not change during a run: spec, problem, device, parameters and constraints.
nlohmann::ordered_json advisor_facts(const RunContext& run);
/// The records for a question: all, or of more than a thousand the best and the latest five hundred.
nlohmann::ordered_json advisor_records(const RunContext& run, std::span<const record::Record> records);

/// A proposed configuration as its index in the space, or the reason why it is none. An integer stands for a float, and
/// a float for an integer that it equals.
std::variant<std::uint64_t, std::string> read_proposal(const RunContext& run, const nlohmann::json& proposal);

}  // namespace xtune::run
