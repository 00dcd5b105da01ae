// A sum of rows in two steps, for tests of [[steps]].
#pragma once

#include <string>

#include "cli/cli.hpp"

namespace xtune::cli_test {

/// Rows of 512 numbers. PARTS blocks add up a part of a row each; more than one need a second kernel.
inline std::string split_sum_spec(const Cli& cli, const std::string& more = "") {
  cli.write("split_sum.cu",
            "extern \"C\" __global__ void sum_parts(const float* x, float* sums, int n) {\n"
            "  const int length = n / PARTS;\n"
            "  const float* const first = x + blockIdx.y * n + blockIdx.x * length;\n"
            "  __shared__ float part[BLOCK];\n"
            "  float sum = 0;\n"
            "  for (int i = threadIdx.x; i < length; i += BLOCK) sum += first[i];\n"
            "  part[threadIdx.x] = sum;\n"
            "  __syncthreads();\n"
            "  if (threadIdx.x != 0) return;\n"
            "  for (int i = 1; i < BLOCK; ++i) sum += part[i];\n"
            "  sums[blockIdx.y * PARTS + blockIdx.x] = sum;\n"
            "}\n"
            "template <int COUNT>\n"
            "__global__ void add_sums(const float* sums, float* y) {\n"
            "  float sum = 0;\n"
            "  for (int i = 0; i < COUNT; ++i) sum += sums[blockIdx.x * COUNT + i];\n"
            "  y[blockIdx.x] = sum;\n"
            "}\n");
  return cli.write(
      "split_sum.toml",
      "[kernel]\nname = \"split_sum\"\nsource = \"split_sum.cu\"\n"
      "[problem]\nROWS = 4\nN = 512\n"
      "[space.params]\nPARTS = [1, 4]\nBLOCK = [32, 64]\n"
      "[[steps]]\nentry = \"sum_parts\"\nwhen = \"PARTS == 1\"\ngrid = [1, \"ROWS\"]\n"
      "block = [\"BLOCK\"]\nargs = [\"x\", \"y\", \"n\"]\n"
      "[[steps]]\nentry = \"sum_parts\"\nwhen = \"PARTS > 1\"\ngrid = [\"PARTS\", \"ROWS\"]\n"
      "block = [\"BLOCK\"]\nargs = [\"x\", \"sums\", \"n\"]\n"
      "[[steps]]\nentry = \"add_sums<{PARTS}>\"\nwhen = \"PARTS > 1\"\ngrid = [\"ROWS\"]\nblock = [1]\n"
      "shared = 16\nargs = [\"sums\", \"y\"]\n"
      "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"ROWS\", \"N\"]\n"
      "[[args]]\nname = \"sums\"\ndtype = \"f32\"\nshape = [\"ROWS\", \"PARTS\"]\nrole = \"scratch\"\n"
      "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"ROWS\"]\nrole = \"out\"\n"
      "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
      "[measure]\nrep = 3\nmin_rep = 3\nwarmup = 1\nrace = false\nfinals = 0\n" +
          (more.empty() ? "[validate]\nreference = { builtin = \"reduction\", x = \"x\", axis = 1 }\n" : more));
}

}  // namespace xtune::cli_test
