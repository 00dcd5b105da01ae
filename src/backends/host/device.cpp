// Buffers in ordinary memory, kernels from shared libraries, launches on the engine; and the entry in the registry.
#include <fmt/core.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "backends/backend.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/cpu/native_kernel.hpp"
#include "backends/host/backend.hpp"
#include "backends/host/block/block_place.hpp"
#include "backends/host/cpu_contention.hpp"
#include "backends/host/engine.hpp"
#include "backends/host/hopper/tiles.hpp"
#include "core/build/shortage.hpp"
#include "core/build/step_limits.hpp"
#include "core/device/launch.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

constexpr std::size_t buffer_alignment = 256;

class HostBuffer final : public measure::Buffer {
 public:
  // Exactly the requested size, so that a sanitizer notices the first byte beyond it.
  explicit HostBuffer(std::size_t bytes) : size_(bytes) {
    if (posix_memalign(&memory_, buffer_alignment, bytes ? bytes : 1) != 0)
      throw Error(ErrorKind::unavailable, fmt::format("no memory for a buffer of {} bytes", bytes));
  }
  /// Of memory that somebody else frees.
  HostBuffer(void* memory, std::size_t bytes) : memory_(memory), size_(bytes), owned_(false) {}
  ~HostBuffer() override {
    if (owned_) std::free(memory_);
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::size_t size() const noexcept override { return size_; }
  void* address() noexcept override { return memory_; }
  void write(std::size_t offset, std::span<const std::byte> bytes) override {
    if (void* to = at(offset, bytes.size())) std::memcpy(to, bytes.data(), bytes.size());
  }
  void read(std::size_t offset, std::span<std::byte> bytes) override {
    if (const void* from = at(offset, bytes.size())) std::memcpy(bytes.data(), from, bytes.size());
  }
  void fill(std::size_t offset, std::size_t size, std::byte value) override {
    if (void* to = at(offset, size)) std::memset(to, std::to_integer<int>(value), size);
  }

 private:
  /// nullptr for an empty range.
  void* at(std::size_t offset, std::size_t size) const {
    if (offset > size_ || size > size_ - offset)
      throw std::out_of_range(fmt::format("bytes {} to {} of a buffer of {}", offset, offset + size, size_));
    return size ? static_cast<std::byte*>(memory_) + offset : nullptr;
  }
  void* memory_ = nullptr;
  std::size_t size_;
  bool owned_ = true;
};

/// Of this process, without those that wait for cooperative launches.
std::size_t count_threads() {
  std::size_t count = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator task("/proc/self/task", failed), end; task != end; task.increment(failed))
    ++count;
  return count - Engine::cooperative_threads();
}

class HostProgram final : public measure::Program {
 public:
  HostProgram(Engine& engine, const build::Artifact& artifact, const device::LaunchPlan& plan, const std::string& arch)
      : engine_(engine), steps_(plan.steps), library_(artifact, arch), variables_(artifact.variables) {
    library_.bind(Engine::services());
    const XtuneKernel& kernel = *library_.entry(0).kernel;
    if (kernel.racing_begin == kernel.racing_end) return;
    build::Artifact racing = artifact;
    racing.image.assign(reinterpret_cast<const char*>(kernel.racing_begin),
                        static_cast<std::size_t>(kernel.racing_end - kernel.racing_begin));
    racing_.emplace(racing, arch);
    racing_->bind(Engine::services());
  }
  /// Threads that live on may execute its code, or that of a library that only it needs, as OpenMP's.
  ~HostProgram() override {
    if (count_threads() <= threads_) return;
    library_.keep_code();
    if (racing_) racing_->keep_code();
  }
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  void check_types(std::span<const measure::ArgumentType> arguments) const override {
    for (const device::Step& step : steps_)
      in_step(step, [&] { check_parameters(step.chosen(arguments), *library_.entry(step.kernel).kernel); });
  }
  measure::Sample run(const measure::RunOptions& options) override {
    check(options.arguments);
    for (const auto& arguments : options.more) check(arguments);
    if (options.flush_bytes > 0) engine_.flush(touched_memory(options), options.flush_bytes);
    double time_ms = zero(options.zeroed) + launch(options.arguments);
    for (const auto& arguments : options.more) time_ms += zero(options.zeroed) + launch(arguments);
    return {options.timed ? time_ms / static_cast<double>(1 + options.more.size()) : 0.0};
  }

  std::unique_ptr<measure::Buffer> variable(std::size_t number) override {
    const XtuneVariable& variable = library_.variable(variables_.at(number));
    return std::make_unique<HostBuffer>(variable.address, variable.bytes);
  }

 private:
  /// What launches may read: the kernels' code, constants and variables, and the buffers. Stacks and shared memory are
  /// not part of it: they stand for memory on the chip.
  std::vector<std::span<const std::byte>> touched_memory(const measure::RunOptions& options) const {
    std::vector<std::span<const std::byte>> memory = library_.memory();
    cpu::add_buffers(options, memory);
    return memory;
  }
  /// Returns milliseconds.
  static double zero(std::span<measure::Buffer* const> buffers) {
    if (buffers.empty()) return 0;
    const auto start = std::chrono::steady_clock::now();
    for (measure::Buffer* const buffer : buffers) std::memset(buffer->address(), 0, buffer->size());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  /// All steps, and the sum of their times in milliseconds.
  double launch(std::span<const measure::KernelArgument> arguments) {
    // The first launch finds bad accesses, also reads; the others races between the threads of a block.
    if (!racing_ || !std::exchange(launched_, true)) return launch_steps(library_, arguments);
    copy_variables(library_, *racing_);
    const double time_ms = launch_steps(*racing_, arguments);
    copy_variables(*racing_, library_);
    return time_ms;
  }
  double launch_steps(const KernelLibrary& library, std::span<const measure::KernelArgument> arguments) {
    double time_ms = 0;
    for (const device::Step& step : steps_) {
      const std::vector<measure::KernelArgument> own = step.chosen(arguments);
      cpu::ArgumentAddresses addresses(own);
      in_step(step, [&] { time_ms += engine_.launch(library.entry(step.kernel), step.launch, addresses.data()); });
    }
    return time_ms;
  }
  void copy_variables(const KernelLibrary& from, const KernelLibrary& to) const {
    for (const std::string& name : variables_)
      std::memcpy(to.variable(name).address, from.variable(name).address, from.variable(name).bytes);
  }
  void check(std::span<const measure::KernelArgument> arguments) const {
    for (const device::Step& step : steps_) {
      const XtuneKernel& kernel = *library_.entry(step.kernel).kernel;
      in_step(step, [&] {
        cpu::check_arguments(step.chosen(arguments),
                             {kernel.argument_count, kernel.argument_bytes, kernel.argument_is_pointer});
      });
    }
  }
  /// A failure of the work names the step.
  template <class Work>
  static void in_step(const device::Step& step, const Work& work) {
    try {
      work();
    } catch (build::CandidateFailure& failure) {
      if (build::lack_of(failure) == build::Lack::none) failure.set_message(step.named(failure.what()));
      throw;
    }
  }

  const std::size_t threads_ = count_threads();  ///< of this process, before
  Engine& engine_;
  std::vector<device::Step> steps_;
  KernelLibrary library_;
  std::vector<std::string> variables_;
  std::optional<KernelLibrary> racing_;  ///< XtuneKernel::racing_begin
  bool launched_ = false;
};

class HostDevice final : public measure::Device {
 public:
  HostDevice() : info_(cpu::cpu_info()), engine_(info_.shared_per_block_optin) {}

  const device::DeviceInfo& info() const noexcept override { return info_; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t bytes) override { return std::make_unique<HostBuffer>(bytes); }
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    build::reject_forbidden(launch, artifact, info_);
    const KeepFloatingPoint keep;  // -ffast-math adds a constructor that changes it in the thread that loads
    return std::make_unique<HostProgram>(engine_, artifact, launch, info_.arch);
  }
  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    return std::bit_cast<measure::EncodedTensorMap>(encode_tensor_map(map, address));
  }
  measure::DeviceState state() override {
    measure::DeviceState state;
    contention_.report(state);
    return state;
  }

 private:
  device::DeviceInfo info_;
  Engine engine_;
  CpuContention contention_;
};

class HostBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "host"; }
  backend::DeviceList list_devices() override { return {{cpu::cpu_info()}, ""}; }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return host::make_toolchain(); }
  std::unique_ptr<measure::Device> open_device(int index) override {
    if (index != 0)
      throw Error(ErrorKind::unavailable,
                  "the host backend has one device, number 0; asked for " + std::to_string(index));
    return host::make_device();
  }
  std::shared_ptr<backend::Runtime> open_runtime() override { return host::runtime(); }
};

}  // namespace

std::unique_ptr<measure::Device> make_device() { return std::make_unique<HostDevice>(); }

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<HostBackend>(); }

}  // namespace xtune::host
