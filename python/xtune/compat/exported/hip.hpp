// AMD's HIP, opened at run time: no ROCm header or library is needed to build. Written by `xtune export`; yours to use
// and change under any licence.
#pragma once

#include "driver.hpp"

namespace {

class HipBackend final : public GpuBackend {
 public:
  static std::unique_ptr<Backend> open() { return std::make_unique<HipBackend>(); }

  HipBackend() {
    library_.get(init_, "hipInit");
    library_.get(error_string_, "hipGetErrorString");
    library_.get(device_count_, "hipGetDeviceCount");
    library_.get(get_device_, "hipGetDevice");
    library_.get(set_device_, "hipSetDevice");
    library_.get(attribute_, "hipDeviceGetAttribute");
    library_.get(synchronize_, "hipDeviceSynchronize");
    library_.get(range_, "hipMemGetAddressRange");
    library_.get(last_error_, "hipGetLastError");
    library_.get(allocate_, "hipMalloc");
    library_.get(set_, "hipMemsetAsync");
    library_.get(copy_, "hipMemcpy");
    library_.get(load_, "hipModuleLoadData");
    library_.get(function_, "hipModuleGetFunction");
    library_.get(launch_, "hipModuleLaunchKernel");
    library_.find(launch_cooperative_, "hipModuleLaunchCooperativeKernel");
    library_.find(allocate_ordered_, "hipMallocAsync");
    library_.find(capture_info_, "hipStreamGetCaptureInfo");
    library_.find(exchange_, "hipThreadExchangeStreamCaptureMode");
    library_.find(properties_, "hipGetDevicePropertiesR0600");
    if (!properties_) library_.get(properties_, "hipGetDeviceProperties");
    check(init_(0), "starting HIP");
    int devices = 0;
    check(device_count_(&devices), "counting HIP devices");
    if (devices == 0) fail("HIP has no device");
  }

  /// The current device stands for its context.
  std::uintptr_t context() override {
    int device = 0;
    return get_device_(&device) == 0 ? static_cast<std::uintptr_t>(device) + 1 : 0;
  }

  /// "gfx942:sramecc+:xnack-". Where it lies in the properties depends on the version of HIP.
  std::string arch() override {
    int device = 0;
    std::vector<char> properties(16384);
    check(get_device_(&device), "finding the current device");
    check(properties_(properties.data(), device), "asking for the device's architecture");
    const std::string_view mark = "gfx";
    const auto found = std::search(properties.begin(), properties.end(), mark.begin(), mark.end());
    return found == properties.end() ? "unknown" : &*found;
  }

  /// The processor, and the features that the code names.
  int fit(std::string_view arch) override {
    const std::string own = this->arch() + ":";
    int features = 0;
    for (std::size_t begin = 0; begin <= arch.size(); ++features) {
      const std::size_t end = std::min(arch.find(':', begin), arch.size());
      const std::string word = std::string(arch.substr(begin, end - begin)) + ":";
      const std::size_t at = features == 0 ? (own.rfind(word, 0) == 0 ? 0 : own.npos) : own.find(":" + word);
      if (at == own.npos) return 0;
      begin = end + 1;
    }
    return features;
  }

  void describe(Device& device) override { device.compute_units = fact(63); }

  int launch(void* function, const Launch& l, void* stream, void** parameters) override {
    const auto &g = l.grid, &b = l.block;
    if (l.cooperative)
      return launch_cooperative_(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters);
    return launch_(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters, nullptr);
  }

  std::string text(int status) override {
    const char* const words = error_string_(status);
    return (words ? words : "unknown error") + std::string(" (HIP ") + std::to_string(status) + ")";
  }

  void encode(const TensorMap&, const void*, EncodedMap&) override { fail("AMD GPUs have no tensor maps"); }

  std::uint64_t capture(void* stream) override {
    int status = 0;
    unsigned long long id = 0;
    if (!capture_info_) return 0;  // a HIP without graphs
    if (capture_info_(stream, &status, &id) != 0) return ~std::uint64_t{0};
    return status == 0 ? 0 : std::max(id, 1ull);
  }

  void* allocate(std::size_t bytes, void* stream, bool captured) override {
    constexpr int not_supported = 801;
    void* address = nullptr;
    int status = not_supported;
    if (!captured && allocate_ordered_) status = allocate_ordered_(&address, bytes, stream);
    if (status == not_supported) {
      int mode = 2;  // relaxed, for this thread: the call does not touch the stream
      const bool exchanged = captured && exchange_ && exchange_(&mode) == 0;
      status = allocate_(&address, bytes);
      if (exchanged) exchange_(&mode);
    }
    check(status, "allocating scratch");
    return address;
  }

  int zero(void* address, std::size_t bytes, void* stream) override { return set_(address, 0, bytes, stream); }

  long long accessible(const void* address) override {
    void* base = nullptr;
    std::size_t bytes = 0;
    if (range_(&base, &bytes, const_cast<void*>(address)) == 0)
      return static_cast<long long>(bytes) - (static_cast<const char*>(address) - static_cast<char*>(base));
    last_error_();  // the application must not see an error of this question
    return fact(65) != 0 ? -1 : 0;    // some devices can access all memory of the host
  }

  void select_device() override { check(set_device_(0), "opening HIP device 0"); }
  void copy(void* to, const void* from, std::size_t bytes, bool to_device) override {
    check(copy_(to, from, bytes, to_device ? 1 : 2), "copying");
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
  void prepare(void*, const Launch& launch, unsigned) override {
    if (launch.cooperative && !launch_cooperative_) fail("this HIP has no cooperative launches");
  }

 private:
  int fact(int attribute) {
    int device = 0, value = 0;
    check(get_device_(&device), "finding the current device");
    check(attribute_(&value, attribute, device), "asking for the device's facts");
    return value;
  }

  // HIP_LIBRARY names a library in the place of ROCm's.
  const Library library_{std::getenv("HIP_LIBRARY"), "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                         "libamdhip64.so"};
  int (*init_)(unsigned);
  const char* (*error_string_)(int);
  int (*device_count_)(int*);
  int (*get_device_)(int*);
  int (*set_device_)(int);
  int (*attribute_)(int*, int, int);
  int (*synchronize_)();
  int (*range_)(void**, std::size_t*, void*);
  int (*last_error_)();
  int (*allocate_)(void**, std::size_t);
  int (*set_)(void*, int, std::size_t, void*);
  int (*copy_)(void*, const void*, std::size_t, int);
  int (*load_)(void**, const void*);
  int (*function_)(void**, void*, const char*);
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*launch_cooperative_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                             void**);
  int (*allocate_ordered_)(void**, std::size_t, void*);
  int (*capture_info_)(void*, int*, unsigned long long*);
  int (*exchange_)(int*);
  int (*properties_)(void*, int);
};

}  // namespace
