// Memory of the arguments, guarded on the device and read-only on the host, and the checks of what a launch left in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/measure/device.hpp"
#include "worker/ipc/protocol.hpp"

namespace xtune::worker {

/// Offsets, size and address are those of the bytes between the zones. A zone's size is a multiple of the alignment
/// that Device::allocate guarantees, or 0: then there is none, and damage is never found.
class GuardedBuffer final : public measure::Buffer {
 public:
  GuardedBuffer(measure::Device& device, std::size_t bytes, std::size_t zone_bytes);
  std::size_t size() const noexcept override { return size_; }
  void* address() noexcept override;
  void write(std::size_t offset, std::span<const std::byte> bytes) override;
  void read(std::size_t offset, std::span<std::byte> bytes) override;
  void fill(std::size_t offset, std::size_t size, std::byte value) override;

  void renew_guards();
  void zero_guards();  ///< until the next renew_guards()
  /// "before the start of" or "past the end of" if that zone was overwritten, else nullptr.
  const char* damage();

  /// The zones' addresses on the device, before and after; each has zone_bytes() bytes, which repeat zone_word.
  std::array<std::uint64_t, 2> zones() const noexcept;
  std::size_t zone_bytes() const noexcept { return guard_; }
  static constexpr std::uint64_t zone_word = 0xFFFEFFFEFFFEFFFE;  ///< FE FF FE FF ... in memory
  /// `bytes` bytes of repeated zone_word.
  static std::vector<std::byte> zone_contents(std::size_t bytes);

 private:
  void check(std::size_t offset, std::size_t size) const;
  bool damaged(std::size_t offset);
  std::size_t size_, guard_;
  std::unique_ptr<measure::Buffer> memory_;
};

/// Owns whole pages. Movable, not copyable.
class SealedMemory {
 public:
  SealedMemory() = default;
  /// Zeroed and writable until seal(). Throws Error(unavailable) if there is not enough memory.
  explicit SealedMemory(std::size_t bytes);
  ~SealedMemory();
  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;

  std::span<std::byte> writable() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  void seal() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

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

/// Leaves the outputs where the job wants them, as those of this launch (output_path).
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
