// Compile and bench services that answer from a recording, in simulated time: a run without compiler and device.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "backends/replay/simulation.hpp"
#include "core/replay/recording.hpp"
#include "ipc/services.hpp"

namespace xtune::replay {

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
class ReplayCompileService final : public ipc::CompileService {
 public:
  ReplayCompileService(Simulation& simulation, RecordedAnswers& answers, std::size_t jobs)
      : simulation_(simulation), answers_(answers), jobs_(jobs) {}
  void compile(const ipc::CompileJob& job, double timeout_s, Callback callback) override;
  std::size_t parallel() const noexcept override { return jobs_; }
  void cancel_all() override;

 private:
  struct Waiting {
    std::string key;
    build::CompileRequest request;
    Callback callback;
  };
  void start(Waiting waiting);
  Simulation& simulation_;
  RecordedAnswers& answers_;
  std::size_t jobs_, running_ = 0;
  std::deque<Waiting> waiting_;
  std::uint64_t epoch_ = 0;
};

/// One device with the recorded times; returns the raw samples: a recorded series is not cut short by a race.
class ReplayBenchService final : public ipc::BenchService {
 public:
  ReplayBenchService(Simulation& simulation, const RecordedAnswers& answers)
      : simulation_(simulation), answers_(answers) {}
  void set_problem(ipc::Problem) override {}  // the recording was measured with its own inputs
  void bench(const ipc::BenchJob& job, double timeout_s, Callback callback) override;
  /// Repeats the samples of the recording, from the first on.
  void measure_rounds(const ipc::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override { ++epoch_; }

 private:
  Simulation& simulation_;
  const RecordedAnswers& answers_;
  std::uint64_t epoch_ = 0;
};

}  // namespace xtune::replay
