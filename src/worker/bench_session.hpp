// One problem on one device, inside the bench worker: its buffers, inputs and reference, and the trial of a
// configuration.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "core/build/cache.hpp"
#include "core/measure/device.hpp"
#include "core/measure/noise_guard.hpp"
#include "core/measure/race.hpp"
#include "core/validate/builtin.hpp"
#include "ipc/protocol.hpp"
#include "worker/command_check.hpp"
#include "worker/constants.hpp"
#include "worker/device_check.hpp"
#include "worker/memory_needs.hpp"
#include "worker/output_check.hpp"
#include "worker/repeat_check.hpp"
#include "worker/sampler.hpp"
#include "worker/scratch.hpp"

namespace xtune::worker {

/// Single-threaded. Every buffer is between guard zones, except under a sanitizer; inputs and reference are kept
/// read-only on the host. Inputs on the device are compared with them after every configuration, and rewritten if they
/// changed or were not compared, so that a kernel that overwrites them harms only itself.
class BenchSession {
 public:
  /// Fills inputs. Throws Error; if there is not enough memory, before allocating any. available_bytes: returns the
  /// bytes that this process may still use; called once.
  BenchSession(
      measure::Device& device, ipc::OpenJob job, base::Clock& clock,
      const std::function<std::uint64_t()>& available_bytes = [] { return base::available_memory_bytes(); });

  /// Maximum memory of this machine that the session uses.
  std::uint64_t host_bytes() const noexcept;

  /// Computes the reference, or reads it from job.scratch if an earlier worker left it there; later calls do nothing.
  /// Throws Error that opens with the reference's place in the spec: invalid_spec if it is wrong, or if its outputs
  /// cannot be compared with because it wrote none of them or only NaN.
  void prepare_reference();

  /// What prepare_reference() found, if this session computed the reference.
  struct ReferenceFindings {
    std::vector<std::string> warnings;
    std::vector<double> samples_ms;  ///< of a reference kernel, if job.time_reference asks for its time; else empty
  };
  const ReferenceFindings& reference_findings() const noexcept { return found_; }

  /// Loads, validates and measures a configuration, and validates it once more if it was measured in full; prepares the
  /// reference if necessary. A failure of the configuration is in the answer; Error is thrown for failures of xtune
  /// itself.
  ipc::BenchAnswer bench(const ipc::BenchJob& job);

  /// Loads all of them and launches each once untimed, except those that were also in the previous rounds; then runs
  /// the rounds, and a launch of each whose outputs are compared. The first failure ends it. If a guard zone or an
  /// input was overwritten by one of several kernels, it is unknown which one did: `failed` is then unset.
  ipc::RoundsAnswer measure_rounds(const ipc::RoundsJob& job);

 private:
  std::size_t choose_sets(std::uint64_t available_bytes);  ///< and sets flush_bytes_
  void allocate(std::size_t sets);
  void make_reference();
  void make_kernel_reference();
  std::vector<double> time_kernel_reference();  ///< samples; empty: not asked for, or it failed
  void make_builtin_reference();
  void make_file_reference();
  void make_command_reference();
  bool load_reference();
  /// New inputs, drawn by this seed; the reference must then be computed again.
  void renew_inputs(std::uint64_t seed);
  void save_reference() const;
  void decide_tolerances();
  // In reference_check.cpp.
  void judge_numbers(const std::string& output, std::uint64_t count, std::uint64_t nans);
  /// Launches the reference kernel once more, on zeroed outputs, if it left NaN or poison; and again with zeros in the
  /// guard zones, if there is still NaN.
  void judge_reference_launch(const std::function<void()>& launch);
  void judge_given_outputs();  ///< for expected contents that no kernel computed

  validate::BuiltinCall builtin_call(const TestArgument& output) const;
  TestArgument& output_named(const std::string& name);

  /// What a job launches, and its arguments that are not buffers of the session; owned by it.
  struct Passed {
    const device::LaunchPlan& launch;
    const std::vector<measure::ScalarArgument>& scalars;
    const std::vector<measure::TensorMap>& maps;
  };
  /// All arguments, in the spec's order; a tensor map that no step takes is a null buffer.
  std::vector<measure::KernelArgument> arguments_for(BufferSet& set, const ScratchBuffers& scratch,
                                                     const Passed& passed) const;
  std::unique_ptr<ScratchBuffers> make_scratch(const std::vector<validate::ArgumentLayout>& layouts);
  void prepare_device_check();
  void reset_sets();  ///< before programs run; skips inputs that are known to be intact
  bool judge_outputs(BufferSet& set, ipc::BenchAnswer& answer);
  bool judge_inputs(ipc::BenchAnswer& answer);  ///< of all sets; records which sets' inputs are intact
  Sampler sampler(measure::Program& program, ScratchBuffers& scratch, const Passed& passed);
  void bench_loaded(measure::Program& program, ScratchBuffers& scratch, const ipc::BenchJob& job,
                    ipc::BenchAnswer& answer);
  build::Artifact with_image(const build::Artifact& artifact) const;

  struct Contender {
    std::unique_ptr<measure::Program> program;
    std::unique_ptr<ScratchBuffers> scratch;
    Sampler sampler;
  };
  using Contenders = std::multimap<std::string, Contender>;  ///< by job
  // In bench_rounds.cpp.
  Contender* contender(const ipc::BenchJob& job, Contenders& kept);
  void run_rounds(const ipc::RoundsJob& job, const std::vector<Contender*>& contenders, std::size_t& at,
                  ipc::RoundsAnswer& answer);

  // In bench_last_launch.cpp: checks that measured results are right, too.
  void poison_outputs(BufferSet& set, validate::Poison poison);
  bool judge_launch_of_all_sets(Sampler& sampler, ScratchBuffers& scratch, int launches, validate::Poison poison,
                                ipc::BenchAnswer& answer);
  bool judge_last_launch(measure::Program& program, Sampler& sampler, ScratchBuffers& scratch,
                         ipc::BenchAnswer& answer);
  bool judge_guards(ipc::BenchAnswer& answer);
  void judge_rounds(const std::vector<Contender*>& contenders, std::size_t& at, ipc::RoundsAnswer& answer);

  // In bench_watch.cpp.
  void settle();  ///< waits while others use the device or it is too hot, up to the limit in [measure]
  void watch(measure::Telemetry& telemetry, std::vector<std::string>& taints);  ///< adds the device's state
  void measure_energy(Sampler& sampler, ipc::BenchAnswer& answer);              ///< of one launch
  measure::DeviceState look();

  measure::Device& device_;
  ipc::OpenJob job_;
  base::Clock& clock_;
  const std::function<std::uint64_t()> available_bytes_;
  build::ArtifactCache cache_;
  Constants constants_;
  const CommandCheck check_;
  std::vector<TestArgument> arguments_;  ///< buffers only, in kernel order
  std::vector<BufferSet> sets_;
  std::size_t guard_size_ = 0;  ///< bytes before and after each buffer
  std::size_t flush_bytes_ = 0;
  MemoryNeeds needs_;
  measure::NoiseGuard guard_;
  measure::Roughness roughness_;
  struct Look {
    measure::DeviceState state;
    std::optional<std::int64_t> at_ns;
    std::int64_t took_ns = 0;
  } look_;  ///< the last one at the device's state
  struct Prepared {
    bool reference = false;
    bool fresh_inputs = false;  ///< by a seed other than that of the run
  } prepared_;
  ReferenceFindings found_;
  std::vector<bool> inputs_intact_;            ///< for each set, since the last comparison
  std::unique_ptr<DeviceCheck> device_check_;  ///< nullptr: everything is checked on the host
  Contenders contenders_;                      ///< of the last rounds
};

}  // namespace xtune::worker
