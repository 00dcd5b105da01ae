// The recordings of a command, and the services over one of them.
#include "cli/replayed_case.hpp"

#include <cstdlib>

#include "backends/replay/target.hpp"
#include "ipc/job_count.hpp"

namespace xtune::cli {
namespace {

/// Number of compilers in a replay, unless --jobs or XTUNE_JOBS sets it: the same on every machine, so that replays are
/// reproducible.
std::size_t replay_jobs(const std::string& given) {
  const char* const variable = std::getenv("XTUNE_JOBS");
  return !given.empty() || (variable && *variable) ? ipc::job_count(given) : 8;
}

}  // namespace

std::vector<replay::Recording> read_given_recordings(const std::filesystem::path& path,
                                                     const replay::ReadOptions& options) {
  return read_given([&] { return replay::read_recordings(path, options); });
}

void warn_of(const replay::Recording& recording) {
  for (const std::string& warning : recording.warnings) tell("warning: {}\n", warning);
  if (recording.damage.count > 0)
    tell("warning: {}: {} of {} configurations are damaged and count as failed, first {}\n", recording.name,
         recording.damage.count, recording.space.size(), recording.damage.first);
}

void add_recording_option(CLI::App& command, std::string& recording) {
  OptionGroup(command, option_group::search)
      .value("--recording", recording, "FILE",
             "Replay a recording instead of measuring: a Kernel Tuner cache, a record file or a store");
}

bool wants_replay(const std::string& path, const CommonOptions& options, const std::string& recording) {
  if (options.backend == "replay") return true;
  if (!recording.empty() && options.backend != "auto")
    throw bad_argument("--recording is what --backend replay serves; backend {} measures", options.backend);
  return !recording.empty() || (options.backend == "auto" && read_spec(path, options, "").replays());
}

spec::Spec read_replayed_spec(const std::string& path, const CommonOptions& options) {
  spec::Spec spec = read_spec(path, options, "");
  spec.kernel.backend = "replay";
  replay::prepare(spec);
  return spec;
}

std::vector<replay::Recording> read_recordings_for(const spec::Spec& spec, const std::string& recording) {
  if (recording.empty() && spec.kernel.recording.empty())
    throw bad_argument("nothing to replay: name a recording with --recording, or in the spec as [kernel] recording");
  std::vector<replay::Recording> recordings =
      read_given_recordings(recording.empty() ? spec.kernel.recording : std::filesystem::path(recording));
  for (const replay::Recording& each : recordings) warn_of(each);
  return recordings;
}

int recorded_device(const CommonOptions& options) {
  const std::vector<int> devices = options.devices();
  if (devices.size() > 1) throw bad_argument("--device {}: a replay has one device", options.device);
  return devices.empty() ? 0 : devices.front();
}

ReplayedCase::ReplayedCase(base::EventLoop& loop, const replay::Recording& recording, const std::string& jobs)
    : loop_(loop),
      simulation_(loop, base::system_clock().unix_time_ms()),
      answers_(recording),
      compiler_(simulation_, answers_, replay_jobs(jobs)),
      bench_(simulation_, answers_) {}

void warn_of_unrecorded(const spec::Spec& spec, const Bindings& problem, const replay::Recording& recording) {
  const target::Target target = replay::target_of(recording);
  const space::Space space = spec::make_space(spec, problem, device::device_facts(target.device));
  if (const std::uint64_t known = replay::recorded_of(space, recording); known < space.size())
    tell("warning: {} of {} configurations are not in the recording: they count as rejected\n", space.size() - known,
         space.size());
}

}  // namespace xtune::cli
