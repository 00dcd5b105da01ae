// The bin of a key, for histogram.cu and its reference.
#pragma once

/// BINS bins of equal width over the range of KEY, an unsigned type of 8 or 32 bits. Before, SKEW times, the key is
/// replaced by the upper half of its square: uniform keys then crowd the lower bins, more with each time.
__device__ inline int bin_of(KEY key) {
  constexpr int bits = 8 * static_cast<int>(sizeof(KEY));
  unsigned long long value = key;
#pragma unroll
  for (int i = 0; i < SKEW; ++i) value = value * value >> bits;
  return static_cast<int>(value * BINS >> bits);
}
