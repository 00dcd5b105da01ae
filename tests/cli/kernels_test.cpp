// The kernels that come with xtune, and commands that get their names.
#include <doctest/doctest.h>

#include <set>

#include "cli.hpp"

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// The program in another directory than its sources.
struct Elsewhere : Cli {
  const std::string configs = XTUNE_SOURCE_DIR "/configs/";

  Elsewhere() { fs::create_directories(path("here")); }
  system::CommandResult in_here(std::vector<std::string> words) const {
    words.insert(words.begin(), {"env", "-C", path("here"), XTUNE_PROGRAM});
    return command(std::move(words));
  }
  std::string note(const std::string& name) const {
    return "note: " + name + " is " + configs + name + ".toml, which comes with xtune\n";
  }
};

}  // namespace

TEST_CASE("xtune kernels has a line of at most 80 columns for each spec") {
  Elsewhere cli;
  cli.env.emplace_back("COLUMNS", "80");
  const system::CommandResult text = cli.in_here({"kernels"});
  CHECK(text.exit_code == 0);
  std::istringstream lines(text.stdout_text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK_MESSAGE(line.size() <= 80, line);
  const json list = parsed(cli.in_here({"kernels", "--format", "json"}));
  CHECK(count >= list.size() + 3);
  std::size_t specs = 0;
  for (const auto& file : fs::directory_iterator(cli.configs)) specs += file.path().filename() != "suite.toml";
  CHECK(list.size() == specs);
  for (const json& kernel : list) {
    CAPTURE(kernel["name"]);
    CHECK(has(text.stdout_text, "\n" + kernel["name"].get<std::string>() + " "));
    CHECK(has(text.stdout_text, "  " + kernel["computes"].get<std::string>() + "\n"));
    CHECK(kernel["spec"] == cli.configs + kernel["name"].get<std::string>() + ".toml");
    if (has(kernel["name"], "_hopper")) CHECK(kernel["needs"] == "sm_90");
  }
}

TEST_CASE("A kernel is tuned by its name in any directory, and by its path with the same records") {
  const Elsewhere cli;
  // One configuration, measured again even if the machine was busy.
  const auto run = [&](const std::string& spec) {
    return cli.in_here(
        {"run", spec, "-D", "n=1000", "--filter",
         "BLOCK == 128 and ITEMS == 4 and VECTOR == 1 and FINISH == 'atomic' and not SHUFFLE and BLOCKS_PER_UNIT == 1",
         "--evals", "1", "--fresh", "--backend", "host", "--format", "json"});
  };
  const auto keys = [&] {
    std::set<std::string> all;
    for (const json& record : cli.records()) all.insert(record["key"]);
    return all;
  };
  const system::CommandResult by_name = run("reduction");
  CHECK(by_name.exit_code == 0);
  CHECK(has(by_name.stderr_text, cli.note("reduction")));
  const auto of_name = keys();
  CHECK(of_name.size() == 1);
  const system::CommandResult by_path = run(cli.configs + "reduction.toml");
  CHECK_FALSE(has(by_path.stderr_text, "note: reduction"));
  fs::create_directories(cli.path("copy"));
  for (const char* part : {"configs", "kernels"})
    fs::copy(cli.configs + "../" + part, cli.path("copy/") + part, fs::copy_options::recursive);
  CHECK(run(cli.path("copy/configs/reduction.toml")).exit_code == 0);
  CHECK(keys() == of_name);
  CHECK(parsed(cli.in_here({"best", "reduction", "-D", "n=1000", "--backend", "host", "--format", "json"}))["match"] ==
        "exact");
  for (const char* command : {"check", "space", "why", "show"})
    CHECK_MESSAGE(cli.in_here({command, "reduction", "-D", "n=1000", "--backend", "host"}).exit_code == 0, command);
  // Another kernel of this name does not count.
  const std::string other = cli.copy_spec("[1]");
  std::string text = read_file(other);
  cli.write("copy.toml", text.replace(text.find("copy"), 4, "reduction"));
  CHECK(cli.run(other).exit_code == 0);
  const json kernel = parsed(cli.in_here({"kernels", "reduction", "--format", "json"}));
  CHECK(kernel["arguments"][0] == json{{"name", "X"}, {"dtype", "f32"}, {"shape", {"n"}}, {"written", false}});
  CHECK(kernel["problem"] == json{{"n", 67108864}});
  if (kernel["device"] == parsed(by_name)["device"]["name"]) CHECK(kernel["tuned"] == json::array({{{"n", 1000}}}));
}

TEST_CASE("A file of the name comes first, a directory does not, and an unknown name has a hint") {
  const Elsewhere cli;
  fs::copy(cli.copy_spec(), cli.path("here/gemm"));
  fs::copy(cli.path("copy.cu"), cli.path("here/copy.cu"));
  fs::create_directories(cli.path("here/softmax"));
  const system::CommandResult file = cli.in_here({"check", "gemm"});
  CHECK(has(file.stdout_text, "gemm: OK: kernel 'copy'"));
  CHECK_FALSE(has(file.stderr_text, "note: gemm"));
  const system::CommandResult directory = cli.in_here({"check", "softmax"});
  CHECK(directory.exit_code == 0);
  CHECK(has(directory.stderr_text, cli.note("softmax")));
  const system::CommandResult unknown = cli.in_here({"check", "gemmm", "--format", "json"});
  CHECK(unknown.exit_code == 2);
  CHECK(has(parsed(unknown)["error"]["message"],
            "no kernel that comes with xtune has this name (did you mean 'gemm'?); `xtune kernels` lists them"));
}
