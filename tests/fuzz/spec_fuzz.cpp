// Fuzz target: a spec is refused with an Error, or read; a small space of it is then made.
#include <string>

#include "core/device/device_info.hpp"
#include "core/spec/spec.hpp"
#include "xtune/error.hpp"

using namespace xtune::device;
using namespace xtune::space;
using namespace xtune::spec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xtune;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Spec spec = parse_spec(text, "fuzz.toml", "/nonexistent");
    double product = 1;
    for (const Parameter& parameter : spec.parameters) product *= static_cast<double>(parameter.values.size());
    if (product > 4096) return 0;
    static const Bindings facts = device_facts(*known_device("sm_90"));
    for (const Bindings& problem : spec.cases) {
      const Space space = make_space(spec, problem, facts);
      for (std::uint64_t index = 0; index < space.size(); ++index)
        if (space.index_of(space.at(index)) != index) __builtin_trap();
      const auto rows = parse_configs(configs_text(space), "fuzz.csv", spec.parameters);
      if (rows.size() != space.size()) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
