// Tensor maps from the command line: checked, compiled, shown and drafted. Launches need a GPU (tests/device).
#include <doctest/doctest.h>

#include "cli/cli.hpp"

using namespace xtune::system;
using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A kernel that takes a map of A, and C. Boxes of 512 rows exceed a limit.
std::string copy_spec(const Cli& cli, const std::string& map = "box = [\"BOX\", 64]\nswizzle = 128\n") {
  cli.write("copy.cu",
            "struct alignas(64) CUtensorMap { unsigned long long words[16]; };\n"
            "extern \"C\" __global__ void __launch_bounds__(128, 1)\n"
            "copy(const __grid_constant__ CUtensorMap a_map, float* c) {\n"
            "  c[blockIdx.x * 128 + threadIdx.x] = a_map.words[0] != 0;\n}\n");
  return cli.write("copy.toml",
                   "[kernel]\nname = \"copy\"\nsource = \"copy.cu\"\nargs = [\"a_map\", \"c\"]\n"
                   "[problem]\nM = 1024\nK = 256\n"
                   "[space.params]\nBOX = { values = [64, 128, 512], compile_time = false }\n"
                   "[launch]\ngrid = [8]\nblock = [128]\nshared = \"BOX * 1024\"\ncluster = [2]\n"
                   "[[args]]\nname = \"a_map\"\nkind = \"tensor_map\"\nof = \"a\"\n" +
                       map +
                       "[[args]]\nname = \"c\"\ndtype = \"f32\"\nshape = [\"M\"]\nrole = \"out\"\n"
                       "[[args]]\nname = \"a\"\ndtype = \"f16\"\nshape = [\"M\", \"K\"]\n");
}

}  // namespace

TEST_CASE("check finds limits of tensor maps that no configuration keeps") {
  const Cli cli;
  CHECK(cli.xtune({"check", copy_spec(cli)}).exit_code == 0);
  const CommandResult wrong = cli.xtune({"check", copy_spec(cli, "box = [64, 60]\n")});
  CHECK(wrong.exit_code == 2);
  CHECK(has(wrong.stderr_text,
            "tensor map 'a_map': the last extent of box [64, 60] is 120 bytes of f16, and a multiple of 16 bytes is "
            "needed"));
  // Boxes of other sizes would not help.
  const CommandResult word = cli.xtune({"check", copy_spec(cli, "box = [\"BOX\", 64]\nswizzle = 33\n")});
  CHECK(word.exit_code == 2);
  CHECK(has(word.stderr_text, "tensor map 'a_map': swizzle = 33, and 0, 32, 64 and 128 bytes are allowed"));
  CHECK(cli.xtune({"check", copy_spec(cli, "box = [\"BOX\", 64]\nswizzle = \"BOX\"\n")}).exit_code == 0);
  // Every value of the parameter is wrong; the error is at the key.
  const CommandResult each = cli.xtune({"check", copy_spec(cli, "box = [64, \"BOX - 1\"]\n")});
  CHECK(each.exit_code == 3);
  CHECK(has(each.stderr_text,
            "copy.toml:19:8: no configuration can be launched, e.g. BOX=64: tensor map 'a_map': the "
            "last extent of box [64, 63] is 126 bytes of f16, and a multiple of 16 bytes is needed"));
  // A parameter does not reach the kernel, but the map.
  CHECK_FALSE(has(cli.xtune({"check", copy_spec(cli)}).stderr_text, "BOX"));
}

TEST_CASE("compiling rejects what a device or a box does not allow, and show prints the maps" *
          doctest::description("needs NVRTC")) {
  const Cli cli;
  const std::string spec = copy_spec(cli);
  const CommandResult compiled = cli.xtune({"compile", spec, "--arch", "sm_90a,sm_80"});
  if (compiled.exit_code == 4) {
    MESSAGE("skipped: NVRTC is not installed");
    return;
  }
  CHECK(has(compiled.stdout_text, "box [512, 64] has the value 512"));
  CHECK(has(compiled.stdout_text, "sm_80 has no tensor maps"));
  const CommandResult shown = cli.xtune({"show", spec, "--arch", "sm_90a", "--no-source", "--config", "BOX=128"});
  CHECK(has(shown.stdout_text,
            "tensor map: a_map of a: f16 shape [1024, 256] strides [256] box [128, 64] element_strides [1, 1] swizzle "
            "128 l2_promotion 128 interleave 0 outside zero\n"));
  CHECK(has(shown.stdout_text, "131072 bytes of dynamic shared memory"));
  const json answer = parsed(cli.xtune({"show", spec, "--arch", "sm_90a", "--config", "BOX=64", "--format", "json"}));
  CHECK(answer["tensor_maps"][0]["name"] == "a_map");
  CHECK(answer["tensor_maps"][0]["of"] == "a");
}

TEST_CASE("products that the hardware does not have are refused when they are compiled" *
          doctest::description("needs NVRTC")) {
  const Cli cli;
  const auto compiled = [&](const std::string& body) {
    cli.write("product.cu",
              "#include <xtune/hopper.cuh>\nusing namespace xtune::hopper;\n"
              "extern \"C\" __global__ void product_kernel(float* c) {\n"
              "  extern __shared__ char tile[];\n  const auto x = matrix<Swizzle::none>(tile, 256);\n  " +
                  body + "\n  c[threadIdx.x] = sums[0];\n}\n");
    return cli
        .xtune({"compile",
                cli.write("product.toml",
                          "[kernel]\nname = \"product\"\nsource = \"product.cu\"\nentry = \"product_kernel\"\n"
                          "[space.params]\nP = [1]\n[launch]\ngrid = [1]\nblock = [128]\n"
                          "[[args]]\nname = \"c\"\ndtype = \"f32\"\nshape = [128]\nrole = \"out\"\n"),
                "--arch", "sm_90a", "--format", "json"})
        .stdout_text;
  };
  const std::string right = compiled("float sums[4]; product<Type::f16>(sums, x, x, false);");
  if (has(right, "\"unavailable\"")) {
    MESSAGE("skipped: NVRTC is not installed");
    return;
  }
  CHECK(has(right, "\"ok\""));
  CHECK(has(compiled("float sums[4]; product<Type::s8>(sums, x, x, false);"), "products of integers have sums of int"));
  CHECK(has(compiled("float sums[6]; product<Type::f16>(sums, x, x, false);"), "must be a multiple of 8 up to 256"));
  const std::string odd = compiled("int sums[20]; product(sums, x, x, false);");
  CHECK(has(odd, "must be 8, 24, or a multiple of 16 up to 256"));
  // The header's name without its temporary directory, and the line of the kernel.
  CHECK(has(odd, "\"xtune/hopper.cuh("));
  CHECK(has(odd, "product.cu:6)"));
}

TEST_CASE("init drafts tensor maps") {
  const Cli cli;
  copy_spec(cli);
  const CommandResult drafted = cli.xtune({"init", cli.path("copy.cu"), "-o", "-"});
  CHECK(has(drafted.stdout_text, "kind = \"tensor_map\"\nof = \"?\"  # fill in: an argument"));
  CHECK(has(drafted.stdout_text, "\nbox = [\"?\"]  # fill in: extents"));
}
