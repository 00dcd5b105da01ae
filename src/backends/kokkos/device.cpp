// Loads units, and keeps the first one so that Kokkos is initialised once. Calls go through a unit's table; its
// failures are returned as status and text.
#include "backends/kokkos/device.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "backends/cpu/cpu.hpp"
#include "backends/cpu/native_kernel.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "runtime/kokkos/kokkos_abi.h"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

/// Buffer for a unit's message.
class Words {
 public:
  XtuneKokkosText* room() noexcept { return &text_; }
  std::string said() const { return base::printable(buffer_.data()); }

 private:
  std::array<char, 600> buffer_{};
  XtuneKokkosText text_{buffer_.data(), buffer_.size()};
};

[[noreturn]] void fail(int status, const std::string& said) {
  if (status == xtune_kokkos_refused)
    throw build::CandidateFailure(Outcome::launch_failed, "the kernel was not launched: " + said);
  const std::string limits = system::user_limits();
  if (!limits.empty())
    throw build::ShortageFailure(build::Lack::unclear, Outcome::crashed,
                                 "the kernel failed: " + said + build::under(limits));
  throw build::CandidateFailure(Outcome::crashed, "the kernel failed: " + said);
}

/// The start options of Kokkos; -1: Kokkos' default.
struct StartOptions {
  int device = -1, threads = -1;
};

/// The first unit initialises Kokkos, and finalises it when it is destroyed; units that are linked with a static Kokkos
/// have one each. For one thread.
class Unit {
 public:
  /// own_arch: that of this CPU; empty for a GPU's unit. Throws CandidateFailure(launch_failed) for an image that
  /// cannot be loaded, Error(unavailable) if Kokkos does not start.
  Unit(const build::Artifact& artifact, const std::string& own_arch, const StartOptions& options)
      : library_(artifact, XTUNE_KOKKOS_MARKER, own_arch),
        table_(static_cast<const XtuneKokkosUnit*>(library_.entry())) {
    Words words;
    if (table_->start(options.device, options.threads, words.room()) != xtune_kokkos_done)
      throw Error(ErrorKind::unavailable, "Kokkos does not start: " + words.said());
  }
  ~Unit() { table_->finish(); }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  /// As of ImageLibrary.
  std::vector<std::span<const std::byte>> memory() const { return library_.memory(); }
  /// Keeps its code loaded until the end of the process, even after the unit is destroyed.
  void keep_code() noexcept { library_.keep_resident(); }
  /// Throws CandidateFailure(launch_failed) if they do not fit the entry's parameters.
  void check(std::span<const measure::KernelArgument> arguments) const {
    cpu::check_arguments(arguments, {table_->argument_count, table_->argument_bytes, table_->argument_is_pointer});
  }
  /// Calls the entry once with each, on zeroed buffers, and waits; returns milliseconds from the first call to the end
  /// of the last. Throws CandidateFailure: launch_failed if Kokkos refuses, crashed if waiting fails.
  double run(std::span<const std::span<const measure::KernelArgument>> launches,
             std::span<measure::Buffer* const> zeroed) {
    std::vector<cpu::ArgumentAddresses> places;
    places.reserve(launches.size());
    std::vector<void* const*> addresses;
    for (const auto& arguments : launches) addresses.push_back(places.emplace_back(arguments).data());
    std::vector<XtuneKokkosMemory> memory;
    for (measure::Buffer* const buffer : zeroed) memory.push_back({buffer->address(), buffer->size()});
    Words words;
    double time_ms = 0;
    if (const int status =
            table_->run(addresses.data(), addresses.size(), memory.data(), memory.size(), &time_ms, words.room()))
      fail(status, words.said());
    return time_ms;
  }
  /// Overwrites memory of the execution space. Throws CandidateFailure(crashed).
  void fill(void* memory, std::size_t bytes, unsigned long long value) {
    Words words;
    if (const int status = table_->fill(memory, bytes, value, words.room())) fail(status, words.said());
  }

 private:
  cpu::ImageLibrary library_;
  const XtuneKokkosUnit* table_;
};

// Enough for each of Kokkos' threads to have a part, so that all are awake for the launch.
constexpr std::size_t waking_bytes = 64 << 10;

/// A Kokkos that units share is initialised by the first one, which works only once in a process: it stays until the
/// end.
void keep_first(const std::shared_ptr<Unit>& unit) {
  static const std::shared_ptr<Unit> first = unit;
  if (unit == first) first->keep_code();
}

class KokkosDevice final : public measure::Device {
 public:
  KokkosDevice(std::unique_ptr<measure::Device> memory, const ExecutionSpace& space)
      : memory_(std::move(memory)), info_(as_kokkos(memory_->info(), space)), is_gpu_(space.is_gpu) {
    if (is_gpu_)
      start_.device = info_.index;
    else if (space.name != "Serial")
      start_.threads = space.threads;
  }

  const device::DeviceInfo& info() const noexcept override { return info_; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t bytes) override { return memory_->allocate(bytes); }
  measure::DeviceState state() override { return memory_->state(); }
  /// A launch has no grid or block here: units choose their own. It is one step, as units launch their own kernels.
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override;

  std::shared_ptr<Unit> load_unit(const build::Artifact& artifact) {
    auto unit = std::make_shared<Unit>(artifact, is_gpu_ ? std::string() : info_.arch, start_);
    // GPU runtimes do not support unloading code.
    if (is_gpu_) unit->keep_code();
    keep_first(unit);
    return unit;
  }
  void flush(Unit& unit, const measure::RunOptions& options) {
    std::size_t bytes = options.flush_bytes;
    if (!is_gpu_ && cpu::can_evict_lines) {
      std::vector<std::span<const std::byte>> memory = unit.memory();
      cpu::add_buffers(options, memory);
      for (const std::span<const std::byte> part : memory) cpu::evict_lines(part);
      cpu::drop_translations();
      bytes = std::min(bytes, waking_bytes);
    }
    if (!flushed_ || flushed_->size() < bytes) {
      flushed_.reset();
      flushed_ = memory_->allocate(bytes);
    }
    unit.fill(flushed_->address(), bytes, ++flushes_);
  }

 private:
  const std::unique_ptr<measure::Device> memory_;
  const device::DeviceInfo info_;
  const bool is_gpu_;
  StartOptions start_;
  std::unique_ptr<measure::Buffer> flushed_;
  unsigned long long flushes_ = 0;
};

class KokkosProgram final : public measure::Program {
 public:
  KokkosProgram(KokkosDevice& device, const build::Artifact& artifact, device::Step step)
      : device_(device), unit_(device.load_unit(artifact)), step_(std::move(step)) {}

  measure::Sample run(const measure::RunOptions& options) override {
    std::vector<std::vector<measure::KernelArgument>> own{step_.chosen(options.arguments)};
    for (const auto& arguments : options.more) own.push_back(step_.chosen(arguments));
    const std::vector<std::span<const measure::KernelArgument>> launches(own.begin(), own.end());
    for (const auto& arguments : launches) unit_->check(arguments);
    if (options.flush_bytes > 0) device_.flush(*unit_, options);
    const double time_ms = unit_->run(launches, options.zeroed);
    return {options.timed ? time_ms / static_cast<double>(launches.size()) : 0.0};
  }

 private:
  KokkosDevice& device_;
  const std::shared_ptr<Unit> unit_;
  const device::Step step_;
};

std::unique_ptr<measure::Program> KokkosDevice::load(const build::Artifact& artifact,
                                                     const device::LaunchPlan& launch) {
  return std::make_unique<KokkosProgram>(*this, artifact, launch.steps.at(0));
}

}  // namespace

device::DeviceInfo as_kokkos(device::DeviceInfo device, const ExecutionSpace& space) {
  device.backend = "kokkos";
  if (space.is_gpu) return device;
  device.compute_units = space.threads;
  device.max_threads_per_block = device.max_threads_per_compute_unit = space.threads;
  device.max_block_x = device.max_block_y = device.max_block_z = space.threads;
  device.warp_size = 1;
  return device;
}

std::unique_ptr<measure::Device> make_device(std::unique_ptr<measure::Device> memory, const ExecutionSpace& space) {
  return std::make_unique<KokkosDevice>(std::move(memory), space);
}

}  // namespace xtune::kokkos
