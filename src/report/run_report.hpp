// The output at the end of a run: the table and the winner, as text or as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/record/across.hpp"
#include "core/record/record_json.hpp"
#include "core/run/tuner.hpp"
#include "core/space/bindings_text.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// The layout for the place where a text is shown.
struct TextLayout {
  std::size_t width = 80;     ///< of tables, as far as possible
  bool marks_styles = false;  ///< with the marks of base/style.hpp
  bool wraps_lines = false;   ///< also wrap lines outside of tables: on a terminal
};

/// The `rows` best configurations with their intervals and metrics, then outcomes with an example of each failure,
/// times and the winner.
std::string run_text(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows,
                     const TextLayout& layout = {});

/// The record of the default configuration among the results; null: it was not tried. Points into the result.
const record::Record* default_record(const run::TuneResult& result);
/// The last record of a configuration: that of finals, if there is one and it comes last. Null: there is none.
const record::Record* latest_record(const std::vector<const record::Record*>& records, const Bindings& config);

/// {"kernel", "device", "problem", "best", "default", "top", "finals", "counts", "failures", "trace", "seconds",
/// "from_store"}; best is null if nothing passed, default if it was not tried, finals if none were held; top lists the
/// `rows` best, trace everything that was tried.
nlohmann::ordered_json run_json(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows);

/// The configuration chosen for all cases, and its cost in each, by [objective] across.
std::string across_text(const spec::Spec& spec, const std::optional<record::AcrossChoice>& choice);
/// {"rule", "config", "score", "ratio", "time_ms"} for one case; config is null if none passed in all cases.
nlohmann::ordered_json across_json(const spec::Spec& spec, const std::optional<record::AcrossChoice>& choice,
                                   std::size_t index);

/// A configuration in the spec's order: "BLOCK_M=64 BLOCK_N=32".
std::string config_text(const spec::Spec& spec, const Bindings& config);
/// The parameters of a configuration whose values differ from the other's, in the same form.
std::string different_text(const spec::Spec& spec, const Bindings& config, const Bindings& other);
/// "TFLOPS 42.1, GBps 300" for a measured record.
std::string metrics_text(const spec::Spec& spec, const record::Record& record);
/// "objective: least energy_j 0.5, most TFLOPS 42" for a measured record, if the spec has goals.
std::string objective_text(const spec::Spec& spec, const record::Record& record);
/// {"config", "time_ms", "metrics", "interval_ms", ...} for a measured record.
nlohmann::ordered_json measured_json(const spec::Spec& spec, const record::Record& record);
using record::bindings_json;

}  // namespace xtune::report
