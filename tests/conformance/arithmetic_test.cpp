// Indexing, arguments and element types.
#include <cmath>
#include <cstdint>
#include <numeric>

#include "suite.hpp"

using namespace xtune;
using namespace xtune::conformance;

namespace {

std::vector<float> ramp(std::size_t n, float step) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = step * static_cast<float>(i % 4096);
  return values;
}

}  // namespace

CONFORMANCE_TEST("vector add of an odd size") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
})",
                                "add");
  if (!t.device) return;
  const int n = 100003;
  const auto x = ramp(n, 0.5f), y = ramp(n, -2.0f);
  const auto a = upload(t, x), b = upload(t, y), c = upload(t, std::vector<float>(n + 1, -1.0f));
  run(t, artifact, {{(n + 255) / 256, 1, 1}, {256, 1, 1}}, arguments(a, b, c, n));
  const auto z = download<float>(*c);
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) wrong += z[i] != x[i] + y[i];
  CHECK(wrong == 0);
  CHECK(z[n] == -1.0f);
}

CONFORMANCE_TEST("a grid-stride loop covers any size with any grid") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void scale(float* x, float factor, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) x[i] *= factor;
})",
                                "scale");
  if (!t.device) return;
  for (const std::int64_t n : {1, 31, 1000, 65537})
    for (const std::uint32_t grid : {1u, 7u, 300u}) {
      const auto before = ramp(static_cast<std::size_t>(n), 1.0f);
      const auto x = upload(t, before);
      run(t, artifact, {{grid, 1, 1}, {96, 1, 1}}, arguments(x, 3.0f, static_cast<long long>(n)));
      const auto after = download<float>(*x);
      int wrong = 0;
      for (std::size_t i = 0; i < after.size(); ++i) wrong += after[i] != 3.0f * before[i];
      CHECK_MESSAGE(wrong == 0, n << " elements, " << grid << " blocks");
    }
}

CONFORMANCE_TEST("grids and blocks of three dimensions") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void place(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = blockIdx.x | blockIdx.y << 4 | blockIdx.z << 8 | threadIdx.x << 12 | threadIdx.y << 16 | threadIdx.z << 20;
})",
                                "place");
  if (!t.device) return;
  const std::array<std::uint32_t, 3> grid = {5, 3, 2}, block = {7, 4, 3};
  const std::size_t count = 5 * 3 * 2 * 7 * 4 * 3;
  const auto out = upload(t, std::vector<std::uint32_t>(count, ~0u));
  run(t, artifact, {grid, block}, arguments(out));
  const auto values = download<std::uint32_t>(*out);
  std::size_t at = 0;
  int wrong = 0;
  for (std::uint32_t bz = 0; bz < 2; ++bz)
    for (std::uint32_t by = 0; by < 3; ++by)
      for (std::uint32_t bx = 0; bx < 5; ++bx)
        for (std::uint32_t z = 0; z < 3; ++z)
          for (std::uint32_t y = 0; y < 4; ++y)
            for (std::uint32_t x = 0; x < 7; ++x)
              wrong += values[at++] != (bx | by << 4 | bz << 8 | x << 12 | y << 16 | z << 20);
  CHECK(wrong == 0);
}

CONFORMANCE_TEST("scalars of every size, by value and in order") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void scalars(double* out, signed char i8, unsigned char u8, bool flag, short i16, unsigned short u16, int i32,
                                   float f32, unsigned u32, long long i64, unsigned long long u64, double f64, signed char last) {
  out[0] = i8; out[1] = u8; out[2] = flag; out[3] = i16; out[4] = u16; out[5] = i32; out[6] = f32; out[7] = u32;
  out[8] = (double)i64; out[9] = (double)u64; out[10] = f64; out[11] = last;
})",
                                "scalars");
  if (!t.device) return;
  const auto out = upload(t, std::vector<double>(12));
  run(t, artifact, {},
      arguments(out, std::int8_t{-5}, std::uint8_t{250}, true, std::int16_t{-30000}, std::uint16_t{60000},
                std::int32_t{-2000000000}, 0.375f, std::uint32_t{4000000000u}, static_cast<long long>(-(1ll << 52)),
                1ull << 53, -1.0 / 3.0, std::int8_t{77}));
  CHECK(download<double>(*out) ==
        std::vector<double>{-5, 250, 1, -30000, 60000, -2e9, 0.375, 4e9, -0x1p52, 0x1p53, -1.0 / 3.0, 77});
}

CONFORMANCE_TEST("float4 and its kin are loaded whole") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void vectors(const float4* f, const int2* i, const uchar4* c, const double2* d, float* out) {
  const int k = threadIdx.x;
  const float4 v = f[k];
  const float4 w = make_float4(v.w, v.z, v.y, v.x);
  const int2 p = i[k];
  const uchar4 q = c[k];
  const double2 r = d[k];
  out[k] = w.x + 10.0f * w.w + (float)(p.x - p.y) + (float)q.z + (float)(r.x * r.y);
  static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && alignof(int2) == 8 && sizeof(float3) == 12 && alignof(uchar4) == 4, "layout");
})",
                                "vectors");
  if (!t.device) return;
  const std::size_t n = 64;
  std::vector<float> f(4 * n);
  std::vector<std::int32_t> i(2 * n);
  std::vector<std::uint8_t> c(4 * n);
  std::vector<double> d(2 * n);
  std::iota(f.begin(), f.end(), 1.0f);
  std::iota(i.begin(), i.end(), -17);
  std::iota(c.begin(), c.end(), std::uint8_t{3});
  std::iota(d.begin(), d.end(), 0.0);
  const auto bf = upload(t, f), bi = upload(t, i), bc = upload(t, c), bd = upload(t, d),
             out = upload(t, std::vector<float>(n));
  run(t, artifact, {{1, 1, 1}, {n, 1, 1}}, arguments(bf, bi, bc, bd, out));
  const auto values = download<float>(*out);
  for (std::size_t k = 0; k < n; ++k)
    CHECK(values[k] == f[4 * k + 3] + 10.0f * f[4 * k] + static_cast<float>(i[2 * k] - i[2 * k + 1]) +
                           static_cast<float>(c[4 * k + 2]) + static_cast<float>(d[2 * k] * d[2 * k + 1]));
}

CONFORMANCE_TEST("half rounds to nearest even") {
  const auto artifact = compile(t, R"(
#include "portable.cuh"
extern "C" __global__ void halves(const float* in, unsigned short* bits, float* back, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const __half h = __float2half(in[i]);
  bits[i] = __half_as_ushort(h);
  back[i] = __half2float(h);
})",
                                "halves");
  if (!t.device) return;
  // Exact, ties to both sides, just beyond a tie, subnormal, the largest, overflow, infinity, signed zero.
  const std::vector<float> in = {1.0f,     -2.5f,       2049.0f,      2051.0f,  2049.01f, 0x1p-24f,       0x1.8p-25f,
                                 0x1p-25f, 0x1.01p-15f, 65504.0f,     65519.0f, 65520.0f, -1e30f,         -0.0f,
                                 0.1f,     1.0f / 3.0f, 0x1.ffcp-15f, 6.1e-5f,  INFINITY, 0x1.000002p-25f};
  const std::vector<std::uint16_t> expected = {0x3c00, 0xc100, 0x6800, 0x6802, 0x6801, 0x0001, 0x0001,
                                               0x0000, 0x0202, 0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x8000,
                                               0x2e66, 0x3555, 0x0400, 0x03ff, 0x7c00, 0x0001};
  const auto x = upload(t, in), back = upload(t, std::vector<float>(in.size()));
  const auto bits = upload(t, std::vector<std::uint16_t>(in.size()));
  run(t, artifact, {{1, 1, 1}, {32, 1, 1}}, arguments(x, bits, back, static_cast<int>(in.size())));
  const auto got = download<std::uint16_t>(*bits);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK_MESSAGE(got[i] == expected[i], in[i] << " gave " << got[i]);
  CHECK(download<float>(*back)[1] == -2.5f);
  CHECK(download<float>(*back)[9] == 65504.0f);
  CHECK(download<float>(*back)[5] == 0x1p-24f);
}

CONFORMANCE_TEST("half arithmetic") {
  const auto artifact = compile(t, R"(
#include "portable.cuh"
extern "C" __global__ void halves(const __half* a, const __half* b, float* out) {
  const int i = threadIdx.x;
  out[4 * i] = __half2float(__hadd(a[i], b[i]));
  out[4 * i + 1] = __half2float(a[i] * b[i]);
  out[4 * i + 2] = __half2float(__hfma(a[i], b[i], a[i]));
  const __half2 sum = __hadd2(__halves2half2(a[i], b[i]), __float2half2_rn(1.0f));
  out[4 * i + 3] = __low2float(sum) + 100.0f * __high2float(sum);
})",
                                "halves");
  if (!t.device) return;
  // 1.5, -2, 0.25 and 3, 0.5, 8 as binary16.
  const auto a = upload(t, std::vector<std::uint16_t>{0x3e00, 0xc000, 0x3400}),
             b = upload(t, std::vector<std::uint16_t>{0x4200, 0x3800, 0x4800});
  const auto out = upload(t, std::vector<float>(12));
  run(t, artifact, {{1, 1, 1}, {3, 1, 1}}, arguments(a, b, out));
  CHECK(download<float>(*out) ==
        std::vector<float>{4.5f, 4.5f, 6.0f, 402.5f, -1.5f, -1.0f, -3.0f, 149.0f, 8.25f, 2.0f, 2.25f, 901.25f});
}

CONFORMANCE_TEST("bfloat16 rounds to nearest even") {
  const auto artifact = compile(t, R"(
#include "portable.cuh"
extern "C" __global__ void brain(const float* in, BFLOAT16* out, float* back) {
  const int i = threadIdx.x;
  out[i] = TO_BFLOAT16(in[i]);
  back[i] = FROM_BFLOAT16(out[i]);
})",
                                "brain");
  if (!t.device) return;
  const std::vector<float> in = {1.0f,      -3.0f,         257.0f, 259.0f,   0x1.01p0f,
                                 0x1.03p0f, 0x1.010002p0f, 3e38f,  INFINITY, -0.0f};
  const auto x = upload(t, in), back = upload(t, std::vector<float>(in.size()));
  const auto bits = upload(t, std::vector<std::uint16_t>(in.size()));
  run(t, artifact, {{1, 1, 1}, {static_cast<std::uint32_t>(in.size()), 1, 1}}, arguments(x, bits, back));
  CHECK(download<std::uint16_t>(*bits) ==
        std::vector<std::uint16_t>{0x3f80, 0xc040, 0x4380, 0x4382, 0x3f80, 0x3f82, 0x3f81, 0x7f62, 0x7f80, 0x8000});
  CHECK(download<float>(*back)[3] == 260.0f);
}

CONFORMANCE_TEST("constant memory and device functions") {
  const auto artifact = compile(t, R"(
__constant__ float weights[4] = {1.0f, -2.0f, 0.5f, 8.0f};
static __device__ __forceinline__ float weigh(float x, int i) { return weights[i & 3] * x; }
__device__ __noinline__ float shift(float x) { return x + 1.0f; }
template <class T> __device__ T twice(T x) { return x + x; }
extern "C" __global__ void __launch_bounds__(64) apply(float* x) { x[threadIdx.x] = shift(twice(weigh(x[threadIdx.x], threadIdx.x))); }
)",
                                "apply");
  if (!t.device) return;
  const auto x = upload(t, std::vector<float>(64, 3.0f));
  run(t, artifact, {{1, 1, 1}, {64, 1, 1}}, arguments(x));
  const auto values = download<float>(*x);
  const float weights[] = {1.0f, -2.0f, 0.5f, 8.0f};
  for (std::size_t i = 0; i < 64; ++i) CHECK(values[i] == 6.0f * weights[i % 4] + 1.0f);
}

CONFORMANCE_TEST("device functions for arithmetic and bits") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void functions(float* f, int* i) {
  f[0] = fmaf(2.0f, 3.0f, 4.0f); f[1] = rsqrtf(16.0f); f[2] = fminf(1.0f, -1.0f); f[3] = max(2.5f, 1.0f); f[4] = sqrtf(2.25f);
  f[5] = __expf(0.0f); f[6] = fabsf(-7.0f); f[7] = floorf(-1.5f); f[8] = __int_as_float(0x40490fdb); f[9] = __fdividef(1.0f, 4.0f);
  i[0] = __popc(0xf0f0u); i[1] = __clz(1); i[2] = __ffs(8); i[3] = (int)__brev(1u << 30); i[4] = min(-3, 2); i[5] = __float_as_int(1.0f);
  i[6] = __clz(0); i[7] = __popcll(~0ull); i[8] = (int)__umulhi(1u << 31, 6u); i[9] = __float2int_rn(2.5f); i[10] = abs(-4);
})",
                                "functions");
  if (!t.device) return;
  const auto f = upload(t, std::vector<float>(10));
  const auto i = upload(t, std::vector<std::int32_t>(11));
  run(t, artifact, {}, arguments(f, i));
  CHECK(download<std::int32_t>(*i) == std::vector<std::int32_t>{8, 31, 4, 2, -3, 0x3f800000, 32, 64, 3, 2, 4});
  const std::vector<float> expected = {10.0f, 0.25f, -1.0f, 2.5f, 1.5f, 1.0f, 7.0f, -2.0f, 3.14159274f, 0.25f};
  const auto got = download<float>(*f);
  for (std::size_t k = 0; k < expected.size(); ++k) CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-6));
}
