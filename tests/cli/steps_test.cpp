// [[steps]] from the command line, on the host: what is measured, stored, shown and refused.
#include "cli/steps.hpp"

#include <doctest/doctest.h>

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

TEST_CASE("a configuration of several steps is validated, measured and stored as one") {
  const Cli cli;
  const std::string spec = split_sum_spec(cli);
  const json run = parsed(cli.run(spec));
  CHECK(run["counts"] == json{{"ok", 4}});
  const std::vector<json> records = cli.records();
  REQUIRE(records.size() == 4);
  for (const json& record : records) {
    const bool split = record["config"]["PARTS"] == 4;
    REQUIRE(record["steps"].size() == (split ? 2 : 1));
    CHECK(record["steps"][0]["entry"] == "sum_parts");
    CHECK(record["steps"][0]["usage"].contains("static_shared_bytes"));
    CHECK(record.value("dynamic_shared_bytes", 0) == (split ? 16 : 0));
    if (!split) continue;
    CHECK(record["steps"][1]["entry"] == "add_sums<4>");
    CHECK(record["steps"][1]["dynamic_shared_bytes"] == 16);
    std::string parts;
    for (const json& part : record["key_parts"])
      if (part[0] == "launch") parts = part[1];
    CHECK(has(parts, "steps ["));
    CHECK(has(parts, "add_sums<4> grid 4x1x1 block 1x1x1"));
  }
  const json again = parsed(cli.run(spec));
  CHECK(again["from_store"] == 4);
  CHECK(parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json"}))["match"] == "exact");
}

TEST_CASE("steps read what the steps before them wrote, in finals, with rotating buffers and under a sanitizer") {
  const Cli cli;
  const std::string measure = "flush = \"rotate\"\n[validate]\nrepeat = 2\nreference = { config = { PARTS = 1 } }\n";
  const std::string spec = split_sum_spec(cli, measure);
  CHECK(parsed(cli.run(spec))["counts"] == json{{"ok", 4}});
  CHECK(parsed(cli.run(spec, {"--fresh", "--evals", "4"}))["counts"] == json{{"ok", 4}});
  if (can_sanitize) CHECK(parsed(cli.run(spec, {"--sanitize"}))["counts"] == json{{"ok", 4}});
}

TEST_CASE("scratch memory is zeroed before the first step, and not between steps") {
  const Cli cli;
  cli.write("count.cu",
            "extern \"C\" __global__ void count(int* seen) { atomicAdd(seen, 1); }\n"
            "extern \"C\" __global__ void report(const int* seen, int* y) { *y = *seen; }\n"
            "extern \"C\" __global__ void expected(int* seen, int* y) { *y = 2 * TIMES; }\n");
  const auto spec = [&](const std::string& times) {
    return cli.write("count.toml",
                     "[kernel]\nname = \"count\"\nsource = \"count.cu\"\n[space.params]\nTIMES = [" + times +
                         "]\n"
                         "[[steps]]\nentry = \"count\"\ngrid = [\"TIMES\"]\nblock = [1]\nargs = [\"seen\"]\n"
                         "[[steps]]\nentry = \"count\"\ngrid = [1]\nblock = [\"TIMES\"]\nargs = [\"seen\"]\n"
                         "[[steps]]\nentry = \"report\"\ngrid = [1]\nblock = [1]\nargs = [\"seen\", \"y\"]\n"
                         "[[args]]\nname = \"seen\"\ndtype = \"i32\"\nshape = [1]\nrole = \"scratch\"\nzero = true\n"
                         "[[args]]\nname = \"y\"\ndtype = \"i32\"\nshape = [1]\nrole = \"out\"\n"
                         "[validate]\nreference = { kernel = \"expected\", grid = [1], block = [1] }\n"
                         "[measure]\nrep = 3\nmin_rep = 3\nflush = \"none\"\nrace = false\nfinals = 0\n");
  };
  for (const char* times : {"3", "5"}) CHECK(parsed(cli.run(spec(times)))["counts"] == json{{"ok", 1}});
}

TEST_CASE("a step may take no arguments") {
  const Cli cli;
  cli.write("reset.cu",
            "__device__ int seen;\n"
            "extern \"C\" __global__ void reset() { seen = VALUE; }\n"
            "extern \"C\" __global__ void report(int* y) { *y = seen++; }\n"
            "extern \"C\" __global__ void expected(int* y) { *y = VALUE; }\n");
  const std::string spec = cli.write(
      "reset.toml",
      "[kernel]\nname = \"reset\"\nsource = \"reset.cu\"\n[space.params]\nVALUE = [3, 5]\n"
      "[[steps]]\nentry = \"reset\"\ngrid = [1]\nblock = [1]\nargs = []\n"
      "[[steps]]\nentry = \"report\"\ngrid = [1]\nblock = [1]\n"
      "[[args]]\nname = \"y\"\ndtype = \"i32\"\nshape = [1]\nrole = \"out\"\n"
      "[validate]\nreference = { kernel = \"expected\", grid = [1], block = [1], options = [\"-DVALUE=3\"] }\n"
      "[measure]\nrep = 3\nmin_rep = 3\nflush = \"none\"\nrace = false\nfinals = 0\n");
  CHECK(parsed(cli.run(spec))["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
}

TEST_CASE("show and compile list what each step takes") {
  const Cli cli;
  const std::string spec = split_sum_spec(cli);
  const std::vector<std::string> words{"show",       spec, "--backend", "host", "--config", "PARTS=4,BLOCK=64",
                                       "--no-source"};
  const CommandResult shown = cli.xtune(words);
  CAPTURE(shown.stderr_text);
  CHECK(has(shown.stdout_text, "compiled:   sum_parts, add_sums<4> for "));
  CHECK(has(shown.stdout_text, "step 2:     sum_parts\nlaunch:     grid 4 x 4, block 64, 0 bytes"));
  CHECK(has(shown.stdout_text, "step 3:     add_sums<4>\nlaunch:     grid 4, block 1, 16 bytes"));
  std::vector<std::string> as_json = words;
  as_json.insert(as_json.end(), {"--format", "json"});
  const json answer = parsed(cli.xtune(as_json));
  REQUIRE(answer["steps"].size() == 2);
  CHECK(answer["steps"][1]["entry"] == "add_sums<4>");
  CHECK(answer["steps"][1]["launch"]["shared_bytes"] == 16);
  CHECK(answer["steps"][0]["resources"].contains("static_shared_bytes"));
  CHECK(answer["resources"].contains("registers"));
  CHECK_FALSE(answer.contains("entry"));
  const json compiled = parsed(cli.xtune({"compile", spec, "--backend", "host", "--format", "json"}));
  REQUIRE(compiled.size() == 4);
  for (const json& row : compiled) CHECK(row["outcome"] == "ok");
}

TEST_CASE("a failure names the step or its kernel") {
  const Cli cli;
  const std::string spec = split_sum_spec(cli);
  const std::string text = read_file(spec);
  const auto failures = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const auto at = changed.find(from);
    REQUIRE(at != std::string::npos);
    const CommandResult run =
        cli.run(cli.write("changed.toml", changed.replace(at, from.size(), to)), {"-D", "PARTS=4", "-D", "BLOCK=32"});
    return run.exit_code == 2 ? run.stderr_text : parsed(run)["failures"].dump();
  };
  CHECK(has(failures("add_sums<{PARTS}>", "add_sum<{PARTS}>"),
            "the source has no kernel 'add_sum' (did you mean 'add_sums'?)"));
  CHECK(has(failures("block = [1]", "block = [4096]"), "step 3 'add_sums<4>': block.x = 4096 exceeds"));
  CHECK(has(failures("[\"sums\", \"y\"]",
                     "[\"sums\", \"n\"]\n[[steps]]\nentry = \"sum_parts\"\ngrid = [1]\nblock = [1]\n"
                     "args = [\"x\", \"y\", \"n\"]"),
            "argument 2 of add_sums is float* y (split_sum.cu:"));
  CHECK(has(failures("when = \"PARTS > 1\"\ngrid = [\"ROWS\"]", "when = \"PARTS > 4\"\ngrid = [\"ROWS\"]"),
            "wrong_result"));
  const CommandResult none = cli.run(cli.write("none.toml", [&] {
    std::string changed = text;
    for (auto at = changed.find("PARTS > 1"); at != std::string::npos; at = changed.find("PARTS > 1"))
      changed.replace(at, 9, "PARTS > 8");
    return changed;
  }()));
  CHECK(has(none.stdout_text, "no step is left"));
}

TEST_CASE("a step that writes out of bounds is found") {
  const Cli cli;
  const std::string spec = split_sum_spec(cli);
  std::string source = read_file(cli.path("split_sum.cu"));
  const std::string right = "y[blockIdx.x] = sum;";
  source.replace(source.find(right), right.size(), "y[blockIdx.x + 1] = sum;");
  cli.write("split_sum.cu", source);
  const json run = parsed(cli.run(spec, {"-D", "BLOCK=32"}));
  CHECK(run["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  if (!can_sanitize) return;
  const json sanitized = parsed(cli.run(spec, {"-D", "BLOCK=32", "-D", "PARTS=4", "--sanitize"}));
  CHECK(sanitized["counts"] == json{{"crashed", 1}});
  CHECK(has(sanitized["failures"].dump(), "add_sums<4>(float const*, float*)"));
  CHECK(has(sanitized["failures"].dump(), "split_sum.cu:17"));
}

TEST_CASE("check reports mistakes in steps") {
  const Cli cli;
  const std::string spec = split_sum_spec(cli);
  CHECK(cli.xtune({"check", spec, "--arch", "sm_90a"}).exit_code == 0);
  const std::string text = read_file(spec);
  const std::string unused =
      cli.write("unused.toml", text + "[[args]]\nname = \"z\"\nkind = \"scalar\"\ndtype = \"f32\"\nvalue = 1\n");
  const CommandResult refused = cli.xtune({"check", unused, "--arch", "sm_90a"});
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.stderr_text, "the argument 'z' is in the args of no step"));
  std::string renamed = text;
  renamed.replace(renamed.find("sum_parts"), 9, "sum_part");
  const CommandResult warned = cli.xtune({"check", cli.write("renamed.toml", renamed), "--arch", "sm_90a"});
  CHECK(warned.exit_code == 2);
  CHECK(has(warned.stderr_text, "the source has no kernel 'sum_part' (did you mean 'sum_parts'?)"));
}
