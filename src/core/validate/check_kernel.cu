// The check kernel, in the common subset of CUDA C++ and HIP C++; its interface is that of check_kernel.hpp. Maximum
// errors are stored as the bits of doubles, which have the order of non-negative numbers. Elements that are not clearly
// right are only counted: the host then reads the output and examines them.
typedef unsigned long long u64;

struct Item {
  unsigned operation, part_bytes, parts, exponent_bits, mantissa_bits, top_is_nan;
  u64 address, other, bytes;
  double atol, rtol;
  u64 row_atol, row_bytes;
};
struct Result {
  u64 sum, differing, max_abs, max_rel;
};
struct alignas(16) Unit {
  u64 word[2];
};

__device__ double as_double(u64 bits) {
  union { u64 from; double to; } both;
  both.from = bits;
  return both.to;
}
__device__ u64 as_bits(double value) {
  union { double from; u64 to; } both;
  both.from = value;
  return both.to;
}
__device__ double as_float(unsigned bits) {
  union { unsigned from; float to; } both;
  both.from = bits;
  return both.to;
}

__device__ Unit load(u64 address, u64 bytes, u64 index) {
  const u64 left = bytes - 16 * index;
  if (left >= 16 && address % 16 == 0) return *(const Unit*)(address + 16 * index);
  const unsigned char* from = (const unsigned char*)(address + 16 * index);
  Unit unit = {{0, 0}};
  for (unsigned i = 0; i < 16 && i < left; ++i) unit.word[i / 8] |= (u64)from[i] << (i % 8 * 8);
  return unit;
}

__device__ void store(u64 address, u64 bytes, u64 index, Unit unit) {
  const u64 left = bytes - 16 * index;
  if (left >= 16 && address % 16 == 0) {
    *(Unit*)(address + 16 * index) = unit;
    return;
  }
  unsigned char* to = (unsigned char*)(address + 16 * index);
  for (unsigned i = 0; i < 16 && i < left; ++i) to[i] = (unsigned char)(unit.word[i / 8] >> (i % 8 * 8));
}

// Steele, Lea and Flood's finaliser of SplitMix64 (OOPSLA 2014).
__device__ u64 mixed(u64 word, u64 place) {
  u64 x = word + (place + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__device__ double decode(const Item& item, u64 bits) {
  if (item.part_bytes == 8) return as_double(bits);
  if (item.part_bytes == 4) return as_float((unsigned)bits);
  const unsigned exponent_mask = (1u << item.exponent_bits) - 1;
  const u64 mantissa_mask = (1ull << item.mantissa_bits) - 1;
  const u64 sign = bits >> (item.exponent_bits + item.mantissa_bits) << 63;
  const unsigned exponent = (unsigned)(bits >> item.mantissa_bits) & exponent_mask;
  const u64 mantissa = bits & mantissa_mask;
  const int bias = (int)(exponent_mask >> 1);
  if (exponent == 0) {
    const double step = as_double((u64)(1023 + 1 - bias - (int)item.mantissa_bits) << 52);
    return (sign ? -1.0 : 1.0) * (double)mantissa * step;
  }
  const bool special = exponent == exponent_mask && (!item.top_is_nan || mantissa == mantissa_mask);
  const u64 wide = special ? 0x7FF : (u64)((int)exponent - bias + 1023);
  return as_double(sign | wide << 52 | mantissa << (52 - item.mantissa_bits));
}

__device__ double part(const Item& item, const Unit& unit, unsigned offset) {
  const u64 bits = unit.word[offset / 8] >> (offset % 8 * 8);
  return decode(item, item.part_bytes == 8 ? bits : bits & ((1ull << 8 * item.part_bytes) - 1));
}

struct Found {
  u64 sum, differing;
  double max_abs, max_rel;
};

__device__ void compare(const Item& item, u64 index, const Unit& actual, const Unit& expected, Found& found) {
  if (actual.word[0] == expected.word[0] && actual.word[1] == expected.word[1]) return;
  if (item.exponent_bits == 0) {
    ++found.differing;
    return;
  }
  const unsigned size = item.part_bytes * item.parts;
  const u64 at = 16 * index, row = item.row_atol ? at / item.row_bytes : 0;
  const u64 row_end = (row + 1) * item.row_bytes;
  const double* const row_atol = (const double*)item.row_atol;
  for (unsigned offset = 0; offset < 16 && at + offset < item.bytes; offset += size) {
    const double want = part(item, expected, offset);
    double size_of_it = fabs(want), error = fabs(part(item, actual, offset) - want);
    if (item.parts == 2) {
      const double imaginary = part(item, expected, offset + item.part_bytes);
      size_of_it = hypot(want, imaginary);
      error = hypot(error, part(item, actual, offset + item.part_bytes) - imaginary);
    }
    const double atol = row_atol ? row_atol[row + (at + offset >= row_end)] : item.atol;
    if (!(error <= atol + item.rtol * size_of_it) || !(error <= 1.7976931348623157e308)) {
      ++found.differing;
      continue;
    }
    if (error > found.max_abs) found.max_abs = error;
    if (size_of_it > 0 && error / size_of_it > found.max_rel) found.max_rel = error / size_of_it;
  }
}

extern "C" __global__ void xtune_check(const Item* items, Result* results) {
  const Item item = items[blockIdx.y];
  const u64 units = (item.bytes + 15) / 16;
  Found found = {0, 0, 0, 0};
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < units; i += (u64)gridDim.x * blockDim.x) {
    if (item.operation == 3) {
      const Unit pattern = {{item.other, item.other}};
      store(item.address, item.bytes, i, pattern);
    } else if (item.operation == 2) {
      store(item.address, item.bytes, i, load(item.other, item.bytes, i));
    } else if (item.operation == 1) {
      compare(item, i, load(item.address, item.bytes, i), load(item.other, item.bytes, i), found);
    } else {
      const Unit unit = load(item.address, item.bytes, i);
      found.sum += mixed(unit.word[0], 2 * i) + mixed(unit.word[1], 2 * i + 1);
    }
  }
  if (item.operation >= 2 || (u64)blockIdx.x * blockDim.x >= units) return;

  __shared__ Found all[256];
  all[threadIdx.x] = found;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    Found& mine = all[threadIdx.x];
    const Found& other = all[threadIdx.x + half];
    mine.sum += other.sum;
    mine.differing += other.differing;
    if (other.max_abs > mine.max_abs) mine.max_abs = other.max_abs;
    if (other.max_rel > mine.max_rel) mine.max_rel = other.max_rel;
  }
  if (threadIdx.x != 0) return;
  Result* const result = results + blockIdx.y;
  atomicAdd(&result->sum, all[0].sum);
  atomicAdd(&result->differing, all[0].differing);
  atomicMax(&result->max_abs, as_bits(all[0].max_abs));
  atomicMax(&result->max_rel, as_bits(all[0].max_rel));
}
