// Products of warpgroups: every type, swizzle and order of elements, against plain loops; and what is found when a
// kernel does not wait.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <cstring>

#include "core/spec/dtype.hpp"
#include "hopper_kernels.hpp"
#include "support/text.hpp"

using namespace xtune;
using namespace xtune::test;

namespace {

/// Small integers, so that sums are exact in any order, as elements of a type.
struct Matrix {
  std::vector<std::uint32_t> bytes;  ///< aligned to 4 bytes
  std::vector<double> values;        ///< [rows][columns]
  std::size_t columns;
};

Matrix matrix_of(DType dtype, std::size_t rows, std::size_t columns, unsigned seed) {
  const std::size_t size = size_of(dtype);
  Matrix matrix{std::vector<std::uint32_t>(rows * columns * size / 4), {}, columns};
  for (std::size_t i = 0; i < rows * columns; ++i) {
    seed = seed * 1664525u + 1013904223u;
    matrix.values.push_back(static_cast<double>(seed >> 24) / 16 - 8);
    matrix.values.back() = static_cast<double>(static_cast<int>(matrix.values.back()));
    spec::encode(dtype, matrix.values.back(), reinterpret_cast<std::byte*>(matrix.bytes.data()) + i * size);
  }
  return matrix;
}

host::TensorMap map_of(const Matrix& matrix, DType dtype, std::int64_t box_rows, std::int64_t box_bytes,
                       std::int64_t swizzle) {
  measure::TensorMap description;
  const auto size = static_cast<std::int64_t>(size_of(dtype)), columns = static_cast<std::int64_t>(matrix.columns);
  description.dtype = dtype;
  description.shape = {static_cast<std::int64_t>(matrix.values.size()) / columns, columns};
  description.strides = {columns};
  description.box = {box_rows, box_bytes / size};
  description.element_strides = {1, 1};
  description.swizzle = swizzle;
  return host::encode_tensor_map(description, const_cast<std::uint32_t*>(matrix.bytes.data()));
}

/// sums[64][n] of x[64][k] and y[n][k]; with transposed operands x[k][64], y[k][n].
template <class T>
std::vector<T> expected(const Matrix& x, const Matrix& y, std::size_t n, std::size_t k, bool x_mn = false,
                        bool y_mn = false) {
  std::vector<T> sums;
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i)
        sum += x.values[x_mn ? i * x.columns + row : row * x.columns + i] *
               y.values[y_mn ? i * y.columns + column : column * y.columns + i];
      sums.push_back(static_cast<T>(sum));
    }
  return sums;
}

const std::string frame = R"(
template <int N, class T>
__device__ void store_sums(T* out, const T (&sums)[N / 2]) {
  const int t = threadIdx.x % 128;
  for (int i = 0; i < N / 2; ++i) out[(16 * (t / 32) + t % 32 / 4 + i % 4 / 2 * 8) * N + i / 4 * 8 + t % 4 * 2 + i % 2] = sums[i];
}
/// Rows along K of SPAN bytes, as many products as fit.
template <Type TYPE, int N, Swizzle SWIZZLE, int SPAN, class Sum>
__device__ void k_major(const TensorMap& x, const TensorMap& y, Barrier& barrier, Sum* out) {
  extern __shared__ __align__(1024) char tiles[];
  char* const second = tiles + 64 * SPAN;
  constexpr int elements = TYPE == Type::tf32 ? SPAN / 4 : TYPE == Type::f16 || TYPE == Type::bf16 ? SPAN / 2 : SPAN;
  if (threadIdx.x == 0) {
    arrive_expect(barrier, (64 + N) * SPAN);
    if constexpr (SWIZZLE == Swizzle::none) {
      for (int part = 0; part < SPAN / 16; ++part) {
        load_tile(tiles + part * 64 * 16, x, barrier, part * elements * 16 / SPAN, 0);
        load_tile(second + part * N * 16, y, barrier, part * elements * 16 / SPAN, 0);
      }
    } else {
      load_tile(tiles, x, barrier, 0, 0);
      load_tile(second, y, barrier, 0, 0);
    }
  }
  wait(barrier, 0);
  constexpr bool plain = SWIZZLE == Swizzle::none;
  const auto a = matrix<SWIZZLE>(tiles, plain ? 128 : 8 * SPAN, plain ? 64 * 16 : 16);
  const auto b = matrix<SWIZZLE>(second, plain ? 128 : 8 * SPAN, plain ? N * 16 : 16);
  Sum sums[N / 2];
  for (auto& sum : sums) sum = 1000;
  products_begin();
  for (int step = 0; step < SPAN / 32; ++step) {
    const int more_x = plain ? step * 2 * 64 * 16 : step * 32, more_y = plain ? step * 2 * N * 16 : step * 32;
    if constexpr (TYPE == Type::s8) product(sums, advance(a, more_x), advance(b, more_y), step > 0);
    else product<TYPE>(sums, advance(a, more_x), advance(b, more_y), step > 0);
  }
  products_commit();
  products_wait<0>();
  store_sums<N>(out, sums);
}
)";

const std::string k_major_kernel = frame + R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap y, float* out) {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(barrier, 1);
  __syncthreads();
  k_major<Type::$TYPE, $COLUMNS, Swizzle::$SWIZZLE, $SPAN>(x, y, barrier, reinterpret_cast<$SUM*>(out));
})";

/// The text with values in place of $NAMES.
std::string with(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values)
    for (std::size_t at = text.find("$" + name); at != std::string::npos; at = text.find("$" + name))
      text.replace(at, name.size() + 1, value);
  return text;
}

}  // namespace

TEST_CASE("products of tiles along K, of each type and swizzle") {
  struct Case {
    const char *type, *swizzle;
    DType dtype;
    std::size_t n;
    std::int64_t span, bytes;
  };
  for (const Case& c :
       {Case{"f16", "bytes128", DType::f16, 256, 128, 128}, Case{"bf16", "bytes64", DType::bf16, 64, 64, 64},
        Case{"tf32", "bytes128", DType::f32, 24, 128, 128}, Case{"e4m3", "bytes32", DType::f8e4m3, 8, 32, 32},
        Case{"e5m2", "none", DType::f8e5m2, 40, 64, 0}, Case{"s8", "bytes128", DType::i8, 48, 128, 128}}) {
    CAPTURE(std::string(c.type));
    const auto k = static_cast<std::size_t>(c.span) / size_of(c.dtype);
    const Matrix x = matrix_of(c.dtype, 64, k, 1), y = matrix_of(c.dtype, c.n, k, 2);
    const HopperKernel kernel(with(k_major_kernel, {{"TYPE", c.type},
                                                    {"COLUMNS", std::to_string(c.n)},
                                                    {"SWIZZLE", c.swizzle},
                                                    {"SPAN", std::to_string(c.span)},
                                                    {"SUM", c.dtype == DType::i8 ? "int" : "float"}}));
    const std::int64_t row = c.bytes ? c.bytes : 16;
    std::vector<float> out(64 * c.n);
    kernel.run(launch_of(1, 128, 65536), map_of(x, c.dtype, 64, row, c.bytes),
               map_of(y, c.dtype, static_cast<std::int64_t>(c.n), row, c.bytes), out.data());
    if (c.dtype == DType::i8) {
      std::vector<std::int32_t> integers(out.size());
      std::memcpy(integers.data(), out.data(), out.size() * 4);
      CHECK(integers == expected<std::int32_t>(x, y, c.n, k));
    } else {
      CHECK(out == expected<float>(x, y, c.n, k));
    }
    // A tile with another pattern than the product expects.
    if (c.bytes != 128) continue;
    kernel.run(launch_of(1, 128, 65536), map_of(x, c.dtype, 64, row, 0),
               map_of(y, c.dtype, static_cast<std::int64_t>(c.n), row, c.bytes), out.data());
    CHECK(out != expected<float>(x, y, c.n, k));
  }
}

TEST_CASE("operands that are contiguous along M and N, and operands in registers") {
  const HopperKernel kernel(frame + R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap y, const unsigned* registers, float* out) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) {
    init(barrier, 1);
    arrive_expect(barrier, 3 * 16 * 128);
    load_tile(tiles, x, barrier, 0, 0);
    load_tile(tiles + 2048, y, barrier, 0, 0);
    load_tile(tiles + 4096, y, barrier, 64, 0);
  }
  __syncthreads();
  wait(barrier, 0);
  float sums[64], more[64];
  for (int i = 0; i < 64; ++i) more[i] = 10;
  unsigned own[4];
  for (int r = 0; r < 4; ++r) own[r] = registers[threadIdx.x * 4 + r];
  const Matrix a = matrix<Swizzle::bytes128>(tiles, 1024, 2048), b = matrix<Swizzle::bytes128>(tiles + 2048, 1024, 2048);
  products_begin();
  product<Type::f16, Major::mn, Major::mn>(sums, a, b, false);
  product<Type::f16, Major::mn>(more, own, b, true);
  own[0] = own[1] = 0;
  products_commit();
  products_wait<0>();
  store_sums<128>(out, sums);
  store_sums<128>(out + 64 * 128, more);
})");
  const Matrix x = matrix_of(DType::f16, 16, 64, 3), y = matrix_of(DType::f16, 16, 128, 4);
  // x again as the threads have it: two elements of a row in a register.
  std::vector<std::uint32_t> registers;
  for (std::size_t t = 0; t < 128; ++t)
    for (std::size_t r = 0; r < 4; ++r) {
      std::uint16_t two[2];
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8, column = r / 2 * 8 + t % 4 * 2 + i;
        spec::encode(DType::f16, x.values[column * 64 + row], reinterpret_cast<std::byte*>(&two[i]));
      }
      registers.push_back(two[0] | static_cast<std::uint32_t>(two[1]) << 16);
    }
  std::vector<float> out(2 * 64 * 128);
  kernel.run(launch_of(1, 128, 8192), map_of(x, DType::f16, 16, 128, 128), map_of(y, DType::f16, 16, 128, 128),
             registers.data(), out.data());
  std::vector<float> sums = expected<float>(x, y, 128, 16, true, true), all = sums;
  for (const float sum : sums) all.push_back(sum + 10);
  CHECK(out == all);
}

TEST_CASE("registers with operands of 8 and 32 bits") {
  for (const auto& [type, dtype] : {std::pair("tf32", DType::f32), std::pair("e4m3", DType::f8e4m3)}) {
    CAPTURE(std::string(type));
    const std::size_t size = size_of(dtype), k = 32 / size, in_register = 4 / size;
    const Matrix x = matrix_of(dtype, 64, k, 5), y = matrix_of(dtype, 16, k, 6);
    const HopperKernel kernel(with(frame + R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap y, const unsigned* registers, float* out) {
  extern __shared__ __align__(1024) char tile[];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) { init(barrier, 1); arrive_expect(barrier, 512); load_tile(tile, y, barrier, 0, 0); }
  __syncthreads();
  wait(barrier, 0);
  float sums[8];
  unsigned own[4];
  for (int r = 0; r < 4; ++r) own[r] = registers[threadIdx.x * 4 + r];
  products_begin();
  product<Type::$TYPE>(sums, own, matrix<Swizzle::bytes32>(tile, 256), false);
  products_commit();
  products_wait<0>();
  store_sums<16>(out, sums);
})",
                                   {{"TYPE", type}}));
    std::vector<std::uint32_t> registers;
    for (std::size_t t = 0; t < 128; ++t)
      for (std::size_t r = 0; r < 4; ++r) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < in_register; ++i) {
          const std::size_t row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8, column = (r / 2 * 4 + t % 4) * in_register + i;
          spec::encode(dtype, x.values[row * k + column], reinterpret_cast<std::byte*>(&bits) + i * size);
        }
        registers.push_back(bits);
      }
    std::vector<float> out(64 * 16);
    kernel.run(launch_of(1, 128, 1024), map_of(y, dtype, 16, 32, 32), registers.data(), out.data());
    CHECK(out == expected<float>(x, y, 16, k));
  }
}

TEST_CASE("products of a warp of operands that load_matrices reads, added to the sums") {
  for (const auto& [type, dtype] : {std::pair("f16", DType::f16), std::pair("bf16", DType::bf16)}) {
    CAPTURE(std::string(type));
    const HopperKernel kernel(with(R"(
extern "C" __global__ void k(const unsigned short* x, const unsigned short* y, float* out) {
  __shared__ __align__(16) unsigned short tiles[2][16 * 16];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) { tiles[0][i] = x[i]; tiles[1][i] = y[i]; }
  __syncwarp();
  unsigned a[4], b[4];
  load_matrices(&tiles[0][lane % 16 * 16 + lane / 16 * 8], a);
  load_matrices(&tiles[1][(lane / 16 * 8 + lane % 8) * 16 + lane / 8 % 2 * 8], b);
  float sums[8];
  for (float& sum : sums) sum = 10;
  warp_product<Type::$TYPE>(sums, a, b[0], b[1]);
  warp_product<Type::$TYPE>(sums + 4, a, b[2], b[3]);
  for (int i = 0; i < 8; ++i)
    out[(lane / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
})",
                                   {{"TYPE", type}}));
    const Matrix x = matrix_of(dtype, 64, 16, 9), y = matrix_of(dtype, 16, 16, 10);
    std::vector<float> out(16 * 16), sums = expected<float>(x, y, 16, 16);
    sums.resize(out.size());
    for (float& sum : sums) sum += 10;
    kernel.run(launch_of(1, 32), x.bytes.data(), y.bytes.data(), out.data());
    CHECK(out == sums);
  }
}

namespace {

/// A pipeline: one warpgroup multiplies tiles of 64 x 64 and 128 x 64 that a producer's warp loads into two stages.
const std::string pipeline = frame + R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap y, float* out, int steps) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ Barrier full[2], empty[2];
  constexpr int stage_bytes = (64 + 128) * 128;
  if (threadIdx.x == 0) for (int i = 0; i < 2; ++i) { init(full[i], 1); init(empty[i], 128); }
  fence_init();
  __syncthreads();
  if (threadIdx.x >= 128) {
    fewer_registers<40>();
    if (threadIdx.x == 128)
      for (int step = 0; step < steps; ++step) {
        $PRODUCER_WAIT(empty[step % 2], (step / 2 + 1) % 2);
        arrive_expect(full[step % 2], stage_bytes);
        load_tile(tiles + step % 2 * stage_bytes, x, full[step % 2], 64 * step, 0);
        load_tile(tiles + step % 2 * stage_bytes + 64 * 128, y, full[step % 2], 64 * step, 0);
      }
    return;
  }
  more_registers<232>();
  float sums[64];
  for (int step = 0; step < steps; ++step) {
    const char* const stage = tiles + step % 2 * stage_bytes;
    $CONSUMER_WAIT(full[step % 2], step / 2 % 2);
    const Matrix a = matrix<Swizzle::bytes128>(stage, 1024), b = matrix<Swizzle::bytes128>(stage + 64 * 128, 1024);
    keep(sums);
    $BEGIN
    for (int i = 0; i < 4; ++i) product<Type::f16>(sums, advance(a, 32 * i), advance(b, 32 * i), step + i > 0);
    products_commit();
    $PRODUCTS_WAIT
    keep(sums);
    arrive(empty[step % 2]);
  }
  $LAST_WAIT
  store_sums<128>(out, sums);
})";

std::string pipeline_with(const std::string& producer, const std::string& consumer, const std::string& begin,
                          const std::string& wait, const std::string& last) {
  return with(pipeline, {{"PRODUCER_WAIT", producer},
                         {"CONSUMER_WAIT", consumer},
                         {"BEGIN", begin},
                         {"PRODUCTS_WAIT", wait},
                         {"LAST_WAIT", last}});
}

}  // namespace

TEST_CASE("a pipeline of copies and products is right, and each missing wait shows") {
  const std::size_t steps = 5;
  const Matrix x = matrix_of(DType::f16, 64, 64 * steps, 7), y = matrix_of(DType::f16, 128, 64 * steps, 8);
  const auto x_map = map_of(x, DType::f16, 64, 128, 128), y_map = map_of(y, DType::f16, 128, 128, 128);
  const std::vector<float> right = expected<float>(x, y, 128, 64 * steps);
  std::vector<float> out(64 * 128);
  const auto result = [&](const std::string& source, std::size_t count = 5) {
    out.assign(out.size(), -1);
    return HopperKernel(source).failure(launch_of(1, 256, 2 * 192 * 128), x_map, y_map, out.data(),
                                        static_cast<int>(count));
  };
  CHECK(result(pipeline_with("wait", "wait", "products_begin();", "products_wait<0>();", "")) == "");
  CHECK(out == right);
  // Sums are read before the last product, or a stage is given back before its product has read it.
  CHECK(result(pipeline_with("wait", "wait", "products_begin();", "", ""), 1) == "");
  CHECK(out != expected<float>(x, y, 128, 64));
  std::string text =
      result(pipeline_with("wait", "wait", "products_begin();", "products_wait<1>();", "products_wait<0>();"));
  CHECK_MESSAGE(has(text, "a tile is copied to shared memory that a product, not waited for, reads"), text);
  text = result(pipeline_with("wait", "// ", "products_begin();", "products_wait<0>();", ""));
  CHECK((!text.empty() || out != right));
  text = result(pipeline_with("// ", "wait", "products_begin();", "products_wait<0>();", ""));
  CHECK((!text.empty() || out != right));
  text = result(pipeline_with("wait", "wait", "", "products_wait<0>();", ""));
  CHECK_MESSAGE(has(text, "a product is started without products_begin()"), text);
  text = result(pipeline_with("wait", "wait", "products_begin();", "if (threadIdx.x < 64) products_wait<0>();", ""));
  CHECK_MESSAGE(has(text, "64 wait at products_wait(), where 64 of the 128 threads of a warpgroup wait"), text);
}

TEST_CASE("operands that are not in shared memory, or not at the start of a pattern, are refused") {
  const auto failure = [](const std::string& operands, std::uint32_t threads = 128) {
    return HopperKernel(
               "extern \"C\" __global__ void k(float* out) { extern __shared__ __align__(1024) char s[]; float "
               "sums[128]; const int t = threadIdx.x; products_begin(); product<Type::f16>(sums, " +
               operands + ", false); products_commit(); products_wait<0>(); }")
        .failure(launch_of(1, threads, 65536), nullptr);
  };
  const std::string good = "matrix<Swizzle::bytes128>(s, 1024)";
  CHECK(failure(good + ", " + good) == "");
  CHECK(has(failure("matrix<Swizzle::bytes128>(s + 128, 1024), " + good),
            "matrix x of a product begins in row 1 of a pattern of swizzle 128: its tile must begin at a multiple of "
            "1024 bytes"));
  CHECK(has(failure(good + ", matrix<Swizzle::bytes128>(s, 8192)"),
            "matrix y of a product is not in the block's shared memory: check its address, and group_bytes = 8192"));
  CHECK(has(failure(good + ", matrix<Swizzle::bytes128>(s + (t < 64 ? 0 : 1024), 1024)"),
            "start products of different operands"));
  CHECK(has(failure(good + ", " + good, 64),
            "a product by threads that are not a whole warpgroup: the block has 64 threads"));
}
