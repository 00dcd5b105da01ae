// Loads units, and keeps the first one so that Kokkos is initialised once.
#include "backends/kokkos/device.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "backends/cpu/cpu.hpp"
#include "backends/kokkos/unit.hpp"

namespace xtune::kokkos {
namespace {

class KokkosDevice;

// Enough for each of Kokkos' threads to have a part, so that all are awake for the launch.
constexpr std::size_t waking_bytes = 64 << 10;

/// A Kokkos that units share is initialised by the first one, which works only once in a process: it stays until the
/// end.
void keep_first(const std::shared_ptr<Unit>& unit) {
  static const std::shared_ptr<Unit> first = unit;
  if (unit == first) first->keep_code();
}

class KokkosProgram final : public measure::Program {
 public:
  KokkosProgram(KokkosDevice& device, const build::Artifact& artifact, device::Step step);
  measure::Sample run(const measure::RunOptions& options) override;

 private:
  KokkosDevice& device_;
  const std::shared_ptr<Unit> unit_;
  const device::Step step_;
};

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
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    return std::make_unique<KokkosProgram>(*this, artifact, launch.steps.at(0));
  }

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

KokkosProgram::KokkosProgram(KokkosDevice& device, const build::Artifact& artifact, device::Step step)
    : device_(device), unit_(device.load_unit(artifact)), step_(std::move(step)) {}

measure::Sample KokkosProgram::run(const measure::RunOptions& options) {
  std::vector<std::vector<measure::KernelArgument>> own{step_.chosen(options.arguments)};
  for (const auto& arguments : options.more) own.push_back(step_.chosen(arguments));
  const std::vector<std::span<const measure::KernelArgument>> launches(own.begin(), own.end());
  for (const auto& arguments : launches) unit_->check(arguments);
  if (options.flush_bytes > 0) device_.flush(*unit_, options);
  const double time_ms = unit_->run(launches);
  return {options.timed ? time_ms / static_cast<double>(launches.size()) : 0.0};
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
