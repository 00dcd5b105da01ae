// A few driver calls that concern the caller's context, declared by hand so that one build serves every vendor.
#include "api/application_memory.hpp"

#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/backend.hpp"
#include "base/dynamic_library.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

[[noreturn]] void refuse(const std::string& argument, const std::string& what) {
  throw Error(ErrorKind::invalid_argument, "the data of '" + argument + "': " + what);
}

void check_size(const std::string& argument, const void* pointer, std::uintptr_t base, std::size_t size,
                std::size_t bytes) {
  const std::size_t behind = size - (reinterpret_cast<std::uintptr_t>(pointer) - base);
  if (behind < bytes)
    refuse(argument,
           fmt::format("{} bytes are asked for, and the allocation has {} from this pointer on", bytes, behind));
}

/// The part of the CUDA driver API (cuda.h) that this file needs; a Context is a CUcontext.
struct Cuda {
  using Context = void*;
  using Pointer = unsigned long long;
  static constexpr int attribute_context = 1, attribute_memory_type = 2;
  static constexpr unsigned device_memory = 2;
  DynamicLibrary library = DynamicLibrary::open({"libcuda.so.1"});
  int (*get_current)(Context*) = nullptr;
  int (*set_current)(Context) = nullptr;
  int (*get_device)(int*) = nullptr;
  int (*synchronize)() = nullptr;
  int (*attribute)(void*, int, Pointer) = nullptr;
  int (*address_range)(Pointer*, std::size_t*, Pointer) = nullptr;
  int (*copy_to_host)(void*, Pointer, std::size_t) = nullptr;

  Cuda() {
    library.keep_resident();
    library.get("cuCtxGetCurrent", get_current);
    library.get("cuCtxSetCurrent", set_current);
    library.get("cuCtxGetDevice", get_device);
    library.get("cuCtxSynchronize", synchronize);
    library.get("cuPointerGetAttribute", attribute);
    library.get("cuMemGetAddressRange_v2", address_range);
    library.get("cuMemcpyDtoH_v2", copy_to_host);
  }
  static const Cuda& get() {
    static const Cuda calls;
    return calls;
  }
  Context current() const {
    Context context = nullptr;
    return get_current(&context) == 0 ? context : nullptr;
  }

  void read(const std::string& argument, const void* from, void* to, std::size_t bytes) const {
    const auto pointer = static_cast<Pointer>(reinterpret_cast<std::uintptr_t>(from));
    unsigned type = 0;
    if (attribute(&type, attribute_memory_type, pointer) != 0 || type != device_memory)
      refuse(argument, "this is no CUDA device pointer; host data is given as a vector or a span");
    // The thread may not have made the pointer's context its own yet.
    Context own = nullptr;
    const Context before = current();
    if (attribute(&own, attribute_context, pointer) == 0 && own != nullptr && own != before) set_current(own);
    Pointer base = 0;
    std::size_t size = 0;
    const bool known = address_range(&base, &size, pointer) == 0;
    int status = 0;
    try {
      if (known) check_size(argument, from, static_cast<std::uintptr_t>(base), size, bytes);
      status = synchronize();
      if (status == 0) status = copy_to_host(to, pointer, bytes);
    } catch (...) {
      set_current(before);
      throw;
    }
    set_current(before);
    if (status != 0) refuse(argument, fmt::format("the CUDA driver cannot copy it (error {})", status));
  }
};

/// The same of HIP's runtime on AMD.
struct Hip {
  static constexpr int device_to_host = 2;
  DynamicLibrary library = DynamicLibrary::open(
      {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"});
  int (*get_device)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*synchronize)() = nullptr;
  int (*address_range)(void**, std::size_t*, void*) = nullptr;
  int (*copy)(void*, const void*, std::size_t, int) = nullptr;

  Hip() {
    library.keep_resident();
    library.get("hipGetDevice", get_device);
    library.get("hipSetDevice", set_device);
    library.get("hipDeviceSynchronize", synchronize);
    library.get("hipMemGetAddressRange", address_range);
    library.get("hipMemcpy", copy);
  }
  static const Hip& get() {
    static const Hip calls;
    return calls;
  }
  void read(const std::string& argument, const void* from, void* to, std::size_t bytes) const {
    void* base = nullptr;
    std::size_t size = 0;
    if (address_range(&base, &size, const_cast<void*>(from)) != 0)
      refuse(argument, "this is no HIP device pointer; host data is given as a vector or a span");
    check_size(argument, from, reinterpret_cast<std::uintptr_t>(base), size, bytes);
    int status = synchronize();
    if (status == 0) status = copy(to, from, bytes, device_to_host);
    if (status != 0) refuse(argument, fmt::format("HIP cannot copy it (error {})", status));
  }
};

enum class Driver { none, cuda, hip };

Driver driver_of(const std::string& backend) {
  if (backend == "cuda") return Driver::cuda;
  if (backend != "hip") return Driver::none;
#if defined(XTUNE_HIP_NVIDIA) && XTUNE_HIP_NVIDIA
  return Driver::cuda;
#else
  return Driver::hip;
#endif
}

/// The system reads for us: a wild pointer is an error then, not a fault.
void read_own_memory(const std::string& argument, const void* from, void* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
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
    refuse(argument, fmt::format("{} of its {} bytes lie in no memory of this process", bytes - done, bytes));
  }
}

}  // namespace

std::vector<std::byte> read_application_memory(const std::string& backend, const std::string& argument,
                                               const void* pointer, std::size_t bytes) {
  if (pointer == nullptr) refuse(argument, "the pointer is null");
  std::vector<std::byte> copy(bytes);
  if (bytes == 0) return copy;
  switch (driver_of(backend)) {
    case Driver::cuda:
      Cuda::get().read(argument, pointer, copy.data(), bytes);
      break;
    case Driver::hip:
      Hip::get().read(argument, pointer, copy.data(), bytes);
      break;
    case Driver::none:
      read_own_memory(argument, pointer, copy.data(), bytes);
      break;
  }
  return copy;
}

std::optional<int> current_device(const std::string& backend) try {
  int device = 0;
  const Driver driver = driver_of(backend);
  if (driver == Driver::cuda && Cuda::get().current() != nullptr && Cuda::get().get_device(&device) == 0) return device;
  if (driver == Driver::hip && Hip::get().get_device(&device) == 0) return device;
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

CurrentContext::CurrentContext(std::string backend) : backend_(std::move(backend)) {
  if (driver_of(backend_) == Driver::cuda) context_ = Cuda::get().current();
  if (driver_of(backend_) == Driver::hip) device_ = current_device(backend_);
}

CurrentContext::~CurrentContext() {
  if (driver_of(backend_) == Driver::cuda) Cuda::get().set_current(context_);
  if (driver_of(backend_) == Driver::hip && device_) Hip::get().set_device(*device_);
}

}  // namespace xtune
