// What one operating-system thread needs to run blocks: fibers, dynamic shared memory, and its floating-point
// environment (rounding, flushing of denormal numbers, masked exceptions).
#pragma once

#include <array>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "backends/host/block/block_runner.hpp"
#include "backends/host/block/kernel_library.hpp"
#include "core/device/launch.hpp"

namespace xtune::host {

/// Restores the calling thread's environment at the end of the scope: changes by a kernel would affect the results and
/// times of later ones.
class KeepFloatingPoint {
 public:
  KeepFloatingPoint() noexcept { std::fegetenv(&before_); }
  ~KeepFloatingPoint() { std::fesetenv(&before_); }
  KeepFloatingPoint(const KeepFloatingPoint&) = delete;
  KeepFloatingPoint& operator=(const KeepFloatingPoint&) = delete;

 private:
  std::fenv_t before_;
};

/// A launch of a kernel, and its arguments' addresses.
struct BlockJob {
  const LoadedEntry& entry;
  const device::Launch& launch;
  void* const* arguments;
  std::uint64_t number;  ///< of the launch; never 0
};

XtuneUint3 uint3_of(const std::array<std::uint32_t, 3>& values);

/// Used only on its thread, except take_damage.
class BlockPlace {
 public:
  explicit BlockPlace(std::int64_t shared_limit_bytes);

  /// Before the first block of a launch. Throws std::bad_alloc.
  void begin_launch(const BlockJob& job);
  BlockRunner& runner(const BlockJob& job) { return job.entry.sanitized ? sanitized_ : plain_; }
  void* shared() const noexcept { return shared_.get(); }
  /// Whether a kernel wrote just beyond its dynamic shared memory.
  bool take_damage();

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  void guard(std::size_t usable);

  std::size_t shared_bytes_;
  BlockRunner plain_, sanitized_;
  std::unique_ptr<void, Free> shared_;
  std::optional<std::size_t> usable_bytes_;
  std::span<std::byte> guarded_;
};

}  // namespace xtune::host
