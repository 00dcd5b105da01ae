// Tensor maps on a real GPU: copies by a cluster with multicast, what lies outside, swizzled rows, and refusals.
#include <cmath>
#include <numeric>

#include "device/gpu_case.hpp"

using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::testing;

namespace {

/// Functions for kernels, and a parameter like CUtensorMap.
const std::string tma = R"(
struct alignas(64) Map { unsigned long long words[16]; };
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned long long& bar) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&bar)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(unsigned long long& bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&bar)), "r"(bytes)
               : "memory");
}
__device__ void wait(unsigned long long& bar) {
  asm volatile("{\n.reg .pred p;\nw: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra w;\n}" ::"r"(
                   shared_address(&bar)) : "memory");
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
)";

bool has_maps(const DeviceInfo& info) {
  const auto lack = lack_of_tensor_maps(info);
  if (lack) MESSAGE("skipped: " << *lack);
  return !lack;
}

/// rows x 128 floats, 0, 1, 2, ...
std::unique_ptr<Buffer> matrix(Device& device, int rows) {
  std::vector<float> values(static_cast<std::size_t>(rows) * 128);
  std::iota(values.begin(), values.end(), 0.0F);
  auto buffer = device.allocate(values.size() * sizeof(float));
  buffer->write(0, std::as_bytes(std::span(values)));
  return buffer;
}

/// The first 100 columns of 40 rows.
TensorMap view(std::int64_t box_rows, std::int64_t box_columns) {
  TensorMap map;
  map.shape = {40, 100};
  map.strides = {128};
  map.box = {box_rows, box_columns};
  map.element_strides = {1, 1};
  return map;
}

std::vector<float> read(Buffer& buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  buffer.read(0, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

TEST_CASE("both blocks of a cluster get a tile of which each loads a half, and what lies outside is zero or NaN") {
  for_each_gpu([](Gpu& gpu) {
    if (!has_maps(gpu.device->info())) return;
    const auto artifact = gpu.compile(tma + R"(
extern "C" __global__ void k(const __grid_constant__ Map map, float* out) {
  __shared__ alignas(128) float tile[16 * 64];
  __shared__ alignas(8) unsigned long long bar;
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) init(bar);
  cluster_sync();
  if (threadIdx.x == 0) {
    expect(bar, sizeof tile);
    const int row = blockIdx.x / 2 * 16 + rank * 8, column = blockIdx.y * 64;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile + rank * 512)), "l"(&map), "r"(column), "r"(row),
        "r"(shared_address(&bar)), "h"((unsigned short)3) : "memory");
  }
  wait(bar);
  for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) out[(blockIdx.y * 6 + blockIdx.x) * 1024 + i] = tile[i];
  cluster_sync();
})");
    auto in = matrix(*gpu.device, 40), out = gpu.device->allocate(12 * 1024 * sizeof(float));
    Launch launch = launch_of(6, 128);
    launch.grid[1] = 2;
    launch.cluster = {2, 1, 1};
    auto program = gpu.device->load(artifact, launch);
    for (const bool nan : {false, true}) {
      TensorMap map = view(8, 64);
      map.nan_outside = nan;
      REQUIRE_FALSE(forbidden(map));
      const KernelArgument arguments[] = {gpu.device->encode(map, in->address()), out.get()};
      program->run({arguments, false, 0});
      int wrong = 0;
      const std::vector<float> values = read(*out);
      for (int block = 0; block < 12; ++block)
        for (int i = 0; i < 1024; ++i) {
          const int row = block % 6 / 2 * 16 + i / 64, column = block / 6 * 64 + i % 64;
          const float value = values[static_cast<std::size_t>(block * 1024 + i)];
          const bool outside = row >= 40 || column >= 100;
          wrong += outside ? (nan ? !std::isnan(value) : value != 0) : value != static_cast<float>(row * 128 + column);
        }
      CHECK(wrong == 0);
    }
    CHECK(program
              ->run({std::array<KernelArgument, 2>{gpu.device->encode(view(8, 64), in->address()), out.get()}, true, 0})
              .time_ms > 0);
  });
}

TEST_CASE("a swizzled map exchanges the parts of each row") {
  for_each_gpu([](Gpu& gpu) {
    if (!has_maps(gpu.device->info())) return;
    const auto artifact = gpu.compile(tma + R"(
extern "C" __global__ void k(const __grid_constant__ Map map, float* out) {
  __shared__ alignas(1024) float tile[8 * 32];
  __shared__ alignas(8) unsigned long long bar;
  if (threadIdx.x == 0) {
    init(bar);
    expect(bar, sizeof tile);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(tile)), "l"(&map), "r"(32), "r"(16), "r"(shared_address(&bar)) : "memory");
  }
  __syncthreads();
  wait(bar);
  out[threadIdx.x] = tile[threadIdx.x];
})");
    auto in = matrix(*gpu.device, 40), out = gpu.device->allocate(256 * sizeof(float));
    TensorMap map = view(8, 32);
    map.swizzle = 128;
    const KernelArgument arguments[] = {gpu.device->encode(map, in->address()), out.get()};
    gpu.device->load(artifact, launch_of(1, 256))->run({arguments, false, 0});
    const std::vector<float> values = read(*out);
    int wrong = 0;
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 32; ++column) {
        const int place = row * 32 + ((column / 4) ^ row) * 4 + column % 4;
        wrong += values[static_cast<std::size_t>(place)] != static_cast<float>((16 + row) * 128 + 32 + column);
      }
    CHECK(wrong == 0);
  });
}

TEST_CASE("maps at the limits are taken by the driver, and a GPU without maps refuses them") {
  for_each_gpu([](Gpu& gpu) {
    auto in = matrix(*gpu.device, 40);
    TensorMap map = view(8, 64);
    if (!has_maps(gpu.device->info())) {
      CHECK(outcome_of([&] { gpu.device->encode(map, in->address()); }) == Outcome::rejected);
      return;
    }
    const auto taken = [&](const TensorMap& each) {
      REQUIRE_FALSE(forbidden(each));
      return outcome_of([&] { gpu.device->encode(each, in->address()); }) == Outcome::ok;
    };
    for (const DType type :
         {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::i16,
          DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean, DType::c64}) {
      map.dtype = type;
      CHECK_MESSAGE(taken(map), to_string(type));
    }
    map = view(256, 256);
    map.element_strides = {8, 1};
    CHECK(taken(map));
    map = view(8, 4);
    for (const std::int64_t bytes : {0, 64, 128, 256}) {
      map.l2_promotion = bytes;
      CHECK(taken(map));
    }
    for (const std::int64_t bytes : {32, 64, 128}) {
      map.swizzle = bytes;
      CHECK(taken(map));
    }
    map.tf32 = true;
    CHECK(taken(map));
    TensorMap vector;
    vector.shape = {64};
    vector.box = {16};
    vector.element_strides = {1};
    CHECK(taken(vector));
    TensorMap five;
    five.shape = {2, 2, 2, 2, 16};
    five.strides = dense_strides(five.shape);
    five.box = {1, 2, 1, 2, 16};
    five.element_strides = {1, 1, 1, 1, 1};
    CHECK(taken(five));
    TensorMap interleaved;
    interleaved.dtype = DType::f16;
    interleaved.shape = {2, 8, 8};
    interleaved.strides = {64, 8};
    interleaved.box = {1, 4, 8};
    interleaved.element_strides = {1, 1, 1};
    interleaved.interleave = 16;
    CHECK(taken(interleaved));
    interleaved.shape = {2, 8, 16};
    interleaved.strides = {128, 16};
    interleaved.box = {1, 4, 16};
    interleaved.interleave = interleaved.swizzle = 32;
    CHECK(taken(interleaved));
  });
}

TEST_CASE("a cluster of 16 blocks is opted in to, a larger one refused") {
  for_each_gpu([](Gpu& gpu) {
    const DeviceInfo& info = gpu.device->info();
    if (max_cluster_blocks(info) == 0) return;
    const auto artifact =
        gpu.compile("extern \"C\" __global__ void k(int* out) { if (threadIdx.x == 0) out[blockIdx.x] = 1; }");
    auto out = gpu.device->allocate(64);
    const KernelArgument arguments[] = {out.get()};
    Launch launch = launch_of(16, 32, 200 * 1024);
    launch.cluster = {16, 1, 1};  // needs an opt-in
    CHECK(outcome_of([&] { gpu.device->load(artifact, launch)->run({arguments, true, 0}); }) == Outcome::ok);
    launch = launch_of(32, 32);
    launch.cluster = {32, 1, 1};
    CHECK(outcome_of([&] { gpu.device->load(artifact, launch); }) == Outcome::rejected);
  });
}
