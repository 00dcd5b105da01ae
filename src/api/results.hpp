// Records in the form of the public API, and results as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/measure/statistics.hpp"
#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"
#include "xtune/outcome.hpp"
#include "xtune/result.hpp"

namespace xtune {

/// Calls visit(name in JSON, member of Summary, member of Timing) for all except the count of samples.
template <class Visit>
void each_time(Visit visit) {
  visit("min_ms", &measure::Summary::min, &Timing::min_ms);
  visit("q1_ms", &measure::Summary::q1, &Timing::q1_ms);
  visit("median_ms", &measure::Summary::median, &Timing::median_ms);
  visit("q3_ms", &measure::Summary::q3, &Timing::q3_ms);
  visit("mean_ms", &measure::Summary::mean, &Timing::mean_ms);
  visit("max_ms", &measure::Summary::max, &Timing::max_ms);
  visit("noise", &measure::Summary::noise, &Timing::noise);
  visit("low_ms", &measure::Summary::low, &Timing::low_ms);
  visit("high_ms", &measure::Summary::high, &Timing::high_ms);
}

inline Timing timing_of(const measure::Summary& summary) {
  Timing timing;
  timing.samples = summary.count;
  each_time([&](const char*, auto from, auto to) { timing.*to = summary.*from; });
  return timing;
}

struct Failed {
  Outcome outcome = Outcome::rejected;
  std::string message;
};

/// "2 wrong_result, 1 crashed. The first failure (crashed): ..."
std::string failures_text(const std::vector<Failed>& failures);

/// attempts: the ids of this call's runs, whose own records did not come from the store.
Measurement measurement_of(const spec::Spec& spec, const store::Record& record, const std::set<std::string>& attempts);
Resources resources_of(const build::ResourceUsage& usage, std::optional<std::int64_t> shared_bytes);

/// Everything except the binary.
Result result_of(const spec::Spec& spec, const run::TuneResult& tuned, const run::Target& target,
                 const std::set<std::string>& attempts);

/// From the store, or from the run's scratch directory, which is used if the store cannot be written; nullopt if
/// neither has it undamaged.
std::optional<build::Artifact> artifact_of(const std::string& key, const std::filesystem::path& store,
                                           const std::filesystem::path& scratch);

/// The winner's binary and source; nullopt if there is no such artifact.
std::optional<WinningKernel> winning_kernel(const spec::Spec& spec, Result& result, const run::Target& target,
                                            const std::filesystem::path& store, const std::filesystem::path& scratch);

/// best_config.json: the facts about the winner, which must exist, for an application.
nlohmann::ordered_json best_config_json(const Result& result);
/// latency.json: every measurement with its times.
nlohmann::ordered_json latency_json(const Result& result);

/// The facts about other files in best_config.json; empty if there is no binary.
struct SavedBinary {
  std::string sha256, source_sha256;
};

/// The inverses, into an empty result, latency.json first. Each file has hashes over its values, and so has each
/// measurement. Throw nlohmann's exceptions for JSON of another structure, Error(io) with the member for another schema
/// and for values that differ from the saved ones.
void read_latency(const nlohmann::json& json, Result& result);
SavedBinary read_best_config(const nlohmann::json& json, Result& result);

}  // namespace xtune
