// A product by a warpgroup (wgmma): 64 x N sums from operands in shared memory or registers. Source: PTX ISA,
// "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/host/shared_window.hpp"
#include "runtime/host/xtune_host_hopper_abi.h"

namespace xtune::host {

constexpr unsigned warpgroup_threads = 128, product_rows = 64, max_product_columns = 256;

/// Elements along K: 32 bytes.
unsigned product_k(XtuneProduct::Type type);

/// The address of 16 bytes of a matrix in shared memory, before swizzling. K-major: of row `row` (of M or N), from byte
/// 16 * part of its part of K on. Otherwise: of step `row` along K, from element 8 * part along M or N on.
const char* matrix_part(const XtuneMatrix& matrix, bool is_k_major, unsigned row, unsigned part);

/// Throws Refusal for a number of columns, an order of elements or a place in shared memory that the instruction does
/// not take.
void check_product(const XtuneProduct& product, const SharedWindow& window);

/// Whether it reads some of these bytes of shared memory.
bool reads(const XtuneProduct& product, const ByteRange& range);

/// Each thread's registers: the sums, and those with x, if x is not in shared memory.
struct WarpgroupRegisters {
  std::array<void*, warpgroup_threads> sums;
  std::array<std::array<std::uint32_t, 4>, warpgroup_threads> x;
};

/// Reads the operands, and adds their product to the sums or stores it there. Products are summed in float, or in int
/// for s8, in the order of K.
void multiply(const XtuneProduct& product, const WarpgroupRegisters& registers);

}  // namespace xtune::host
