// What a configuration's launch is judged by: buffers prepared for it, and what it left in them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/guarded_buffer.hpp"
#include "core/run/protocol.hpp"
#include "core/run/sealed_memory.hpp"

namespace xtune {

/// A buffer argument of the tuned kernel, with its contents before and after a right launch.
struct TestArgument {
  ArgumentLayout layout;
  SealedMemory pristine;  ///< inputs; empty for outputs
  SealedMemory expected;  ///< outputs, when there is a reference
};

/// The buffers of one argument set, in the order of the TestArguments; rotation has several sets.
using BufferSet = std::vector<std::unique_ptr<GuardedBuffer>>;

/// Pristine inputs, poisoned outputs, fresh guards.
void reset(const std::vector<TestArgument>& arguments, BufferSet& set);
/// inout arguments only.
void restore_in_place(const std::vector<TestArgument>& arguments, BufferSet& set);

struct Damage {
  std::string argument;
  const char* where;  ///< as GuardedBuffer::damage tells
};
/// The first guard zone that was overwritten.
std::optional<Damage> damaged_guard(const std::vector<TestArgument>& arguments, BufferSet& set);

/// Judges what one launch on a set that was reset left there. False, with outcome and message in the answer, for a
/// guard zone that was overwritten or an output that differs from what is expected; the comparison is in the answer
/// either way.
bool check_outputs(const OpenJob& job, const std::vector<TestArgument>& arguments, BufferSet& set, BenchAnswer& answer);

}  // namespace xtune
