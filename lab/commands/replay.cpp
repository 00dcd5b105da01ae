// The commands of lab/, and runs over recordings for commands that tune.
#include "lab/replay.hpp"

#include <cstdlib>
#include <set>

#include "core/run/tuner.hpp"
#include "lab/commands/commands.hpp"
#include "worker/ipc/pool.hpp"

namespace xtune::cli {
namespace {

/// Number of compilers in a replay, unless --jobs or XTUNE_JOBS sets it: the same on every machine, so that replays are
/// reproducible.
std::size_t replay_jobs(const std::string& given) {
  const char* const variable = std::getenv("XTUNE_JOBS");
  return !given.empty() || (variable && *variable) ? worker::job_count(given) : 8;
}

class RecordedCase final : public ReplayedCase {
 public:
  RecordedCase(system::EventLoop& loop, const lab::Recording& recorded, const std::string& jobs)
      : loop_(loop),
        simulation_(loop, system::system_clock().unix_time_ms()),
        answers_(recorded),
        compiler_(simulation_, answers_, replay_jobs(jobs)),
        bench_(simulation_, answers_) {
    target = lab::target_of(recorded);
    recording = recorded.name;
  }
  run::TuneServices services(const std::atomic<bool>& stop) override {
    return {loop_, compiler_, {&bench_}, simulation_, stop};
  }

 private:
  system::EventLoop& loop_;
  lab::Simulation simulation_;
  lab::RecordedAnswers answers_;
  lab::ReplayCompileService compiler_;
  lab::ReplayBenchService bench_;
};

class RecordedReplay final : public Replay {
 public:
  RecordedReplay(const std::string& path, const CommonOptions& options, const std::string& recording)
      : options_(options) {
    spec = read_spec(path, options, "");
    spec.kernel.backend = "replay";
    lab::prepare(spec);
    const std::filesystem::path file = recording.empty() ? spec.kernel.recording : std::filesystem::path(recording);
    if (file.empty())
      throw bad_argument("nothing to replay: name a recording with --recording, or in the spec as [kernel] recording");
    recordings_ = read_given_recordings(file);
    for (const lab::Recording& each : recordings_) warn_of(each);
    const std::vector<int> devices = options.devices();
    if (devices.size() > 1) throw bad_argument("--device {}: a replay has one device", options.device);
    if (!devices.empty()) device_ = devices.front();
  }
  std::unique_ptr<ReplayedCase> open(system::EventLoop& loop, const Bindings& problem) override {
    const lab::Recording& recording = lab::choose_recording(recordings_, spec, problem, options_.arch, device_);
    auto opened = std::make_unique<RecordedCase>(loop, recording, options_.jobs);
    if (checked_.insert(problem).second) {
      const space::Space space = spec::make_space(spec, problem, device::device_facts(opened->target.device));
      if (const std::uint64_t known = lab::recorded_of(space, recording); known < space.size())
        tell("warning: {} of {} configurations are not in the recording: they count as rejected\n",
             space.size() - known, space.size());
    }
    return opened;
  }

 private:
  const CommonOptions& options_;
  std::vector<lab::Recording> recordings_;
  int device_ = 0;
  std::set<Bindings> checked_;
};

}  // namespace

std::vector<lab::Recording> read_given_recordings(const std::filesystem::path& path,
                                                  std::optional<spec::Statistic> ranking, bool by_time) {
  return read_given([&] { return lab::read_recordings(path, ranking, by_time); });
}

void warn_of(const lab::Recording& recording) {
  for (const std::string& warning : recording.warnings) tell("warning: {}\n", warning);
  if (recording.damage.count > 0)
    tell("warning: {}: {} of {} configurations are damaged and count as failed, first {}\n", recording.name,
         recording.damage.count, recording.space.size(), recording.damage.first);
}

void add_lab_commands(CLI::App& app, Context& context) {
  CLI::App& import = *app.add_subcommand("import", "Turn recordings of other tuners into specs");
  import.require_subcommand(1);
  add_import_kbench(import, context);
  add_import_kernel_tuner(import, context);
  add_import_vllm_moe(import, context);
  add_score_command(app, context);
  replay_opener = [](const std::string& path, const CommonOptions& options, const std::string& recording) {
    return std::unique_ptr<Replay>(std::make_unique<RecordedReplay>(path, options, recording));
  };
}

}  // namespace xtune::cli
