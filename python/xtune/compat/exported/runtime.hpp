// What every exported kernel has: the plan of a call, its memory, and the launches. Written by `xtune export`; yours to
// use and change under any licence. C++17, included by one source.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Failure(text.str());
}

/// The facts that expressions may use.
struct Device {
  std::string_view backend, name, vendor, arch;
  long long warp_size, compute_units, shared_per_block, shared_per_block_optin, shared_per_compute_unit;
  long long registers_per_block, registers_per_compute_unit, max_threads_per_block, max_threads_per_compute_unit;
  long long max_grid_x, max_grid_y, max_grid_z, max_block_x, max_block_y, max_block_z;
  long long l2_bytes, memory_bytes, clock_khz, memory_clock_khz, memory_bus_bits, max_cluster_blocks;
};

struct Image {
  const void* data;
  std::size_t bytes;
};

struct Launch {
  std::array<unsigned, 3> grid, block, cluster;  ///< cluster: zeros for none
  unsigned shared = 0;                           ///< bytes of dynamic shared memory
  bool cooperative = false;
};

/// How a kernel reads a buffer by tiles. Dimensions are in the order of the shape; strides are in elements.
struct TensorMap {
  std::size_t buffer = 0;
  bool of_scratch = false;
  int type = 0;  ///< CUtensorMapDataType
  long long element_bytes = 1;
  std::vector<long long> shape, strides, box, element_strides;  ///< strides: of all dimensions but the last
  long long swizzle = 0, l2_promotion = 128, interleave = 0;    ///< bytes
  bool nan_outside = false;
};

struct alignas(64) EncodedMap {
  unsigned char bytes[128];
};

/// Where a kernel's argument comes from.
struct Source {
  enum Kind { buffer, scalar, scratch, map, value };
  Kind kind;
  std::size_t number = 0;  ///< of the buffer, the caller's scalar, ...
  std::uint64_t bits = 0;  ///< of a value
};

/// A value of type T, if it fits.
template <class T, class Given>
Source value(Given given, bool& ok) {
  if constexpr (std::numeric_limits<T>::is_integer && std::numeric_limits<Given>::is_integer)
    ok = ok && static_cast<Given>(static_cast<T>(given)) == given && (std::is_signed_v<T> || !(given < Given(0)));
  const T typed = static_cast<T>(given);
  Source source{Source::value};
  std::memcpy(&source.bits, &typed, sizeof typed);
  return source;
}

struct Step {
  int number = 0;  ///< in the spec
  Launch launch;
  std::vector<Source> arguments;
  void* function = nullptr;
};

struct Scratch {
  std::size_t bytes = 0;
  bool zero = false;
  std::size_t offset = 0;  ///< in the stream's block
};

/// What a call does: made once for each problem and device.
struct Plan {
  std::vector<Step> steps;
  std::vector<Scratch> scratch;
  std::vector<TensorMap> maps;
  std::vector<long long> buffer_bytes;  ///< of the caller's buffers; 0: not needed
  std::size_t scratch_bytes = 0, zeroed_bytes = 0;
  std::size_t config = 0;

  /// Scratch that is zeroed lies together, in front.
  void place_scratch() {
    for (const bool zero : {true, false}) {
      for (Scratch& each : scratch) {
        if (each.zero != zero) continue;
        each.offset = scratch_bytes;
        scratch_bytes += (each.bytes + 255) / 256 * 256;
      }
      if (zero) zeroed_bytes = scratch_bytes;
    }
  }
};

constexpr int element_bytes(std::string_view type) {
  if (type == "c128") return 16;
  if (type == "f64" || type == "i64" || type == "u64" || type == "c64") return 8;
  if (type == "f32" || type == "i32" || type == "u32") return 4;
  return type == "f16" || type == "bf16" || type == "i16" || type == "u16" ? 2 : 1;
}

/// The driver's number for the elements of a tensor map (CUtensorMapDataType); types of one byte are only moved.
inline int map_type(std::string_view type, bool tf32) {
  const std::pair<std::string_view, int> known[] = {{"i16", 1},
                                                    {"u16", 1},
                                                    {"u32", 2},
                                                    {"i32", 3},
                                                    {"u64", 4},
                                                    {"c64", 4},
                                                    {"i64", 5},
                                                    {"f16", 6},
                                                    {"f64", 8},
                                                    {"bf16", 9},
                                                    {"f32", tf32 ? 11 : 7}};
  for (const auto& [name, number] : known)
    if (name == type) return number;
  return 0;
}

/// The size of an array in bytes.
inline long long bytes_of(std::string_view type, std::initializer_list<long long> extents, bool& ok) {
  long long bytes = element_bytes(type);
  for (const long long each : extents)
    if (each < 0 || __builtin_mul_overflow(bytes, each, &bytes)) ok = false;
  return bytes;
}

/// In elements, of all dimensions but the last.
inline std::vector<long long> dense_strides(std::vector<long long> shape) {
  long long stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) stride *= std::exchange(shape[i], stride);
  shape.pop_back();
  return shape;
}

/// The number of a word among those that were exported.
template <std::size_t N>
long long number_of(const char* name, const std::string_view (&words)[N], const char* word) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (word && words[i] == word) return static_cast<long long>(i);
    known += (i ? ", " : "") + std::string(words[i]);
  }
  fail("'", name, "' is ", word ? word : "null", ", and the library was exported for ", known);
}

inline void expect_rank(const char* name, int given, int wanted) {
  if (given != wanted) fail("'", name, "' has ", given, " dimensions, and the kernel takes ", wanted);
}

/// Three numbers of a launch; missing ones are `otherwise`.
inline std::array<unsigned, 3> extents(std::initializer_list<long long> given, unsigned otherwise, bool& ok) {
  std::array<unsigned, 3> result{otherwise, otherwise, otherwise};
  std::size_t i = 0;
  for (const long long each : given) {
    ok = ok && each >= 1 && each <= 0xffffffffLL;
    result[i++] = static_cast<unsigned>(each);
  }
  return result;
}

/// A vendor's driver, or this CPU. Calls are for the calling thread's current device.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::uintptr_t context() = 0;  ///< 0: none is current
  virtual std::string arch() = 0;
  /// How well code for an architecture suits this device; 0: it does not run.
  virtual int fit(std::string_view arch) = 0;
  /// Replaces the facts in which devices of one architecture differ.
  virtual void describe(Device& device) = 0;
  virtual void* load(const Image& image, const char* symbol, const Launch& launch) = 0;
  virtual int launch(void* function, const Launch& launch, void* stream, void** parameters) = 0;
  virtual std::string text(int status) = 0;
  virtual void encode(const TensorMap& map, const void* address, EncodedMap& encoded) = 0;
  virtual std::uint64_t capture(void* stream) = 0;  ///< of the graph that the stream is captured into; 0: none
  virtual void* allocate(std::size_t bytes, void* stream, bool captured) = 0;
  virtual int zero(void* address, std::size_t bytes, void* stream) = 0;
  /// Bytes that kernels may access from there on. -1: unknown; -2: memory of another device.
  virtual long long accessible(const void* address) = 0;
  // For the self-test.
  virtual void select_device() = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, bool to_device) = 0;
  virtual void synchronize() = 0;

 protected:
  void check(int status, const char* doing) {
    if (status != 0) fail(doing, ": ", text(status));
  }
};

using OpenBackend = std::unique_ptr<Backend> (*)();  ///< throws Failure with the reason

/// The first one that this machine has.
template <std::size_t N>
Backend& open_first(const OpenBackend (&open)[N]) {
  std::string why;
  for (const OpenBackend each : open) try {
      return *each().release();  // it lives until the process ends, as its launches may
    } catch (const Failure& failure) {
      why += (why.empty() ? "" : "; ") + std::string(failure.what());
    }
  throw Failure("no device: " + why);
}

/// Scratch memory: one block for each stream, which grows and is kept.
class Workspaces {
 public:
  void* block(Backend& backend, std::uintptr_t context, void* stream, std::size_t bytes) {
    struct Known {
      const Workspaces* owner = nullptr;
      Queue queue;
      Block block;
    };
    thread_local std::array<Known, 8> known;
    thread_local const char this_thread = 0;
    // The stream "2" of CUDA and HIP is another one in each thread.
    const bool per_thread = reinterpret_cast<std::uintptr_t>(stream) == 2;
    const Queue queue{context, per_thread ? &this_thread : stream, backend.capture(stream)};
    const auto order = reinterpret_cast<std::uintptr_t>(std::get<1>(queue));
    Known& last = known[(order ^ order >> 4 ^ order >> 8) % known.size()];
    if (last.owner != this || last.queue != queue || last.block.bytes < bytes)
      last = {this, queue, grown(backend, queue, stream, bytes)};
    return last.block.address;
  }

 private:
  using Queue = std::tuple<std::uintptr_t, const void*, std::uint64_t>;
  struct Block {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  Block grown(Backend& backend, const Queue& queue, void* stream, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Block& block = blocks_[queue];
    if (block.bytes >= bytes && block.address) return block;
    const std::size_t wanted = std::max({bytes, 2 * block.bytes, std::size_t{64} << 10});
    // An older block stays: launches in flight and graphs may use it.
    block = {backend.allocate(wanted, stream, std::get<2>(queue) != 0), wanted};
    return block;
  }
  std::mutex mutex_;
  std::map<Queue, Block> blocks_;
};

/// The calls of one kernel. Kernel has its tables: NAME.cpp.
template <class Kernel>
class Calls {
 public:
  using Key = typename Kernel::Key;
  static constexpr std::size_t max_arguments = 64, max_maps = 16;

  Backend& backend() { return backend_; }

  /// buffers, scalars: what the caller passes, in the order of its parameters.
  void run(void* stream, const Key& key, const void* const* buffers, const void* const* scalars) {
    const std::uintptr_t context = backend_.context();
    Entry& entry = find(context, key);
    const Plan& plan = *entry.plan;
    if (!entry.is_checked || !std::equal(entry.checked.begin(), entry.checked.end(), buffers)) check(entry, buffers);
    char* block = nullptr;
    if (plan.scratch_bytes != 0)
      block = static_cast<char*>(workspaces_.block(backend_, context, stream, plan.scratch_bytes));
    if (plan.zeroed_bytes != 0) require(backend_.zero(block, plan.zeroed_bytes, stream), "zeroing scratch");
    void* scratch[max_arguments];
    for (std::size_t i = 0; i < plan.scratch.size(); ++i) scratch[i] = block + plan.scratch[i].offset;
    EncodedMap maps[max_maps];
    for (std::size_t i = 0; i < plan.maps.size(); ++i) {
      const std::size_t of = plan.maps[i].buffer;
      maps[i] = encoded(plan, i, plan.maps[i].of_scratch ? scratch[of] : buffers[of]);
    }
    for (const Step& step : plan.steps) {
      void* parameters[max_arguments];
      void** parameter = parameters;
      for (const Source& source : step.arguments) {
        const std::size_t i = source.number;
        const void* const from = source.kind == Source::buffer    ? static_cast<const void*>(buffers + i)
                                 : source.kind == Source::scalar  ? scalars[i]
                                 : source.kind == Source::scratch ? static_cast<const void*>(scratch + i)
                                 : source.kind == Source::map     ? static_cast<const void*>(maps + i)
                                                                  : &source.bits;
        *parameter++ = const_cast<void*>(from);
      }
      require(backend_.launch(step.function, step.launch, stream, parameters), "launching the kernel");
    }
  }

  /// The number of the configuration that a call runs.
  std::size_t config(const Key& key) { return find(backend_.context(), key).plan->config; }

 private:
  struct Entry {
    const Calls* owner = nullptr;
    std::uintptr_t context = 0;
    Key key{};
    const Plan* plan = nullptr;
    bool is_checked = false;
    std::array<const void*, Kernel::buffers> checked{};  ///< the last call's buffers, which were valid
  };
  struct KnownMap {
    const Plan* plan = nullptr;
    std::size_t number = 0;
    const void* address = nullptr;
    EncodedMap encoded;
  };

  void require(int status, const char* doing) {
    if (status != 0) fail(doing, ": ", backend_.text(status));
  }

  Entry& find(std::uintptr_t context, const Key& key) {
    thread_local std::array<Entry, 16> known;
    std::uint64_t hash = context;
    for (const long long each : key) hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x9e3779b97f4a7c15u;
    Entry& entry = known[hash >> 60];
    if (entry.owner != this || entry.context != context || entry.key != key) {
      const Plan& plan = plan_of(context, key);
      entry = {this, context, key, &plan, false, {}};
    }
    return entry;
  }

  const Plan& plan_of(std::uintptr_t context, const Key& key) {
    if (context == 0) fail("this thread has no current device: call cudaSetDevice and cudaFree(0), or hipSetDevice");
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Plan>& plan = plans_[{context, key}];
    if (!plan) plan = std::make_unique<Plan>(make(key));
    return *plan;
  }

  /// The architecture of the library that suits this device best.
  std::size_t own_arch() {
    int best = 0;
    std::size_t found = 0;
    std::string names;
    for (std::size_t i = 0; i < std::size(Kernel::archs); ++i) {
      names += (i ? ", " : "") + std::string(Kernel::archs[i].arch);
      const int fit = backend_.fit(Kernel::archs[i].arch);
      if (fit > best) best = fit, found = i;
    }
    if (best == 0) fail("this device is ", backend_.arch(), ", and the library has code for ", names);
    return found;
  }

  /// The first configuration that may run: the one measured for this problem, that of the tree, then the others.
  Plan make(const Key& key) {
    const std::size_t arch = own_arch();
    Device device = Kernel::archs[arch].device;
    backend_.describe(device);
    std::vector<std::size_t> order;
    for (const auto& answer : Kernel::answers)
      if (answer.arch == arch && Kernel::problems[answer.problem] == key) order.push_back(answer.config);
    order.push_back(Kernel::tree(arch, key, device));
    for (std::size_t i = 0; i < std::size(Kernel::configs); ++i) order.push_back(i);
    for (const std::size_t config : order) {
      const typename Kernel::Names names(key, Kernel::configs[config], device);
      if (!names.allowed()) continue;
      for (const auto& build : Kernel::builds) {
        if (build.arch != arch || build.config != config) continue;
        const typename Kernel::Names own(Kernel::problems[build.problem], Kernel::configs[config], device);
        if (!names.same_code(own)) continue;
        Plan plan = names.plan();
        plan.config = config;
        const auto has = [&](const Step& step) { return build.symbols[step.number] != nullptr; };
        if (!names.ok || plan.steps.empty() || !std::all_of(plan.steps.begin(), plan.steps.end(), has)) continue;
        for (Step& step : plan.steps)
          step.function = backend_.load(Kernel::images[build.image], build.symbols[step.number], step.launch);
        plan.place_scratch();
        return plan;
      }
    }
    fail("nothing in this library runs ", Kernel::text(key), " on ", backend_.arch(), "; it was exported for ",
         Kernel::cases);
  }

  void check(Entry& entry, const void* const* buffers) {
    for (std::size_t i = 0; i < Kernel::buffers; ++i) {
      const long long needed = entry.plan->buffer_bytes[i];
      if (needed == 0) continue;
      const auto refuse = [&](const auto&... why) { fail("'", Kernel::buffer_names[i], "' ", why...); };
      if (!buffers[i]) refuse("is a null pointer");
      const long long bytes = backend_.accessible(buffers[i]);
      if (bytes == -2) refuse("is memory of another device than the current one");
      if (bytes == 0) refuse("is not memory of the device: copy it there");
      if (bytes > 0 && bytes < needed) refuse("has ", bytes, " bytes from its address on, and ", needed, " are needed");
      if (reinterpret_cast<std::uintptr_t>(buffers[i]) % Kernel::alignments[i] != 0)
        refuse("is not aligned to its type");
    }
    std::copy_n(buffers, Kernel::buffers, entry.checked.begin());
    entry.is_checked = true;
  }

  /// Made once for each address, as far as the thread remembers it.
  const EncodedMap& encoded(const Plan& plan, std::size_t number, const void* address) {
    thread_local std::vector<KnownMap> known(256);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    KnownMap& map = known[(at >> 8 ^ at >> 16 ^ number * 37) % known.size()];
    if (map.plan != &plan || map.number != number || map.address != address) {
      backend_.encode(plan.maps[number], address, map.encoded);
      map.plan = &plan, map.number = number, map.address = address;
    }
    return map.encoded;
  }

  Backend& backend_ = open_first(Kernel::backends);
  Workspaces workspaces_;
  std::mutex mutex_;
  std::map<std::pair<std::uintptr_t, Key>, std::unique_ptr<Plan>> plans_;
};

}  // namespace
