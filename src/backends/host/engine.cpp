// Blocks are assigned by a counter; each core runs its blocks one after the other.
#include "backends/host/engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <span>

#include "backends/host/address_sanitizer.hpp"
#include "backends/host/floating_point.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;
constexpr std::size_t sanitized_stack_bytes = std::size_t{256} << 10;  // instrumented frames are several times larger
constexpr std::size_t shared_alignment = 1024;
constexpr std::size_t shared_guard_bytes = 4096;
constexpr auto shared_guard_value = std::byte{0xA5};

XtuneUint3 uint3_of(const std::array<std::uint32_t, 3>& values) { return {values[0], values[1], values[2]}; }

/// Marks for AddressSanitizer, if it is loaded, which part of the dynamic shared memory this launch may access.
void limit_shared(void* memory, std::size_t usable, std::size_t size) {
  const AddressSanitizer& calls = address_sanitizer();
  if (!calls.poison) return;
  calls.unpoison(memory, size);
  calls.poison(static_cast<char*>(memory) + usable, size - usable);
}

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

}  // namespace

struct Engine::Lane {
  /// Fills the memory after the launch's dynamic shared memory with a pattern, unless it is still filled.
  void guard(std::size_t usable, std::size_t size) {
    if (usable == usable_bytes) return;
    usable_bytes = usable;
    guarded = {static_cast<std::byte*>(shared.get()) + usable, std::min(shared_guard_bytes, size - usable)};
    std::ranges::fill(guarded, shared_guard_value);
  }
  /// Whether a kernel wrote there; the pattern must then be filled again.
  bool take_damage() {
    const bool damaged = std::ranges::any_of(guarded, [](std::byte value) { return value != shared_guard_value; });
    if (damaged) std::ranges::fill(guarded, shared_guard_value);
    return damaged;
  }

  BlockRunner plain{stack_bytes}, sanitized{sanitized_stack_bytes};
  std::unique_ptr<void, Free> shared;
  std::optional<std::size_t> usable_bytes;
  std::span<std::byte> guarded;
};

struct Engine::Run {
  const LoadedEntry& entry;
  const device::Launch& launch;
  void* const* arguments;
  std::uint64_t blocks, chunk;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex{};
  std::string failure{};   ///< of the kernel
  std::string shortage{};  ///< of the machine
};

Engine::Engine(std::int64_t shared_limit_bytes) : pool_(usable_cpus()), shared_limit_bytes_(shared_limit_bytes) {
  for (unsigned i = 0; i < pool_.size(); ++i) lanes_.push_back(std::make_unique<Lane>());
}
Engine::~Engine() = default;

void Engine::work(Run& run, unsigned worker) {
  if (run.next.load(std::memory_order_relaxed) >= run.blocks) return;
  Lane& lane = *lanes_[worker];
  const auto shared_bytes = static_cast<std::size_t>(shared_limit_bytes_);
  // Always at the same address: a kernel may keep it in a thread-local pointer.
  if (!lane.shared)
    lane.shared.reset(std::aligned_alloc(shared_alignment,
                                         (shared_bytes + shared_alignment - 1) / shared_alignment * shared_alignment));
  if (!lane.shared) throw std::bad_alloc();
  const XtuneKernel& kernel = *run.entry.kernel;
  if (run.entry.sanitized)
    limit_shared(lane.shared.get(), run.launch.shared_bytes, shared_bytes);
  else
    lane.guard(run.launch.shared_bytes, shared_bytes);
  const XtuneUint3 grid = uint3_of(run.launch.grid), block = uint3_of(run.launch.block);
  kernel.begin_launch(grid, block, lane.shared.get());
  BlockRunner& runner = run.entry.sanitized ? lane.sanitized : lane.plain;
  while (!run.failed) {
    const std::uint64_t first = run.next.fetch_add(run.chunk, std::memory_order_relaxed);
    const std::uint64_t last = std::min(first + run.chunk, run.blocks);
    if (first >= run.blocks) return;
    for (std::uint64_t b = first; b < last; ++b) {
      const XtuneUint3 index = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                                static_cast<unsigned>(b / grid.x / grid.y)};
      if (!kernel.uses_fibers) {
        kernel.run_block(run.arguments, index);
        continue;
      }
      kernel.begin_block(index);
      const std::string failure = runner.run(kernel, run.arguments, block);
      if (failure.empty()) continue;
      const std::lock_guard lock(run.mutex);
      run.failed = true;
      if (run.failure.empty()) run.failure = fmt::format("block ({}, {}, {}): {}", index.x, index.y, index.z, failure);
      return;
    }
  }
}

double Engine::launch(const LoadedEntry& entry, const device::Launch& launch, void* const* arguments) {
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const std::uint64_t share = blocks / (std::uint64_t{pool_.size()} * 16);
  Run run{entry, launch, arguments, blocks, std::clamp<std::uint64_t>(share, 1, 64)};
  const auto guarded = [&](unsigned worker) {
    const KeepFloatingPoint keep;
    try {
      work(run, worker);
    } catch (const std::exception& error) {
      const std::lock_guard lock(run.mutex);
      run.failed = true;
      run.shortage = error.what();
    }
  };
  const auto start = std::chrono::steady_clock::now();
  if (entry.sanitized || blocks == 1)
    guarded(0);
  else
    pool_.run(guarded);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  bool wrote_beyond = false;  // checked in any case, so that no other kernel is blamed for it
  if (!entry.sanitized)
    for (const auto& lane : lanes_) wrote_beyond |= lane->take_damage();
  if (!run.shortage.empty())
    throw Error(ErrorKind::unavailable, "the host device cannot run the kernel: " + run.shortage);
  if (!run.failure.empty()) throw build::CandidateFailure(Outcome::crashed, "the kernel does not end: " + run.failure);
  if (wrote_beyond)
    throw build::CandidateFailure(
        Outcome::crashed,
        fmt::format("the kernel wrote beyond its dynamic shared memory: shared is {} bytes", launch.shared_bytes));
  return took.count();
}

void Engine::flush(std::size_t bytes) {
  if (flushed_.size() < bytes) flushed_.resize(bytes);
  static int round = 0;
  const int value = ++round;
  const std::size_t part = (bytes + pool_.size() - 1) / pool_.size();
  pool_.run([&](unsigned worker) {
    const std::size_t first = std::min(worker * part, bytes);
    std::memset(flushed_.data() + first, value, std::min(part, bytes - first));
  });
}

}  // namespace xtune::host
