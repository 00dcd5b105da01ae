// HIP's calls for streams and events.
#include <map>
#include <memory>
#include <utility>

#include "emulator/hip/runtime_state.hpp"

namespace xtune::emulator {
namespace {

/// Makes an object of the runtime's, whose address is its handle.
template <class Handle, class Object>
hipError_t create(std::map<Handle, std::unique_ptr<Object>>& owned, Handle* handle) {
  auto created = std::make_unique<Object>();
  *handle = reinterpret_cast<Handle>(created.get());
  owned.emplace(*handle, std::move(created));
  return hipSuccess;
}

template <class Handle, class Object>
hipError_t destroy(std::map<Handle, std::unique_ptr<Object>>& owned, Handle handle) {
  return owned.erase(handle) == 1 ? hipSuccess : hipErrorInvalidHandle;
}

/// The event, or null where there is none (any more).
EmulatedEvent* event_of(RuntimeState& state, hipEvent_t handle) {
  const auto found = state.events.find(handle);
  return found == state.events.end() ? nullptr : found->second.get();
}

}  // namespace
}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned /*flags*/) {
  return answer([&](RuntimeState& state) { return create(state.streams, stream); });
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }

hipError_t hipStreamDestroy(hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    state.captures.erase(stream);
    return destroy(state.streams, stream);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    return state.captures.contains(stream) ? hipErrorStreamCaptureUnsupported : hipSuccess;
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return answer([&](RuntimeState& state) {
    *status = state.captures.contains(stream) ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return hipSuccess;
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned /*flags*/) {
  return answer([&](RuntimeState& state) { return create(state.events, event); });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return answer([&](RuntimeState& state) { return destroy(state.events, event); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    if (state.captures.contains(stream)) return hipErrorStreamCaptureUnsupported;
    EmulatedEvent* const recorded = event_of(state, event);
    if (!recorded) return hipErrorInvalidHandle;
    *recorded = {state.clock_ms, true};
    return hipSuccess;
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return answer([&](RuntimeState& state) { return event_of(state, event) ? hipSuccess : hipErrorInvalidHandle; });
}

hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return answer([&](RuntimeState& state) {
    const EmulatedEvent* const from = event_of(state, start);
    const EmulatedEvent* const to = event_of(state, stop);
    if (!from || !to || !from->recorded || !to->recorded) return hipErrorInvalidHandle;
    *ms = static_cast<float>(to->clock_ms - from->clock_ms);
    return hipSuccess;
  });
}

}  // extern "C"
