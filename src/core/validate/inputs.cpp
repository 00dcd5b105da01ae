// Counter-based fills: element i is a hash of (seed, name, i), so any thread can make any piece.
#include "core/validate/inputs.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>

#include "base/random.hpp"
#include "base/text.hpp"
#include "core/validate/npy.hpp"
#include "core/validate/tolerance.hpp"
#include "system/machine.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune::validate {

namespace {

__extension__ using uint128 = unsigned __int128;

constexpr std::uint64_t filled_grain = std::uint64_t{1} << 16;

std::uint64_t stream_of(std::uint64_t seed, const std::string& name) {
  std::uint64_t key = base::mix64(seed);
  for (const char c : name) key = base::mix64(key ^ static_cast<unsigned char>(c));
  return key;
}

bool is_unsigned(DType type) { return type >= DType::u8 && type <= DType::u64; }

// Lemire's multiply-shift; the bias of 2^-62 for bounds this small does not matter for test data.
std::int64_t below(std::uint64_t hash, std::uint64_t bound) {
  return static_cast<std::int64_t>(((hash >> 32) * bound) >> 32);
}

// The middle of one of 2^53 cells of (0, 1), so neither end can occur.
double open_unit(std::uint64_t hash) { return (static_cast<double>(hash >> 12) + 0.5) * 0x1.0p-52; }

std::int64_t small_integer(DType type, std::uint64_t hash) {
  if (type == DType::boolean) return below(hash, 2);
  return is_unsigned(type) ? below(hash, 3) : below(hash, 5) - 2;
}

// In a type of few bits a value near 1 rounds to 1: the interval is open for the value before rounding.
double symmetric(std::uint64_t hash) { return 2 * open_unit(hash) - 1; }

double standard_normal(std::uint64_t hash) {
  return std::sqrt(-2 * std::log(open_unit(hash))) * std::cos(2 * std::numbers::pi * open_unit(base::mix64(hash)));
}

// The number of integers from 0 on that a type represents without a gap. 0: 2^64.
std::uint64_t gapless(DType type) {
  if (type == DType::boolean) return 2;
  if (spec::is_floating(type)) return static_cast<std::uint64_t>(1 / unit_roundoff(type));
  const std::size_t bits = 8 * size_of(type) - (is_unsigned(type) ? 0 : 1);
  return bits < 64 ? std::uint64_t{1} << bits : 0;
}

void fill_range(DType type, std::span<std::byte> data) {
  const std::uint64_t count = gapless(type);
  const std::size_t size = size_of(type);
  system::parallel_for(data.size() / size, filled_grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      spec::encode(type, static_cast<std::int64_t>(count ? i % count : i), data.data() + i * size);
  });
}

template <class Make>
void fill_each(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data, const Make& make) {
  const std::uint64_t stream = stream_of(seed, layout.name);
  const DType part = spec::part_of(layout.dtype);
  const std::size_t size = size_of(part);
  system::parallel_for(data.size() / size, filled_grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      spec::encode(part, make(base::mix64(stream + i)), data.data() + i * size);
  });
}

void fill_whole_range(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data) {
  const std::uint64_t stream = stream_of(seed, layout.name);
  const std::size_t size = size_of(layout.dtype);
  system::parallel_for(data.size() / size, filled_grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t hash = base::mix64(stream + i);
      std::memcpy(data.data() + i * size, &hash, size);
    }
  });
}

/// Lemire's multiply-shift again, with 64 bits: [integers[0], integers[1]), whose length may exceed 2^63.
void fill_integers(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data) {
  const auto first = static_cast<std::uint64_t>(layout.integers.at(0));
  const std::uint64_t length = static_cast<std::uint64_t>(layout.integers.at(1)) - first;
  fill_each(layout, seed, data, [first, length](std::uint64_t hash) {
    return static_cast<std::int64_t>(first + static_cast<std::uint64_t>((uint128{hash} * length) >> 64));
  });
}

NpyHeader header_of(const ArgumentLayout& layout) {
  NpyHeader header = read_npy_header(layout.file);
  const bool same_type = header.dtype == layout.dtype || header.dtype == npy_storage(layout.dtype);
  if (!same_type || header.shape != layout.shape)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} holds {}, but argument '{}' is {}: write the file again or correct the spec",
                            layout.file.string(), describe(header.dtype, header.shape), layout.name,
                            describe(layout.dtype, layout.shape)));
  return header;
}

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ~std::uint64_t{0} : product;
}

}  // namespace

std::uint64_t ArgumentLayout::elements() const noexcept {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) return 0;
    product = saturating_product(product, extent);
  }
  return product;
}

std::uint64_t ArgumentLayout::bytes() const noexcept { return saturating_product(elements(), size_of(dtype)); }

std::string describe(DType dtype, const std::vector<std::uint64_t>& shape) {
  std::string text = to_string(dtype);
  text += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ']';
}

std::uint64_t layout_bytes(const ArgumentLayout& layout, std::uint64_t limit_bytes) {
  const std::uint64_t bytes = layout.bytes();
  if (bytes >= std::uint64_t{1} << 63)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("argument '{}' is {}: more than 2^63 bytes; check its shape and the problem", layout.name,
                            describe(layout.dtype, layout.shape)));
  if (limit_bytes == 0) limit_bytes = system::machine_memory_bytes();
  if (bytes > limit_bytes)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("argument '{}' is {} = {}, more than the {} there are; choose a smaller problem", layout.name,
                    describe(layout.dtype, layout.shape), base::human_bytes(bytes), base::human_bytes(limit_bytes)));
  return bytes;
}

void check_input_file(const ArgumentLayout& layout) {
  if (!layout.file.empty()) header_of(layout);
}

void fill_input(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data) {
  if (data.size() != layout.bytes())
    throw std::invalid_argument(
        fmt::format("fill_input: {} bytes for argument '{}' of {}", data.size(), layout.name, layout.bytes()));
  if (!layout.value.empty()) return static_cast<void>(std::copy_n(layout.value.begin(), data.size(), data.begin()));
  if (!layout.file.empty()) return read_npy_data(layout.file, header_of(layout), data);
  if (!layout.integers.empty()) return fill_integers(layout, seed, data);
  const DType type = layout.dtype;
  const bool fp8 = type == DType::f8e4m3 || type == DType::f8e5m2;
  const auto integers = [&] {
    fill_each(layout, seed, data, [type](std::uint64_t hash) { return small_integer(type, hash); });
  };
  const auto uniform = [&] { fill_each(layout, seed, data, symmetric); };
  switch (layout.fill) {
    case Fill::automatic:
      return spec::is_floating(type) && !fp8 ? uniform() : integers();
    case Fill::integer:
      return integers();
    case Fill::uniform:
      if (spec::is_floating(type)) return uniform();
      return type == DType::boolean ? integers() : fill_whole_range(layout, seed, data);
    case Fill::normal:
    case Fill::randn:
      return fill_each(layout, seed, data, standard_normal);
    case Fill::zero:
      if (!data.empty()) std::memset(data.data(), 0, data.size());
      return;
    case Fill::one:
      for (std::size_t i = 0; i < data.size(); i += size_of(type)) spec::encode(type, std::int64_t{1}, data.data() + i);
      return;
    case Fill::range:
      return fill_range(type, data);
  }
}

std::byte poison_byte(DType type, Poison poison) noexcept {
  switch (poison) {
    case Poison::high:
      return std::byte{0x7B};
    case Poison::low:
      return spec::is_floating(type) ? std::byte{0xFB} : std::byte{0x01};
    case Poison::usual:
      break;
  }
  return spec::is_floating(type) ? std::byte{0xFF} : std::byte{0xA5};
}

bool holds_any_poison(DType type, const std::byte* element) noexcept {
  if (std::any_of(element, element + size_of(type), [element](std::byte b) { return b != *element; })) return false;
  return *element == poison_byte(type) || *element == poison_byte(type, Poison::high) ||
         *element == poison_byte(type, Poison::low);
}

bool holds_poison(DType type, const std::byte* element) noexcept {
  return std::all_of(element, element + size_of(type),
                     [poison = poison_byte(type)](std::byte b) { return b == poison; });
}

}  // namespace xtune::validate
