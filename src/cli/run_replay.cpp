// xtune run over recordings: nothing is measured.
#include <fmt/core.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backends/replay/services.hpp"
#include "backends/replay/target.hpp"
#include "cli/run_command.hpp"
#include "ipc/job_count.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

/// Number of compilers in a replay, unless --jobs or XTUNE_JOBS sets it: the same on every machine, so that replays are
/// reproducible.
std::size_t replay_jobs(const std::string& given) {
  const char* const variable = std::getenv("XTUNE_JOBS");
  return !given.empty() || (variable && *variable) ? ipc::job_count(given) : 8;
}

}  // namespace

int RunCommand::recorded_device() const {
  const std::vector<int> devices = options_.common.devices();
  if (devices.size() > 1)
    throw Error(ErrorKind::invalid_argument, "--device " + options_.common.device + ": a replay has one device");
  return devices.empty() ? 0 : devices.front();
}

int RunCommand::replay() {
  if (options_.tuning.sanitize) throw Error(ErrorKind::unsupported, "--sanitize: a replay runs no kernel");
  spec_ = read_spec(options_.path, options_.common, "");
  spec_.kernel.backend = "replay";
  apply(true);
  kept_ = options_.common.store.empty() ? base::Kept::nothing : base::Kept::all;
  replay::prepare(spec_);
  if (options_.recording.empty() && spec_.kernel.recording.empty())
    throw Error(ErrorKind::invalid_argument,
                "nothing to replay: name a recording with --recording, or in the spec as [kernel] recording");
  const std::vector<replay::Recording> recordings = read_given_recordings(
      options_.recording.empty() ? spec_.kernel.recording : std::filesystem::path(options_.recording));
  for (const replay::Recording& recording : recordings) warn_of(recording);
  begin_job();
  std::optional<ProgressPrinter> printer;
  for (const std::size_t number : case_order()) {
    const Bindings& problem = spec_.cases[number];
    const replay::Recording& recording =
        replay::choose_recording(recordings, spec_, problem, options_.common.arch, recorded_device());
    target_ = replay::target_of(recording);
    const space::Space space = spec::make_space(spec_, problem, device::device_facts(target_.device));
    if (const std::uint64_t known = replay::recorded_of(space, recording); known < space.size())
      tell("warning: {} of {} configurations are not in the recording: they count as rejected\n", space.size() - known,
           space.size());
    if (!printer) {
      join(target_.device.arch);
      if (speaks_) tell_notes(spec_);
      using enum ProgressPrinter::Verbosity;
      printer.emplace(spec_, options_.log, speaks_ ? quiet : warnings, session_.loop);
    }
    if (tells_progress())
      tell("{}: {}, replayed on {}; all times are simulated\n", spec_.kernel.name, recording.name,
           recording.device.name);
    replay::Simulation simulation(session_.loop, base::system_clock().unix_time_ms());
    replay::RecordedAnswers answers(recording);
    replay::ReplayCompileService compiler(simulation, answers, replay_jobs(options_.common.jobs));
    replay::ReplayBenchService bench(simulation, answers);
    const run::TuneResult result =
        tune_case(problem, {session_.loop, compiler, {&bench}, simulation, session_.stop}, *printer);
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
