// Filling the table of HIP's calls.
#include "backends/hip/hip_calls.hpp"

#include <fmt/core.h>

#include "system/dynamic_library.hpp"

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "backends/cuda/driver.hpp"
#else
#include "backends/hip/rocm_libraries.hpp"
#endif

namespace xtune::hip {
namespace {

#if defined(__HIP_PLATFORM_NVIDIA__)

HipCalls load() {
  cuda::driver();  // throws with the reason if there is no driver; the wrappers below only report "unknown error"
  HipCalls calls;
#define XTUNE_FILL(name, arguments) calls.name = static_cast<hipError_t(*) arguments>(&::name);
  XTUNE_HIP_CALLS(XTUNE_FILL)
#undef XTUNE_FILL
  calls.hipGetErrorName = &::hipGetErrorName;
  calls.hipGetErrorString = &::hipGetErrorString;
  return calls;
}

#else

// Headers may rename calls whose structures changed, so the symbol is the expansion of the name.
#define XTUNE_TEXT_OF(name) #name
#define XTUNE_TEXT(name) XTUNE_TEXT_OF(name)

system::DynamicLibrary open_runtime() {
  if (const char* named = std::getenv("XTUNE_HIP_LIBRARY"); named && *named) try {
      return system::DynamicLibrary::open({named});
    } catch (const Error& error) {
      system::throw_with_message(error, fmt::format("XTUNE_HIP_LIBRARY={}: {}", named, error.what()));
    }
  try {
    return open_rocm_library({"amdhip64"});
  } catch (const Error& error) {
    system::throw_with_message(error, fmt::format("libamdhip64.so not found: no ROCm on this node ({})", error.what()));
  }
}

HipCalls load() {
  HipCalls calls;
  calls.library = open_runtime();
  calls.library.keep_resident();
#define XTUNE_LOAD(name, arguments) calls.library.get(XTUNE_TEXT(name), calls.name);
  XTUNE_HIP_CALLS(XTUNE_LOAD)
#undef XTUNE_LOAD
#define XTUNE_FIND(name, arguments) \
  calls.name = reinterpret_cast<hipError_t(*) arguments>(calls.library.find(XTUNE_TEXT(name)));
  XTUNE_HIP_GRAPH_CALLS(XTUNE_FIND)
  XTUNE_FIND(xtune_name_memory, (const void*, std::size_t, const char*))
#undef XTUNE_FIND
  calls.library.get("hipGetErrorName", calls.hipGetErrorName);
  calls.library.get("hipGetErrorString", calls.hipGetErrorString);
  return calls;
}

#endif

}  // namespace

const HipCalls& hip_calls() {
  static const HipCalls table = load();
  return table;
}

std::string describe(const HipCalls& calls, hipError_t status) {
  const char* name = calls.hipGetErrorName(status);
  const char* words = calls.hipGetErrorString(status);
  if (!name) return fmt::format("HIP error {}", static_cast<int>(status));
  // HIP's string often is only the name.
  return !words || std::string(words) == name ? std::string(name) : fmt::format("{}: {}", name, words);
}

}  // namespace xtune::hip
