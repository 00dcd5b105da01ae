// One 16-bit floating type and its pair; included once for each type, which macros name, and therefore without an
// include guard.
#pragma GCC system_header

/// The bits of one, and of a pair.
struct XTUNE_SHORT_RAW {
  unsigned short x;
};
struct alignas(4) XTUNE_SHORT_RAW2 {
  unsigned short x, y;
};

struct XTUNE_SHORT_FLOAT {
  unsigned short bits;

  XTUNE_SHORT_FLOAT() = default;
  XTUNE_SHORT_FLOAT(float value) : bits(XTUNE_FLOAT_TO_SHORT(value)) {}
  XTUNE_SHORT_FLOAT(double value) : bits(XTUNE_FLOAT_TO_SHORT(xtune_float_by_odd(value))) {}
  XTUNE_SHORT_FLOAT(int value) : XTUNE_SHORT_FLOAT(static_cast<double>(value)) {}
  XTUNE_SHORT_FLOAT(unsigned value) : XTUNE_SHORT_FLOAT(static_cast<double>(value)) {}
  XTUNE_SHORT_FLOAT(long value) : XTUNE_SHORT_FLOAT(static_cast<double>(value)) {}
  XTUNE_SHORT_FLOAT(unsigned long value) : XTUNE_SHORT_FLOAT(static_cast<double>(value)) {}
  XTUNE_SHORT_FLOAT(long long value) : XTUNE_SHORT_FLOAT(static_cast<double>(value)) {}
  XTUNE_SHORT_FLOAT(unsigned long long value) : XTUNE_SHORT_FLOAT(static_cast<double>(value)) {}
  XTUNE_SHORT_FLOAT(XTUNE_SHORT_RAW raw) : bits(raw.x) {}
  operator float() const { return XTUNE_SHORT_TO_FLOAT(bits); }
  operator XTUNE_SHORT_RAW() const { return {bits}; }
  XTUNE_SHORT_FLOAT operator-() const {
    return xtune_bits<XTUNE_SHORT_FLOAT>(static_cast<unsigned short>(bits ^ 0x8000u));
  }
  XTUNE_SHORT_FLOAT operator+() const { return *this; }
};

struct alignas(4) XTUNE_SHORT_FLOAT2 {
  XTUNE_SHORT_FLOAT x, y;
  XTUNE_SHORT_FLOAT2() = default;
  XTUNE_SHORT_FLOAT2(XTUNE_SHORT_FLOAT vx, XTUNE_SHORT_FLOAT vy) : x(vx), y(vy) {}
  XTUNE_SHORT_FLOAT2(XTUNE_SHORT_RAW2 raw) : x(XTUNE_SHORT_RAW{raw.x}), y(XTUNE_SHORT_RAW{raw.y}) {}
  operator XTUNE_SHORT_RAW2() const { return {x.bits, y.bits}; }
  XTUNE_SHORT_FLOAT2 operator-() const { return {-x, -y}; }
};

XTUNE_DEVICE float xtune_widen(XTUNE_SHORT_FLOAT x) { return XTUNE_SHORT_TO_FLOAT(x.bits); }

// A product or quotient of two 16-bit floats rounds correctly through float: 24 bits >= 2 * 11 + 2.
#define XTUNE_ARITHMETIC(op, name)                                                                                 \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT operator op(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) {                           \
    return XTUNE_SHORT_FLOAT(xtune_rounded(xtune_widen(a) op xtune_widen(b)));                                     \
  }                                                                                                                \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT& operator op##=(XTUNE_SHORT_FLOAT& a, XTUNE_SHORT_FLOAT b) { return a = a op b; } \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT name(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) { return a op b; }                 \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT2 operator op(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) {                        \
    return {a.x op b.x, a.y op b.y};                                                                               \
  }                                                                                                                \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT2& operator op##=(XTUNE_SHORT_FLOAT2& a, XTUNE_SHORT_FLOAT2 b) { return a = a op b; }
XTUNE_ARITHMETIC(+, __hadd)
XTUNE_ARITHMETIC(-, __hsub)
XTUNE_ARITHMETIC(*, __hmul)
XTUNE_ARITHMETIC(/, __hdiv)
#undef XTUNE_ARITHMETIC
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hadd2(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) { return a + b; }
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hsub2(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) { return a - b; }
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hmul2(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) { return a * b; }
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __h2div(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) { return a / b; }

XTUNE_DEVICE bool __hisnan(XTUNE_SHORT_FLOAT x) { return xtune_widen(x) != xtune_widen(x); }
// CUDA's names say what becomes of NaN: __hne is false, and __hneu is true, as != is.
#define XTUNE_COMPARISON(op, name)                                                                                     \
  XTUNE_DEVICE bool operator op(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) { return xtune_widen(a) op xtune_widen(b); } \
  XTUNE_DEVICE bool name(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) { return !__hisnan(a) && !__hisnan(b) && a op b; }  \
  XTUNE_DEVICE bool name##u(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) { return __hisnan(a) || __hisnan(b) || a op b; }
XTUNE_COMPARISON(==, __heq)
XTUNE_COMPARISON(!=, __hne)
XTUNE_COMPARISON(<, __hlt)
XTUNE_COMPARISON(<=, __hle)
XTUNE_COMPARISON(>, __hgt)
XTUNE_COMPARISON(>=, __hge)
#undef XTUNE_COMPARISON

// The product is exact in double, so that the sum is rounded once to double and once, with sticky odd, to 16 bits.
XTUNE_DEVICE XTUNE_SHORT_FLOAT __hfma(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b, XTUNE_SHORT_FLOAT c) {
  return XTUNE_SHORT_FLOAT(static_cast<double>(xtune_widen(a)) * static_cast<double>(xtune_widen(b)) +
                           static_cast<double>(xtune_widen(c)));
}
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hfma2(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b, XTUNE_SHORT_FLOAT2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
XTUNE_DEVICE XTUNE_SHORT_FLOAT __hneg(XTUNE_SHORT_FLOAT x) { return -x; }
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hneg2(XTUNE_SHORT_FLOAT2 x) { return -x; }
XTUNE_DEVICE XTUNE_SHORT_FLOAT __habs(XTUNE_SHORT_FLOAT x) {
  return xtune_bits<XTUNE_SHORT_FLOAT>(static_cast<unsigned short>(x.bits & 0x7fffu));
}
XTUNE_DEVICE int __hisinf(XTUNE_SHORT_FLOAT x) {
  return xtune_widen(x) == INFINITY ? 1 : xtune_widen(x) == -INFINITY ? -1 : 0;
}
/// For CUDA -0 is less than +0, and a NaN gives way to a number.
XTUNE_DEVICE XTUNE_SHORT_FLOAT __hmin(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) {
  if (__hisnan(a) && __hisnan(b)) return xtune_bits<XTUNE_SHORT_FLOAT>(static_cast<unsigned short>(0x7fff));
  return __hisnan(b) || a < b || (a == b && a.bits > b.bits) ? a : b;
}
XTUNE_DEVICE XTUNE_SHORT_FLOAT __hmax(XTUNE_SHORT_FLOAT a, XTUNE_SHORT_FLOAT b) {
  return __hisnan(a) || __hisnan(b) ? __hmin(a, b) : -__hmin(-a, -b);
}
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hmin2(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __hmax2(XTUNE_SHORT_FLOAT2 a, XTUNE_SHORT_FLOAT2 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
XTUNE_DEVICE float __low2float(XTUNE_SHORT_FLOAT2 x) { return xtune_widen(x.x); }
XTUNE_DEVICE float __high2float(XTUNE_SHORT_FLOAT2 x) { return xtune_widen(x.y); }
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 __lowhigh2highlow(XTUNE_SHORT_FLOAT2 x) { return {x.y, x.x}; }

#define XTUNE_FUNCTION(name, call)                              \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT h##name(XTUNE_SHORT_FLOAT v) { \
    const float x = xtune_widen(v);                             \
    return XTUNE_SHORT_FLOAT(call);                             \
  }                                                             \
  XTUNE_DEVICE XTUNE_SHORT_FLOAT2 h2##name(XTUNE_SHORT_FLOAT2 v) { return {h##name(v.x), h##name(v.y)}; }
XTUNE_FUNCTION(sqrt, sqrtf(x))
XTUNE_FUNCTION(rsqrt, 1.0f / sqrtf(x))
XTUNE_FUNCTION(rcp, 1.0f / x)
XTUNE_FUNCTION(exp, expf(x))
XTUNE_FUNCTION(exp2, exp2f(x))
XTUNE_FUNCTION(log, logf(x))
XTUNE_FUNCTION(log2, log2f(x))
XTUNE_FUNCTION(sin, sinf(x))
XTUNE_FUNCTION(cos, cosf(x))
XTUNE_FUNCTION(floor, floorf(x))
XTUNE_FUNCTION(ceil, ceilf(x))
XTUNE_FUNCTION(trunc, truncf(x))
#undef XTUNE_FUNCTION

XTUNE_DEVICE XTUNE_SHORT_FLOAT atomicAdd(XTUNE_SHORT_FLOAT* address, XTUNE_SHORT_FLOAT value) {
  return xtune_update(address, [value](XTUNE_SHORT_FLOAT old) { return old + value; });
}
XTUNE_DEVICE XTUNE_SHORT_FLOAT2 atomicAdd(XTUNE_SHORT_FLOAT2* address, XTUNE_SHORT_FLOAT2 value) {
  return xtune_update(address, [value](XTUNE_SHORT_FLOAT2 old) { return old + value; });
}

#undef XTUNE_SHORT_FLOAT
#undef XTUNE_SHORT_FLOAT2
#undef XTUNE_SHORT_RAW
#undef XTUNE_SHORT_RAW2
#undef XTUNE_SHORT_TO_FLOAT
#undef XTUNE_FLOAT_TO_SHORT
