// Suites: their changes to a spec, and every mistake at its place.
#include "core/spec/suite.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "core/spec/spec.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::spec;

using namespace xtune;

namespace {

struct SuiteFolder {
  TemporaryDirectory folder;
  SuiteFolder() {
    put("a.toml",
        "[kernel]\nname = \"a\"\n[problem]\nM = 64\nN = 32\n[[cases]]\nM = 1\n[[cases]]\nM = 2\n"
        "[space.params]\nX = [1, 2, 3]\n[search]\nevals = 7\nseed = 3\n[measure]\nrep = 9\n");
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(folder.path() / name) << text; }
  Suite suite(const std::string& text) const { return parse_suite(text, "suite.toml", folder.path()).value(); }
  Spec spec(const std::string& text, const std::vector<std::pair<std::string, std::string>>& defines = {}) const {
    const Suite read = suite(text);
    SpecOptions options;
    options.defines = defines;
    options.suite = &read.entries.front();
    return load_spec(read.entries.front().spec, options);
  }
  /// "suite.toml:2:3: what", the first line of the error.
  std::string failure(const std::string& text) const {
    try {
      spec(text);
    } catch (const Error& error) {
      const std::string what = error.what();
      return what.substr(0, what.find('\n'));
    }
    return "no error";
  }
};

const std::string entry = "[[suite]]\nspec = \"a.toml\"\n";

}  // namespace

TEST_CASE("An entry without changes leaves the spec as it is") {
  const SuiteFolder folder;
  const Spec spec = folder.spec(entry);
  CHECK(spec.cases.size() == 2);
  CHECK(spec.search.evals == 7);
  CHECK(folder.suite(entry + entry).entries.size() == 2);
}

TEST_CASE("Cases, defines, search and measure of the entry, over those of the suite, over the spec's") {
  const SuiteFolder folder;
  const Spec spec = folder.spec("search = { evals = 5, seconds = 2 }\nmeasure = { finals = 2 }\n" + entry +
                                "cases = [{ M = 8 }, { N = 4 }, {}]\ndefines = { X = 2 }\nsearch = { evals = 6 }\n");
  REQUIRE(spec.cases.size() == 3);
  CHECK(spec.cases[0] == Bindings{{"M", std::int64_t{8}}, {"N", std::int64_t{32}}});
  CHECK(spec.cases[1] == Bindings{{"M", std::int64_t{64}}, {"N", std::int64_t{4}}});
  CHECK(spec.cases[2] == Bindings{{"M", std::int64_t{64}}, {"N", std::int64_t{32}}});
  CHECK(spec.parameters.at(0).values == std::vector<Value>{std::int64_t{2}});
  CHECK(spec.search.evals == 6);
  CHECK(spec.search.seconds == 2.0);
  CHECK(spec.search.seed == 3);
  CHECK(spec.measure.finals == 2);
  CHECK(spec.measure.rep == 9);
}

TEST_CASE("The command line counts more than the suite") {
  const SuiteFolder folder;
  const Spec spec = folder.spec(entry + "defines = { X = 2 }\ncases = [{ M = 8 }]\n", {{"X", "3"}, {"M", "9"}});
  CHECK(spec.parameters.at(0).values == std::vector<Value>{std::int64_t{3}});
  CHECK(spec.cases.at(0).at("M") == Value(std::int64_t{9}));
}

TEST_CASE("A file without [[suite]], or that is not TOML, is not a suite") {
  const SuiteFolder folder;
  CHECK_FALSE(parse_suite("[kernel]\nname = \"a\"\n", "a.toml", folder.folder.path()));
  CHECK_FALSE(parse_suite("[[suite", "a.toml", folder.folder.path()));
  CHECK_FALSE(load_suite(folder.folder.path() / "missing.toml"));
  CHECK_FALSE(load_suite(folder.folder.path()));
}

TEST_CASE("Mistakes are reported at their place in the suite") {
  const SuiteFolder folder;
  const auto has = [&](const std::string& text, const std::string& message) {
    CHECK(folder.failure(text) == "suite.toml:" + message);
  };
  has("suite = 3\n", "1:9: suite: expected an array, got an integer");
  has("suite = []\n", "1:9: the suite is empty: it needs a [[suite]]");
  has("suite = [3]\n", "1:10: [[suite]]: expected a table, got an integer");
  has("[[suite]]\n", "1:1: [[suite]] has no spec: name the file to tune, spec = \"gemm.toml\"");
  has(entry + "[kernel]\n", "3:2: unknown key 'kernel' in the suite");
  has(entry + "case = []\n", "3:1: unknown key 'case' in [[suite]] (did you mean 'cases'?)");
  has("[[suite]]\nspec = 3\n", "2:8: spec: expected a string, got an integer");
  has(entry + "cases = []\n", "3:9: cases is empty: give at least one, or leave it out for those of the spec");
  has(entry + "cases = [3]\n", "3:10: cases: expected a table, got an integer");
  has(entry + "cases = [{ Q = 1 }]\n",
      "3:12: unknown problem name 'Q' in [[cases]]; [problem] gives every name and its default");
  has(entry + "cases = [{ M = \"x\" }]\n", "3:16: case: M is integer in [problem], got string");
  has(entry + "cases = [{ M = 1 }, { M = 1 }]\n", "3:21: duplicate case: the same problem as case 1");
  has(entry + "defines = { Y = 1 }\n",
      "3:13: -D Y: neither a problem size nor a parameter of " + (folder.folder.path() / "a.toml").string());
  has(entry + "defines = { X = [1] }\n", "3:17: X: expected a number, a string or a boolean, got an array");
  has(entry + "search = { evals = 0 }\n", "3:20: evals = 0 is less than 1");
  has(entry + "search = { eval = 1 }\n", "3:12: unknown key 'eval' in [search] (did you mean 'evals'?)");
  has("measure = { rep = \"x\" }\n" + entry, "1:19: rep: expected an integer, got a string");
  CHECK(folder.failure("[[suite]]\nspec = \"b.toml\"\n").find("suite.toml:2:8: spec 'b.toml': ") == 0);
}

TEST_CASE("A place in the suite shows no line of the spec") {
  const SuiteFolder folder;
  const Spec spec = folder.spec(entry + "search = { strategy = \"annealign\" }\n");
  CHECK(spec.search.at.file == "suite.toml");
  CHECK(std::string(spec_error(spec, spec.search.at, "unknown").what()) == "suite.toml:3:23: unknown");
}
