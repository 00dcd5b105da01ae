// Calls with arrays: sizes from shapes, types and layouts from arrays, and what contradicts itself is named.
#include "dispatch/array_call.hpp"

#include <doctest/doctest.h>

#include "support/error_of.hpp"
#include "unit/dispatch/shop.hpp"

namespace xtune {
namespace {

/// C = A * B + D, with what flagship kernels have: types, layouts, an input that not every call needs, a linear extent.
spec::Spec gemm_spec(const std::filesystem::path& folder) {
  return spec::parse_spec(
      "[kernel]\nname = \"gemm\"\nsource = \"scale.cu\"\n"
      "[problem]\nM = 4\nN = 5\nK = 6\nBATCH = 2\nTYPE = \"bf16\"\nOUT = \"f32\"\nTRANSPOSED_B = false\nSCALED = "
      "false\n"
      "PADDING = 1\n"
      "[derived]\nROWS = \"BATCH * M\"\n"
      "[space.params]\nBLOCK = [32]\n"
      "[launch]\ngrid = [1]\nblock = [\"BLOCK\"]\n"
      "[[args]]\nname = \"A\"\ndtype = \"{TYPE}\"\nshape = [\"ROWS\", \"K\"]\n"
      "[[args]]\nname = \"B\"\ndtype = \"{TYPE}\"\nshape = [\"N if TRANSPOSED_B else K\", \"K if TRANSPOSED_B else "
      "N\"]\n"
      "transposed = \"TRANSPOSED_B\"\n"
      "[[args]]\nname = \"C\"\ndtype = \"{OUT}\"\nshape = [\"ROWS\", \"N\"]\nrole = \"out\"\n"
      "default = \"'f16' if TYPE == 'f16' else OUT\"\n"
      "[[args]]\nname = \"D\"\ndtype = \"{OUT}\"\nshape = [\"ROWS if SCALED else 1\", \"N if SCALED else 1\"]\n"
      "when = \"SCALED\"\n"
      "[[args]]\nname = \"starts\"\ndtype = \"i32\"\nshape = [\"BATCH + 1\"]\n"
      "[[args]]\nname = \"m\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"M\"\n"
      "[[args]]\nname = \"alpha\"\nkind = \"scalar\"\ndtype = \"f32\"\nvalue = \"0.5\"\ndefault = 1\n"
      "[[args]]\nname = \"scale\"\nkind = \"scalar\"\ndtype = \"f64\"\nvalue = \"1 / K\"\n"
      "[[args]]\nname = \"block\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"BLOCK\"\n",
      "gemm.toml", folder);
}

struct Gemm {
  system::TemporaryDirectory folder;
  spec::Spec spec;
  std::unique_ptr<dispatch::ArgumentPlan> arguments;
  std::unique_ptr<dispatch::ArrayPlan> plan;
  std::uint64_t memory[8] = {};

  Gemm() {
    std::ofstream(folder.path() / "scale.cu") << "";
    spec = gemm_spec(folder.path());
    arguments = std::make_unique<dispatch::ArgumentPlan>(spec);
    plan = std::make_unique<dispatch::ArrayPlan>(spec, *arguments);
  }
  Array array(DType type, std::initializer_list<std::int64_t> shape) { return {memory, type, shape}; }
  /// By name.
  dispatch::SolvedCall solve(const std::map<std::string, Array>& arrays, const Bindings& words = {}) const {
    std::vector<const Array*> placed;
    for (const CallArgument& argument : plan->arguments())
      placed.push_back(arrays.contains(argument.name) ? &arrays.at(argument.name) : nullptr);
    return plan->solve(placed, words, {});
  }
  std::string refused(const std::map<std::string, Array>& arrays, const Bindings& words = {}) const {
    return test::error_of([&] { solve(arrays, words); }, ErrorKind::invalid_argument);
  }
};

}  // namespace

TEST_CASE("the problem of a call follows from its arrays, and outputs and scalars from the problem") {
  Gemm gemm;
  const Array a = gemm.array(DType::bf16, {12, 7}), b = gemm.array(DType::bf16, {7, 9}),
              starts = gemm.array(DType::i32, {4});
  const dispatch::SolvedCall call = gemm.solve({{"A", a}, {"B", b}, {"starts", starts}});
  CHECK(call.problem.at("BATCH") == Value(3));
  CHECK(call.problem.at("M") == Value(4));
  CHECK(call.problem.at("N") == Value(9));
  CHECK(call.problem.at("K") == Value(7));
  CHECK(call.problem.at("PADDING") == Value(1));  // no shape has it, so it is the spec's
  CHECK(call.problem.at("SCALED") == Value(false));
  CHECK(call.types == Bindings{{"TYPE", "bf16"}, {"OUT", "f32"}});
  REQUIRE(call.outputs.size() == 1);
  CHECK(call.outputs[0].shape == std::vector<std::int64_t>{12, 9});
  CHECK(call.outputs[0].dtype == DType::f32);
  REQUIRE(call.sources.size() == 8);  // all but the one that xtune fills
  CHECK(call.sources[3].is_absent);
  std::int32_t m = 0;
  std::memcpy(&m, call.sources[5].value.data(), 4);
  CHECK(m == 4);
  float alpha = 0;
  std::memcpy(&alpha, call.sources[6].value.data(), 4);
  CHECK(alpha == 1.0F);
  double scale = 0;
  std::memcpy(&scale, call.sources[7].value.data(), 8);
  CHECK(scale == 1.0 / 7);
}

TEST_CASE("types, layouts and inputs that are passed decide on words of the problem") {
  Gemm gemm;
  const Array a = gemm.array(DType::f16, {2, 7}), b = gemm.array(DType::f16, {9, 7}),
              d = gemm.array(DType::f16, {2, 9}), starts = gemm.array(DType::i32, {2});
  const dispatch::SolvedCall call = gemm.solve({{"A", a}, {"B", b.transposed()}, {"D", d}, {"starts", starts}});
  CHECK(call.problem.at("TRANSPOSED_B") == Value(true));
  CHECK(call.problem.at("N") == Value(9));
  CHECK(call.problem.at("SCALED") == Value(true));
  CHECK(call.types == Bindings{{"TYPE", "f16"}, {"OUT", "f16"}});
  CHECK(call.outputs[0].dtype == DType::f16);
  const dispatch::SolvedCall without = gemm.solve({{"A", a}, {"B", b.transposed()}, {"starts", starts}});
  CHECK(without.outputs[0].dtype == DType::f16);  // by the output's default
  const dispatch::SolvedCall word =
      gemm.solve({{"A", a}, {"B", b.transposed()}, {"starts", starts}}, {{"OUT", "f32"}, {"PADDING", Value(3)}});
  CHECK(word.outputs[0].dtype == DType::f32);
  CHECK(word.problem.at("PADDING") == Value(3));
  const Array bits = gemm.array(DType::u16, {2, 7}), other = gemm.array(DType::u16, {7, 9});
  CHECK(gemm.solve({{"A", bits}, {"B", other}, {"starts", starts}}).types.at("TYPE") == Value("bf16"));
}

TEST_CASE("what contradicts itself or is missing in a call with arrays is named") {
  Gemm gemm;
  const Array a = gemm.array(DType::bf16, {12, 7}), b = gemm.array(DType::bf16, {7, 9}),
              starts = gemm.array(DType::i32, {4});
  const auto holds = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(holds(gemm.refused({{"A", a}, {"B", gemm.array(DType::bf16, {8, 9})}, {"starts", starts}}),
              "gemm: 'B' has 8 elements in dimension 1, and N if TRANSPOSED_B else K is 7: K = 7 by 'A'"));
  CHECK(holds(gemm.refused({{"A", a}, {"B", gemm.array(DType::f16, {7, 9})}, {"starts", starts}}),
              "'B' is of f16, so TYPE = f16, but 'A' says bf16"));
  CHECK(holds(gemm.refused({{"A", a}, {"starts", starts}}), "argument 'B' is missing"));
  CHECK(holds(gemm.refused({{"A", a}, {"B", b}, {"starts", gemm.array(DType::i64, {4})}}),
              "'starts' is a buffer of i32 and was given an array of i64"));
  CHECK(holds(gemm.refused({{"A", gemm.array(DType::bf16, {12})}, {"B", b}, {"starts", starts}}),
              "'A' has the shape (12), and the kernel takes 2 dimensions (ROWS, K)"));
  CHECK(holds(gemm.refused({{"A", gemm.array(DType::bf16, {7, 12}).transposed()}, {"B", b}, {"starts", starts}}),
              "'A' is a transposed view, and the kernel takes it only in C order"));
  CHECK(holds(gemm.refused({{"A", gemm.array(DType::bf16, {11, 7})}, {"B", b}, {"starts", starts}}), "'A'"));
  CHECK(holds(gemm.refused({{"A", a}, {"B", b}, {"starts", starts}}, {{"SCALED", Value(true)}}),
              "argument 'D' is missing, which SCALED needs"));
  CHECK(
      holds(gemm.refused({{"A", a}, {"B", b}, {"starts", starts}}, {{"PADING", Value(1)}}), "did you mean 'PADDING'"));
  CHECK(holds(gemm.refused({{"A", a}, {"B", b}, {"starts", starts}}, {{"K", Value(8)}}), "K = 8 by the call"));
  Array strided = gemm.array(DType::bf16, {12, 7});
  strided.strides[0] = 8;
  CHECK(holds(gemm.refused({{"A", strided}, {"B", b}, {"starts", starts}}), "'A' is not contiguous"));
  Array constant = gemm.array(DType::f32, {12, 9});
  constant.is_writable = false;
  CHECK(holds(gemm.refused({{"A", a}, {"B", b}, {"C", constant}, {"starts", starts}}), "'C' is written by the kernel"));
}

TEST_CASE("a size that shapes do not tell is asked for, and never the spec's") {
  Shop shop;
  const auto refused = [&](const std::string& shape, const Bindings& words = {}) {
    spec::Spec spec = shop.spec();
    spec.args[0].shape = {spec::Text{shape, {}}};
    spec.args[1].shape = {spec::Text{"64", {}}};
    const dispatch::ArgumentPlan arguments(spec);
    const dispatch::ArrayPlan plan(spec, arguments);
    const Array x(shop.x.data(), {64}), y(shop.y.data(), {64});
    const Array* const arrays[] = {&x, &y, nullptr};
    return test::error_of([&] { plan.solve(arrays, words, {}); }, ErrorKind::invalid_argument);
  };
  CHECK(refused("ceildiv(N, 8)").find("the shapes do not tell N: 'x' has ceildiv(N, 8) = 64: pass N=...") !=
        std::string::npos);
  CHECK(refused("2 * N + 1").find("do not tell N") != std::string::npos);
  CHECK(refused("N % 64").find("do not tell N") != std::string::npos);
  CHECK(refused("N if N < 8 else 2 * N").find("do not tell N") != std::string::npos);
  CHECK(refused("N * N").find("do not tell N") != std::string::npos);
}

TEST_CASE("inputs that share a layout agree on it, unless the call says it") {
  Gemm gemm;
  gemm.spec.args[0].transposed = "TRANSPOSED_B";
  const Array a = gemm.array(DType::bf16, {4, 4}), starts = gemm.array(DType::i32, {2});
  const std::string text = gemm.refused({{"A", a.transposed()}, {"B", a}, {"starts", starts}});
  CHECK(text.find("'B' is in C order, so TRANSPOSED_B = false, but 'A' says true") != std::string::npos);
  CHECK(gemm.solve({{"A", a}, {"B", a}, {"starts", starts}}, {{"TRANSPOSED_B", Value(true)}})
            .problem.at("TRANSPOSED_B") == Value(true));
}

TEST_CASE("a call with arrays launches what a call with all arguments does") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  kernel(nullptr, Array(static_cast<const float*>(shop.x.data()), {64}), Array(shop.y.data(), {64}));
  const fakes::FakeLaunchRecord launch = shop.runtime->launches().back();
  const fakes::FakeLaunchRecord same = shop.call(kernel, 64, 2.0F);
  CHECK(launch.parameters == same.parameters);
  CHECK(launch.launch.grid == same.launch.grid);
  kernel.call(nullptr, {{"y", Array(shop.y.data(), {64})}, {"x", Array(shop.x.data(), {64})}, {"factor", 3.0}});
  CHECK(shop.runtime->launches().back().parameters == shop.call(kernel, 64, 3.0F).parameters);
  CHECK(test::error_of([&] { kernel(nullptr, Array(shop.x.data(), {64})); }, ErrorKind::invalid_argument)
            .find("takes the arrays x, y, and was given 1") != std::string::npos);
  CHECK(test::error_of(
            [&] {
              kernel.call(nullptr, {{"x", 3.0}});
            },
            ErrorKind::invalid_argument)
            .find("'x' is an array of f32 and was given 3") != std::string::npos);
  // Words that read alike are not alike.
  const Array x(shop.x.data(), {64}), y(shop.y.data(), {64});
  const Array* const arrays[] = {&x, &y, nullptr};
  kernel.solve(arrays, {{"N", Value(64)}});
  CHECK(test::error_of(
            [&] {
              kernel.solve(arrays, {{"N", "64"}});
            },
            ErrorKind::invalid_argument)
            .find("string") != std::string::npos);
  const Kernel fixed = kernel.for_problem({{"N", Value(32)}});
  CHECK(test::error_of([&] { fixed(nullptr, Array(shop.x.data(), {64}), Array(shop.y.data(), {64})); },
                       ErrorKind::invalid_argument)
            .find("N = 32 by the call") != std::string::npos);
}

TEST_CASE("a name of the problem is never a scalar's") {
  Gemm gemm;
  spec::Spec spec = spec::parse_spec(
      "[kernel]\nname = \"gemm\"\nsource = \"scale.cu\"\n[problem]\nN = 4\nalpha = 0.5\nPARTS = 1\n"
      "[space.params]\nBLOCK = [32]\n[launch]\ngrid = [1]\nblock = [\"BLOCK\"]\n"
      "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"inout\"\n"
      "[[args]]\nname = \"factor\"\nkind = \"scalar\"\ndtype = \"f32\"\nvalue = \"alpha\"\n"
      "[[args]]\nname = \"PARTS\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"2 * PARTS\"\n",
      "gemm.toml", gemm.folder.path());
  const dispatch::ArgumentPlan arguments(spec);
  const dispatch::ArrayPlan plan(spec, arguments);
  REQUIRE(plan.arguments().size() == 1);
  const Array x = gemm.array(DType::f32, {3});
  const Array* const arrays[] = {&x};
  const dispatch::SolvedCall call = plan.solve(arrays, {{"PARTS", Value(3)}, {"alpha", Value(2.0)}}, {});
  CHECK(call.problem == Bindings{{"N", Value(3)}, {"alpha", Value(2.0)}, {"PARTS", Value(3)}});
  float factor = 0;
  std::int32_t parts = 0;
  std::memcpy(&factor, call.sources[1].value.data(), 4);
  std::memcpy(&parts, call.sources[2].value.data(), 4);
  CHECK(factor == 2.0F);
  CHECK(parts == 6);
}

TEST_CASE("a call whose outputs are empty does nothing, and other empty arrays without a configuration are named") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  const Array x(shop.x.data(), {0}), y(shop.y.data(), {0});
  kernel(nullptr, x, y);
  const Named named[] = {{"x", x}};
  kernel.prepare_call(named);
  CHECK(shop.runtime->launches().empty());
  shop.more = "[[args]]\nname = \"z\"\ndtype = \"f32\"\nshape = [4]\nrole = \"inout\"\n";
  shop.runtime->parameter_bytes = {8, 8, 4, 4, 4, 8};
  const Kernel other = shop.kernel();
  const std::string text =
      test::error_of([&] { other(nullptr, x, y, Array(shop.x.data(), {4})); }, ErrorKind::invalid_argument);
  CAPTURE(text);
  CHECK(text.starts_with(
      "scale: no configuration runs with an empty array, 'x' with the shape (0), 'y' with the shape (0): "));
}

TEST_CASE("what a kernel writes does not overlap other arrays, unless it is the same one") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  float* const memory = shop.x.data();
  const auto refused = [&](float* x, float* y) {
    return test::error_of([&] { kernel(nullptr, Array(x, {64}), Array(y, {64})); }, ErrorKind::invalid_argument);
  };
  CHECK(refused(memory, memory + 1) ==
        "scale: 'y', which the kernel writes, overlaps 'x' in memory: pass a copy of one of them");
  shop.runtime->memory[memory + 63] = shop.runtime->memory[memory + 64] = 1024;
  CHECK(!refused(memory + 63, memory).empty());
  kernel(nullptr, Array(memory, {64}), Array(memory + 64, {64}));
  kernel(nullptr, Array(memory, {64}), Array(memory, {64}));
  CHECK(shop.runtime->launches().size() == 2);
  shop.settings.checked = false;
  shop.kernel()(nullptr, Array(memory, {64}), Array(memory + 1, {64}));
  CHECK(shop.runtime->launches().size() == 3);
}

TEST_CASE("memory that is gone and a stream of another context are named") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  const Array x(shop.x.data(), {64}), y(shop.y.data(), {64});
  shop.runtime->memory.erase(shop.x.data());
  CHECK(test::error_of([&] { kernel(nullptr, x, y); }, ErrorKind::invalid_argument) ==
        "scale: argument 1, 'x', was given a pointer to memory that the device cannot reach: pass a device pointer");
  shop.runtime->memory[shop.x.data()] = 100;
  CHECK(test::error_of(
            [&] {
              kernel.call(nullptr, {{"x", x}, {"y", y}});
            },
            ErrorKind::invalid_argument) == "scale: argument 1, 'x', has 100 bytes, and this problem needs 256");
  shop.runtime->memory[shop.x.data()] = 256;
  shop.runtime->status = 400;
  CHECK(test::error_of([&] { kernel(nullptr, x, y); }, ErrorKind::unavailable) == "launching scale: FAKE_400");
  shop.runtime->has_foreign_streams = true;
  CHECK(test::error_of([&] { kernel(nullptr, x, y); }, ErrorKind::unavailable) ==
        "launching scale: FAKE_400. The stream belongs to another context than the thread's current one");
}

}  // namespace xtune
