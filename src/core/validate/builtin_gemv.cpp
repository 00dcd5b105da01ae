// Matrix times vector, as a matrix product with one column.
#include <fmt/core.h>

#include "core/validate/builtin_detail.hpp"

namespace xtune::validate::builtin {

namespace {

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
      fail(fmt::format("gemv: a is {}{}, x {} and the output {}; they must be [M, K], [K] and [M]",
                       describe(a.layout->dtype, shape), transposed ? " transposed" : "",
                       describe(vector.layout->dtype, vector.layout->shape),
                       describe(gemv.output->dtype, gemv.output->shape)));
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

std::vector<std::byte> gemv(const BuiltinCall& call) { return gemm(Product(call).call); }
ResultFacts gemv_facts(const BuiltinCall& call) { return gemm_facts(Product(call).call); }

}  // namespace xtune::validate::builtin
