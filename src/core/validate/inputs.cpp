// Counter-based fills: element i is a hash of (seed, name, i), so any thread can make any piece.
#include "core/validate/inputs.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "base/random.hpp"
#include "base/text.hpp"
#include "core/space/expression.hpp"
#include "core/space/value.hpp"
#include "core/spec/dtype.hpp"
#include "core/validate/npy.hpp"
#include "core/validate/tolerance.hpp"
#include "system/machine.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune::validate {

namespace {

__extension__ using uint128 = unsigned __int128;
__extension__ using int128 = __int128;

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

/// The first and the last of the integers that a type represents without a gap.
std::pair<int128, int128> integers_of(DType type) {
  const int128 count = gapless(type) == 0 ? int128{1} << 64 : int128{gapless(type)};
  if (spec::is_floating(type)) return {-count, count};
  return {is_unsigned(type) || type == DType::boolean ? 0 : -count, count - 1};
}

bool represents(DType type, std::int64_t value) {
  const auto [first, last] = integers_of(type);
  return value >= first && value <= last;
}

std::string misfit(DType type, std::int64_t value) {
  const auto [first, last] = integers_of(type);
  return fmt::format(
      "{} does not fit {}, which has all integers only from {} to {}: keep within them, or choose another dtype", value,
      to_string(type), first, last);
}

/// Lemire's multiply-shift again, with 64 bits: below a bound of at most 2^64.
std::uint64_t scaled(std::uint64_t hash, uint128 bound) { return static_cast<std::uint64_t>((hash * bound) >> 64); }

/// Integers as bits, since u64 has more than encode() takes.
void store(DType type, std::uint64_t integer, std::byte* element) {
  if (spec::is_floating(type)) return spec::encode(type, static_cast<std::int64_t>(integer), element);
  std::memcpy(element, &integer, size_of(type));
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

/// The integers of a fill: its numbers, else all that the type represents without a gap.
struct Range {
  std::uint64_t first;
  uint128 length;
};
Range range_of(const ArgumentLayout& layout) {
  if (layout.numbers.size() == 2) {
    const auto first = static_cast<std::uint64_t>(layout.numbers[0]);
    return {first, static_cast<std::uint64_t>(layout.numbers[1]) - first};
  }
  const bool bits = is_unsigned(layout.dtype) || layout.dtype == DType::boolean;
  const uint128 length = uint128{1} << (layout.dtype == DType::boolean ? 1 : 8 * size_of(layout.dtype));
  return {bits ? 0 : 0 - static_cast<std::uint64_t>(length / 2), length};
}

/// The last dimension, with a hash for each element.
struct Row {
  std::byte* data;
  std::uint64_t length;
  std::uint64_t stream;
  DType type;

  std::uint64_t hash(std::uint64_t i) const { return base::mix64(stream + i); }
  std::byte* at(std::uint64_t i) const { return data + i * size_of(type); }
  void put(std::uint64_t i, std::uint64_t integer) const { store(type, integer, at(i)); }
};

void sort(const Row& row, const ArgumentLayout& layout) {
  const auto length = static_cast<double>(row.length);
  const bool floats = spec::is_floating(row.type) && layout.numbers.empty();
  const Range range = range_of(layout);
  for (std::uint64_t i = 0; i < row.length; ++i) {
    if (floats) {
      spec::encode(row.type, 2 * ((static_cast<double>(i) + open_unit(row.hash(i))) / length) - 1, row.at(i));
      continue;
    }
    // Products of 2^64 and an index of up to 2^63 fit.
    const uint128 begin = range.length * i / row.length, end = range.length * (i + 1) / row.length;
    row.put(i, range.first + static_cast<std::uint64_t>(begin) + scaled(row.hash(i), end - begin));
  }
}

void permute(const Row& row) {
  std::vector<std::uint64_t> order(row.length);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t i = row.length; i-- > 1;) std::swap(order[i], order[scaled(row.hash(i), i + 1)]);
  for (std::uint64_t i = 0; i < row.length; ++i) row.put(i, order[i]);
}

void mark(const Row& row, std::uint64_t ones) {
  for (std::uint64_t i = 0; i < row.length; ++i) {
    const bool one = scaled(row.hash(i), row.length - i) < ones;
    ones -= one;
    row.put(i, one);
  }
}

/// The differences of sorted uniform numbers are those of sums of exponential ones (Devroye 1986, chapter V.2).
void offset(const Row& row, std::int64_t end) {
  double total = 0, sum = 0;
  for (std::uint64_t i = 1; i < row.length; ++i) total -= std::log(open_unit(row.hash(i)));
  for (std::uint64_t i = 0; i + 1 < row.length; ++i) {
    if (i > 0) sum -= std::log(open_unit(row.hash(i)));
    row.put(i, static_cast<std::uint64_t>(static_cast<double>(end) * std::min(sum / total, 1 - 0x1p-53)));
  }
  row.put(row.length - 1, static_cast<std::uint64_t>(end));
}

template <class Make>
void fill_rows(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data, const Make& make) {
  const std::uint64_t stream = stream_of(seed, layout.name), length = layout.shape.empty() ? 1 : layout.shape.back();
  const std::uint64_t rows = data.empty() ? 0 : layout.elements() / length;
  const std::size_t size = size_of(layout.dtype);
  system::parallel_for(rows, std::max<std::uint64_t>(filled_grain / length, 1),
                       [&](std::uint64_t begin, std::uint64_t end) {
                         for (std::uint64_t row = begin; row < end; ++row)
                           make(Row{data.data() + row * length * size, length, stream + row * length, layout.dtype});
                       });
}

/// make(index, hash): the integer.
template <class Make>
void fill_integers(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data, const Make& make) {
  const std::uint64_t stream = stream_of(seed, layout.name);
  const std::size_t size = size_of(layout.dtype);
  system::parallel_for(data.size() / size, filled_grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      store(layout.dtype, make(i, base::mix64(stream + i)), data.data() + i * size);
  });
}

/// Computes the elements of a formula.
class Formula {
 public:
  explicit Formula(const ArgumentLayout& layout)
      : layout_(layout), expression_(space::Expression::parse(layout.formula)) {
    for (std::size_t i = 0; i < spec::place_names.size(); ++i) {
      is_used_[i] = expression_.names().contains(spec::place_names[i]);
      if (is_used_[i] && i > layout.shape.size())
        throw Error(
            ErrorKind::invalid_argument,
            fmt::format("argument '{}' {}: fill by formula \"{}\": '{}' is the index in a dimension that it "
                        "does not have: the first is i0",
                        layout.name, describe(layout.dtype, layout.shape), layout.formula, spec::place_names[i]));
    }
  }

  /// Those from begin to end, one after the other from `to` on.
  void fill(std::uint64_t begin, std::uint64_t end, std::byte* to) const {
    std::array<Value, spec::place_names.size()> place;
    std::vector<std::pair<const char*, const Value*>> found;  // by the address of the name in the expression
    const space::Lookup lookup = [&](std::string_view name) -> const Value* {
      for (const auto& [text, value] : found)
        if (text == name.data()) return value;
      const auto at = std::ranges::find(spec::place_names, name) - spec::place_names.begin();
      const bool is_place = at < std::ssize(place);
      found.emplace_back(name.data(),
                         is_place ? &place[static_cast<std::size_t>(at)] : space::find_value(layout_.names, name));
      return found.back().second;
    };
    const std::size_t size = size_of(layout_.dtype);
    for (std::uint64_t i = begin; i < end; ++i, to += size) {
      put(i, place);
      try {
        const Value value = expression_.evaluate(lookup);
        if (!spec::encode_scalar(layout_.dtype, value, to))
          refuse(i, fmt::format("{} does not fit", space::shown_text(value)));
      } catch (const space::ExpressionError& error) {
        refuse(i, error.what());
      }
    }
  }

 private:
  void put(std::uint64_t number, std::span<Value> place) const {
    place[0] = static_cast<std::int64_t>(number);
    for (std::size_t i = layout_.shape.size(); i-- > 0; number /= layout_.shape[i])
      if (is_used_[i + 1]) place[i + 1] = static_cast<std::int64_t>(number % layout_.shape[i]);
  }
  [[noreturn]] void refuse(std::uint64_t number, const std::string& why) const {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("argument '{}' {}: fill by formula \"{}\": element {}: {}", layout_.name,
                            describe(layout_.dtype, layout_.shape), layout_.formula, number, why));
  }

  const ArgumentLayout& layout_;
  space::Expression expression_;
  std::array<bool, spec::place_names.size()> is_used_{};
};

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
  static const std::uint64_t machine_bytes = system::machine_memory_bytes();
  if (limit_bytes == 0) limit_bytes = machine_bytes;
  if (bytes > limit_bytes)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("argument '{}' is {} = {}, more than the {} there are; choose a smaller problem", layout.name,
                    describe(layout.dtype, layout.shape), base::human_bytes(bytes), base::human_bytes(limit_bytes)));
  return bytes;
}

namespace {

/// NumPy's transpose(of, permute), or the same elements in another shape.
void fill_like(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data) {
  const ArgumentLayout& of = layout.like.front();
  if (layout.permute.empty()) return fill_input(of, seed, data);
  std::vector<std::byte> contents(data.size());
  fill_input(of, seed, contents);
  const std::size_t rank = of.shape.size(), bytes = size_of(layout.dtype);
  std::vector<std::uint64_t> strides(rank, bytes), place(rank);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * of.shape[i];
  for (std::size_t at = 0; at < data.size(); at += bytes) {
    std::uint64_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from += place[i] * strides[layout.permute[i]];
    std::memcpy(data.data() + at, contents.data() + from, bytes);
    for (std::size_t i = rank; i-- > 0 && ++place[i] == layout.shape[i];) place[i] = 0;
  }
}

void check_like(const ArgumentLayout& layout) {
  const ArgumentLayout& of = layout.like.front();
  bool fits = layout.elements() == of.elements();
  for (std::size_t i = 0; i < layout.permute.size(); ++i) fits = fits && layout.shape[i] == of.shape[layout.permute[i]];
  if (!fits)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("argument '{}' {} has the contents of '{}' {}{}: give it a shape that they fill",
                            layout.name, describe(layout.dtype, layout.shape), of.name, describe(of.dtype, of.shape),
                            layout.permute.empty() ? "" : " in another order"));
}

}  // namespace

void check_contents(const ArgumentLayout& layout) {
  if (!layout.like.empty()) return check_like(layout);
  if (!layout.value.empty()) return;
  if (!layout.file.empty()) return static_cast<void>(header_of(layout));
  const std::vector<std::int64_t>& numbers = layout.numbers;
  const std::uint64_t length = layout.shape.empty() ? 1 : layout.shape.back();
  const auto require = [&](bool holds, const std::string& expected) {
    if (holds) return;
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("argument '{}' {}: fill '{}{}{}': {}", layout.name, describe(layout.dtype, layout.shape),
                    spec::fill_words.of(layout.fill), numbers.empty() ? "" : " ", fmt::join(numbers, " "), expected));
  };
  const auto require_range = [&] {
    require(numbers[0] < numbers[1], "no integer is at least the first number and below the second");
    for (const std::int64_t end : {numbers[0], numbers[1] - 1})
      require(represents(layout.dtype, end), misfit(layout.dtype, end));
  };
  switch (layout.fill) {
    case Fill::integers:
      require(numbers.size() == 2, "it takes the first integer and the one after the last: { integers = [0, 10] }");
      return require_range();
    case Fill::sorted:
      require(numbers.empty() || numbers.size() == 2, "it takes no number, or two: { sorted = [0, 10] }");
      return numbers.empty() ? void() : require_range();
    case Fill::permutation:
      require(numbers.empty(), "it takes no number");
      return require(represents(layout.dtype, static_cast<std::int64_t>(length - 1)),
                     fmt::format("rows of {} elements have more numbers than {} represents: choose another dtype",
                                 length, to_string(layout.dtype)));
    case Fill::offsets:
      require(numbers.size() == 1, "it takes the number of elements that the rows have: { offsets = \"NNZ\" }");
      require(!spec::is_floating(layout.dtype) && layout.dtype != DType::boolean, "it needs an integer type");
      require(numbers[0] >= 0, "the number of elements is negative");
      require(represents(layout.dtype, numbers[0]), misfit(layout.dtype, numbers[0]));
      return require(length >= 2, "N rows have N + 1 offsets, so at least 2");
    case Fill::formula: {
      const Formula formula(layout);
      std::vector<std::byte> element(size_of(layout.dtype));
      for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, layout.elements() - 1})
        if (i < layout.elements()) formula.fill(i, i + 1, element.data());
      return;
    }
    case Fill::one_hot:
      return require(numbers.empty() ||
                         (numbers.size() == 1 && numbers[0] >= 0 && static_cast<std::uint64_t>(numbers[0]) <= length),
                     fmt::format("a row of {} elements has from 0 to {} ones", length, length));
    default:
      return require(numbers.empty(), "it takes no number");
  }
}

void fill_input(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data) {
  if (data.size() != layout.bytes())
    throw std::invalid_argument(
        fmt::format("fill_input: {} bytes for argument '{}' of {}", data.size(), layout.name, layout.bytes()));
  if (!layout.like.empty()) return fill_like(layout, seed, data);
  if (!layout.value.empty()) {
    for (std::size_t at = 0; at < data.size(); at += layout.value.size())
      std::copy(layout.value.begin(), layout.value.end(), data.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  if (!layout.file.empty()) return read_npy_data(layout.file, header_of(layout), data);
  const DType type = layout.dtype;
  const bool fp8 = type == DType::f8e4m3 || type == DType::f8e5m2;
  const auto small_integers = [&] {
    fill_each(layout, seed, data, [type](std::uint64_t hash) { return small_integer(type, hash); });
  };
  const auto uniform = [&] { fill_each(layout, seed, data, symmetric); };
  const auto integers = [&](const auto& make) { fill_integers(layout, seed, data, make); };
  switch (layout.fill) {
    case Fill::automatic:
      return spec::is_floating(type) && !fp8 ? uniform() : small_integers();
    case Fill::integer:
      return small_integers();
    case Fill::uniform:
      if (spec::is_floating(type)) return uniform();
      return type == DType::boolean ? small_integers()
                                    : integers([](std::uint64_t, std::uint64_t hash) { return hash; });
    case Fill::normal:
    case Fill::randn:
      return fill_each(layout, seed, data, standard_normal);
    case Fill::zero:
      if (!data.empty()) std::memset(data.data(), 0, data.size());
      return;
    case Fill::one:
      return integers([](std::uint64_t, std::uint64_t) { return std::uint64_t{1}; });
    case Fill::range:
      return integers([count = gapless(type)](std::uint64_t i, std::uint64_t) { return count ? i % count : i; });
    case Fill::integers:
      return integers([range = range_of(layout)](std::uint64_t, std::uint64_t hash) {
        return range.first + scaled(hash, range.length);
      });
    case Fill::sorted:
      return fill_rows(layout, seed, data, [&](const Row& row) { sort(row, layout); });
    case Fill::permutation:
      return fill_rows(layout, seed, data, permute);
    case Fill::one_hot:
      return fill_rows(layout, seed, data, [ones = layout.numbers.empty() ? 1 : layout.numbers[0]](const Row& row) {
        mark(row, static_cast<std::uint64_t>(ones));
      });
    case Fill::offsets:
      return fill_rows(layout, seed, data, [&](const Row& row) { offset(row, layout.numbers.at(0)); });
    case Fill::formula:
      return system::parallel_for(layout.elements(), filled_grain,
                                  [&, formula = Formula(layout)](std::uint64_t begin, std::uint64_t end) {
                                    formula.fill(begin, end, data.data() + begin * size_of(type));
                                  });
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

bool holds_poison(DType type, const std::byte* element, Poison poison) noexcept {
  return std::all_of(element, element + size_of(type),
                     [byte = poison_byte(type, poison)](std::byte b) { return b == byte; });
}

bool holds_any_poison(DType type, const std::byte* element) noexcept {
  return holds_poison(type, element) || holds_poison(type, element, Poison::high) ||
         holds_poison(type, element, Poison::low);
}

}  // namespace xtune::validate
