// xtune run without a spec: a command behind --, or a kernel's source.
#include <doctest/doctest.h>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// Runs in the test's own directory, where files that the words name are.
CommandResult in_place(const Cli& cli, const std::string& line) {
  return cli.command({"/bin/sh", "-c", "cd \"$1\" && " + line, XTUNE_PROGRAM, cli.path("")});
}

/// Measured, also those that the race stopped early.
int tried(const json& answer) { return answer["counts"].value("ok", 0) + answer["counts"].value("pruned", 0); }

const char* const scale =
    "#ifndef BLOCK\n#define BLOCK 64\n#endif\n"
    "__global__ void scale(const float* x, float* y, float a, int n) {\n"
    "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) y[i] = a * x[i];\n}\n";

}  // namespace

TEST_CASE("a command behind -- is tuned without a file, and options may follow its text") {
  const Cli cli;
  const CommandResult result = in_place(
      cli, "\"$0\" run --quiet --format json -- 'echo took {B} ms' -p B=3,1,2 --time 'took ([0-9.]+) ms' --store s");
  const json tuned = parsed(result);
  CHECK(tried(tuned) == 3);
  CHECK(tuned["best"]["config"] == json{{"B", 1}});
  CHECK(tuned["kernel"] == "echo");
  // Words, which no shell reads; problem sizes and constraints move into the spec.
  const json words = parsed(in_place(cli,
                                     "\"$0\" run --quiet --format json -p T=1:4 -D N=8 --filter 'N % T == 0' --time "
                                     "json:ms --store s --name own -- echo '{{\"ms\": {T}}}'"));
  CHECK(tried(words) == 3);
  CHECK(words["best"]["config"] == json{{"T", 1}});
  CHECK(words["kernel"] == "own");
  CHECK(words["problem"] == json{{"N", 8}});
}

TEST_CASE("a command that compiles and runs a.out has the same answer again") {
  const Cli cli;
  cli.write("k.c", "#include <stdio.h>\nint main(void) { printf(\"took %d ms\\n\", 5 + B); return 0; }\n");
  const std::string line =
      "\"$0\" run --quiet --format json --store s -p B=1,2 --time 'took ([0-9.]+) ms' -- 'gcc -DB={B} k.c && ./a.out'";
  CHECK(tried(parsed(in_place(cli, line))) == 2);
  CHECK(parsed(in_place(cli, line))["from_store"] == 2);
}

TEST_CASE("--write-spec keeps the spec of a command, which then answers from the store") {
  const Cli cli;
  cli.write("k.c", "int main() { return 0; }\n");
  const std::string line =
      "\"$0\" run --quiet --format json --store s -p B=1,2 -p FLAG=-O0 -p 'FLAG=-O1 -g' --write-spec sub/k.toml --time "
      "'took (\\S+)' -- 'cat k.c > k.out; echo {FLAG} took {B} ms'";
  fs::create_directories(cli.path("sub"));
  CHECK(tried(parsed(in_place(cli, line))) == 4);
  const std::string text = read_file(cli.path("sub/k.toml"));
  for (const char* part : {"name = \"k\"", "B = [1, 2]", "FLAG = [\"-O0\", \"-O1 -g\"]", "sources = [\"../k.c\"]",
                           "outputs = [\"k.out\"]", "folder = \"..\""})
    CHECK_MESSAGE(has(text, part), text);
  const json again = parsed(in_place(cli, "\"$0\" run --quiet --format json --store s sub/k.toml"));
  CHECK(again["from_store"] == 4);
  CHECK(parsed(in_place(cli, line))["from_store"] == 4);
  const CommandResult other = in_place(cli, "\"$0\" run --write-spec sub/k.toml -p B=1 -- 'echo {B}'");
  CHECK(other.exit_code == 2);
  CHECK(has(other.stderr_text, "the file exists, with another text"));
}

TEST_CASE("a kernel's source with -p is tuned where it says the rest, and what is missing is asked for") {
  const Cli cli;
  cli.write("scale.cu", scale);
  const json tuned = parsed(in_place(
      cli, "\"$0\" run scale.cu --backend host --quiet --format json --store s -p BLOCK=32,64 -D n=512 -D a=2.5"));
  CHECK(tried(tuned) == 2);
  CHECK(tuned["problem"]["n"] == 512);
  const CommandResult range =
      in_place(cli, "\"$0\" run scale.cu --backend host --quiet --format json --store s -p BLOCK=32:64:32 -D n=512");
  CHECK(has(range.stderr_text, "guessed from scale.cu; an option replaces each guess:\n"));
  CHECK(has(range.stderr_text, "  --grid 'ceildiv(n, BLOCK)'  # from"));
  CHECK(has(range.stderr_text, "  --shape y=n  # from y[i]\n"));
  CHECK(has(range.stderr_text, "  the results of BLOCK = 32 count as right"));
  // The reference is one of the configurations: it cannot be faster than all of them.
  CHECK_FALSE(
      has(in_place(cli, "\"$0\" run scale.cu --backend host --quiet --store s -p BLOCK=64 -D n=512").stdout_text,
          "is faster than every configuration"));
  cli.write("hard.cu",
            "__global__ void hard(float* y, int n, int seed) {\n  y[(blockIdx.x * seed + threadIdx.x) % n] = 1;\n}\n");
  const CommandResult asked = in_place(cli, "\"$0\" run hard.cu -p B=32,64");
  CHECK(asked.exit_code == 2);
  CHECK(has(asked.stderr_text, "the source does not show all that a run needs"));
  CHECK(has(asked.stderr_text, "\n  --block ...  # threads along x, y, z\n"));
  CHECK(has(asked.stderr_text, "\n  -D seed=...  # no index shows what seed is\n"));
  const json given =
      parsed(in_place(cli,
                      "\"$0\" run hard.cu --backend host --quiet --format json --store s -p B=32,64 -D "
                      "n=32 -D seed=1 --grid 'ceildiv(n, B), 1' --block B --shape y=n --write-spec h.toml"));
  CHECK(tried(given) == 2);
  CHECK(has(read_file(cli.path("h.toml")), "grid = [\"ceildiv(n, B)\", \"1\"]"));
  cli.write("vector.cu",
            "__global__ void vector(float* y, float4 q, int n) {\n  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
            "  if (i < n) y[i] = q.x;\n}\n");
  const CommandResult spec_only = in_place(cli, "\"$0\" run vector.cu -p BLOCK=32,64 -D n=64");
  CHECK(spec_only.exit_code == 2);
  CHECK(has(spec_only.stderr_text, "only a spec can say it:\n  q: value = \"?\""));
  cli.write("plain.cu",
            "__global__ void plain(float* y, int n) {\n  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
            "  if (i < n) y[i] = 1;\n}\n");
  CHECK(has(in_place(cli, "\"$0\" run plain.cu --backend host --quiet --store s -D n=64").stderr_text,
            "  -p BLOCK=64,128,256  # threads of a block\n"));
  // A block that is given leaves nothing to guess about its threads.
  cli.write("own.cu", "__global__ void own(float* y, int n) {\n  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;\n}\n");
  const json own =
      parsed(in_place(cli,
                      "\"$0\" run own.cu --backend host --quiet --format json --store s -p B=32,64 -D n=64 "
                      "--grid 'n // B' --block B --shape y=n"));
  CHECK(tried(own) == 2);
}

TEST_CASE("options without use, and command lines without anything to tune, are refused with an example") {
  const Cli cli;
  const auto refused = [&](const std::string& words) {
    const CommandResult result = in_place(cli, "\"$0\" run " + words);
    CHECK(result.exit_code == 2);
    return result.stderr_text;
  };
  cli.write("k.toml", "[space.params]\nA = [1]\n");
  CHECK(has(refused(""), "SPEC is missing: name a spec, or a kernel's source with -p"));
  for (const char* values : {"1,,2", "1:4,", ""})
    CHECK(has(refused(std::string("-p T=") + values + " -- 'echo {T}'"),
              std::string("-p T=") + values + ": a value is empty. Write -p T=64,128"));
  CHECK(has(refused("k.toml -p A=1"), "-p: k.toml is taken for a spec, which has its parameters"));
  CHECK(has(refused("k.toml --time x"), "--time: it goes with a command"));
  CHECK(has(refused("-p B=1 --grid 2 -- 'echo {B}'"), "--grid: it goes with a kernel's source"));
  CHECK(has(refused("k.toml -- 'echo 1'"), "name a spec, or give a command"));
  CHECK(has(refused("-p B -- 'echo {B}'"), "write -p NAME=64,128"));
  CHECK(has(refused("-p B=1 -- 'echo {C}'"), "the command has {C}, and no -p gives its values: -p C=1,2"));
  CHECK(has(refused("-- ./prog --threads {T} -p T=1,2"), "-p: all words behind -- are the command"));
  CHECK(has(refused("-- ./prog --time 'a (.*)' -p T=1,2"), "\n  xtune run --time 'a (.*)' -p T=1,2 -- ./prog\n"));
  CHECK(has(refused("-p B=1 -p T=1,2 -- 'echo {B}'"), "-p T: the command has no {T}"));
  CHECK(has(refused("-p B=1 --build 'cc -DB={B} -c k.c -o k.o && cc k.o -o {out}' -- '{out}'"),
            "--build: several builds run at once, and all would write k.o: write {tmp}/k.o"));
  CHECK(has(refused("-p B=1 --build 'cc -DB={B} none.c -o {out}' -- '{out}'"), "none.c: no such file"));
  cli.write("scale.cu", scale);
  CHECK(has(refused("scale.cu -D m=512"), "-D m: neither the kernel nor another option uses this name"));
  CHECK(has(refused("scale.cu -D N=512"), "(did you mean 'n'?); the kernel takes x, y, a, n"));
  CHECK(has(refused("scale.cu -D n=512 -p n=1,2"), "-D n and -p n: a size has one value"));
  CHECK(has(refused("scale.cu -D n=512 --shape z=n"), "--shape z: the kernel has no argument of this name"));
  CHECK(has(refused("-p 'A B=1,2' -- 'echo {A}'"), "-p 'A B=1,2': 'A B' is not a name"));
  CHECK(has(refused("-p T=1..4 -- 'echo {T}'"), "a range has a colon. Write -p T=1:8"));
  CHECK(has(refused("-p T=4:1 -- 'echo {T}'"),
            "the range 4:1 is empty: it goes from 4 to 1 in steps of 1. Write 4:1:-1"));
  CHECK(has(refused("-p T=1:4:0 -- 'echo {T}'"), "A step is not 0"));
  CHECK(has(refused("-p T=0.5:2:0.5,8 -- 'echo {T}'"),
            "is a range of fractions, and counts down or has other values beside it"));
  CHECK(has(refused("-p T=1,2 --write-spec none/k.toml -- 'echo {T}'"), "directory none is missing. Create it"));
}

TEST_CASE("numbers go into a shell's arithmetic as they are, and lists may have ranges that go up and down") {
  const Cli cli;
  const std::string line = "\"$0\" run --format json --time 'took (\\S+)' --store s ";
  const json tuned = parsed(in_place(cli, line + "--quiet -p T=1:4,8:5:-2 -- 'echo took $(( 100 / {T} ))'"));
  CHECK(tried(tuned) == 6);
  CHECK(tuned["best"]["config"] == json{{"T", 8}});
  const CommandResult texts = in_place(cli, line + "-p T=1,2,x -- 'echo {T} took 1'");
  CHECK(has(texts.stderr_text, "note: -p T: 'x' is not a number, so all values of T are texts"));
}

TEST_CASE("values may have blanks around them and exponents, and a command without parameters is one configuration") {
  const Cli cli;
  const std::string line = "\"$0\" run --format json --time 'took (\\S+)' --store s ";
  const json blanks = parsed(in_place(cli, line + "--quiet -p 'T= 3, 2' -- 'echo took {T}'"));
  CHECK(blanks["best"]["config"] == json{{"T", 2}});
  CHECK(tried(parsed(in_place(cli, line + "--quiet -p T=0:1:2.5e-1 -- 'echo {T} took 1'"))) == 5);
  CHECK(has(in_place(cli, line + "-p T=0:1:1e-12 -- 'echo {T}'").stdout_text, "-p T: T has more than 1000000 values"));
  CHECK(has(in_place(cli, line + "-p T=.5:1 -- 'echo {T}'").stdout_text, "is not a range of numbers"));
  const CommandResult only = in_place(cli, "\"$0\" run --store s --time 'took (\\S+)' -- echo took 1");
  CHECK(has(only.stdout_text, "\nbest: the only configuration\n"));
  const CommandResult own = in_place(cli, line + "-p T=1,2 -- echo --seed 1 took {T}");
  CHECK(has(own.stderr_text, "note: --seed stands behind --, so the command gets it"));
  CHECK(own.exit_code == 0);
}

TEST_CASE("what is wrong with a run without a spec is said about its options") {
  const Cli cli;
  cli.write("scale.cu", scale);
  const auto refused = [&](const std::string& words) {
    const std::string text = in_place(cli, "\"$0\" run --store s --backend host " + words).stderr_text;
    for (const char* word : {"command line:", "[problem]", "[[args]]", "[launch]"})
      CHECK_MESSAGE(!has(text, word), text);
    return text;
  };
  const std::string kernel = "scale.cu -p BLOCK=64 -D n=512 ";
  CHECK(has(refused(kernel + "--grid 'ceildiv(Q, BLOCK)'"), "xtune: --grid: unknown name 'Q' in a launch size"));
  CHECK(has(refused(kernel + "--grid 1,1,1,1"), "xtune: --grid: needs 1 to 3 entries"));
  CHECK(has(refused(kernel + "--shape y=q"), "xtune: --shape y: unknown name 'q' in a shape"));
  CHECK(has(refused(kernel + "--shape y=n*1000000000"), "xtune: argument y: argument 'y' is f32[512000000000]"));
  CHECK(has(refused(kernel + "--filter 'BLOCK > 100'"), "--filter: \"BLOCK > 100\" removes 1 of 1: all"));
  CHECK(has(refused(kernel + "-p WIDE=1,2"), "warning: -p WIDE: neither the source"));
  const json answer =
      json::parse(in_place(cli, "\"$0\" run -p T=1,2 --time 'a(' --format json -- 'echo {T}'").stdout_text);
  CHECK(has(answer["error"]["message"].get<std::string>(), "--time: 'a(' is not a regular expression"));
}
