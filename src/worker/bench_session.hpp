// One problem on one device, inside the bench worker: its buffers, inputs and reference, and the trial of a
// configuration.
#pragma once

#include <functional>
#include <map>
#include <memory>
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
#include "worker/sampler.hpp"
#include "worker/scratch.hpp"

namespace xtune::worker {

/// Single-threaded. Every buffer lies between guard zones, except under a sanitizer; inputs and reference are kept
/// read-only on the host. Inputs on the device are compared with them after every configuration, and written anew where
/// they changed or were not compared, so that one that scribbles harms none but itself.
class BenchSession {
 public:
  /// Fills inputs. Throws Error; where memory is short, before it has taken any. available_bytes: what this process may
  /// still take, asked once.
  BenchSession(
      measure::Device& device, ipc::OpenJob job, base::Clock& clock,
      const std::function<std::uint64_t()>& available_bytes = [] { return base::available_memory_bytes(); });

  /// What the session holds of this machine's memory, at most.
  std::uint64_t host_bytes() const noexcept;

  /// Computes the reference, or reads it from job.scratch where an earlier worker left it; nothing the second time.
  /// Throws Error that opens with the reference's place in the spec: invalid_spec where it is wrong, or where nothing
  /// can be compared with its outputs because it wrote none of them or only NaN.
  void prepare_reference();

  /// What prepare_reference() found strange in the reference, where this session computed it.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  /// Loads, validates, measures, and validates once more what was measured in full; prepares the reference where that
  /// was not done. A failure of the configuration is in the answer; Error is thrown for xtune's own failures.
  ipc::BenchAnswer bench(const ipc::BenchJob& job);

  /// Loads all of them and launches each once untimed, but for those that the rounds before this had too; then the
  /// rounds, and a launch of each whose outputs are compared. The first that fails ends it. Where a guard zone or an
  /// input was overwritten, nobody knows by which of several: `failed` is unset then.
  ipc::RoundsAnswer measure_rounds(const ipc::RoundsJob& job);

 private:
  std::size_t choose_sets(std::uint64_t available_bytes);  ///< and what is flushed
  void allocate(std::size_t sets);
  void make_reference();
  void make_kernel_reference();
  void make_builtin_reference();
  void make_file_reference();
  void make_command_reference();
  bool load_reference();
  /// New inputs, drawn by this seed; the reference is then to be computed anew.
  void renew_inputs(std::uint64_t seed);
  void save_reference() const;
  void decide_tolerances();
  // In reference_check.cpp.
  bool inputs_are_finite() const;
  void require_numbers(const std::string& output, std::uint64_t count, std::uint64_t nans) const;
  /// Launches the reference kernel once more, on zeroed outputs, where it left NaN or poison behind.
  void judge_reference_launch(const std::function<void()>& launch);
  void judge_given_outputs();  ///< expected contents that are no kernel's

  validate::BuiltinCall builtin_call(const TestArgument& output) const;
  TestArgument& output_named(const std::string& name);

  std::vector<measure::KernelArgument> arguments_for(BufferSet& set, const ScratchBuffers& scratch,
                                                     const std::vector<measure::ScalarArgument>& scalars) const;
  std::unique_ptr<ScratchBuffers> make_scratch(const std::vector<validate::ArgumentLayout>& layouts);
  void prepare_device_check();
  void reset_sets();  ///< before programs run; spares inputs that were found intact
  bool judge_outputs(BufferSet& set, ipc::BenchAnswer& answer);
  bool judge_inputs(ipc::BenchAnswer& answer);  ///< of all sets; notes which sets' inputs are intact
  Sampler sampler(measure::Program& program, ScratchBuffers& scratch,
                  const std::vector<measure::ScalarArgument>& scalars);
  void bench_loaded(measure::Program& program, ScratchBuffers& scratch, const ipc::BenchJob& job,
                    ipc::BenchAnswer& answer);
  build::Artifact with_image(const build::Artifact& artifact) const;

  struct Contender {
    std::unique_ptr<measure::Program> program;
    std::unique_ptr<ScratchBuffers> scratch;
    Sampler sampler;
  };
  using Contenders = std::multimap<std::string, Contender>;  ///< by their jobs
  // In bench_rounds.cpp.
  Contender* contender(const ipc::BenchJob& job, Contenders& kept);
  void run_rounds(const ipc::RoundsJob& job, const std::vector<Contender*>& contenders, std::size_t& at,
                  ipc::RoundsAnswer& answer);

  // In bench_last_launch.cpp: what was measured is right, too.
  void poison_outputs(BufferSet& set, validate::Poison poison);
  bool judge_launch_of_all_sets(Sampler& sampler, ScratchBuffers& scratch, int launches, validate::Poison poison,
                                ipc::BenchAnswer& answer);
  bool judge_last_launch(measure::Program& program, Sampler& sampler, ScratchBuffers& scratch,
                         ipc::BenchAnswer& answer);
  bool judge_guards(ipc::BenchAnswer& answer);
  void judge_rounds(const std::vector<Contender*>& contenders, std::size_t& at, ipc::RoundsAnswer& answer);

  // In bench_watch.cpp.
  void settle();  ///< waits for a device that others use or that runs hot, as long as [measure] allows
  void watch(measure::Telemetry& telemetry, std::vector<std::string>& taints);  ///< the device's state after a series
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
  std::vector<std::string> warnings_;
  std::vector<bool> inputs_intact_;            ///< of each set, since they were last compared
  std::unique_ptr<DeviceCheck> device_check_;  ///< nullptr: everything is checked on the host
  Contenders contenders_;                      ///< of the last rounds
};

}  // namespace xtune::worker
