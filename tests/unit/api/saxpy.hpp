// y = a * x + y, built in code, small enough for every test.
#pragma once

#include "xtune/tunable.hpp"

namespace xtune::api_test {

inline const char* const saxpy_source =
    "extern \"C\" __global__ void saxpy(const float* x, float* y, float a, int n) {\n"
    "  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;\n"
    "  for (int i = first; i < first + UNROLL; ++i)\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

/// Two parameters, four configurations, no reference.
inline Tunable saxpy(int n = 1024) {
  Tunable tunable("saxpy");
  tunable.source(saxpy_source)
      .problem("N", n)
      .param("BLOCK", {32, 64}, ParamKind::launch_only)
      .param("UNROLL", {1, 2})
      .grid({"ceildiv(N, BLOCK * UNROLL)"})
      .block({"BLOCK"})
      .input("x", DType::f32, {"N"})
      .inout("y", DType::f32, {"N"})
      .scalar("a", 2.0f)
      .scalar("n", DType::i32, "N")
      .measure("rep", 7)
      .measure("min_rep", 3)
      .measure("warmup", 1)
      .measure("max_time_ms", 5)
      .measure("race", false)
      .measure("finals", 0);
  return tunable;
}

}  // namespace xtune::api_test
