// The text of the timing kernels.
#include "backends/gpu/timing_kernels.hpp"

namespace xtune::gpu {
namespace {

// Every loop ends by the timer or by the clock, which always advance: none of these kernels can hang a device. cycle()
// counts separately for each compute unit, so the begin and end of a count are read by one thread.
constexpr const char* source = R"(
#if defined(XTUNE_HIP)
__device__ unsigned long long now() { return (unsigned long long)wall_clock64(); }
#else
__device__ unsigned long long now() {
  unsigned long long ticks;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
  return ticks;
}
#endif
#if defined(__AMDGCN__)  // clock64 does not compile for gfx11 with hipRTC 5.7
__device__ unsigned long long cycle() { return __builtin_readcyclecounter(); }
#else
__device__ unsigned long long cycle() { return (unsigned long long)clock64(); }
#endif

extern "C" __global__ void xtune_hold(volatile unsigned* flags, unsigned ticket, unsigned long long ticks) {
  const unsigned long long start = now();
  while ((int)(flags[0] - ticket) < 0) {
    if (now() - start < ticks) continue;
    flags[1] = ticket;
    return;
  }
}

extern "C" __global__ void xtune_spin(unsigned long long cycles) {
  const unsigned long long start = cycle();
  while (cycle() - start < cycles) {
  }
}

// From one change of the timer to a later one: it may tick as slowly as once a microsecond.
extern "C" __global__ void xtune_clock(unsigned long long* out, unsigned long long ticks) {
  const unsigned long long before = now();
  unsigned long long start = now();
  while (start == before) start = now();
  const unsigned long long first = cycle();
  unsigned long long end = now();
  while (end - start < ticks) end = now();
  const unsigned long long last = cycle();
  out[0] = last - first;
  out[1] = end - start;
}
)";

}  // namespace

build::CompileRequest timing_request(const std::string& arch) {
  build::CompileRequest request;
  request.source_name = "timing_kernels.cu";
  request.source = source;
  request.entry = timing_kernel::hold;
  request.options = {"-std=c++17"};  // before CUDA 12, NVRTC's default is C++14
  request.arch = arch;
  return request;
}

}  // namespace xtune::gpu
