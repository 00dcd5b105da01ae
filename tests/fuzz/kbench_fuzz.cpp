// kbench's YAML: any bytes are an Error or specs that can be read.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "core/replay/kbench.hpp"
#include "core/spec/spec.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::replay;
using namespace xtune::spec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xtune;
  static const TemporaryDirectory folder;
  if (!std::filesystem::exists(folder.path() / "f.mojo")) write_file_atomically(folder.path() / "f.mojo", "");
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<KbenchSpec> specs;
  try {
    specs = import_kbench({{folder.path() / "f.yaml", text}}, "f", {});
  } catch (const Error&) {
    return 0;
  }
  for (const KbenchSpec& spec : specs) {
    if (!spec.configs.empty()) write_file_atomically(folder.path() / (spec.stem + ".configs.csv"), spec.configs);
    parse_spec(spec.spec, spec.stem + ".toml", folder.path());
  }
  return 0;
}
