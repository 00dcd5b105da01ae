// xtune candidates: offline rankings as text and JSON, and messages about missing parts.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

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

TEST_CASE("candidates reports missing parts") {
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
  const CommandResult several = cli.xtune({"candidates", gemm, "--product", "XT"});
  CHECK(several.exit_code == 2);
  CHECK(has(several.stderr_text, "AMD Radeon RX 6900 XT, AMD Radeon RX 6700 XT"));
  const CommandResult part = cli.xtune({"candidates", gemm, "--product", "RTX 2080"});
  CHECK(part.exit_code == 2);
  CHECK(has(part.stderr_text, "similar names: NVIDIA GeForce RTX 2080 Ti"));
  CHECK(cli.xtune({"candidates", gemm, "--product", "A100", "--arch", "gfx942"}).exit_code == 2);
  for (const char* cpu : {"x86_64", "x86_64_v3"}) {
    const CommandResult refused = cli.xtune({"candidates", gemm, "--arch", cpu});
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.stderr_text, std::string("--arch ") + cpu + ": the cost model covers GPUs"));
  }
  const std::string unknown = cli.xtune({"candidates", gemm, "--arch", "sm_9"}).stderr_text;
  CHECK(has(unknown, "--arch 'sm_9' is unknown (did you mean 'sm_90'?); known: sm_70"));
  CHECK_FALSE(has(unknown, "x86_64"));
  CHECK(cli.xtune({"candidates", "--arch", "sm_90"}).exit_code == 2);
  CHECK(cli.xtune({"candidates", gemm, "--arch", "sm_90", "--top", "0"}).exit_code == 2);
}

TEST_CASE("sizes that make no sense are bad arguments") {
  const Cli cli;
  for (const char* size : {"M=0", "M=-5", "M=1000000000000", "FOO=3"}) {
    const CommandResult answer = cli.xtune({"candidates", "--template", "matmul", "-D", "M=64", "-D", "N=64", "-D",
                                            "K=64", "-D", size, "--arch", "sm_90"});
    CHECK_MESSAGE(answer.exit_code == 2, size);
    CHECK_MESSAGE(has(answer.stderr_text, std::string("-D ") + size + ": "), answer.stderr_text);
  }
}

TEST_CASE("check finds a map that lacks a field, and one of words") {
  const Cli cli;
  const std::string head =
      "[kernel]\nname = \"k\"\n[problem]\nM = 64\nN = 64\nK = 64\n[space.params]\nA = [32, 64]\nB = [\"row\", "
      "\"col\"]\n"
      "[candidates]\ntemplate = \"matmul\"\n[candidates.map]\nblock_m = \"A\"\n";
  const CommandResult lacking = cli.xtune({"check", cli.write("lacking.toml", head)});
  CHECK(lacking.exit_code == 2);
  CHECK(has(lacking.stderr_text, "lacking.toml:12:1: the template matmul needs 'block_n'"));
  const CommandResult words = cli.xtune({"check", cli.write("words.toml", head + "block_n = \"B\"\n")});
  CHECK(words.exit_code == 2);
  CHECK(has(words.stderr_text, "words.toml:14:"));
  CHECK(has(words.stderr_text, "the field 'block_n' needs a number"));
  CHECK(cli.xtune({"check", cli.write("sound.toml", head + "block_n = \"A\"\n")}).exit_code == 0);
}

TEST_CASE("carver's own order of tiles shows with the documented example") {
  const Cli cli;
  std::ostringstream text;
  text << std::ifstream(XTUNE_SOURCE_DIR "/docs/candidates.md", std::ios::binary).rdbuf();
  const std::string docs = text.str();
  const std::size_t start = docs.find("[kernel]\nname = \"gemm\""),
                    end = docs.find("$ xtune candidates tiles.toml", start);
  REQUIRE(end != std::string::npos);
  const std::string spec = cli.write("tiles.toml", docs.substr(start, end - start));
  const CommandResult carver =
      cli.xtune({"candidates", spec, "--product", "H200", "--rank", "carver", "--top", "3", "--format", "json"});
  REQUIRE(carver.exit_code == 0);
  const json list = json::parse(carver.stdout_text)["candidates"];
  const std::vector<json> golden{{{"BM", 64}, {"BN", 128}}, {{"BM", 128}, {"BN", 128}}, {{"BM", 128}, {"BN", 256}}};
  for (std::size_t i = 0; i < golden.size(); ++i) CHECK(list[i]["config"] == golden[i]);
}

// benchmarks/RESULTS.md: on an H200, the five best of 300 configurations of this spec at 4096^3 all use tensor cores.
TEST_CASE("the model distinguishes tensor cores from vector units, which carver's formula does not") {
  const Cli cli;
  for (const char* rank : {"model", "carver"}) {
    const CommandResult answer = cli.xtune({"candidates", XTUNE_SOURCE_DIR "/configs/gemm_f16.toml", "--product",
                                            "H200", "--rank", rank, "--top", "10", "--format", "json"});
    REQUIRE(answer.exit_code == 0);
    int tensor_cores = 0;
    const json list = json::parse(answer.stdout_text)["candidates"];
    REQUIRE(list.size() == 10);
    for (const json& candidate : list) tensor_cores += candidate["config"]["TENSOR_CORES"].get<int>();
    CHECK((tensor_cores == 10) == (rank == std::string("model")));
  }
}
