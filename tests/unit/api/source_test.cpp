// Tunables from a source and the arguments of a call.
#include "xtune/source.hpp"

#include <array>
#include <fstream>

#include "unit/api/tune_fixture.hpp"
#include "xtune/kernel.hpp"

namespace xtune::api_test {
namespace {

const std::string plain =
    "extern \"C\" __global__ void saxpy(const float* x, float* y, float a, int n) {\n"
    "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";
const std::vector<float> x(1000, 1.0f), y(1000, 2.0f);

template <class... Arguments>
std::string refused_call(const std::string& source, const SourceSettings& settings, const Arguments&... arguments) {
  return refused(ErrorKind::invalid_argument, [&] { from_source(source, settings, arguments...); });
}

const SourceSettings block{.params = {{"BLOCK", {32, 64}}}};

}  // namespace

TEST_CASE("a kernel is tuned for the arguments of a call, and its winner takes them") {
  SourceSettings settings = block;
  settings.tuning = host_settings();
  std::vector<std::string> lines;
  settings.tuning.on_log = [&](const std::string& line) { lines.push_back(line); };
  const Result result = tune(plain, settings, x, inout(y), 2.0f, static_cast<int>(x.size()));
  CHECK(result.kernel_name == "saxpy");
  CHECK(result.problem == Bindings{{"n", Value(1000)}});
  CHECK(result.best().config.contains("BLOCK"));
  CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return has(line, "guessed from source: block = [\"BLOCK\"]  # from the index");
  }));
  std::vector<float> own = y;
  result.kernel()(nullptr, x.data(), own.data(), 2.0f, 1000);
  CHECK(own == std::vector<float>(1000, 4.0f));
  // The same with parameters only, and the arrays as spans, arrays and memory of the device.
  const std::array<float, 3> few{1, 2, 3};
  const Tunable tunable =
      from_source(plain, {{"BLOCK", {32, 64}}}, std::span(few), inout(own.data(), 3), 2.0f, std::size_t{3});
  tunable.check_spec();
  CHECK(argument_names(tunable) == std::vector<std::string>{"x", "y", "a", "n"});
  const std::string toml = tunable.toml();
  INFO(toml);
  for (const char* line :
       {"entry = \"saxpy\"\n", "n = 3\n", "BLOCK = [32, 64]\n", "grid = [\"ceildiv(n, BLOCK)\"]  # guess: ",
        "block = [\"BLOCK\"]  # guess: ", "name = \"x\"\ndtype = \"f32\"\nshape = [\"n\"]\nrole = \"in\"\n",
        "shape = [\"n\"]\nrole = \"inout\"\n", "dtype = \"f32\"\nvalue = \"2.0\"\n", "dtype = \"i32\"\nvalue = \"n\"\n",
        "reference = { config = { BLOCK = 32 } }\n", "# attached to y: 12 bytes of device memory"})
    CHECK(has(toml, line));
}

TEST_CASE("a Tunable from a call can be changed, and loaded") {
  Tunable tunable = from_source(plain, block, x, inout(y), 2.0f, 1000);
  tunable.reference(saxpy_reference).constraint("BLOCK > 32").measure("rep", 3).metric("twice", "2 * time_ms");
  const Result result = tune(tunable, host_settings());
  CHECK(result.best().config.at("BLOCK") == Value(64));
  LoadSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  std::vector<float> own(10, 1.0f);
  load(tunable, settings)(nullptr, x.data(), own.data(), 3.0f, 10);
  CHECK(own == std::vector<float>(10, 4.0f));
}

TEST_CASE("shapes, types and launches of a call come from its arguments and settings") {
  const std::string matrix =
      "struct Pair { float a, b; };\n"
      "template <class T>\n"
      "__global__ void scale(const T* in, T* out, Pair pair, bool twice, int rows, int columns) {\n"
      "  const int row = blockIdx.y, column = blockIdx.x * WIDTH + threadIdx.x;\n"
      "  if (column < columns) out[row * columns + column] = in[row * columns + column] * pair.a * (twice ? 2 : 1);\n"
      "}\n"
      "__global__ void other(float* x) { x[0] = 1; }\n";
  struct Pair {
    float a = 3, b = 0;
  };
  SourceSettings settings{.params = {{"WIDTH", {32, 64}}}, .block = {"WIDTH"}};
  std::vector<double> in(6, 2.0), result(6);
  CHECK(has(refused_call(matrix, settings, in, out(result), Pair(), true, 2, 3),
            "source: several kernels were found: scale (line 3), other (line 7); entry chooses one"));
  settings.entry = "scale";
  settings.grid = {"ceildiv(columns, WIDTH)", "rows"};
  settings.constraints = {"WIDTH < 64"};
  Tunable tunable = from_source(matrix, settings, in, out(result), Pair(), true, 2, 3);
  INFO(tunable.toml());
  CHECK(has(tunable.toml(), "entry = \"scale<{T}>\""));
  CHECK(has(tunable.toml(), "T = \"double\""));
  CHECK(has(tunable.toml(), "dtype = \"f64\"\nshape = [\"rows\", \"columns\"]\nrole = \"out\""));
  tunable.reference([](const Arguments&) { return std::vector<double>(6, 12.0); });
  CHECK(tune(tunable, host_settings()).best().config.at("WIDTH") == Value(32));
}

TEST_CASE("arguments that a kernel does not take are named with its signature") {
  const std::string signature = "saxpy(const float* x, float* y, float a, int n)";
  CHECK(has(refused_call(plain, block, x, inout(y), 2.0f),
            "source:1: saxpy takes 4 arguments, and was given 3: " + signature));
  CHECK(has(refused_call(plain, block, x, y, 2.0f, 1000),
            "source:1: argument 2, 'y', of " + signature +
                " points to what the kernel may write, and was passed as an input: pass it as inout or as out"));
  CHECK(has(
      refused_call(plain, block, out(x), inout(y), 2.0f, 1000),
      "argument 1, 'x', of " + signature + " points to const, so the kernel cannot write it, and was passed as out"));
  CHECK(has(refused_call(plain, block, x, inout(y), x, 1000),
            "'a', of " + signature + " is a value and was given an array"));
  CHECK(has(refused_call(plain, block, 1, inout(y), 2.0f, 1000), "is a pointer and was given a value: pass an array"));
  CHECK(has(refused_call(plain, block, x, inout(y), 2.0f, 10.5),
            "'n', of " + signature + " is an integer and was given 10.5"));
  CHECK(has(refused_call(plain, block, std::vector<double>(1000), inout(y), 2.0f, 1000),
            "'x', of " + signature + " has elements of f32, and was given an array of f64"));
  CHECK(has(refused_call(plain, {.entry = "sapxy"}, x, inout(y), 2.0f, 1000),
            "no kernel 'sapxy' was found (did you mean 'saxpy'?)"));
  CHECK(has(refused(ErrorKind::io, [] { from_source("missing.cu", block, x); }), "missing.cu"));
}

TEST_CASE("what neither the source nor the settings show is asked for") {
  const std::string open =
      "extern \"C\" __global__ void walk(const float* x, float* y, int n) {\n"
      "  for (int i = blockIdx.x; i < n; i += STEP) y[i] = x[i];\n"
      "}\n";
  const std::string message = refused_call(open, {.params = {{"OTHER", {1, 2}}}}, x, inout(y), 1000);
  CHECK(has(message, "source: the source does not show all that a run needs. Give it (params, "));
  CHECK(has(message, "\n  STEP = \"?\"  # fill in: values to try; line 2 uses it"));
  const Tunable defined =
      from_source(open, {.params = {{"BLOCK", {32}}}, .defines = {{"STEP", 64}}}, x, inout(y), 1000);
  CHECK(has(defined.toml(), "STEP = \"64\""));
  const Tunable tunable =
      from_source(open, {.params = {{"STEP", {1, 2}}}, .grid = {"STEP * M"}, .block = {64}, .problem = {{"M", 4}}}, x,
                  inout(y), 1000);
  INFO(tunable.toml());
  CHECK(has(tunable.toml(), "M = 4\n"));
  tunable.check_spec();
}

}  // namespace xtune::api_test
