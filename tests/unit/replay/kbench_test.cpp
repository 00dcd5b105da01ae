// kbench's YAML as specs.
#include "core/replay/kbench.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.hpp"
#include "core/spec/process_spec.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::replay;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;

namespace fs = std::filesystem;

namespace {

struct Import {
  TemporaryDirectory folder;
  KbenchOptions options;
  Import() {
    write_file_atomically(folder.path() / "a b.mojo", "def main(): pass\n");
    write_file_atomically(folder.path() / "bench.py", "print(1)\n");
  }
  std::vector<KbenchSpec> specs(const std::string& text) const {
    return import_kbench({{folder.path() / "x.yaml", text}}, "x", options);
  }
  /// The spec, parsed, with its list of configurations beside it.
  Spec parsed(const KbenchSpec& spec) const {
    if (!spec.configs.empty()) write_file_atomically(folder.path() / (spec.stem + ".configs.csv"), spec.configs);
    return parse_spec(spec.spec, spec.stem + ".toml", folder.path());
  }
  std::string failure(const std::string& text) const {
    try {
      specs(text);
      return "no failure";
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_argument);
      const std::string message = error.what(), place = (folder.path() / "x.yaml").string();
      return message.starts_with(place) ? message.substr(place.size()) : message;
    }
  }
};

std::vector<std::string> words(const ProcessCommand& command) {
  return command.expand([](std::string_view name) -> const Value* {
    static const Value one = std::int64_t{1};
    static const Value word = std::string("w");
    return name == "dtype" ? &word : &one;
  });
}

std::uint64_t size_of(const Spec& spec) { return make_space(spec, spec.cases[0], {}).size(); }

}  // namespace

TEST_CASE("a mapping of values is a product; $ marks what the program takes when it runs") {
  const Import import;
  const auto specs = import.specs(
      "name: gemm\nfile: a b.mojo\nparams:\n  M: [8192, 2**10]\n  dtype: DType.float16\n  $x: [0, 1, 1]\n  T: "
      "[\"True\", "
      "\"False\"]\n");
  REQUIRE(specs.size() == 1);
  CHECK(specs[0].configs.empty());
  const Spec spec = import.parsed(specs[0]);
  CHECK(size_of(spec) == 8);
  CHECK(spec.kernel.name == "gemm");
  CHECK(spec.parameters[0].values == std::vector<Value>{std::int64_t{8192}, std::int64_t{1024}});
  CHECK(spec.parameters[3].values == std::vector<Value>{std::string("True"), std::string("False")});
  for (const Parameter& parameter : spec.parameters) CHECK(parameter.compile_time == (parameter.name != "x"));
  const std::string file = (import.folder.path() / "a b.mojo").string();
  CHECK(words(spec.process->build) ==
        std::vector<std::string>{"mojo", "build", "-D", "M=1", "-D", "dtype=w", "-D", "T=1", file, "-o", "{out}"});
  CHECK(words(spec.process->run) == std::vector<std::string>{"{out}", "--x=1", "-o", "{tmp}/kbench.csv"});
  CHECK(spec.process->time.where == "met (ms)");
}

TEST_CASE("groups follow each other, each a product; those of other names are another spec") {
  const Import import;
  const auto specs = import.specs(
      "name: gemm\nfile: a b.mojo\nparams:\n- {stages: [4, 8], $x: [0, 1]}\n- {stages: 2, $x: [1, 2]}\n- {only: 1}\n"
      "- {stages: 4, $x: [0, 5], metadata: {a: 1}}\n");
  REQUIRE(specs.size() == 2);
  CHECK(specs[1].stem == "x-2");
  CHECK(size_of(import.parsed(specs[0])) == 7);
  CHECK(size_of(import.parsed(specs[1])) == 1);
}

TEST_CASE("rules are constraints where they apply") {
  const Import import;
  const std::string head = "name: gemm\nfile: a b.mojo\nrules:\n- $x <= stages\n- other > 5\nparams:\n";
  const auto one = import.specs(head + "  stages: [1, 2]\n  $x: [1, 2]\n");
  CHECK(size_of(import.parsed(one[0])) == 3);
  const auto two = import.specs(head + "- {stages: [1, 2], $x: [1, 2]}\n- {stages: 3, $x: 4}\n- {stages: 7, $x: 4}\n");
  CHECK(size_of(import.parsed(two[0])) == 4);
}

TEST_CASE("values that are words in one group are words in all") {
  const Import import;
  const auto specs = import.specs("name: g\nfile: a b.mojo\nparams:\n- {s: [4, 8]}\n- {s: 4x4}\n");
  CHECK(import.parsed(specs[0]).parameters[0].values ==
        std::vector<Value>{std::string("4"), std::string("8"), std::string("4x4")});
}

TEST_CASE("a value that is not UTF-8 is refused where the file has it") {
  const Import import;
  CHECK(
      import.failure("name: g\nfile: a b.mojo\nparams: {A: [x, \"y\xff\"]}\n").find("A: a value is not valid UTF-8") !=
      std::string::npos);
}

TEST_CASE("integers and floats of a name are all floats, in one group and in several") {
  const Import import;
  const std::vector<Value> floats{0.5, 1.0, 2.0};
  const auto one =
      import.specs("name: g\nfile: a b.mojo\nparams: {B: [0.5, 1, 4/2, 1.0], C: [8/2, 7//2]}\nrules: [B > 0.75]\n");
  CHECK(import.parsed(one[0]).parameters[0].values == floats);
  CHECK(import.parsed(one[0]).parameters[1].values == std::vector<Value>{4.0, 3.0});
  CHECK(size_of(import.parsed(one[0])) == 4);
  const auto two =
      import.specs("name: g\nfile: a b.mojo\nparams:\n- {B: [0.5, 1]}\n- {B: [1, 2]}\nrules: [B > 0.75]\n");
  CHECK(import.parsed(two[0]).parameters[0].values == floats);
  CHECK(size_of(import.parsed(two[0])) == 2);
  const auto words = import.specs("name: g\nfile: a b.mojo\nparams: {B: [0.5, 1, two, 2**3], C: [1e999, 1]}\n");
  CHECK(import.parsed(words[0]).parameters[0].values ==
        std::vector<Value>{std::string("0.5"), std::string("1"), std::string("two"), std::string("2**3")});
  CHECK(import.parsed(words[0]).parameters[1].values == std::vector<Value>{std::string("1e999"), std::string("1")});
}

TEST_CASE("a Python benchmark is run without a build") {
  const Import import;
  const Spec spec = import.parsed(import.specs("name: g\nfile: bench.py\nparams: {M: [1, 2], $x: 3}\n")[0]);
  CHECK_FALSE(spec.process->build.given());
  CHECK(words(spec.process->run) == std::vector<std::string>{"python3", (import.folder.path() / "bench.py").string(),
                                                             "--M=1", "--x=1", "-o", "{tmp}/kbench.csv"});
}

TEST_CASE("the file's variables are the environment's; options go into the build") {
  Import import;
  import.options = {{"-O3", "a {b}"}, "cuda", {}, {}};
  ::setenv("XTUNE_TEST_ROOT", import.folder.path().c_str(), 1);
  for (const char* file : {"$XTUNE_TEST_ROOT/a b.mojo", "${XTUNE_TEST_ROOT}/a b.mojo"}) {
    const Spec spec = import.parsed(import.specs("name: g/h\nfile: " + std::string(file) + "\nparams: {M: 1}\n")[0]);
    CHECK(spec.kernel.name == "g_h");
    CHECK(words(spec.process->build)[3] == "a {{b}}");
    CHECK(spec.process->device == "cuda");
  }
  ::unsetenv("XTUNE_TEST_ROOT");
  CHECK(import.failure("name: g\nfile: $XTUNE_TEST_ROOT/x.mojo\nparams: {M: 1}\n") ==
        ":2:7: file: the environment has no XTUNE_TEST_ROOT: set it to where the benchmarks are");
}

TEST_CASE("a name that no spec can have is reported at its place in the file") {
  const Import import;
  const std::string head = "name: g\nfile: a b.mojo\nparams:\n  A: 1\n  ";
  for (const char* name : {"out", "tmp", "$out"}) {
    CAPTURE(name);
    CHECK(import.failure(head + name + ": [1, 2]\n").starts_with(":5:3: parameter '"));
    CHECK(import.failure(head + name + ": [1, 2]\n").find("is a place in the commands of [process]") !=
          std::string::npos);
  }
  for (const char* name : {"device", "and", "\"true\"", "time_ms"}) {
    CAPTURE(name);
    CHECK(import.failure(head + name + ": [1, 2]\n").find("has its own meaning in expressions") != std::string::npos);
  }
}

TEST_CASE("merge keys merge, and what the mapping says itself counts") {
  const Import import;
  const std::string head = "name: g\nfile: a b.mojo\n";
  const auto specs = import.specs(
      head + "params:\n- &a {M: [1, 2], $N: 3, metadata: {x: 1}}\n- &b {M: 7, <<: *a}\n- {<<: [*b, *a], $N: [4, 5]}\n");
  REQUIRE(specs.size() == 1);
  CHECK(import.parsed(specs[0]).parameters[0].values ==
        std::vector<Value>{std::int64_t{1}, std::int64_t{2}, std::int64_t{7}});
  CHECK(size_of(import.parsed(specs[0])) == 5);
  CHECK(import.failure(head + "params: {<<: 3}\n") == ":3:14: << merges a mapping, or a list of them");
  CHECK(import.failure(head + "params: &a {<<: *a}\n").find("merges of merges, more than 32 deep") !=
        std::string::npos);
  std::string bomb = head + "metadata:\n- &a0 {M: 1}\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "- &a" + std::to_string(i) + " {<<: [" + before + ", " + before + "]}\n";
  }
  CHECK(import.failure(bomb + "params: {<<: *a29}\n").find("more than 100000 values") != std::string::npos);
}

TEST_CASE("keys that are there twice, and further documents, are told where they are") {
  const Import import;
  const std::string head = "name: g\nfile: a b.mojo\nparams:\n  A: 1\n";
  CHECK(import.failure(head + "  A: [3, 4]\n") == ":5:3: 'A' is there twice");
  CHECK(import.failure(head + "  $A: [3, 4]\n") == ":5:3: 'A' is there twice, with $ and without");
  CHECK(import.failure(head + "params: {A: 2}\n") == ":5:1: 'params' is there twice");
  CHECK(import.failure(head + "  ? [a]\n  : 3\n") == ":5:5: a key is a word");
  CHECK(import.failure(head + "? [a]\n: 3\n") == ":5:3: a key is a word");
  CHECK(import.failure(head + "---\nname: z\n").find(": a second document, behind ---: a kbench file is one") !=
        std::string::npos);
  CHECK(import.failure("---\n" + head + "...\n") == "no failure");
}

TEST_CASE("keys beside params hold what groups merge") {
  const Import import;
  const auto specs = import.specs(
      "name: g\nfile: a b.mojo\nsizes: &sizes\n  $M: [1, 2]\ncommons: &c {K: 3, <<: *sizes}\nparams:\n- <<: *c\n"
      "  N: 4\n  metadata:\n    MODEL: [a/b, c]\n");
  REQUIRE(specs.size() == 1);
  CHECK(size_of(import.parsed(specs[0])) == 2);
}

TEST_CASE("an option that is no identifier keeps its spelling in the command") {
  const Import import;
  const auto specs = import.specs(
      "name: g\nfile: a b.mojo\nrules: [$max-iters > 1 and a.b < 3]\n"
      "params: {block: [1, 2], $max-iters: [1, 7], a.b: 2}\n");
  const Spec spec = import.parsed(specs[0]);
  CHECK(spec.parameters[1].name == "max_iters");
  CHECK(words(spec.process->run)[1] == "--max-iters=1");
  CHECK(words(spec.process->build)[5] == "a.b=1");
  CHECK(import.failure("name: g\nfile: a b.mojo\nparams: {$a-b: 1, $a_b: 2}\n").find("is there twice") !=
        std::string::npos);
}

TEST_CASE("values that are Python literals are evaluated, and other Python is refused at its place") {
  const Import import;
  const std::string head = "name: g\nfile: a b.mojo\nparams:\n  A: ";
  const auto integers = [](std::vector<std::int64_t> list) { return std::vector<Value>(list.begin(), list.end()); };
  const std::pair<const char*, std::vector<Value>> good[] = {
      {"\"[i for i in range(4)]\"", integers({0, 1, 2, 3})},
      {"\"[2048, 4096]\"", integers({2048, 4096})},
      {"[\"[1, 2]\", \"(3, [4, 5])\", 6]", integers({1, 2, 3, 4, 5, 6})},
      {"\"'[2,2,2,2]'\"", {std::string("[2,2,2,2]")}},
      {"\"range(8, 2, -3)\"", integers({8, 5})},
      {"\"list(range(2)) \"", integers({0, 1})},
      {"\"[2**i * j for i in range(3) if i != 1 for j in (1, 10)]\"", integers({1, 10, 4, 40})},
      {"\"['a, b', \\\"c\\\"]\"", {std::string("a, b"), std::string("c")}},
      {"\"[x in [1, 2] for x in [1, 3]]\"", {std::string("True"), std::string("False")}},
      {"64x64", {std::string("64x64")}},
      {"[DType.float16, \"[1, 2]\"]", {std::string("DType.float16"), std::string("[1, 2]")}}};
  for (const auto& [text, values] : good) {
    CAPTURE(text);
    CHECK(import.parsed(import.specs(head + text + "\n")[0]).parameters[0].values == values);
  }
  const std::pair<const char*, const char*> bad[] = {
      {"len(x)", ":4:6: A: the Python value len(x) cannot be evaluated: "},
      {"[1, \"[f(i) for i in range(3)]\"]", ":4:10: A: the Python value [f(i) for i in range(3)] cannot be"},
      {"\"{1, 2}\"", "Write the values as a list, or a word in quotes within quotes"},
      {"\"[1, 2\"", "']' is missing at the end"},
      {"\"[i for i in range(9) for j in range(99999)]\"", "more than 100000 values"},
      {"[1, 2**1000]", ":4:10: A: the Python value 2**1000 cannot be evaluated: "},
      {"2.0**5000", "does not fit a float"},
      {"[two, 9223372036854775807 + 1]", "does not fit a 64-bit integer"},
      {"1//0", "A: the Python value 1//0 cannot be evaluated: "},
      {"\"range(1, 2, 0)\"", "the step of range is zero"},
      {"\"range(0.5)\"", "range takes integers"},
      {"\"[i for i, j in [1]]\"", "only one name can follow 'for'"}};
  for (const auto& [text, message] : bad) {
    CAPTURE(text);
    const std::string found = import.failure(head + text + "\n");
    CAPTURE(found);
    CHECK(found.find(message) != std::string::npos);
  }
}

TEST_CASE("--param replaces a name's values in every group, or adds the name") {
  Import import;
  import.options.params = {"M:[1, 2]", "$dtype:[bf16, f32]", "x-y:7", "M:\"[i for i in range(3, 5)]\"", "K:2**3"};
  import.options.params[3] = "M:[i for i in range(3, 5)]";
  const auto specs = import.specs("name: g\nfile: a b.mojo\nparams:\n- {$M: 9, N: 1}\n- {$M: 8, N: 2}\n");
  REQUIRE(specs.size() == 1);
  const Spec spec = import.parsed(specs[0]);
  CHECK(spec.parameters[0].values ==
        std::vector<Value>{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}});
  CHECK(size_of(spec) == 16);
  CHECK(words(spec.process->build)[5] == "x-y=1");
  import.options.params = {"M"};
  CHECK_THROWS_WITH(import.specs("name: g\nfile: a b.mojo\nparams: {M: 1}\n"),
                    "--param 'M': write NAME:VALUE or NAME:[VALUE, VALUE]");
  import.options.params = {"M:len(x)"};
  CHECK_THROWS_AS(import.specs("name: g\nfile: a b.mojo\nparams: {M: 1}\n"), Error);
}

TEST_CASE("--cases turns sizes into cases of one space") {
  Import import;
  import.options.cases = {"M", "N"};
  const std::string head = "name: g\nfile: a b.mojo\nrules: [M < 9, M >= T]\nparams:\n";
  const auto one = import.specs(head + "- {$M: [4, 8, 16], N: 1, T: [1, 5]}\n- {$M: [8, 2], N: [1, 2], T: [1, 5]}\n");
  REQUIRE(one.size() == 1);
  const Spec spec = import.parsed(one[0]);
  // (4, 1), (8, 1), (8, 2), (2, 1), (2, 2): the rule leaves no 16, and (8, 1) comes once.
  CHECK(spec.cases.size() == 5);
  CHECK(spec.parameters.size() == 1);
  CHECK(make_space(spec, spec.cases[0], {}).size() == 1);
  CHECK(make_space(spec, spec.cases[1], {}).size() == 2);
  CHECK(words(spec.process->run)[1] == "--M=1");
  const auto two = import.specs(head + "- {$M: 4, N: 1, T: [1, 5]}\n- {$M: 2, N: 2, T: 1}\n");
  REQUIRE(two.size() == 2);
  CHECK(import.parsed(two[1]).cases.size() == 1);
  import.options.cases = {"MM"};
  CHECK_THROWS_WITH(import.specs(head + "- {$M: 4, N: 1}\n"), "--cases: no parameter 'MM' (did you mean 'M'?)");
  import.options.cases = {"M", "N", "T"};
  CHECK(import.parsed(import.specs(head + "- {$M: [4, 5], N: 1, T: 1}\n")[0]).cases.size() == 2);
}

TEST_CASE("several files are groups of one benchmark") {
  const Import import;
  const fs::path folder = import.folder.path();
  const std::string head = "name: g\nfile: a b.mojo\n";
  const KbenchText one{folder / "1.yaml", head + "params: {M: [1, 2]}\nrules: [M > 1]\n"};
  const auto specs = import_kbench({one, {folder / "2.yaml", head + "params: {M: [1, 3]}\n"}}, "x", {});
  REQUIRE(specs.size() == 1);
  CHECK(size_of(import.parsed(specs[0])) == 3);
  CHECK_THROWS_AS(import_kbench({one, {folder / "2.yaml", "name: h\nfile: a b.mojo\nparams: {M: 1}\n"}}, "x", {}),
                  Error);
}

TEST_CASE("a file that is not kbench's is refused with place and reason") {
  const Import import;
  const std::string head = "name: g\nfile: a b.mojo\n";
  CHECK(import.failure("- 1\n") == ":1:1: a kbench file is a mapping with name, file and params");
  CHECK(import.failure("name: [x\n").starts_with(":"));
  CHECK(import.failure("name: g\nparams: {M: 1}\n").find("the key 'file' is missing") != std::string::npos);
  CHECK(import.failure(head).find("the key 'params' is missing: nothing to tune") != std::string::npos);
  CHECK(import.failure(head + "param: {M: 1}\n") == ":3:1: unknown key 'param' (did you mean 'params'?)");
  CHECK(import.failure(head + "params: {a b: 1}\n").find("parameter 'a b' is not a C identifier") != std::string::npos);
  CHECK(import.failure(head + "params: {M: []}\n").find("M has no values") != std::string::npos);
  CHECK(import.failure(head + "params: {M: {a: 1}}\n").find("a value is a number or a word") != std::string::npos);
  CHECK(import.failure(head + "params: {M: 1}\nrules: [\"M >\"]\n").find(":4:9: the rule 'M >'") != std::string::npos);
  const std::string rules = head + "params: {M: 1}\nrules:";
  CHECK(import.failure(rules + " M > 0\n") == ":4:8: rules is a list: write rules: [\"M > 0\"]");
  CHECK(import.failure(rules + " {a: M > 0}\n") == ":4:8: rules is a list of expressions, each a text");
  CHECK(import.failure(rules + " [{a: M > 0}]\n") == ":4:9: rules is a list of expressions, each a text");
  CHECK(import.failure(rules + "\n- ~\n") == ":5:3: rules is a list of expressions, each a text");
  CHECK(import.failure(rules + "\n") == "no failure");
  for (const char* none : {"[]", "{}", "[{}, {metadata: {a: 1}}]", "{metadata: 1}"})
    CHECK(import.failure(head + "params: " + none + "\n") ==
          ":3:9: the key 'params' holds no parameters: nothing to tune");
  CHECK(import.failure(head + "params:\n").find("the key 'params' is missing: nothing to tune") != std::string::npos);
  CHECK(import.failure("name: g\nfile: none.mojo\nparams: {M: 1}\n").find(":2:7: file: none.mojo does not exist") !=
        std::string::npos);
  CHECK(import
            .failure(head +
                     "params:\n- &a {M: &b [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n- {M: &c [*b, *b, *b, *b, *b, *b, *b, "
                     "*b]}\n- {M: &d [*c, *c, *c, *c, *c, *c, *c, *c]}\n- {M: &e [*d, *d, *d, *d, *d, *d, *d, "
                     "*d]}\n- {M: &f [*e, *e, *e, *e, *e, *e, *e, *e]}\n- {M: [*f, *f, *f, *f, *f, *f, *f, *f]}\n")
            .find("more than 100000 values") != std::string::npos);
  CHECK(import.failure(head + "params: {M: &a [1, *a]}\n").find("a list in a list, more than 32 deep") !=
        std::string::npos);
  std::string wide = head + "params:\n- {Z: 1";
  for (int i = 0; i < 8; ++i) wide += ", P" + std::to_string(i) + ": [1, 2, 3, 4, 5, 6, 7, 8]";
  wide += "}\n";
  CHECK(import.failure(wide + wide.substr(wide.find("- {"))).find("are listed one by one") != std::string::npos);
}
