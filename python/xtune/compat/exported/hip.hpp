// AMD's HIP, opened at run time: no ROCm header or library is needed to build. Written by `xtune export`; yours to use
// and change under any licence.
#pragma once

#include "driver.hpp"

namespace {

/// CALL(name, symbol, parameters): what every driver has. All return a status; 0 is success.
#define HIP_CALLS(CALL)                                              \
  CALL(init, hipInit, (unsigned))                                    \
  CALL(device_count, hipGetDeviceCount, (int*))                      \
  CALL(get_device, hipGetDevice, (int*))                             \
  CALL(set_device, hipSetDevice, (int))                              \
  CALL(attribute, hipDeviceGetAttribute, (int*, int, int))           \
  CALL(synchronize, hipDeviceSynchronize, ())                        \
  CALL(range, hipMemGetAddressRange, (void**, std::size_t*, void*))  \
  CALL(last_error, hipGetLastError, ())                              \
  CALL(allocate, hipMalloc, (void**, std::size_t))                   \
  CALL(set, hipMemsetAsync, (void*, int, std::size_t, void*))        \
  CALL(copy, hipMemcpy, (void*, const void*, std::size_t, int))      \
  CALL(load, hipModuleLoadData, (void**, const void*))               \
  CALL(function, hipModuleGetFunction, (void**, void*, const char*)) \
  CALL(launch, hipModuleLaunchKernel,                                \
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**))

/// What older ones lack, which is null then.
#define HIP_OPTIONAL_CALLS(CALL)                                                                     \
  CALL(launch_cooperative, hipModuleLaunchCooperativeKernel,                                         \
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**)) \
  CALL(allocate_ordered, hipMallocAsync, (void**, std::size_t, void*))                               \
  CALL(capture_info, hipStreamGetCaptureInfo, (void*, int*, unsigned long long*))                    \
  CALL(exchange, hipThreadExchangeStreamCaptureMode, (int*))

struct HipCalls {
#define DECLARE(name, symbol, parameters) int(*name) parameters = nullptr;
  HIP_CALLS(DECLARE)
  HIP_OPTIONAL_CALLS(DECLARE)
#undef DECLARE
  const char* (*error_string)(int) = nullptr;
  int (*properties)(void*, int) = nullptr;
  std::size_t arch_at = 1160;  ///< where gcnArchName is in the properties of HIP 6 and newer

  /// HIP_LIBRARY names a library in the place of ROCm's.
  HipCalls() {
    const Library library{std::getenv("HIP_LIBRARY"), "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                          "libamdhip64.so"};
#define GET(name, symbol, parameters) library.get(name, #symbol);
#define FIND(name, symbol, parameters) library.find(name, #symbol);
    HIP_CALLS(GET)
    HIP_OPTIONAL_CALLS(FIND)
#undef GET
#undef FIND
    library.get(error_string, "hipGetErrorString");
    library.find(properties, "hipGetDevicePropertiesR0600");
    if (properties) return;
    arch_at = 396;
    library.get(properties, "hipGetDeviceProperties");
  }
};

class HipBackend final : public GpuBackend {
 public:
  static std::unique_ptr<Backend> open() { return std::make_unique<HipBackend>(); }

  HipBackend() {
    check(hip_.init(0), "starting HIP");
    int devices = 0;
    check(hip_.device_count(&devices), "counting HIP devices");
    if (devices == 0) fail("HIP has no device");
  }

  /// The current device stands for its context.
  std::uintptr_t context() override {
    int device = 0;
    return hip_.get_device(&device) == 0 ? static_cast<std::uintptr_t>(device) + 1 : 0;
  }

  /// "gfx942:sramecc+:xnack-"
  std::string arch() override {
    int device = 0;
    std::vector<char> properties(16384);  // hipDeviceProp_t, which grows with HIP
    check(hip_.get_device(&device), "finding the current device");
    check(hip_.properties(properties.data(), device), "asking for the device's architecture");
    return properties.data() + hip_.arch_at;
  }

  /// The processor, and the features that the code names.
  int fit(std::string_view arch) override {
    std::string own = this->arch();
    if (const auto mark = own.find("-emulated"); mark != own.npos) own.resize(mark);
    own += ':';
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
      return hip_.launch_cooperative(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters);
    return hip_.launch(function, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream, parameters, nullptr);
  }

  std::string text(int status) override {
    const char* const words = hip_.error_string(status);
    return (words ? words : "unknown error") + std::string(" (HIP ") + std::to_string(status) + ")";
  }

  void encode(const TensorMap&, const void*, EncodedMap&) override { fail("AMD GPUs have no tensor maps"); }

  std::uint64_t capture(void* stream) override {
    int status = 0;
    unsigned long long id = 0;
    if (!hip_.capture_info) return 0;  // a HIP without graphs
    if (hip_.capture_info(stream, &status, &id) != 0) return ~std::uint64_t{0};
    return status == 0 ? 0 : std::max(id, 1ull);
  }

  void* allocate(std::size_t bytes, void* stream, bool captured) override {
    constexpr int not_supported = 801;
    void* address = nullptr;
    int status = not_supported;
    if (!captured && hip_.allocate_ordered) status = hip_.allocate_ordered(&address, bytes, stream);
    if (status == not_supported) {
      int mode = 2;  // relaxed, for this thread: the call does not touch the stream
      const bool exchanged = captured && hip_.exchange && hip_.exchange(&mode) == 0;
      status = hip_.allocate(&address, bytes);
      if (exchanged) hip_.exchange(&mode);
    }
    check(status, "allocating scratch");
    return address;
  }

  int zero(void* address, std::size_t bytes, void* stream) override { return hip_.set(address, 0, bytes, stream); }

  long long accessible(const void* address) override {
    void* base = nullptr;
    std::size_t bytes = 0;
    if (hip_.range(&base, &bytes, const_cast<void*>(address)) == 0)
      return static_cast<long long>(bytes) - (static_cast<const char*>(address) - static_cast<char*>(base));
    hip_.last_error();              // the application must not see an error of this question
    return fact(65) != 0 ? -1 : 0;  // some devices can access all memory of the host
  }

  void select_device() override { check(hip_.set_device(0), "opening HIP device 0"); }
  void copy(void* to, const void* from, std::size_t bytes, bool to_device) override {
    check(hip_.copy(to, from, bytes, to_device ? 1 : 2), "copying");
  }
  void synchronize() override { check(hip_.synchronize(), "waiting for the device"); }

 protected:
  void* load_module(const void* image) override {
    void* module = nullptr;
    check(hip_.load(&module, image), "loading the kernel");
    return module;
  }
  void* find_function(void* module, const char* symbol) override {
    void* function = nullptr;
    check(hip_.function(&function, module, symbol), "finding the kernel");
    return function;
  }
  void prepare(void*, const Launch& launch, unsigned) override {
    if (launch.cooperative && !hip_.launch_cooperative) fail("this HIP has no cooperative launches");
  }

 private:
  int fact(int attribute) {
    int device = 0, value = 0;
    check(hip_.get_device(&device), "finding the current device");
    check(hip_.attribute(&value, attribute, device), "asking for the device's facts");
    return value;
  }

  const HipCalls hip_;
};

}  // namespace
