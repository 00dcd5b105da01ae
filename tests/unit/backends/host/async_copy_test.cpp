// Asynchronous copies to shared memory: done when they are waited for, and not before.
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "backends/backend.hpp"

using namespace xtune::backend;
using namespace xtune::build;
using namespace xtune::measure;

using namespace xtune;

namespace {

constexpr unsigned block_size = 64;
constexpr int steps = 5;

/// out[step][i] = in[step][i ^ 1], through a ring of three tiles; the text between start and use is the kernel's.
std::vector<int> run(const std::string& wait, const std::string& zeros = "0") {
  CompileRequest request;
  request.source_name = "kernel.cu";
  request.entry = "k";
  request.source = R"(#include <cuda_pipeline.h>
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ int tiles[3][64];
  const int i = threadIdx.x;
  for (int t = 0; t < 3; ++t) tiles[t][i] = -1;
  const auto start = [&](int step) {
    if (step < 5) __pipeline_memcpy_async(&tiles[step % 3][i], in + step * 64 + i, 4, )" +
                   zeros + R"();
    __pipeline_commit();
  };
  start(0);
  start(1);
  for (int step = 0; step < 5; ++step) {
    )" + wait + R"(
    start(step + 2);
    out[(blockIdx.x * 5 + step) * 64 + i] = tiles[step % 3][i ^ 1];
  }
})";
  const auto backend = make_backend("host");
  const auto toolchain = backend->open_toolchain();
  request.arch = toolchain->default_arch();
  const Artifact artifact = toolchain->compile(request);
  CHECK(artifact.usage.static_shared_bytes == 3 * block_size * sizeof(int));  // no copy under way among them
  const auto device = backend->open_device(0);
  const std::size_t count = steps * block_size;
  std::vector<int> in(count), out(2 * count);
  std::iota(in.begin(), in.end(), 0);
  const auto from = device->allocate(count * sizeof(int)), to = device->allocate(2 * count * sizeof(int));
  from->write(0, std::as_bytes(std::span(in)));
  const std::vector<KernelArgument> arguments = {from.get(), to.get()};
  device->load(artifact, device::Launch{{2, 1, 1}, {block_size, 1, 1}, {0, 0, 0}, 0})->run({arguments, true, 0});
  to->read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<int> expected() {
  std::vector<int> values;
  for (int block = 0; block < 2; ++block)
    for (int i = 0; i < steps * static_cast<int>(block_size); ++i) values.push_back(i ^ 1);
  return values;
}

}  // namespace

TEST_CASE("what was waited for and passed a barrier is there, in every block") {
  CHECK(run("__pipeline_wait_prior(1); __syncthreads();") == expected());
  CHECK(run("__pipeline_wait_prior(0); __syncthreads();") == expected());
}

TEST_CASE("a group too few that is waited for shows") {
  CHECK(run("__pipeline_wait_prior(2); __syncthreads();") != expected());
}

TEST_CASE("a missing barrier shows") { CHECK(run("__pipeline_wait_prior(1);") != expected()); }

TEST_CASE("bytes to be zero are so, and are not read") {
  CHECK(run("__pipeline_wait_prior(1); __syncthreads();", "4") == std::vector<int>(2 * steps * block_size, 0));
}
