// One problem on one device, inside the bench worker: its buffers, inputs and reference, and the trial of a
// configuration.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "core/build/cache.hpp"
#include "core/measure/device.hpp"
#include "core/run/guarded_buffer.hpp"
#include "core/run/protocol.hpp"
#include "core/run/sealed_memory.hpp"

namespace xtune {

/// Runs make; what the spec got wrong there is reported as Error(invalid_spec) at its place ("gemm.toml:40:13"; may be
/// empty).
void at_place(const std::string& at, const std::function<void()>& make);

/// Single-threaded. Every buffer lies between guard zones, except under a sanitizer; inputs and reference are kept
/// read-only on the host and inputs are written to the device anew for every configuration, so that one that scribbles
/// harms none but itself.
class BenchSession {
 public:
  /// Fills inputs. Throws Error.
  BenchSession(Device& device, OpenJob job, Clock& clock);

  /// Computes the reference, or reads it from job.scratch where an earlier worker left it; nothing the second time.
  /// Throws Error that opens with the reference's place in the spec: invalid_spec where it is wrong.
  void prepare_reference();

  /// Loads, validates, measures; prepares the reference where that was not done. A failure of the configuration is in
  /// the answer; Error is thrown for xtune's own failures.
  BenchAnswer bench(const BenchJob& job);

  /// Loads all of them, launches each once untimed, then the rounds. The first that fails ends it.
  RoundsAnswer measure_rounds(const RoundsJob& job);

 private:
  struct Argument {
    ArgumentLayout layout;
    SealedMemory pristine;  ///< inputs; empty for outputs
    SealedMemory expected;  ///< outputs, when there is a reference
  };
  /// The buffers of one argument set; rotation has several.
  using BufferSet = std::vector<std::unique_ptr<GuardedBuffer>>;

  void allocate();
  void make_reference();
  void make_kernel_reference();
  void make_builtin_reference();
  void make_file_reference();
  bool load_reference();
  void save_reference() const;
  Argument& output_named(const std::string& name);

  void reset(BufferSet& set);             ///< pristine inputs, poisoned outputs, fresh guards
  void restore_in_place(BufferSet& set);  ///< inout arguments only
  struct Damage {
    std::string argument;
    const char* where;  ///< as GuardedBuffer::damage tells
  };
  std::optional<Damage> damaged_guard(BufferSet& set);  ///< the first guard zone that was overwritten
  std::vector<KernelArgument> arguments_for(BufferSet& set, const std::vector<ScalarArgument>& scalars) const;
  std::vector<std::vector<KernelArgument>> arguments_for_sets(const std::vector<ScalarArgument>& scalars);
  /// One launch on the next set of buffers, in-place arguments restored; ms where timed.
  double launch(Program& program, const std::vector<std::vector<KernelArgument>>& arguments, bool timed);
  void bench_loaded(Program& program, const BenchJob& job, BenchAnswer& answer);
  bool validate(BenchAnswer& answer);
  Artifact with_image(const Artifact& artifact) const;

  Device& device_;
  OpenJob job_;
  Clock& clock_;
  ArtifactCache cache_;
  std::vector<Argument> arguments_;  ///< buffers only, in kernel order
  std::vector<BufferSet> sets_;
  std::size_t next_set_ = 0;
  std::size_t guard_size_ = 0;  ///< bytes before and after each buffer
  std::size_t flush_bytes_ = 0;
  bool in_place_ = false;
  bool reference_ready_ = false;
};

}  // namespace xtune
