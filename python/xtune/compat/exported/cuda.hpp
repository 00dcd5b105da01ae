// The CUDA driver, opened at run time: no CUDA header or library is needed to build. Written by `xtune export`; yours
// to use and change under any licence.
#pragma once

#include "driver.hpp"

namespace {

// Types and values of the CUDA Driver API, 11.0 or newer.
using CudaAddress = unsigned long long;

struct CudaLaunchAttribute {
  int id;  // 2: cooperative, 4: cluster dimension
  char pad[4];
  union {
    alignas(8) char bytes[64];
    unsigned cluster[3];
    int cooperative;
  } value;
};

struct CudaLaunchConfig {
  unsigned grid[3], block[3], shared;
  void* stream;
  CudaLaunchAttribute* attributes;
  unsigned count;
};

/// CALL(name, symbol, parameters): what every driver has. All return a status; 0 is success.
#define CUDA_CALLS(CALL)                                                                                     \
  CALL(init, cuInit, (unsigned))                                                                             \
  CALL(error_string, cuGetErrorString, (int, const char**))                                                  \
  CALL(device_count, cuDeviceGetCount, (int*))                                                               \
  CALL(attribute, cuDeviceGetAttribute, (int*, int, int))                                                    \
  CALL(retain, cuDevicePrimaryCtxRetain, (void**, int))                                                      \
  CALL(set_context, cuCtxSetCurrent, (void*))                                                                \
  CALL(get_context, cuCtxGetCurrent, (void**))                                                               \
  CALL(get_device, cuCtxGetDevice, (int*))                                                                   \
  CALL(synchronize, cuCtxSynchronize, ())                                                                    \
  CALL(pointer_attribute, cuPointerGetAttribute, (void*, int, CudaAddress))                                  \
  CALL(range, cuMemGetAddressRange_v2, (CudaAddress*, std::size_t*, CudaAddress))                            \
  CALL(is_capturing, cuStreamIsCapturing, (void*, int*))                                                     \
  CALL(allocate, cuMemAlloc_v2, (CudaAddress*, std::size_t))                                                 \
  CALL(set, cuMemsetD8Async, (CudaAddress, unsigned char, std::size_t, void*))                               \
  CALL(to_device, cuMemcpyHtoD_v2, (CudaAddress, const void*, std::size_t))                                  \
  CALL(to_host, cuMemcpyDtoH_v2, (void*, CudaAddress, std::size_t))                                          \
  CALL(load, cuModuleLoadData, (void**, const void*))                                                        \
  CALL(function, cuModuleGetFunction, (void**, void*, const char*))                                          \
  CALL(set_attribute, cuFuncSetAttribute, (void*, int, int))                                                 \
  CALL(launch, cuLaunchKernel,                                                                               \
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)) \
  CALL(launch_cooperative, cuLaunchCooperativeKernel,                                                        \
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**))

/// What older ones lack, which is null then.
#define CUDA_OPTIONAL_CALLS(CALL)                                                                                  \
  CALL(launch_ex, cuLaunchKernelEx, (const CudaLaunchConfig*, void*, void**, void**))                              \
  CALL(context_id, cuCtxGetId, (void*, unsigned long long*))                                                       \
  CALL(encode, cuTensorMapEncodeTiled,                                                                             \
       (void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*, const unsigned*, const unsigned*, \
        int, int, int, int))                                                                                       \
  CALL(allocate_ordered, cuMemAllocAsync, (CudaAddress*, std::size_t, void*))                                      \
  CALL(capture_info, cuStreamGetCaptureInfo, (void*, int*, std::uint64_t*))                                        \
  CALL(exchange, cuThreadExchangeStreamCaptureMode, (int*))

struct CudaCalls {
#define DECLARE(name, symbol, parameters) int(*name) parameters = nullptr;
  CUDA_CALLS(DECLARE)
  CUDA_OPTIONAL_CALLS(DECLARE)
#undef DECLARE

  CudaCalls() {
    const Library library{"libcuda.so.1", "libcuda.so"};
#define GET(name, symbol, parameters) library.get(name, #symbol);
#define FIND(name, symbol, parameters) library.find(name, #symbol);
    CUDA_CALLS(GET)
    CUDA_OPTIONAL_CALLS(FIND)
#undef GET
#undef FIND
  }
};

class CudaBackend final : public GpuBackend {
 public:
  static std::unique_ptr<Backend> open() { return std::make_unique<CudaBackend>(); }

  CudaBackend() {
    check(cuda_.init(0), "starting the CUDA driver");
    int devices = 0;
    check(cuda_.device_count(&devices), "counting CUDA devices");
    if (devices == 0) fail("the CUDA driver has no device");
  }

  /// A new context may get the address of a destroyed one, so its number is in the bits that no address has.
  std::uintptr_t context() override {
    void* context = nullptr;
    if (cuda_.get_context(&context) != 0 || !context) return 0;
    unsigned long long id = 0;
    if (cuda_.context_id && cuda_.context_id(context, &id) != 0) return 0;
    return reinterpret_cast<std::uintptr_t>(context) ^ static_cast<std::uintptr_t>(id) << 48;
  }

  std::string arch() override { return "sm_" + std::to_string(capability()); }

  int fit(std::string_view arch) override {
    if (arch.substr(0, 3) != "sm_") return 0;
    const int own = capability(), code = std::atoi(std::string(arch.substr(3)).c_str());
    if (arch.back() == 'a') return code == own ? 1000 : 0;
    return code / 10 == own / 10 && code <= own ? 100 + code % 10 : 0;
  }

  void describe(Device& device) override {
    device.compute_units = fact(16);
    device.shared_per_block_optin = fact(97);
    device.shared_per_compute_unit = fact(81);
    device.registers_per_compute_unit = fact(82);
    device.max_threads_per_compute_unit = fact(39);
    device.l2_bytes = fact(38);
  }

  int launch(void* function, const Launch& l, void* stream, void** parameters) override {
    const auto &g = l.grid, &b = l.block;
    if (l.cluster[0] == 0) {
      if (l.cooperative)
        return cuda_.launch_cooperative(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters);
      return cuda_.launch(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters, nullptr);
    }
    CudaLaunchAttribute attributes[2]{};
    attributes[0].id = 4;
    std::copy(l.cluster.begin(), l.cluster.end(), attributes[0].value.cluster);
    attributes[1].id = 2;
    attributes[1].value.cooperative = 1;
    const CudaLaunchConfig config{{g[0], g[1], g[2]}, {b[0], b[1], b[2]},     l.shared, stream,
                                  attributes,         l.cooperative ? 2u : 1u};
    return cuda_.launch_ex(&config, function, parameters, nullptr);
  }

  std::string text(int status) override {
    const char* words = nullptr;
    cuda_.error_string(status, &words);
    return (words ? words : "unknown error") + std::string(" (CUDA ") + std::to_string(status) + ")";
  }

  void encode(const TensorMap& map, const void* address, EncodedMap& encoded) override {
    if (!cuda_.encode) fail("tensor maps need a driver of CUDA 12 or newer");
    std::uint64_t shape[5]{}, strides[5]{};
    unsigned box[5]{}, element_strides[5]{};
    const std::size_t rank = map.shape.size();
    for (std::size_t i = 0; i < rank; ++i) {  // the driver's first dimension is the contiguous one
      const std::size_t from = rank - 1 - i;
      shape[i] = static_cast<std::uint64_t>(map.shape[from]);
      box[i] = static_cast<unsigned>(map.box[from]);
      element_strides[i] = static_cast<unsigned>(map.element_strides[from]);
      if (from > 0) strides[i] = static_cast<std::uint64_t>(map.strides[from - 1] * map.element_bytes);
    }
    const int interleave = static_cast<int>(map.interleave / 16);
    const int swizzle = map.swizzle == 32 ? 1 : map.swizzle == 64 ? 2 : map.swizzle == 128 ? 3 : 0;
    const int l2 = map.l2_promotion == 64 ? 1 : map.l2_promotion == 128 ? 2 : map.l2_promotion == 256 ? 3 : 0;
    check(cuda_.encode(encoded.bytes, map.type, static_cast<unsigned>(rank), const_cast<void*>(address), shape, strides,
                       box, element_strides, interleave, swizzle, l2, map.nan_outside ? 1 : 0),
          "making a tensor map");
  }

  std::uint64_t capture(void* stream) override {
    int status = 0;
    std::uint64_t id = 0;
    const int result =
        cuda_.capture_info ? cuda_.capture_info(stream, &status, &id) : cuda_.is_capturing(stream, &status);
    if (result != 0) return ~std::uint64_t{0};
    return status == 0 ? 0 : std::max<std::uint64_t>(id, 1);
  }

  void* allocate(std::size_t bytes, void* stream, bool captured) override {
    constexpr int not_supported = 801;
    CudaAddress address = 0;
    int status = not_supported;
    if (!captured && cuda_.allocate_ordered) status = cuda_.allocate_ordered(&address, bytes, stream);
    if (status == not_supported) {
      int mode = 2;  // relaxed, for this thread: the call does not touch the stream
      const bool exchanged = captured && cuda_.exchange && cuda_.exchange(&mode) == 0;
      status = cuda_.allocate(&address, bytes);
      if (exchanged) cuda_.exchange(&mode);
    }
    check(status, "allocating scratch");
    return reinterpret_cast<void*>(address);
  }

  int zero(void* address, std::size_t bytes, void* stream) override {
    return cuda_.set(reinterpret_cast<CudaAddress>(address), 0, bytes, stream);
  }

  long long accessible(const void* address) override {
    const auto at = reinterpret_cast<CudaAddress>(address);
    unsigned type = 0, managed = 0;
    int ordinal = 0, device = 0;
    const int status = cuda_.pointer_attribute(&type, 2, at);
    if (status == 1) return fact(88) != 0 ? -1 : 0;  // not CUDA's memory, which some devices can access
    CudaAddress base = 0;
    std::size_t bytes = 0;
    if (status != 0 || cuda_.range(&base, &bytes, at) != 0) return -1;
    cuda_.pointer_attribute(&managed, 8, at);
    if (type == 2 && !managed && cuda_.pointer_attribute(&ordinal, 9, at) == 0 && cuda_.get_device(&device) == 0 &&
        ordinal != device)
      return -2;
    return static_cast<long long>(bytes - (at - base));
  }

  void select_device() override {
    void* context = nullptr;
    check(cuda_.retain(&context, 0), "opening CUDA device 0");
    check(cuda_.set_context(context), "opening CUDA device 0");
  }
  void copy(void* to, const void* from, std::size_t bytes, bool to_device) override {
    check(to_device ? cuda_.to_device(reinterpret_cast<CudaAddress>(to), from, bytes)
                    : cuda_.to_host(to, reinterpret_cast<CudaAddress>(from), bytes),
          "copying");
  }
  void synchronize() override { check(cuda_.synchronize(), "waiting for the device"); }

 protected:
  void* load_module(const void* image) override {
    void* module = nullptr;
    check(cuda_.load(&module, image), "loading the kernel");
    return module;
  }
  void* find_function(void* module, const char* symbol) override {
    void* function = nullptr;
    check(cuda_.function(&function, module, symbol), "finding the kernel");
    return function;
  }
  void prepare(void* function, const Launch& launch, unsigned allowed) override {
    if (launch.shared > allowed)
      check(cuda_.set_attribute(function, 8, static_cast<int>(launch.shared)), "opting in to large shared memory");
    if (launch.cluster[0] == 0) return;
    if (!cuda_.launch_ex) fail("clusters need a driver of CUDA 11.8 or newer");
    if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 8)
      check(cuda_.set_attribute(function, 14, 1), "opting in to large clusters");
  }

 private:
  int fact(int attribute) {
    int device = 0, value = 0;
    check(cuda_.get_device(&device), "finding the current device");
    check(cuda_.attribute(&value, attribute, device), "asking for the device's facts");
    return value;
  }
  int capability() { return fact(75) * 10 + fact(76); }

  const CudaCalls cuda_;
};

}  // namespace
