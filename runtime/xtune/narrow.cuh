// For kernels: number types of 8 and 16 bits, tf32, packs of them, and dot products of packed bytes, for CUDA C++ (with
// NVIDIA's headers or without), HIP C++ and xtune's host backend. Every backend finds it as <xtune/narrow.cuh>;
// docs/portable-kernels.md describes it. Sources: OCP 8-bit Floating Point Specification 1.0; IEEE 754-2019; PTX ISA,
// "cvt".
#pragma once

#include <xtune/portable.cuh>

#if defined(XTUNE_HOST)
#pragma GCC system_header
#endif

// The conversions that the GPU has as instructions; others are computed from the bits.
#if XTUNE_ON_NVIDIA && defined(__CUDA_ARCH__)
#define XTUNE_CONVERTS_F16 1
#define XTUNE_CONVERTS_BF16 (__CUDA_ARCH__ >= 800)
#define XTUNE_CONVERTS_F8 \
  (__CUDA_ARCH__ >= 900 || (__CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201))
#else
#define XTUNE_CONVERTS_F16 0
#define XTUNE_CONVERTS_BF16 0
#define XTUNE_CONVERTS_F8 0
#endif

namespace xtune {
namespace detail {

union FloatBits {
  float value;
  unsigned bits;
};
__host__ __device__ inline unsigned bits_of(float value) {
  FloatBits both;
  both.value = value;
  return both.bits;
}
__host__ __device__ inline float float_of(unsigned bits) {
  FloatBits both;
  both.bits = bits;
  return both.value;
}

/// Rounds to nearest even to a format with these numbers of bits. magnitude: the bits of a float without the sign,
/// neither infinity nor NaN. Returns the code without the sign, which may exceed that of the format's largest number.
template <int EXPONENT, int MANTISSA>
__host__ __device__ inline unsigned rounded(unsigned magnitude) {
  constexpr unsigned lost = 23 - MANTISSA;
  constexpr unsigned offset = 127 - ((1 << (EXPONENT - 1)) - 1);  // between the exponents' biases
  const unsigned exponent = magnitude >> 23;
  if (exponent > offset) {
    magnitude -= offset << 23;
    return (magnitude + ((1u << (lost - 1)) - 1) + (magnitude >> lost & 1u)) >> lost;
  }
  const unsigned shift = lost + offset + 1 - exponent;
  if (shift > 25) return 0;  // less than half of the smallest number
  const unsigned significand = (magnitude & 0x7fffffu) | 0x800000u, kept = significand >> shift;
  return (significand + ((1u << (shift - 1)) - 1) + (kept & 1u)) >> shift;
}

/// The float with this code. Not for the codes of infinity and NaN.
template <int EXPONENT, int MANTISSA>
__host__ __device__ inline float widened(unsigned code) {
  constexpr unsigned offset = 127 - ((1 << (EXPONENT - 1)) - 1);
  const unsigned sign = (code >> (EXPONENT + MANTISSA)) << 31, magnitude = code & ((1u << (EXPONENT + MANTISSA)) - 1);
  if (magnitude >> MANTISSA) return float_of(sign | ((magnitude << (23 - MANTISSA)) + (offset << 23)));
  // The step between the numbers below the smallest normal one is a power of two.
  const float step = float_of((offset + 1 - MANTISSA) << 23);
  return float_of(sign | bits_of(static_cast<float>(magnitude) * step));
}

__host__ __device__ inline unsigned short f16_bits(float value) {
#if defined(XTUNE_HOST)
  return xtune_float_to_half(value);
#elif XTUNE_CONVERTS_F16
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const unsigned sign = bits_of(value) >> 16 & 0x8000u, magnitude = bits_of(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude == 0x7f800000u) return static_cast<unsigned short>(sign | 0x7c00u);
  const unsigned code = rounded<5, 10>(magnitude);
  return static_cast<unsigned short>(sign | (code < 0x7c00u ? code : 0x7c00u));
#endif
}
__host__ __device__ inline float f16_value(unsigned short bits) {
#if defined(XTUNE_HOST)
  return xtune_half_to_float(bits);
#elif XTUNE_CONVERTS_F16
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#elif XTUNE_ON_AMD
  _Float16 half;
  __builtin_memcpy(&half, &bits, sizeof(half));
  return static_cast<float>(half);
#else
  if ((bits & 0x7c00u) != 0x7c00u) return widened<5, 10>(bits);
  return float_of((bits & 0x8000u) << 16 | 0x7f800000u | (bits & 0x3ffu) << 13);
#endif
}

__host__ __device__ inline unsigned short bf16_bits(float value) {
#if XTUNE_CONVERTS_BF16
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const unsigned bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}
// Two numbers at a time, the first in the lower half.
__host__ __device__ inline unsigned f16_pair(float first, float second) {
#if XTUNE_CONVERTS_BF16
  unsigned bits;
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(bits) : "f"(first), "f"(second));
  return bits;
#else
  return f16_bits(first) | static_cast<unsigned>(f16_bits(second)) << 16;
#endif
}
__host__ __device__ inline unsigned bf16_pair(float first, float second) {
#if XTUNE_CONVERTS_BF16
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(bits) : "f"(first), "f"(second));
  return bits;
#else
  return bf16_bits(first) | static_cast<unsigned>(bf16_bits(second)) << 16;
#endif
}
__host__ __device__ inline float bf16_value(unsigned short bits) { return float_of(static_cast<unsigned>(bits) << 16); }

/// Numbers that are too large, and infinity, become the largest number if `saturate`, otherwise NaN.
__host__ __device__ inline unsigned char f8e4m3_code(float value, bool saturate) {
  const unsigned sign = bits_of(value) >> 24 & 0x80u, magnitude = bits_of(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  const unsigned code = magnitude < 0x44000000u ? rounded<4, 3>(magnitude) : 0x7fu;  // 512
  return static_cast<unsigned char>(sign | (code < 0x7fu ? code : saturate ? 0x7eu : 0x7fu));
}
/// Numbers that are too large, and infinity, become the largest number if `saturate`, otherwise infinity.
__host__ __device__ inline unsigned char f8e5m2_code(float value, bool saturate) {
  const unsigned sign = bits_of(value) >> 24 & 0x80u, magnitude = bits_of(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  const unsigned code = magnitude < 0x47800000u ? rounded<5, 2>(magnitude) : 0x7cu;  // 65536
  return static_cast<unsigned char>(sign | (code < 0x7cu ? code : saturate ? 0x7bu : 0x7cu));
}

// Two numbers at a time, the first in the lower byte, as the instructions do it.
__host__ __device__ inline unsigned short f8e4m3_codes(float first, float second) {
#if XTUNE_CONVERTS_F8
  unsigned short codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %2, %1;" : "=h"(codes) : "f"(first), "f"(second));
  return codes;
#else
  return static_cast<unsigned short>(f8e4m3_code(first, true) | f8e4m3_code(second, true) << 8);
#endif
}
__host__ __device__ inline unsigned short f8e5m2_codes(float first, float second) {
#if XTUNE_CONVERTS_F8
  unsigned short codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %2, %1;" : "=h"(codes) : "f"(first), "f"(second));
  return codes;
#else
  return static_cast<unsigned short>(f8e5m2_code(first, true) | f8e5m2_code(second, true) << 8);
#endif
}
__host__ __device__ inline float f8e4m3_value(unsigned char code) {
#if XTUNE_CONVERTS_F8
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<unsigned short>(code)));
  return f16_value(static_cast<unsigned short>(halves));
#else
  return (code & 0x7fu) == 0x7fu ? float_of((code & 0x80u) << 24 | 0x7fc00000u) : widened<4, 3>(code);
#endif
}
__host__ __device__ inline float f8e5m2_value(unsigned char code) {
  // The upper byte of an f16.
  return f16_value(static_cast<unsigned short>(code << 8));
}

__host__ __device__ inline float tf32_value(float value) {
#if XTUNE_CONVERTS_BF16
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return float_of(bits);
#else
  const unsigned bits = bits_of(value);
  return (bits & 0x7f800000u) == 0x7f800000u ? value : float_of((bits + 0x1000u) & ~0x1fffu);
#endif
}

}  // namespace detail

/// 4 bits of exponent, 3 of mantissa (OCP E4M3): largest number 448, no infinity. Conversion rounds to nearest even;
/// beyond 448 the result is 448.
struct f8e4m3 {
  unsigned char bits;
  f8e4m3() = default;
  __host__ __device__ f8e4m3(float value) : bits(static_cast<unsigned char>(detail::f8e4m3_codes(value, 0.0f))) {}
  __host__ __device__ operator float() const { return detail::f8e4m3_value(bits); }
};

/// 5 bits of exponent, 2 of mantissa (OCP E5M2): largest number 57344. Conversion rounds to nearest even; beyond 57344
/// the result is 57344.
struct f8e5m2 {
  unsigned char bits;
  f8e5m2() = default;
  __host__ __device__ f8e5m2(float value) : bits(static_cast<unsigned char>(detail::f8e5m2_codes(value, 0.0f))) {}
  __host__ __device__ operator float() const { return detail::f8e5m2_value(bits); }
};

/// IEEE binary16. Conversion rounds to nearest even; beyond 65504 the result is infinity.
struct f16 {
  unsigned short bits;
  f16() = default;
  __host__ __device__ f16(float value) : bits(detail::f16_bits(value)) {}
  __host__ __device__ operator float() const { return detail::f16_value(bits); }
};

/// The upper half of a float. Conversion rounds to nearest even.
struct bf16 {
  unsigned short bits;
  bf16() = default;
  __host__ __device__ bf16(float value) : bits(detail::bf16_bits(value)) {}
  __host__ __device__ operator float() const { return detail::bf16_value(bits); }
};

/// A float with 10 bits of mantissa, for the matrix units of NVIDIA GPUs. Conversion rounds to nearest, ties away from
/// zero, as PTX's only instruction for it does.
struct tf32 {
  float value;
  tf32() = default;
  __host__ __device__ tf32(float wide) : value(detail::tf32_value(wide)) {}
  __host__ __device__ operator float() const { return value; }
};

/// Consecutive elements that are read and written in one access: in memory they must be aligned to their size, which
/// is a power of two.
template <class T, int COUNT>
struct alignas(sizeof(T) * COUNT) pack {
  T x[COUNT];
  __host__ __device__ T& operator[](int i) { return x[i]; }
  __host__ __device__ const T& operator[](int i) const { return x[i]; }
};

namespace detail {
/// The numbers whose bits are the lower and the upper half of `both`.
template <class T>
__host__ __device__ inline pack<T, 2> unpaired(unsigned both) {
  pack<T, 2> result;
  result.x[0].bits = static_cast<decltype(T::bits)>(both);
  result.x[1].bits = static_cast<decltype(T::bits)>(both >> 8 * sizeof(T));
  return result;
}
}  // namespace detail

/// The two numbers as T; one instruction for both where the GPU has it.
template <class T>
__host__ __device__ inline pack<T, 2> narrow(float first, float second) {
  pack<T, 2> result;
  result.x[0] = T(first);
  result.x[1] = T(second);
  return result;
}
template <>
__host__ __device__ inline pack<f16, 2> narrow<f16>(float first, float second) {
  return detail::unpaired<f16>(detail::f16_pair(first, second));
}
template <>
__host__ __device__ inline pack<bf16, 2> narrow<bf16>(float first, float second) {
  return detail::unpaired<bf16>(detail::bf16_pair(first, second));
}
template <>
__host__ __device__ inline pack<f8e4m3, 2> narrow<f8e4m3>(float first, float second) {
  return detail::unpaired<f8e4m3>(detail::f8e4m3_codes(first, second));
}
template <>
__host__ __device__ inline pack<f8e5m2, 2> narrow<f8e5m2>(float first, float second) {
  return detail::unpaired<f8e5m2>(detail::f8e5m2_codes(first, second));
}
template <class T>
__host__ __device__ inline pack<T, 4> narrow(float first, float second, float third, float fourth) {
  const pack<T, 2> low = narrow<T>(first, second), high = narrow<T>(third, fourth);
  pack<T, 4> result;
  result.x[0] = low.x[0];
  result.x[1] = low.x[1];
  result.x[2] = high.x[0];
  result.x[3] = high.x[1];
  return result;
}
template <class T, int COUNT>
__host__ __device__ inline void widen(const pack<T, COUNT>& from, float (&to)[COUNT]) {
  for (int i = 0; i < COUNT; ++i) to[i] = static_cast<float>(from.x[i]);
}

/// c plus the products of the four signed bytes of a and b, without saturation; the same of unsigned bytes.
__device__ inline int dot4(int a, int b, int c) {
#if defined(XTUNE_HOST)
  return __dp4a(a, b, c);
#elif XTUNE_ON_NVIDIA && __CUDA_ARCH__ >= 610  // NVRTC 11 does not declare __dp4a
  int sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || \
    defined(__gfx941__) || defined(__gfx942__) || defined(__gfx1011__) || defined(__gfx1012__) || \
    defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1034__)
  return __builtin_amdgcn_sdot4(a, b, c, false);
#else
  for (int i = 0; i < 32; i += 8) c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
  return c;
#endif
}
__device__ inline unsigned dot4(unsigned a, unsigned b, unsigned c) {
#if XTUNE_ON_NVIDIA && __CUDA_ARCH__ >= 610
  unsigned sum;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || \
    defined(__gfx941__) || defined(__gfx942__) || defined(__gfx1011__) || defined(__gfx1012__) || \
    defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1034__)
  return __builtin_amdgcn_udot4(a, b, c, false);
#else
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xffu) * (b >> i & 0xffu);
  return c;
#endif
}
__device__ inline int dot4(const pack<signed char, 4>& a, const pack<signed char, 4>& b, int c) {
  return dot4(*reinterpret_cast<const int*>(&a), *reinterpret_cast<const int*>(&b), c);
}

}  // namespace xtune

#if defined(XTUNE_HOST)
XTUNE_ELEMENT(xtune::f16, 'h')
XTUNE_ELEMENT(xtune::bf16, 'B')
XTUNE_ELEMENT(xtune::tf32, 'f')
XTUNE_ELEMENT(xtune::f8e4m3, '4')
XTUNE_ELEMENT(xtune::f8e5m2, '5')
#endif
