// Functions of lines along an axis: reductions, in an order that does not depend on the number of cores, softmax and
// layer norm.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/validate/builtin.hpp"
#include "system/parallel.hpp"

namespace xtune::validate::builtin {

namespace {

__extension__ typedef __int128 Wide;  // holds a sum of 2^64 64-bit integers

enum class Op { sum, min, max, mean };
constexpr auto op_words = base::enum_words<Op>("sum", "min", "max", "mean");

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
  if (!spec::is_floating(type) && type != DType::boolean) {
    std::memcpy(to, &total, size_of(type));  // integers wrap, as in kernels
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
  system::parallel_for(partial.size(), std::max<std::uint64_t>(1, piece / std::max<std::uint64_t>(shape.length, 1)),
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
  system::parallel_for(shape.outer * strips, 1, [&](std::uint64_t begin, std::uint64_t end) {
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

Reduction checked_shape(const BuiltinCall& call) {
  const ArgumentLayout &x = *find_array(call, "x")->layout, &out = *call.output;
  Reduction shape;
  shape.op = op_words.find(word(call, "op", "sum")).value();
  const auto found = call.scalars.find("axis");
  if (found == call.scalars.end()) {
    shape.length = x.elements();
    if (out.elements() != 1)
      fail(fmt::format("reduction: the output is {}, but a reduction over all elements has one; name an axis",
                       text_of(out)));
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
      fail(fmt::format("reduction: x is {} and the output {}; over axis {} it must be {}", text_of(x), text_of(out),
                       axis, describe(out.dtype, without)));
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

// Softmax and layer norm: functions of whole lines along one axis, in double precision.

/// x as [outer, length, inner] around the axis.
struct Lines {
  std::uint64_t outer = 1, length = 1, inner = 1;
};

Lines lines_of(const BuiltinCall& call, const char* name) {
  const ArgumentLayout &x = *find_array(call, "x")->layout, &out = *call.output;
  if (x.shape != out.shape)
    fail(fmt::format("{}: x is {} and the output {}; they must have one shape", name, text_of(x), text_of(out)));
  const std::size_t axis = axis_of(call, name, x.shape.size(), -1);
  Lines lines;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    (i < axis ? lines.outer : i == axis ? lines.length : lines.inner) *= x.shape[i];
  return lines;
}

// Calls transform on each line in place, in a separate buffer.
template <class Transform>
std::vector<std::byte> each_line(const BuiltinCall& call, const Lines& lines, const Transform& transform) {
  const ArrayView& x = *find_array(call, "x");
  const std::size_t in_size = size_of(x.layout->dtype), out_size = size_of(call.output->dtype);
  std::vector<std::byte> result(call.output->bytes());
  system::parallel_for(lines.outer * lines.inner, 4, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> line(lines.length);
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t first = i / lines.inner * lines.length * lines.inner + i % lines.inner;
      for (std::uint64_t k = 0; k < lines.length; ++k)
        line[k] = spec::decode(x.layout->dtype, x.data.data() + (first + k * lines.inner) * in_size);
      transform(line);
      for (std::uint64_t k = 0; k < lines.length; ++k)
        encode_result(call.output->dtype, line[k], result.data() + (first + k * lines.inner) * out_size);
    }
  });
  return result;
}

// One number for each position of a line.
std::vector<double> line_array(const BuiltinCall& call, const char* role, std::uint64_t length, double otherwise) {
  const ArrayView* array = find_array(call, role);
  if (!array) return std::vector<double>(length, otherwise);
  if (array->layout->elements() != length)
    fail(fmt::format("layernorm: {} is {}, but the axis has {} elements", role, text_of(*array->layout), length));
  return widen(*array);
}

}  // namespace

std::vector<std::byte> reduction(const BuiltinCall& call) {
  const ArrayView& x = *find_array(call, "x");
  Reduction shape = checked_shape(call);
  std::vector<std::byte> result(call.output->bytes());
  if (spec::is_complex(call.output->dtype)) {
    if (x.layout->dtype != call.output->dtype || shape.op == Op::min || shape.op == Op::max)
      fail(fmt::format("reduction: complex numbers have only sums and means, in their own type; x is {}, the output {}",
                       text_of(*x.layout), text_of(*call.output)));
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

std::vector<std::byte> softmax(const BuiltinCall& call) {
  const double scale = number(call, "scale", 1);
  const bool logarithm = flag(call, "log");
  return each_line(call, lines_of(call, "softmax"), [&](std::vector<double>& line) {
    double largest = -HUGE_VAL, sum = 0;
    for (double& value : line) largest = std::max(largest, value *= scale);
    for (const double value : line) sum += std::exp(value - largest);
    for (double& value : line) value = logarithm ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
  });
}

ResultFacts softmax_facts(const BuiltinCall& call) { return {lines_of(call, "softmax").length, 0}; }

std::vector<std::byte> layernorm(const BuiltinCall& call) {
  const Lines lines = lines_of(call, "layernorm");
  const double eps = number(call, "eps", 1e-5);
  const bool centred = word(call, "op", "layer") == "layer";
  const std::vector<double> gamma = line_array(call, "gamma", lines.length, 1);
  const std::vector<double> beta = line_array(call, "beta", lines.length, 0);
  return each_line(call, lines, [&](std::vector<double>& line) {
    const double count = static_cast<double>(line.size());
    double mean = 0, squares = 0;
    for (const double value : line) mean += value / count;
    if (!centred) mean = 0;
    for (const double value : line) squares += (value - mean) * (value - mean) / count;
    for (std::size_t k = 0; k < line.size(); ++k)
      line[k] = (line[k] - mean) / std::sqrt(squares + eps) * gamma[k] + beta[k];
  });
}

ResultFacts layernorm_facts(const BuiltinCall& call) {
  const std::uint64_t length = lines_of(call, "layernorm").length;
  for (const char* role : {"gamma", "beta"}) line_array(call, role, length, 0);
  return {length, 0};
}

}  // namespace xtune::validate::builtin
