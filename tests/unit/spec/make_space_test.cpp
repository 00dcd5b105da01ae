// From a spec to its space, and the texts evaluated for one configuration.
#include <doctest/doctest.h>

#include "core/spec/template_text.hpp"
#include "specs.hpp"

using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

std::string space_failure(const std::string& text) {
  const Spec spec = parse(text);
  try {
    make_space(spec, spec.cases.front(), facts());
    return "no error";
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
}

}  // namespace

TEST_CASE("constraints see the problem, the parameters and the device") {
  const Spec spec = parse(edited("\"BLOCK_M * 4 <= device.shared_per_block_optin\"",
                                 "\"BLOCK_M * 16 <= device.shared_per_block_optin and N == 1024\""));
  const Space space = make_space(spec, spec.cases.front(), facts());
  CHECK(space.cartesian_size() == 2 * 3 * 2 * 2 * 2 * 2);
  CHECK(space.size() == 6 * 8);  // only BLOCK_M = 64, with all BLOCK_N and THREADS
}

TEST_CASE("with candidates the space holds only what the device can launch") {
  const std::string tiles =
      "[kernel]\nname = \"k\"\nsource = \"gemm.cu\"\nentry = \"k\"\n"
      "[space.params]\nX = [64, 512, 1024]\nY = [1, 2]\nKB = [16, 1024]\n"
      "[launch]\ngrid = [\"1\"]\nblock = [\"X\", \"Y\"]\nshared = \"KB * 1024\"\n"
      "[[args]]\nname = \"out\"\ndtype = \"f32\"\nshape = [1]\nrole = \"out\"\n";
  const std::string wanted = tiles + "[candidates]\ntemplate = \"elementwise\"\n";
  Bindings device = facts();
  device["device.max_threads_per_block"] = std::int64_t{1024};
  device["device.shared_per_block_optin"] = std::int64_t{99 << 10};
  const auto size = [](const std::string& text, const Bindings& known) {
    const Spec spec = parse(text);
    return make_space(spec, spec.cases.front(), known).size();
  };
  CHECK(size(tiles, device) == 12);
  CHECK(size(wanted, device) == 5);  // 1024 x 2 threads are too many, a MiB of shared memory is too much
  // The launch may use names of [derived].
  const std::string named =
      edited("\"KB * 1024\"", "\"SHARED\"", edited("block = [\"X\", \"Y\"]", "block = [\"THREADS\"]", wanted));
  CHECK(size("[derived]\nTHREADS = \"X * Y\"\nSHARED = \"KB * 1024\"\n" + named, device) == 5);
  // So may a step that is launched only if a name holds, also beside numbers.
  const std::string step = "[[steps]]\nentry = \"k\"\nwhen = \"LARGE\"\ngrid = [1]\nblock = [2048]\n";
  const std::string other = "[[steps]]\nentry = \"k\"\ngrid = [1]\nblock = [64]\n";
  const std::string stepped = edited(
      "entry = \"k\"\n[space", "[derived]\nLARGE = \"X > 64\"\n[space",
      edited("[launch]\ngrid = [\"1\"]\nblock = [\"X\", \"Y\"]\nshared = \"KB * 1024\"\n", step + other, wanted));
  CHECK(size(stepped, device) == 4);  // X = 64
  device["device.max_threads_per_block"] = std::int64_t{0};
  CHECK(size(wanted, device) == 6);  // unknown: nothing is forbidden
  device["device.shared_per_block_optin"] = std::int64_t{1024};
  const Spec spec = parse(wanted);
  try {
    make_space(spec, spec.cases.front(), device);
    FAIL("something fits");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("\"(KB * 1024) <= device.shared_per_block_optin\" removes 12 of 12: all") !=
          std::string::npos);
  }
}

TEST_CASE("with candidates the launch may use names of [derived]") {
  const Spec spec = parse(
      "[kernel]\nname = \"k\"\nsource = \"gemm.cu\"\nentry = \"k\"\n"
      "[derived]\nTHREADS = \"32 * X\"\nBYTES = \"THREADS * 64\"\n"
      "[space.params]\nX = [1, 16, 64]\n"
      "[launch]\ngrid = [\"1\"]\nblock = [\"THREADS\"]\nshared = \"BYTES\"\n"
      "[[args]]\nname = \"out\"\ndtype = \"f32\"\nshape = [1]\nrole = \"out\"\n"
      "[candidates]\ntemplate = \"elementwise\"\n");
  Bindings device = facts();
  device["device.max_threads_per_block"] = std::int64_t{1024};
  device["device.shared_per_block_optin"] = std::int64_t{16 << 10};
  CHECK(make_space(spec, spec.cases.front(), device).size() == 1);
}

TEST_CASE("the error for an empty space lists what each constraint removes") {
  const std::string error =
      space_failure(edited("<= 128\"", "<= 1\"", edited("THREADS <=", "THREADS * 0 + BLOCK_M <=")));
  CHECK(error.find("nothing_valid: ") == 0);
  CHECK(error.find("no configuration of the space is valid for ALPHA = 1.5, M = 4096, N = 1024") != std::string::npos);
  CHECK(error.find("gemm.toml:15:4: ") != std::string::npos);
  CHECK(error.find("removes 96 of 96: all") != std::string::npos);
  CHECK(error.find("<= device.shared_per_block_optin\" removes 0 of 96") != std::string::npos);
}

TEST_CASE("a constraint that divides by zero is an error at its column, with the values") {
  const std::string error = space_failure(edited("BLOCK_N // THREADS <=", "BLOCK_N // (RASTER - 4) <="));
  CHECK(error ==
        "invalid_spec: gemm.toml:15:22: division by zero (BLOCK_M = 64, BLOCK_N = 32, RASTER = 4) in the constraint "
        "\"BLOCK_M * BLOCK_N // (RASTER - 4) <= 128\"\n    \"BLOCK_M * BLOCK_N // (RASTER - 4) <= 128\",\n" +
            std::string(2 + 21, ' ') + "^");
}

TEST_CASE("a space too large to number is the spec's mistake") {
  std::string text = "[kernel]\nname = \"s\"\n[space.params]\n";
  for (const char* name : {"A", "B", "C", "D"}) text += std::string(name) + " = { min = 1, max = 100000 }\n";
  const std::string error = space_failure(text);
  CHECK(error.find("invalid_spec: gemm.toml:4:1: the space has more than 2^63 configurations") == 0);
}

TEST_CASE("an error told later shows the line like the first ones") {
  const Spec spec = parse(good);
  CHECK(std::string(spec_error(spec, spec.search.at, "no such strategy").what()) ==
        to_string(spec.search.at) + ": no such strategy\n  strategy = \"random\"\n             ^");
  CHECK(std::string(spec_error(spec, {"gemm.toml", 999, 1}, "m").what()) == "gemm.toml:999:1: m");
  CHECK(std::string(spec_error(Spec{}, {}, "m").what()) == "m");
}

TEST_CASE("texts of one configuration") {
  const Spec spec = parse(good);
  const Space space = make_space(spec, spec.cases.front(), facts());
  const Config config = space.at(0);
  const Lookup lookup = lookup_names(spec.cases.front(), facts(), spec.parameters, &config);
  CHECK(expand(spec.kernel.entry, lookup) == "gemm<64, 32>");
  CHECK(expand(spec.kernel.options[1], lookup) == "-maxrregcount=64");
  CHECK(expand(spec.kernel.defines[0].second, lookup) == "32");
  CHECK(expand(spec.kernel.defines[1].second, lookup) == "{}");
  CHECK(evaluate_integer(spec.launch.grid[0], lookup) == 32);
  CHECK(evaluate(*spec.args[2].value, lookup) == Value{0.0});
}

TEST_CASE("template texts") {
  const Bindings names{{"ON", true}, {"KIND", std::string("a}b")}, {"X", 0.5}};
  const Bindings none;
  const Lookup lookup = lookup_names(names, none);
  const auto expanded = [&](const std::string& text) { return expand(Text{text, {"f", 3, 5}}, lookup); };
  CHECK(expanded("") == "");
  CHECK(expanded("plain") == "plain");
  CHECK(expanded("{ON}{X}") == "10.5");
  CHECK(expanded("{{{ON}}}") == "{1}");
  CHECK(expanded("{'}' == KIND}") == "0");
  CHECK(expanded("{KIND}") == "a}b");
  CHECK(expanded("<{ON and X},\n{X * 2}>") == "<0.5,\n1.0>");
  const auto failure_of = [&](const std::string& text) {
    try {
      return expanded(text);
    } catch (const TextError& error) {
      CHECK(error.kind() == ErrorKind::invalid_spec);
      return std::string(error.what());
    }
  };
  CHECK(failure_of("ab{1 // 0}") == "f:3:10: division by zero in \"1 // 0\"");
  CHECK(failure_of("ab{\n Y}").find("f:4:2: unknown name 'Y'") == 0);
  CHECK(failure_of("{ON").find("f:3:5: '{' is not closed") == 0);
  CHECK(failure_of("awk '{d=1}'").find("write '==' (a plain brace is written '{{')") != std::string::npos);
  CHECK(failure_of("a}").find("f:3:6: '}' without '{'") == 0);
}

TEST_CASE("integers of expressions") {
  const Bindings none;
  const Lookup lookup = lookup_names(none, none);
  const auto integer = [&](const std::string& text) { return evaluate_integer(Text{text, {"f", 1, 1}}, lookup); };
  CHECK(integer("7") == 7);
  CHECK(integer("8 / 2") == 4);
  CHECK_THROWS_AS(integer("7 / 2"), TextError);
  CHECK_THROWS_AS(integer("1e30"), TextError);
  CHECK_THROWS_AS(integer("true"), TextError);
  CHECK_THROWS_AS(integer("'a'"), TextError);
}

TEST_CASE("a compiled text is parsed once and evaluated for many") {
  const CompiledText text = CompiledText::expression({"A * 2", {"f", 1, 1}});
  const Bindings none;
  for (std::int64_t a = 0; a < 3; ++a) {
    const Bindings names{{"A", a}};
    CHECK(text.evaluate_integer(lookup_names(names, none)) == 2 * a);
  }
}
