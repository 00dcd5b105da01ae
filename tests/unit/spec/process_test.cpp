// [process]: its valid contents, the words of its commands, and the places of errors.
#include <doctest/doctest.h>

#include "core/spec/process_spec.hpp"
#include "core/spec/template_text.hpp"
#include "unit/spec/specs.hpp"

using namespace xtune::device;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string program = R"spec([kernel]
name = "stencil"

[problem]
N = 64

[space.params]
TILE = [8, 16]
FLAGS = ["-O2", "-O3 -funroll-loops"]
THREADS = [1, 2]

[process]
build = "cc {FLAGS...} -DTILE={TILE} gemm.cu -o {out}"
run = "{out} --n {N} --threads {THREADS}"
sources = ["gemm.cu"]
time = { regex = "time ([0-9.]+)", unit = "us" }

[process.metrics]
speed = { csv = "speed" }

[objective]
maximize = "speed / THREADS"
)spec";

std::string changed(const std::string& from, const std::string& to) { return edited(from, to, program); }
/// Refused at the place where `at` stands, with these words.
void refused_at(const std::string& text, const std::string& at, const std::string& words) {
  const std::string message = failure(text);
  CAPTURE(message);
  const std::size_t found = text.find(at);
  REQUIRE(found != std::string::npos);
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(found), '\n') + 1;
  const std::size_t column =
      found - (text.rfind('\n', found) == std::string::npos ? 0 : text.rfind('\n', found) + 1) + 1;
  CHECK(message.find("gemm.toml:" + std::to_string(line) + ":" + std::to_string(column) + ": ") != std::string::npos);
  CHECK(message.find(words) != std::string::npos);
}

using Words = std::vector<std::string>;

Words split(const std::string& text) {
  Words words;
  for (const Text& word : split_command({text, {}})) words.push_back(word.text);
  return words;
}

std::string split_failure(const std::string& text) {
  try {
    split(text);
    return "split";
  } catch (const TextError& error) {
    return error.message;
  }
}

Lookup lookup_in(const Bindings& names) {
  return [&names](std::string_view name) -> const Value* {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
  };
}

}  // namespace

TEST_CASE("a command is cut at blanks, quotes and backslashes apart, before anything is put into it") {
  CHECK(split("cc  -O2\t-o {out}\n") == Words{"cc", "-O2", "-o", "{out}"});
  CHECK(split(R"(a 'b c' "d \"e\" \\" f\ g '' x'y'z)") == Words{"a", "b c", "d \"e\" \\", "f g", "", "xyz"});
  CHECK(split("a-{N + 1}-b {'x y' + Z} '{N * 2} c'") == Words{"a-{N + 1}-b", "{'x y' + Z}", "{N * 2} c"});
  CHECK(split("awk '{{print $1}}'") == Words{"awk", "{{print $1}}"});
  CHECK(split_failure("a 'b").find("quote is never closed") != std::string::npos);
  CHECK(split_failure("a {b").find("'{' is not closed") != std::string::npos);
  for (const char* word : {"a | b", "a; b", "a > b", "$HOME", "`b`", "a*", "a && b", "# b"}) {
    CAPTURE(word);
    CHECK(split_failure(word).find("needs a shell") != std::string::npos);
  }
}

TEST_CASE("a value stays in its word, for any contents") {
  const Bindings names{{"X", std::string("a b; rm -rf $(pwd) {out} 'q'")}, {"N", std::int64_t{3}}, {"ON", true}};
  Words words;
  CommandWord({"--x={X}", {}}).expand(lookup_in(names), words);
  CommandWord({"{N * 2}{ON}", {}}).expand(lookup_in(names), words);
  CommandWord({"{out}{{}}", {}}).expand(lookup_in(names), words);
  CHECK(words == Words{"--x=a b; rm -rf $(pwd) {{out}} 'q'", "61", "{out}{{}}"});
  CHECK(from_call_text(words[0], {"/o", "/t"}) == "--x=a b; rm -rf $(pwd) {out} 'q'");
  CHECK(from_call_text(words[2], {"/o", "/t"}) == "/o{}");
}

TEST_CASE("{X...} is the one placeholder that becomes several words, or none") {
  const auto expanded = [](const std::string& value) {
    const Bindings names{{"X", value}};
    Words words;
    CommandWord({"{X...}", {}}).expand(lookup_in(names), words);
    return words;
  };
  CHECK(expanded("-a  '-b c' {out}") == Words{"-a", "-b c", "{{out}}"});
  CHECK(expanded("").empty());
  CHECK_THROWS_WITH_AS(expanded("a; b"), doctest::Contains("needs a shell"), TextError);
  CHECK_THROWS_AS(CommandWord({"{out...}", {}}), TextError);
  CHECK_THROWS_AS(CommandWord({"-{X...}", {}}), TextError);
}

TEST_CASE("a shell's text gets values in quotes, and places as variables") {
  const Bindings names{{"X", std::string("a'b $(c)")}};
  Words words;
  CommandWord({"prog {X} > {tmp}/log; {out}", {}}, true).expand(lookup_in(names), words);
  CHECK(words == Words{"/bin/sh", "-c", R"(prog 'a'\''b $(c)' > "$XTUNE_TMP"/log; "$XTUNE_OUT")"});
  for (const char* text : {"echo \"{X}\"", "echo '{X}'", "echo \"a 'b' {X}\"", "echo \\{X}", "echo \"\\\"{X}"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(CommandWord({text, {}}, true), doctest::Contains("a placeholder within quotes"), TextError);
  }
  CHECK_THROWS_WITH_AS(CommandWord({"echo {X...}", {}}, true), doctest::Contains("does not go with shell"), TextError);
  CHECK_NOTHROW(CommandWord({"echo \"it's\" {X} 'a' \\\" {X} \\\\{X}", {}}, true));
}

TEST_CASE("outputs are paths relative to the commands' directory, of files that need not exist") {
  const Spec spec = parse(changed("sources =", "outputs = [\"./a/result.csv\"]\nsources ="));
  REQUIRE(spec.process->outputs.size() == 1);
  CHECK(spec.process->outputs[0] == (spec.process->folder / "a/result.csv").lexically_normal());
}

TEST_CASE("parameters that the build does not name are launch-only") {
  const Spec spec = parse(program);
  REQUIRE(spec.process);
  CHECK_FALSE(spec.space_only());
  for (const Parameter& parameter : spec.parameters) CHECK(parameter.compile_time == (parameter.name != "THREADS"));
  CHECK(spec.process->time.unit == "us");
  CHECK(reported_names(spec) == Words{"speed"});
  CHECK(spec.process->run.program() == "{out}");
  CHECK(spec.process->build.program() == "cc");
  CHECK_FALSE(validates(spec));
  CHECK(validates(parse(changed("sources =", "expect = \"ok\"\nsources ="))));
  const Spec env = parse(changed("sources =", "build_env = { T = \"{THREADS}\" }\nsources ="));
  for (const Parameter& parameter : env.parameters) CHECK(parameter.compile_time);
}

TEST_CASE("a program is measured with few runs unless the spec says otherwise") {
  CHECK(parse(program).measure.warmup == 0);
  CHECK(parse(program).measure.rep == 7);
  CHECK(parse(program + "[measure]\nrep = 20\n").measure.rep == 20);
}

TEST_CASE("a program without a build and parameters is a valid spec") {
  const Spec spec = parse("[kernel]\nname = \"p\"\n[space.params]\nA = [1, 2]\n[process]\nrun = \"./p {A}\"\n");
  CHECK_FALSE(spec.process->build.given());
  CHECK(spec.process->time.form == ProgramValue::Form::wall);
}

TEST_CASE("errors in [process] are reported at their place") {
  refused_at(changed("run = \"{out} --n {N} --threads {THREADS}\"", ""), "[process]",
             "[process] has neither run, the command that is timed, nor serve");
  refused_at(changed("-o {out}\"", "-o prog\""), "\"cc", "process.build does not name {out}");
  refused_at(changed("--n {N}", "--n {M}"), "M}", "unknown name 'M' in a command");
  refused_at(changed("--threads {THREADS}", "--threads {THREADS"), "{THREADS\"", "not closed");
  refused_at(changed("--n {N}", "| tee"), "| tee",
             "'|' needs a shell, and none is used: put it in quotes to pass it literally, or set shell = true");
  refused_at(
      changed("\"{out} --n {N}", "\"OMP_NUM_THREADS={THREADS} {out} --n {N}"), "OMP_NUM_THREADS={THREADS} {out}",
      "process.run begins with 'OMP_NUM_THREADS={THREADS}', which would be the program: set variables with env = { "
      "OMP_NUM_THREADS = \"{THREADS}\" }");
  refused_at(changed("build = \"", "build = \"CC=cc "), "CC=cc", "set variables with build_env = { CC = \"cc\" }");
  refused_at(changed("sources =", "source ="), "source =", "did you mean 'sources'");
  refused_at(changed("[\"gemm.cu\"]", "[\"gem.cu\"]"), "\"gem.cu\"", "does not exist");
  refused_at(changed("regex = \"time ([0-9.]+)\"", "regex = \"time ([0-9\""), "\"time ([0-9\"",
             "is not a regular expression in RE2's syntax");
  for (const char* refused : {"(?=t)", "(?<!t)", "(t)\\\\1"})
    refused_at(changed("regex = \"time ([0-9.]+)\"", std::string("regex = \"") + refused + "\""),
               std::string("\"") + refused, "which has no lookarounds and no back-references: invalid");
  refused_at(changed("unit = \"us\"", "unit = \"GB\""), "\"GB\"", "a unit of time");
  for (const char* path : {"[", "a[", "a[0", "a[]", "'a.b", "a['b']"}) {
    std::string text = path;
    std::replace(text.begin(), text.end(), '\'', '"');
    CAPTURE(path);
    refused_at(changed("{ csv = \"speed\" }", "{ json = '" + text + "' }"), "'" + text, "never closed");
  }
  refused_at(changed("{ csv = \"speed\" }", "{ csv = \"speed\", json = \"s\" }"), "{ csv", "exactly one of json");
  refused_at(changed("speed = {", "TILE = {"), "TILE = { csv", "is both a metric and a parameter");
  refused_at(changed("speed = {", "registers = {"), "registers = {", "is a quantity that xtune measures");
  refused_at(program + "[metrics]\nspeed = \"1\"\n", "speed = \"1\"", "is in [process.metrics] as well");
  refused_at(changed("TILE = [8, 16]", "TILE = { values = [8, 16], compile_time = false }"), "TILE = {",
             "compile_time = false, and process.build names it");
}

TEST_CASE("{X...} goes with no shell, and is a word by itself") {
  const std::string run = "run = \"{out} --n {N} --threads {THREADS}\"";
  refused_at(changed(run, "run = \"{out} x{FLAGS...}\""), "{FLAGS...}\"",
             "{FLAGS...} becomes several words: it cannot be a part of one");
  const std::string shell = edited("{FLAGS...}", "{FLAGS}", changed(run, "shell = true\n" + run));
  refused_at(edited("--n {N}", "{FLAGS...}", shell), "{FLAGS...}",
             "{FLAGS...} becomes several words, which does not go with shell = true");
  refused_at(edited(run, "run = '''\n{out} a\n {FLAGS...}'''", shell), "{FLAGS...}", "becomes several words");
  refused_at(edited("--n {N}", "'a\\n\\\\' {N} {FLAGS...}", shell), "{FLAGS...}", "becomes several words");
}

TEST_CASE("escapes of TOML move no place") {
  const std::string run = "run = \"{out} --n {N} --threads {THREADS}\"";
  refused_at(changed(run, "run = \"{out} --a='b\\n\\\"' {M}\""), "M}\"", "unknown name 'M' in a command");
  refused_at(changed(run, "run = [\"{out}\", \"a\\n\\\"{M}\"]"), "M}\"", "unknown name 'M' in a command");
  refused_at(changed(run, "run = ['{out}', 'a\\n\\\"{M}']"), "M}'", "unknown name 'M' in a command");
}

TEST_CASE("names of parameters and problem sizes are none of those of places") {
  refused_at(changed("TILE = ", "out = "),
             "out =", "parameter 'out' is a place in the commands of [process], {out}: choose another name");
  refused_at(changed("N = 64", "tmp = 64"),
             "tmp =", "problem name 'tmp' is a place in the commands of [process], {tmp}: choose another name");
}

TEST_CASE("a kernel's sections do not go with a program") {
  refused_at(program + "[launch]\ngrid = [1]\n", "[launch]", "[process] tunes a program");
  refused_at(program + "[validate]\nrtol = 1\n", "[validate]", "judged by validate and expect");
  refused_at(changed("name = \"stencil\"", "name = \"stencil\"\nsource = \"gemm.cu\""), "[process]",
             "exclude each other");
}

TEST_CASE("--filter adds constraints, on listed configurations too") {
  SpecOptions options;
  options.filters = {"TILE * THREADS >= 16", "FLAGS == '-O2'"};
  const Spec spec = parse(program, options);
  CHECK(make_space(spec, spec.cases[0], facts()).size() == 3);
  options.filters = {"TILES > 1"};
  CHECK(failure(program, options).find("--filter 'TILES > 1': unknown name 'TILES'") != std::string::npos);
  options.filters = {"TILE > 100"};
  const Spec none = parse(program, options);
  CHECK_THROWS_WITH_AS(make_space(none, none.cases[0], facts()), doctest::Contains("--filter"), Error);
}

TEST_CASE("partitions share no configuration, and have them all together") {
  const std::string text =
      "[kernel]\nname = \"s\"\n[space]\nconstraints = [\"A <= B\"]\n[space.params]\nA = { min = 1, max = 20 }\n"
      "B = { min = 1, max = 30 }\nC = [1, 2]\n";
  const Spec whole = parse(text);
  const Space space = make_space(whole, whole.cases[0], facts());
  std::vector<int> seen(space.size());
  std::size_t least = space.size(), most = 0;
  for (std::uint64_t part = 0; part < 7; ++part) {
    SpecOptions options;
    options.partition = {part, 7};
    const Spec spec = parse(text, options);
    const Space own = make_space(spec, spec.cases[0], facts());
    least = std::min<std::size_t>(least, own.size());
    most = std::max<std::size_t>(most, own.size());
    bool one = false, two = false;
    for (std::uint64_t i = 0; i < own.size(); ++i) {
      ++seen[space.index_of(own.at(i)).value()];
      (own.at(i)[2] == Value(std::int64_t{1}) ? one : two) = true;
    }
    CHECK(one);
    CHECK(two);
  }
  for (const int times : seen) CHECK(times == 1);
  CHECK(most - least <= 1);
  SpecOptions options;
  options.partition = {1000, 1001};
  const Spec far = parse(text, options);
  CHECK_THROWS_WITH_AS(make_space(far, far.cases[0], facts()), doctest::Contains("this part none of them"), Error);
}
