// Several kernels of one configuration: which are launched, with which arguments, and how they change the keys.
#include <doctest/doctest.h>

#include <fstream>

#include "core/build/keys.hpp"
#include "core/resolve/measurement_keys.hpp"
#include "core/resolve/resolve.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::resolve;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string pack_and_multiply = R"([kernel]
name = "gemm"
source = "steps.cu"

[problem]
M = 256

[space.params]
PACK = [0, 1, 2]
TILE = [16, 32]
LAUNCHED = { values = [64, 2048], compile_time = false }

[[steps]]
entry = "pack<{TILE}>"
when = "PACK >= 1"
grid = ["M // TILE"]
block = ["LAUNCHED"]
args = ["A", "packed", "m"]

[[steps]]
entry = "gemm"
when = "PACK <= 1"
grid = ["M"]
block = [64]
shared = "TILE * 8"
args = ["packed", "C"]

[[steps]]
entry = "pack<{TILE}>"
when = "PACK == 1"
grid = ["M // 100 - TILE // 32 * 2"]
block = [32]
args = ["C", "C", "m"]

[[args]]
name = "A"
dtype = "f32"
shape = ["M"]

[[args]]
name = "filter"
kind = "constant"
dtype = "f32"
value = "1"

[[args]]
name = "packed"
dtype = "f32"
shape = ["M"]
role = "scratch"

[[args]]
name = "C"
dtype = "f32"
shape = ["M"]
role = "out"

[[args]]
name = "m"
kind = "scalar"
dtype = "i32"
value = "M"
)";

struct Steps {
  TemporaryDirectory folder;
  Spec spec;
  std::unique_ptr<Space> space;
  std::unique_ptr<CandidateResolver> resolver;

  explicit Steps(const std::string& text = pack_and_multiply) {
    std::ofstream(folder.path() / "steps.cu") << "__global__ void gemm() {}\n";
    spec = parse_spec(text, "steps.toml", folder.path());
    DeviceInfo info;
    info.backend = "cuda", info.vendor = "nvidia", info.arch = "sm_90", info.name = "GPU";
    info.max_threads_per_block = 1024, info.shared_per_block_optin = 1000, info.warp_size = 32;
    space = std::make_unique<Space>(spec.parameters, std::vector<Expression>(), spec.cases.front());
    resolver =
        std::make_unique<CandidateResolver>(spec, *space, spec.cases.front(), info, "sm_90a", "nvrtc 13.0", false);
  }
  std::string key(const Config& config) const {
    return key_of(resolver->measurement_key_parts(config, resolver->artifact_key(resolver->compile_request(config))));
  }
};

Config pack_config(std::int64_t pack, std::int64_t tile = 16, std::int64_t launched = 64) {
  return {pack, tile, launched};
}

std::string rejection_of(const Steps& steps, const Config& config) {
  try {
    steps.resolver->launch(config);
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::rejected);
    return failure.what();
  }
  return "accepted";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the steps whose condition holds are launched, each with its arguments") {
  const Steps steps;
  const LaunchPlan all = steps.resolver->launch(pack_config(1));
  REQUIRE(all.steps.size() == 3);
  CHECK(all.steps[0].name == "step 1 'pack<16>'");
  CHECK(all.steps[0].launch.grid == std::array<std::uint32_t, 3>{16, 1, 1});
  CHECK(*all.steps[0].arguments == std::vector<std::size_t>{0, 1, 3});  // a constant is not an argument
  CHECK(all.steps[1].kernel == 1);
  CHECK(all.steps[1].launch.shared_bytes == 128);
  CHECK(*all.steps[1].arguments == std::vector<std::size_t>{1, 2});
  CHECK(all.steps[2].kernel == 0);  // the same kernel once more, with another launch
  CHECK(all.steps[2].launch.block[0] == 32);
  CHECK(*all.steps[2].arguments == std::vector<std::size_t>{2, 2, 3});
  CHECK(all.max_shared_bytes() == 128);

  const LaunchPlan one = steps.resolver->launch(pack_config(2));
  REQUIRE(one.steps.size() == 1);
  CHECK(one.steps[0].name == "step 1 'pack<16>'");
  const LaunchPlan other = steps.resolver->launch(pack_config(0));
  REQUIRE(other.steps.size() == 1);
  CHECK(other.steps[0].name == "step 2 'gemm'");
  CHECK(other.steps[0].kernel == 0);
}

TEST_CASE("a step may take a tensor map, and the buffer that it describes needs no step") {
  const std::string mapped =
      changed(pack_and_multiply, "args = [\"A\", \"packed\", \"m\"]", "args = [\"a_map\", \"packed\", \"m\"]") +
      "[[args]]\nname = \"a_map\"\nkind = \"tensor_map\"\nof = \"A\"\nbox = [64]\n";
  const Steps steps(mapped);
  const LaunchPlan plan = steps.resolver->launch(pack_config(1));
  CHECK(*plan.steps[0].arguments == std::vector<std::size_t>{4, 1, 3});
  CHECK(steps.resolver->tensor_maps(pack_config(1)).size() == 1);
  const Steps wider(changed(mapped, "box = [64]", "box = [128]"));
  CHECK(wider.key(pack_config(1)) != steps.key(pack_config(1)));
}

TEST_CASE("the only kernel, and the reference's, are steps with the arguments that they name") {
  const std::string begin = changed(pack_and_multiply.substr(0, pack_and_multiply.find("[[steps]]")), "\"steps.cu\"",
                                    "\"steps.cu\"\nargs = [\"C\", \"A\"]");
  const std::string plain = begin +
                            "[launch]\ngrid = [1]\nblock = [32]\n[validate]\nreference = { kernel = \"naive\", args = "
                            "[\"packed\", \"C\", \"m\"] }\n" +
                            pack_and_multiply.substr(pack_and_multiply.find("[[args]]"));
  using Positions = std::optional<std::vector<std::size_t>>;
  const Steps some(plain);
  const LaunchPlan launch = some.resolver->launch(pack_config(1));
  CHECK(launch.steps.at(0).arguments == Positions({2, 0}));  // a constant is not an argument
  CHECK(launch.takes(0));
  CHECK_FALSE(launch.takes(1));
  CHECK(some.resolver->reference_launch().steps.at(0).arguments == Positions({1, 2, 3}));
  // A reference that names none takes those of the kernel.
  const Steps same(changed(changed(plain, ", args = [\"packed\", \"C\", \"m\"]", ""), "[\"C\", \"A\"]",
                           "[\"C\", \"A\", \"packed\", \"m\"]"));
  CHECK(same.resolver->reference_launch().steps.at(0).arguments == Positions({2, 0, 1, 3}));
  const Steps all(changed(changed(plain, ", args = [\"packed\", \"C\", \"m\"]", ""), "args = [\"C\", \"A\"]", ""));
  CHECK_FALSE(all.resolver->launch(pack_config(1)).steps.at(0).arguments);
  CHECK(all.resolver->launch(pack_config(1)).takes(3));
  CHECK_FALSE(all.resolver->reference_launch().steps.at(0).arguments);
  CHECK(all.key(pack_config(1)) != same.key(pack_config(1)));
}

TEST_CASE("a compile request names each kernel of the configuration once") {
  const Steps steps;
  const CompileRequest both = steps.resolver->compile_request(pack_config(1, 32));
  CHECK(both.entry == "pack<32>");
  CHECK(both.more_entries == std::vector<std::string>{"gemm"});
  CHECK(entries_of(both) == std::vector<std::string>{"pack<32>", "gemm"});
  CHECK(steps.resolver->compile_request(pack_config(0)).entry == "gemm");
  CHECK(steps.resolver->compile_request(pack_config(2)).more_entries.empty());
}

TEST_CASE("without a step, or with a launch that no device takes, a configuration is rejected") {
  const Steps none(changed(pack_and_multiply, "PACK <= 1", "PACK == 1"));
  CHECK(has(rejection_of(none, pack_config(0)), "no step is left: `when` is false for all of [[steps]]"));
  CHECK(rejection_of(none, pack_config(1)) == "accepted");
  CHECK(none.key(pack_config(0)) != none.key(pack_config(1)));

  const Steps steps;
  CHECK(has(rejection_of(steps, pack_config(1, 32)), "step 3 'pack<32>': grid[0]: M // 100 - TILE // 32 * 2 = 0"));
  const Steps failing(changed(pack_and_multiply, "PACK == 1", "M // (PACK - 1) > 0"));
  CHECK(has(rejection_of(failing, pack_config(1)), "steps.toml:"));
  CHECK(has(rejection_of(failing, pack_config(1)), "division by zero in \"M // (PACK - 1) > 0\" (M = 256, PACK = 1)"));
  CHECK(failing.resolver->compile_request(pack_config(1)).entry == "pack<16>");
}

TEST_CASE("a limit of the device names the step, whose kernel's resources count") {
  const Steps steps;
  const LaunchPlan wide = steps.resolver->launch(pack_config(1, 16, 2048));
  CHECK(steps.resolver->limit_violation(wide, nullptr).value_or("none") ==
        "step 1 'pack<16>': block.x = 2048 exceeds device.max_block_x = 1024");
  const LaunchPlan plan = steps.resolver->launch(pack_config(1));
  Artifact artifact;
  set_entries(artifact, {{"pack", {}}, {"gemm", {}}});
  CHECK_FALSE(steps.resolver->limit_violation(plan, &artifact));
  artifact.entries[1].usage.static_shared_bytes = 900;
  CHECK(has(*steps.resolver->limit_violation(plan, &artifact), "step 2 'gemm': 1028 bytes of shared memory"));
  artifact.entries[1].usage.static_shared_bytes = 0;
  artifact.entries[0].usage.static_shared_bytes = 900;  // the kernel without dynamic shared memory
  CHECK_FALSE(steps.resolver->limit_violation(plan, &artifact));
}

TEST_CASE("entries, launches and arguments of all steps are part of the keys") {
  const Steps base;
  const Config config = pack_config(1);
  const auto differs = [&](const std::string& from, const std::string& to) {
    const Steps other(changed(pack_and_multiply, from, to));
    return other.key(config) != base.key(config);
  };
  CHECK_FALSE(differs("name = \"gemm\"", "name = \"other\""));
  CHECK(differs("entry = \"gemm\"", "entry = \"mma\""));
  CHECK(differs("shared = \"TILE * 8\"", "shared = \"TILE * 4\""));
  CHECK(differs("[\"packed\", \"C\"]", "[\"C\", \"packed\"]"));
  CHECK(differs("when = \"PACK <= 1\"", "when = \"PACK == 0\""));
  CHECK_FALSE(differs("when = \"PACK <= 1\"", "when = \"PACK < 2\""));
  const auto artifact_key = [](const Steps& steps, const Config& of) {
    return steps.resolver->artifact_key(steps.resolver->compile_request(of));
  };
  CHECK(artifact_key(base, config) == artifact_key(base, pack_config(1, 16, 2048)));
  const Steps single(changed(pack_and_multiply, "when = \"PACK <= 1\"", "when = \"PACK == 0\""));
  CHECK(artifact_key(single, config) != artifact_key(base, config));
}

TEST_CASE("keys of many configurations are those of each") {
  const Steps steps;
  MeasurementKeys keys(*steps.resolver);
  for (std::uint64_t i = 0; i < steps.space->size(); ++i) {
    const Config config = steps.space->at(i);
    std::string made;
    xtune::base::Sha256 bytes{};
    keys.any(config, [&](const xtune::base::Sha256& each) { return bytes = each, true; });
    for (const unsigned byte : bytes) made += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    CHECK(made == steps.key(config));
  }
}
