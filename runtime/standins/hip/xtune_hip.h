// For AMD GPUs, before each kernel: CUDA's functions of a warp, which HIP has from 6.2 on, with masks of 64 bits only.
// A mask of 32 bits means a warp of 32 lanes, on wavefronts of 64 each half of them; a mask of 64 bits the wavefront.
#pragma once
#ifdef __HIPCC_RTC__
#include <xtune_names.h>
#if HIP_VERSION_MAJOR < 6
#include <xtune_hip_types.h>
#endif
#endif
#include <xtune_hip_functions.h>

namespace xtune_hip {

template <int PLACE>
__device__ inline unsigned long long ballot_of_wavefront(int predicate) {
#if defined(__HIPCC_RTC__) && HIP_VERSION_MAJOR < 6
  // LLVM 14 merges equal ballots: a later one of fewer lanes with an earlier one, and those of both sides of a branch.
  // So it must not know the predicate, and PLACE, a number for each call in the source, keeps calls apart.
  asm volatile("; %1" : "+v"(predicate) : "n"(PLACE));
  unsigned long long voted = __ballot(predicate);
  asm volatile("; %1" : "+s"(voted) : "n"(PLACE));
  return voted;
#else
  return __ballot(predicate);
#endif
}

/// A warp by the type of its mask.
template <class Mask>
struct Warp {
  static_assert(sizeof(Mask) == 4 || sizeof(Mask) == 8, "a mask of lanes has 32 or 64 bits");
  static constexpr bool narrow = sizeof(Mask) == 4;

  __device__ static int width(int given) { return given != 0 ? given : lanes(); }
  __device__ static int lanes() { return narrow ? 32 : warpSize; }
  /// A bit for each of its lanes that gives a predicate other than 0.
  template <int PLACE>
  __device__ static auto ballot(int predicate) {
    const unsigned long long all = ballot_of_wavefront<PLACE>(predicate);
    if constexpr (narrow)
      return static_cast<unsigned>(all >> (__lane_id() & 32u));
    else
      return all;
  }
};

/// `exchange` of each word of a value.
template <class T, class Exchange>
__device__ inline T by_words(T value, Exchange exchange) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned word[words] = {};
  __builtin_memcpy(word, &value, sizeof value);
  for (int i = 0; i < words; ++i) word[i] = exchange(word[i]);
  __builtin_memcpy(&value, word, sizeof value);
  return value;
}

// CUDA takes the lane modulo the width, and of the bits those of a lane's number; HIP takes them as they are.
template <class Mask, class T>
__device__ inline T shfl(Mask, T value, int lane, int given = 0) {
  const int width = Warp<Mask>::width(given);
  return by_words(value, [&](unsigned word) { return __shfl(word, lane & (width - 1), width); });
}
template <class Mask, class T>
__device__ inline T shfl_up(Mask, T value, unsigned lanes, int width = 0) {
  return by_words(value, [&](unsigned word) { return __shfl_up(word, lanes, Warp<Mask>::width(width)); });
}
template <class Mask, class T>
__device__ inline T shfl_down(Mask, T value, unsigned lanes, int width = 0) {
  return by_words(value, [&](unsigned word) { return __shfl_down(word, lanes, Warp<Mask>::width(width)); });
}
template <class Mask, class T>
__device__ inline T shfl_xor(Mask, T value, int bits, int width = 0) {
  bits &= Warp<Mask>::lanes() - 1;
  return by_words(value, [&](unsigned word) { return __shfl_xor(word, bits, Warp<Mask>::width(width)); });
}
template <int PLACE, class Mask>
__device__ inline auto ballot(Mask mask, int predicate) {
  const auto voted = Warp<Mask>::template ballot<PLACE>(predicate);
  return voted & static_cast<decltype(+voted)>(mask);
}
template <int PLACE, class Mask>
__device__ inline int any(Mask mask, int predicate) {
  return ballot<PLACE>(mask, predicate) != 0;
}
template <int PLACE, class Mask>
__device__ inline int all(Mask mask, int predicate) {
  return ballot<PLACE>(mask, !predicate) == 0;
}
/// Lanes of a wavefront run together: the compiler must not move memory accesses across.
__device__ inline void syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

}  // namespace xtune_hip

// hipRTC 5.2 compiles HIP's own __any and __all to comparisons of the lower 32 lanes of a wavefront only.
#if defined(__HIPCC_RTC__) && HIP_VERSION_MAJOR < 6
#define __ballot(...) xtune_hip::ballot_of_wavefront<__COUNTER__>(__VA_ARGS__)
#define __any(...) (__ballot(__VA_ARGS__) != 0)
#define __all(...) (__ballot(!(__VA_ARGS__)) == 0)
#endif

#define __shfl_sync(...) xtune_hip::shfl(__VA_ARGS__)
#define __shfl_up_sync(...) xtune_hip::shfl_up(__VA_ARGS__)
#define __shfl_down_sync(...) xtune_hip::shfl_down(__VA_ARGS__)
#define __shfl_xor_sync(...) xtune_hip::shfl_xor(__VA_ARGS__)
#define __ballot_sync(...) xtune_hip::ballot<__COUNTER__>(__VA_ARGS__)
#define __any_sync(...) xtune_hip::any<__COUNTER__>(__VA_ARGS__)
#define __all_sync(...) xtune_hip::all<__COUNTER__>(__VA_ARGS__)
#define __activemask() xtune_hip::Warp<unsigned>::ballot<__COUNTER__>(1)
#define __syncwarp(...) xtune_hip::syncwarp(__VA_ARGS__)

#include <xtune_cuda_types.h>
#include <xtune_functions.h>
