// Tests that keys made one after the other are the keys of their parts.
#include "core/resolve/measurement_keys.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "core/device/device_info.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::resolve;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;

namespace {

/// Compares all configurations, in the order of the space and then backwards in steps.
void check_keys(const std::string& kernel, const std::string& parameters, const std::string& source) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << source;
  std::ofstream(folder.path() / "a.h") << "// a\n";
  std::ofstream(folder.path() / "b.h") << "// b\n";
  const Spec spec = parse_spec(
      "[kernel]\nname = \"k\"\nsource = \"k.cu\"\n" + kernel + "[problem]\nN = 8\n[space.params]\n" + parameters +
          "[launch]\ngrid = [\"N // (B - 2)\"]\nblock = [\"A * 32\"]\n[[args]]\nname = \"x\"\ndtype = \"f32\"\n"
          "shape = [\"N\"]\nrole = \"inout\"\n[[args]]\nname = \"b\"\nkind = \"scalar\"\ndtype = \"i32\"\n"
          "value = \"B + N\"\n",
      "t.toml", folder.path());
  DeviceInfo device;
  device.backend = "cuda", device.vendor = "nvidia", device.arch = "sm_90", device.driver = "13.0";
  const Space space = make_space(spec, spec.cases.front(), device_facts(device));
  REQUIRE(space.size() > 8);
  for (const bool sanitize : {false, true}) {
    const CandidateResolver resolver(spec, space, spec.cases.front(), device, "sm_90", "fake \"1\"", sanitize);
    MeasurementKeys keys(resolver);
    const auto check = [&](std::uint64_t index) {
      const Config config = space.at(index);
      const std::string artifact = resolver.artifact_key(resolver.compile_request(config));
      const std::string key = key_of(resolver.measurement_key_parts(config, artifact));
      std::string made;
      xtune::base::Sha256 bytes{};
      keys.any(config, [&](const xtune::base::Sha256& each) { return bytes = each, true; });
      for (const unsigned byte : bytes) made += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      CHECK(made == key);
    };
    for (std::uint64_t index = 0; index < space.size(); ++index) check(index);
    for (std::uint64_t index = space.size(); index-- > 0; index -= std::min<std::uint64_t>(index, 2)) check(index);
    // A compile shows that more is read: the likely key changes, and the one before remains possible.
    resolver.learn(resolver.compile_request(space.at(0)).source_name, {{"a.h"}, {}});
    check(0);
    int possible = 0;
    keys.any(space.at(0), [&](const xtune::base::Sha256&) { return ++possible, false; });
    CHECK(possible == 2);
  }
}

const std::string two = "A = [1, 2, 3]\nB = { values = [1, 2, 3, 4], compile_time = false }\n";

}  // namespace

TEST_CASE("Keys of many configurations are those of their parts, also where a launch has no value") {
  check_keys("entry = \"k\"\n", two, "int k;\n");
}

TEST_CASE("Parameters in the entry, options and definitions change keys whether they are compiled in or not") {
  check_keys("entry = \"k<{A}>\"\n", two, "int k;\n");
  check_keys("entry = \"k\"\ncontrols = \"{'k.cu' if B > 2 else ''}\"\n", two, "int k;\n");
  check_keys("entry = \"k\"\noptions = [\"-DX={B}\", \"-DY=\\\"q\\\"\"]\n", two, "int k;\n");
  check_keys("entry = \"k\"\ndefines = { Z = \"{B * 2}\", W = \"7\" }\n", two, "int k;\n");
}

TEST_CASE("Texts among the values, and names that are included by a definition, change keys") {
  check_keys("entry = \"k\"\n", two + "T = [\"x\\\"y\", \"z\"]\n", "int k;\n");
  check_keys("entry = \"k\"\n", two + "H = [\"\\\"a.h\\\"\", \"\\\"b.h\\\"\"]\n", "#include H\nint k;\n");
}
