// One thread launches for all others: the engine allows one caller, whose fibers stay on one thread.
#include "backends/host/runtime.hpp"

#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/host/block_runner.hpp"
#include "backends/host/cpu.hpp"
#include "backends/host/engine.hpp"
#include "backends/host/mapped_memory.hpp"
#include "backends/host/tensor_map.hpp"
#include "base/per_process.hpp"
#include "core/build/step_limits.hpp"
#include "core/measure/flush.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::host {
namespace {

/// Runs one task at a time on a separate thread, which is started by the first task.
class LaunchThread {
 public:
  LaunchThread() = default;
  ~LaunchThread() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;

  /// Returns when the task is done; it must not throw.
  void run(const std::function<void()>& task) {
    const std::lock_guard one_caller(callers_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    std::unique_lock lock(mutex_);
    task_ = &task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return task_ || ending_; });
      if (!task_) return;
      lock.unlock();
      (*task_)();
      lock.lock();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex callers_, mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool ending_ = false;
  std::thread thread_;
};

struct LaunchThreads {
  std::optional<Engine> engine;  ///< created on the thread by the first launch; reading memory needs none
  LaunchThread thread;
};

/// The reason why this thread's last launch failed.
std::string& last_failure() {
  thread_local std::string failure;
  return failure;
}

/// The system reads instead of us, so that an invalid pointer is an error and not a fault.
void read_own_memory(void* to, const void* from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const iovec local{static_cast<char*>(to) + done, bytes - done};
    const iovec remote{const_cast<char*>(static_cast<const char*>(from)) + done, bytes - done};
    const ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      continue;
    }
    if (errno == ENOSYS || errno == EPERM) {  // forbidden in some containers
      std::memcpy(static_cast<char*>(to) + done, static_cast<const char*>(from) + done, bytes - done);
      return;
    }
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} of its {} bytes lie in no memory of this process", bytes - done, bytes));
  }
}

/// Milliseconds of this thread's launches, by the engine's clock.
double& launched_ms() {
  thread_local double ms = 0;
  return ms;
}

/// Sums up the launches of this thread.
class HostTimer final : public backend::LaunchTimer {
 public:
  HostTimer(LaunchThreads& launcher, std::size_t flush_bytes) : launcher_(launcher), flush_bytes_(flush_bytes) {}

  double time_ms(const std::function<void(void* stream)>& work) override {
    // Before the first launch there is no engine, and nothing that the caches could hold.
    std::exception_ptr failure;
    launcher_.thread.run([&]() noexcept {
      try {
        if (launcher_.engine) launcher_.engine->overwrite(flush_bytes_);
      } catch (...) {
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
    launched_ms() = 0;
    work(nullptr);
    return launched_ms();
  }

 private:
  LaunchThreads& launcher_;
  const std::size_t flush_bytes_;
};

class HostRuntime final : public backend::Runtime {
 public:
  HostRuntime() : info_(cpu_info()) {}

  std::uintptr_t current() noexcept override { return 1; }
  void adopt(std::uintptr_t) override {}
  device::DeviceInfo device() override { return info_; }

  bool understands(const build::Artifact& artifact) const noexcept override {
    return artifact.image.find(XTUNE_HOST_MARKER) != std::string::npos;
  }
  backend::LoadedKernel load(const build::Artifact& artifact, const device::Launch& launch,
                             std::size_t number) override {
    const device::KernelNeeds needs = build::needs_of(build::entry_of(artifact, number).usage);
    if (const auto reason = device::forbidden(launch, needs, info_))
      throw build::CandidateFailure(Outcome::rejected, *reason);
    const std::lock_guard lock(mutex_);
    auto& library = libraries_[artifact.key.empty() ? artifact.image : artifact.key];
    if (!library) {
      auto loaded = std::make_unique<KernelLibrary>(artifact, info_.arch);
      loaded->bind(BlockRunner::services());
      library = std::move(loaded);
    }
    const LoadedEntry& entry = library->entry(number);
    const XtuneKernel& kernel = *entry.kernel;
    backend::LoadedKernel loaded{
        const_cast<LoadedEntry*>(&entry),
        std::vector<std::size_t>(kernel.argument_bytes, kernel.argument_bytes + kernel.argument_count)};
    for (const std::string& symbol : artifact.variables) {
      const XtuneVariable& variable = library->variable(symbol);
      loaded.variables.push_back({variable.address, variable.bytes});
    }
    return loaded;
  }

  std::unique_ptr<backend::LaunchTimer> make_timer() override {
    return std::make_unique<HostTimer>(launcher_.get(), measure::flush_bytes(info_));
  }

  int launch(void* handle, const device::Launch& launch, void*, void** parameters) noexcept override {
    std::string failure;
    double ms = 0;
    LaunchThreads& launcher = launcher_.get();
    launcher.thread.run([&]() noexcept {
      try {
        if (!launcher.engine) launcher.engine.emplace(info_.shared_per_block_optin);
        ms = launcher.engine->launch(*static_cast<const LoadedEntry*>(handle), launch, parameters);
      } catch (const std::exception& error) {
        failure = error.what();
      }
    });
    launched_ms() += ms;
    if (failure.empty()) return 0;
    last_failure() = std::move(failure);
    return 1;
  }
  std::string describe(int) override { return last_failure(); }

  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    return std::bit_cast<measure::EncodedTensorMap>(encode_tensor_map(map, address));
  }

  std::optional<std::size_t> accessible_bytes(const void* address, std::size_t wanted) noexcept override {
    return mapped_bytes(address, wanted);
  }
  bool is_capturing(void*) noexcept override { return false; }
  void read(void* host, const void* device, std::size_t bytes, void*) override {
    if (bytes != 0) std::memcpy(host, device, bytes);  // memcpy allows no null pointers, even for 0 bytes
  }
  void write(void* device, const void* host, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(device, host, bytes);
  }
  void snapshot(void* host, const void* device, std::size_t bytes) override { read_own_memory(host, device, bytes); }

 private:
  const device::DeviceInfo info_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<KernelLibrary>> libraries_;
  base::PerProcess<LaunchThreads> launcher_;
};

}  // namespace

std::shared_ptr<backend::Runtime> runtime() {
  static std::mutex mutex;
  static std::weak_ptr<backend::Runtime> kept;
  const std::lock_guard lock(mutex);
  std::shared_ptr<backend::Runtime> runtime = kept.lock();
  if (!runtime) kept = runtime = std::make_shared<HostRuntime>();
  return runtime;
}

}  // namespace xtune::host
