// The names of devices in Kokkos' CMake package, and their meaning.
#include "backends/kokkos/execution_space.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "backends/cpu/cpu.hpp"
#include "base/text.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

struct Known {
  const char *device, *name, *backend;
  bool is_gpu, has_threads;
};
// In the order of Kokkos' own default: GPUs, then parallel CPUs, then serial ones.
constexpr Known all_known[] = {{"CUDA", "Cuda", "cuda", true, false},
                               {"HIP", "HIP", "hip", true, false},
                               {"OPENMP", "OpenMP", "host", false, true},
                               {"THREADS", "Threads", "host", false, true},
                               {"SERIAL", "Serial", "host", false, false}};

bool has(const Installation& kokkos, const Known& space) {
  return std::find(kokkos.devices.begin(), kokkos.devices.end(), space.device) != kokkos.devices.end();
}

int threads_wanted() {
  for (const char* name : {"KOKKOS_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    // OMP_NUM_THREADS may list one number for each level of nesting.
    const std::string_view text = std::string_view(value).substr(0, std::string_view(value).find(','));
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}='{}': give a number of threads, or unset it", name, base::printable(value, 80)));
    return number;
  }
  return static_cast<int>(system::usable_cpus());
}

ExecutionSpace make(const Installation& kokkos, const Known& known) {
  ExecutionSpace space;
  space.name = known.name;
  const bool experimental = space.name == "HIP" && kokkos.version_number < 40000;
  space.type = (experimental ? "Kokkos::Experimental::" : "Kokkos::") + space.name;
  space.backend = known.backend;
  space.is_gpu = known.is_gpu;
  if (known.has_threads) space.threads = threads_wanted();
  return space;
}

}  // namespace

std::vector<std::string> space_names(const Installation& kokkos) {
  std::vector<std::string> names;
  for (const Known& known : all_known)
    if (has(kokkos, known)) names.emplace_back(known.name);
  return names;
}

ExecutionSpace choose_space(const Installation& kokkos) {
  const std::vector<std::string> names = space_names(kokkos);
  if (names.empty())
    throw Error(
        ErrorKind::unsupported,
        fmt::format("Kokkos {} ({}) was built for {}, and xtune tunes for Cuda, HIP, OpenMP, Threads and Serial",
                    kokkos.version, kokkos.config, fmt::join(kokkos.devices, ", ")));
  const char* wanted = std::getenv("XTUNE_KOKKOS_SPACE");
  for (const Known& known : all_known)
    if (wanted && *wanted ? std::string_view(wanted) == known.name && has(kokkos, known) : has(kokkos, known))
      return make(kokkos, known);
  throw Error(
      ErrorKind::unavailable,
      fmt::format("XTUNE_KOKKOS_SPACE asks for '{}'{}, and Kokkos {} ({}) was built for {}: ask for one of these, "
                  "or point Kokkos_ROOT at a Kokkos with it",
                  base::printable(wanted, 80), base::did_you_mean(wanted, names), kokkos.version, kokkos.config,
                  fmt::join(names, ", ")));
}

std::string arch_of(const Installation& kokkos, const ExecutionSpace& space) {
  if (!space.is_gpu) return cpu::own_arch();
  for (const auto* flags : {&kokkos.flags.compile, &kokkos.flags.link})
    for (const std::string& flag : *flags)
      if (std::string arch; RE2::PartialMatch(flag, "(?:^|[^a-z])(sm_[0-9]+[af]?|gfx[0-9a-f]+)", &arch)) return arch;
  throw Error(ErrorKind::unavailable,
              fmt::format("the flags of Kokkos {} ({}) name no GPU architecture: build it with Kokkos_ARCH_...",
                          kokkos.version, kokkos.config));
}

}  // namespace xtune::kokkos
