// What the build's options promise about arithmetic.
#include <doctest/doctest.h>

namespace {

#if !defined(__clang__)
[[gnu::optimize("O2")]]
#endif
[[gnu::noinline]] double
product_and_sum(double a, double b, double c) {
  return a * b + c;
}

}  // namespace

TEST_CASE("a product and a sum round separately, also where the processor could fuse them") {
  const double x = 1 + 0x1p-30;
  CHECK(product_and_sum(x, x, -(1 + 0x1p-29)) == 0);  // fused: 2^-60
}
