// xtune candidates: offline rankings as text and JSON, and what it says of missing pieces.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune;
using namespace xtune::cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string gemm = XTUNE_SOURCE_DIR "/configs/gemm.toml";

}  // namespace

TEST_CASE("candidates of a shipped spec, for devices that are not here") {
  const Cli cli;
  const CommandResult text = cli.xtune({"candidates", gemm, "--arch", "gfx942", "--top", "5"});
  CHECK(text.exit_code == 0);
  CHECK(has(text.stdout_text, "AMD Instinct MI300X"));
  CHECK(has(text.stdout_text, "bound"));
  const CommandResult answer =
      cli.xtune({"candidates", gemm, "--product", "RTX 2080 Ti", "--top", "5", "--format", "json"});
  REQUIRE(answer.exit_code == 0);
  const json parsed = json::parse(answer.stdout_text);
  CHECK(parsed["device"]["arch"] == "sm_75");
  CHECK(parsed["candidates"].size() == 5);
  CHECK(parsed["candidates"][0]["config"].contains("BLOCK_M"));
  CHECK(parsed["candidates"][0]["estimate"]["time_ms"].get<double>() > 0);
  const CommandResult carver =
      cli.xtune({"candidates", gemm, "--arch", "sm_90", "--rank", "carver", "--format", "json"});
  REQUIRE(carver.exit_code == 0);
  CHECK(json::parse(carver.stdout_text)["rank"] == "carver");
}

TEST_CASE("candidates of a bare template") {
  const Cli cli;
  const std::vector<std::string> whole{"candidates", "--template", "matmul", "-D",       "M=4096",
                                       "-D",         "N=4096",     "-D",     "K=4096",   "--dtype",
                                       "f16",        "--arch",     "sm_90",  "--format", "json"};
  const CommandResult answer = cli.xtune(whole);
  REQUIRE(answer.exit_code == 0);
  CHECK(json::parse(answer.stdout_text)["candidates"].size() == 20);
  const CommandResult missing = cli.xtune({"candidates", "--template", "matmul", "-D", "M=1", "--arch", "sm_90"});
  CHECK(missing.exit_code == 2);
  CHECK(has(missing.stderr_text, "-D n="));
  CHECK(cli.xtune({"candidates", "--template", "matmul", "-D", "M=x", "--arch", "sm_90"}).exit_code == 2);
  CHECK(
      cli.xtune({"candidates", "--template", "matmul", "-D", "M=99999999999999999999", "--arch", "sm_90"}).exit_code ==
      2);
}

TEST_CASE("candidates say what is missing") {
  const Cli cli;
  const std::string plain = cli.write("plain.toml", "[kernel]\nname = \"k\"\n[space.params]\nA = [1, 2]\n");
  const CommandResult section = cli.xtune({"candidates", plain, "--arch", "sm_90"});
  CHECK(section.exit_code == 2);
  CHECK(has(section.stderr_text, "[candidates]"));
  CHECK(has(section.stderr_text, "template = \"matmul\""));
  const CommandResult arch = cli.xtune({"candidates", gemm, "--arch", "gfx943"});
  CHECK(arch.exit_code == 2);
  CHECK(has(arch.stderr_text, "did you mean 'gfx9"));
  const CommandResult product = cli.xtune({"candidates", gemm, "--product", "NVIDIA A200"});
  CHECK(product.exit_code == 2);
  CHECK(has(product.stderr_text, "NVIDIA A100"));
  CHECK(cli.xtune({"candidates", gemm, "--product", "A100", "--arch", "gfx942"}).exit_code == 2);
  CHECK(cli.xtune({"candidates", gemm, "--arch", "x86_64"}).exit_code == 2);
  CHECK(cli.xtune({"candidates", "--arch", "sm_90"}).exit_code == 2);
  CHECK(cli.xtune({"candidates", gemm, "--arch", "sm_90", "--top", "0"}).exit_code == 2);
}
