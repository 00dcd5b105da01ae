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

class CudaBackend final : public GpuBackend {
 public:
  static std::unique_ptr<Backend> open() { return std::make_unique<CudaBackend>(); }

  CudaBackend() {
    library_.get(init_, "cuInit");
    library_.get(error_string_, "cuGetErrorString");
    library_.get(device_count_, "cuDeviceGetCount");
    library_.get(attribute_, "cuDeviceGetAttribute");
    library_.get(retain_, "cuDevicePrimaryCtxRetain");
    library_.get(set_context_, "cuCtxSetCurrent");
    library_.get(get_context_, "cuCtxGetCurrent");
    library_.get(get_device_, "cuCtxGetDevice");
    library_.get(synchronize_, "cuCtxSynchronize");
    library_.get(pointer_attribute_, "cuPointerGetAttribute");
    library_.get(range_, "cuMemGetAddressRange_v2");
    library_.get(is_capturing_, "cuStreamIsCapturing");
    library_.get(allocate_, "cuMemAlloc_v2");
    library_.get(set_, "cuMemsetD8Async");
    library_.get(to_device_, "cuMemcpyHtoD_v2");
    library_.get(to_host_, "cuMemcpyDtoH_v2");
    library_.get(load_, "cuModuleLoadData");
    library_.get(function_, "cuModuleGetFunction");
    library_.get(set_attribute_, "cuFuncSetAttribute");
    library_.get(launch_, "cuLaunchKernel");
    library_.get(launch_cooperative_, "cuLaunchCooperativeKernel");
    library_.find(launch_ex_, "cuLaunchKernelEx");           // CUDA 11.8
    library_.find(context_id_, "cuCtxGetId");                // CUDA 12
    library_.find(encode_, "cuTensorMapEncodeTiled");        // CUDA 12
    library_.find(allocate_ordered_, "cuMemAllocAsync");     // CUDA 11.2
    library_.find(capture_info_, "cuStreamGetCaptureInfo");  // for the graph's number
    library_.find(exchange_, "cuThreadExchangeStreamCaptureMode");
    check(init_(0), "starting the CUDA driver");
    int devices = 0;
    check(device_count_(&devices), "counting CUDA devices");
    if (devices == 0) fail("the CUDA driver has no device");
  }

  /// A new context may get the address of a destroyed one, so its number is in the bits that no address has.
  std::uintptr_t context() override {
    void* context = nullptr;
    if (get_context_(&context) != 0 || !context) return 0;
    unsigned long long id = 0;
    if (context_id_ && context_id_(context, &id) != 0) return 0;
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
        return launch_cooperative_(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters);
      return launch_(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters, nullptr);
    }
    CudaLaunchAttribute attributes[2]{};
    attributes[0].id = 4;
    std::copy(l.cluster.begin(), l.cluster.end(), attributes[0].value.cluster);
    attributes[1].id = 2;
    attributes[1].value.cooperative = 1;
    const CudaLaunchConfig config{{g[0], g[1], g[2]}, {b[0], b[1], b[2]},     l.shared, stream,
                                  attributes,         l.cooperative ? 2u : 1u};
    return launch_ex_(&config, function, parameters, nullptr);
  }

  std::string text(int status) override {
    const char* words = nullptr;
    error_string_(status, &words);
    return (words ? words : "unknown error") + std::string(" (CUDA ") + std::to_string(status) + ")";
  }

  void encode(const TensorMap& map, const void* address, EncodedMap& encoded) override {
    if (!encode_) fail("tensor maps need a driver of CUDA 12 or newer");
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
    check(encode_(encoded.bytes, map.type, static_cast<unsigned>(rank), const_cast<void*>(address), shape, strides, box,
                  element_strides, interleave, swizzle, l2, map.nan_outside ? 1 : 0),
          "making a tensor map");
  }

  std::uint64_t capture(void* stream) override {
    int status = 0;
    std::uint64_t id = 0;
    const int result = capture_info_ ? capture_info_(stream, &status, &id) : is_capturing_(stream, &status);
    if (result != 0) return ~std::uint64_t{0};
    return status == 0 ? 0 : std::max<std::uint64_t>(id, 1);
  }

  void* allocate(std::size_t bytes, void* stream, bool captured) override {
    constexpr int not_supported = 801;
    CudaAddress address = 0;
    int status = not_supported;
    if (!captured && allocate_ordered_) status = allocate_ordered_(&address, bytes, stream);
    if (status == not_supported) {
      int mode = 2;  // relaxed, for this thread: the call does not touch the stream
      const bool exchanged = captured && exchange_ && exchange_(&mode) == 0;
      status = allocate_(&address, bytes);
      if (exchanged) exchange_(&mode);
    }
    check(status, "allocating scratch");
    return reinterpret_cast<void*>(address);
  }

  int zero(void* address, std::size_t bytes, void* stream) override {
    return set_(reinterpret_cast<CudaAddress>(address), 0, bytes, stream);
  }

  long long accessible(const void* address) override {
    const auto at = reinterpret_cast<CudaAddress>(address);
    unsigned type = 0, managed = 0;
    int ordinal = 0, device = 0;
    const int status = pointer_attribute_(&type, 2, at);
    if (status == 1) return fact(88) != 0 ? -1 : 0;  // not CUDA's memory, which some devices can access
    CudaAddress base = 0;
    std::size_t bytes = 0;
    if (status != 0 || range_(&base, &bytes, at) != 0) return -1;
    pointer_attribute_(&managed, 8, at);
    if (type == 2 && !managed && pointer_attribute_(&ordinal, 9, at) == 0 && get_device_(&device) == 0 &&
        ordinal != device)
      return -2;
    return static_cast<long long>(bytes - (at - base));
  }

  void select_device() override {
    void* context = nullptr;
    check(retain_(&context, 0), "opening CUDA device 0");
    check(set_context_(context), "opening CUDA device 0");
  }
  void copy(void* to, const void* from, std::size_t bytes, bool to_device) override {
    check(to_device ? to_device_(reinterpret_cast<CudaAddress>(to), from, bytes)
                    : to_host_(to, reinterpret_cast<CudaAddress>(from), bytes),
          "copying");
  }
  void synchronize() override { check(synchronize_(), "waiting for the device"); }

 protected:
  void* load_module(const void* image) override {
    void* module = nullptr;
    check(load_(&module, image), "loading the kernel");
    return module;
  }
  void* find_function(void* module, const char* symbol) override {
    void* function = nullptr;
    check(function_(&function, module, symbol), "finding the kernel");
    return function;
  }
  void prepare(void* function, const Launch& launch, unsigned allowed) override {
    if (launch.shared > allowed)
      check(set_attribute_(function, 8, static_cast<int>(launch.shared)), "opting in to large shared memory");
    if (launch.cluster[0] == 0) return;
    if (!launch_ex_) fail("clusters need a driver of CUDA 11.8 or newer");
    if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 8)
      check(set_attribute_(function, 14, 1), "opting in to large clusters");
  }

 private:
  int fact(int attribute) {
    int device = 0, value = 0;
    check(get_device_(&device), "finding the current device");
    check(attribute_(&value, attribute, device), "asking for the device's facts");
    return value;
  }
  int capability() { return fact(75) * 10 + fact(76); }

  const Library library_{"libcuda.so.1", "libcuda.so"};
  int (*init_)(unsigned);
  int (*error_string_)(int, const char**);
  int (*device_count_)(int*);
  int (*attribute_)(int*, int, int);
  int (*retain_)(void**, int);
  int (*set_context_)(void*);
  int (*get_context_)(void**);
  int (*get_device_)(int*);
  int (*synchronize_)();
  int (*pointer_attribute_)(void*, int, CudaAddress);
  int (*range_)(CudaAddress*, std::size_t*, CudaAddress);
  int (*is_capturing_)(void*, int*);
  int (*allocate_)(CudaAddress*, std::size_t);
  int (*set_)(CudaAddress, unsigned char, std::size_t, void*);
  int (*to_device_)(CudaAddress, const void*, std::size_t);
  int (*to_host_)(void*, CudaAddress, std::size_t);
  int (*load_)(void**, const void*);
  int (*function_)(void**, void*, const char*);
  int (*set_attribute_)(void*, int, int);
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*launch_cooperative_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                             void**);
  int (*launch_ex_)(const CudaLaunchConfig*, void*, void**, void**);
  int (*context_id_)(void*, unsigned long long*);
  int (*encode_)(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*, const unsigned*,
                 const unsigned*, int, int, int, int);
  int (*allocate_ordered_)(CudaAddress*, std::size_t, void*);
  int (*capture_info_)(void*, int*, std::uint64_t*);
  int (*exchange_)(int*);
};

}  // namespace
