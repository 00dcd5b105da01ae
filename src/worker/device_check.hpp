// The checks of output_check where the arguments lie, on the device, for the case that all is well.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/validate/check_kernel.hpp"
#include "worker/output_check.hpp"

namespace xtune::worker {

/// Holds copies, on the device, of what is expected of outputs and of what in-place arguments begin with. A kernel that
/// runs wild may write there too, so the copies are added up before they are believed, and written anew from the host's
/// where they have changed. Borrows device and arguments, whose expected contents must be there. Methods throw what
/// Program::run throws.
class DeviceCheck {
 public:
  /// kernel: check_request's, with its image. Throws as Device::load and Device::allocate do.
  DeviceCheck(measure::Device& device, const build::Artifact& kernel, const std::vector<TestArgument>& arguments);

  /// As reset(), poison_outputs() and restore_in_place() of output_check.
  void reset(BufferSet& set, bool rewrite_inputs);
  void poison_outputs(BufferSet& set, validate::Poison poison);
  void restore_in_place(BufferSet& set);

  /// True: check_outputs would say so, and the answer's validation is filled in as it would be. False: it might not;
  /// ask it.
  bool outputs_agree(BufferSet& set, ipc::BenchAnswer& answer);
  /// True: every argument of role in holds its pristine bits. False: ask check_inputs.
  bool inputs_intact(BufferSet& set);

 private:
  struct Copies {
    std::unique_ptr<measure::Buffer> pristine, expected;  ///< nullptr: not needed
    std::uint64_t pristine_sum = 0, expected_sum = 0;
  };
  std::vector<validate::CheckResult> run(const std::vector<validate::CheckItem>& items);
  void launch(const std::vector<validate::CheckItem>& items);
  void renew_pristine_copies();
  std::vector<validate::CheckItem> items_to_poison(BufferSet& set, validate::Poison poison) const;

  const std::vector<TestArgument>& arguments_;
  std::vector<Copies> copies_;  ///< one an argument
  std::uint64_t guard_sum_ = 0;
  std::size_t max_items_ = 0;
  std::unique_ptr<measure::Buffer> table_;  ///< items, then results
  std::unique_ptr<measure::Program> program_;
};

}  // namespace xtune::worker
