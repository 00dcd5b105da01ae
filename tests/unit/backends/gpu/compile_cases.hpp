// What both GPU toolchains are asked to compile in the tests.
#pragma once

#include <string>

#include "backends/backend.hpp"
#include "support/text.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::testing {

using test::has;

/// Plenty of registers a thread, static shared memory, a template with one parameter, and a plain kernel beside it.
inline const char* const kernels = R"(
template <int COUNT>
__global__ void busy(float* out, const float* in, int n) {
  __shared__ float tile[256];
  float r[COUNT];
  for (int i = 0; i < COUNT; ++i) r[i] = in[i * n + threadIdx.x];
  for (int k = 0; k < n; ++k) {
    tile[threadIdx.x] = r[k % 2];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) r[i] = r[i] * tile[(i + threadIdx.x) & 255] + r[(i * 7 + 3) % COUNT];
  }
  for (int i = 0; i < COUNT; ++i) out[i * n + threadIdx.x] = r[i];
}
extern "C" __global__ void plain(float* out) { out[threadIdx.x] = 1; }
)";

inline build::CompileRequest request_for(const std::string& arch, const std::string& entry,
                                         const std::string& source = kernels) {
  build::CompileRequest request;
  request.source_name = "folder/kernels.cu";
  request.source = source;
  request.entry = entry;
  request.arch = arch;
  return request;
}

/// The failure of a compile; an empty message when it worked.
struct Refusal {
  std::string message, log;
  Outcome outcome = Outcome::ok;
};

inline Refusal refusal_of(build::Toolchain& toolchain, const build::CompileRequest& request) {
  try {
    toolchain.compile(request);
  } catch (const build::CandidateFailure& failure) {
    return {failure.what(), failure.log(), failure.outcome()};
  }
  return {};
}

/// The named backend's toolchain, or nullptr where its compiler is not installed; of cuda, NVRTC without a name.
inline std::unique_ptr<build::Toolchain> toolchain_or_null(const std::string& backend, std::string compiler = {}) {
  if (compiler.empty() && backend == "cuda") compiler = "nvrtc";
  try {
    return backend::open_toolchain(*backend::make_backend(backend), compiler, "");
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace xtune::testing
