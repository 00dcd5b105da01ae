// A result's winner as a callable: from the run that found it, and from a directory.
#include "xtune/kernel.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "core/store/bundle.hpp"
#include "fakes/environment_variable.hpp"
#include "unit/api/tune_fixture.hpp"
#include "xtune/lookup.hpp"

using namespace xtune::base;
using namespace xtune::system;

namespace xtune {
namespace {

using namespace api_test;

/// y = a * x + y with an argument that depends on the configuration, and a size that no argument gives.
Tunable stepped() {
  Tunable tunable("stepped");
  tunable
      .source(
          "extern \"C\" __global__ void stepped(const float* x, float* y, int step, float a, int n) {\n"
          "  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * step;\n"
          "  for (int i = first; i < first + step; ++i)\n"
          "    if (i < n * ROWS) y[i] = a * x[i] + y[i];\n"
          "}\n")
      .problem("N", 100)
      .problem("ROWS", 3)
      .param("STEP", {1, 4}, ParamKind::launch_only)
      .define("ROWS", 3)
      .grid({"ceildiv(N * ROWS, 32 * STEP)"})
      .block({"32"})
      .input("x", DType::f32, {"ROWS", "N"})
      .inout("y", DType::f32, {"ROWS", "N"})
      .scalar("step", DType::i32, "STEP")
      .scalar("a", 2.0f)
      .scalar("n", DType::i32, "N")
      .measure("rep", 5)
      .measure("max_time_ms", 5);
  return tunable;
}

void check_call(const Kernel& kernel) {
  std::vector<float> x(300), y(300, 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  kernel(nullptr, static_cast<const float*>(x.data()), y.data(), 3.0f, 100);
  std::size_t right = 0;
  for (std::size_t i = 0; i < y.size(); ++i) right += y[i] == 3.0f * x[i] + 1.0f;
  CHECK(right == y.size());
}

TEST_CASE("a frozen kernel writes nothing into the default store, even if it has to compile") {
  const TemporaryDirectory folder;
  TuneSettings settings = host_settings();
  settings.store = folder.path() / "store";
  REQUIRE(tune(stepped(), settings).found());
  std::filesystem::remove_all(settings.store / "artifacts");
  LoadSettings frozen;
  frozen.backend = "host";
  frozen.bundle = folder.path() / "stepped.xtune";
  frozen.frozen = true;
  store::write_bundle(settings.store, frozen.bundle, {});
  const Variable cache("XTUNE_CACHE_DIR", (folder.path() / "none").string());
  const Kernel kernel = load(stepped(), frozen).for_problem({{"ROWS", Value(3)}});
  CHECK(kernel.choice({{"N", Value(100)}}).kind == Choice::Kind::exact);
  check_call(kernel);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "none"));
  LookupSettings lookup;
  lookup.backend = "host";
  lookup.bundle = frozen.bundle;
  lookup.frozen = true;
  CHECK(best(stepped(), {}, lookup).kind == Choice::Kind::exact);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "none"));
}

std::string without_program(const std::function<void()>& body) {
  setenv("XTUNE_PROGRAM", "/nowhere/xtune", 1);
  std::string failure;
  try {
    body();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  unsetenv("XTUNE_PROGRAM");
  return failure;
}

TEST_CASE("the winner is called as it was measured, with no compiler and no store") {
  TuneSettings settings = host_settings();
  SUBCASE("STEP = 1") { settings.configs = {{{"STEP", Value(1)}}}; }
  SUBCASE("STEP = 4") { settings.configs = {{{"STEP", Value(4)}}}; }
  SUBCASE("nothing kept") { settings.keep = false; }
  const Result result = tune(stepped(), settings);
  REQUIRE(result.found());
  CHECK(without_program([&] { check_call(result.kernel()); }) == "");
  CHECK(without_program([&] { check_call(result.kernel(false)); }) == "");

  const TemporaryDirectory folder;
  result.save(folder.path());
  const Result loaded = Result::load(folder.path());
  CHECK(without_program([&] { check_call(loaded.kernel()); }) == "");
  const Choice choice = loaded.kernel().choice({{"N", Value(100)}});
  CHECK(choice.kind == Choice::Kind::exact);
  CHECK(choice.config == result.best().config);
  CHECK(choice.measured_for == result.problem);
  CHECK(loaded.kernel().choice().measured_for == result.problem);  // the sizes are the result's own
  loaded.kernel().prepare();
}

TEST_CASE("a winner of several steps is called as it was measured, also after it was saved") {
  Tunable tunable("twice");
  tunable
      .source(
          "extern \"C\" __global__ void double_it(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n"
          "extern \"C\" __global__ void add(float* y, float a) { y[threadIdx.x] += a * TIMES; }\n")
      .param("TIMES", {3})
      .step({.entry = "double_it", .grid = {1}, .block = {8}, .args = {"x", "work"}})
      .step({.entry = "double_it", .grid = {1}, .block = {8}, .args = {"work", "y"}})
      .step({.entry = "add", .grid = {1}, .block = {8}, .args = {"y", "a"}, .when = "TIMES > 1"})
      .step({.entry = "add", .grid = {1}, .block = {8}, .args = {"y", "a"}, .when = "TIMES > 5", .shared = 16})
      .input<float>("x", 8)
      .output<float>("y", 8)
      .scratch("work", DType::f32, 8)
      .scalar("a", 0.5f)
      .measure("rep", 3)
      .measure("min_rep", 3)
      .reference([](const Arguments& arguments) {
        std::vector<float> y;
        for (const float value : arguments.input("x").as<float>()) y.push_back(4 * value + 1.5f);
        return Expected(y);
      });
  const Result result = tune(tunable, host_settings());
  REQUIRE(result.found());
  REQUIRE(result.binary->steps.size() == 3);
  CHECK(result.binary->entry_symbol.empty());
  CHECK(result.binary->steps[1].arguments == std::vector<std::string>{"work", "y"});
  const TemporaryDirectory folder;
  result.save(folder.path());
  const Result loaded = Result::load(folder.path());
  CompileSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  const std::vector<CompiledConfig> compiled = compile_all(tunable, {{{"TIMES", Value(3)}}}, settings);
  REQUIRE(compiled.at(0).outcome == Outcome::ok);
  for (const Kernel& kernel : {result.kernel(), loaded.kernel(), compiled[0].kernel()}) {
    const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<float> y(8), work(8);
    kernel(nullptr, x.data(), y.data(), work.data(), 0.5f);
    CHECK(y == std::vector<float>{5.5f, 9.5f, 13.5f, 17.5f, 21.5f, 25.5f, 29.5f, 33.5f});
    std::vector<float> again(8);
    kernel(nullptr, x.data(), again.data(), 0.5f);  // with the library's scratch
    CHECK(again == y);
  }
}

TEST_CASE("a winner's kernel is only for its problem, and others are an error") {
  const Result result = tune(stepped(), host_settings());
  const Kernel kernel = result.kernel();
  CHECK(kernel.name() == "stepped");
  std::vector<float> x(300), y(300);
  const float* const in = x.data();
  const auto wrong = [&](const std::function<void()>& body) { return refused(ErrorKind::invalid_argument, body); };
  const std::string other = wrong([&] { kernel(nullptr, in, y.data(), 1.0f, 99); });
  CHECK(has(other, "winner for N=100"));
  CHECK(has(other, "not for N=99"));
  CHECK(has(wrong([&] { kernel.for_problem({{"ROWS", Value(4)}})(nullptr, in, y.data(), 1.0f, 100); }), "ROWS=4"));
  CHECK(has(wrong([&] { kernel.prepare({{"N", Value(7)}}); }), "N=7"));
  CHECK(has(wrong([&] { kernel.choice({{"N", Value(7)}}); }), "N=7"));
  CHECK(has(wrong([&] { kernel(nullptr, in, y.data(), 1.0f); }), "takes 4 arguments (x, y, a, n)"));
  CHECK(has(wrong([&] { kernel(nullptr, in, in, 1.0f, 100); }), "pointer to const"));
  CHECK(has(wrong([&] { kernel(nullptr, in, y.data(), 1.0, 100); }), "scalar of f32"));
  CHECK(has(wrong([&] { kernel(nullptr, in, static_cast<float*>(nullptr), 1.0f, 100); }), "null"));
  kernel.prepare({{"N", Value(100)}});
  check_call(kernel);
}

TEST_CASE("a result holds structs by value, those of the caller and those that follow from the configuration") {
  const std::string spec = R"(
[kernel]
name = "own"
code = '''
struct P { float a; int n; };
struct Q { int step; };
extern "C" __global__ void own(float* x, P p, Q q) { x[threadIdx.x] = p.a * p.n + q.step; }
'''
entry = "own"
[problem]
N = 4
[launch]
grid = [1]
block = ["N"]
[space.params]
STEP = [7]
[[args]]
name = "x"
dtype = "f32"
shape = ["N"]
role = "out"
[[args]]
name = "p"
fields = [{ name = "a", dtype = "f32", value = 0.5 }, { name = "n", dtype = "i32", value = "N" }]
[[args]]
name = "q"
fields = [{ name = "step", dtype = "i32", value = "STEP" }]
)";
  const Result result = tune(Tunable::from_text(spec), host_settings());
  const TemporaryDirectory folder;
  result.save(folder.path());
  for (const Result& each : {result, Result::load(folder.path())}) {
    struct {
      float a;
      int n;
    } p{3, 4};
    std::vector<float> x(4);
    each.kernel()(nullptr, x.data(), p);
    CHECK(x == std::vector<float>(4, 19.0F));
    p.n = 5;
    CHECK(has(refused(ErrorKind::invalid_argument, [&] { each.kernel()(nullptr, x.data(), p); }), "N=5"));
  }
  const std::string text = spec.substr(0, spec.find("[[args]]\nname = \"p\"")) +
                           "[[args]]\nname = \"p\"\nfields = [{ name = \"a\", of = \"x\" }]\n"
                           "[[args]]\nname = \"q\"\ndtype = \"i32\"\nvalue = 1\n";
  const std::string code = "float a; int n; };", addresses = "float* a; };";
  std::string other = text;
  other.replace(other.find(code), code.size(), addresses);
  const std::string body = "x[threadIdx.x] = p.a * p.n + q.step;";
  other.replace(other.find(body), body.size(), "p.a[threadIdx.x] = STEP;");
  const std::string why =
      refused(ErrorKind::unavailable, [&] { tune(Tunable::from_text(other), host_settings()).kernel(); });
  CHECK(has(why, "no binary of its winner: a result does not hold arguments with addresses of buffers, such as 'p'"));
}

TEST_CASE("without a winner or a binary, or with one of another machine, there is a clear error") {
  CHECK(has(refused(ErrorKind::nothing_valid, [] { Result().kernel(); }), "no configuration"));
  Result result = tune(stepped(), host_settings());
  Result bare = result;
  bare.binary.reset();
  CHECK(has(refused(ErrorKind::unavailable, [&] { bare.kernel(); }),
            "no binary of its winner: the directory it was saved to has none. Load the kernel from its spec"));

  std::vector<float> x(300), y(300);
  const auto call = [&] { result.kernel()(nullptr, static_cast<const float*>(x.data()), y.data(), 1.0f, 100); };
  const WinningKernel good = *result.binary;
  result.binary->binary = "not a library";
  CHECK(has(refused(ErrorKind::unavailable, call), "was compiled for " + good.arch));
  *result.binary = good;
  result.binary->grid = {1};
  CHECK(has(refused(ErrorKind::invalid_argument, call), "three extents"));
  *result.binary = good;
  result.binary->arguments.pop_back();
  CHECK_THROWS_AS(call(), Error);
  *result.binary = good;
  result.binary->arguments.at(2).filled = Value("four");
  CHECK(has(refused(ErrorKind::invalid_argument, call), "'step' of i32 cannot be four"));
  *result.binary = good;
  result.binary->arguments.at(4).value = "N +";
  CHECK(has(refused(ErrorKind::invalid_argument, call), "'n' has the value \"N +\""));
  *result.binary = good;
  result.binary->arguments.at(0).kind = WinningArgument::Kind::tensor_map;
  CHECK(has(refused(ErrorKind::invalid_argument, call), "the tensor map 'x' has no description"));
  result.binary->arguments.at(0).map.emplace();
  CHECK(has(refused(ErrorKind::invalid_argument, call), "the tensor map 'x': shape [] has 0 dimensions"));
  *result.binary = good;
  result.device.backend = "abacus";
  CHECK(has(refused(ErrorKind::invalid_argument, call), "abacus"));
}

}  // namespace
}  // namespace xtune
