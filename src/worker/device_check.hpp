// The checks of output_check on the device, for the case that everything is right.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/validate/check_kernel.hpp"
#include "worker/arguments.hpp"

namespace xtune::worker {

/// What is written before a launch, besides the initial contents of in-place arguments.
struct Renewal {
  std::optional<validate::Poison> outputs{};  ///< unset: outputs stay as they are
  bool guards = false;
  bool inputs = false;  ///< the pristine contents of arguments of role in
};
class DeviceCheck;
/// Writes it to the buffers: on the device, as far as its check has the contents; nullptr: from the host.
void renew(const std::vector<TestArgument>& arguments, BufferSet& set, const Renewal& what, DeviceCheck* device);

/// Keeps copies, on the device, of expected outputs (without a reference: of poison), their tolerances and the initial
/// contents of in-place arguments. A faulty kernel may overwrite these too, so their checksums are compared before use,
/// and copies that changed are rewritten from the host. Does not own device and arguments, whose expected contents must
/// be set. Methods throw the errors of Program::run.
class DeviceCheck {
 public:
  /// kernel: the result of check_request, with its image. Throws as Device::load and Device::allocate do.
  DeviceCheck(measure::Device& device, const build::Artifact& kernel, const std::vector<TestArgument>& arguments);

  /// True: check_outputs would return true; fills in the answer's validation in the same way. False: it may not; call
  /// check_outputs.
  bool outputs_agree(BufferSet& set, run::BenchAnswer& answer);
  /// True: no output that has no expected contents holds an element of usual poison.
  bool outputs_written(BufferSet& set);
  /// True: every argument of role in has its pristine bits. False: call check_inputs.
  bool inputs_intact(BufferSet& set);
  /// validate::checksum of each argument that is not only an input, in order.
  std::vector<std::uint64_t> output_sums(BufferSet& set);

 private:
  struct Copies {
    std::unique_ptr<measure::Buffer> pristine, expected;  ///< nullptr: not needed
    std::unique_ptr<measure::Buffer> row_atol;            ///< of the tolerance; nullptr: it has none
    std::uint64_t pristine_sum = 0, expected_sum = 0, row_atol_sum = 0;
  };
  friend void renew(const std::vector<TestArgument>& arguments, BufferSet& set, const Renewal& what,
                    DeviceCheck* device);
  std::vector<validate::CheckResult> run(const std::vector<validate::CheckItem>& items);
  void launch(const std::vector<validate::CheckItem>& items);
  void renew_pristine_copies();

  const std::vector<TestArgument>& arguments_;
  std::vector<Copies> copies_;  ///< one for each argument
  std::uint64_t guard_sum_ = 0;
  std::size_t max_items_ = 0;
  std::unique_ptr<measure::Buffer> table_;  ///< items, then results
  std::unique_ptr<measure::Program> program_;
};

}  // namespace xtune::worker
