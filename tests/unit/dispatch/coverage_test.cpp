// The log of problems: what is written, by many threads and processes, and what is read from it.
#include "dispatch/coverage.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "unit/dispatch/shop.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

struct LoggedShop : Shop {
  fs::path log = folder.path() / "run.jsonl";

  LoggedShop() {
    measure(1024, 64, 1.0);
    settings.coverage = log;
  }
  std::vector<dispatch::CoveredProblem> problems() {
    warnings.clear();
    return dispatch::read_coverage({log}, warnings);
  }
  std::vector<std::string> warnings;
};

}  // namespace

TEST_CASE("a log has each problem with its answer, and its calls at the end") {
  LoggedShop shop;
  {
    const Kernel kernel = shop.kernel();
    for (int i = 0; i < 5; ++i) shop.call(kernel, 1024);
    for (int i = 0; i < 3; ++i) shop.call(kernel, 2048);
    shop.call(kernel, 4096);
    kernel.prepare({{"N", 512}});
    CHECK(shop.problems().size() == 4);
  }
  const auto problems = shop.problems();
  CHECK(shop.warnings.empty());
  REQUIRE(problems.size() == 4);
  // Nearest ones first, by calls times distance: 3, 2, 1; then the exact one.
  CHECK(problems[0].problem == Bindings{{"N", 2048}});
  CHECK(problems[0].calls == 3);
  CHECK(problems[0].distance == 1);
  CHECK(problems[0].kind == Choice::Kind::nearest);
  CHECK(problems[0].measured_for == Bindings{{"N", 1024}});
  CHECK(problems[1].problem == Bindings{{"N", 4096}});
  CHECK(problems[2].calls == 0);
  CHECK(problems[3].kind == Choice::Kind::exact);
  CHECK(problems[3].calls == 5);
  CHECK(problems[3].arch == "sm_90");
}

TEST_CASE("defaults and refusals are the worst; without a log nothing is counted") {
  LoggedShop shop;
  shop.settings.store = shop.folder.path() / "empty";
  const Kernel kernel = shop.kernel();
  shop.call(kernel, 1024);
  REQUIRE(shop.problems().size() == 1);
  CHECK(shop.problems()[0].kind == Choice::Kind::none);
  shop.settings.store = shop.folder.path() / "failing";
  shop.blocks = "[32]";
  shop.fail(64, 32);
  shop.fail(64, 32, 2);
  const Kernel refusing = shop.kernel();
  test::error_of([&] { shop.call(refusing, 64); }, ErrorKind::nothing_valid);
  REQUIRE(shop.problems().size() == 2);
  CHECK(holds(shop.problems()[0].refusal, "nothing that was measured may answer"));
  shop.settings.store = shop.folder.path() / "empty";
  shop.blocks = "[13]";
  const Kernel failing = shop.kernel();
  test::error_of([&] { shop.call(failing, 128); }, ErrorKind::nothing_valid);
  CHECK(holds(shop.problems()[0].refusal + shop.problems()[1].refusal, "runs on"));
  shop.blocks = "[32]";
  shop.settings.coverage.clear();
  shop.settings.store = shop.folder.path() / "empty";
  fs::remove(shop.log);
  shop.call(shop.kernel(), 1024);
  CHECK_FALSE(fs::exists(shop.log));
}

TEST_CASE("threads and processes write one log; in a directory each process has its own file") {
  LoggedShop shop;
  constexpr int threads = 4, calls = 200;
  shop.settings.coverage = shop.log = shop.folder.path() / "logs";
  fs::create_directory(shop.log);
  {
    const Kernel kernel = shop.kernel();
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread)
      running.emplace_back([&, thread] {
        for (int i = 0; i < calls; ++i)
          kernel(nullptr, static_cast<const float*>(shop.x.data()), shop.y.data(), thread % 2 ? 1024 : 2048, 2.0F);
      });
  }
  const pid_t child = ::fork();
  if (child == 0) {
    { shop.call(shop.kernel(), 1024); }
    ::_exit(0);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const auto problems = shop.problems();
  CHECK(std::distance(fs::directory_iterator(shop.log), fs::directory_iterator()) == 2);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].calls == threads / 2 * calls);
  CHECK(problems[1].calls == threads / 2 * calls + 1);
}

TEST_CASE("a log that cannot be written is reported once, and calls go on") {
  LoggedShop shop;
  shop.settings.coverage = "/nowhere/log";
  shop.call(shop.kernel(), 1024);
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages[0], "cannot open /nowhere/log"));
  shop.messages.clear();
  shop.settings.coverage = "/dev/full";
  { shop.call(shop.kernel(), 1024); }
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages[0], "cannot write /dev/full"));
}

TEST_CASE("torn, foreign and newer lines are skipped with their places") {
  LoggedShop shop;
  shop.call(shop.kernel(), 2048);
  const std::string good = system::read_file(shop.log);
  std::ofstream(shop.log, std::ios::app) << "rubbish\n{\"xtune_coverage\":1}\n{\"xtune_coverage\":2}\n"
                                         << good.substr(0, 40);
  CHECK(shop.problems().size() == 1);
  REQUIRE(shop.warnings.size() == 4);
  CHECK(holds(shop.warnings[2], ":5: skipped: written by a newer xtune"));
  CHECK(holds(shop.warnings[3], ":6: skipped: the line is torn"));
  for (std::size_t length = 0; length < good.size(); length += 7) {
    std::ofstream(shop.log, std::ios::trunc) << good.substr(0, length);
    CHECK(shop.problems().size() <= 1);
  }
  std::vector<std::string> warnings;
  CHECK_THROWS_AS(dispatch::read_coverage({shop.folder.path() / "none"}, warnings), Error);
}

TEST_CASE("a suite has refused problems, and as comments those that the spec does not take") {
  LoggedShop shop;
  const fs::path spec = shop.folder.path() / "s.toml";
  std::ofstream(spec) << "kernel = { name = \"s\", code = '__global__ void s(float* x) {}', entry = \"s\" }\n"
                         "args = [{ name = \"x\", dtype = \"f32\", shape = [\"N\"], role = \"out\" }]\n"
                         "launch = { grid = [1], block = [1] }\nproblem = { N = 4 }\nspace.params.B = [1]\n";
  dispatch::CoveredProblem good, bad;
  good.kernel = bad.kernel = "s";
  good.spec = bad.spec = spec;
  good.refusal = bad.refusal = "none of 1 configurations runs";
  good.problem = {{"N", 8}};
  bad.problem = {{"N", -3}};
  std::vector<std::string> warnings;
  const std::string suite = dispatch::coverage_suite({bad, good}, {}, warnings);
  CHECK_MESSAGE(holds(suite, "  # { \"N\" = -3 }: not possible: "), suite);
  CHECK(holds(suite, "a shape must be at least 1"));
  CHECK(holds(suite, "  { \"N\" = 8 },"));
  CHECK(dispatch::coverage_suite({bad}, {}, warnings).empty());
}

TEST_CASE("a suite has the problems in their order, each once") {
  dispatch::CoveredProblem one;
  one.kernel = "gemm", one.arch = "sm_90", one.device = "NVIDIA\nH200";
  one.spec = "/specs/ge\"mm.toml";
  one.defines = {{"TYPE", "f16"}};
  one.problem = {{"M", 64}, {"beta", 0.0}, {"T", true}};
  one.calls = 7;
  dispatch::CoveredProblem two = one, unknown = one;
  two.device = "NVIDIA H100";
  unknown.spec.clear();
  unknown.kernel = "built";
  std::vector<std::string> warnings;
  CHECK(dispatch::coverage_suite({one, two, unknown}, {}, warnings) ==
        "# Problems of an application, worst first. Made by `xtune coverage`.\n\n[[suite]]\n"
        "spec = \"/specs/ge\\\"mm.toml\"\ndefines = { \"TYPE\" = \"f16\" }\ncases = [\n"
        "  { \"M\" = 64, \"T\" = true, \"beta\" = 0.0 },  # default, 7 calls on NVIDIA\\nH200\n]\n");
  REQUIRE(warnings.size() == 1);
  CHECK(holds(warnings[0], "built: the log does not name its spec"));
  CHECK(dispatch::coverage_suite({unknown}, {{"built", "/b.toml"}}, warnings).find("spec = \"/b.toml\"") !=
        std::string::npos);
  CHECK(dispatch::coverage_suite({}, {}, warnings).empty());
  // TOML has no surrogate pairs, which are what JSON escapes such characters to.
  CHECK(dispatch::coverage_suite({unknown}, {{"built", "/\U0001F600.toml"}}, warnings)
            .find("spec = \"/\U0001F600.toml\"") != std::string::npos);
}

}  // namespace xtune
