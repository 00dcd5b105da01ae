// The architecture's name from the device properties of ROCm 5, 6 and 7.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>

#include "backends/hip/rocm_libraries.hpp"

#if XTUNE_HAS_HIP && !XTUNE_HIP_NVIDIA

using namespace xtune;

namespace {

constexpr std::size_t old_bytes = 792, old_arch = 396, new_bytes = 1472, new_arch = 1160;

// Writes as a library does: its whole structure, with the name at the position of its layout.
int fill(void* properties, std::size_t bytes, std::size_t at, int index) {
  if (index != 0) return 101;
  std::memset(properties, 0x5A, bytes);
  std::strcpy(static_cast<char*>(properties) + at, "gfx90a:sramecc+:xnack-");
  return 0;
}
int old_layout(void* properties, int index) { return fill(properties, old_bytes, old_arch, index); }
int new_layout(void* properties, int index) { return fill(properties, new_bytes, new_arch, index); }

std::string arch_from(const std::map<std::string, int (*)(void*, int)>& symbols, int index = 0, int* status = nullptr) {
  int ignored = 0;
  return hip::device_arch(
      [&](const char* symbol) {
        const auto found = symbols.find(symbol);
        return found == symbols.end() ? nullptr : reinterpret_cast<void*>(found->second);
      },
      index, status ? status : &ignored);
}

}  // namespace

TEST_CASE("the architecture is read from either layout of HIP's device properties") {
  const std::string arch = "gfx90a:sramecc+:xnack-";
  CHECK(arch_from({{"hipGetDeviceProperties", old_layout}}) == arch);  // ROCm 5
  CHECK(arch_from({{"hipGetDeviceProperties", old_layout},             // ROCm 6
                   {"hipGetDevicePropertiesR0000", old_layout},
                   {"hipGetDevicePropertiesR0600", new_layout}}) == arch);
  CHECK(arch_from({{"hipGetDeviceProperties", new_layout},  // should the plain name change its meaning
                   {"hipGetDevicePropertiesR0600", new_layout}}) == arch);
  CHECK(arch_from({}).empty());
}

TEST_CASE("a device that does not answer has no architecture, and says why") {
  int status = 0;
  CHECK(arch_from({{"hipGetDevicePropertiesR0600", new_layout}}, 1, &status).empty());
  CHECK(status == 101);
}

#endif
