// Atomic functions. Relaxed, as on a GPU; also for shared memory, whose threads take turns on one core.
#pragma once
#pragma GCC system_header

#include "xtune_host_threads.h"

/// Replaces *address by change(*address) and returns the previous value.
template <class T, class Change>
XTUNE_DEVICE T xtune_update(T* address, Change change) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  T wanted = change(old);
  while (!__atomic_compare_exchange(address, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    wanted = change(old);
  return old;
}

#define XTUNE_ATOMICS_ANY(T)                                                                         \
  XTUNE_DEVICE T atomicExch(T* address, T value) {                                                   \
    T old;                                                                                           \
    __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);                                      \
    return old;                                                                                      \
  }                                                                                                  \
  XTUNE_DEVICE T atomicCAS(T* address, T compare, T value) {                                         \
    __atomic_compare_exchange(address, &compare, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return compare;                                                                                  \
  }                                                                                                  \
  XTUNE_DEVICE T atomicMin(T* address, T value) {                                                    \
    return xtune_update(address, [value](T old) { return value < old ? value : old; });              \
  }                                                                                                  \
  XTUNE_DEVICE T atomicMax(T* address, T value) {                                                    \
    return xtune_update(address, [value](T old) { return old < value ? value : old; });              \
  }
#define XTUNE_ATOMICS_INTEGER(T)                                                                                 \
  XTUNE_ATOMICS_ANY(T)                                                                                           \
  XTUNE_DEVICE T atomicAdd(T* address, T value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); } \
  XTUNE_DEVICE T atomicSub(T* address, T value) { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); } \
  XTUNE_DEVICE T atomicAnd(T* address, T value) { return __atomic_fetch_and(address, value, __ATOMIC_RELAXED); } \
  XTUNE_DEVICE T atomicOr(T* address, T value) { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); }   \
  XTUNE_DEVICE T atomicXor(T* address, T value) { return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED); }
#define XTUNE_ATOMICS_FLOAT(T)                                            \
  XTUNE_ATOMICS_ANY(T)                                                    \
  XTUNE_DEVICE T atomicAdd(T* address, T value) {                         \
    return xtune_update(address, [value](T old) { return old + value; }); \
  }                                                                       \
  XTUNE_DEVICE T atomicSub(T* address, T value) { return atomicAdd(address, -value); }

XTUNE_ATOMICS_INTEGER(int)
XTUNE_ATOMICS_INTEGER(unsigned int)
XTUNE_ATOMICS_INTEGER(long)
XTUNE_ATOMICS_INTEGER(unsigned long)
XTUNE_ATOMICS_INTEGER(long long)
XTUNE_ATOMICS_INTEGER(unsigned long long)
XTUNE_ATOMICS_FLOAT(float)
XTUNE_ATOMICS_FLOAT(double)
#undef XTUNE_ATOMICS_ANY
#undef XTUNE_ATOMICS_INTEGER
#undef XTUNE_ATOMICS_FLOAT

XTUNE_DEVICE unsigned short atomicCAS(unsigned short* address, unsigned short compare, unsigned short value) {
  __atomic_compare_exchange(address, &compare, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
XTUNE_DEVICE unsigned atomicInc(unsigned* address, unsigned limit) {
  return xtune_update(address, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
}
XTUNE_DEVICE unsigned atomicDec(unsigned* address, unsigned limit) {
  return xtune_update(address, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// One thread of a block runs at a time, but blocks run on many cores: every scope is the widest.
#define XTUNE_SCOPES(name)                                     \
  template <class T, class... Values>                          \
  XTUNE_DEVICE T name##_block(T* address, Values... values) {  \
    return name(address, static_cast<T>(values)...);           \
  }                                                            \
  template <class T, class... Values>                          \
  XTUNE_DEVICE T name##_system(T* address, Values... values) { \
    return name(address, static_cast<T>(values)...);           \
  }
XTUNE_SCOPES(atomicAdd)
XTUNE_SCOPES(atomicSub)
XTUNE_SCOPES(atomicMin)
XTUNE_SCOPES(atomicMax)
XTUNE_SCOPES(atomicExch)
XTUNE_SCOPES(atomicCAS)
XTUNE_SCOPES(atomicAnd)
XTUNE_SCOPES(atomicOr)
XTUNE_SCOPES(atomicXor)
XTUNE_SCOPES(atomicInc)
XTUNE_SCOPES(atomicDec)
#undef XTUNE_SCOPES

// HIP's names.
template <class T, class Value>
XTUNE_DEVICE T unsafeAtomicAdd(T* address, Value value) {
  return atomicAdd(address, static_cast<T>(value));
}
template <class T, class Value>
XTUNE_DEVICE T safeAtomicAdd(T* address, Value value) {
  return atomicAdd(address, static_cast<T>(value));
}
