#include "emulator/hip/runtime_state.hpp"

#include <new>
#include <utility>

#include "emulator/fault.hpp"

namespace xtune::emulator {
namespace {

/// Without a destructor: calls come until the process has ended.
thread_local hipError_t last_code = hipSuccess;

struct ErrorText {
  hipError_t code;
  const char *name, *words;
};
#define NAMED(code) code, #code
constexpr ErrorText error_texts[] = {
    {NAMED(hipSuccess), "no error"},
    {NAMED(hipErrorInvalidValue), "invalid argument"},
    {NAMED(hipErrorOutOfMemory), "out of memory"},
    {NAMED(hipErrorNotInitialized), "initialization error"},
    {NAMED(hipErrorInvalidConfiguration), "invalid configuration argument"},
    {NAMED(hipErrorInvalidDevicePointer), "invalid device pointer"},
    {NAMED(hipErrorNoDevice), "no ROCm-capable device is detected"},
    {NAMED(hipErrorInvalidDevice), "invalid device ordinal"},
    {NAMED(hipErrorInvalidImage), "device kernel image is invalid"},
    {NAMED(hipErrorNoBinaryForGpu), "no kernel image is available for execution on the device"},
    {NAMED(hipErrorInvalidHandle), "invalid resource handle"},
    {NAMED(hipErrorNotFound), "named symbol not found"},
    {NAMED(hipErrorLaunchOutOfResources), "out of resources"},
    {NAMED(hipErrorLaunchFailure), "unspecified launch failure"},
    {NAMED(hipErrorNotSupported), "operation not supported"},
    {NAMED(hipErrorUnknown), "unknown error"},
};
#undef NAMED

const ErrorText* text_of(hipError_t code) {
  for (const ErrorText& one : error_texts)
    if (one.code == code) return &one;
  return nullptr;
}

}  // namespace

RuntimeState& runtime_state() {
  static auto& state = *new RuntimeState;
  return state;
}

hipError_t failed(hipError_t code, const std::string& words) {
  last_code = code;
  if (words.empty()) return code;
  RuntimeState& state = runtime_state();
  const std::lock_guard lock(state.mutex);
  state.words[code] = &*state.all_words.insert(words).first;
  return code;
}

hipError_t failed(const std::exception& error) {
  if (dynamic_cast<const Fault*>(&error) != nullptr) {
    RuntimeState& state = runtime_state();
    const std::lock_guard lock(state.mutex);
    state.lost = hipErrorLaunchFailure;
    state.fault = error.what();
    return failed(state.lost, state.fault);
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return failed(hipErrorOutOfMemory);
  const auto* const own = dynamic_cast<const Error*>(&error);
  hipError_t code = hipErrorUnknown;
  if (own && own->kind() == ErrorKind::invalid_argument) code = hipErrorInvalidValue;
  if (own && own->kind() == ErrorKind::unsupported) code = hipErrorNotSupported;
  if (own && own->kind() == ErrorKind::unavailable) code = hipErrorNotInitialized;
  return failed(code, error.what());
}

}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

const char* hipGetErrorName(hipError_t code) {
  const ErrorText* const known = text_of(code);
  return known ? known->name : "hipErrorUnknown";
}

const char* hipGetErrorString(hipError_t code) {
  RuntimeState& state = runtime_state();
  const std::lock_guard lock(state.mutex);
  if (const auto words = state.words.find(code); words != state.words.end()) return words->second->c_str();
  const ErrorText* const known = text_of(code);
  return known ? known->words : "unknown error";
}

hipError_t hipPeekAtLastError() { return last_code; }

hipError_t hipGetLastError() { return std::exchange(last_code, hipSuccess); }

}  // extern "C"
