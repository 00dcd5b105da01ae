// Softmax and layer norm: functions of whole lines along one axis, in double precision.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/validate/builtin_detail.hpp"
#include "core/validate/parallel.hpp"

namespace xtune::validate::builtin {

namespace {

/// x as [outer, length, inner] around the axis.
struct Lines {
  std::uint64_t outer = 1, length = 1, inner = 1;
};

Lines lines_of(const BuiltinCall& call, const char* name) {
  const ArgumentLayout &x = *find_array(call, "x")->layout, &out = *call.output;
  if (x.shape != out.shape)
    fail(fmt::format("{}: x is {} and the output {}; they must have one shape", name, describe(x.dtype, x.shape),
                     describe(out.dtype, out.shape)));
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
  parallel_for(lines.outer * lines.inner, 4, [&](std::uint64_t begin, std::uint64_t end) {
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
    fail(fmt::format("layernorm: {} is {}, but the axis has {} elements", role,
                     describe(array->layout->dtype, array->layout->shape), length));
  return widen(*array);
}

}  // namespace

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

ResultFacts layernorm_facts(const BuiltinCall& call) { return {lines_of(call, "layernorm").length, 0}; }

}  // namespace xtune::validate::builtin
