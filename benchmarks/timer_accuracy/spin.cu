// Kernels of known length: one thread counts cycles of its compute unit's clock.

// Only counts: the cost of a store would depend on the location of its memory.
extern "C" __global__ void spin(unsigned long long cycles) {
  const long long begin = clock64();
  while ((unsigned long long)(clock64() - begin) < cycles) {
  }
}

// out: the count, and the nanoseconds that passed meanwhile by the device's timer (only on NVIDIA; else 0).
#if defined(__CUDA_ARCH__) && !defined(XTUNE_HIP)
__device__ unsigned long long timer_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
#else
__device__ unsigned long long timer_ns() { return 0; }
#endif

extern "C" __global__ void spin_counted(unsigned long long* out, unsigned long long cycles) {
  const unsigned long long begin_ns = timer_ns();
  const long long begin = clock64();
  long long now = begin;
  while ((unsigned long long)(now - begin) < cycles) now = clock64();
  if (threadIdx.x != 0) return;
  out[0] = (unsigned long long)(now - begin);
  out[1] = timer_ns() - begin_ns;
}
