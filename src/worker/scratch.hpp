// Scratch buffers of one configuration: sized for it, and never compared.
#pragma once

#include <memory>
#include <vector>

#include "worker/output_check.hpp"

namespace xtune::worker {

/// Borrows the device. All launches of a program use the same buffers, whichever set of arguments they take.
class ScratchBuffers {
 public:
  /// available_bytes: of a CPU's memory, what may be taken. Throws ShortageFailure(rejected) that names the buffer and
  /// its size where the device, or the machine, has less memory.
  ScratchBuffers(measure::Device& device, const std::vector<validate::ArgumentLayout>& layouts, std::size_t zone_bytes,
                 std::uint64_t available_bytes);

  /// The next buffer in kernel order.
  measure::Buffer* buffer(std::size_t number) const { return buffers_.at(number).get(); }
  /// Before a launch that is judged: poison, or zeros where the spec asks for them; fresh guard zones.
  void renew();
  /// Before every launch: those that the spec wants zeroed.
  void zero();
  bool any_zeroed() const noexcept;
  /// False, with outcome and message in the answer, for a guard zone that was overwritten.
  bool check_guards(ipc::BenchAnswer& answer);
  /// The first guard zone that was overwritten.
  std::optional<GuardDamage> damaged_guard();

 private:
  std::vector<validate::ArgumentLayout> layouts_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
};

}  // namespace xtune::worker
