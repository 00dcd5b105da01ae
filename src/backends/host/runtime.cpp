// One thread launches for all others: the engine allows one caller, whose fibers stay on one thread. Addresses are
// checked by mincore(2), which fails for pages that are not mapped and accesses none.
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "backends/cpu/cpu.hpp"
#include "backends/host/backend.hpp"
#include "backends/host/engine.hpp"
#include "backends/host/hopper/tiles.hpp"
#include "core/build/step_limits.hpp"
#include "core/measure/device.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::host {
namespace {

constexpr std::uintptr_t max_pages = 4096;

enum class Answer { mapped, not_mapped, unknown };

Answer ask(std::uintptr_t page, std::uintptr_t pages, std::uintptr_t page_bytes) noexcept {
  unsigned char resident[max_pages];
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of a page
  if (mincore(reinterpret_cast<void*>(page * page_bytes), pages * page_bytes, resident) == 0) return Answer::mapped;
  return errno == ENOMEM ? Answer::not_mapped : Answer::unknown;
}

/// The engine, and the one thread that uses it.
struct LaunchThread {
  std::optional<Engine> engine;  ///< created on the thread by the first launch; reading memory needs none
  std::mutex callers;
  std::optional<ThreadPool> thread;  ///< started by the first task; its caller does nothing

  /// Returns when the task is done; it must not throw.
  void run(const std::function<void()>& task) {
    const std::lock_guard one_caller(callers);
    if (!thread) thread.emplace(2);
    thread->run([&](unsigned worker) {
      if (worker == 1) task();
    });
  }
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
  HostTimer(LaunchThread& launcher, std::size_t flush_bytes) : launcher_(launcher), flush_bytes_(flush_bytes) {}

  double time_ms(const std::function<void(void* stream)>& work) override {
    // Before the first launch there is no engine, and nothing that the caches could hold.
    std::exception_ptr failure;
    launcher_.run([&]() noexcept {
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
  LaunchThread& launcher_;
  const std::size_t flush_bytes_;
};

class HostRuntime final : public backend::Runtime {
 public:
  HostRuntime() : info_(cpu::cpu_info()) {}

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
      loaded->bind(Engine::services());
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
    LaunchThread& launcher = launcher_.get();
    launcher.run([&]() noexcept {
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
  backend::Queue queue_of(void*) noexcept override {
    thread_local const char this_thread = 0;  // a later thread may have the same address, and then the same memory
    return {current(), &this_thread};
  }
  int zero(void* address, std::size_t bytes, void*) noexcept override {
    std::memset(address, 0, bytes);
    return 0;
  }
  void read(void* host, const void* device, std::size_t bytes, void*) override {
    if (bytes != 0) std::memcpy(host, device, bytes);  // memcpy allows no null pointers, even for 0 bytes
  }
  void write(void* device, const void* host, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(device, host, bytes);
  }
  void snapshot(void* host, const void* device, std::size_t bytes) override { read_own_memory(host, device, bytes); }

 private:
  std::shared_ptr<void> allocate(std::size_t bytes, void*, bool) override {
    constexpr std::align_val_t alignment{256};
    return {::operator new(bytes, alignment), [](void* memory) { ::operator delete(memory, alignment); }};
  }

  const device::DeviceInfo info_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<KernelLibrary>> libraries_;
  system::PerProcess<LaunchThread> launcher_;
};

}  // namespace

std::optional<std::size_t> mapped_bytes(const void* address, std::size_t wanted) noexcept {
  static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  if (wanted == 0) return 0;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t last = start + std::min<std::uintptr_t>(wanted - 1, UINTPTR_MAX - start);
  const std::uintptr_t end = last / page_bytes + 1;
  std::uintptr_t page = start / page_bytes;
  for (std::uintptr_t pages = max_pages; page < end;) {
    const std::uintptr_t next = std::min(pages, end - page);
    switch (ask(page, next, page_bytes)) {
      case Answer::unknown:
        return std::nullopt;
      case Answer::mapped:
        page += next;
        break;
      case Answer::not_mapped:
        if (next == 1) return page * page_bytes > start ? page * page_bytes - start : 0;
        pages = next / 2;
    }
  }
  return wanted;
}

std::shared_ptr<backend::Runtime> runtime() {
  static std::mutex mutex;
  static std::weak_ptr<backend::Runtime> kept;
  const std::lock_guard lock(mutex);
  std::shared_ptr<backend::Runtime> runtime = kept.lock();
  if (!runtime) kept = runtime = std::make_shared<HostRuntime>();
  return runtime;
}

}  // namespace xtune::host
