// What HIP's calls of a process share: the GPU's memory, its clock, launches to come, and what went wrong.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/gpu/hip_headers.hpp"
#include "emulator/program.hpp"

namespace xtune::emulator {

struct EmulatedModule;
struct EmulatedFunction;

/// A launch with copies of its arguments, as a graph keeps it.
struct PreparedLaunch {
  const EmulatedFunction* function = nullptr;  ///< its module must still be loaded
  Launch launch;                               ///< without its arguments
  std::vector<std::byte> arguments = {};
};

struct RuntimeState;
/// What a graph does in one step: a launch, or a fill.
using GraphNode = std::function<hipError_t(RuntimeState&)>;

/// All work is done when its call returns, so streams only have identities.
struct EmulatedStream {};

/// A time of the simulated clock.
struct EmulatedEvent {
  double clock_ms = 0;
  bool recorded = false;
};

/// The calls hold the mutex: the emulated GPU does one thing at a time, when it is asked for it.
struct RuntimeState {
  std::recursive_mutex mutex;
  Memory memory;     ///< blocks of the host's memory, at the host's addresses
  Memory variables;  ///< of code objects, for copies
  /// The runtime owns what it gives out, as a driver does: after a fault nothing of it can be unloaded or destroyed.
  std::map<hipModule_t, std::shared_ptr<EmulatedModule>> modules;
  std::map<hipStream_t, std::unique_ptr<EmulatedStream>> streams;
  std::map<hipEvent_t, std::unique_ptr<EmulatedEvent>> events;
  std::map<hipStream_t, std::vector<GraphNode>> captures;  ///< of streams that are captured
  double clock_ms = 0;                                     ///< simulated
  hipError_t lost = hipSuccess;                            ///< after a kernel's fault: what every later call returns
  std::string fault;                                       ///< its words
  std::set<std::string> noted;                             ///< kernels of which a note was written
  /// For hipGetErrorString: the last words for each code. They are never removed, since callers have pointers to them.
  std::map<hipError_t, const std::string*> words;
  std::set<std::string> all_words;
};
/// Never destroyed: kernels of other threads may run when the process ends.
RuntimeState& runtime_state();

/// Executes it, and adds its simulated time. module_calls.cpp
hipError_t execute(RuntimeState& state, const PreparedLaunch& prepared);

/// Keeps the words for hipGetErrorString, and the code for hipGetLastError on this thread. Returns the code.
hipError_t failed(hipError_t code, const std::string& words = {});
/// The code for an exception of the emulator, with its words. A kernel's fault loses the device.
hipError_t failed(const std::exception& error);

/// The body of a HIP call: `work` returns a code, and may throw.
template <class Work>
hipError_t answer(const Work& work) noexcept try {
  RuntimeState& state = runtime_state();
  const std::lock_guard lock(state.mutex);
  if (state.lost != hipSuccess) return failed(state.lost, state.fault);
  const hipError_t code = work(state);
  return code == hipSuccess ? hipSuccess : failed(code);
} catch (const std::exception& error) {
  return failed(error);
} catch (...) {
  return hipErrorUnknown;
}

}  // namespace xtune::emulator
