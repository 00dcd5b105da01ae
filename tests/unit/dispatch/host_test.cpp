// Real kernels on the host backend: from a store that `xtune run` filled, and captured to be run elsewhere.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/cli.hpp"
#include "cli/steps.hpp"
#include "core/validate/npy.hpp"
#include "fakes/environment_variable.hpp"
#include "unit/dispatch/shop.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::validate;

namespace xtune {
namespace {

namespace fs = std::filesystem;

/// y = a * x + y over N elements; its source includes a header beside it.
struct Axpy {
  cli_test::Cli cli;
  std::string spec;

  Axpy() {
    fs::create_directories(cli.path("kernels/common"));
    cli.write("kernels/common/index.cuh",
              "__device__ inline int index() { return blockIdx.x * blockDim.x + threadIdx.x; }\n");
    cli.write("kernels/axpy.cu",
              "#include \"common/index.cuh\"\n"
              "extern \"C\" __global__ void axpy(const float* x, float* y, int n, float a, int step) {\n"
              "  for (int i = index() * step; i < n && i < (index() + 1) * step; ++i) y[i] += a * x[i];\n"
              "}\n");
    spec = cli.write("axpy.toml",
                     "[kernel]\nname = \"axpy\"\nsource = \"kernels/axpy.cu\"\n"
                     "[problem]\nN = 4096\n[[cases]]\nN = 4096\n[[cases]]\nN = 1000\n"
                     "[space]\nconstraints = [\"BLOCK * STEP <= 256\"]\n"
                     "[space.params]\nBLOCK = [32, 64, 128]\nSTEP = { values = [1, 4], compile_time = false }\n"
                     "[launch]\ngrid = [\"ceildiv(N, BLOCK * STEP)\"]\nblock = [\"BLOCK\"]\n"
                     "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n"
                     "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"inout\"\n"
                     "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                     "[[args]]\nname = \"a\"\nkind = \"scalar\"\ndtype = \"f32\"\nvalue = \"2.0\"\n"
                     "[[args]]\nname = \"step\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"STEP\"\n"
                     "[measure]\nflush = \"none\"\nrep = 5\nmin_rep = 3\n[on.host.problem]\nN = 4096\n");
  }
  LoadSettings settings() const {
    LoadSettings settings;
    settings.backend = "host";
    settings.store = cli.path("cache");
    return settings;
  }
};

std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = step * static_cast<float>(i);
  return values;
}

}  // namespace

TEST_CASE("host: a program runs what xtune run found, from several threads, without a compiler") {
  const Axpy axpy;
  REQUIRE(axpy.cli.run(axpy.spec).exit_code == 0);
  LoadSettings settings = axpy.settings();
  settings.compile = false;
  const Kernel kernel = load(fs::path(axpy.spec), settings);
  const Choice choice = kernel.choice({{"N", std::int64_t{1000}}});
  CHECK(choice.kind == Choice::Kind::exact);
  CHECK(kernel.choice({{"N", std::int64_t{3000}}}).kind == Choice::Kind::nearest);
  std::vector<std::thread> threads;
  for (const std::size_t n : {1000u, 4096u, 3000u})
    threads.emplace_back([&kernel, n] {
      const std::vector<float> x = ramp(n, 1);
      std::vector<float> y = ramp(n, 0.5F);
      for (int i = 0; i < 5; ++i) kernel(nullptr, x.data(), y.data(), static_cast<std::int32_t>(n), 2.0F);
      for (std::size_t i = 0; i < n; ++i)
        if (y[i] != 10.5F * static_cast<float>(i)) {
          FAIL_CHECK("wrong at " << i << " of " << n << ": " << y[i]);
          return;
        }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("host: a program without a store compiles the default configuration") {
  const Axpy axpy;
  const Kernel kernel = load(fs::path(axpy.spec), axpy.settings());
  std::vector<float> x = ramp(100, 1), y(100);
  kernel(nullptr, x.data(), y.data(), 100, 3.0F);
  CHECK(y == ramp(100, 3));
}

TEST_CASE("host: a binding asks for the arguments, and passes values whose types it knows at run time") {
  const Axpy axpy;
  const Kernel kernel = load(fs::path(axpy.spec), axpy.settings());
  const std::vector<KernelArgument> arguments = kernel.arguments();
  REQUIRE(arguments.size() == 4);
  CHECK(kernel.backend() == "host");
  CHECK(arguments[0].name == "x");
  CHECK(arguments[0].is_buffer);
  CHECK(!arguments[0].is_written);
  CHECK(arguments[0].shape == std::vector<std::string>{"N"});
  CHECK(arguments[1].is_written);
  CHECK(arguments[2].size == "N");
  CHECK(arguments[2].dtype == DType::i32);
  CHECK(arguments[3].size.empty());

  const std::vector<float> x = ramp(100, 1);
  std::vector<float> y(100);
  const float *x_address = x.data(), *y_address = y.data();
  const std::int32_t n = 100;
  const float a = 3;
  const void* const values[] = {&x_address, &y_address, &n, &a};
  kernel.launch(nullptr, values);
  CHECK(y == ramp(100, 3));
  std::size_t bytes[] = {400, 400, 0, 0};
  kernel.launch(nullptr, values, bytes);
  CHECK(y == ramp(100, 6));
  bytes[1] = 396;
  CHECK_THROWS_WITH_AS(kernel.launch(nullptr, values, bytes),
                       "axpy: argument 2, 'y', has 396 bytes, and this problem needs 400", Error);
  CHECK_THROWS_WITH_AS(kernel.launch(nullptr, values, std::span(bytes).first(3)),
                       "axpy: launch was given 4 values and the sizes of 3", Error);
  CHECK_THROWS_WITH_AS(kernel.launch(nullptr, std::span(values).first(3)),
                       "axpy takes 4 arguments (x, y, n, a) and was given 3", Error);
}

TEST_CASE("host: structs are passed whole, set problem sizes, and are checked; loops and tables run") {
  const cli_test::Cli cli;
  cli.write("k.cu",
            "struct P { int n; float scale[2]; float2 shift; };\n"
            "extern \"C\" __global__ void k(float** rows, P p, int by, int step) {\n"
            "  for (int i = threadIdx.x; i < p.n; i += BLOCK) rows[i % 2][i] += p.scale[1] * by + p.shift.y;\n"
            "}\n");
  const std::string spec =
      cli.write("k.toml",
                "[kernel]\nname = \"k\"\nsource = \"k.cu\"\n[problem]\nN = 64\n[space.params]\nBLOCK = [32]\n"
                "[[steps]]\nentry = \"k\"\nrepeat = 3\nwith = { by = \"i\" }\ngrid = [1]\nblock = [\"BLOCK\"]\n"
                "args = [\"rows\", \"p\", \"by\", \"block\"]\n"
                "[[args]]\nname = \"rows\"\nkind = \"table\"\nof = [\"a\", \"b\"]\n"
                "[[args]]\nname = \"a\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"inout\"\n"
                "[[args]]\nname = \"b\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"inout\"\n"
                "[[args]]\nname = \"p\"\nfields = [{ name = \"n\", dtype = \"i32\", value = \"N\" }, "
                "{ name = \"scale\", dtype = \"f32\", count = 2, value = 2 }, "
                "{ name = \"shift\", dtype = \"f32x2\", value = [0, 1] }]\n"
                "[[args]]\nname = \"by\"\ndtype = \"i32\"\nvalue = 0\n"
                "[[args]]\nname = \"block\"\ndtype = \"i32\"\nvalue = \"BLOCK\"\n");
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("cache");
  const Kernel kernel = load(fs::path(spec), settings);
  const std::vector<KernelArgument> asked = kernel.arguments();
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].is_buffer);
  CHECK(asked[1].struct_bytes == 24);
  CHECK(asked[1].size == "N");

  struct P {
    std::int32_t n;
    float scale[2];
    alignas(8) float shift[2];
  };
  std::vector<float> a(100), b(100);
  float* const rows[] = {a.data(), b.data()};
  kernel(nullptr, &rows[0], P{100, {0, 10}, {0, 1}});
  CHECK(a[98] == 33);  // (0 + 1 + 2) * 10 + 3
  CHECK(b[98] == 0);
  CHECK(b[99] == 33);
  struct Small {
    std::int32_t n;
    float scale[2];
  };
  CHECK_THROWS_WITH_AS(
      kernel(nullptr, &rows[0], Small{100, {0, 10}}),
      "k: argument 2, 'p', is a struct or vector of 24 bytes by value and was given a value of 12 bytes", Error);
  CHECK_THROWS_WITH_AS(kernel(nullptr, &rows[0], &rows[0]),
                       "k: argument 2, 'p', is a struct or vector of 24 bytes by value and was given a pointer", Error);
}

TEST_CASE("host: candidates for GPUs do not decide about a CPU") {
  const Axpy axpy;
  std::ofstream(axpy.spec, std::ios::app) << "[candidates]\ntemplate = \"elementwise\"\n[candidates.map]\nn = "
                                             "\"N\"\nthreads = \"BLOCK\"\nitems = \"STEP\"\n";
  const Kernel kernel = load(fs::path(axpy.spec), axpy.settings());
  CHECK(kernel.choice({{"N", std::int64_t{1000}}}).kind == Choice::Kind::none);
}

TEST_CASE("host: a call launches all steps of its configuration, and is captured with them") {
  const cli_test::Cli cli;
  const Variable pattern("XTUNE_CAPTURE", "split_sum"), folder("XTUNE_CAPTURE_DIR", cli.path("captures"));
  const std::string spec = cli_test::split_sum_spec(cli);
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("cache");
  for (const std::int64_t parts : {1, 4}) {
    settings.default_config = {{"PARTS", parts}, {"BLOCK", std::int64_t{32}}};
    const Kernel kernel = load(fs::path(spec), settings);
    const std::vector<float> x = ramp(std::size_t{4} * 512, 0.5F);
    std::vector<float> sums(16, -1), y(4, -1);
    const Kernel four = kernel.for_problem({{"ROWS", std::int64_t{4}}});
    four(nullptr, x.data(), sums.data(), y.data(), 512);
    for (std::size_t row = 0; row < 4; ++row) {
      float sum = 0;
      for (std::size_t i = 0; i < 512; ++i) sum += x[row * 512 + i];
      CHECK(y[row] == doctest::Approx(sum));
    }
    CHECK((sums[0] == -1) == (parts == 1));
  }
  const CommandResult replayed = cli.run(cli.path("captures/split_sum-1/spec.toml"));
  CAPTURE(replayed.stderr_text);
  REQUIRE(replayed.exit_code == 0);
  CHECK(nlohmann::json::parse(replayed.stdout_text).at("counts") == nlohmann::json{{"ok", 4}});
}

namespace {

/// y = x * weights[0] + partial sums that a scratch buffer holds meanwhile.
std::string weighted_spec(const cli_test::Cli& cli, const std::string& weights) {
  cli.write("weighted.cu",
            "__constant__ float weights[4];\n"
            "extern \"C\" __global__ void weighted(const float* x, float* y, float* work, int n) {\n"
            "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
            "  if (i < n) work[i] = x[i] * weights[0], y[i] = work[i] + weights[1];\n"
            "}\n");
  return cli.write("weighted.toml",
                   "[kernel]\nname = \"weighted\"\nsource = \"weighted.cu\"\n[problem]\nN = 64\n"
                   "[space.params]\nBLOCK = [32]\n[launch]\ngrid = [\"ceildiv(N, BLOCK)\"]\nblock = [\"BLOCK\"]\n"
                   "[[args]]\nname = \"weights\"\nkind = \"constant\"\ndtype = \"f32\"\n" +
                       weights +
                       "\n[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n"
                       "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                       "[[args]]\nname = \"work\"\ndtype = \"f32\"\nshape = [\"BLOCK * N\"]\nrole = \"scratch\"\n"
                       "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n");
}

template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("host: constants hold what the application set, each kernel its own") {
  const cli_test::Cli cli;
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("cache");
  const fs::path spec = weighted_spec(cli, "shape = [2]");
  const Kernel kernel = load(spec, settings), other = load(spec, settings);
  std::vector<float> x = ramp(64, 1), y(64), work(32 * 64);
  const auto run = [&](const Kernel& called) {
    called(nullptr, x.data(), y.data(), work.data(), 64);
    return y;
  };
  CHECK(refusal([&] { run(kernel); }).find("the constant 'weights' has no contents: call set_constant") !=
        std::string::npos);
  kernel.set_constant("weights", std::vector<float>{2, 0});
  other.set_constant("weights", std::vector<float>{3, 0});
  CHECK(run(kernel) == ramp(64, 2));
  CHECK(run(other) == ramp(64, 3));
  CHECK(run(kernel) == ramp(64, 2));
  kernel.set_constant("weights", std::vector<float>{5, 0, 0, 0});
  CHECK(run(kernel) == ramp(64, 5));
  CHECK(run(other) == ramp(64, 3));

  CHECK(refusal([&] { kernel.set_constant("weight", std::vector<float>{1}); }).find("did you mean 'weights'") !=
        std::string::npos);
  CHECK(refusal([&] { kernel.set_constant("weights", std::vector<double>{1}); }).find("was given f64") !=
        std::string::npos);
  CHECK(refusal([&] { kernel.set_constant("weights", std::vector<float>(5)); })
            .find("was given 20 bytes, and its "
                  "variable holds 16") != std::string::npos);
  CHECK(refusal([&] { kernel.set_constant("weights", Fill::one); }).find("takes host data") != std::string::npos);
  CHECK(run(kernel) == ramp(64, 5));
}

TEST_CASE("host: a constant has the spec's value until the application sets another") {
  const cli_test::Cli cli;
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("cache");
  const Kernel kernel = load(fs::path(weighted_spec(cli, "value = \"N / 32\"")), settings);
  std::vector<float> x = ramp(128, 1), y(128), work(32 * 128);
  kernel(nullptr, x.data(), y.data(), work.data(), 64);
  CHECK(y[3] == 6);
  kernel(nullptr, x.data(), y.data(), work.data(), 128);
  CHECK(y[3] == 12);
  kernel(nullptr, x.data(), y.data(), work.data(), 64);
  CHECK(y[3] == 6);
  kernel.set_constant("weights", std::vector<float>{1});
  kernel(nullptr, x.data(), y.data(), work.data(), 128);
  CHECK(y[3] == 3);
}

TEST_CASE("host: a choice says how large scratch buffers must be, and a call checks it") {
  const cli_test::Cli cli;
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("cache");
  const Kernel kernel = load(fs::path(weighted_spec(cli, "value = 1")), settings);
  CHECK(kernel.choice({{"N", std::int64_t{64}}}).scratch ==
        std::map<std::string, std::uint64_t>{{"work", 4 * 32 * 64}});
  std::vector<float> x = ramp(64, 1), y(64);
  void* const none = nullptr;
  CHECK(refusal([&] { kernel(nullptr, x.data(), y.data(), static_cast<float*>(none), 64); }).find("'work'") !=
        std::string::npos);
}

TEST_CASE("host: scratch is the library's where a call passes none, for each thread its own") {
  const cli_test::Cli cli;
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("cache");
  const TypedKernel<void(const float*, float*, int)> kernel(load(fs::path(weighted_spec(cli, "value = 2")), settings));
  std::vector<std::thread> threads;
  std::array<std::vector<float>, 4> results;
  for (std::size_t thread = 0; thread < results.size(); ++thread)
    threads.emplace_back([&, thread] {
      const int n = 64 << thread;
      const std::vector<float> x = ramp(static_cast<std::size_t>(n), static_cast<float>(thread + 1));
      results[thread].resize(x.size());
      for (int call = 0; call < 20; ++call) kernel(nullptr, x.data(), results[thread].data(), n);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t thread = 0; thread < results.size(); ++thread) {
    std::vector<float> expected = ramp(std::size_t{64} << thread, static_cast<float>(thread + 1));
    for (float& value : expected) value = value * 2 + 0;
    CHECK(results[thread] == expected);
  }
  const std::vector<float> x = ramp(64, 1);
  std::vector<float> y(64);
  CHECK(refusal([&] {
          kernel.untyped()(nullptr, x.data(), y.data());
        }).find("takes 3 arguments (x, y, n), or 4 with its own scratch and was given 2") != std::string::npos);
}

TEST_CASE("host: pointers into nothing are refused before anything is launched") {
  const Axpy axpy;
  const Kernel kernel = load(fs::path(axpy.spec), axpy.settings());
  const std::vector<float> x(4096);
  std::vector<float> y(4096);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (page >= 4 * x.size()) return;  // the buffers do not reach beyond one
  void* const hole = mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(hole != MAP_FAILED);
  REQUIRE(munmap(static_cast<char*>(hole) + page, page) == 0);
  const auto refused = [&](const float* from, float* to) {
    return test::error_of([&] { kernel(nullptr, from, to, 4096, 1.0F); }, ErrorKind::invalid_argument);
  };
  const auto* const short_one = static_cast<const float*>(hole);
  CHECK(holds(refused(short_one, y.data()),
              fmt::format("argument 1, 'x', has {} bytes, and this problem needs 16384", page)));
  CHECK(holds(refused(short_one + page / 4, y.data()),
              "'x', was given a pointer to memory that the device cannot reach"));
  CHECK(holds(refused(x.data(), reinterpret_cast<float*>(reinterpret_cast<char*>(y.data()) + 1)), "multiple of 4"));
  CHECK(holds(refused(x.data(), nullptr), "null"));
  munmap(hole, page);
}

TEST_CASE("host: what no call can launch is refused when it is loaded") {
  const cli_test::Cli cli;
  const std::string space = "[problem]\nN = 64\n[space.params]\nB = [1, 2]\n";
  const auto refused = [&](const std::string& file, const std::string& kernel, const std::string& backend) {
    const fs::path spec = cli.write(file, "[kernel]\nname = \"odd\"\n" + kernel + space);
    LoadSettings settings;
    settings.backend = backend;
    settings.store = cli.path("cache");
    return test::error_of([&] { load(spec, settings); }, ErrorKind::unsupported);
  };
  cli.write("unit.cpp", "void odd() {}\n");
  for (const char* backend : {"auto", "host"}) {
    const std::string program = refused("program.toml", "[process]\nrun = [\"true\", \"{B}\"]\n", backend);
    CHECK(holds(program, "odd cannot be called from a program: its spec describes a whole program ([process])"));
    CHECK(holds(program, "`xtune run program.toml`"));
    const std::string unit = refused(
        "unit.toml",
        "backend = \"kokkos\"\nsource = \"unit.cpp\"\n[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n",
        backend);
    CHECK(holds(unit, "it is a Kokkos unit"));
    CHECK(holds(unit, "`xtune best unit.toml`"));
  }
}

TEST_CASE("host: an infinite scalar is captured") {
  const Axpy axpy;
  const std::string captures = axpy.cli.path("captures");
  const Variable pattern("XTUNE_CAPTURE", "axpy"), folder("XTUNE_CAPTURE_DIR", captures);
  const Kernel kernel = load(fs::path(axpy.spec), axpy.settings());
  const std::vector<float> x = ramp(100, 1);
  std::vector<float> y = ramp(100, 0.5F);
  kernel(nullptr, x.data(), y.data(), 100, -HUGE_VALF);
  CHECK(holds(read_file(captures + "/axpy-1/spec.toml"), "value = \"float('-inf')\""));
}

TEST_CASE("host: a captured launch is tuned elsewhere") {
  const Axpy axpy;
  const std::string captures = axpy.cli.path("captures");
  {
    const Variable pattern("XTUNE_CAPTURE", "gemm*,ax*"), folder("XTUNE_CAPTURE_DIR", "captures");
    LoadSettings settings = axpy.settings();
    std::vector<std::string> messages;
    settings.on_message = [&](const std::string& text) { messages.push_back(text); };
    const fs::path here = fs::current_path();
    fs::current_path(fs::path(captures).parent_path());
    const Kernel kernel = load(fs::path(axpy.spec), settings);
    fs::current_path(here);  // the captures stay where they were asked for
    const std::vector<float> x = ramp(100, 1);
    for (int i = 0; i < 3; ++i) {
      std::vector<float> y = ramp(100, 0.5F);
      kernel(nullptr, x.data(), y.data(), 100, 3.0F);
      CHECK(y == ramp(100, 3.5F));
    }
    REQUIRE(messages.size() == 1);
    CHECK(holds(messages.front(), "axpy, N=100: captured"));
  }
  CHECK_FALSE(fs::exists(captures + "/axpy-2"));
  const NpyArray y = read_npy(captures + "/axpy-1/y.npy"), after = read_npy(captures + "/axpy-1/y-after.npy");
  CHECK(y.shape == std::vector<std::uint64_t>{100});
  float last = 0, result = 0;
  std::memcpy(&last, &y.data[99 * 4], 4);
  std::memcpy(&result, &after.data[99 * 4], 4);
  CHECK(last == 49.5F);
  CHECK(result == 346.5F);

  fs::rename(captures + "/axpy-1", axpy.cli.path("elsewhere"));
  fs::remove_all(axpy.cli.path("kernels"));
  const CommandResult replayed = axpy.cli.run(axpy.cli.path("elsewhere/spec.toml"));
  INFO(replayed.stderr_text);
  REQUIRE(replayed.exit_code == 0);
  const auto json = nlohmann::json::parse(replayed.stdout_text);
  CHECK(json.at("problem") == nlohmann::json{{"N", 100}});
  int measured = 0;
  for (const auto& [outcome, count] : json.at("counts").items()) {
    CHECK((outcome == "ok" || outcome == "pruned"));
    measured += count.get<int>();
  }
  CHECK(measured == 5);
}

/// lower and upper are written, sum is read and written.
std::string split_spec(const cli_test::Cli& cli, const std::string& validate) {
  cli.write("split.cu",
            "extern \"C\" __global__ void split(const float* x, float* lower, float* upper, float* sum, int n) {\n"
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  if (i >= n) return;\n"
            "#if WRONG\n"
            "  upper[i] = x[i] > 50 ? x[i] : 1; lower[i] = x[i] > 50 ? 0 : x[i]; sum[i] += x[i];\n"
            "#else\n"
            "  upper[i] = x[i] > 50 ? x[i] : 0; lower[i] = x[i] > 50 ? 0 : x[i]; sum[i] += x[i];\n"
            "#endif\n}\n"
            "extern \"C\" __global__ void plain(const float* x, float* lower, float* upper, float* sum, int n) {\n"
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  if (i < n) upper[i] = x[i] > 50 ? x[i] : 0, lower[i] = x[i] > 50 ? 0 : x[i], sum[i] += x[i];\n}\n");
  return cli.write("split.toml",
                   "[kernel]\nname = \"split\"\nsource = \"split.cu\"\n[problem]\nN = 500\n"
                   "[space.params]\nBLOCK = [32, 64]\nWRONG = [0, 1]\n"
                   "[launch]\ngrid = [\"ceildiv(N, BLOCK)\"]\nblock = [\"BLOCK\"]\n"
                   "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n"
                   "[[args]]\nname = \"lower\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                   "[[args]]\nname = \"upper\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                   "[[args]]\nname = \"sum\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"inout\"\n"
                   "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n" +
                       validate + "[measure]\nflush = \"none\"\nrep = 5\nmin_rep = 3\n");
}

TEST_CASE("host: a captured launch with several outputs is validated in all of them, elsewhere") {
  const cli_test::Cli cli;
  std::string validate;
  SUBCASE("against what the launch wrote") {}
  SUBCASE("against the spec's own reference") {
    validate = "[validate]\nreference = { kernel = \"plain\", source = \"split.cu\" }\n";
  }
  SUBCASE("where the spec's reference is a configuration") {
    validate = "[validate]\nreference = { config = { WRONG = 0 } }\n";
  }
  const std::string spec = split_spec(cli, validate);
  {
    const Variable pattern("XTUNE_CAPTURE", "split"), folder("XTUNE_CAPTURE_DIR", cli.path("captures"));
    LoadSettings settings;
    settings.backend = "host";
    settings.store = cli.path("cache");
    settings.default_config = {{"BLOCK", std::int64_t{32}}, {"WRONG", std::int64_t{0}}};
    settings.on_message = [](const std::string&) {};
    const Kernel kernel = load(fs::path(spec), settings);
    const std::vector<float> x = ramp(100, 1);
    std::vector<float> lower(100, -1), upper(100, -1), sum = ramp(100, 0.5F);
    kernel(nullptr, x.data(), lower.data(), upper.data(), sum.data(), 100);
    CHECK(upper[99] == 99);
    CHECK(lower[50] == 50);
    CHECK(sum[99] == 148.5F);
  }
  fs::rename(cli.path("captures/split-1"), cli.path("elsewhere"));
  fs::remove(cli.path("split.cu"));
  for (const char* file : {"x.npy", "sum.npy", "lower-after.npy", "upper-after.npy", "sum-after.npy"})
    CHECK(fs::exists(cli.path("elsewhere") + "/" + file));
  CHECK_FALSE(fs::exists(cli.path("elsewhere/lower.npy")));  // the previous contents of an output are not captured
  const CommandResult replayed = cli.run(cli.path("elsewhere/spec.toml"));
  INFO(replayed.stderr_text);
  REQUIRE(replayed.exit_code == 0);
  const auto json = nlohmann::json::parse(replayed.stdout_text);
  CHECK(json.at("best").at("config").at("WRONG") == 0);
  CHECK(json.at("counts").at("wrong_result") == 2);
}

TEST_CASE("host: a source in the spec goes along in captures and bundles") {
  const cli_test::Cli cli;
  fs::create_directories(cli.path("common"));
  cli.write("common/twice.cuh", "#define TWICE(x) ((x) + (x))\n");
  const std::string spec = cli.write(
      "twice.toml",
      "kernel.name = \"twice\"\nkernel.code = '''\n#include \"common/twice.cuh\"\nextern \"C\" __global__ void "
      "twice(const float* x, float* y) { y[threadIdx.x] = TWICE(x[threadIdx.x]); }\n'''\n"
      "problem = { TYPE = \"f32\" }\nlaunch = { grid = 1, block = 32 }\nspace.params.UNUSED = [1]\n"
      "args = [{ name = \"x\", dtype = \"{TYPE}\", shape = [32] },\n"
      "        { name = \"y\", dtype = \"{TYPE}\", shape = [32], role = \"out\" }]\n"
      "measure = { rep = 3, min_rep = 3 }\n");
  REQUIRE(cli.run(spec).exit_code == 0);
  const CommandResult made = cli.xtune({"store", "bundle", "-o", cli.path("twice.xtune"), "--spec", spec});
  INFO(made.stderr_text);
  REQUIRE(made.exit_code == 0);
  for (const char* gone : {"common", "twice.toml", "cache"}) fs::remove_all(cli.path(gone));
  LoadSettings settings;
  settings.backend = "host";
  settings.store = cli.path("empty");
  settings.compile = false;
  settings.on_message = [](const std::string&) {};
  {
    const Variable pattern("XTUNE_CAPTURE", "twice"), folder("XTUNE_CAPTURE_DIR", cli.path("captures"));
    const Kernel kernel = load_bundle(cli.path("twice.xtune"), "", settings);
    CHECK(kernel.choice({}).kind == Choice::Kind::exact);
    const std::vector<float> x = ramp(32, 1);
    std::vector<float> y(32);
    kernel(nullptr, x.data(), y.data());
    CHECK(y == ramp(32, 2));
  }
  CHECK(holds(read_file(cli.path("captures/twice-1/source/twice.toml.cu")), "TWICE(x[threadIdx.x])"));
  const CommandResult replayed = cli.run(cli.path("captures/twice-1/spec.toml"));
  INFO(replayed.stderr_text);
  REQUIRE(replayed.exit_code == 0);
  CHECK(nlohmann::json::parse(replayed.stdout_text).at("counts") == nlohmann::json{{"ok", 1}});
}

TEST_CASE("host: a bundle with specs needs nothing beside it, and one of its kernels is chosen by name") {
  const Axpy axpy;
  const std::string split = split_spec(axpy.cli, "");
  REQUIRE(axpy.cli.run(axpy.spec).exit_code == 0);
  REQUIRE(axpy.cli.run(split).exit_code == 0);
  fs::create_directories(axpy.cli.path("shipped"));
  const fs::path bundle = axpy.cli.path("shipped/both.xtune");
  const CommandResult made = axpy.cli.xtune({"store", "bundle", "--store", axpy.cli.path("cache"), "-o",
                                             bundle.string(), "--spec", axpy.spec, "--spec", split});
  INFO(made.stderr_text);
  REQUIRE(made.exit_code == 0);
  for (const char* gone : {"kernels", "axpy.toml", "split.cu", "split.toml", "cache"})
    fs::remove_all(axpy.cli.path(gone));
  fs::permissions(bundle, fs::perms::owner_read);
  fs::permissions(bundle.parent_path(), fs::perms::owner_read | fs::perms::owner_exec);
  LoadSettings settings;
  settings.backend = "host";
  settings.store = axpy.cli.path("empty");
  settings.compile = false;
  CHECK(holds(test::error_of([&] { load_bundle(bundle, "", settings); }, ErrorKind::invalid_argument),
              "several kernels, name one of them: axpy, split"));
  CHECK(holds(test::error_of([&] { load_bundle(bundle, "axpi", settings); }, ErrorKind::invalid_argument),
              "no spec of the kernel 'axpi' (did you mean 'axpy'?); it has those of axpy, split"));
  {
    const Kernel kernel = load_bundle(bundle, "axpy", settings);
    CHECK(kernel.choice({{"N", std::int64_t{1000}}}).kind == Choice::Kind::exact);
    std::vector<float> x = ramp(1000, 1), y(1000);
    kernel(nullptr, x.data(), y.data(), 1000, 3.0F);
    CHECK(y == ramp(1000, 3));
  }
  fs::permissions(bundle.parent_path(), fs::perms::owner_all);
}

TEST_CASE("host: a capture that cannot be written is said, and the launch goes on") {
  const Axpy axpy;
  const Variable pattern("XTUNE_CAPTURE", "axpy"), folder("XTUNE_CAPTURE_DIR", axpy.cli.write("file", "")),
      size("XTUNE_CAPTURE_MB", "1");
  LoadSettings settings = axpy.settings();
  std::vector<std::string> messages;
  settings.on_message = [&](const std::string& text) { messages.push_back(text); };
  const Kernel kernel = load(fs::path(axpy.spec), settings);
  std::vector<float> x = ramp(100, 1), y(100);
  kernel(nullptr, x.data(), y.data(), 100, 3.0F);
  CHECK(y == ramp(100, 3));
  REQUIRE(messages.size() == 1);
  CHECK(holds(messages.front(), "a launch is not captured"));
  std::vector<float> large(200000), sum(200000);
  kernel(nullptr, large.data(), sum.data(), 200000, 3.0F);
  REQUIRE(messages.size() == 2);
  CHECK(holds(messages.back(), "XTUNE_CAPTURE_MB"));

  // Messages during the construction of a kernel are passed on, too.
  messages.clear();
  const Variable count("XTUNE_CAPTURE_COUNT", "abc");
  const Kernel another = load(fs::path(axpy.spec), settings);
  REQUIRE_FALSE(messages.empty());
  CHECK(holds(messages.front(), "XTUNE_CAPTURE_COUNT"));
}

#ifndef __SANITIZE_THREAD__  // which does not do threads after a fork
TEST_CASE("the child of a fork calls the kernels of its parent") {
  Axpy axpy;
  const Kernel kernel = load(axpy.spec, axpy.settings());
  const std::vector<float> x(1000, 1.0F);
  const auto calls = [&] {
    std::vector<float> y(x.size(), 1.0F);
    kernel(nullptr, x.data(), y.data(), 1000, 2.0F);
    return y == std::vector<float>(x.size(), 3.0F);
  };
  REQUIRE(calls());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // ends a process that hangs
    _exit(calls() && calls() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(calls());
}
#endif

TEST_CASE("host: xtune select picks among measured configurations") {
  const Axpy axpy;
  const auto cover = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"select", axpy.spec, "--backend", "host", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return axpy.cli.xtune(arguments);
  };
  fs::create_directories(axpy.cli.path("cache"));  // without a store it answers nothing
  CommandResult nothing = cover({});
  CHECK(nothing.exit_code == 3);
  CHECK(nlohmann::json::parse(nothing.stdout_text).at("not_measured").size() == 2);
  REQUIRE(axpy.cli.run(axpy.spec).exit_code == 0);
  // So far from the best that any configuration will do.
  const auto json = nlohmann::json::parse(cover({"--within", "10000%"}).stdout_text);
  CHECK(json.at("method") == "exact");
  CHECK(json.at("configs").size() == 1);
  CHECK(json.at("served") == 2);
  CHECK(json.at("configs").at(0).at("serves").size() == 2);
  const CommandResult wrong = cover({"--within", "5 apples"});
  CHECK(wrong.exit_code == 2);
  CHECK(holds(wrong.stderr_text, "write a share"));
}

}  // namespace xtune
