// std::numeric_limits of arithmetic types, without the macros of <limits.h> and <float.h>: a source may have its own.
#pragma once
#include <xtune_infinity.h>

namespace std {

// Constants are enumerators: NVRTC would write static members into every image.
template <class T>
struct numeric_limits {
  enum : bool { is_specialized = false };
};

template <class T, T low, T high, int bits>
struct xtune_integer_limits {
  enum : bool { is_specialized = true, is_integer = true, is_signed = T(-1) < T(1), has_infinity = false };
  enum : int { digits = bits, radix = 2 };
  __host__ __device__ static constexpr T min() { return low; }
  __host__ __device__ static constexpr T lowest() { return low; }
  __host__ __device__ static constexpr T max() { return high; }
};
#define XTUNE_INTEGER_LIMITS(type, low, high, bits) \
  template <>                                       \
  struct numeric_limits<type> : xtune_integer_limits<type, low, high, bits> {};
XTUNE_INTEGER_LIMITS(bool, false, true, 1)
XTUNE_INTEGER_LIMITS(char, char(-1) < 0 ? -128 : 0, char(-1) < 0 ? 127 : 255, char(-1) < 0 ? 7 : 8)
XTUNE_INTEGER_LIMITS(signed char, -128, 127, 7)
XTUNE_INTEGER_LIMITS(unsigned char, 0, 255, 8)
XTUNE_INTEGER_LIMITS(short, -32768, 32767, 15)
XTUNE_INTEGER_LIMITS(unsigned short, 0, 65535, 16)
XTUNE_INTEGER_LIMITS(int, -0x7fffffff - 1, 0x7fffffff, 31)
XTUNE_INTEGER_LIMITS(unsigned, 0, 0xffffffffU, 32)
XTUNE_INTEGER_LIMITS(long, -0x7fffffffffffffffL - 1, 0x7fffffffffffffffL, 63)
XTUNE_INTEGER_LIMITS(unsigned long, 0, 0xffffffffffffffffUL, 64)
XTUNE_INTEGER_LIMITS(long long, -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL, 63)
XTUNE_INTEGER_LIMITS(unsigned long long, 0, 0xffffffffffffffffULL, 64)
#undef XTUNE_INTEGER_LIMITS

template <int mantissa>
struct xtune_float_limits {
  enum : bool {
    is_specialized = true,
    is_integer = false,
    is_signed = true,
    has_infinity = true,
    has_quiet_NaN = true
  };
  enum : int { digits = mantissa, radix = 2 };
};
#define XTUNE_FLOAT_LIMITS(type, mantissa, least, smallest, largest, step)          \
  template <>                                                                       \
  struct numeric_limits<type> : xtune_float_limits<mantissa> {                      \
    __host__ __device__ static constexpr type min() { return smallest; }            \
    __host__ __device__ static constexpr type lowest() { return -(largest); }       \
    __host__ __device__ static constexpr type max() { return largest; }             \
    __host__ __device__ static constexpr type epsilon() { return step; }            \
    __host__ __device__ static constexpr type denorm_min() { return least; }        \
    __host__ __device__ static constexpr type infinity() { return XTUNE_INFINITY; } \
    __host__ __device__ static constexpr type quiet_NaN() { return XTUNE_NAN; }     \
  };
XTUNE_FLOAT_LIMITS(float, 24, 1.401298464324817e-45F, 1.17549435082228750797e-38F, 3.40282346638528859812e+38F,
                   1.1920928955078125e-7F)
XTUNE_FLOAT_LIMITS(double, 53, 4.9406564584124654e-324, 2.2250738585072014e-308, 1.7976931348623157e+308,
                   2.220446049250313e-16)
#undef XTUNE_FLOAT_LIMITS

}  // namespace std
