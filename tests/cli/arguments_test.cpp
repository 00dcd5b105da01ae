// Tests of what kernels are called with, on the host: constants, scratch buffers, fresh inputs; and of checks by
// command.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

const std::string quick = "[measure]\nrep = 5\nmin_rep = 3\nwarmup = 1\nmax_time_ms = 5\nrace = false\nfinals = 0\n";

/// A convolution with its filter in constant memory, as Kernel Tuner's example has it.
std::string convolution_spec(const Cli& cli, const std::string& more = "") {
  cli.write("conv.cu", R"(namespace conv { __constant__ float filter[7 * 7]; }
__constant__ float bias;
extern "C" __global__ void convolve(const float* image, float* out, int width, int height) {
  const int x = blockIdx.x * BLOCK + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  float sum = bias;
  for (int j = 0; j < FILTER; ++j)
    for (int i = 0; i < FILTER; ++i) sum += image[(y + j) * (width + FILTER - 1) + x + i] * conv::filter[j * FILTER + i];
  out[y * width + x] = sum;
}
)");
  return cli.write("conv.toml", R"spec([kernel]
name = "convolve"
source = "conv.cu"
defines = { FILTER = "{FILTER}" }
[problem]
W = 40
H = 8
FILTER = 5
[space.params]
BLOCK = [16, 64]
[launch]
grid = ["ceildiv(W, BLOCK)", "H"]
block = ["BLOCK"]
[[args]]
name = "image"
dtype = "f32"
shape = [1, 1, "H + FILTER - 1", "W + FILTER - 1"]
[[args]]
name = "filter"
kind = "constant"
dtype = "f32"
shape = [1, 1, "FILTER", "FILTER"]
symbol = "conv::filter"
[[args]]
name = "bias"
kind = "constant"
dtype = "f32"
value = 0
[[args]]
name = "out"
dtype = "f32"
shape = [1, 1, "H", "W"]
role = "out"
[[args]]
name = "width"
kind = "scalar"
dtype = "i32"
value = "W"
[[args]]
name = "height"
kind = "scalar"
dtype = "i32"
value = "H"
[validate]
reference = { builtin = "conv2d", x = "image", w = "filter" }
)spec" + quick + more);
}

/// Sums of rows in SPLIT parts; the block that ends last adds them up.
std::string split_spec(const Cli& cli) {
  cli.write("split.cu",
            R"(extern "C" __global__ void split_sum(const float* x, float* y, float* partial, unsigned* done, int n) {
  const int row = blockIdx.x, part = blockIdx.y, rows = gridDim.x, per = (n + SPLIT - 1) / SPLIT;
  float sum = 0;
  for (int i = part * per; i < n && i < (part + 1) * per; ++i) sum += x[row * n + i];
  partial[part * rows + row] = sum;
  __threadfence();
  if (atomicAdd(&done[row], 1u) != SPLIT - 1) return;
  sum = 0;
  for (int p = 0; p < SPLIT; ++p) sum += partial[p * rows + row];
  y[row] = sum;
}
)");
  return cli.write("split.toml", R"spec([kernel]
name = "split_sum"
source = "split.cu"
[problem]
ROWS = 8
N = 256
[space.params]
SPLIT = [1, 4]
SIZE = { values = [1, 1000000000000], compile_time = false }
[launch]
grid = ["ROWS", "SPLIT"]
block = [1]
[[args]]
name = "x"
dtype = "f32"
shape = ["ROWS", "N"]
[[args]]
name = "y"
dtype = "f32"
shape = ["ROWS"]
role = "out"
[[args]]
name = "partial"
dtype = "f32"
shape = ["SPLIT", "ROWS", "SIZE"]
role = "scratch"
[[args]]
name = "done"
dtype = "u32"
shape = ["ROWS"]
role = "scratch"
zero = true
[[args]]
name = "n"
kind = "scalar"
dtype = "i32"
value = "N"
[validate]
reference = { builtin = "reduction", x = "x", axis = 1 }
)spec" + quick);
}

void replace(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  std::ofstream(path, std::ios::binary) << text.replace(at, from.size(), to);
}

/// The messages of a run's failures.
std::string failures(const CommandResult& run) { return run.stdout_text + run.stderr_text; }

}  // namespace

TEST_CASE("A filter in constant memory is filled, in a namespace too, and its contents count in the key") {
  const Cli cli;
  const std::string spec = convolution_spec(cli);
  CHECK(cli.xtune({"check", spec}).exit_code == 0);
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 2}});
  CHECK(parsed(cli.run(spec))["from_store"] == 2);

  replace(spec, "value = 0", "value = 1");
  const json biased = parsed(cli.run(spec));
  CHECK(biased["from_store"] == 0);
  CHECK(biased["counts"] == json{{"wrong_result", 2}});

  // A reference kernel of the same source has its own filled.
  replace(spec, "{ builtin = \"conv2d\", x = \"image\", w = \"filter\" }", "{ kernel = \"convolve\" }");
  CHECK(parsed(cli.run(spec, {"--fresh"}))["counts"] == json{{"ok", 2}});
  if (can_sanitize) CHECK(cli.run(spec, {"--sanitize"}).exit_code == 0);
}

TEST_CASE("A constant without a variable that can hold it fails with a message about it") {
  const Cli cli;
  const std::string spec = convolution_spec(cli);
  const CommandResult large = cli.run(spec, {"-D", "FILTER=9"});
  CHECK(large.exit_code == 3);
  CHECK(has(failures(large),
            "constant 'filter': the variable in the source has 196 bytes, and f32[1, 1, 9, 9] takes 324"));
  replace(cli.path("conv.cu"), "float bias", "const float bias = 0");
  CHECK(has(failures(cli.run(spec)), "must not be const in the source"));
  replace(cli.path("conv.cu"), "__constant__ const float bias = 0;", "");
  replace(cli.path("conv.cu"), "float sum = bias", "float sum = 0");
  CHECK(has(failures(cli.run(spec)), "conv.cu has no variable 'bias', which a constant of the spec fills"));
}

TEST_CASE("Scratch buffers have their own size for each configuration; too large ones reject theirs") {
  const Cli cli;
  const std::string spec = split_spec(cli);
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 2}, {"rejected", 2}});
  CHECK(has(failures(run), "scratch buffer 'partial': f32["));
  if (can_sanitize) CHECK(cli.run(spec, {"--sanitize", "-D", "SIZE=1"}).exit_code == 0);

  // Without zeros the counters never reach their end; without room for the parts a guard zone is hit.
  replace(spec, "zero = true\n", "");
  CHECK(parsed(cli.run(spec, {"-D", "SIZE=1"}))["counts"] == json{{"wrong_result", 2}});
  replace(spec, "role = \"scratch\"\n[[args]]\nname = \"n\"",
          "role = \"scratch\"\nzero = true\n[[args]]\nname = \"n\"");
  replace(spec, "shape = [\"SPLIT\",", "shape = [1,");
  const CommandResult small = cli.run(spec, {"-D", "SIZE=1"});
  CHECK(parsed(small)["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  CHECK(has(failures(small), "partial: the kernel wrote past the end of this buffer"));
}

TEST_CASE("A command judges outputs, alone and after a reference; its file counts in the key") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  cli.write("check.sh", "test -s $XTUNE_INPUTS/x.npy && test -s $XTUNE_OUTPUTS/y.npy && test $1 = 4096\n");
  replace(spec, "[validate]\n", "[validate]\nvalidator = \"sh check.sh {N}\"\n");
  CHECK(cli.xtune({"check", spec}).exit_code == 0);
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 2}});
  CHECK(parsed(cli.run(spec))["from_store"] == 2);

  cli.write("check.sh", "echo the last elements differ; exit 3\n");
  replace(spec, "reference = { builtin = \"transpose\", x = \"x\" }\n", "");
  const CommandResult wrong = cli.run(spec);
  CHECK(parsed(wrong)["counts"] == json{{"wrong_result", 2}});
  CHECK(parsed(wrong)["from_store"] == 0);
  CHECK(has(failures(wrong), "the validator ended with exit code 3: the last elements differ"));

  cli.write("check.sh", "exec sleep 60\n");
  replace(spec, "[measure]\n", "[measure]\ntimeout_s = 1\n");
  const CommandResult slow = cli.run(spec, {"-D", "VARIANT=1"});
  CHECK(parsed(slow)["counts"] == json{{"timed_out", 1}});
  CHECK(has(failures(slow), "the validator took longer than 1.0 s and was stopped"));

  replace(spec, "sh check.sh {N}", "./no-such-check");
  const CommandResult missing = cli.run(spec);
  CHECK(missing.exit_code == 3);
  CHECK(has(failures(missing), "no-such-check"));
  replace(spec, "\"./no-such-check\"", "\"\"");
  CHECK(has(failures(cli.xtune({"check", spec})), "validator is empty"));
}

TEST_CASE("Fresh inputs: each configuration is judged on its own, and the records are others") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  CHECK(parsed(cli.run(spec))["counts"] == json{{"ok", 2}});
  replace(spec, "[validate]\n", "[validate]\ninputs = \"fresh\"\n");
  const json fresh = parsed(cli.run(spec));
  CHECK(fresh["counts"] == json{{"ok", 2}});
  CHECK(fresh["from_store"] == 0);
  CHECK(parsed(cli.run(spec))["from_store"] == 2);
}

TEST_CASE("On every GPU, constants and scratch buffers are the kernel's, too") {
  const Cli cli;
  const json devices = parsed(cli.xtune({"devices", "--format", "json"}));
  bool any = false;
  for (const json& backend : devices["backends"]) {
    const std::string name = backend["name"];
    if ((name != "cuda" && name != "hip") || backend["devices"].empty()) continue;
    any = true;
    CAPTURE(name);
    for (const std::string& spec : {convolution_spec(cli), split_spec(cli)}) {
      const CommandResult run = cli.xtune({"run", spec, "--backend", name, "--format", "json"});
      CAPTURE(run.stderr_text);
      REQUIRE(run.exit_code == 0);
      CHECK(parsed(run)["counts"]["ok"] == 2);
    }
    const std::string spec = convolution_spec(cli);
    replace(spec, "value = 0", "value = 1");
    CHECK(parsed(cli.xtune({"run", spec, "--backend", name, "--format", "json"}))["counts"] ==
          json{{"wrong_result", 2}});
  }
  if (!any) MESSAGE("skipped: this test needs a GPU");
}
