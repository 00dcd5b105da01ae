// xtune check, compile and run refuse alike what the source or the shapes show to be wrong, before anything compiles.
#include <doctest/doctest.h>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

std::string spec_of(const std::string& entry, const std::string& dtype, const std::string& reference) {
  return "kernel = { name = \"turn\", source = \"turn.cu\", entry = \"" + entry +
         "\" }\nproblem = { M = 8, N = 4 }\nspace = { params = { BLOCK = [4, 8] } }\nlaunch = { grid = 1, block = "
         "\"BLOCK\" }\n[[args]]\nname = \"x\"\ndtype = \"" +
         dtype +
         "\"\nshape = [\"M\", \"N\"]\n[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"M\", \"N\"]\nrole = "
         "\"out\"\n[validate]\nreference = " +
         reference + "\n";
}

}  // namespace

TEST_CASE("check takes the facts of the backend that it is asked about") {
  const Cli cli;
  std::string text = system::read_file(cli.copy_spec());
  const std::string shape = "shape = [1, \"N\"]\n";
  // Unless it is told otherwise, it takes those of a GPU of NVIDIA.
  text.insert(text.find(shape) + shape.size(),
              "fill = { formula = \"index // (0 if device.vendor == 'nvidia' else 1)\" }\n");
  const std::string spec = cli.write("fill.toml", text);
  CHECK(cli.xtune({"check", spec, "--backend", "host"}).exit_code == 0);
  CHECK(has(cli.xtune({"check", spec, "--arch", "sm_90"}).stderr_text, "element 0: division by zero"));
}

TEST_CASE("check reports what a run refuses, on this machine or on any") {
  const Cli cli;
  const std::string good = system::read_file(cli.copy_spec());
  const auto with = [&](const std::string& name, const std::string& more) { return cli.write(name, good + more); };
  const std::string energy = with("energy.toml", "\n[objective]\nminimize = \"energy_j\"\n");
  for (const char* command : {"check", "run"}) {
    const CommandResult refused = cli.xtune({command, energy, "--backend", "host"});
    CHECK(refused.exit_code == 4);
    CHECK(has(refused.stderr_text, "the objective needs energy_j, which is not measured on"));
  }
  CHECK(cli.xtune({"check", energy, "--arch", "sm_90"}).exit_code == 0);
  std::string grid = good;
  const std::size_t launch = grid.find("[launch]\n");
  REQUIRE(launch != std::string::npos);
  const std::string shared = cli.write("shared.toml", grid.insert(launch + 9, "shared = 10000000\n"));
  for (const char* command : {"check", "run"}) {
    const CommandResult refused = cli.xtune({command, shared, "--backend", "host"});
    CHECK(refused.exit_code == 3);
    CHECK(has(refused.stderr_text + refused.stdout_text, "10000000 bytes of shared memory"));
  }
  CHECK(cli.xtune({"check", shared}).exit_code == 3);
}

TEST_CASE("check, compile, validate and run refuse a wrong signature and a builtin that does not fit") {
  const Cli cli;
  cli.write("turn.cu", "__global__ void turn(const float* x, float* y) { y[threadIdx.x] = x[BLOCK]; }\n");
  const auto refused = [&](const std::string& text, const std::string& message) {
    const std::string spec = cli.write("turn.toml", text);
    for (const char* command : {"check", "compile", "validate", "run"}) {
      // What only the shapes show, a compile does not need.
      if (command == std::string("compile") && (has(message, "builtin") || has(message, "fill"))) continue;
      std::vector<std::string> words{command, spec, "--backend", "host"};
      if (command == std::string("compile")) words.insert(words.end(), {"--arch", "x86_64"});
      const CommandResult result = cli.xtune(words);
      CAPTURE(command);
      CHECK(result.exit_code == 2);
      CHECK_MESSAGE(has(result.stderr_text, message), result.stderr_text);
      CHECK_FALSE(fs::exists(cli.path("cache/artifacts")));
    }
  };
  const std::string transpose = "{ builtin = \"transpose\", x = \"x\" }", sum = "{ builtin = \"softmax\", x = \"x\" }";
  refused(spec_of("turn", "f64", sum), "argument 1 of turn is const float* x (turn.cu:1)");
  refused(spec_of("trun", "f32", sum), "the source has no kernel 'trun' (did you mean 'turn'?)");
  refused(spec_of("turn", "f32", transpose),
          "turn.toml:15:25: reference builtin transpose: x is f32[8, 4] and the output f32[8, 4]");
  const std::string good = spec_of("turn", "f32", sum), end_of_x = "\"N\"]\n[[args]]\nname = \"y\"";
  const auto filled = [&](const std::string& fill) {
    std::string text = good;
    return text.replace(text.find(end_of_x), end_of_x.size(), "\"N\"]\nfill = " + fill + end_of_x.substr(4));
  };
  refused(filled("{ one_hot = 5 }"), "fill 'one_hot 5': a row of 4 elements has from 0 to 4 ones");
  refused(filled("{ integers = [3, 3] }"), "fill 'integers 3 3': no integer is at least the first number");
  CHECK(cli.xtune({"check", cli.write("turn.toml", spec_of("turn", "f32", sum))}).exit_code == 0);
}
