// Checks that the launches of a configuration are right: outputs, inputs, guard zones, repeated bits, the user's check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/validate/compare.hpp"
#include "worker/bench_problem.hpp"
#include "worker/device_check.hpp"
#include "worker/measurer.hpp"

namespace xtune::worker {

/// Whether a configuration's launches on the same inputs give the same bits. Keeps a copy of the first launch's outputs
/// on the host, and compares later ones with it: on the device by their checksums, where it can, so that outputs are
/// read only if they differ. The arguments must outlive it.
class RepeatCheck {
 public:
  /// set: with the outputs of the first launch. device_check: nullptr for a device whose memory is the host's.
  RepeatCheck(const std::vector<TestArgument>& arguments, DeviceCheck* device_check, BufferSet& set);

  /// Adds a launch. False if its outputs differ from the first launch's: then no other launch is compared.
  bool compare(BufferSet& set);
  const validate::Repeatability& result() const noexcept { return result_; }
  /// If launches differ: makes the answer a wrong result with the difference. False.
  bool refuse(run::BenchAnswer& answer) const;

 private:
  const std::vector<TestArgument>& arguments_;
  DeviceCheck* const device_check_;
  std::vector<std::vector<std::byte>> first_;  ///< for each argument; empty for inputs
  std::vector<std::uint64_t> first_sums_;      ///< of the outputs
  validate::Repeatability result_{1, {}};
};

/// Inputs on the device are compared after every configuration, and rewritten if they changed or were not compared, so
/// that a kernel that overwrites them harms only itself. Checks run on the device where it can.
class Validator {
 public:
  explicit Validator(BenchProblem& problem) : problem_(problem), inputs_intact_(problem.sets.size()) {}

  /// Call it once expected outputs are known.
  void prepare_device();
  /// Call it before inputs and expected outputs change.
  void forget();

  void reset_sets();  ///< before programs run; skips inputs that are known to be intact
  /// Writes the initial contents of in-place arguments, and poison to outputs if it is given.
  void restore(BufferSet& set, std::optional<validate::Poison> outputs = {}) {
    renew(problem_.arguments, set, {outputs}, device_check_.get());
  }
  RepeatCheck first_of_repeats(BufferSet& set) { return {problem_.arguments, device_check_.get(), set}; }

  // Each returns false, with outcome and message in the answer, for what is wrong.
  bool judge_outputs(BufferSet& set, run::BenchAnswer& answer);
  /// After the first launch. launch(zeroed): launches on the set once more, whose scratch buffers then hold zeros or
  /// poison. Without a reference, elements that no launch writes are counted in the answer. Finds out why a result is
  /// wrong: whether elements are not written, or computed from poison, as of a scratch buffer.
  bool judge_first_launch(BufferSet& set, const ScratchBuffers& scratch, const std::function<void(bool zeroed)>& launch,
                          run::BenchAnswer& answer);
  bool judge_inputs(run::BenchAnswer& answer);  ///< of all sets
  bool judge_guards(run::BenchAnswer& answer);  ///< of all sets
  /// Launches, and checks the outputs of all sets.
  bool judge_launches(Sampler& sampler, ScratchBuffers& scratch, int launches, validate::Poison poison,
                      run::BenchAnswer& answer);
  /// The launch after all measured ones, or the second one. again: launch it once more.
  bool judge_last_launch(LoadedProgram& loaded, Sampler& sampler, bool again, run::BenchAnswer& answer);

  /// Hands the outputs to the spec's check, if there is one. after: follows the message of a failure ("; the first
  /// launch was right"). Throws as run_command_check does.
  void check_by_command(BufferSet& set, const std::string& after = {}) const;
  /// For a launch after others: what its wrong outputs suggest.
  const char* late_words() const noexcept;

 private:
  std::vector<std::uint64_t> count_unwritten(BufferSet& set, const std::function<void(bool zeroed)>& launch);

  BenchProblem& problem_;
  std::vector<bool> inputs_intact_;            ///< for each set, since the last comparison
  std::unique_ptr<DeviceCheck> device_check_;  ///< nullptr: everything is checked on the host
};

}  // namespace xtune::worker
