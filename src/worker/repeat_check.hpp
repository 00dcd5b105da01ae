// Whether a configuration's launches on the same inputs give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/validate/repeatability.hpp"
#include "worker/device_check.hpp"
#include "worker/output_check.hpp"

namespace xtune::worker {

/// Keeps a copy of the first launch's outputs on the host, and compares later ones with it: on the device by their
/// checksums, where it can, so that outputs are read only if they differ. The arguments must outlive it.
class RepeatCheck {
 public:
  /// set: with the outputs of the first launch. device_check: nullptr for a device whose memory is the host's.
  RepeatCheck(const std::vector<TestArgument>& arguments, DeviceCheck* device_check, BufferSet& set);

  /// Adds a launch. False if its outputs differ from the first launch's: then no other launch is compared.
  bool compare(BufferSet& set);
  const validate::Repeatability& result() const noexcept { return result_; }
  /// If launches differ: makes the answer a wrong result with the difference. False.
  bool refuse(ipc::BenchAnswer& answer) const;

 private:
  const std::vector<TestArgument>& arguments_;
  DeviceCheck* const device_check_;
  std::vector<std::vector<std::byte>> first_;  ///< for each argument; empty for inputs
  std::vector<std::uint64_t> first_sums_;      ///< of the outputs
  validate::Repeatability result_{1, {}};
};

}  // namespace xtune::worker
