// The error of a launch that a kernel's own mistake, or an instruction that the emulator does not know, ends.
#pragma once

#include <string>

#include "xtune/error.hpp"

namespace xtune::emulator {

/// What ended a launch.
enum class FaultKind {
  unknown_instruction,
  missing_wait,
  uninitialised_lds,
  lds_race,
  lds_bounds,
  global_bounds,
  scratch_bounds,
  barrier,
  endless,
  trap,
  matrix_operands,
  unsupported,
};

/// The message names the kernel, the instruction and its place, the workgroup, the wave and, where one is to blame, the
/// lane.
class Fault : public Error {
 public:
  Fault(FaultKind kind, const std::string& message) : Error(ErrorKind::unsupported, message), fault_kind_(kind) {}
  FaultKind fault_kind() const noexcept { return fault_kind_; }

 private:
  FaultKind fault_kind_;
};

}  // namespace xtune::emulator
