// For AMD GPUs, before each kernel: device functions of CUDA that HIP has not, or only since some release. They are
// templates, so that HIP's own functions, and a kernel's, come first.
#pragma once

template <int = 0>
__device__ inline void __trap() {
  __builtin_trap();
}
/// At least this long at 2 GHz.
template <int = 0>
__device__ inline void __nanosleep(unsigned ns) {
  for (unsigned slept = 0; slept < ns; slept += 32) __builtin_amdgcn_s_sleep(1);  // 64 clocks
}

template <int = 0>
__device__ inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
  return c;
}
template <int = 0>
__device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xffu) * (b >> i & 0xffu);
  return c;
}
/// HIP's are ambiguous for other types.
template <class T>
__device__ inline int __ffsll(T value) {
  return static_cast<int>(__ffsll(static_cast<long long>(value)));
}

template <int = 0>
__device__ inline __half __hmax(__half a, __half b) {
  return __float2half(fmaxf(__half2float(a), __half2float(b)));
}
template <int = 0>
__device__ inline __half __hmin(__half a, __half b) {
  return __float2half(fminf(__half2float(a), __half2float(b)));
}
template <int = 0>
__device__ inline __half2 __hmax2(__half2 a, __half2 b) {
  return __halves2half2(__hmax(__low2half(a), __low2half(b)), __hmax(__high2half(a), __high2half(b)));
}
template <int = 0>
__device__ inline __half2 __hmin2(__half2 a, __half2 b) {
  return __halves2half2(__hmin(__low2half(a), __low2half(b)), __hmin(__high2half(a), __high2half(b)));
}

// CUDA's functions of two integers; HIP's return double if these have different types.
template <class T>
struct xtune_is_integer {
  static constexpr bool value = __is_integral(T);
};
#define XTUNE_OF_INTEGERS \
  __attribute__((enable_if(xtune_is_integer<A>::value && xtune_is_integer<B>::value, "integers")))
template <class A, class B>
__device__ inline decltype(A() + B()) min(A a, B b) XTUNE_OF_INTEGERS {
  using T = decltype(A() + B());
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
__device__ inline decltype(A() + B()) max(A a, B b) XTUNE_OF_INTEGERS {
  using T = decltype(A() + B());
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
#undef XTUNE_OF_INTEGERS

// Atomics that HIP has for no or only some GPUs, by those of whole words.
namespace xtune_hip {
/// Replaces a word by change(word) and returns the previous one.
template <class Word, class Change>
__device__ inline Word update(Word* place, Change change) {
  Word old = *static_cast<volatile Word*>(place), expected;
  do {
    expected = old;
    old = atomicCAS(place, expected, change(expected));
  } while (old != expected);
  return old;
}
/// The same for one half of a word.
template <class Change>
__device__ inline unsigned short update_half(unsigned short* place, Change change) {
  const unsigned long long address = reinterpret_cast<unsigned long long>(place);
  const unsigned shift = address & 2u ? 16 : 0;
  const unsigned old = update(reinterpret_cast<unsigned*>(address & ~3ull), [&](unsigned word) {
    const unsigned half = change(static_cast<unsigned short>(word >> shift));
    return (word & ~(0xffffu << shift)) | half << shift;
  });
  return static_cast<unsigned short>(old >> shift);
}
template <class Bits, class T>
__device__ inline Bits sum_of(Bits bits, T value) {
  T number;
  __builtin_memcpy(&number, &bits, sizeof number);
  number = number + value;
  __builtin_memcpy(&bits, &number, sizeof bits);
  return bits;
}
/// Adds to a number of 16 bits, or to a pair of them.
template <class T>
__device__ inline T add_short(T* place, T value) {
  unsigned short old =
      update_half(reinterpret_cast<unsigned short*>(place), [&](unsigned short bits) { return sum_of(bits, value); });
  __builtin_memcpy(&value, &old, sizeof value);
  return value;
}
template <class T>
__device__ inline T add_pair(T* place, T value) {
  unsigned old = update(reinterpret_cast<unsigned*>(place), [&](unsigned bits) { return sum_of(bits, value); });
  __builtin_memcpy(&value, &old, sizeof value);
  return value;
}
}  // namespace xtune_hip
template <int = 0>
__device__ inline __half atomicAdd(__half* place, __half value) {
  return xtune_hip::add_short(place, value);
}
template <int = 0>
__device__ inline __half2 atomicAdd(__half2* place, __half2 value) {
  return xtune_hip::add_pair(place, value);
}
template <int = 0>
__device__ inline unsigned short atomicCAS(unsigned short* place, unsigned short expected, unsigned short value) {
  return xtune_hip::update_half(place, [&](unsigned short old) { return old == expected ? value : old; });
}
#define XTUNE_ATOMIC_LONG(name, wanted)                                                                \
  template <int = 0>                                                                                   \
  __device__ inline long long name(long long* place, long long value) {                                \
    return static_cast<long long>(                                                                     \
        xtune_hip::update(reinterpret_cast<unsigned long long*>(place), [&](unsigned long long bits) { \
          const long long old = static_cast<long long>(bits);                                          \
          return static_cast<unsigned long long>(wanted);                                              \
        }));                                                                                           \
  }
XTUNE_ATOMIC_LONG(atomicMin, value < old ? value : old)
XTUNE_ATOMIC_LONG(atomicMax, old < value ? value : old)
#undef XTUNE_ATOMIC_LONG

// The kinds of memory that a pointer is in.
#define XTUNE_IS(builtin, place) builtin((const __attribute__((address_space(0))) void*)(place))
#define __isShared(place) XTUNE_IS(__builtin_amdgcn_is_shared, place)
#define __isLocal(place) XTUNE_IS(__builtin_amdgcn_is_private, place)
#define __isGlobal(place) (!__isShared(place) && !__isLocal(place))

// Cache hints: plain accesses.
#define XTUNE_LOAD(name)                     \
  template <class T>                         \
  __device__ inline T name(const T* place) { \
    return *place;                           \
  }
XTUNE_LOAD(__ldca)
XTUNE_LOAD(__ldcg)
XTUNE_LOAD(__ldcs)
XTUNE_LOAD(__ldlu)
#undef XTUNE_LOAD
namespace xtune_hip {
template <class T>
struct Same {
  using type = T;
};
}  // namespace xtune_hip
#define XTUNE_STORE(name)                                                          \
  template <class T>                                                               \
  __device__ inline void name(T* place, typename xtune_hip::Same<T>::type value) { \
    *place = value;                                                                \
  }
XTUNE_STORE(__stwb)
XTUNE_STORE(__stcg)
XTUNE_STORE(__stcs)
#undef XTUNE_STORE
/// These read and write memory itself.
template <class T>
__device__ inline T __ldcv(const T* place) {
  return *static_cast<const volatile T*>(place);
}
template <class T>
__device__ inline void __stwt(T* place, typename xtune_hip::Same<T>::type value) {
  *static_cast<volatile T*>(place) = value;
}

// The scope of the whole device covers that of a block.
#define XTUNE_BLOCK_SCOPE(name)                                    \
  template <class T, class... Values>                              \
  __device__ inline T name##_block(T* address, Values... values) { \
    return name(address, static_cast<T>(values)...);               \
  }
XTUNE_BLOCK_SCOPE(atomicAdd)
XTUNE_BLOCK_SCOPE(atomicSub)
XTUNE_BLOCK_SCOPE(atomicMin)
XTUNE_BLOCK_SCOPE(atomicMax)
XTUNE_BLOCK_SCOPE(atomicExch)
XTUNE_BLOCK_SCOPE(atomicCAS)
XTUNE_BLOCK_SCOPE(atomicAnd)
XTUNE_BLOCK_SCOPE(atomicOr)
XTUNE_BLOCK_SCOPE(atomicXor)
XTUNE_BLOCK_SCOPE(atomicInc)
XTUNE_BLOCK_SCOPE(atomicDec)
#undef XTUNE_BLOCK_SCOPE

// hipRTC 5.2 has no assert; NVRTC's needs no header.
#if defined(__HIPCC_RTC__) && !defined(assert)
#ifdef NDEBUG
#define assert(...) static_cast<void>(0)
#else
#define assert(...) ((__VA_ARGS__) ? static_cast<void>(0) : __builtin_trap())
#endif
#endif

// HIP's averages of integers before ROCm 6: those of signed ones are a truth value, those of unsigned ones overflow.
// __hadd is a sum of __half, too.
template <bool IS_INTEGER>
struct xtune_hadd_of {
  static __device__ int result(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
};
template <>
struct xtune_hadd_of<false> {
  template <class A, class B>
  static __device__ auto result(A a, B b) -> decltype(__hadd(a, b)) {
    return __hadd(a, b);
  }
};
template <class A, class B>
static __device__ inline auto xtune_hadd(A a, B b)
    -> decltype(xtune_hadd_of<xtune_is_integer<A>::value>::result(a, b)) {
  return xtune_hadd_of<xtune_is_integer<A>::value>::result(a, b);
}
static __device__ inline int xtune_rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
static __device__ inline unsigned xtune_uhadd(unsigned a, unsigned b, unsigned rounding) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + rounding) >> 1);
}
#define __hadd(a, b) xtune_hadd(a, b)
#define __rhadd(a, b) xtune_rhadd(a, b)
#define __uhadd(a, b) xtune_uhadd(a, b, 0)
#define __urhadd(a, b) xtune_uhadd(a, b, 1)

// HIP's conversions of __half to integers round towards zero, whatever their names are.
#define XTUNE_FROM_HALF(type, round, half) static_cast<type>(round(__half2float(half)))
#define __half2int_rn(half) XTUNE_FROM_HALF(int, rintf, half)
#define __half2int_rd(half) XTUNE_FROM_HALF(int, floorf, half)
#define __half2int_ru(half) XTUNE_FROM_HALF(int, ceilf, half)
#define __half2uint_rn(half) XTUNE_FROM_HALF(unsigned, rintf, half)
#define __half2uint_rd(half) XTUNE_FROM_HALF(unsigned, floorf, half)
#define __half2uint_ru(half) XTUNE_FROM_HALF(unsigned, ceilf, half)
#define __half2short_rn(half) XTUNE_FROM_HALF(short, rintf, half)
#define __half2short_rd(half) XTUNE_FROM_HALF(short, floorf, half)
#define __half2short_ru(half) XTUNE_FROM_HALF(short, ceilf, half)
#define __half2ushort_rn(half) XTUNE_FROM_HALF(unsigned short, rintf, half)
#define __half2ushort_rd(half) XTUNE_FROM_HALF(unsigned short, floorf, half)
#define __half2ushort_ru(half) XTUNE_FROM_HALF(unsigned short, ceilf, half)
#define __half2ll_rn(half) XTUNE_FROM_HALF(long long, rintf, half)
#define __half2ll_rd(half) XTUNE_FROM_HALF(long long, floorf, half)
#define __half2ll_ru(half) XTUNE_FROM_HALF(long long, ceilf, half)
#define __half2ull_rn(half) XTUNE_FROM_HALF(unsigned long long, rintf, half)
#define __half2ull_rd(half) XTUNE_FROM_HALF(unsigned long long, floorf, half)
#define __half2ull_ru(half) XTUNE_FROM_HALF(unsigned long long, ceilf, half)
