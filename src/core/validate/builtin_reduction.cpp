// Reductions over all elements or one axis, in an order that does not depend on the number of cores.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "core/validate/builtin_detail.hpp"
#include "core/validate/parallel.hpp"

namespace xtune::validate::builtin {

namespace {

__extension__ typedef __int128 Wide;  // holds a sum of 2^64 64-bit integers

enum class Op { sum, min, max, mean };

struct Reduction {
  Op op = Op::sum;
  std::uint64_t outer = 1, length = 1, inner = 1;  // x is [outer, length, inner]; the output [outer, inner]
};

// One running value. Total is double, or Wide for integers.
template <class Total>
struct Accumulator {
  Total total = 0;
  std::uint64_t count = 0;

  void add(Op op, Total value) {
    if (op == Op::sum || op == Op::mean)
      total += value;
    else if (count == 0 || (op == Op::min ? value < total : value > total) || value != value)
      total = value;
    // After a NaN, every comparison above is false and the total stays NaN.
    ++count;
  }
  void join(Op op, const Accumulator& other) {
    if (other.count == 0) return;
    const std::uint64_t before = count;
    add(op, other.total);
    count = before + other.count;
  }
};

void store(Op op, DType type, const Accumulator<double>& result, std::byte* to) {
  const double count = static_cast<double>(result.count);
  encode_result(type, op == Op::mean ? result.total / count : result.total, to);
}

void store(Op op, DType type, const Accumulator<Wide>& result, std::byte* to) {
  const Wide total = result.total;
  if (op == Op::mean) return encode_result(type, static_cast<double>(total) / static_cast<double>(result.count), to);
  if (type == DType::u64 && total > std::numeric_limits<std::int64_t>::max()) {
    const auto value = static_cast<std::uint64_t>(std::min<Wide>(total, std::numeric_limits<std::uint64_t>::max()));
    std::memcpy(to, &value, sizeof value);
  } else if (total == static_cast<std::int64_t>(total)) {
    spec::encode(type, static_cast<std::int64_t>(total), to);
  } else {
    encode_result(type, static_cast<double>(total), to);
  }
}

void load(DType type, const std::byte* from, std::span<double> values) { spec::decode(type, from, values); }

void load(DType type, const std::byte* from, std::span<Wide> values) {
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == DType::u64) {
      std::uint64_t value;
      std::memcpy(&value, from + i * size, sizeof value);
      values[i] = value;
    } else if (type == DType::i64) {
      std::int64_t value;
      std::memcpy(&value, from + i * size, sizeof value);
      values[i] = value;
    } else {
      values[i] = static_cast<Wide>(spec::decode(type, from + i * size));
    }
  }
}

// One line of `length` adjacent elements for each output: pieces of a fixed size, combined in order.
template <class Total>
void reduce_lines(const Reduction& shape, const ArrayView& x, DType out_type, std::byte* out) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 14;
  const DType type = x.layout->dtype;
  const std::size_t size = size_of(type), out_size = size_of(out_type);
  const std::uint64_t pieces = (shape.length + piece - 1) / piece;
  std::vector<Accumulator<Total>> partial(shape.outer * pieces);
  parallel_for(partial.size(), std::max<std::uint64_t>(1, piece / std::max<std::uint64_t>(shape.length, 1)),
               [&](std::uint64_t begin, std::uint64_t end) {
                 std::vector<Total> values(std::min(piece, shape.length));
                 for (std::uint64_t i = begin; i < end; ++i) {
                   const std::uint64_t line = i / pieces, start = i % pieces * piece;
                   const std::span<Total> some(values.data(), std::min(piece, shape.length - start));
                   load(type, x.data.data() + (line * shape.length + start) * size, some);
                   for (const Total value : some) partial[i].add(shape.op, value);
                 }
               });
  for (std::uint64_t line = 0; line < shape.outer; ++line) {
    Accumulator<Total> result;
    for (std::uint64_t i = 0; i < pieces; ++i) result.join(shape.op, partial[line * pieces + i]);
    store(shape.op, out_type, result, out + line * out_size);
  }
}

// The reduced axis is not the last: whole rows of adjacent elements are reduced in parallel.
template <class Total>
void reduce_columns(const Reduction& shape, const ArrayView& x, DType out_type, std::byte* out) {
  constexpr std::uint64_t width = 256;
  const DType type = x.layout->dtype;
  const std::size_t size = size_of(type), out_size = size_of(out_type);
  const std::uint64_t strips = (shape.inner + width - 1) / width;
  parallel_for(shape.outer * strips, 1, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<Total> values(width);
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t block = i / strips, column = i % strips * width;
      const std::uint64_t columns = std::min(width, shape.inner - column);
      std::vector<Accumulator<Total>> result(columns);
      for (std::uint64_t row = 0; row < shape.length; ++row) {
        const std::uint64_t at = (block * shape.length + row) * shape.inner + column;
        load(type, x.data.data() + at * size, std::span(values).first(columns));
        for (std::uint64_t j = 0; j < columns; ++j) result[j].add(shape.op, values[j]);
      }
      for (std::uint64_t j = 0; j < columns; ++j)
        store(shape.op, out_type, result[j], out + (block * shape.inner + column + j) * out_size);
    }
  });
}

Op op_of(const BuiltinCall& call) {
  const auto found = call.scalars.find("op");
  if (found == call.scalars.end()) return Op::sum;
  const auto* name = std::get_if<std::string>(&found->second);
  if (name && *name == "sum") return Op::sum;
  if (name && *name == "min") return Op::min;
  if (name && *name == "max") return Op::max;
  if (name && *name == "mean") return Op::mean;
  fail(fmt::format("reduction: op is '{}'; known: sum, min, max, mean", base::one_line(to_text(found->second))));
}

Reduction checked_shape(const BuiltinCall& call) {
  const ArgumentLayout &x = *find_array(call, "x")->layout, &out = *call.output;
  Reduction shape;
  shape.op = op_of(call);
  const auto found = call.scalars.find("axis");
  if (found == call.scalars.end()) {
    shape.length = x.elements();
    if (out.elements() != 1)
      fail(fmt::format("reduction: the output is {}, but a reduction over all elements has one; name an axis",
                       describe(out.dtype, out.shape)));
  } else {
    const auto* given = std::get_if<std::int64_t>(&found->second);
    const auto rank = static_cast<std::int64_t>(x.shape.size());
    if (!given || *given < -rank || *given >= rank)
      fail(fmt::format("reduction: axis is {}; x has {} dimensions", base::one_line(to_text(found->second)), rank));
    const auto axis = static_cast<std::size_t>(*given < 0 ? *given + rank : *given);
    std::vector<std::uint64_t> without = x.shape, kept = x.shape;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(axis));
    kept[axis] = 1;
    if (out.shape != without && out.shape != kept)
      fail(fmt::format("reduction: x is {} and the output {}; over axis {} it must be {}", describe(x.dtype, x.shape),
                       describe(out.dtype, out.shape), axis, describe(out.dtype, without)));
    for (std::size_t i = 0; i < x.shape.size(); ++i)
      (i < axis ? shape.outer : i == axis ? shape.length : shape.inner) *= x.shape[i];
  }
  if (shape.length == 0 && shape.op != Op::sum) fail("reduction: x has no elements, and only their sum is defined");
  return shape;
}

template <class Total>
void reduce(const Reduction& shape, const ArrayView& x, DType out_type, std::byte* out) {
  shape.inner == 1 ? reduce_lines<Total>(shape, x, out_type, out) : reduce_columns<Total>(shape, x, out_type, out);
}

}  // namespace

std::vector<std::byte> reduction(const BuiltinCall& call) {
  const ArrayView& x = *find_array(call, "x");
  Reduction shape = checked_shape(call);
  std::vector<std::byte> result(call.output->bytes());
  if (spec::is_complex(call.output->dtype)) {
    if (x.layout->dtype != call.output->dtype || shape.op == Op::min || shape.op == Op::max)
      fail(fmt::format("reduction: complex numbers have only sums and means, in their own type; x is {}, the output {}",
                       describe(x.layout->dtype, x.layout->shape), describe(call.output->dtype, call.output->shape)));
    // Real and imaginary parts are adjacent, and are added in parallel.
    ArgumentLayout parts = *x.layout;
    parts.dtype = spec::part_of(parts.dtype);
    shape.inner *= 2;
    reduce<double>(shape, {&parts, x.data}, parts.dtype, result.data());
    return result;
  }
  spec::is_floating(x.layout->dtype) ? reduce<double>(shape, x, call.output->dtype, result.data())
                                     : reduce<Wide>(shape, x, call.output->dtype, result.data());
  return result;
}

ResultFacts reduction_facts(const BuiltinCall& call) {
  const ArrayView& x = *find_array(call, "x");
  const Reduction shape = checked_shape(call);
  const bool same_type = x.layout->dtype == call.output->dtype;
  if (shape.op == Op::min || shape.op == Op::max) return {same_type ? std::uint64_t{0} : std::uint64_t{1}, 0};
  const double size = usual_size(x), length = static_cast<double>(shape.length);
  return {shape.length, shape.op == Op::sum ? size * std::sqrt(length) : size / std::sqrt(length)};
}

}  // namespace xtune::validate::builtin
