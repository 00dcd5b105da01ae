// Modules are loaded once for each context; a launch is the driver's call, through two pointers.
#include <fmt/core.h>

#include <map>
#include <mutex>
#include <utility>

#include "backends/gpu/device.hpp"
#include "backends/gpu/driver_api.hpp"
#include "base/text.hpp"
#include "core/device/launch.hpp"
#include "core/measure/device.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {
namespace {

struct LoadedFunction {
  Function function = nullptr;
  FunctionAttributes attributes;
  std::uint32_t allowed_shared = 0;  ///< allowance that was requested from the driver
  std::optional<std::vector<std::size_t>> parameter_bytes;
};

struct KeptModule {
  Module handle = nullptr;
  std::map<std::size_t, LoadedFunction> kernels;  ///< by their number among the artifact's entries
  std::vector<backend::LoadedVariable> variables;
};

/// On a stream of the library's own, which holds back what it times until all of it is queued.
class GpuTimer final : public backend::LaunchTimer {
 public:
  GpuTimer(DriverApi api, device::DeviceInfo info)
      : session_(std::move(api), std::move(info)), flush_bytes_(measure::flush_bytes(session_.info())) {}

  double time_ms(const std::function<void(void* stream)>& work) override {
    // The first launch may load the kernel, for which the driver waits for the device.
    const bool hold = std::exchange(warm_, true);
    const auto take = [&] { return session_.timer().time(flush_bytes_, 1, hold, [&] { work(session_.stream()); }); };
    return measure::punctual_sample(take).time_ms;
  }

 private:
  Session session_;
  const std::size_t flush_bytes_;
  bool warm_ = false;
};

class GpuRuntime final : public backend::Runtime {
 public:
  GpuRuntime(DriverApi api, ContextApi context) : api_(std::move(api)), context_(std::move(context)) {}

  std::uintptr_t current() noexcept override { return context_.current(); }

  void adopt(std::uintptr_t context) override {
    if (const Status status = context_.adopt(context))
      throw Error(ErrorKind::unavailable,
                  fmt::format("the context cannot be used on another thread: {}", api_.describe(status)));
  }

  device::DeviceInfo device() override {
    const std::uintptr_t context = current();
    if (context == 0)
      throw Error(ErrorKind::unavailable, "this thread has no current context to launch in: " + context_.advice);
    const std::lock_guard lock(mutex_);
    const auto known = devices_.find(context);
    if (known != devices_.end()) return known->second;
    return devices_[context] = context_.device();
  }

  backend::LoadedKernel load(const build::Artifact& artifact, const device::Launch& launch,
                             std::size_t number) override {
    const device::DeviceInfo info = device();
    const std::uintptr_t context = current();
    const std::lock_guard lock(mutex_);
    KeptModule& module = loaded_[{context, artifact.key.empty() ? artifact.image : artifact.key}];
    if (!module.handle) module = load_module(artifact);
    LoadedFunction& kernel = module.kernels[number];
    if (!kernel.function) kernel = find_function(module.handle, artifact, number);
    const FunctionAttributes& has = kernel.attributes;
    if (const auto reason =
            device::forbidden(launch, {has.registers, has.max_threads_per_block, has.static_shared_bytes}, info))
      throw build::CandidateFailure(Outcome::rejected, *reason);
    // The maximum over its launches: a smaller allowance would make the others fail.
    if (api_.allow_dynamic_shared && launch.shared_bytes > kernel.allowed_shared &&
        has.static_shared_bytes + launch.shared_bytes > info.shared_per_block) {
      check(api_.allow_dynamic_shared(kernel.function, launch.shared_bytes), "opting in to large shared memory");
      kernel.allowed_shared = launch.shared_bytes;
    }
    require_resident(api_, info, kernel.function, launch);
    return {kernel.function, kernel.parameter_bytes, module.variables};
  }

  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    return encoded(api_, device(), map, address);
  }

  std::unique_ptr<backend::LaunchTimer> make_timer() override {
    const device::DeviceInfo info = device();
    DriverApi api = api_;
    api.close = nullptr;  // the context is the application's
    if (context_.timing_code) api.timing_code = [this, info] { return timing_code(info); };
    return std::make_unique<GpuTimer>(std::move(api), info);
  }

  int launch(void* handle, const device::Launch& launch, void* stream, void** parameters) noexcept override {
    if (launch.cluster[0] != 0 || launch.cooperative) [[unlikely]]
      return api_.launch(handle, launch, stream, parameters);
    return context_.launch(handle, launch, stream, parameters);
  }

  std::string describe(int status) override { return api_.describe(status); }

  std::optional<std::size_t> accessible_bytes(const void* address, std::size_t /*wanted*/) noexcept override {
    return context_.accessible_bytes(address);
  }

  bool enter_context_of(const void* address) override {
    std::uintptr_t own = 0;
    if (current() != 0 || !context_.owns(address, &own) || own == 0) return false;
    adopt(own);
    return true;
  }

  backend::Queue queue_of(void* stream) noexcept override {
    // In CUDA and HIP the stream "2" stands for another one in each thread.
    thread_local const char this_thread = 0;
    constexpr std::uintptr_t per_thread = 2;
    const bool own = reinterpret_cast<std::uintptr_t>(stream) == per_thread;
    backend::Queue queue{current(), own ? &this_thread : stream};
    constexpr std::uint64_t unknown = ~std::uint64_t{0};
    if (context_.capture_of(stream, &queue.capture) != 0) queue.capture = unknown;
    return queue;
  }

  bool is_foreign(void* stream) noexcept override { return context_.is_foreign && context_.is_foreign(stream); }

  int zero(void* address, std::size_t bytes, void* stream) noexcept override {
    return api_.fill(address, 0, bytes, stream);
  }

  void read(void* host, const void* device, std::size_t bytes, void* stream) override {
    Status status = api_.synchronize_stream(stream);
    if (status == 0 && bytes > 0) status = api_.copy_to_host(host, device, bytes);
    if (status != 0) throw Error(ErrorKind::unavailable, "device memory cannot be read: " + api_.describe(status));
  }

  void write(void* device, const void* host, std::size_t bytes) override {
    Status status = context_.synchronize();
    if (status == 0 && bytes > 0) status = api_.copy_to_device(device, host, bytes);
    if (status != 0) throw Error(ErrorKind::unavailable, "device memory cannot be written: " + api_.describe(status));
  }

  void snapshot(void* host, const void* device, std::size_t bytes) override {
    const std::uintptr_t before = current();
    std::uintptr_t own = before;
    if (!context_.owns(device, &own))
      throw Error(ErrorKind::invalid_argument,
                  "this is not a device pointer of the backend; pass host data as a vector or a span");
    // The thread may not have made the memory's context current yet.
    if (own != before) adopt(own);
    Status status = 0;
    const std::optional<std::size_t> behind = context_.accessible_bytes(device);
    if (!behind || *behind >= bytes) {
      status = context_.synchronize();
      if (status == 0 && bytes > 0) status = api_.copy_to_host(host, device, bytes);
    }
    if (own != before) adopt(before);
    if (behind && *behind < bytes)
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("{} bytes are asked for, and the allocation has {} from this pointer on", bytes, *behind));
    if (status != 0) throw Error(ErrorKind::unavailable, "device memory cannot be read: " + api_.describe(status));
  }

 private:
  /// Until the process ends, as a launch may use it that is in flight when its caller is gone.
  std::shared_ptr<void> allocate(std::size_t bytes, void* stream, bool captured) override {
    void* address = nullptr;
    if (const Status status = context_.allocate(&address, bytes, stream, captured); status != 0)
      throw Error(ErrorKind::unavailable,
                  fmt::format("no memory for {} of scratch: {}", base::human_bytes(bytes), api_.describe(status)));
    return {address, [](void*) {}};
  }

  void check(Status status, const char* doing) const {
    if (status != 0)
      throw build::CandidateFailure(Outcome::launch_failed, fmt::format("{}: {}", doing, api_.describe(status)));
  }

  /// Compiled once for each architecture.
  build::Artifact timing_code(const device::DeviceInfo& info) {
    const std::lock_guard lock(mutex_);
    const auto known = timing_codes_.find(info.arch);
    if (known != timing_codes_.end()) return known->second;
    return timing_codes_[info.arch] = context_.timing_code(info);
  }

  KeptModule load_module(const build::Artifact& artifact) const {
    KeptModule module;
    check(api_.load_module(&module.handle, artifact.image), "loading the kernel");
    try {
      module.kernels[0] = find_function(module.handle, artifact, 0);
      for (const std::string& symbol : artifact.variables) {
        backend::LoadedVariable& variable = module.variables.emplace_back();
        check(api_.find_variable(&variable.address, &variable.bytes, module.handle, symbol.c_str()),
              "finding a variable");
      }
    } catch (...) {
      api_.unload_module(module.handle);
      throw;
    }
    return module;
  }

  LoadedFunction find_function(Module module, const build::Artifact& artifact, std::size_t number) const {
    LoadedFunction kernel;
    const std::string symbol = build::entry_of(artifact, number).symbol;
    check(api_.find_function(&kernel.function, module, symbol.c_str()), "finding the kernel");
    check(api_.function_attributes(&kernel.attributes, kernel.function), "asking for the kernel's attributes");
    if (api_.parameter_sizes) kernel.parameter_bytes = api_.parameter_sizes(kernel.function, artifact, symbol);
    return kernel;
  }

  const DriverApi api_;
  const ContextApi context_;
  std::mutex mutex_;
  std::map<std::uintptr_t, device::DeviceInfo> devices_;
  std::map<std::string, build::Artifact> timing_codes_;  ///< by architecture
  std::map<std::pair<std::uintptr_t, std::string>, KeptModule> loaded_;
};

}  // namespace

std::shared_ptr<backend::Runtime> make_runtime(DriverApi api, ContextApi context) {
  return std::make_shared<GpuRuntime>(std::move(api), std::move(context));
}

}  // namespace xtune::gpu
