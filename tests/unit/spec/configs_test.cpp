// [space] configs: the listed configurations, and where a list is wrong.
#include <doctest/doctest.h>

#include <fstream>

#include "core/spec/spec.hpp"
#include "specs.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;

namespace {

const std::vector<Parameter> parameters{{"X", {std::int64_t{16}, std::int64_t{32}}, true},
                                        {"F", {0.5, 2.0}, true},
                                        {"B", {false, true}, true},
                                        {"S", {std::string("row"), std::string("a, \"b\"\n"), std::string("")}, true}};
using Rows = std::vector<std::vector<std::uint32_t>>;

std::string message(const std::string& text) {
  try {
    parse_configs(text, "list.csv", parameters);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_spec);
    return error.what();
  }
  return "no error";
}

struct Listed {
  TemporaryDirectory folder;
  Spec load(const std::string& csv, const SpecOptions& options = {}, const std::string& space = "") const {
    std::ofstream(folder.path() / "list.csv") << csv;
    return parse_spec("[kernel]\nname = \"k\"\n[space]\nconfigs = \"list.csv\"\n" + space +
                          "[space.params]\nX = [16, 32, 64]\nY = [1, 2]\n",
                      "k.toml", folder.path(), options);
  }
};

}  // namespace

TEST_CASE("columns in any order, numbers as other programs write them, quotes, blank lines, either newline") {
  CHECK(parse_configs("S,X,B,F\nrow,16,true,0.5\r\n\n\"a, \"\"b\"\"\n\",32.0,0,2\n\"\", 16 ,1,2e0", "l", parameters) ==
        Rows{{0, 0, 1, 0}, {1, 1, 0, 1}, {0, 1, 1, 2}});
}

TEST_CASE("a written list can be read back") {
  const Space space = Space::listed(parameters, {{1, 1, 0, 1}, {0, 0, 1, 2}, {0, 1, 0, 0}});
  const Rows rows = parse_configs(configs_text(space), "l", parameters);
  REQUIRE(rows.size() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(rows[i] == space.value_indices(i));
}

TEST_CASE("wrong lists are reported with line, column and the nearest word") {
  CHECK(message("") == "list.csv:1:1: the file is empty: its first line names the parameters");
  CHECK(message("X,F,B\n") == "list.csv:1:1: there is no column for the parameter S");
  CHECK(message("X,F,B,S,X\n") == "list.csv:1:9: the parameter X has two columns");
  CHECK(message("X,F,B,SS\n") == "list.csv:1:7: 'SS' is not a parameter of [space.params] (did you mean 'S'?)");
  CHECK(message("X,F,B,S\n") == "list.csv:1:1: the file lists no configuration: give one a line after the names");
  CHECK(message("X,F,B,S\n16,2.0,true,row\n17,2.0,true,row\n") ==
        "list.csv:3:1: '17' is not a value of X (did you mean '16'?)");
  CHECK(message("X,F,B,S\n16,2.0,true,rwo\n") == "list.csv:2:13: 'rwo' is not a value of S (did you mean 'row'?)");
  CHECK(message("X,F,B,S\n16,2.0,true\n") == "list.csv:2:1: 3 values for 4 parameters");
  CHECK(message("X,F,B,S\n16,2.0,1,row\n16,2,true,row\n") == "list.csv:3:1: the configuration is listed twice");
  CHECK(message("X,F,B,S\n16,2.0,1,\"row\n").find("2:10: the quote is never closed") != std::string::npos);
  CHECK(message("X,F,B,S\n16,2.0,1,\"row\"x\n").find("2:10: text after the closing quote") != std::string::npos);
}

TEST_CASE("a spec's listed configurations are its space") {
  const Listed listed;
  const Spec spec = listed.load("X,Y\n64,2\n16,1\n16,2\n");
  const Space space = make_space(spec, {}, {});
  CHECK(space.size() == 3);
  CHECK(space.at(0) == Config{std::int64_t{16}, std::int64_t{1}});
  CHECK(space.at(2) == Config{std::int64_t{64}, std::int64_t{2}});
}

TEST_CASE("-D pins a parameter of a list") {
  const Listed listed;
  const std::string csv = "X,Y\n64,2\n16,1\n16,2\n";
  CHECK(make_space(listed.load(csv, {{{"X", "16"}}, ""}), {}, {}).size() == 2);
  const Space one = make_space(listed.load(csv, {{{"X", "64"}, {"Y", "2"}}, ""}), {}, {});
  CHECK(one.size() == 1);
  CHECK(one.at(0) == Config{std::int64_t{64}, std::int64_t{2}});
  CHECK_THROWS_WITH_AS(make_space(listed.load(csv, {{{"X", "48"}}, ""}), {}, {}),
                       doctest::Contains("none of the listed configurations"), Error);
}

TEST_CASE("a list excludes constraints and needs its file and parameters") {
  const Listed listed;
  CHECK_THROWS_WITH_AS(listed.load("X,Y\n64,2\n", {}, "constraints = [\"X > 1\"]\n"), doctest::Contains("k.toml:4:1"),
                       Error);
  CHECK_THROWS_WITH_AS(listed.load("X,Z\n64,2\n"), doctest::Contains("list.csv:1:3: 'Z'"), Error);
  CHECK_THROWS_WITH_AS(parse_spec("[kernel]\nname = \"k\"\n[space]\nconfigs = \"gone.csv\"\n[space.params]\nX = [1]\n",
                                  "k.toml", listed.folder.path()),
                       doctest::Contains("gone.csv does not exist"), Error);
}

TEST_CASE("a replay's keys") {
  const TemporaryDirectory folder;
  const auto load = [&](const std::string& keys) {
    return parse_spec("[kernel]\nname = \"k\"\n" + keys + "[space.params]\nX = [1, 2]\n", "k.toml", folder.path());
  };
  CHECK(load("backend = \"replay\"\nrecording = \".\"\n").replays());
  CHECK_FALSE(load("").replays());
  CHECK_THROWS_WITH_AS(load("backend = \"replya\"\n"), doctest::Contains("did you mean 'replay'?"), Error);
  CHECK_THROWS_WITH_AS(load("recording = \"gone.jsonl\"\n"), doctest::Contains("gone.jsonl does not exist"), Error);
}

TEST_CASE("a long list is read in linear time, and says on which line it repeats itself") {
  // Each row compared with all values of every parameter would end in the test's timeout.
  std::vector<Parameter> wide(2);
  for (std::size_t i = 0; i < 2; ++i) {
    wide[i].name = i == 0 ? "X" : "Y";
    for (std::int64_t value = 0; value < 100'000; ++value) wide[i].values.emplace_back(value);
  }
  std::string text = "X,Y\n";
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "," + std::to_string(99'999 - i) + "\n";
  CHECK(parse_configs(text, "list.csv", wide).size() == 100'000);
  try {
    parse_configs(text + "7,99992\n", "list.csv", wide);
    FAIL("the list was accepted");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("list.csv:100002:1: the configuration is listed twice"));
  }

  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "list.csv") << text;
  const Spec spec = parse_spec(
      "[kernel]\nname = \"k\"\n[space]\nconfigs = \"list.csv\"\n[space.params]\nX = { min = 0, max = 99999 }\n"
      "Y = { min = 0, max = 99999 }\n",
      "k.toml", folder.path());
  CHECK(spec.configs->size() == 100'000);
}
