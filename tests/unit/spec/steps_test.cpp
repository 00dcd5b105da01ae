// [[steps]]: what a spec may say of several kernels, and the mistakes it may have.
#include <doctest/doctest.h>

#include "core/spec/spec.hpp"
#include "core/spec/template_text.hpp"
#include "specs.hpp"
#include "support/text.hpp"

using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string two_steps = R"spec([[steps]]
entry = "pack<{BLOCK_M}>"
when = "RASTER == 4"
grid = ["M"]
block = [64]
args = ["A", "alpha"]

[[steps]]
entry = "gemm"
grid = ["ceildiv(N, BLOCK_N)", "M"]
block = ["THREADS"]
shared = "BLOCK_M * 4"
cluster = [2]

)spec";

const std::string launch_lines =
    "[launch]\ngrid = [\"ceildiv(N, BLOCK_N)\", \"ceildiv(M, BLOCK_M)\"]\nblock = [\"THREADS\", 1]\n"
    "shared = \"BLOCK_M * 4\"\n\n";

std::string with_steps(const std::string& steps = two_steps) {
  return edited(launch_lines, steps, edited("entry = \"gemm<{BLOCK_M}, {BLOCK_N}>\"\n", ""));
}
/// The failure of the two steps with one piece of text replaced.
std::string mistake(const std::string& from, const std::string& to) { return failure(edited(from, to, with_steps())); }

}  // namespace

TEST_CASE("steps have their own entry, launch, condition and arguments") {
  const Spec spec = parse(with_steps());
  REQUIRE(spec.steps.size() == 2);
  CHECK(spec.steps[0].entry.text == "pack<{BLOCK_M}>");
  CHECK(spec.steps[0].when->text == "RASTER == 4");
  CHECK(spec.steps[0].launch.grid.size() == 1);
  CHECK(*spec.steps[0].args == std::vector<std::size_t>{0, 2});
  CHECK_FALSE(spec.steps[1].when);
  CHECK_FALSE(spec.steps[1].args);
  CHECK(spec.steps[1].launch.shared->text == "BLOCK_M * 4");
  CHECK(spec.steps[1].launch.cluster.size() == 1);
  CHECK(steps_of(spec).size() == 2);
}

TEST_CASE("a spec without steps has one kernel with all arguments") {
  const Spec spec = parse(good);
  CHECK(spec.steps.empty());
  const std::vector<StepSpec> steps = steps_of(spec);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].entry.text == "gemm<{BLOCK_M}, {BLOCK_N}>");
  CHECK(steps[0].launch.block[0].text == "THREADS");
  CHECK_FALSE(steps[0].args);
  CHECK_FALSE(steps[0].when);
}

TEST_CASE("steps exclude an entry and a launch of the kernel") {
  CHECK(has(failure(edited(launch_lines, two_steps)),
            "[kernel] entry and [[steps]] exclude each other: each step has its own entry"));
  CHECK(has(failure(edited("defines =", "args = [\"A\"]\ndefines =", with_steps())),
            "[kernel] args and [[steps]] exclude each other: each step has its own args"));
  CHECK(has(failure(edited("[[steps]]", launch_lines + "[[steps]]", with_steps())),
            "[launch] and [[steps]] exclude each other: each step has its own grid and block"));
  CHECK(has(failure(edited("source = \"gemm.cu\"", "source = \"gemm.cu\"\nbackend = \"kokkos\"",
                           edited(", grid = [\"M\"], block = [256]", "", with_steps()))),
            "a Kokkos unit launches its own kernels, so it has no steps"));
  CHECK(has(failure("[process]\nrun = \"true\"\n[kernel]\nname = \"p\"\n[space.params]\nA = [1]\n" + two_steps),
            "[steps] is about kernels, and [process] tunes a program"));
  CHECK(has(failure("[kernel]\nname = \"p\"\n[space.params]\nA = [1]\n[[steps]]\nentry = \"k\"\n"),
            "[[steps]] without a kernel: [kernel] has no source"));
}

TEST_CASE("a mistake in a step is reported with its place") {
  CHECK(has(mistake("entry = \"gemm\"\n", ""), "[[steps]] has no entry"));
  CHECK(has(mistake("entry = \"gemm\"", "entry = \"\""), "entry is empty: give the name of the __global__ function"));
  CHECK(has(mistake("block = [64]\n", ""), "the step 'pack<{BLOCK_M}>' has no block"));
  CHECK(has(mistake("when =", "wenn ="), "unknown key 'wenn' in [[steps]] (did you mean 'when'?)"));
  CHECK(
      has(mistake("RASTER == 4", "RASTR == 4"), "unknown name 'RASTR' in a step's condition (did you mean 'RASTER'?)"));
  CHECK(has(mistake("grid = [\"M\"]", "grid = [\"M - 4096\"]"), "a launch size must be at least 1"));
  CHECK(has(mistake("\"alpha\"]", "\"alfa\"]"), "args: 'alfa' is not an argument in [[args]] (did you mean 'alpha'?)"));
  CHECK(has(mistake("kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256]",
                    "kernel = \"naive\", source = \"naive.cu\""),
            "the reference kernel has no launch: with [[steps]], give it its own grid and block"));
  CHECK(has(failure(with_steps("steps = []\n")), "steps"));
}

TEST_CASE("an argument that no step takes is a mistake; a constant is for all steps, and no argument of one") {
  const std::string listed = edited("cluster = [2]\n", "cluster = [2]\nargs = [\"C\"]\n", with_steps());
  CHECK(parse(listed).steps[1].args->size() == 1);
  CHECK(has(failure(edited("args = [\"A\", \"alpha\"]", "args = [\"A\"]", listed)),
            "the argument 'alpha' is in the args of no step, and no tensor map, struct, table or reference uses it"));
  const std::string constant = edited("[validate]",
                                      "[[args]]\nname = \"filter\"\nkind = \"constant\"\ndtype = \"f32\"\n"
                                      "shape = [9]\n\n[validate]",
                                      listed);
  CHECK(parse(constant).args.back().kind == ArgKind::constant);
  CHECK(has(failure(edited("args = [\"C\"]", "args = [\"C\", \"filter\"]", constant)),
            "'filter' is not an argument in [[args]]"));
}

TEST_CASE("with candidates, a step limits the space only where it is launched") {
  const std::string text = edited("[search]", "[candidates]\ntemplate = \"elementwise\"\n\n[search]", with_steps());
  const Spec spec = parse(edited("shared = \"BLOCK_M * 4\"\n", "", edited("block = [64]", "block = [2048]", text)));
  Bindings device = facts();
  device["device.max_threads_per_block"] = std::int64_t{1024};
  const space::Space space = make_space(spec, spec.cases.front(), device);
  std::size_t raster = 0;
  while (space.parameters()[raster].name != "RASTER") ++raster;
  CHECK(space.size() > 0);
  for (std::uint64_t i = 0; i < space.size(); ++i) CHECK(space.at(i)[raster] == Value(std::int64_t{0}));
}
