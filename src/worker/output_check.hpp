// Checks of a configuration's launch: prepares buffers for it, and compares its results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/protocol.hpp"
#include "worker/buffers.hpp"

namespace xtune::worker {

/// A buffer argument of the tuned kernel, with its contents before and after a right launch.
struct TestArgument {
  validate::ArgumentLayout layout;
  SealedMemory pristine;            ///< inputs; empty for outputs
  SealedMemory expected;            ///< outputs, if there is a reference
  validate::Tolerance tolerance{};  ///< of the expected contents
  /// The expected outputs have the usual poison where the reference wrote nothing, so no other poison can be used.
  bool partly_unwritten = false;
};

/// An argument with its contents, sealed; none for an output. Throws Error that opens with its place in the spec.
TestArgument filled_argument(const validate::ArgumentLayout& layout, std::uint64_t seed);

/// Runs make; what the spec got wrong there is reported as Error(invalid_spec) at its place ("gemm.toml:40:13"; may be
/// empty).
void at_place(const std::string& at, const std::function<void()>& make);

/// The buffers of one argument set, in the order of the TestArguments; rotation has several sets.
using BufferSet = std::vector<std::unique_ptr<GuardedBuffer>>;

/// Writes poison to outputs, new guards, and pristine contents to the rest; to arguments of role in only if
/// rewrite_inputs is true.
void reset(const std::vector<TestArgument>& arguments, BufferSet& set, bool rewrite_inputs = true);
/// Writes poison to outputs, and initial contents to in-place arguments. Guards and inputs are not changed.
void poison_outputs(const std::vector<TestArgument>& arguments, BufferSet& set,
                    validate::Poison poison = validate::Poison::usual);
/// The poison byte for an output.
std::byte poison_of(const TestArgument& argument, validate::Poison poison) noexcept;
/// Writes the initial contents of inout arguments.
void restore_in_place(const std::vector<TestArgument>& arguments, BufferSet& set);

struct GuardDamage {
  std::string argument;
  const char* where;  ///< as from GuardedBuffer::damage
};
/// The first guard zone that was overwritten.
std::optional<GuardDamage> damaged_guard(const std::vector<TestArgument>& arguments, BufferSet& set);

/// Makes the answer a wrong result that names argument and zone; false.
bool refuse_damage(const GuardDamage& damage, run::BenchAnswer& answer);

/// Only of this process: several workers may call programs at the same time. Below the run's temporary directory.
std::filesystem::path exchange_folder(const run::OpenJob& job, const std::string& name);

/// Leaves the outputs where the job wants them, as those of this launch (ipc::output_path).
void leave_outputs(const run::OpenJob& job, const std::vector<TestArgument>& arguments, BufferSet& set,
                   const std::string& launch);

/// False, with outcome and message in the answer, if a guard zone was overwritten.
bool check_guards(const std::vector<TestArgument>& arguments, BufferSet& set, run::BenchAnswer& answer);

/// Checks the results of one launch on a set that was reset, or whose outputs were poisoned. False, with outcome and
/// message in the answer, if a guard zone was overwritten or an output differs from the expected one; the comparison is
/// in the answer in either case.
bool check_outputs(const std::vector<TestArgument>& arguments, BufferSet& set, run::BenchAnswer& answer);

/// False, with outcome and message in the answer, if an argument of role in no longer has its pristine bits.
bool check_inputs(const std::vector<TestArgument>& arguments, BufferSet& set, run::BenchAnswer& answer);

/// The same of one buffer. what: "input".
bool check_unchanged(const TestArgument& argument, measure::Buffer& buffer, const char* what, run::BenchAnswer& answer);

}  // namespace xtune::worker
