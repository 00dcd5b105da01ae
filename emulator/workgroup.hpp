// A workgroup from its first instruction to its end.
#pragma once

#include "emulator/image.hpp"
#include "emulator/program.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {

/// What all workgroups of a launch share.
struct LaunchState {
  const Launch* launch = nullptr;
  const KernelDescriptor* kernel = nullptr;
  const Code* code = nullptr;
  Generation generation = Generation::cdna2;
  Memory memory;
  Report report;
  std::uint64_t arguments = 0, packet = 0;  ///< addresses of the arguments and the dispatch packet
  std::int32_t entry = 0;                   ///< number of the first instruction
  HostCalls* host_calls = nullptr;          ///< of a kernel that may call the host
};

/// The workgroup before its first instruction: registers as the launcher of the hardware sets them.
void start_workgroup(LaunchState& state, std::array<std::uint32_t, 3> block, Workgroup& group);

/// Runs the waves one after the other, each until a barrier or its end, but at most for a fixed number of instructions,
/// so that waves and workgroups that wait for others do not hang. True: the workgroup has ended.
bool advance_workgroup(LaunchState& state, Workgroup& group);

}  // namespace xtune::emulator
