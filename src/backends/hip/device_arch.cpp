// ROCm 6 and 7 have the properties in two layouts, under two names. The plain name is the older layout in ROCm 5 and 6,
// and the newer one in headers since ROCm 6, so it is called last.
#include "backends/hip/device_arch.hpp"

#include <cstddef>
#include <cstring>
#include <memory>

#include "backends/gpu/hip_headers.hpp"

namespace xtune::hip {
namespace {

/// hipDeviceProp_t: the offset of its member gcnArchName (HIP 5.2, 5.7 and 6.4 headers).
struct Layout {
  const char* symbol;
  std::size_t arch_at;
};
constexpr Layout layouts[] = {
    {"hipGetDevicePropertiesR0600", 1160}, {"hipGetDevicePropertiesR0000", 396}, {"hipGetDeviceProperties", 396}};
constexpr std::size_t arch_bytes = 256;
constexpr std::size_t room_bytes = 16384;  // the structures have 792 and 1472 bytes; a newer one may have more

static_assert(sizeof(hipDeviceProp_t::gcnArchName) == arch_bytes && sizeof(hipDeviceProp_t) < room_bytes);
#if HIP_VERSION_MAJOR >= 6
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == layouts[0].arch_at);
#else
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == layouts[1].arch_at);
#endif

}  // namespace

std::string device_arch(const std::function<void*(const char* symbol)>& find, int index, int* status) {
  for (const Layout& layout : layouts) {
    const auto properties = reinterpret_cast<int (*)(void*, int)>(find(layout.symbol));
    if (!properties) continue;
    const auto room = std::make_unique<char[]>(room_bytes);
    *status = properties(room.get(), index);
    if (*status != 0) return {};
    const char* name = room.get() + layout.arch_at;
    return std::string(name, strnlen(name, arch_bytes));
  }
  return {};
}

}  // namespace xtune::hip
