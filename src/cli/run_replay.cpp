// xtune run over recordings: nothing is measured.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "backends/replay/target.hpp"
#include "cli/replayed_case.hpp"
#include "cli/run_command.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {

int RunCommand::replay() {
  if (options_.tuning.sanitize) throw Error(ErrorKind::unsupported, "--sanitize: a replay runs no kernel");
  spec_ = read_replayed_spec(options_.path, options_.common);
  apply(true);
  // The records are not measurements: they are kept only on request.
  kept_ = options_.common.store.empty() ? base::Kept::nothing : base::Kept::all;
  const std::vector<replay::Recording> recordings = read_recordings_for(spec_, options_.recording);
  begin_job();
  std::optional<ProgressPrinter> printer;
  for (const std::size_t number : case_order()) {
    const Bindings& problem = spec_.cases[number];
    const replay::Recording& recording =
        replay::choose_recording(recordings, spec_, problem, options_.common.arch, recorded_device(options_.common));
    target_ = replay::target_of(recording);
    warn_of_unrecorded(spec_, problem, recording);
    if (!printer) {
      join(target_.device.arch);
      if (speaks_) tell_notes(spec_);
      using enum ProgressPrinter::Verbosity;
      printer.emplace(spec_, options_.log, speaks_ ? quiet : warnings, session_.loop);
    }
    if (tells_progress())
      tell("{}: {}, replayed on {}; all times are simulated\n", spec_.kernel.name, recording.name,
           recording.device.name);
    ReplayedCase replayed(session_.loop, recording, options_.common.jobs);
    const run::TuneResult result = tune_case(problem, replayed.services(session_.stop), *printer);
    nlohmann::ordered_json json = report::run_json(spec_, result, options_.rows);
    json["simulated"] = true;
    json["recording"] = recording.name;
    show(number, result, std::move(json));
    if (options_.common.text())
      say(fmt::format("      replayed from {}: the seconds are simulated, nothing was measured\n", recording.name));
    if (session_.ends()) break;
  }
  if (chooses_across()) {
    for (auto& [number, result] : tuned_by_case_) tuned_.push_back(std::move(result));
    show_across();
  }
  session_.kept = session_.kept && keeps();
  return code_;
}

}  // namespace xtune::cli
