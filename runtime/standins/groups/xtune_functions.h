// For AMD GPUs and the CPU: functions of CUDA that HIP and the C library do not have. Templates, so that HIP's own
// functions, and a kernel's, come first. Sources: CUDA Math API Reference Manual, "SIMD Intrinsics" and "DPX"; CUDA C++
// Programming Guide, "Warp Match Functions" and "Warp Reduce Functions".
#pragma once
#ifdef XTUNE_HOST
#pragma GCC system_header
#endif

#define XTUNE_FUNCTION \
  template <int = 0>   \
  __device__ inline

namespace xtune_functions {

template <class To, class From>
__device__ inline To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
template <class T>
__device__ inline T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ inline T larger(T a, T b) {
  return a < b ? b : a;
}

/// The limits of an element, and a value within them.
template <class T>
struct Limits {
  static constexpr bool is_signed = static_cast<T>(-1) < 0;
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int high = (1 << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
  __device__ static int clamp(int x) { return x < low ? low : x > high ? high : x; }
};
/// Element I of a word.
template <class T>
__device__ inline int element(unsigned word, int i) {
  return static_cast<int>(static_cast<T>(word >> i * Limits<T>::bits));
}
template <class T, class Change>
__device__ inline unsigned by_elements(Change change) {
  constexpr int bits = Limits<T>::bits;
  unsigned result = 0;
  for (int i = 0; i < 32 / bits; ++i) result |= (static_cast<unsigned>(change(i)) & ((1u << bits) - 1)) << i * bits;
  return result;
}

}  // namespace xtune_functions

// name2 for two halfwords, and name4 for four bytes: the result for the elements a and b.
#define XTUNE_SIMD_OF(name, T, result)                                                        \
  XTUNE_FUNCTION unsigned name(unsigned x, unsigned y) {                                      \
    using E = xtune_functions::Limits<T>;                                                     \
    return xtune_functions::by_elements<T>([&](int i) {                                       \
      const int a = xtune_functions::element<T>(x, i), b = xtune_functions::element<T>(y, i); \
      return static_cast<void>(sizeof(E)), static_cast<int>(result);                          \
    });                                                                                       \
  }
#define XTUNE_SIMD(name, SIGN, result)       \
  XTUNE_SIMD_OF(name##2, SIGN short, result) \
  XTUNE_SIMD_OF(name##4, SIGN char, result)
#define XTUNE_SIMD_COMPARE(name, suffix, SIGN, compared)      \
  XTUNE_SIMD(__vcmp##name##suffix, SIGN, (compared) ? -1 : 0) \
  XTUNE_SIMD(__vset##name##suffix, SIGN, (compared) ? 1 : 0)
XTUNE_SIMD(__vadd, unsigned, a + b)
XTUNE_SIMD(__vaddss, signed, E::clamp(a + b))
XTUNE_SIMD(__vaddus, unsigned, E::clamp(a + b))
XTUNE_SIMD(__vsub, unsigned, a - b)
XTUNE_SIMD(__vsubss, signed, E::clamp(a - b))
XTUNE_SIMD(__vsubus, unsigned, E::clamp(a - b))
XTUNE_SIMD(__vavgs, signed, (a + b + (a + b >= 0)) >> 1)
XTUNE_SIMD(__vavgu, unsigned, (a + b + 1) >> 1)
XTUNE_SIMD(__vhaddu, unsigned, (a + b) >> 1)
XTUNE_SIMD(__vmaxs, signed, a < b ? b : a)
XTUNE_SIMD(__vmaxu, unsigned, a < b ? b : a)
XTUNE_SIMD(__vmins, signed, b < a ? b : a)
XTUNE_SIMD(__vminu, unsigned, b < a ? b : a)
XTUNE_SIMD(__vabsdiffs, signed, a < b ? b - a : a - b)
XTUNE_SIMD(__vabsdiffu, unsigned, a < b ? b - a : a - b)
XTUNE_SIMD_COMPARE(eq, , unsigned, a == b)
XTUNE_SIMD_COMPARE(ne, , unsigned, a != b)
XTUNE_SIMD_COMPARE(ge, s, signed, a >= b)
XTUNE_SIMD_COMPARE(ge, u, unsigned, a >= b)
XTUNE_SIMD_COMPARE(gt, s, signed, a > b)
XTUNE_SIMD_COMPARE(gt, u, unsigned, a > b)
XTUNE_SIMD_COMPARE(le, s, signed, a <= b)
XTUNE_SIMD_COMPARE(le, u, unsigned, a <= b)
XTUNE_SIMD_COMPARE(lt, s, signed, a < b)
XTUNE_SIMD_COMPARE(lt, u, unsigned, a < b)
#undef XTUNE_SIMD_COMPARE
#undef XTUNE_SIMD
#undef XTUNE_SIMD_OF
XTUNE_FUNCTION unsigned __vneg2(unsigned x) { return __vsub2(0u, x); }
XTUNE_FUNCTION unsigned __vneg4(unsigned x) { return __vsub4(0u, x); }
XTUNE_FUNCTION unsigned __vnegss2(unsigned x) { return __vsubss2(0u, x); }
XTUNE_FUNCTION unsigned __vnegss4(unsigned x) { return __vsubss4(0u, x); }
XTUNE_FUNCTION unsigned __vabs2(unsigned x) { return __vabsdiffs2(x, 0u); }
XTUNE_FUNCTION unsigned __vabs4(unsigned x) { return __vabsdiffs4(x, 0u); }
XTUNE_FUNCTION unsigned __vabsss2(unsigned x) { return __vmaxs2(x, __vnegss2(x)); }
XTUNE_FUNCTION unsigned __vabsss4(unsigned x) { return __vmaxs4(x, __vnegss4(x)); }

#define XTUNE_SAD(name, T, difference)                                           \
  XTUNE_FUNCTION unsigned name(unsigned x, unsigned y) {                         \
    const unsigned differences = difference(x, y);                               \
    unsigned sum = 0;                                                            \
    for (int i = 0; i < static_cast<int>(4 / sizeof(T)); ++i)                    \
      sum += static_cast<unsigned>(xtune_functions::element<T>(differences, i)); \
    return sum;                                                                  \
  }
XTUNE_SAD(__vsads2, unsigned short, __vabsdiffs2)
XTUNE_SAD(__vsadu2, unsigned short, __vabsdiffu2)
XTUNE_SAD(__vsads4, unsigned char, __vabsdiffs4)
XTUNE_SAD(__vsadu4, unsigned char, __vabsdiffu4)
#undef XTUNE_SAD

// DPX: maxima and minima of sums, of 32 bits and of two halfwords.
#define XTUNE_DPX(which, chosen)                                                                                     \
  XTUNE_FUNCTION int __vi##which##3_s32(int a, int b, int c) { return chosen(chosen(a, b), c); }                     \
  XTUNE_FUNCTION unsigned __vi##which##3_u32(unsigned a, unsigned b, unsigned c) { return chosen(chosen(a, b), c); } \
  XTUNE_FUNCTION int __vi##which##_s32_relu(int a, int b) { return xtune_functions::larger(chosen(a, b), 0); }       \
  XTUNE_FUNCTION int __vi##which##3_s32_relu(int a, int b, int c) {                                                  \
    return xtune_functions::larger(chosen(chosen(a, b), c), 0);                                                      \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vi##which##3_s16x2(unsigned a, unsigned b, unsigned c) {                                 \
    return __v##which##s2(__v##which##s2(a, b), c);                                                                  \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vi##which##3_u16x2(unsigned a, unsigned b, unsigned c) {                                 \
    return __v##which##u2(__v##which##u2(a, b), c);                                                                  \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vi##which##_s16x2_relu(unsigned a, unsigned b) {                                         \
    return __vmaxs2(__v##which##s2(a, b), 0u);                                                                       \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vi##which##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                            \
    return __vmaxs2(__vi##which##3_s16x2(a, b, c), 0u);                                                              \
  }                                                                                                                  \
  XTUNE_FUNCTION int __viadd##which##_s32(int a, int b, int c) {                                                     \
    return chosen(static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c);                         \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __viadd##which##_u32(unsigned a, unsigned b, unsigned c) { return chosen(a + b, c); }      \
  XTUNE_FUNCTION int __viadd##which##_s32_relu(int a, int b, int c) {                                                \
    return xtune_functions::larger(__viadd##which##_s32(a, b, c), 0);                                                \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __viadd##which##_s16x2(unsigned a, unsigned b, unsigned c) {                               \
    return __v##which##s2(__vadd2(a, b), c);                                                                         \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __viadd##which##_u16x2(unsigned a, unsigned b, unsigned c) {                               \
    return __v##which##u2(__vadd2(a, b), c);                                                                         \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __viadd##which##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                          \
    return __vmaxs2(__viadd##which##_s16x2(a, b, c), 0u);                                                            \
  }                                                                                                                  \
  XTUNE_FUNCTION int __vib##which##_s32(int a, int b, bool* first) {                                                 \
    return *first = chosen(b, a) == a, chosen(a, b);                                                                 \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vib##which##_u32(unsigned a, unsigned b, bool* first) {                                  \
    return *first = chosen(b, a) == a, chosen(a, b);                                                                 \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vib##which##_s16x2(unsigned a, unsigned b, bool* high, bool* low) {                      \
    const unsigned result = __v##which##s2(a, b);                                                                    \
    return *high = result >> 16 == a >> 16, *low = (result & 0xffffu) == (a & 0xffffu), result;                      \
  }                                                                                                                  \
  XTUNE_FUNCTION unsigned __vib##which##_u16x2(unsigned a, unsigned b, bool* high, bool* low) {                      \
    const unsigned result = __v##which##u2(a, b);                                                                    \
    return *high = result >> 16 == a >> 16, *low = (result & 0xffffu) == (a & 0xffffu), result;                      \
  }
XTUNE_DPX(max, xtune_functions::larger)
XTUNE_DPX(min, xtune_functions::smaller)
#undef XTUNE_DPX

// Products of two halfwords with the lower or the upper two bytes.
#define XTUNE_DP2A(name, first, R, T, HALF, BYTE)                                                               \
  XTUNE_FUNCTION R name(T a, T b, R c) {                                                                        \
    const unsigned x = xtune_functions::bits_of<unsigned>(a), y = xtune_functions::bits_of<unsigned>(b);        \
    for (int i = 0; i < 2; ++i)                                                                                 \
      c += static_cast<R>(xtune_functions::element<HALF>(x, i) * xtune_functions::element<BYTE>(y, first + i)); \
    return c;                                                                                                   \
  }
XTUNE_DP2A(__dp2a_lo, 0, int, int, short, signed char)
XTUNE_DP2A(__dp2a_hi, 2, int, int, short, signed char)
XTUNE_DP2A(__dp2a_lo, 0, unsigned, unsigned, unsigned short, unsigned char)
XTUNE_DP2A(__dp2a_hi, 2, unsigned, unsigned, unsigned short, unsigned char)
#undef XTUNE_DP2A
#define XTUNE_DP_VECTORS(name, A, B, R, W)                                          \
  XTUNE_FUNCTION R name(A a, B b, R c) {                                            \
    return name(xtune_functions::bits_of<W>(a), xtune_functions::bits_of<W>(b), c); \
  }
XTUNE_DP_VECTORS(__dp2a_lo, short2, char4, int, int)
XTUNE_DP_VECTORS(__dp2a_hi, short2, char4, int, int)
XTUNE_DP_VECTORS(__dp2a_lo, ushort2, uchar4, unsigned, unsigned)
XTUNE_DP_VECTORS(__dp2a_hi, ushort2, uchar4, unsigned, unsigned)
XTUNE_DP_VECTORS(__dp4a, char4, char4, int, int)
XTUNE_DP_VECTORS(__dp4a, uchar4, uchar4, unsigned, unsigned)
#undef XTUNE_DP_VECTORS

XTUNE_FUNCTION unsigned umin(unsigned a, unsigned b) { return xtune_functions::smaller(a, b); }
XTUNE_FUNCTION unsigned umax(unsigned a, unsigned b) { return xtune_functions::larger(a, b); }
XTUNE_FUNCTION long long llmin(long long a, long long b) { return xtune_functions::smaller(a, b); }
XTUNE_FUNCTION long long llmax(long long a, long long b) { return xtune_functions::larger(a, b); }
XTUNE_FUNCTION unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return xtune_functions::smaller(a, b);
}
XTUNE_FUNCTION unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return xtune_functions::larger(a, b);
}

// A warp of 32 lanes, by the mask of those that take part.
namespace xtune_functions {

/// The values of all lanes of the mask, combined in the order of the lanes.
template <class T, class Combine>
__device__ inline T reduce(unsigned mask, T value, Combine combine) {
  if (mask == 0xffffffffu) {
    for (int bits = 16; bits > 0; bits /= 2) value = combine(value, __shfl_xor_sync(mask, value, bits));
    return value;
  }
  T all = value;
  bool is_first = true;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const T other = __shfl_sync(mask, value, __ffs(static_cast<int>(rest)) - 1);
    all = is_first ? other : combine(all, other);
    is_first = false;
  }
  return all;
}

/// The lanes of the mask whose value has the same bits.
template <class T>
__device__ inline unsigned lanes_with(unsigned mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA matches values of 4 and 8 bytes");
  unsigned lanes = 0, own[2] = {}, others[2] = {};
  __builtin_memcpy(own, &value, sizeof value);
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const T other = __shfl_sync(mask, value, __ffs(static_cast<int>(rest)) - 1);
    __builtin_memcpy(others, &other, sizeof other);
    if (own[0] == others[0] && own[1] == others[1]) lanes |= rest & (0u - rest);
  }
  return lanes;
}

}  // namespace xtune_functions

#define XTUNE_REDUCE(name, T, result)                                                             \
  XTUNE_FUNCTION T __reduce_##name##_sync(unsigned mask, T value) {                               \
    return xtune_functions::reduce(mask, value, [](T a, T b) { return static_cast<T>(result); }); \
  }
XTUNE_REDUCE(add, unsigned, a + b)
XTUNE_REDUCE(add, int, static_cast<unsigned>(a) + static_cast<unsigned>(b))
XTUNE_REDUCE(min, unsigned, b < a ? b : a)
XTUNE_REDUCE(min, int, b < a ? b : a)
XTUNE_REDUCE(max, unsigned, a < b ? b : a)
XTUNE_REDUCE(max, int, a < b ? b : a)
XTUNE_REDUCE(and, unsigned, a& b)
XTUNE_REDUCE(or, unsigned, a | b)
XTUNE_REDUCE(xor, unsigned, a ^ b)
#undef XTUNE_REDUCE
template <class T>
__device__ inline unsigned __match_any_sync(unsigned mask, T value) {
  return xtune_functions::lanes_with(mask, value);
}
template <class T>
__device__ inline unsigned __match_all_sync(unsigned mask, T value, int* all) {
  *all = xtune_functions::lanes_with(mask, value) == mask;
  return *all ? mask : 0u;
}

// Directed rounding: the result to nearest, and a step if it is on the wrong side of the exact one.
namespace xtune_functions {

constexpr int toward_zero = 0, upward = 1, downward = 2;
template <class T>
struct Real;
template <>
struct Real<float> {
  using Bits = int;
};
template <>
struct Real<double> {
  using Bits = long long;
};

/// error: what the exact result exceeds `nearest` by, at least its sign.
template <int MODE, class T>
__device__ inline T directed(T nearest, T error) {
  if (error == 0) return nearest;
  const bool grows = MODE == upward || (MODE == toward_zero && nearest < 0);
  if (grows != (error > 0) || (MODE == toward_zero && nearest == 0)) return nearest;
  using Bits = typename Real<T>::Bits;
  if (nearest == 0) return bits_of<T>(static_cast<Bits>(1)) * (grows ? 1 : -1);
  return bits_of<T>(bits_of<Bits>(nearest) + (grows == (nearest > 0) ? 1 : -1));
}
template <class T>
__device__ inline bool is_finite(T x) {
  return x - x == 0;
}
/// Of finite operands whose result is infinite, the exact one is nearer to zero.
template <class T>
__device__ inline T overflow_error(T infinite) {
  return infinite > 0 ? T(-1) : T(1);
}
/// The error of a sum (Dekker).
template <class T>
__device__ inline T error_of_sum(T a, T b, T sum) {
  const bool ordered = __builtin_fabs(static_cast<double>(a)) >= __builtin_fabs(static_cast<double>(b));
  return ordered ? b - (sum - a) : a - (sum - b);
}
/// The sum of opposite numbers is -0 where it is rounded downwards.
template <int MODE, class T>
__device__ inline T signed_zero(T a, T b, T zero) {
  return MODE == downward && (a != 0 || __builtin_copysign(1.0, static_cast<double>(a)) !=
                                            __builtin_copysign(1.0, static_cast<double>(b)))
             ? -T(0)
             : zero;
}

/// value + error as a float; the error is less than half a unit of the last place of `value`.
template <int MODE>
__device__ inline float narrowed(double value, double error) {
  const float nearest = static_cast<float>(value);
  if (!is_finite(value)) return nearest;
  if (!is_finite(nearest)) return directed<MODE>(nearest, overflow_error(nearest));
  const double more = value - static_cast<double>(nearest);
  const double all = more != 0 ? more : error;
  return directed<MODE>(nearest, all > 0 ? 1.0f : all < 0 ? -1.0f : 0.0f);
}
template <int MODE>
__device__ inline float fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double error = is_finite(sum) ? error_of_sum(product, static_cast<double>(c), sum) : 0;
  if (sum == 0 && error == 0) return signed_zero<MODE>(static_cast<float>(product), c, static_cast<float>(sum));
  return narrowed<MODE>(sum, error);
}
template <int MODE>
__device__ inline float add(float a, float b) {
  return xtune_functions::fma<MODE>(a, 1.0f, b);
}
template <int MODE>
__device__ inline float multiply(float a, float b) {
  return narrowed<MODE>(static_cast<double>(a) * b, 0);
}
template <int MODE>
__device__ inline float divide(float a, float b) {
  const double quotient = static_cast<double>(a) / b,
               rest = __builtin_fma(-quotient, static_cast<double>(b), static_cast<double>(a));
  return narrowed<MODE>(quotient, b < 0 ? -rest : rest);
}
template <int MODE>
__device__ inline float root(float a) {
  const double root = __builtin_sqrt(static_cast<double>(a));
  return narrowed<MODE>(root, __builtin_fma(-root, root, static_cast<double>(a)));
}

constexpr double tiny = 0x1p-900, scale = 0x1p600;  // below, errors may underflow; what avoids it

template <int MODE>
__device__ inline double add(double a, double b) {
  const double sum = a + b;
  if (!is_finite(sum)) return is_finite(a) && is_finite(b) ? directed<MODE>(sum, overflow_error(sum)) : sum;
  return sum == 0 ? signed_zero<MODE>(a, b, sum) : directed<MODE>(sum, error_of_sum(a, b, sum));
}
template <int MODE>
__device__ inline double multiply(double a, double b) {
  const double product = a * b;
  if (!is_finite(product))
    return is_finite(a) && is_finite(b) ? directed<MODE>(product, overflow_error(product)) : product;
  if (product == 0) return a == 0 || b == 0 ? product : directed<MODE>(product, (a < 0) == (b < 0) ? 1.0 : -1.0);
  const bool small = __builtin_fabs(product) < tiny;
  return directed<MODE>(product, small ? __builtin_fma(a * scale, b, -product * scale) : __builtin_fma(a, b, -product));
}
template <int MODE>
__device__ inline double divide(double a, double b) {
  const double quotient = a / b;
  if (a == 0 || b == 0 || !is_finite(a) || !is_finite(b)) return quotient;
  if (!is_finite(quotient)) return directed<MODE>(quotient, overflow_error(quotient));
  double x = a, y = b, q = quotient;
  if (__builtin_fabs(a) < tiny) {
    x *= scale;
    (__builtin_fabs(q) < 1 ? q : y) *= scale;
  }
  const double rest = __builtin_fma(-q, y, x);
  return directed<MODE>(quotient, b < 0 ? -rest : rest);
}
template <int MODE>
__device__ inline double root(double a) {
  const double root = __builtin_sqrt(a);
  if (!is_finite(root) || root == 0) return root;
  const double by = a < tiny ? 0x1p300 : 1, scaled = root * by;
  return directed<MODE>(root, __builtin_fma(-scaled, scaled, a * by * by));
}
/// The error of a fused sum is the sum of two numbers (Boldo and Muller).
template <int MODE>
__device__ inline double fma(double a, double b, double c) {
  const double result = __builtin_fma(a, b, c), product = a * b;
  if (!is_finite(result))
    return is_finite(a) && is_finite(b) && is_finite(c) ? directed<MODE>(result, overflow_error(result)) : result;
  if (a == 0 || b == 0) return c == 0 ? signed_zero<MODE>(product, c, result) : result;
  const double size = __builtin_fabs(product), by = size < tiny ? scale : size > 1 / tiny ? 1 / scale : 1.0;
  const double x = a * by, p = x * b, r = result * by;
  // A product that is lost beside c, which is the result.
  if (by > 1 && (__builtin_fabs(c) > 0x1p-800 || __builtin_fabs(p) < tiny))
    return directed<MODE>(result, (a < 0) == (b < 0) ? 1.0 : -1.0);
  const double z = c * by == 0 && c != 0 ? (c < 0 ? -tiny : tiny) : c * by, low = __builtin_fma(x, b, -p);
  if (p == -z && low == 0) return signed_zero<MODE>(product, c, result);
  const double sum = z + low, sum_error = error_of_sum(z, low, sum);
  const double head = p + sum, head_error = error_of_sum(p, sum, head);
  return directed<MODE>(result, (head - r) + head_error + sum_error);
}

}  // namespace xtune_functions

#define XTUNE_ROUNDED(suffix, MODE)                                                                               \
  XTUNE_FUNCTION float __fadd_##suffix(float a, float b) { return xtune_functions::add<MODE>(a, b); }             \
  XTUNE_FUNCTION float __fsub_##suffix(float a, float b) { return xtune_functions::add<MODE>(a, -b); }            \
  XTUNE_FUNCTION float __fmul_##suffix(float a, float b) { return xtune_functions::multiply<MODE>(a, b); }        \
  XTUNE_FUNCTION float __fdiv_##suffix(float a, float b) { return xtune_functions::divide<MODE>(a, b); }          \
  XTUNE_FUNCTION float __frcp_##suffix(float a) { return xtune_functions::divide<MODE>(1.0f, a); }                \
  XTUNE_FUNCTION float __fsqrt_##suffix(float a) { return xtune_functions::root<MODE>(a); }                       \
  XTUNE_FUNCTION float __fmaf_##suffix(float a, float b, float c) { return xtune_functions::fma<MODE>(a, b, c); } \
  XTUNE_FUNCTION float __double2float_##suffix(double a) { return xtune_functions::narrowed<MODE>(a, 0); }        \
  XTUNE_FUNCTION double __dadd_##suffix(double a, double b) { return xtune_functions::add<MODE>(a, b); }          \
  XTUNE_FUNCTION double __dsub_##suffix(double a, double b) { return xtune_functions::add<MODE>(a, -b); }         \
  XTUNE_FUNCTION double __dmul_##suffix(double a, double b) { return xtune_functions::multiply<MODE>(a, b); }     \
  XTUNE_FUNCTION double __ddiv_##suffix(double a, double b) { return xtune_functions::divide<MODE>(a, b); }       \
  XTUNE_FUNCTION double __drcp_##suffix(double a) { return xtune_functions::divide<MODE>(1.0, a); }               \
  XTUNE_FUNCTION double __dsqrt_##suffix(double a) { return xtune_functions::root<MODE>(a); }                     \
  XTUNE_FUNCTION double __fma_##suffix(double a, double b, double c) { return xtune_functions::fma<MODE>(a, b, c); }
XTUNE_ROUNDED(rz, xtune_functions::toward_zero)
XTUNE_ROUNDED(ru, xtune_functions::upward)
XTUNE_ROUNDED(rd, xtune_functions::downward)
#undef XTUNE_ROUNDED
XTUNE_FUNCTION double __drcp_rn(double a) { return 1 / a; }
#undef XTUNE_FUNCTION
