// A run that is answered from a recording: the recorded device, and compile and bench services in simulated time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/run/services.hpp"
#include "core/run/target.hpp"
#include "core/spec/spec.hpp"
#include "lab/recording.hpp"
#include "system/clock.hpp"
#include "system/event_loop.hpp"

namespace xtune::lab {

/// The recording of this problem: of the spec's kernel if there is one, and of the device architecture `arch` unless
/// that is empty. device: number among the remaining ones. Throws Error(invalid_argument) with a list of the
/// recordings.
const Recording& choose_recording(const std::vector<Recording>& recordings, const spec::Spec& spec,
                                  const Bindings& problem, const std::string& arch, int device);

/// The recorded device under the backend "replay", whose records do not count as measurements. Its toolchain is the
/// recording's name and a digest of its contents, so that records of different recordings are distinguished.
run::Target target_of(const Recording& recording);

/// Makes every parameter a compile-time one, so that each configuration has its own artifact, by which it is found.
/// Removes the reference and the commands of a program, as nothing is computed. Switches off race and finals, as a
/// recording already has its samples.
void prepare(spec::Spec& spec);

/// The number of configurations of the space that are recorded. Throws Error(invalid_argument) if there are none: the
/// recording is of another space.
std::uint64_t recorded_of(const space::Space& space, const Recording& recording);

/// Simulated time: a clock that jumps from event to event, driven by an event loop that never waits.
class Simulation final : public system::Clock {
 public:
  /// start_unix_ms: the calendar time at the start of the simulation.
  Simulation(system::EventLoop& loop, std::int64_t start_unix_ms) : loop_(loop), start_unix_ms_(start_unix_ms) {}

  std::int64_t now_ns() override { return now_ns_; }
  std::int64_t unix_time_ms() override { return start_unix_ms_ + now_ns_ / 1'000'000; }

  /// Calls `event` after this much simulated time: one event per turn of the loop, the earliest first, simultaneous
  /// ones in the order of the calls. An exception of an event leaves the loop.
  void after_s(double seconds, std::function<void()> event);

 private:
  void step();
  system::EventLoop& loop_;
  std::int64_t start_unix_ms_;
  std::int64_t now_ns_ = 0;
  std::uint64_t asked_ = 0;
  bool stepping_ = false;  ///< a step was posted
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> events_;
};

/// Finds recorded configurations by their compile requests, and stores which artifact belongs to which.
class RecordedAnswers {
 public:
  explicit RecordedAnswers(const Recording& recording);
  /// Finds by the -D of every parameter. nullptr: not recorded. Stores the result under the artifact's key.
  const RecordedConfig* find(const std::string& key, const build::CompileRequest& request);
  const RecordedConfig* find(const std::string& key) const;  ///< for an artifact that was found before
  const Recording& recording() const noexcept { return recording_; }

 private:
  std::string text_of(const build::CompileRequest& request) const;
  const Recording& recording_;
  std::unordered_map<std::string, std::uint64_t> by_text_;
  std::unordered_map<std::string, std::uint64_t> by_key_;
};

/// `jobs` compilers, with the recorded compile times. A configuration that failed before it ran fails here; one that is
/// not in the recording is rejected at once, with a message. Time limits are ignored, since everything recorded has
/// ended.
class ReplayCompileService final : public run::CompileService {
 public:
  ReplayCompileService(Simulation& simulation, RecordedAnswers& answers, std::size_t jobs)
      : simulation_(simulation), answers_(answers), jobs_(jobs) {}
  void compile(const run::CompileJob& job, double timeout_s, Callback callback) override;
  std::size_t parallel() const noexcept override { return jobs_; }
  void cancel_all() override;

 private:
  struct Waiting {
    std::string key;
    build::CompileRequest request;
    Callback callback;
    double expected_s;
  };
  void start(Waiting waiting);
  Simulation& simulation_;
  RecordedAnswers& answers_;
  std::size_t jobs_, running_ = 0;
  std::deque<Waiting> waiting_;
  std::uint64_t epoch_ = 0;
};

/// One device with the recorded times; returns the raw samples: a recorded series is not cut short by a race.
class ReplayBenchService final : public run::BenchService {
 public:
  ReplayBenchService(Simulation& simulation, const RecordedAnswers& answers)
      : simulation_(simulation), answers_(answers) {}
  void set_problem(run::Problem) override {}  // the recording was measured with its own inputs
  void bench(const run::BenchJob& job, double timeout_s, Callback callback) override;
  /// Repeats the samples of the recording, from the first on.
  void measure_rounds(const run::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override { ++epoch_; }

 private:
  Simulation& simulation_;
  const RecordedAnswers& answers_;
  std::uint64_t epoch_ = 0;
};

}  // namespace xtune::lab
