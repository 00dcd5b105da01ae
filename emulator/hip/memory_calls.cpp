// HIP's calls for memory. Copies and fills are done when they return, in the order of all streams.
#include <cstring>

#include "emulator/hip/emulated_gpu.hpp"
#include "emulator/hip/runtime_state.hpp"
#include "emulator/hip/simulated_time.hpp"

namespace xtune::emulator {
namespace {

void spend(RuntimeState& state, std::size_t bytes) {
  state.clock_ms += simulated_copy_ms(static_cast<double>(bytes), current_gpu());
}

hipError_t allocate(RuntimeState& state, void** address, std::size_t bytes) {
  if (!address) return hipErrorInvalidValue;
  void* const memory = bytes == 0 ? nullptr : state.memory.allocate(bytes);
  if (bytes > 0 && !memory) return hipErrorOutOfMemory;
  *address = memory;
  return hipSuccess;
}

hipError_t release(RuntimeState& state, void* address) {
  return !address || state.memory.free(address) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t fill(RuntimeState& state, void* to, int value, std::size_t bytes) {
  if (bytes == 0) return hipSuccess;
  if (state.memory.find(to, bytes).bytes == 0) return hipErrorInvalidValue;
  std::memset(to, value, bytes);
  spend(state, bytes);
  return hipSuccess;
}

hipError_t copy(RuntimeState& state, void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  if (bytes == 0) return hipSuccess;
  const bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
  const bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
  if ((to_device && state.memory.find(to, bytes).bytes == 0) ||
      (from_device && state.memory.find(from, bytes).bytes == 0))
    return hipErrorInvalidValue;
  std::memmove(to, from, bytes);
  spend(state, bytes);
  return hipSuccess;
}

}  // namespace
}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

hipError_t hipMalloc(void** address, std::size_t bytes) {
  return answer([&](RuntimeState& state) { return allocate(state, address, bytes); });
}

hipError_t hipFree(void* address) {
  return answer([&](RuntimeState& state) { return release(state, address); });
}

/// Not one of HIP's: what messages are to call a part of an allocation.
hipError_t xtune_name_memory(const void* address, std::size_t bytes, const char* name) {
  return answer([&](RuntimeState& state) {
    if (!name || state.memory.find(address, bytes).bytes == 0) return hipErrorInvalidValue;
    state.memory.name(address, bytes, name);
    return hipSuccess;
  });
}

hipError_t hipHostMalloc(void** address, std::size_t bytes, unsigned /*flags*/) {
  return answer([&](RuntimeState& state) { return allocate(state, address, bytes); });
}

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  return answer([&](RuntimeState& state) {
    if (state.memory.find(host, 1).bytes == 0) return hipErrorInvalidValue;
    *device = host;
    return hipSuccess;
  });
}

hipError_t hipHostFree(void* address) {
  return answer([&](RuntimeState& state) { return release(state, address); });
}

hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return answer([&](RuntimeState& state) { return copy(state, to, from, bytes, kind); });
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    return state.captures.contains(stream) ? hipErrorStreamCaptureUnsupported : copy(state, to, from, bytes, kind);
  });
}

hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  return answer([&](RuntimeState& state) { return fill(state, to, value, bytes); });
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    return state.captures.contains(stream) ? hipErrorStreamCaptureUnsupported : fill(state, to, value, bytes);
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t address) {
  return answer([&](RuntimeState& state) {
    const GpuMemory::Block block = state.memory.find(address, 1);
    if (block.bytes == 0) return hipErrorNotFound;
    if (base) *base = reinterpret_cast<hipDeviceptr_t>(block.base);
    if (bytes) *bytes = block.bytes;
    return hipSuccess;
  });
}

}  // extern "C"
