// The devices of a run: which are busy, which take part, how their speeds compare, and a bench service that compiles
// artifacts again if they disappear from the store during a run, because of `store gc` or a damaged disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/run/run_context.hpp"
#include "core/run/services.hpp"
#include "core/run/tuner.hpp"

namespace xtune::run {

/// Calls `bench`; if an answer names a missing artifact, compiles it into the run's scratch directory, which other
/// processes do not clean, and calls `bench` again. Callers never see such an answer. If an artifact is still missing
/// after it was compiled, in a new worker, or cannot be compiled again, Error(io) leaves the event loop.
class RebuildingBench final : public BenchService {
 public:
  /// Both must outlive it.
  RebuildingBench(BenchService& bench, CompileService& compiler, double compile_timeout_s);
  void set_problem(Problem problem) override;
  void prepare() override { bench_.prepare(); }
  void bench(const BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;
  /// Call it after CompileService::cancel_all: submits again the artifact that this service waits for.
  void compile_after_all();

 private:
  using Jobs = std::vector<const BenchJob*>;
  using Misses = std::map<std::string, int>;  ///< how often a job's answer named each artifact
  void bench_again(const BenchJob& job, double timeout_s, Callback callback, Misses misses);
  void rounds_again(const RoundsJob& job, double timeout_s, RoundsCallback callback, Misses misses);
  void supply(const std::string& key, const Jobs& jobs, Misses misses, const std::function<void(const Misses&)>& then);
  CompileJob job_of(const std::string& key, const Jobs& jobs) const;
  void rebuild(CompileJob job, std::function<void()> then);
  void compile();

  BenchService& bench_;
  CompileService& compiler_;
  const double compile_timeout_s_;
  std::optional<CompileJob> reference_, check_kernel_;
  std::function<CompileJob(const Bindings& config)> compile_job_;
  struct Pending {
    CompileJob job;
    std::function<void()> then;
  };
  std::shared_ptr<Pending> pending_;  ///< the artifact that is being compiled; a bench needs one at a time
};

/// A device that measures.
struct PooledDevice {
  enum class State {
    uncompared,  ///< not yet compared with the first one, which works regardless
    in_use,
    excluded,  ///< measures nothing in this run
  };
  BenchService* bench = nullptr;
  device::DeviceInfo device;
  State state = State::uncompared;
  bool busy = false;
  double slowness = 1;  ///< time of a configuration here, divided by its time on the first device
};

/// "device 1 (NVIDIA H200, GPU-5c...)".
std::string name_of(const device::DeviceInfo& device);

/// Times of different devices of one kind are comparable once each device has measured the same configuration
/// (Calibration): the pool keeps the ratio.
class DevicePool {
 public:
  /// benches: of target.device, then of each of target.further. All must outlive this.
  DevicePool(const run::Target& target, const std::vector<BenchService*>& benches, CompileService& compiler,
             double compile_timeout_s, TuneObserver& observer);

  PooledDevice& first() noexcept { return devices_.front(); }
  std::vector<PooledDevice>& all() noexcept { return devices_; }
  bool is_first(const PooledDevice& device) const noexcept { return &device == &devices_.front(); }
  std::size_t busy() const;
  /// Whether a device other than the first waits for its comparison.
  bool any_uncompared() const;
  /// 1 for a device that does not belong to this run.
  double slowness_of(const device::DeviceInfo& device) const;
  /// Excludes the device with a warning.
  void exclude(PooledDevice& device, const std::string& why);
  void exclude_further(const std::string& why);

  /// problem.device is set for each.
  void set_problem(Problem problem);
  /// Opens the other devices that wait for their comparison: once, before their first job.
  void prepare_further();
  /// Call it after CompileService::cancel_all: submits again the lost artifacts that devices wait for.
  void compile_after_all();
  void cancel_all();

 private:
  std::vector<std::unique_ptr<RebuildingBench>> benches_;
  std::vector<PooledDevice> devices_;
  TuneObserver& observer_;
  bool prepared_ = false;  ///< prepare_further was called
};

/// The configuration is the first one that passed. Each device measures it in full before its other measurements count;
/// the first device measures it once more, so that all of them measure it at about the same time. The other devices
/// need not wait for the first: their results are judged when the first device's time is known. A device whose median
/// is certainly more than 2 % off (by the confidence intervals of both medians) is throttled, shared or broken, and is
/// excluded: scaling its times would hide that. A smaller difference becomes the device's slowness, by which its times
/// are divided whenever times of two devices are compared. If the configuration fails on the first device the second
/// time, the next one that passes is used; after three such failures only the first device is used.
class Calibration {
 public:
  struct Wanted {
    std::uint64_t index;                      ///< in the space
    std::optional<build::Artifact> artifact;  ///< unset: it must be compiled
  };
  explicit Calibration(DevicePool& devices) : devices_(devices) {}

  /// A configuration that passed; artifact: set if this run has compiled it.
  void offer(std::uint64_t index, const build::Artifact* artifact) {
    if (!offered_) offered_ = {index, artifact ? std::optional(*artifact) : std::nullopt};
  }
  /// The configuration to measure: returned once, if there is a device to compare.
  std::optional<Wanted> take_wanted();
  /// Its artifact is ready; or it did not compile: then the next configuration that passes is used.
  void compiled(TrialPtr trial, bool ok);
  /// The trial that the device must measure now; null: none.
  TrialPtr wanted_of(const PooledDevice& device) const;
  /// The result of the trial there: a record as fill_record makes it.
  void take(PooledDevice& device, const TrialPtr& trial, const store::Record& record);

 private:
  void judge(PooledDevice& device, const store::Record& record);
  void try_another();
  DevicePool& devices_;
  std::optional<Wanted> offered_;
  bool asked_ = false;                                            ///< offered_ is being compiled, or was compiled
  int failures_ = 0;                                              ///< on the first device
  TrialPtr trial_;                                                ///< compiled
  std::optional<measure::Summary> time_ms_;                       ///< on the first device
  std::vector<std::pair<PooledDevice*, store::Record>> waiting_;  ///< results of other devices that wait for time_ms_
};

}  // namespace xtune::run
