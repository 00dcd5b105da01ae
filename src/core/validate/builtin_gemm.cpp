// Products of matrices, and of a matrix and a vector, in double precision, blocked for the caches and threaded over
// rows.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/validate/builtin.hpp"
#include "system/parallel.hpp"

namespace xtune::validate::builtin {

namespace {

constexpr std::uint64_t rows_per_piece = 8;
constexpr std::uint64_t k_block = 128;  // k_block rows of b, column_block wide, stay in the second-level cache
constexpr std::uint64_t column_block = 256;

struct Sizes {
  std::uint64_t m, n, k;
};

std::vector<double> transposed(const std::vector<double>& values, std::uint64_t rows, std::uint64_t columns) {
  std::vector<double> result(values.size());
  system::parallel_for(columns, 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t column = begin; column < end; ++column)
        result[column * rows + row] = values[row * columns + column];
  });
  return result;
}

// Four steps of k for one row of sums, added together, so that the sums are read once for all four. The order over k
// does not depend on the blocks.
void add_products(const double* a, const double* b, std::uint64_t b_stride, std::uint64_t steps, double* sums,
                  std::uint64_t count) {
  std::uint64_t k = 0;
  for (; k + 4 <= steps; k += 4) {
    const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
    const double *b0 = b + k * b_stride, *b1 = b0 + b_stride, *b2 = b1 + b_stride, *b3 = b2 + b_stride;
    for (std::uint64_t j = 0; j < count; ++j) sums[j] = sums[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
  }
  for (; k < steps; ++k)
    for (std::uint64_t j = 0; j < count; ++j) sums[j] += a[k] * b[k * b_stride + j];
}

void multiply_rows(const Sizes& sizes, const double* a, const double* b, std::uint64_t begin, std::uint64_t end,
                   std::vector<double>& sums) {
  for (std::uint64_t column = 0; column < sizes.n; column += column_block) {
    const std::uint64_t columns = std::min(column_block, sizes.n - column);
    for (std::uint64_t k = 0; k < sizes.k; k += k_block)
      for (std::uint64_t row = begin; row < end; ++row)
        add_products(a + row * sizes.k + k, b + k * sizes.n + column, sizes.n, std::min(k_block, sizes.k - k),
                     sums.data() + (row - begin) * sizes.n + column, columns);
  }
}

Sizes checked_sizes(const BuiltinCall& call, bool transpose_a, bool transpose_b) {
  const ArgumentLayout &a = *find_array(call, "a")->layout, &b = *find_array(call, "b")->layout, &out = *call.output;
  const auto refuse = [&] {
    fail(fmt::format("gemm: a is {}{}, b {}{} and the output {}; they must be [M, K], [K, N] and [M, N]", text_of(a),
                     transpose_a ? " transposed" : "", text_of(b), transpose_b ? " transposed" : "", text_of(out)));
  };
  if (a.shape.size() != 2 || b.shape.size() != 2 || out.shape.size() != 2) refuse();
  const Sizes sizes{a.shape[transpose_a ? 1 : 0], b.shape[transpose_b ? 0 : 1], a.shape[transpose_a ? 0 : 1]};
  if (b.shape[transpose_b ? 1 : 0] != sizes.k || out.shape[0] != sizes.m || out.shape[1] != sizes.n) refuse();
  return sizes;
}

/// One part, real or imaginary, of both factors, as [M, K] and [K, N].
struct Factors {
  std::vector<double> a, b;
};

Factors factors_of(const BuiltinCall& call, const Sizes& sizes, std::vector<double> (*part)(const ArrayView&)) {
  Factors factors{part(*find_array(call, "a")), part(*find_array(call, "b"))};
  if (flag(call, "transpose_a")) factors.a = transposed(factors.a, sizes.k, sizes.m);
  if (flag(call, "transpose_b")) factors.b = transposed(factors.b, sizes.n, sizes.k);
  return factors;
}

std::vector<std::byte> complex_gemm(const BuiltinCall& call, const Sizes& sizes, double alpha, double beta) {
  const Factors real = factors_of(call, sizes, widen), imaginary = factors_of(call, sizes, widen_imaginary);
  std::vector<double> c_real, c_imaginary;
  if (beta != 0) c_real = widen(*find_array(call, "c")), c_imaginary = widen_imaginary(*find_array(call, "c"));
  const DType part = spec::part_of(call.output->dtype);
  std::vector<std::byte> result(call.output->bytes());
  system::parallel_for(sizes.m, rows_per_piece, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> rr((end - begin) * sizes.n), ii(rr.size()), cross(rr.size());
    multiply_rows(sizes, real.a.data(), real.b.data(), begin, end, rr);
    multiply_rows(sizes, imaginary.a.data(), imaginary.b.data(), begin, end, ii);
    multiply_rows(sizes, real.a.data(), imaginary.b.data(), begin, end, cross);
    multiply_rows(sizes, imaginary.a.data(), real.b.data(), begin, end, cross);
    for (std::uint64_t i = 0; i < rr.size(); ++i) {
      const std::uint64_t index = begin * sizes.n + i;
      std::byte* const to = result.data() + 2 * index * size_of(part);
      encode_result(part, alpha * (rr[i] - ii[i]) + (beta != 0 ? beta * c_real[index] : 0), to);
      encode_result(part, alpha * cross[i] + (beta != 0 ? beta * c_imaginary[index] : 0), to + size_of(part));
    }
  });
  return result;
}

// Matrix times vector, as a matrix product with one column.

/// A call of gemm whose vectors are columns. It owns the layouts; the bytes are the caller's.
struct Product {
  ArgumentLayout x, y, output;
  BuiltinCall call;

  explicit Product(const BuiltinCall& gemv) {
    const ArrayView &a = *find_array(gemv, "a"), &vector = *find_array(gemv, "x");
    const bool transposed = flag(gemv, "transpose_a");
    const auto& shape = a.layout->shape;
    const bool fits = shape.size() == 2 && vector.layout->elements() == shape[transposed ? 0 : 1] &&
                      gemv.output->elements() == shape[transposed ? 1 : 0];
    if (!fits)
      fail(fmt::format("gemv: a is {}{}, x {} and the output {}; they must be [M, K], [K] and [M]", text_of(*a.layout),
                       transposed ? " transposed" : "", text_of(*vector.layout), text_of(*gemv.output)));
    const auto column = [](const ArgumentLayout& layout) {
      ArgumentLayout result = layout;
      result.shape = {layout.elements(), 1};
      return result;
    };
    x = column(*vector.layout);
    output = column(*gemv.output);
    call.arrays = {{"a", a}, {"b", {&x, vector.data}}};
    if (const ArrayView* added = find_array(gemv, "y")) {
      y = column(*added->layout);
      call.arrays["c"] = {&y, added->data};
    }
    call.scalars = gemv.scalars;
    call.output = &output;
    if (number(gemv, "beta", 0) != 0 && !find_array(gemv, "y")) fail("gemv: beta is not 0, so it needs an array 'y'");
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
};

}  // namespace

std::vector<std::byte> gemm(const BuiltinCall& call) {
  const double alpha = number(call, "alpha", 1), beta = number(call, "beta", 0);
  const Sizes sizes = checked_sizes(call, flag(call, "transpose_a"), flag(call, "transpose_b"));
  const ArrayView* c = find_array(call, "c");
  if (beta != 0 && !c) fail("gemm: beta is not 0, so it needs an array 'c'");
  if (beta != 0 && c->layout->shape != call.output->shape)
    fail(fmt::format("gemm: c is {}, but the output {}", text_of(*c->layout), text_of(*call.output)));
  if (spec::is_complex(call.output->dtype)) return complex_gemm(call, sizes, alpha, beta);
  const Factors factors = factors_of(call, sizes, widen);
  std::vector<std::byte> result(call.output->bytes());
  const ResultEncoder encode(call);
  const std::size_t out_size = size_of(call.output->dtype);
  system::parallel_for(sizes.m, rows_per_piece, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> sums((end - begin) * sizes.n);
    multiply_rows(sizes, factors.a.data(), factors.b.data(), begin, end, sums);
    for (std::uint64_t i = 0; i < sums.size(); ++i) {
      const std::uint64_t index = begin * sizes.n + i;
      double value = alpha * sums[i];
      // With beta = 0 BLAS does not read c, whose NaNs then do not count.
      if (beta != 0) value += beta * spec::decode(c->layout->dtype, c->data.data() + index * size_of(c->layout->dtype));
      encode(value, result.data() + index * out_size);
    }
  });
  return result;
}

ResultFacts gemm_facts(const BuiltinCall& call) {
  const ArrayView &a = *find_array(call, "a"), &b = *find_array(call, "b");
  const Sizes sizes = checked_sizes(call, flag(call, "transpose_a"), flag(call, "transpose_b"));
  const double beta = number(call, "beta", 0);
  double scale =
      std::abs(number(call, "alpha", 1)) * std::sqrt(static_cast<double>(sizes.k)) * usual_size(a) * usual_size(b);
  if (beta != 0) scale += std::abs(beta) * usual_size(*find_array(call, "c"));
  return {sizes.k + (beta != 0 ? 1 : 0), scale};
}

std::vector<std::byte> gemv(const BuiltinCall& call) { return gemm(Product(call).call); }
ResultFacts gemv_facts(const BuiltinCall& call) { return gemm_facts(Product(call).call); }

}  // namespace xtune::validate::builtin
