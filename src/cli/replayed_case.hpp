// What commands need to tune over recordings instead of on a device.
#pragma once

#include "backends/replay/services.hpp"
#include "backends/replay/simulation.hpp"
#include "cli/cases.hpp"
#include "core/replay/read.hpp"
#include "core/run/tuner.hpp"

namespace xtune::cli {

/// read_recordings; an unreadable path is Error(invalid_argument), not a failure of xtune.
std::vector<replay::Recording> read_given_recordings(const std::filesystem::path& path,
                                                     const replay::ReadOptions& options = {});
/// Prints warnings about a recording, and how much of it is damaged, to stderr.
void warn_of(const replay::Recording& recording);
/// --recording
void add_recording_option(CLI::App& command, std::string& recording);
/// Whether the options or the spec ask for a replay. recording: of --recording. Throws Error(invalid_argument) for
/// options that exclude each other.
bool wants_replay(const std::string& path, const CommonOptions& options, const std::string& recording);
/// The spec, for the backend "replay" and without what a replay cannot do (replay::prepare).
spec::Spec read_replayed_spec(const std::string& path, const CommonOptions& options);
/// Those of --recording, else the spec's. Warns about flaws. Throws Error(invalid_argument) if none are named.
std::vector<replay::Recording> read_recordings_for(const spec::Spec& spec, const std::string& recording);
/// --device as the number of a recording.
int recorded_device(const CommonOptions& options);

/// The services that answer one case from a recording, in simulated time.
class ReplayedCase {
 public:
  /// loop and recording must outlive it. jobs: of --jobs.
  ReplayedCase(base::EventLoop& loop, const replay::Recording& recording, const std::string& jobs);
  run::TuneServices services(const std::atomic<bool>& stop) { return {loop_, compiler_, {&bench_}, simulation_, stop}; }

 private:
  base::EventLoop& loop_;
  replay::Simulation simulation_;
  replay::RecordedAnswers answers_;
  replay::ReplayCompileService compiler_;
  replay::ReplayBenchService bench_;
};

/// Warns if a part of the space is not recorded. Throws as replay::recorded_of.
void warn_of_unrecorded(const spec::Spec& spec, const Bindings& problem, const replay::Recording& recording);

}  // namespace xtune::cli
