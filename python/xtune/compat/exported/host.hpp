// The CPU as a device: the threads of a block take turns on one core, the blocks run on all. Written by `xtune export`;
// yours to use and change under any licence.
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <functional>
#include <new>
#include <thread>

#include "runtime.hpp"

namespace {

// The interface of the compiled kernels, version 5.
struct Index {
  unsigned x, y, z;
};
/// One lane's part in a warp operation.
struct Lane {
  unsigned mask;
  int line, source, predicate;
  unsigned long long value;
  unsigned ballot, participants;
};
struct Services {
  unsigned long long (*barrier)(int predicate);
  void (*warp)(Lane* lane);
  void (*yield)();
  void (*grid_barrier)();
  const void* hopper;
};
struct HostKernel {
  const char* marker;
  int argument_count;
  const unsigned* argument_bytes;
  const bool* argument_is_pointer;
  const void* parameters;
  const unsigned char *racing_begin, *racing_end;
  bool uses_hopper, uses_fibers;
  void (*bind)(const Services* services);
  void (*begin_launch)(Index grid, Index block, void* dynamic_shared);
  void (*run_block)(void* const* arguments, Index block);
  void (*begin_block)(Index block);
  void (*run_thread)(void* const* arguments, Index thread);
};

/// Saves the callee's registers on the running stack, whose top goes to *save, and continues on the other one.
extern "C" void exported_switch_stack(void** save, void* other);
#if defined(__x86_64__)
__asm__(
    ".text\n.p2align 4\nexported_switch_stack:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
constexpr std::size_t saved_words = 8, entry_word = 6;
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 4\nexported_switch_stack:\n"
    "sub sp, sp, #160\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
    "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
    "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\nret\n");
constexpr std::size_t saved_words = 20, entry_word = 11;
#else
#error "kernels for the CPU run on x86-64 and AArch64"
#endif

/// Runs the threads of one block at a time. They take turns in the order in which they come.
class BlockRunner {
 public:
  ~BlockRunner() {
    if (stacks_) munmap(stacks_, count_ * stride_);
  }

  /// Throws Failure if threads wait for each other forever.
  void run(const HostKernel& kernel, void* const* arguments, Index block) {
    const std::size_t threads = std::size_t{block.x} * block.y * block.z;
    require_stacks(threads);
    kernel_ = &kernel, arguments_ = arguments, live_ = threads;
    ready_.clear(), barrier_.clear();
    next_ = predicates_ = 0;
    warps_.assign((threads + 31) / 32, {});
    for (unsigned i = 0; i < threads; ++i) {
      fibers_[i].index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
      fibers_[i].top = fresh_stack(i);
      ready_.push_back(i);
      warps_[i / 32].live |= 1u << i % 32;
    }
    running() = this;
    self_ = ready_[next_++];
    exported_switch_stack(&main_, fibers_[self_].top);
    if (live_ != 0) fail("the kernel does not end: ", live_, " threads of a block wait for each other");
  }

  static const Services& services() {
    static const Services calls{[](int predicate) { return running()->barrier(predicate); },
                                [](Lane* lane) { running()->warp(lane); }, [] { running()->yield(); }, nullptr,
                                nullptr};
    return calls;
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{64} << 10;  // above a page that is not accessible
  struct Fiber {
    void* top = nullptr;
    Index index{};
    Lane* lane = nullptr;
  };
  struct Warp {
    unsigned live = 0, waiting = 0;
  };

  static BlockRunner*& running() {
    thread_local BlockRunner* runner = nullptr;
    return runner;
  }

  void require_stacks(std::size_t count) {
    if (count <= count_) return;
    if (stacks_) munmap(stacks_, count_ * stride_);
    count_ = 0;
    void* const memory =
        mmap(nullptr, count * stride_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stacks_ = static_cast<char*>(memory);
    count_ = count;
    fibers_.resize(count);
    static std::atomic<int> guards{8192};  // the system limits the number of mappings
    for (std::size_t i = 0; i < count && guards-- > 0; ++i)
      mprotect(stacks_ + i * stride_, stride_ - stack_bytes, PROT_NONE);
  }

  /// Starts with `enter`. Neighbours do not begin at the same offset of a page, which would strain the caches.
  void* fresh_stack(std::size_t i) {
    auto* const top = reinterpret_cast<std::uintptr_t*>(stacks_ + (i + 1) * stride_ - i % 32 * 128);
    std::uintptr_t* const words = top - saved_words;
    std::fill(words, top, 0);
    words[entry_word] = reinterpret_cast<std::uintptr_t>(&enter);
    return words;
  }

  static void enter() {
    BlockRunner& runner = *running();
    runner.kernel_->run_thread(runner.arguments_, runner.fibers_[runner.self_].index);
    runner.finish();
  }

  void finish() {
    --live_;
    Warp& warp = warps_[self_ / 32];
    warp.live &= ~(1u << self_ % 32);
    if (live_ > 0 && barrier_.size() == live_) release();  // they need not wait for this thread any longer
    for (unsigned rest = warp.waiting; rest != 0;) {
      const unsigned mask = fibers_[self_ / 32 * 32 + lowest(rest)].lane->mask, group = group_of(self_ / 32, mask);
      rest &= complete(self_ / 32, group, mask) ? ~group : rest - 1;
    }
    leave();
  }

  /// The running thread waits in a queue, or has ended.
  void leave() {
    const unsigned self = self_;
    if (next_ == ready_.size()) ready_.clear(), next_ = 0;
    if (ready_.empty() && live_ > 0) complete_converged();
    if (ready_.empty()) return exported_switch_stack(&fibers_[self].top, main_);
    self_ = ready_[next_++];
    if (self_ != self) exported_switch_stack(&fibers_[self].top, fibers_[self_].top);
  }

  void release() {
    result_ = static_cast<unsigned long long>(barrier_.size()) << 32 | predicates_;
    ready_.insert(ready_.end(), barrier_.begin(), barrier_.end());
    barrier_.clear();
    predicates_ = 0;
  }

  unsigned long long barrier(int predicate) {
    barrier_.push_back(self_);
    predicates_ += predicate != 0;
    if (barrier_.size() == live_) release();
    leave();
    return result_;
  }

  void yield() {
    ready_.push_back(self_);
    leave();
  }

  static unsigned lowest(unsigned bits) { return static_cast<unsigned>(__builtin_ctz(bits)); }
  unsigned group_of(unsigned warp, unsigned mask) const { return (mask ? mask : ~0u) & warps_[warp].live; }

  void warp(Lane* lane) {
    const unsigned number = self_ / 32;
    if (lane->mask) lane->mask |= 1u << self_ % 32;
    fibers_[self_].lane = lane;
    warps_[number].waiting |= 1u << self_ % 32;
    complete(number, group_of(number, lane->mask), lane->mask);
    leave();
  }

  /// Ends the operation of these lanes, if all of them have come.
  bool complete(unsigned number, unsigned group, unsigned mask) {
    Warp& warp = warps_[number];
    if (group == 0 || (warp.waiting & group) != group) return false;
    unsigned long long values[32];
    unsigned ballot = 0;
    const int line = fibers_[number * 32 + lowest(group)].lane->line;
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
      const Lane& lane = *fibers_[number * 32 + lowest(rest)].lane;
      if (lane.mask != mask || (mask == 0 && lane.line != line)) return false;
      values[lowest(rest)] = lane.value;
      if (lane.predicate) ballot |= 1u << lowest(rest);
    }
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
      Lane& lane = *fibers_[number * 32 + lowest(rest)].lane;
      if (lane.source >= 0 && lane.source < 32 && (group >> lane.source & 1)) lane.value = values[lane.source];
      lane.ballot = ballot;
      lane.participants = group;
      ready_.push_back(number * 32 + lowest(rest));
    }
    warp.waiting &= ~group;
    return true;
  }

  /// Lanes without a mask meet at a line when nothing else can run.
  void complete_converged() {
    for (unsigned w = 0; w < warps_.size(); ++w) {
      std::map<int, unsigned> groups;
      for (unsigned rest = warps_[w].waiting; rest != 0; rest &= rest - 1) {
        const Lane& lane = *fibers_[w * 32 + lowest(rest)].lane;
        if (lane.mask == 0) groups[lane.line] |= 1u << lowest(rest);
      }
      for (const auto& each : groups) complete(w, each.second, 0);
    }
  }

  const std::size_t stride_ = stack_bytes + static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* stacks_ = nullptr;
  std::size_t count_ = 0, live_ = 0, next_ = 0;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  std::vector<unsigned> ready_, barrier_;
  unsigned self_ = 0, predicates_ = 0;
  unsigned long long result_ = 0;
  void* main_ = nullptr;
  const HostKernel* kernel_ = nullptr;
  void* const* arguments_ = nullptr;
};

/// Threads that wait between launches.
class Pool {
 public:
  explicit Pool(unsigned size) {
    for (unsigned i = 1; i < size; ++i) std::thread([this, i] { wait(i); }).detach();  // they end with the process
    size_ = size;
  }
  unsigned size() const { return size_; }
  void run(const std::function<void(unsigned)>& work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = &work, unfinished_ = size_ - 1, ++round_;
    }
    start_.notify_all();
    work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    end_.wait(lock, [&] { return unfinished_ == 0; });
  }

 private:
  void wait(unsigned number) {
    for (std::uint64_t seen = 0;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      start_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      const std::function<void(unsigned)>& work = *work_;
      lock.unlock();
      work(number);
      lock.lock();
      if (--unfinished_ == 0) end_.notify_one();
    }
  }
  unsigned size_ = 1;
  std::mutex mutex_;
  std::condition_variable start_, end_;
  const std::function<void(unsigned)>* work_ = nullptr;
  unsigned unfinished_ = 0;
  std::uint64_t round_ = 0;
};

class HostBackend final : public Backend {
 public:
  static std::unique_ptr<Backend> open() { return std::make_unique<HostBackend>(); }

  std::uintptr_t context() override { return static_cast<std::uintptr_t>(getpid()); }  // a child starts its own threads
  std::string arch() override {
#if defined(__x86_64__)
    const char* const names[] = {"x86_64_v1", "x86_64_v2", "x86_64_v3", "x86_64_v4"};
    return names[level() - 1];
#else
    return "aarch64";
#endif
  }
  int fit(std::string_view arch) override {
#if defined(__x86_64__)
    if (arch.substr(0, 8) != "x86_64_v") return arch == "x86_64" ? 1 : 0;
    const int needed = arch.back() - '0';
    return needed <= level() ? needed : 0;
#else
    return arch == "aarch64";
#endif
  }
  void describe(Device& device) override { device.compute_units = cpus(); }

  void* load(const Image& image, const char* symbol, const Launch& launch) override {
    void*& library = libraries_[image.data];
    if (!library) library = open_image(image);
    auto* const kernel = static_cast<const HostKernel*>(dlsym(library, symbol));
    if (!kernel) fail("the kernel's library has no ", symbol);
    if (std::string_view(kernel->marker).substr(0, 27) != "xtune host kernel, abi 5, s")
      fail("the kernel was compiled for another version of this runtime");
    if (kernel->uses_hopper || launch.cooperative)
      fail("kernels with Hopper's instructions and cooperative launches are not exported for CPUs");
    if (bound_.emplace(library, true).second) kernel->bind(&BlockRunner::services());
    return const_cast<HostKernel*>(kernel);
  }

  int launch(void* function, const Launch& launch, void*, void** parameters) override {
    const auto& kernel = *static_cast<const HostKernel*>(function);
    const std::lock_guard<std::mutex> one_caller(launching_);
    if (!pool_ || started_in_ != getpid()) {
      started_in_ = getpid();
      static_cast<void>(pool_.release());  // after a fork, its threads are the parent's
      pool_ = std::make_unique<Pool>(static_cast<unsigned>(cpus()));
      places_ = std::vector<Place>(pool_->size());
    }
    const std::uint64_t count = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    const std::uint64_t chunk = std::clamp<std::uint64_t>(count / (std::uint64_t{pool_->size()} * 16), 1, 64);
    std::atomic<std::uint64_t> next{0};
    failure_.clear();
    const std::function<void(unsigned)> work = [&](unsigned worker) {
      std::fenv_t before;
      std::fegetenv(&before);
      std::fesetenv(FE_DFL_ENV);
      try {
        if (next < count) places_[worker].begin(kernel, launch);
        for (std::uint64_t first; (first = next.fetch_add(chunk)) < count;)
          for (std::uint64_t i = first; i < std::min(first + chunk, count); ++i)
            places_[worker].run(kernel, launch, i, parameters);
      } catch (const std::exception& error) {
        next = count;
        const std::lock_guard<std::mutex> lock(failing_);
        failure_ = error.what();
      }
      std::fesetenv(&before);
    };
    if (count == 1)
      work(0);
    else
      pool_->run(work);
    last_failure_ = failure_;
    return failure_.empty() ? 0 : 1;
  }
  std::string text(int) override { return last_failure_; }

  void encode(const TensorMap&, const void*, EncodedMap&) override { fail("CPUs have no tensor maps"); }
  std::uint64_t capture(void*) override { return reinterpret_cast<std::uintptr_t>(&this_thread_); }
  void* allocate(std::size_t bytes, void*, bool) override { return ::operator new (bytes, std::align_val_t{256}); }
  int zero(void* address, std::size_t bytes, void*) override { return std::memset(address, 0, bytes), 0; }
  long long accessible(const void*) override { return -1; }
  void select_device() override {}
  void copy(void* to, const void* from, std::size_t bytes, bool) override { std::memcpy(to, from, bytes); }
  void synchronize() override {}

 private:
  /// What one thread of the pool needs.
  struct Place {
    static constexpr std::size_t shared_bytes = std::size_t{256} << 10;
    struct Free {
      void operator()(void* memory) const { std::free(memory); }
    };
    BlockRunner runner;
    std::unique_ptr<void, Free> shared{std::aligned_alloc(1024, shared_bytes)};

    void begin(const HostKernel& kernel, const Launch& launch) {
      if (!shared || launch.shared > shared_bytes) fail("no memory for ", launch.shared, " bytes of shared memory");
      kernel.begin_launch(index_of(launch.grid), index_of(launch.block), shared.get());
    }
    void run(const HostKernel& kernel, const Launch& launch, std::uint64_t block, void* const* arguments) {
      const std::uint64_t x = launch.grid[0], y = launch.grid[1];
      const Index index{static_cast<unsigned>(block % x), static_cast<unsigned>(block / x % y),
                        static_cast<unsigned>(block / x / y)};
      if (!kernel.uses_fibers) return kernel.run_block(arguments, index);
      kernel.begin_block(index);
      runner.run(kernel, arguments, index_of(launch.block));
    }
    static Index index_of(const std::array<unsigned, 3>& values) { return {values[0], values[1], values[2]}; }
  };

  static int cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  }
#if defined(__x86_64__)
  static int level() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      return 4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return 3;
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") ? 2 : 1;
  }
#endif

  /// The loader opens it by the path of a file in memory, which stays open.
  static void* open_image(const Image& image) {
    const int file = memfd_create("kernel", MFD_CLOEXEC);
    const auto* const bytes = static_cast<const char*>(image.data);
    for (std::size_t done = 0; file >= 0 && done < image.bytes;) {
      const ssize_t wrote = ::write(file, bytes + done, image.bytes - done);
      if (wrote <= 0) fail("no memory for the kernel's library");
      done += static_cast<std::size_t>(wrote);
    }
    void* const library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) fail("the kernel was not loaded: ", dlerror());
    return library;
  }

  std::map<const void*, void*> libraries_;
  std::map<void*, bool> bound_;
  std::mutex launching_, failing_;
  std::unique_ptr<Pool> pool_;
  std::vector<Place> places_;
  pid_t started_in_ = 0;
  std::string failure_;  ///< of the launch that runs
  static inline thread_local std::string last_failure_;
  static inline thread_local const char this_thread_ = 0;
};

}  // namespace
