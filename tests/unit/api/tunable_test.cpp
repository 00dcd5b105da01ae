// Tunables built in code: the resulting spec, errors, and how predicates restrict the space.
#include "xtune/tunable.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>

#include "api/tunable_state.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "unit/api/saxpy.hpp"

using namespace xtune::system;
using namespace xtune::space;
using namespace xtune::spec;

namespace xtune {
namespace {

using api_test::saxpy;
using test::has;

template <class Body>
std::string refused(ErrorKind kind, Body body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  FAIL("nothing was refused");
  return {};
}

TEST_CASE("shapes are one extent or several") {
  const auto texts = [](const Shape& shape) {
    std::string text;
    for (const Formula& extent : shape.extents()) text += extent.text() + ";";
    return text;
  };
  CHECK(texts("N") == "N;");
  CHECK(texts(std::string("N * 2")) == "N * 2;");
  CHECK(texts(std::size_t{1024}) == "1024;");
  CHECK(texts({"M", "N"}) == "M;N;");
  CHECK(texts({"M", 3, "K"}) == "M;3;K;");
  CHECK(texts(std::vector<Formula>{"M", "N"}) == "M;N;");
}

TEST_CASE("constants and scratch buffers are written as the spec has them") {
  Tunable tunable("typed");
  tunable.source("__constant__ float w[4]; __global__ void typed(int* s, float* y) {}")
      .problem("N", 8)
      .param("P", {1, 2})
      .grid({1})
      .block({1})
      .constant("w", std::vector<float>{1, 2, 3, 4}, 4)
      .scratch("s", DType::i32, {"N", "P"}, true)
      .output<float>("y", "N");
  const Spec spec = spec_of(tunable, "host");
  REQUIRE(spec.args.size() == 3);
  CHECK(spec.args[0].kind == ArgKind::constant);
  CHECK(spec.args[0].dtype == DType::f32);
  CHECK(spec.args[1].role == ArgRole::scratch);
  CHECK(spec.args[1].fill == Fill::zero);
  CHECK(has(tunable.toml(), "kind = \"constant\""));
  CHECK(has(tunable.toml(), "zero = true"));
}

TEST_CASE("what calls with arrays need not pass is written as the spec has it") {
  Tunable tunable("rules");
  tunable.source("__global__ void rules(const float* a, const float* bias, float* y, float scale, bool* flags) {}")
      .problem("N", 8)
      .problem("HAS_BIAS", false)
      .problem("FLIPPED", false)
      .param("P", {1, 2})
      .grid({1})
      .block({1})
      .input<float>("a", {"N", "N"}, {}, {.transposed = "FLIPPED"})
      .input("bias", DType::f32, "N", Fill::one, {.when = "HAS_BIAS"})
      .output<float>("y", "N")
      .scalar("scale", DType::f32, 2, 1)
      .inout<bool>("flags", "N", {}, {.when = "HAS_BIAS"});
  const Spec spec = spec_of(tunable, "host");
  CHECK(spec.args[0].transposed == "FLIPPED");
  CHECK(spec.args[1].when->text == "HAS_BIAS");
  CHECK(spec.args[1].fill == Fill::one);
  CHECK(spec.args[3].call_value->text == "1");
  CHECK(spec.args[4].when->text == "HAS_BIAS");
  CHECK(!spec.args[0].when);
}

TEST_CASE("structs, tables, sums and loops are written as the spec has them") {
  struct Params {
    std::int32_t n;
    float scale[3];
  };
  Tunable tunable("typed");
  tunable.source("__global__ void step() {}")
      .problem("N", 64)
      .param("P", {8, 16})
      .step({.entry = "step",
             .grid = {"i + 1"},
             .block = {32},
             .args = {"p", "q", "rows", "s", "by"},
             .repeat = "N // P",
             .with = {{"by", "i * P"}}})
      .structure("p", {{"n", DType::i32, {"N"}}, {"v", DType::f32, {0, 1, "P"}, 1, 3}, {.name = "to", .of = "x"}})
      .value("q", Params{3, {1, 2, 3}})
      .table("rows", {"x", "s"}, 2, "N // 2")
      .scratch("s", DType::f32, {"N"})
      .scalar("by", DType::i32, 0)
      .input<float>("x", "N")
      .sum("total", DType::f32, 1, "s");
  const Spec spec = spec_of(tunable, "host");
  REQUIRE(spec.args.size() == 7);
  CHECK(spec.args[0].kind == ArgKind::structure);
  CHECK(spec.args[0].value_bytes == 24);
  CHECK(spec.args[0].fields.at(1).lanes == 3);
  CHECK(spec.args[0].fields.at(1).at_byte == 4);
  CHECK(spec.args[0].fields.at(2).at_byte == 16);
  CHECK(spec.args[1].value_bytes == sizeof(Params));
  CHECK(spec.args[2].fields.at(1).of == "s");
  CHECK(spec.args[6].sum_of == "s");
  CHECK(spec.steps.at(0).repeat->index == "i");
  CHECK(spec.steps.at(0).with.at(0).second.text == "i * P");
}

TEST_CASE("a tensor map is written as the spec has it") {
  Tunable tunable("typed");
  tunable.source("__global__ void typed() {}")
      .problem("N", 64)
      .param("P", {8, 16})
      .grid({1})
      .block({1})
      .tensor_map("plain", "a", {.box = {"P", 4}})
      .tensor_map("all", "a",
                  {.box = {"P", "P"},
                   .swizzle = "P * 4",
                   .shape = {"N", 32},
                   .strides = {"N"},
                   .element_strides = {1, 1},
                   .l2_promotion = 256,
                   .interleave = 0,
                   .tf32 = true,
                   .nan_outside = true})
      .input<float>("a", {"N", "N"})
      .output<float>("y", "N")
      .kernel_args({"all", "plain", "y"})
      .reference_kernel("simple", {.args = {"a", "y"}});
  const Spec spec = spec_of(tunable, "host");
  REQUIRE(spec.args.size() == 4);
  CHECK(spec.args[0].kind == ArgKind::tensor_map);
  CHECK(spec.args[0].dtype == DType::f32);
  CHECK_FALSE(spec.args[0].map->swizzle);
  REQUIRE(spec.args[1].map);
  const TensorMapSpec& map = *spec.args[1].map;
  CHECK(map.of == "a");
  CHECK(map.box.at(1).text == "P");
  CHECK(map.swizzle->text == "P * 4");
  CHECK(map.shape.at(1).text == "32");
  CHECK(map.strides.at(0).text == "N");
  CHECK(map.element_strides.size() == 2);
  CHECK(map.l2_promotion->text == "256");
  CHECK(map.interleave->text == "0");
  CHECK(map.tf32);
  CHECK(map.nan_outside);
  CHECK(spec.validate.reference.args == std::vector<std::size_t>{2, 3});
  CHECK(spec.kernel.args == std::vector<std::size_t>{1, 0, 3});
}

TEST_CASE("arguments have the type and the shape that code gives") {
  Tunable tunable("typed");
  tunable.source("__global__ void typed() {}")
      .problem("N", 8)
      .param("P", {1})
      .grid({1})
      .block({1})
      .input<float>("a", "N", Fill::one)
      .input("b", std::vector<std::int16_t>(8), {"N / 2", 2})
      .inout<double>("c", {"N", "N"})
      .inout("d", std::vector<float>(8), "N")
      .output<bool>("e", 3)
      .input("f", DType::i32, "N", Data::integers(0, "N * 2"));
  const Spec spec = spec_of(tunable);
  REQUIRE(spec.args.size() == 6);
  CHECK(spec.args[5].fill == Fill::integers);
  REQUIRE(spec.args[5].numbers.size() == 2);
  CHECK(spec.args[5].numbers[1].text == "N * 2");
  tunable.data("f", Data(Fill::offsets, {"N"}));
  CHECK(spec_of(tunable).args[5].numbers.size() == 1);
  tunable.data("f", Fill::zero);
  CHECK(spec_of(tunable).args[5].numbers.empty());
  CHECK(spec.args[0].dtype == DType::f32);
  CHECK(spec.args[0].fill == Fill::one);
  CHECK(spec.args[1].dtype == DType::i16);
  CHECK(spec.args[1].shape.at(1).text == "2");
  CHECK(spec.args[2].dtype == DType::f64);
  CHECK(spec.args[2].role == ArgRole::inout);
  CHECK(spec.args[3].shape.at(0).text == "N");
  CHECK(spec.args[4].dtype == DType::boolean);
  CHECK(spec.args[4].role == ArgRole::out);
}

TEST_CASE("a spec built in code equals the one from a file") {
  Tunable tunable = saxpy();
  tunable.option("-O2")
      .option("host", "-fno-math-errno")
      .define("FOO", "BAR")
      .add_case({{"N", 64}})
      .add_case({{"N", 128}})
      .constraint("BLOCK * UNROLL <= 64")
      .reference_builtin("elementwise", {})
      .skip_validation()
      .tolerance(1e-3, 0.0)
      .search("evals", 3)
      .search("evals", 2)
      .metric("GB_per_s", "12 * N / time_s / 1e9")
      .minimize({"time_ms"})
      .dispatch_key({"pow2(N)"});
  const Spec spec = spec_of(tunable);
  CHECK(spec.kernel.name == "saxpy");
  CHECK(spec.kernel.entry.text == "saxpy");
  CHECK(spec.kernel.code->text == api_test::saxpy_source);
  REQUIRE(spec.kernel.options.size() == 1);
  CHECK(spec.kernel.options[0].text == "-O2");
  CHECK(spec.kernel.backend_options.at("host").at(0).text == "-fno-math-errno");
  CHECK(spec.kernel.defines.at(0).first == "FOO");
  CHECK(spec.cases == std::vector<Bindings>{{{"N", 64}}, {{"N", 128}}});
  REQUIRE(spec.parameters.size() == 2);
  CHECK(spec.parameters[0].name == "BLOCK");
  CHECK_FALSE(spec.parameters[0].compile_time);
  CHECK(spec.parameters[1].values == std::vector<Value>{std::int64_t{1}, std::int64_t{2}});
  CHECK(spec.constraints.at(0).text == "BLOCK * UNROLL <= 64");
  REQUIRE(spec.args.size() == 4);
  CHECK(spec.args[1].role == ArgRole::inout);
  CHECK(spec.args[2].dtype == DType::f32);
  CHECK(spec.args[2].value->text == "2.0");
  CHECK(spec.validate.reference.kind == ReferenceSpec::Kind::none);
  CHECK(spec.validate.rtol == 1e-3);
  CHECK(spec.search.evals == 2u);
  CHECK(spec.metrics.at(0).name == "GB_per_s");
  CHECK(spec.objective.goals.size() == 1);
  CHECK(spec.dispatch.key.at(0).text == "pow2(N)");
}

TEST_CASE("parameters of every type and range") {
  Tunable tunable = saxpy();
  tunable.param("FLAG", {true, false})
      .param("SCALE", {0.5, 2.0})
      .param("LAYOUT", {"row", "col\"umn"}, ParamKind::launch_only)
      .param("WIDE", std::vector<std::size_t>{1, 2})
      .param_range("R", 1, 7, 3)
      .param_pow2("P", 2, 16, ParamKind::launch_only);
  const Spec spec = spec_of(tunable);
  CHECK(spec.parameters.at(2).values == std::vector<Value>{true, false});
  CHECK(spec.parameters.at(3).values == std::vector<Value>{0.5, 2.0});
  CHECK(spec.parameters.at(4).values == std::vector<Value>{std::string("row"), std::string("col\"umn")});
  CHECK(spec.parameters.at(5).values.at(1) == Value(std::int64_t{2}));
  CHECK(spec.parameters.at(6).values.size() == 3);
  CHECK(spec.parameters.at(7).values.size() == 4);
  CHECK_FALSE(spec.parameters.at(7).compile_time);
}

TEST_CASE("references of every kind reach the spec") {
  Tunable tunable = saxpy();
  tunable.reference_kernel("naive", {.source = "// naive\n", .grid = {"ceildiv(N, 64)"}, .block = {64}});
  Spec spec = spec_of(tunable);
  CHECK(spec.validate.reference.kind == ReferenceSpec::Kind::kernel);
  CHECK(read_file(spec.validate.reference.source) == "// naive\n");
  CHECK(spec.validate.reference.launch->block.at(0).text == "64");
  tunable.reference_config({{"UNROLL", std::int64_t{2}}});
  CHECK(spec_of(tunable).validate.reference.config->at("UNROLL") == Value(std::int64_t{2}));
  CHECK(spec_of(tunable).validate.reference.config->at("BLOCK") == Value(std::int64_t{32}));
  tunable.reference_command({"python3", "make.py"});
  CHECK(spec_of(tunable).validate.reference.command.size() == 2);
  tunable.reference([](const Arguments&) { return Expected(); });
  CHECK(spec_of(tunable).validate.reference.kind == ReferenceSpec::Kind::given);
  tunable.skip_validation().validator([](const Arguments&) { return true; }, "v2");
  spec = spec_of(tunable);
  CHECK(spec.validate.reference.kind == ReferenceSpec::Kind::none);
  CHECK(spec.validate.reference.checked_by == "v2");
}

TEST_CASE("mistakes are refused with what and where") {
  const auto invalid = [](auto body) {
    return refused(ErrorKind::invalid_spec, [&] {
      Tunable tunable = saxpy();
      body(tunable);
      tunable.check_spec();
    });
  };
  CHECK(has(invalid([](Tunable& t) { t.grid({"ceildiv(M, 4)"}); }), "saxpy (built in code):"));
  CHECK(has(invalid([](Tunable& t) { t.grid({"ceildiv(M, 4)"}); }), "'M'"));
  CHECK(has(invalid([](Tunable& t) { t.param("BLOCK", {1}); }), "BLOCK"));
  CHECK(has(invalid([](Tunable& t) { t.param("EMPTY", std::vector<int>{}); }), "EMPTY has an empty list"));
  CHECK(has(invalid([](Tunable& t) { t.input("x", DType::f32, {"N"}); }), "duplicate argument 'x'"));
  CHECK(has(invalid([](Tunable& t) { t.measure("reps", 3); }), "rep"));
  CHECK(has(invalid([](Tunable& t) { t.output("z", DType::f32, {}); }), "1 to 8 dimensions"));
  CHECK(has(invalid([](Tunable& t) { t.source_file("/nowhere/saxpy.cu"); }), "/nowhere/saxpy.cu"));
  CHECK(has(refused(ErrorKind::invalid_spec, [] { Tunable("bare").param("P", {1}).check_spec(); }), "no source"));
  CHECK(has(refused(ErrorKind::invalid_spec, [] { Tunable("a\n/../b").param("P", {1}).check_spec(); }), "kernel.name"));

  const auto argument = [](auto body) { return refused(ErrorKind::invalid_argument, body); };
  CHECK(has(argument([] { saxpy().data("xx", Fill::zero).check_spec(); }),
            "not an input of the kernel (did you mean 'x'?)"));
  CHECK(has(argument([] { Data::device(nullptr, 16); }), "null"));
  CHECK(has(argument([] { saxpy().input("z", static_cast<DType>(99), {"N"}); }), "no DType 99"));
  CHECK(has(argument([] { Data::bytes(DType::f32, std::vector<std::byte>(6)); }), "6 bytes"));
  CHECK(has(argument([] { saxpy().problem("Z", ~std::uint64_t{0}); }), "64-bit signed"));
  CHECK(has(argument([] { saxpy().option("cudda", "-x"); }), "cudda"));
  CHECK(has(argument([] { saxpy().search("strategy", "anealing"); }), "(did you mean 'annealing'?)"));
  CHECK(has(argument([] { saxpy().validator(std::function<bool(const Arguments&)>()); }), "empty"));
  CHECK(has(argument([] { saxpy().reference_kernel("n", {.source_file = "a.cu", .source = "x"}); }), "exclude"));
  Tunable gone = saxpy();
  const Tunable there = std::move(gone);
  CHECK(has(argument([&] { gone.check_spec(); }), "moved from"));  // NOLINT(bugprone-use-after-move)
  CHECK(gone.name().empty());
}

TEST_CASE("copies are independent, and keep sources that were given as text") {
  std::unique_ptr<Tunable> first = std::make_unique<Tunable>(saxpy());
  Tunable second = *first;
  second.source("// other\n");
  CHECK(spec_of(*first).kernel.code->text == api_test::saxpy_source);
  const Tunable third = *first;
  first.reset();
  CHECK(spec_of(third).kernel.code->text == api_test::saxpy_source);
  CHECK(spec_of(second).kernel.code->text == "// other\n");
  CHECK(spec_of(Tunable::from_text(third.toml(), "/")).kernel.code->text == api_test::saxpy_source);
  CHECK(spec_of(second.source_file(__FILE__)).kernel.source == __FILE__);
}

TEST_CASE("a spec that was read takes data and callbacks, and nothing else") {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << "// k\n";
  const Tunable built = saxpy();
  std::string text = built.toml();
  std::ofstream(folder.path() / "saxpy.toml") << text;
  Tunable tunable = Tunable::from_file(folder.path() / "saxpy.toml", {{"N", std::int64_t{77}}});
  CHECK(tunable.name() == "saxpy");
  CHECK(spec_of(tunable).cases.front().at("N") == Value(std::int64_t{77}));
  tunable.data("x", Fill::one).validator([](const Arguments&) {});
  CHECK(spec_of(tunable).args.at(0).fill == Fill::one);
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tunable.param("Q", {1}); }), "saxpy.toml: change it there"));
  refused(ErrorKind::invalid_spec, [&] { Tunable::from_text("[kernel]\nnam = 1\n"); });
  refused(ErrorKind::io, [&] { Tunable::from_file(folder.path() / "none.toml"); });
}

TEST_CASE("predicates narrow the space, asked once for each combination of what they name") {
  Tunable tunable = saxpy();
  std::size_t calls = 0;
  tunable.constraint({"BLOCK"}, [&](const Bindings& values) {
    ++calls;
    return std::get<std::int64_t>(values.at("BLOCK")) * 16 == std::get<std::int64_t>(values.at("N"));
  });
  Spec spec = spec_of(tunable);
  apply_predicates(tunable, spec, {{"N", std::int64_t{1024}}}, {});
  CHECK(calls == 2);
  const Space space = make_space(spec, {{"N", std::int64_t{1024}}}, {});
  CHECK(space.size() == 2);
  for (std::uint64_t i = 0; i < space.size(); ++i) CHECK(space.at(i)[0] == Value(std::int64_t{64}));

  Tunable open = saxpy();
  open.constraint({}, [](const Bindings& values) { return values.contains("BLOCK") && !values.contains("NOPE"); },
                  {"BLOCK", "NOPE"});
  spec = spec_of(open);
  apply_predicates(open, spec, {{"N", std::int64_t{1024}}}, {});
  CHECK(make_space(spec, {{"N", std::int64_t{1024}}}, {}).size() == 4);

  spec = spec_of(tunable);
  CHECK(has(refused(ErrorKind::nothing_valid,
                    [&] {
                      apply_predicates(tunable, spec, {{"N", std::int64_t{7}}}, {});
                    }),
            "all 4"));
  tunable.constraint({"BLOK"}, [](const Bindings&) { return true; });
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { apply_predicates(tunable, spec, {}, {}); }), "'BLOCK'"));
  Tunable throwing = saxpy();
  throwing.constraint({"BLOCK"}, [](const Bindings&) -> bool { throw std::logic_error("mine"); });
  spec = spec_of(throwing);
  CHECK_THROWS_AS(apply_predicates(throwing, spec, {}, {}), std::logic_error);
}

TEST_CASE("predicates with arguments of their own types, of parameters and problem") {
  Tunable tunable = saxpy();
  tunable.param("FLAG", {true, false}).param("SCALE", {0.5, 2.0}).param("LAYOUT", {"row", "column"});
  std::size_t calls = 0;
  tunable.constraint({"UNROLL", "N", "FLAG", "SCALE", "LAYOUT"},
                     [&](int unroll, std::uint64_t n, bool flag, float scale, const std::string& layout) {
                       ++calls;
                       CHECK(n == 1024);
                       return unroll == 2 && flag && scale == 0.5f && layout == "row";
                     });
  Spec spec = spec_of(tunable);
  apply_predicates(tunable, spec, {{"N", std::int64_t{1024}}}, {});
  CHECK(calls == 16);
  CHECK(spec.configs.value().size() == 2);

  const auto complaint = [](auto predicate) {
    Tunable wrong = saxpy();
    wrong.param("LAYOUT", {"row", "column"}).param("BIG", {300}).constraint({"LAYOUT", "BIG"}, predicate);
    return refused(ErrorKind::invalid_argument, [&] {
      Spec its = spec_of(wrong);
      apply_predicates(wrong, its, {{"N", std::int64_t{1}}}, {});
    });
  };
  CHECK(has(complaint([](int, int) { return true; }), "LAYOUT: 'row' is not an integer"));
  CHECK(has(complaint([](const std::string&, signed char) { return true; }),
            "BIG: '300' is not an integer in the range"));
  CHECK(has(complaint([](const std::string&, bool) { return true; }), "BIG: '300' is not a boolean"));
  CHECK(has(refused(ErrorKind::invalid_argument, [] { saxpy().constraint({"BLOCK"}, [](int, int) { return true; }); }),
            "takes 2 values, and names has 1"));
}

TEST_CASE("of several references the last one counts") {
  Tunable tunable = saxpy();
  tunable.reference([](const Arguments&) { return Expected(); }).reference_builtin("elementwise", {});
  CHECK(tunable.toml().find("reference in code") == std::string::npos);
  CHECK(tunable.toml().find("elementwise") != std::string::npos);
}

TEST_CASE("any text survives the way through TOML") {
  CHECK(spec::toml_string("c1\xC2\x9B") == "\"c1\xC2\x9B\"");
  CHECK(has(refused(ErrorKind::invalid_argument, [] { saxpy().problem("MODE", "a\xff"); }),
            "problem: MODE: the value 'a\\xff' is not valid UTF-8"));
  CHECK(spec::toml_string("a\"\\\n\x7F") == "\"a\\\"\\\\\\u000a\\u007f\"");
  Tunable tunable = saxpy();
  tunable.define("TEXT", "\"quo\\ted\"");
  CHECK(spec_of(tunable).kernel.defines.at(0).second.text == "\"quo\\ted\"");
}

}  // namespace
}  // namespace xtune
