// HIP's calls for streams and events. All work is done when its call returns, so streams only have identities, and an
// event is a time of the simulated clock.
#include <new>

#include "emulator/hip/prepared_launch.hpp"

namespace xtune::emulator {
namespace {

struct EmulatedStream {
  unsigned flags = 0;
};

struct EmulatedEvent {
  double clock_ms = 0;
  bool recorded = false;
};

EmulatedEvent* event_of(hipEvent_t handle) { return reinterpret_cast<EmulatedEvent*>(handle); }

hipError_t done() {
  return answer([](RuntimeState&) { return hipSuccess; });
}

}  // namespace
}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return answer([&](RuntimeState&) {
    *stream = reinterpret_cast<hipStream_t>(new EmulatedStream{flags});
    return hipSuccess;
  });
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }

hipError_t hipStreamDestroy(hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    state.captures.erase(stream);
    delete reinterpret_cast<EmulatedStream*>(stream);
    return hipSuccess;
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
  return answer([&](RuntimeState&) {
    *event = reinterpret_cast<hipEvent_t>(new EmulatedEvent);
    return hipSuccess;
  });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  delete event_of(event);
  return done();
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    if (state.captures.contains(stream)) return hipErrorStreamCaptureUnsupported;
    if (!event) return hipErrorInvalidHandle;
    *event_of(event) = {state.clock_ms, true};
    return hipSuccess;
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return answer([&](RuntimeState&) { return event ? hipSuccess : hipErrorInvalidHandle; });
}

hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return answer([&](RuntimeState&) {
    if (!start || !stop || !event_of(start)->recorded || !event_of(stop)->recorded) return hipErrorInvalidHandle;
    *ms = static_cast<float>(event_of(stop)->clock_ms - event_of(start)->clock_ms);
    return hipSuccess;
  });
}

}  // extern "C"
