// cuda_fp8.h and hip/hip_fp8.h as kernels on the host see them: every code, rounding from every type, saturation. And
// what CUDA's functions of 16-bit floats return for NaN and zeros.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/backend.hpp"
#include "fakes/device_data.hpp"
#include "support/short_floats.hpp"

using namespace xtune;
using namespace xtune::test;

namespace {

const device::Launch one_thread{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0};

struct HostDevice {
  std::unique_ptr<backend::Backend> backend = backend::make_backend("host");
  std::unique_ptr<build::Toolchain> toolchain = backend->open_toolchain();
  std::unique_ptr<measure::Device> device = backend->open_device(0);

  build::Artifact compile(const std::string& source) const {
    build::CompileRequest request;
    request.source_name = "kernel.cu";
    request.entry = "k";
    request.source = source;
    request.arch = toolchain->default_arch();
    return toolchain->compile(request);
  }
  void run(const std::string& source, const std::vector<measure::KernelArgument>& arguments) const {
    device->load(compile(source), one_thread)->run({arguments, true, 0});
  }
};

constexpr const char* codes_kernel = R"(
#include <cuda_fp8.h>
template <class T> __device__ void read(__nv_fp8_interpretation_t kind, float* f, unsigned short* h, double* d, int* i) {
  for (int code = 0; code < 256; ++code) {
    T x;
    x.__x = static_cast<__nv_fp8_storage_t>(code);
    f[code] = static_cast<float>(x);
    d[code] = static_cast<double>(x);
    i[code] = static_cast<int>(x);
    h[code] = __nv_cvt_fp8_to_halfraw(x.__x, kind).x;
  }
}
extern "C" __global__ void k(float* f, unsigned short* h, double* d, int* i) {
  read<__nv_fp8_e4m3>(__NV_E4M3, f, h, d, i);
  read<__nv_fp8_e5m2>(__NV_E5M2, f + 256, h + 256, d + 256, i + 256);
})";

constexpr const char* rounding_kernel = R"(
#include <cuda_fp8.h>
extern "C" __global__ void k(const float* from, int n, __nv_fp8_e4m3* e4m3, __nv_fp8_e5m2* e5m2, unsigned char* e4m3_open, unsigned char* e5m2_open) {
  for (int i = 0; i < n; ++i) {
    e4m3[i] = __nv_fp8_e4m3(from[i]);
    e5m2[i] = __nv_fp8_e5m2(from[i]);
    e4m3_open[i] = __nv_cvt_float_to_fp8(from[i], __NV_NOSAT, __NV_E4M3);
    e5m2_open[i] = __nv_cvt_float_to_fp8(from[i], __NV_NOSAT, __NV_E5M2);
  }
})";

void check_rounding(const HostDevice& host, const ShortFloat& format, std::size_t closed, std::size_t open) {
  std::vector<float> from = format.interesting();
  from.push_back(std::numeric_limits<float>::quiet_NaN());
  const auto in = fakes::upload(*host.device, from);
  std::vector<std::unique_ptr<measure::Buffer>> out;
  for (int i = 0; i < 4; ++i) out.push_back(fakes::upload(*host.device, std::vector<std::uint8_t>(from.size())));
  host.run(rounding_kernel, {in.get(), fakes::scalar(static_cast<int>(from.size())), out[0].get(), out[1].get(),
                             out[2].get(), out[3].get()});
  const auto saturated = fakes::download<std::uint8_t>(*out[closed]), plain = fakes::download<std::uint8_t>(*out[open]);
  for (std::size_t i = 0; i + 1 < from.size(); ++i) {
    CAPTURE(from[i]);
    REQUIRE(saturated[i] == format.nearest(from[i], true));
    REQUIRE(plain[i] == format.nearest(from[i], false));
  }
  CHECK(std::isnan(format.value(saturated.back())));
  CHECK(std::isnan(format.value(plain.back())));
}

}  // namespace

TEST_CASE("each code of __nv_fp8_e4m3 and __nv_fp8_e5m2 has the value of its definition") {
  const HostDevice host;
  const auto f = fakes::upload(*host.device, std::vector<float>(512));
  const auto h = fakes::upload(*host.device, std::vector<std::uint16_t>(512));
  const auto d = fakes::upload(*host.device, std::vector<double>(512));
  const auto i = fakes::upload(*host.device, std::vector<int>(512));
  host.run(codes_kernel, {f.get(), h.get(), d.get(), i.get()});
  const auto floats = fakes::download<float>(*f);
  const auto halves = fakes::download<std::uint16_t>(*h);
  const auto doubles = fakes::download<double>(*d);
  const auto integers = fakes::download<int>(*i);
  for (unsigned at = 0; at < 512; ++at) {
    CAPTURE(at);
    const double value = (at < 256 ? e4m3 : e5m2).value(at % 256);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(floats[at]));
      REQUIRE(halves[at] == 0x7fff);
      REQUIRE(integers[at] == 0);
      continue;
    }
    REQUIRE(floats[at] == value);
    REQUIRE(std::signbit(floats[at]) == std::signbit(value));
    REQUIRE(doubles[at] == value);
    REQUIRE(binary16.value(halves[at]) == value);
    REQUIRE(integers[at] == (std::isinf(value) ? (value < 0 ? -2147483647 - 1 : 2147483647) : static_cast<int>(value)));
  }
}

TEST_CASE("conversions to fp8 round to nearest even, and saturate or not") {
  const HostDevice host;
  check_rounding(host, e4m3, 0, 2);
  check_rounding(host, e5m2, 1, 3);
}

TEST_CASE("other types are rounded to fp8 once, and pairs keep their order") {
  const HostDevice host;
  const auto out = fakes::upload(*host.device, std::vector<unsigned>(12));
  host.run(R"(
#include <hip/hip_fp8.h>
extern "C" __global__ void k(unsigned* out) {
  // Just above the middle of 1 and 1.125, by less than a float's step: through float it would be a tie, and become 1.
  out[0] = __nv_fp8_e4m3(1.0625 + 1e-12).__x;
  out[1] = __nv_fp8_e4m3(1.0625).__x;
  out[2] = __nv_fp8_e5m2(__float2half(0.3f)).__x;
  out[3] = __nv_fp8_e4m3(__float2bfloat16(-300.0f)).__x;
  out[4] = __nv_fp8_e4m3(17).__x;
  out[5] = __nv_fp8x2_e4m3(make_float2(1.0f, -2.0f)).__x;
  out[6] = __nv_fp8x4_e5m2(make_float4(1.0f, 2.0f, 4.0f, 1e9f)).__x;
  const float4 wide = static_cast<float4>(__nv_fp8x4_e4m3(make_float4(0.5f, 1.5f, -3.0f, 448.0f)));
  out[7] = wide.x == 0.5f && wide.y == 1.5f && wide.z == -3.0f && wide.w == 448.0f;
  const __half2 pair(__nv_cvt_fp8x2_to_halfraw2(0xc038, __NV_E4M3));
  out[8] = __low2float(pair) == 1.0f && __high2float(pair) == -2.0f;
  __hip_fp8_e4m3 own(2.0f);
  out[9] = own.__x == __hip_cvt_float_to_fp8(2.0f, __HIP_SATFINITE, __HIP_E4M3);
  out[10] = __nv_cvt_halfraw2_to_fp8x2(__half2_raw(__floats2half2_rn(1.0f, 1000.0f)), __NV_NOSAT, __NV_E4M3);
  out[11] = static_cast<bool>(__nv_fp8_e5m2(0.0f)) + 2 * static_cast<bool>(__nv_fp8_e5m2(-1.0f));
})",
           {out.get()});
  CHECK(fakes::download<unsigned>(*out) ==
        std::vector<unsigned>{0x39, 0x38, 0x35, 0xf9, 0x58 + 0, 0xc038, 0x7b44403c, 1, 1, 1, 0x7f38, 2});
}

TEST_CASE("a kernel's fp8 parameter takes only arrays of its format") {
  const HostDevice host;
  const build::Artifact artifact = host.compile(
      "#include <cuda_fp8.h>\n#include <xtune/narrow.cuh>\nextern \"C\" __global__ void k(const __nv_fp8_e4m3* a, "
      "xtune::f8e5m2* b, xtune::bf16* c) {}");
  const auto program = host.device->load(artifact, one_thread);
  using Types = std::vector<measure::ArgumentType>;
  program->check_types(Types{{"a", DType::f8e4m3, true}, {"b", DType::f8e5m2, true}, {"c", DType::bf16, true}});
  CHECK_THROWS_AS(
      program->check_types(Types{{"a", DType::f8e5m2, true}, {"b", DType::f8e5m2, true}, {"c", DType::bf16, true}}),
      build::CandidateFailure);
  CHECK_THROWS_AS(
      program->check_types(Types{{"a", DType::f8e4m3, true}, {"b", DType::u8, true}, {"c", DType::bf16, true}}),
      build::CandidateFailure);
}

TEST_CASE("comparisons, minima and maxima of 16-bit floats treat NaN and zeros as CUDA's do") {
  const HostDevice host;
  std::string source = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n", calls;
  for (const std::string relation : {"eq", "ne", "lt", "le", "gt", "ge"})
    calls += "*out++ = __h" + relation + "(a, b); *out++ = __h" + relation + "u(a, b);";
  for (const std::string extreme : {"min", "max"})
    calls += "*out++ = bits(__h" + extreme + "(a, b)); *out++ = bits(__h" + extreme + "2(T2(a, b), T2(b, a)).y);";
  source +=
      "__device__ int bits(__half x) { return __half_as_ushort(x); }\n"
      "__device__ int bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }\n"
      "template <class T, class T2> __device__ int* pair(int* out, T a, T b) { *out++ = a != b; " +
      calls +
      " return out; }\n"
      "template <class T, class T2> __device__ int* all(int* out, T nan, T other) {\n"
      "  out = pair<T, T2>(out, nan, T(1.0f)), out = pair<T, T2>(out, T(1.0f), nan);\n"
      "  out = pair<T, T2>(out, nan, other), out = pair<T, T2>(out, T(-0.0f), T(0.0f));\n"
      "  return pair<T, T2>(out, T(0.0f), T(-0.0f));\n}\n"
      "extern \"C\" __global__ void k(int* out) {\n"
      "  out = all<__half, __half2>(out, __ushort_as_half(0x7e00), __ushort_as_half(0xfe01));\n"
      "  all<__nv_bfloat16, __nv_bfloat162>(out, __ushort_as_bfloat16(0x7fc0), __ushort_as_bfloat16(0xffc1));\n}";
  const auto out = fakes::upload(*host.device, std::vector<int>(170));
  host.run(source, {out.get()});
  std::vector<int> expected;
  for (const int one : {0x3c00, 0x3f80}) {
    const auto add = [&](std::initializer_list<int> relations, int smaller, int larger) {
      expected.insert(expected.end(), relations);
      expected.insert(expected.end(), {smaller, smaller, larger, larger});
    };
    // !=, then each relation, ordered and unordered.
    for (const int of_nan : {one, one, 0x7fff}) add({1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, of_nan, of_nan);
    for (int i = 0; i < 2; ++i) add({0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}, 0x8000, 0);
  }
  CHECK(fakes::download<int>(*out) == expected);
}
