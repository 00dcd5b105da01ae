// Wrong calls: each is refused with the expected and the given argument, before anything is launched.
#include "unit/dispatch/shop.hpp"

using namespace xtune::spec;

namespace xtune {

TEST_CASE("a wrong call is refused in checked mode") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  const float* const in = shop.x.data();
  float* const out = shop.y.data();
  const auto refused = [&](const std::string& part, auto... arguments) {
    CHECK(holds(test::error_of([&] { kernel(nullptr, arguments...); }, ErrorKind::invalid_argument), part));
  };
  refused("scale takes 4 arguments (x, y, n, factor) and was given 3", in, out, 64);
  refused("was given 5", in, out, 64, 1, 2.0F);
  refused("argument 1, 'x', is a buffer of f32 and was given an integer of 4 bytes", 7, out, 64, 2.0F);
  refused("pointer to a floating-point number of 8 bytes", static_cast<const double*>(nullptr), out, 64, 2.0F);
  refused("pointer to an integer of 4 bytes", static_cast<const int*>(nullptr), out, 64, 2.0F);
  refused("'y', is written by the kernel and was given a pointer to const", in, in, 64, 2.0F);
  refused("'n', is a scalar of i32 (4 bytes) and was given an integer of 8 bytes", in, out, 64L, 2.0F);
  refused("was given a floating-point number of 4 bytes", in, out, 64.0F, 2.0F);
  refused("was given a pointer", in, out, in, 2.0F);
  refused("'factor', is a scalar of f32 (4 bytes) and was given a floating-point number of 8 bytes", in, out, 64, 2.0);
  CHECK(shop.runtime->launches().empty());
  refused("'x', was given a null pointer", nullptr, out, 64, 2.0F);
  refused("memory that the device cannot reach", static_cast<const float*>(static_cast<const void*>(&shop)), out, 64,
          2.0F);
  const auto* const odd = static_cast<const void*>(reinterpret_cast<const char*>(in) + 2);
  refused("'x', was given a pointer that is 2 bytes beyond a multiple of 4: elements of f32", odd, out, 64, 2.0F);
  refused("'x', has 16384 bytes, and this problem needs 20000", in, out, 5000, 2.0F);
  CHECK(holds(test::error_of([&] { kernel(nullptr, in, out, -1, 2.0F); }, ErrorKind::nothing_valid), "scale, N=-1"));
  CHECK(shop.runtime->launches().empty());
  const void* const any = in;
  kernel(nullptr, any, static_cast<void*>(out), 64, 2.0F);
  CHECK(shop.runtime->launches().size() == 1);
}

TEST_CASE("an unchecked call checks only the number of its arguments") {
  Shop shop;
  shop.settings.checked = false;
  const Kernel kernel = shop.kernel();
  kernel(nullptr, static_cast<const int*>(nullptr), nullptr, 64U, 2.0F);
  CHECK(shop.runtime->launches().size() == 1);
  CHECK(holds(test::error_of([&] { kernel(nullptr, 64); }, ErrorKind::invalid_argument), "was given 1"));
}

TEST_CASE("arguments that a call cannot pass are refused when loading") {
  Shop shop;
  Spec spec = shop.spec();
  spec.args.insert(spec.args.end(), 64, spec.args.front());
  CHECK(holds(test::error_of([&] { dispatch::ArgumentPlan plan(spec); }, ErrorKind::unsupported), "at most 64"));
}

TEST_CASE("constants are not passed, and scratch buffers are as large as the configuration asks") {
  Shop shop;
  Spec spec = shop.spec();
  const std::size_t passed = dispatch::ArgumentPlan(spec).passed_count();
  ArgSpec constant = spec.args.front();
  constant.name = "filter";
  constant.kind = ArgKind::constant;
  spec.args.insert(spec.args.begin() + 1, constant);
  ArgSpec scratch = spec.args.front();
  scratch.name = "work";
  scratch.role = ArgRole::scratch;
  spec.args.push_back(scratch);
  const dispatch::ArgumentPlan plan(spec);
  CHECK(plan.passed_count() == passed + 1);
  CHECK(plan.sizes({}).size() == spec.args.size() - 1);
  const auto bytes = plan.buffer_bytes(spec.cases.front(), {}, {4096});
  CHECK(bytes.back() == 4096);
  CHECK(plan.buffer_bytes(spec.cases.front(), {}, {}).back() == 0);
}

TEST_CASE("a kernel whose parameters are not the spec's is refused") {
  Shop shop;
  shop.runtime->parameter_bytes = {8, 8, 4};
  const Kernel kernel = shop.kernel();
  CHECK(holds(test::error_of([&] { shop.call(kernel, 64); }, ErrorKind::invalid_spec), "[8, 8, 4] bytes"));
}

}  // namespace xtune
