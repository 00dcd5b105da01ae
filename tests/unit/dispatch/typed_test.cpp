// Calls that the compiler refuses, and typed kernels, which are compared with the spec once.
#include <type_traits>

#include "unit/dispatch/shop.hpp"

namespace xtune {
namespace {

template <class Callable, class... Arguments>
constexpr bool takes = std::is_invocable_v<const Callable&, Arguments...>;

// Streams of CUDA and HIP and the default one; nothing that may be an argument.
static_assert(takes<Kernel, std::nullptr_t, const float*, float*, int, float>);
static_assert(takes<Kernel, CUstream_st*, const float*, float*, int, float>);
static_assert(takes<Kernel, ihipStream_t*, const float*, float*, int, float>);
static_assert(takes<Kernel, Stream, const float*, float*, int, float>);
static_assert(!takes<Kernel, const float*, float*, int, float>, "the stream is forgotten");
static_assert(!takes<Kernel, float*, float*, int, float>, "the stream is forgotten");
static_assert(!takes<Kernel, void*, float*, int, float>, "a device address is not a stream");
static_assert(!takes<Kernel, int, const float*, float*, int, float>);
static_assert(!std::is_default_constructible_v<Stream>);

using Scale = TypedKernel<void(const float*, float*, int, float)>;

static_assert(takes<Scale, std::nullptr_t, const float*, float*, int, float>);
static_assert(takes<Scale, std::nullptr_t, float*, float*, int, float>, "const is added");
static_assert(takes<Scale, std::nullptr_t, std::nullptr_t, float*, short, int>, "numbers convert as for any function");
static_assert(!takes<Scale, const float*, float*, int, float>, "the stream is forgotten");
static_assert(!takes<Scale, std::nullptr_t, const float*, float*, int>, "an argument is missing");
static_assert(!takes<Scale, std::nullptr_t, const float*, float*, int, float, int>, "an argument too many");
static_assert(!takes<Scale, std::nullptr_t, const float*, const float*, int, float>, "the kernel writes it");
static_assert(!takes<Scale, std::nullptr_t, const double*, float*, int, float>, "another element type");
static_assert(!takes<Scale, std::nullptr_t, float, float*, int, float>, "a number is not a buffer");

}  // namespace

TEST_CASE("a stream is passed on") {
  int memory = 0;
  CHECK(Stream(nullptr).handle() == nullptr);
  CHECK(Stream(reinterpret_cast<CUstream_st*>(&memory)).handle() == &memory);
  CHECK(Stream(reinterpret_cast<ihipStream_t*>(&memory)).handle() == &memory);
}

TEST_CASE("a typed kernel converts its arguments and launches") {
  Shop shop;
  const Scale scale(shop.kernel());
  CHECK(scale.name() == "scale");
  int memory = 0;
  scale(reinterpret_cast<CUstream_st*>(&memory), shop.x.data(), shop.y.data(), short{64}, 2);
  const fakes::FakeLaunchRecord launch = shop.runtime->launches().back();
  CHECK(launch.stream == &memory);
  CHECK(scale.choice({{"N", 64}}).config == scale.untyped().choice({{"N", 64}}).config);
  scale.prepare({{"N", 128}});
  scale.wait();
}

TEST_CASE("a typed kernel still checks what pointers lead to") {
  Shop shop;
  const Scale scale(shop.kernel());
  CHECK(holds(test::error_of([&] { scale(nullptr, nullptr, shop.y.data(), 64, 2.0F); }, ErrorKind::invalid_argument),
              "argument 1, 'x', was given a null pointer"));
}

TEST_CASE("a type that does not fit the spec is refused when the kernel is made") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  const auto refused = [&](auto make) { return test::error_of(make, ErrorKind::invalid_argument); };
  CHECK(holds(refused([&] { TypedKernel<void(const float*, float*, int)> typed(kernel); }), "takes 4 arguments"));
  CHECK(holds(refused([&] { TypedKernel<void(const float*, const float*, int, float)> typed(kernel); }),
              "argument 2, 'y', is written by the kernel"));
  CHECK(holds(refused([&] { TypedKernel<void(const double*, float*, int, float)> typed(kernel); }),
              "argument 1, 'x', is a buffer of f32"));
  CHECK(holds(refused([&] { TypedKernel<void(const float*, float*, int, double)> typed(kernel); }),
              "argument 4, 'factor', is a scalar of f32"));
  CHECK(holds(refused([&] { TypedKernel<void(const float*, float*, int)> typed(kernel); }),
              "the type of the typed kernel does not fit the spec"));
}

TEST_CASE("a kernel that checks nothing else checks its type") {
  Shop shop;
  shop.settings.checked = false;
  const Kernel kernel = shop.kernel();
  CHECK(holds(test::error_of([&] { TypedKernel<void(const double*, float*, int, float)> typed(kernel); },
                             ErrorKind::invalid_argument),
              "argument 1, 'x'"));
}

}  // namespace xtune
