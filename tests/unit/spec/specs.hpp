// A good spec for modifications, and a directory with the files that it names.
#pragma once

#include <filesystem>
#include <string>

#include "core/spec/spec.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::test {

inline const std::string good = R"spec([kernel]
name = "gemm"
source = "gemm.cu"
entry = "gemm<{BLOCK_M}, {BLOCK_N}>"
options = ["-std=c++17", "-maxrregcount={MAXREG}"]
defines = { HALF = "{BLOCK_M // 2}", BRACES = "{{}}" }

[problem]
M = 4096
N = 1024
ALPHA = 1.5

[space]
constraints = [
  "BLOCK_M * BLOCK_N // THREADS <= 128",
  "BLOCK_M * 4 <= device.shared_per_block_optin",
]
[space.params]
BLOCK_M = [64, 128]
BLOCK_N = { min = 32, max = 128, scale = "pow2" }
THREADS = { min = 128, max = 256, step = 128 }
MAXREG = [64, 128]
RASTER = { values = [0, 4], compile_time = false }
LAYOUT = ["row", "column"]

[launch]
grid = ["ceildiv(N, BLOCK_N)", "ceildiv(M, BLOCK_M)"]
block = ["THREADS", 1]
shared = "BLOCK_M * 4"

[[args]]
name = "A"
dtype = "f16"
shape = ["M", "N"]

[[args]]
name = "C"
dtype = "f32"
shape = ["M", "N"]
role = "inout"
fill = "zero"

[[args]]
name = "alpha"
kind = "scalar"
dtype = "f32"
value = "ALPHA * RASTER"

[validate]
reference = { kernel = "naive", source = "naive.cu", grid = ["M"], block = [256] }
rtol = 1e-2

[measure]
rep = 20
flush = "rotate"

[search]
strategy = "random"
evals = 100

[metrics]
TFLOPS = "2 * M * N / time_s / 1e12"

[on.host.problem]
M = 256

[on.host.space.params]
BLOCK_M = [8, 16]

[on.host.search]
evals = 10
)spec";

struct Folder {
  Folder() {
    system::write_file_atomically(directory.path() / "gemm.cu", "__global__ void gemm() {}\n");
    system::write_file_atomically(directory.path() / "naive.cu", "__global__ void naive() {}\n");
    system::write_file_atomically(directory.path() / "c.npy", "x");
  }
  system::TemporaryDirectory directory;
};

inline spec::Spec parse(const std::string& text, const spec::SpecOptions& options = {}) {
  static const Folder folder;
  return spec::parse_spec(text, "gemm.toml", folder.directory.path(), options);
}

/// The good spec with one piece of text replaced; the piece must be there.
inline std::string edited(const std::string& from, const std::string& to, std::string text = good) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no '" + from + "' in the spec");
  return text.replace(at, from.size(), to);
}

/// "invalid_spec: message"; the whole message.
inline std::string failure(const std::string& text, const spec::SpecOptions& options = {}) {
  try {
    parse(text, options);
    return "no error";
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
}

inline const Bindings& facts() {
  static const Bindings device{{"device.shared_per_block_optin", std::int64_t{1024}},
                               {"device.warp_size", std::int64_t{32}}};
  return device;
}

}  // namespace xtune::test
