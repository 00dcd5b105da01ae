// Operands are widened to float or int once for all threads, then multiplied in loops that compilers vectorise.
#include "backends/host/hopper/products.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/host/block/block_runner.hpp"
#include "backends/host/hopper/tiles.hpp"

namespace xtune::host {
namespace {

constexpr unsigned rows_of_group = 8, max_k = 32, operand_bytes_along_k = 32;
// The processor's vectors need no more than its baseline here: the best of these is chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define XTUNE_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define XTUNE_VECTORISED
#endif

/// Elements along K: 32 bytes.
unsigned product_k(XtuneProduct::Type type) {
  return type == XtuneProduct::tf32 ? 8 : type == XtuneProduct::f16 || type == XtuneProduct::bf16 ? 16 : 32;
}

unsigned bytes_of(XtuneProduct::Type type) { return operand_bytes_along_k / product_k(type); }

float half_value(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu, sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The exponent's bias differs by 112; numbers below the smallest normal one become right by the multiplication.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f));
}

std::array<float, 256> e4m3_table() {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    const float magnitude = (code & 0x7f) == 0x7f ? NAN
                            : exponent == 0       ? std::ldexp(static_cast<float>(mantissa), -9)
                                                  : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    values[static_cast<std::size_t>(code)] = code & 0x80 ? -magnitude : magnitude;
  }
  return values;
}

/// The address of 16 bytes of a matrix in shared memory, before swizzling. K-major: of row `row` (of M or N), from byte
/// 16 * part of its part of K on. Otherwise: of step `row` along K, from element 8 * part along M or N on.
const char* matrix_part(const XtuneMatrix& matrix, bool is_k_major, unsigned row, unsigned part) {
  const unsigned group = row / rows_of_group, in_group = row % rows_of_group;
  const auto at = [&](std::size_t blocks, std::size_t groups, std::size_t within) {
    return matrix.tile + blocks * matrix.block_bytes + groups * matrix.group_bytes + within;
  };
  if (matrix.swizzle == 0)  // eight rows of 16 bytes are contiguous; the two strides change places
    return is_k_major ? at(part, group, in_group * swizzle_unit) : at(group, part, in_group * swizzle_unit);
  if (is_k_major) return at(0, group, std::size_t{in_group} * matrix.swizzle + part * swizzle_unit);
  const unsigned parts = matrix.swizzle / swizzle_unit;
  return at(part / parts, group, std::size_t{in_group} * matrix.swizzle + part % parts * swizzle_unit);
}

/// The elements in 16 bytes, widened, to `to` and every `stride` places on.
template <class Wide>
void widen_part(XtuneProduct::Type type, const char* from, Wide* to, std::size_t stride) {
  static const std::array<float, 256> e4m3 = e4m3_table();
  std::uint8_t bytes[swizzle_unit];
  std::memcpy(bytes, from, swizzle_unit);
  const unsigned size = bytes_of(type);
  for (unsigned i = 0; i < swizzle_unit / size; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes + i * size, size);
    Wide& value = to[i * stride];
    switch (type) {
      case XtuneProduct::f16:
        value = static_cast<Wide>(half_value(static_cast<std::uint16_t>(bits)));
        break;
      case XtuneProduct::bf16:
        value = static_cast<Wide>(std::bit_cast<float>(bits << 16));
        break;
      case XtuneProduct::tf32:  // the lower bits of a float are ignored
        value = static_cast<Wide>(std::bit_cast<float>(bits & ~0x1fffu));
        break;
      case XtuneProduct::e4m3:
        value = static_cast<Wide>(e4m3[bits]);
        break;
      case XtuneProduct::e5m2:  // the upper byte of an f16
        value = static_cast<Wide>(half_value(static_cast<std::uint16_t>(bits << 8)));
        break;
      case XtuneProduct::s8:
        value = static_cast<Wide>(static_cast<std::int8_t>(bits));
        break;
    }
  }
}

/// A matrix of `count` rows of M or N as values[k * k_stride + row * row_stride].
template <class Wide>
void widen_matrix(XtuneProduct::Type type, const XtuneMatrix& matrix, bool is_k_major, unsigned count, Wide* values,
                  std::size_t k_stride, std::size_t row_stride) {
  const unsigned per_part = swizzle_unit / bytes_of(type), k = product_k(type);
  if (is_k_major) {
    for (unsigned row = 0; row < count; ++row)
      for (unsigned part = 0; part < operand_bytes_along_k / swizzle_unit; ++part)
        widen_part(type, swizzled(matrix_part(matrix, true, row, part), matrix.swizzle),
                   values + row * row_stride + part * per_part * k_stride, k_stride);
    return;
  }
  for (unsigned step = 0; step < k; ++step)
    for (unsigned part = 0; part < count / per_part; ++part)
      widen_part(type, swizzled(matrix_part(matrix, false, step, part), matrix.swizzle),
                 values + step * k_stride + part * per_part * row_stride, row_stride);
}

/// The first of the two rows and the columns of which a thread holds sums, within the 64 x N sums.
unsigned row_of(unsigned thread) { return thread / 32 * 16 + thread % 32 / 4; }

/// x from registers: as sums are laid out, with as many elements of a row in a register as fit.
template <class Wide>
void widen_registers(XtuneProduct::Type type, const WarpgroupRegisters& registers, Wide* values, std::size_t k_stride,
                     std::size_t row_stride) {
  const unsigned in_register = 4 / bytes_of(type);
  for (unsigned thread = 0; thread < warpgroup_threads; ++thread)
    for (unsigned r = 0; r < 4; ++r) {
      char part[swizzle_unit] = {};
      Wide wide[swizzle_unit];
      std::memcpy(part, &registers.x[thread][r], 4);
      widen_part(type, part, wide, 1);
      const unsigned row = row_of(thread) + r % 2 * 8, k = r / 2 * 4 * in_register + thread % 4 * in_register;
      for (unsigned i = 0; i < in_register; ++i) values[row * row_stride + (k + i) * k_stride] = wide[i];
    }
}

/// The whole row of a matrix of sums or y in memory, of which only some columns may be used.
constexpr unsigned row_elements = max_product_columns;

/// sums[64][columns] += x[64][k] * y[k][columns]; unused columns up to a multiple of 32 are computed, too. A part of
/// the sums stays in registers for all k.
template <class T>
inline __attribute__((always_inline)) void add_products_of(const T* x, const T* y, unsigned k, unsigned columns,
                                                           T* sums) {
  constexpr unsigned rows = 4, width = 32;
  for (unsigned row = 0; row < product_rows; row += rows)
    for (unsigned column = 0; column < columns; column += width) {
      T part[rows][width];
      for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < width; ++c) part[r][c] = sums[(row + r) * row_elements + column + c];
      for (unsigned i = 0; i < k; ++i)
        for (unsigned r = 0; r < rows; ++r)
          for (unsigned c = 0; c < width; ++c)
            part[r][c] += x[(row + r) * max_k + i] * y[i * row_elements + column + c];
      for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < width; ++c) sums[(row + r) * row_elements + column + c] = part[r][c];
    }
}
XTUNE_VECTORISED void add_products(const float* x, const float* y, unsigned k, unsigned columns, float* sums) {
  add_products_of(x, y, k, columns, sums);
}
/// The same modulo 2^32.
XTUNE_VECTORISED void add_products(const std::uint32_t* x, const std::uint32_t* y, unsigned k, unsigned columns,
                                   std::uint32_t* sums) {
  add_products_of(x, y, k, columns, sums);
}

/// Calls visit(element of a thread's registers, element of the sums) for all sums.
template <class T, class Visit>
void for_each_sum(const XtuneProduct& product, const WarpgroupRegisters& registers, T* sums, const Visit& visit) {
  for (unsigned thread = 0; thread < warpgroup_threads; ++thread) {
    T* own = static_cast<T*>(registers.sums[thread]);
    T* upper = sums + row_of(thread) * row_elements + thread % 4 * 2;
    for (unsigned column = 0; column < product.columns; column += 8, own += 4, upper += 8) {
      T* const lower = upper + 8 * row_elements;
      visit(own[0], upper[0]);
      visit(own[1], upper[1]);
      visit(own[2], lower[0]);
      visit(own[3], lower[1]);
    }
  }
}

/// T: of the sums.
template <class T>
void multiply_as(const XtuneProduct& product, const WarpgroupRegisters& registers) {
  static thread_local struct {
    T x[product_rows * max_k], y[max_k * row_elements], sums[product_rows * row_elements];
  } wide;
  const unsigned k = product_k(product.type);
  if (product.registers)
    widen_registers(product.type, registers, wide.x, 1, max_k);
  else
    widen_matrix(product.type, product.x, product.x_is_k_major, product_rows, wide.x, 1, max_k);
  widen_matrix(product.type, product.y, product.y_is_k_major, product.columns, wide.y, row_elements, 1);
  if (product.accumulate)
    for_each_sum<T>(product, registers, wide.sums, [](const T& own, T& sum) { sum = own; });
  else
    std::memset(wide.sums, 0, sizeof wide.sums);
  add_products(wide.x, wide.y, k, product.columns, wide.sums);
  for_each_sum<T>(product, registers, wide.sums, [](T& own, const T& sum) { own = sum; });
}

bool is_same(const XtuneMatrix& a, const XtuneMatrix& b) {
  return a.tile == b.tile && a.group_bytes == b.group_bytes && a.block_bytes == b.block_bytes && a.swizzle == b.swizzle;
}

bool is_same(const XtuneProduct& a, const XtuneProduct& b) {
  return a.type == b.type && a.x_is_k_major == b.x_is_k_major && a.y_is_k_major == b.y_is_k_major &&
         a.accumulate == b.accumulate && a.columns == b.columns && !a.registers == !b.registers &&
         (a.registers || is_same(a.x, b.x)) && is_same(a.y, b.y);
}

/// 16-byte parts of an operand: rows or steps of `first`, each of `second` parts.
struct Parts {
  unsigned first, second;
};
Parts parts_of(XtuneProduct::Type type, bool is_k_major, unsigned rows) {
  if (is_k_major) return {rows, operand_bytes_along_k / swizzle_unit};
  return {product_k(type), rows * bytes_of(type) / swizzle_unit};
}

void check_operand(const char* name, XtuneProduct::Type type, const XtuneMatrix& matrix, bool is_k_major, unsigned rows,
                   const SharedWindow& window) {
  if (matrix.swizzle != 0)
    if (const auto row = reinterpret_cast<std::uintptr_t>(matrix.tile) >> 7 & (matrix.swizzle / swizzle_unit - 1))
      throw Refusal(
          fmt::format("matrix {} of a product begins in row {} of a pattern of swizzle {}: its tile must begin at a "
                      "multiple of {} bytes",
                      name, row, matrix.swizzle, swizzle_period(matrix.swizzle)));
  const Parts parts = parts_of(type, is_k_major, rows);
  for (const unsigned first : {0u, parts.first - 1})
    for (const unsigned second : {0u, parts.second - 1})
      if (!window.contains(matrix_part(matrix, is_k_major, first, second), swizzle_unit))
        throw Refusal(fmt::format(
            "matrix {} of a product is not in the block's shared memory: check its address, and group_bytes = {} and "
            "block_bytes = {}",
            name, matrix.group_bytes, matrix.block_bytes));
}

bool operand_reads(XtuneProduct::Type type, const XtuneMatrix& matrix, bool is_k_major, unsigned rows,
                   const ByteRange& range) {
  const Parts parts = parts_of(type, is_k_major, rows);
  for (unsigned first = 0; first < parts.first; ++first)
    for (unsigned second = 0; second < parts.second; ++second) {
      const char* const part = swizzled(matrix_part(matrix, is_k_major, first, second), matrix.swizzle);
      if (range.meets({reinterpret_cast<const std::byte*>(part), swizzle_unit})) return true;
    }
  return false;
}

bool reads(const XtuneProduct& product, const ByteRange& range) {
  return (!product.registers && operand_reads(product.type, product.x, product.x_is_k_major, product_rows, range)) ||
         operand_reads(product.type, product.y, product.y_is_k_major, product.columns, range);
}

/// Reads the operands, and adds their product to the sums or stores it there. Products are summed in float, or in int
/// for s8, in the order of K.
void multiply(const XtuneProduct& product, const WarpgroupRegisters& registers) {
  if (product.type == XtuneProduct::s8)
    multiply_as<std::uint32_t>(product, registers);
  else
    multiply_as<float>(product, registers);
}

}  // namespace

void check_product(const XtuneProduct& product, const SharedWindow& window) {
  const unsigned columns = product.columns;
  const bool of_bytes = product.type == XtuneProduct::s8;
  if (columns % 8 != 0 || columns == 0 || columns > max_product_columns ||
      (of_bytes && columns % 16 != 0 && columns != 8 && columns != 24))
    throw Refusal(fmt::format("a product of {} columns: {} are allowed", columns,
                              of_bytes ? "8, 24, and multiples of 16 up to 256" : "multiples of 8 up to 256"));
  if (!product.registers) check_operand("x", product.type, product.x, product.x_is_k_major, product_rows, window);
  check_operand("y", product.type, product.y, product.y_is_k_major, columns, window);
}

void Warpgroup::start(unsigned thread, const XtuneProduct& product) {
  Thread& self = threads_[thread];
  if (!self.fenced) throw Refusal("a product is started without products_begin()");
  const std::uint64_t index = self.started++ - done_;
  if (index == products_.size()) {
    products_.emplace_back();
    products_.back().product = product;
  }
  Started& started = products_[index];
  if (!is_same(started.product, product))
    throw Refusal("the threads of a warpgroup start products of different operands");
  started.registers.sums[thread] = product.sums;
  if (product.registers) std::copy_n(product.registers, 4, started.registers.x[thread].begin());
  ++started.threads;
}

void Warpgroup::commit(unsigned thread) { threads_[thread].groups.push_back(threads_[thread].started); }

std::uint64_t Warpgroup::want(unsigned thread, std::uint64_t pending) {
  Thread& self = threads_[thread];
  if (pending < self.groups.size()) {
    self.wanted = std::max(self.wanted, self.groups[self.groups.size() - 1 - pending]);
    self.groups.erase(self.groups.begin(), self.groups.end() - static_cast<std::ptrdiff_t>(pending));
  }
  const std::uint64_t all =
      std::ranges::min_element(threads_, {}, [](const Thread& one) { return one.wanted; })->wanted;
  for (; done_ < all; ++done_) {
    multiply(products_.front().product, products_.front().registers);
    products_.pop_front();
  }
  return self.wanted;
}

std::string Warpgroup::text(std::uint64_t products) const {
  const auto waiting = std::ranges::count_if(threads_, [&](const Thread& thread) { return thread.wanted >= products; });
  return fmt::format("at products_wait(), where {} of the {} threads of a warpgroup wait", waiting, warpgroup_threads);
}

bool Warpgroup::reads(const ByteRange& range) const {
  return std::ranges::any_of(products_, [&](const Started& one) { return host::reads(one.product, range); });
}

void Warpgroups::begin(std::uint32_t threads) {
  threads_ = threads;
  groups_.clear();
  groups_.resize(threads / warpgroup_threads);
}

Warpgroup& Warpgroups::of(std::uint32_t thread) {
  const std::uint32_t number = thread / warpgroup_threads;
  if (number >= groups_.size())
    throw Refusal(
        fmt::format("a product by threads that are not a whole warpgroup: the block has {} threads, and each "
                    "warpgroup has {}",
                    threads_, warpgroup_threads));
  if (!groups_[number]) groups_[number] = std::make_unique<Warpgroup>();
  return *groups_[number];
}

bool Warpgroups::reads(const ByteRange& range) const {
  return std::ranges::any_of(groups_, [&](const auto& group) { return group && group->reads(range); });
}

}  // namespace xtune::host
