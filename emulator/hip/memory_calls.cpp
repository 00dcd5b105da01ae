// HIP's calls for memory. Copies and fills are done when they return, in the order of all streams.
#include <cstdlib>
#include <cstring>

#include "emulator/hip/emulated_gpu.hpp"
#include "emulator/hip/runtime_state.hpp"
#include "emulator/hip/simulated_time.hpp"
#include "system/machine.hpp"

namespace xtune::emulator {
namespace {

void spend(RuntimeState& state, std::size_t bytes) {
  state.clock_ms += simulated_copy_ms(static_cast<double>(bytes), current_gpu());
}

/// The block or variable that has these bytes, or nullptr.
const Memory::Allocation* holder(const RuntimeState& state, const void* address, std::size_t bytes) {
  const auto number = reinterpret_cast<std::uint64_t>(address);
  const Memory::Allocation* const block = state.memory.holder(number, bytes);
  return block ? block : state.variables.holder(number, bytes);
}

hipError_t allocate(void** address, std::size_t bytes) {
  return answer([&](RuntimeState& state) {
    constexpr std::size_t alignment = 256;
    if (!address) return hipErrorInvalidValue;
    void* memory = nullptr;
    if (bytes > 0) {
      // The kernel may promise more than it has.
      if (bytes <= system::machine_memory_bytes())
        memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      if (!memory) return hipErrorOutOfMemory;
      state.memory.add(memory, bytes);
    }
    *address = memory;
    return hipSuccess;
  });
}

hipError_t release(void* address) {
  return answer([&](RuntimeState& state) {
    if (address && !state.memory.remove(address)) return hipErrorInvalidValue;
    std::free(address);
    return hipSuccess;
  });
}

/// stream: the null stream is never captured.
hipError_t copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    if (state.captures.contains(stream)) return hipErrorStreamCaptureUnsupported;
    if (bytes == 0) return hipSuccess;
    const bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
    const bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
    if ((to_device && !holder(state, to, bytes)) || (from_device && !holder(state, from, bytes)))
      return hipErrorInvalidValue;
    std::memmove(to, from, bytes);
    spend(state, bytes);
    return hipSuccess;
  });
}

hipError_t fill(void* to, int value, std::size_t bytes, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    if (bytes == 0) return hipSuccess;
    const GraphNode node = [=](RuntimeState& now) {
      if (!holder(now, to, bytes)) return hipErrorInvalidValue;
      std::memset(to, value, bytes);
      spend(now, bytes);
      return hipSuccess;
    };
    const auto capture = state.captures.find(stream);
    if (capture == state.captures.end()) return node(state);
    capture->second.push_back(node);
    return hipSuccess;
  });
}

}  // namespace
}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

hipError_t hipMalloc(void** address, std::size_t bytes) { return allocate(address, bytes); }
hipError_t hipFree(void* address) { return release(address); }
hipError_t hipHostMalloc(void** address, std::size_t bytes, unsigned /*flags*/) { return allocate(address, bytes); }
hipError_t hipHostFree(void* address) { return release(address); }

/// Not one of HIP's: what messages are to call a part of an allocation.
hipError_t xtune_name_memory(const void* address, std::size_t bytes, const char* name) {
  return answer([&](RuntimeState& state) {
    if (!name || !holder(state, address, bytes)) return hipErrorInvalidValue;
    state.memory.name(address, bytes, name);
    return hipSuccess;
  });
}

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  return answer([&](RuntimeState& state) {
    if (!holder(state, host, 1)) return hipErrorInvalidValue;
    *device = host;
    return hipSuccess;
  });
}

hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return copy(to, from, bytes, kind, nullptr);
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy(to, from, bytes, kind, stream);
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) { return fill(to, value, bytes, nullptr); }
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  return fill(to, value, bytes, stream);
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t address) {
  return answer([&](RuntimeState& state) {
    const Memory::Allocation* const block = holder(state, address, 1);
    if (!block) return hipErrorNotFound;
    if (base) *base = reinterpret_cast<hipDeviceptr_t>(block->base);
    if (bytes) *bytes = block->bytes;
    return hipSuccess;
  });
}

}  // extern "C"
