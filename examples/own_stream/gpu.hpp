// The few calls of CUDA's, or HIP's, runtime that the application makes; without either, of the C library.
#pragma once

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#if defined(EXAMPLE_CUDA)
#include <cuda_runtime_api.h>
#define GPU(name) cuda##name
#elif defined(EXAMPLE_HIP)
#include <hip/hip_runtime_api.h>
#define GPU(name) hip##name
#endif

namespace gpu {

#if defined(GPU)

#if defined(EXAMPLE_CUDA)
inline const char* const backend = "cuda";
using Stream = cudaStream_t;
#else
inline const char* const backend = "hip";
using Stream = hipStream_t;
#endif

template <class Status>
void check(Status status) {
  if (status != GPU(Success)) throw std::runtime_error(std::string("GPU: ") + GPU(GetErrorString)(status));
}
inline Stream make_stream() {
  Stream stream = nullptr;
  check(GPU(StreamCreate)(&stream));
  return stream;
}
inline void wait(Stream stream) { check(GPU(StreamSynchronize)(stream)); }
inline void destroy(Stream stream) { check(GPU(StreamDestroy)(stream)); }
inline float* allocate(std::size_t count) {
  void* memory = nullptr;
  check(GPU(Malloc)(&memory, count * sizeof(float)));
  return static_cast<float*>(memory);
}
inline void release(float* memory) { check(GPU(Free)(memory)); }
inline void upload(float* to, const float* from, std::size_t count) {
  check(GPU(Memcpy)(to, from, count * sizeof(float), GPU(MemcpyHostToDevice)));
}
inline void download(float* to, const float* from, std::size_t count) {
  check(GPU(Memcpy)(to, from, count * sizeof(float), GPU(MemcpyDeviceToHost)));
}

#else

inline const char* const backend = "host";
using Stream = std::nullptr_t;
inline Stream make_stream() { return nullptr; }
inline void wait(Stream) {}
inline void destroy(Stream) {}
inline float* allocate(std::size_t count) { return static_cast<float*>(std::malloc(count * sizeof(float))); }
inline void release(float* memory) { std::free(memory); }
inline void upload(float* to, const float* from, std::size_t count) { std::memcpy(to, from, count * sizeof(float)); }
inline void download(float* to, const float* from, std::size_t count) { std::memcpy(to, from, count * sizeof(float)); }

#endif

}  // namespace gpu
