// One problem on one device inside the bench worker: its arguments, constants and buffers, and the memory for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/build/cache.hpp"
#include "core/measure/device.hpp"
#include "worker/arguments.hpp"
#include "worker/ipc/protocol.hpp"

namespace xtune::worker {

/// The memory that a problem needs in its bench worker, computed before any of it is allocated. Bytes. On a CPU both
/// use the same memory.
struct MemoryNeeds {
  std::uint64_t host = 0;    ///< inputs and expected outputs to compare with, and outputs that are read back
  std::uint64_t device = 0;  ///< buffers with guard zones, copies for comparison on the device, flushed memory
};
/// sets: number of buffer sets. zone_bytes: of the guard zones before and after each buffer.
MemoryNeeds memory_needs(const run::OpenJob& job, std::size_t sets, std::size_t zone_bytes, std::size_t flush_bytes);

/// Available memory in bytes. 0: unknown.
struct MemoryFound {
  std::uint64_t host = 0, device = 0;
  bool shared = false;  ///< the device is a CPU: `device` is ignored
};
/// Throws Error(unavailable) that opens with the largest argument's place in the spec, with the memory that is needed
/// and available.
void require_memory(const run::OpenJob& job, const MemoryNeeds& needs, const MemoryFound& found);

/// The scratch buffers of one configuration: sized for it, and never compared. Borrows the device. All launches of a
/// program use the same buffers, whichever set of arguments they take.
class ScratchBuffers {
 public:
  /// available_bytes: of a CPU's memory, what may be taken. Throws ShortageFailure(rejected) that names the buffer and
  /// its size where the device, or the machine, has less memory.
  ScratchBuffers(measure::Device& device, const std::vector<validate::ArgumentLayout>& layouts, std::size_t zone_bytes,
                 std::uint64_t available_bytes);

  /// The next buffer in kernel order.
  measure::Buffer* buffer(std::size_t number) const { return buffers_.at(number).get(); }
  /// Before a launch that is judged: poison, or zeros where the spec asks for them, or, without one, everywhere; fresh
  /// guard zones.
  void renew(std::optional<validate::Poison> poison = validate::Poison::usual);
  /// Those that the spec wants zeroed before every launch.
  std::vector<measure::Buffer*> zeroed() const;
  /// Type and bytes of the buffer of this name.
  std::pair<DType, std::vector<std::byte>> contents(const std::string& name) const;
  /// Those that renew() poisons: "'sums', 'counts'".
  std::string poisoned() const;
  /// False, with outcome and message in the answer, for a guard zone that was overwritten.
  bool check_guards(run::BenchAnswer& answer);
  /// The first guard zone that was overwritten.
  std::optional<GuardDamage> damaged_guard();

 private:
  std::vector<validate::ArgumentLayout> layouts_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
};

/// A program whose constants are filled.
struct LoadedProgram {
  std::unique_ptr<measure::Program> program;
  std::unique_ptr<ScratchBuffers> scratch;
};

/// Every buffer is between guard zones, except under a sanitizer; inputs and expected outputs are kept read-only on the
/// host.
struct BenchProblem {
  /// Fills inputs. Throws Error; if there is not enough memory, before allocating any. available_bytes: returns the
  /// bytes that this process may still use.
  BenchProblem(measure::Device& device, run::OpenJob job, std::function<std::uint64_t()> available_bytes);
  BenchProblem(const BenchProblem&) = delete;
  BenchProblem& operator=(const BenchProblem&) = delete;

  /// New inputs, drawn by this seed: the reference must then be computed again.
  void renew_inputs(std::uint64_t seed);
  build::Artifact with_image(const build::Artifact& artifact) const;
  /// Throws CandidateFailure if the program cannot be loaded or does not fit the problem.
  LoadedProgram load(const run::KernelCall& call);
  /// False, with outcome and message in the answer, when a variable of a program that has all constants no longer holds
  /// what it was filled with.
  bool check_constants(measure::Program& program, run::BenchAnswer& answer) const;
  /// All arguments, in the spec's order, then the values that steps take instead; a tensor map that no step takes is a
  /// null buffer.
  std::vector<measure::KernelArgument> arguments_for(BufferSet& set, const ScratchBuffers& scratch,
                                                     const run::KernelCall& call) const;
  /// After a launch that is judged: fills the outputs that are sums of scratch buffers, but for those that a launched
  /// reference kernel takes.
  void add_up(BufferSet& set, const ScratchBuffers& scratch, const device::LaunchPlan* launched = nullptr) const;

  measure::Device& device;
  run::OpenJob job;
  const std::function<std::uint64_t()> available_bytes;
  build::ArtifactCache cache;
  const std::size_t guard_size;  ///< bytes before and after each buffer
  std::size_t flush_bytes = 0;   ///< overwritten before each sample
  MemoryNeeds needs;
  std::vector<TestArgument> arguments;  ///< buffers only, in kernel order
  /// Variables of a kernel's source that are filled before its launches. Each program has its own copy of them in its
  /// variables, which are numbered as the constants are.
  std::vector<TestArgument> constants;
  std::vector<BufferSet> sets;
  bool fresh_inputs = false;  ///< by a seed other than that of the run

 private:
  measure::KernelArgument value_of(measure::ScalarArgument scalar,
                                   const std::vector<measure::KernelArgument>& passed) const;
  std::size_t choose_sets(std::uint64_t free_bytes);
};

}  // namespace xtune::worker
