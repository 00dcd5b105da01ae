// The device functions for arithmetic, bits, conversions and cached reads that <math.h> does not have.
#pragma once
#pragma GCC system_header

#include <type_traits>

#include "xtune_host_vectors.h"

/// Prevents a result from being fused with the operation that uses it.
template <class T>
XTUNE_DEVICE T xtune_rounded(T value) {
#if defined(__x86_64__)
  __asm__("" : "+x"(value));
#elif defined(__aarch64__)
  __asm__("" : "+w"(value));
#endif
  return value;
}

// C libraries declare some of these names as extern "C" (glibc: __expf; from 2.41 on sinpif; from 2.42 on rsqrt). The
// definitions here must match.
extern "C" {
#define XTUNE_FAST1(name, call) \
  inline float name(float x) noexcept { return call; }
XTUNE_FAST1(__expf, expf(x))
XTUNE_FAST1(__exp10f, powf(10.0f, x))
XTUNE_FAST1(__logf, logf(x))
XTUNE_FAST1(__log2f, log2f(x))
XTUNE_FAST1(__log10f, log10f(x))
XTUNE_FAST1(__sinf, sinf(x))
XTUNE_FAST1(__cosf, cosf(x))
XTUNE_FAST1(__tanf, tanf(x))
XTUNE_FAST1(rsqrtf, 1.0f / sqrtf(x))
XTUNE_FAST1(sinpif, sinf(static_cast<float>(M_PI) * x))
XTUNE_FAST1(cospif, cosf(static_cast<float>(M_PI) * x))
#undef XTUNE_FAST1
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline void __sincosf(float x, float* s, float* c) noexcept { *s = sinf(x), *c = cosf(x); }
inline double rsqrt(double x) noexcept { return 1.0 / sqrt(x); }
inline double sinpi(double x) noexcept { return sin(M_PI * x); }
inline double cospi(double x) noexcept { return cos(M_PI * x); }
}
#define XTUNE_REAL_FUNCTIONS(T, f)                                                                         \
  XTUNE_DEVICE T rcbrt##f(T x) { return 1 / cbrt##f(x); }                                                  \
  XTUNE_DEVICE T normcdf##f(T x) { return static_cast<T>(0.5) * erfc##f(static_cast<T>(-M_SQRT1_2) * x); } \
  XTUNE_DEVICE T rhypot##f(T x, T y) { return 1 / hypot##f(x, y); }                                        \
  XTUNE_DEVICE T norm3d##f(T x, T y, T z) { return hypot##f(hypot##f(x, y), z); }                          \
  XTUNE_DEVICE T norm4d##f(T x, T y, T z, T w) { return hypot##f(hypot##f(x, y), hypot##f(z, w)); }        \
  XTUNE_DEVICE T rnorm3d##f(T x, T y, T z) { return 1 / norm3d##f(x, y, z); }                              \
  XTUNE_DEVICE T rnorm4d##f(T x, T y, T z, T w) { return 1 / norm4d##f(x, y, z, w); }                      \
  XTUNE_DEVICE T norm##f(int count, const T* x) {                                                          \
    T sum = 0;                                                                                             \
    for (int i = 0; i < count; ++i) sum = hypot##f(sum, x[i]);                                             \
    return sum;                                                                                            \
  }                                                                                                        \
  XTUNE_DEVICE T rnorm##f(int count, const T* x) { return 1 / norm##f(count, x); }                         \
  XTUNE_DEVICE void sincospi##f(T x, T* s, T* c) { *s = sinpi##f(x), *c = cospi##f(x); }
XTUNE_REAL_FUNCTIONS(float, f)
XTUNE_REAL_FUNCTIONS(double, )
#undef XTUNE_REAL_FUNCTIONS
XTUNE_DEVICE float __fdividef(float x, float y) { return x / y; }
XTUNE_DEVICE float fdividef(float x, float y) { return x / y; }
XTUNE_DEVICE float __saturatef(float x) { return x >= 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
XTUNE_DEVICE float rsqrt(float x) { return rsqrtf(x); }

XTUNE_DEVICE float __fadd_rn(float x, float y) { return xtune_rounded(x + y); }
XTUNE_DEVICE float __fsub_rn(float x, float y) { return xtune_rounded(x - y); }
XTUNE_DEVICE float __fmul_rn(float x, float y) { return xtune_rounded(x * y); }
XTUNE_DEVICE float __fdiv_rn(float x, float y) { return x / y; }
XTUNE_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
XTUNE_DEVICE float __fsqrt_rn(float x) { return sqrtf(x); }
XTUNE_DEVICE float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
XTUNE_DEVICE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
XTUNE_DEVICE double __dadd_rn(double x, double y) { return xtune_rounded(x + y); }
XTUNE_DEVICE double __dsub_rn(double x, double y) { return xtune_rounded(x - y); }
XTUNE_DEVICE double __dmul_rn(double x, double y) { return xtune_rounded(x * y); }
XTUNE_DEVICE double __ddiv_rn(double x, double y) { return x / y; }
XTUNE_DEVICE double __dsqrt_rn(double x) { return sqrt(x); }
XTUNE_DEVICE double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

#define XTUNE_MIN_MAX(R, A, B)                                                            \
  XTUNE_DEVICE constexpr R min(A a, B b) {                                                \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }                                                                                       \
  XTUNE_DEVICE constexpr R max(A a, B b) {                                                \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); \
  }
XTUNE_MIN_MAX(int, int, int)
XTUNE_MIN_MAX(unsigned, unsigned, unsigned)
XTUNE_MIN_MAX(unsigned, int, unsigned)
XTUNE_MIN_MAX(unsigned, unsigned, int)
XTUNE_MIN_MAX(long, long, long)
XTUNE_MIN_MAX(unsigned long, unsigned long, unsigned long)
XTUNE_MIN_MAX(long long, long long, long long)
XTUNE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
XTUNE_MIN_MAX(unsigned long, long, unsigned long)
XTUNE_MIN_MAX(unsigned long, unsigned long, long)
XTUNE_MIN_MAX(unsigned long long, long long, unsigned long long)
XTUNE_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef XTUNE_MIN_MAX
// Other pairs of integers, as HIP has them: min(size_t, int).
template <class A, class B, class = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
XTUNE_DEVICE constexpr auto min(A a, B b) {
  using R = decltype(a + b);
  return static_cast<R>(b) < static_cast<R>(a) ? static_cast<R>(b) : static_cast<R>(a);
}
template <class A, class B, class = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
XTUNE_DEVICE constexpr auto max(A a, B b) {
  using R = decltype(a + b);
  return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a);
}
XTUNE_DEVICE float min(float a, float b) { return fminf(a, b); }
XTUNE_DEVICE float max(float a, float b) { return fmaxf(a, b); }
XTUNE_DEVICE double min(double a, double b) { return fmin(a, b); }
XTUNE_DEVICE double max(double a, double b) { return fmax(a, b); }
XTUNE_DEVICE double min(float a, double b) { return fmin(static_cast<double>(a), b); }
XTUNE_DEVICE double max(float a, double b) { return fmax(static_cast<double>(a), b); }
XTUNE_DEVICE double min(double a, float b) { return fmin(a, static_cast<double>(b)); }
XTUNE_DEVICE double max(double a, float b) { return fmax(a, static_cast<double>(b)); }

XTUNE_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
XTUNE_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
XTUNE_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
XTUNE_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
XTUNE_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
XTUNE_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
XTUNE_DEVICE unsigned __brev(unsigned x) {
  x = __builtin_bswap32(x);
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  return (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
}
XTUNE_DEVICE unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
XTUNE_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}
XTUNE_DEVICE int __mul24(int x, int y) {
  return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * static_cast<unsigned>(y << 8 >> 8));
}
XTUNE_DEVICE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
// Averages, rounded down or, with r, up at a half.
XTUNE_DEVICE int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
XTUNE_DEVICE int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }
XTUNE_DEVICE unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
XTUNE_DEVICE unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}
XTUNE_DEVICE int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
XTUNE_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
XTUNE_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
XTUNE_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
XTUNE_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
XTUNE_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
XTUNE_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
XTUNE_DEVICE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
XTUNE_DEVICE unsigned __usad(unsigned x, unsigned y, unsigned sum) { return (x < y ? y - x : x - y) + sum; }
XTUNE_DEVICE unsigned __sad(int x, int y, unsigned sum) {
  return (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                : static_cast<unsigned>(x) - static_cast<unsigned>(y)) +
         sum;
}
XTUNE_DEVICE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i);
  return c;
}
XTUNE_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xffu) * (b >> 8 * i & 0xffu);
  return c;
}

template <class To, class From>
XTUNE_DEVICE To xtune_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
XTUNE_DEVICE int __float_as_int(float x) { return xtune_bits<int>(x); }
XTUNE_DEVICE unsigned __float_as_uint(float x) { return xtune_bits<unsigned>(x); }
XTUNE_DEVICE float __int_as_float(int x) { return xtune_bits<float>(x); }
XTUNE_DEVICE float __uint_as_float(unsigned x) { return xtune_bits<float>(x); }
XTUNE_DEVICE long long __double_as_longlong(double x) { return xtune_bits<long long>(x); }
XTUNE_DEVICE double __longlong_as_double(long long x) { return xtune_bits<double>(x); }
XTUNE_DEVICE int __double2hiint(double x) { return static_cast<int>(xtune_bits<long long>(x) >> 32); }
XTUNE_DEVICE int __double2loint(double x) { return static_cast<int>(xtune_bits<long long>(x)); }
XTUNE_DEVICE double __hiloint2double(int high, int low) {
  return xtune_bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                            static_cast<unsigned>(low));
}

/// GPUs clamp a conversion to the integer's range and turn NaN into 0. end: the first number above the range.
template <class T>
XTUNE_DEVICE T xtune_to_integer(double x, double low, double end) {
  if (!(x == x)) return 0;
  constexpr T lowest = static_cast<T>(-1) < 0 ? static_cast<T>(1ull << (8 * sizeof(T) - 1)) : 0;
  return x <= low ? lowest : x >= end ? static_cast<T>(~lowest) : static_cast<T>(x);
}
#define XTUNE_CONVERSION(name, From, T, low, end) \
  XTUNE_DEVICE T name(From x) { return xtune_to_integer<T>(XTUNE_ROUND(static_cast<double>(x)), low, end); }
#define XTUNE_CONVERSIONS(from, From, suffix)                                \
  XTUNE_CONVERSION(__##from##2int_##suffix, From, int, -0x1p31, 0x1p31)      \
  XTUNE_CONVERSION(__##from##2uint_##suffix, From, unsigned, 0.0, 0x1p32)    \
  XTUNE_CONVERSION(__##from##2ll_##suffix, From, long long, -0x1p63, 0x1p63) \
  XTUNE_CONVERSION(__##from##2ull_##suffix, From, unsigned long long, 0.0, 0x1p64)
#define XTUNE_ROUND nearbyint
XTUNE_CONVERSIONS(float, float, rn)
XTUNE_CONVERSIONS(double, double, rn)
#undef XTUNE_ROUND
#define XTUNE_ROUND trunc
XTUNE_CONVERSIONS(float, float, rz)
XTUNE_CONVERSIONS(double, double, rz)
#undef XTUNE_ROUND
#define XTUNE_ROUND floor
XTUNE_CONVERSIONS(float, float, rd)
XTUNE_CONVERSIONS(double, double, rd)
#undef XTUNE_ROUND
#define XTUNE_ROUND ceil
XTUNE_CONVERSIONS(float, float, ru)
XTUNE_CONVERSIONS(double, double, ru)
#undef XTUNE_ROUND
#undef XTUNE_CONVERSIONS
#undef XTUNE_CONVERSION
#define XTUNE_FROM_INTEGER(from, From)                                             \
  XTUNE_DEVICE float __##from##2float_rn(From x) { return static_cast<float>(x); } \
  XTUNE_DEVICE double __##from##2double_rn(From x) { return static_cast<double>(x); }
XTUNE_FROM_INTEGER(int, int)
XTUNE_FROM_INTEGER(uint, unsigned)
XTUNE_FROM_INTEGER(ll, long long)
XTUNE_FROM_INTEGER(ull, unsigned long long)
#undef XTUNE_FROM_INTEGER
XTUNE_DEVICE float __double2float_rn(double x) { return static_cast<float>(x); }

// Cache hints: plain accesses.
#define XTUNE_LOAD(name)            \
  template <class T>                \
  XTUNE_DEVICE T name(const T* p) { \
    return *p;                      \
  }
XTUNE_LOAD(__ldg)
XTUNE_LOAD(__ldca)
XTUNE_LOAD(__ldcg)
XTUNE_LOAD(__ldcs)
XTUNE_LOAD(__ldlu)
XTUNE_LOAD(__ldcv)
#undef XTUNE_LOAD
template <class T>
struct XtuneSame {
  using type = T;
};
#define XTUNE_STORE(name)                                           \
  template <class T>                                                \
  XTUNE_DEVICE void name(T* p, typename XtuneSame<T>::type value) { \
    *p = value;                                                     \
  }
XTUNE_STORE(__stwb)
XTUNE_STORE(__stcg)
XTUNE_STORE(__stcs)
XTUNE_STORE(__stwt)
#undef XTUNE_STORE

XTUNE_DEVICE long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  unsigned long long ticks;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
  return static_cast<long long>(ticks);
#endif
}
XTUNE_DEVICE long long wall_clock64() { return clock64(); }
/// In the place of the C library's, which is the time of the whole process. Always inline: the library's is not called.
extern "C" inline __attribute__((always_inline)) long clock() noexcept { return static_cast<long>(clock64()); }
