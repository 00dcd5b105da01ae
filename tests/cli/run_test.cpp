// Tests of `xtune run` on the host: the answer, the store, the log, overrides, several runs at once.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

TEST_CASE("A busy machine marks its records, answers from them while it is busy, and is replaced once it is quiet") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  Cli busy;
  busy.env = cli.env;
  busy.env.emplace_back("XTUNE_BUSY", "yes");
  const std::string reason = "the CPUs were busy: XTUNE_BUSY says so";
  const CommandResult first = busy.run(spec);
  REQUIRE(first.exit_code == 0);
  CHECK_MESSAGE(has(first.stderr_text, "warning: a measurement was disturbed (the CPUs were busy); such"),
                first.stderr_text);
  CHECK(parsed(first)["best"]["tainted"] == json{reason});
  CHECK(cli.records().size() == 3);
  for (const json& record : cli.records()) CHECK(record["tainted"] == json{reason});
  const CommandResult best = cli.xtune({"best", spec, "--backend", "host"});
  CHECK(best.exit_code == 0);
  CHECK(has(best.stdout_text, "tainted: " + reason));
  const std::string rows = cli.xtune({"best", spec, "--backend", "host", "--format", "csv"}).stdout_text;
  CHECK_MESSAGE(has(rows, reason), rows);
  CHECK(has(busy.xtune({"run", spec, "--backend", "host"}).stdout_text, "tainted: " + reason));

  const CommandResult again = busy.run(spec);
  CHECK(again.exit_code == 0);
  CHECK(parsed(again)["from_store"] == 3);
  CHECK_MESSAGE(has(again.stderr_text, "warning: 3 stored results were disturbed when measured"), again.stderr_text);
  const CommandResult quiet = cli.run(spec);
  CHECK(parsed(quiet)["from_store"] == 0);
  CHECK_FALSE(parsed(quiet)["best"].contains("tainted"));
  CHECK_FALSE(has(quiet.stderr_text, "disturbed"));
  CHECK_FALSE(has(cli.xtune({"best", spec, "--backend", "host"}).stdout_text, "tainted"));
  CHECK(parsed(busy.run(spec))["from_store"] == 3);
}

TEST_CASE("A run finds the best; a second run answers from the store and starts no process") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const CommandResult first = cli.run(spec, {"--log", cli.path("log.txt")});
  CAPTURE(first.stderr_text);
  REQUIRE(first.exit_code == 0);
  const json result = parsed(first);
  CHECK(result["kernel"] == "copy");
  CHECK(result["problem"] == json{{"N", 4096}});
  CHECK(result["device"]["backend"] == "host");
  CHECK(result["counts"] == json{{"ok", 3}});
  CHECK(result["from_store"] == 0);
  CHECK(result["space"] == 3);
  CHECK(result["best"]["time_ms"] > 0);
  CHECK(result["best"]["interval_ms"].size() == 2);
  CHECK(result["best"]["config"].contains("VARIANT"));
  CHECK(result["seconds"]["compile_cpu"] > 0);
  CHECK(result["seconds"]["device_busy"] > 0);

  const std::string log = read_file(cli.path("log.txt"));
  for (const char* part : {"VARIANT=1 | ok | measure", "VARIANT=2 | ok", "VARIANT=3 | ok", "median", "N=4096"})
    CHECK(log.find(part) != std::string::npos);

  std::vector<std::string> again = Cli::run_arguments(spec, {});
  again.insert(again.begin(), {XTUNE_WITHOUT_CHILDREN, XTUNE_PROGRAM});
  const CommandResult second = cli.command(again);
  CAPTURE(second.stderr_text);
  REQUIRE(second.exit_code == 0);
  const json stored = parsed(second);
  CHECK(stored["from_store"] == 3);
  CHECK(stored["counts"] == json{{"ok", 3}});
  CHECK(stored["best"]["config"] == result["best"]["config"]);
  CHECK(stored["best"]["time_ms"] == result["best"]["time_ms"]);
  CHECK(stored["seconds"]["device_busy"] == 0);

  // The same wrapper shows that a run which has to measure does need processes.
  again.push_back("--fresh");
  CHECK(cli.command(again).exit_code != 0);

  SUBCASE("best and why answer from the same store") {
    const CommandResult best = cli.xtune({"best", spec, "--backend", "host", "--format", "json"});
    REQUIRE(best.exit_code == 0);
    CHECK(parsed(best)["match"] == "exact");
    CHECK(parsed(best)["best"]["config"] == result["best"]["config"]);
    const json near = parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json", "-D", "N=8192"}));
    CHECK(near["match"] == "nearest");
    CHECK(near["measured_for"] == json{{"N", 4096}});
    const json why = parsed(cli.xtune({"why", spec, "--backend", "host", "--format", "json"}));
    CHECK(why["stored"] == 3);
    CHECK(why["never_measured"] == 0);
    const json other = parsed(cli.xtune({"why", spec, "--backend", "host", "--format", "json", "-D", "N=8192"}));
    CHECK(other["stored"] == 0);
    CHECK(other["differing"].size() == 1);
    CHECK(other["differing"].begin().key().find("problem") != std::string::npos);
    CHECK(cli.xtune({"why", spec, "--backend", "host"}).stdout_text.find("3 stored") != std::string::npos);
    CHECK(cli.xtune({"best", spec, "--backend", "host"}).stdout_text.find("exact") != std::string::npos);
  }
  SUBCASE("A new value measures the new configuration only; -D pins a parameter or changes the problem") {
    const std::string wider = cli.copy_spec("[1, 2, 3, 4]");
    const json more = parsed(cli.run(wider));
    CHECK(more["from_store"] == 3);
    CHECK(more["counts"] == json{{"ok", 4}});
    const json pinned = parsed(cli.run(wider, {"-D", "VARIANT=2"}));
    CHECK(pinned["space"] == 1);
    CHECK(pinned["from_store"] == 1);
    CHECK(pinned["best"]["config"] == json{{"VARIANT", 2}});
    const json larger = parsed(cli.run(wider, {"-D", "N=5000", "--evals", "2"}));
    CHECK(larger["problem"] == json{{"N", 5000}});
    CHECK(larger["from_store"] == 0);
    CHECK(larger["counts"] == json{{"ok", 2}});
  }
  SUBCASE("XTUNE_DISABLE_CACHE=records measures again with the kernels that are compiled") {
    Cli other;
    other.set("XTUNE_DISABLE_CACHE", "records");
    const std::string same = other.copy_spec("[1, 2]");
    CHECK(parsed(other.run(same))["from_store"] == 0);
    CHECK(fs::exists(other.path("cache") + "/artifacts"));
    CHECK_FALSE(fs::exists(other.path("cache") + "/records"));
    const json compiled = parsed(other.xtune({"compile", same, "--backend", "host", "--format", "json"}));
    for (const json& each : compiled) CHECK(each["cached"] == true);
    CHECK(parsed(other.run(same))["from_store"] == 0);
    CHECK_FALSE(fs::exists(other.path("cache") + "/records"));
    CHECK(fs::is_empty(other.path("tmp")));
  }
  SUBCASE("fresh and XTUNE_DISABLE_CACHE measure again") {
    CHECK(parsed(cli.run(spec, {"--fresh"}))["from_store"] == 0);
    Cli other;
    other.set("XTUNE_DISABLE_CACHE", "1");
    const std::string same = other.copy_spec("[1]");
    CHECK(parsed(other.run(same))["from_store"] == 0);
    CHECK(parsed(other.run(same))["from_store"] == 0);
    CHECK(other.xtune({"compile", same, "--backend", "host"}).exit_code == 0);
    CHECK_FALSE(fs::exists(other.path("cache") + "/records"));
    CHECK_FALSE(fs::exists(other.path("cache")));
    CHECK(fs::is_empty(other.path("tmp")));
  }
}

TEST_CASE("Race and finals decide on the answer; a second run gives the same from the store, and starts no process") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 4, 8, 16]", "[measure]\nwarmup = 1\nmax_time_ms = 50\n");
  const json result = parsed(cli.run(spec, {"--strategy", "exhaustive", "--top", "2"}));
  std::uint64_t timed = 0;
  for (const auto& [outcome, count] : result["counts"].items()) {
    CHECK((outcome == "ok" || outcome == "pruned"));
    timed += count.get<std::uint64_t>();
  }
  CHECK(timed == 5);
  REQUIRE(result["top"].size() <= 2);
  REQUIRE(result["top"].size() >= 1);
  CHECK(result["top"][0]["config"] == result["best"]["config"]);
  CHECK(result["top"][0]["interval_ms"].size() == 2);
  if (!result["finals"].is_null()) CHECK(result["finals"]["finalists"] >= 2);
  // Finals that other virtual machines disturbed are repeated: then there is nothing to compare.
  for (const std::string& records : cli.stored_texts())
    if (has(records, "other virtual machines")) return;
  std::vector<std::string> again = Cli::run_arguments(spec, {"--strategy", "exhaustive"});
  again.insert(again.begin(), {XTUNE_WITHOUT_CHILDREN, XTUNE_PROGRAM});
  const CommandResult second = cli.command(again);
  CAPTURE(second.stderr_text);
  REQUIRE(second.exit_code == 0);
  const json stored = parsed(second);
  CHECK(stored["from_store"] == 5);
  CHECK(stored["counts"] == result["counts"]);
  CHECK(stored["finals"] == result["finals"]);
  CHECK(stored["best"]["config"] == result["best"]["config"]);
  CHECK(stored["best"]["ties"] == result["best"]["ties"]);
  CHECK(parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json"}))["best"]["config"] ==
        result["best"]["config"]);
}

TEST_CASE("--effort: none predicts and stores nothing, quick tries ten at most; --evals counts if it is smaller") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]");
  const auto predicted = [&](const std::vector<std::string>& words) {
    const json answer = parsed(cli.run(spec, words));
    CHECK(answer["best"].is_null());
    CHECK(answer["trace"].empty());
    return answer["prediction"];
  };
  CHECK(has(predicted({"--effort", "none"})["source"], "the first of the space"));
  CHECK(cli.stored_texts().empty());
  CHECK(has(cli.xtune({"run", spec, "--backend", "host", "--effort", "none"}).stdout_text, "predicted, not measured"));
  CHECK(cli.run(spec, {"--effort", "none", "--report", "r.html"}).exit_code == 2);
  const auto tried = [&](const std::vector<std::string>& words) {
    const json answer = parsed(cli.run(spec, words));
    std::uint64_t count = 0;
    for (const auto& [outcome, each] : answer["counts"].items()) count += each.get<std::uint64_t>();
    return count;
  };
  CHECK(tried({"--effort", "quick"}) == 10);
  CHECK(tried({"--effort", "quick", "--evals", "2"}) == 2);
  const json known = predicted({"--effort", "none"});
  CHECK(known["config"] ==
        parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json"}))["best"]["config"]);
  CHECK(known["time_ms"] > 0);
  CHECK(known["expected"].is_null());
  CHECK(has(known["source"], "measurement of this problem"));
  const json other = predicted({"--effort", "none", "-D", "N=5000"});
  CHECK(has(other["source"], "measurement of N="));
  CHECK(other["expected"]["time_ms"] == other["time_ms"]);
  CHECK(other["expected"]["interval_ms"][0] < other["time_ms"]);
  const json best = parsed(cli.xtune({"best", spec, "--backend", "host", "-D", "N=5000", "--format", "json"}));
  CHECK(best["best"]["config"] == other["config"]);
  CHECK(best["expected"] == other["expected"]);
  CHECK(best["source"] == other["source"]);
}

TEST_CASE("Several cases give a list; text output names the winner") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]", "[[cases]]\nN = 1024\n[[cases]]\nN = 2048\n");
  const json results = parsed(cli.run(spec));
  REQUIRE(results.is_array());
  REQUIRE(results.size() == 2);
  CHECK(results[0]["problem"] == json{{"N", 1024}});
  CHECK(results[1]["problem"] == json{{"N", 2048}});
  const CommandResult text = cli.xtune({"run", spec, "--backend", "host", "--store", cli.path("cache")});
  CHECK(text.exit_code == 0);
  CHECK(text.stdout_text.find("best: VARIANT=1") != std::string::npos);
  CHECK(text.stdout_text.find("from the store") != std::string::npos);
}

TEST_CASE("One configuration for all cases, by a rule; what an objective names is shown") {
  const Cli cli;
  const std::string spec =
      cli.copy_spec("[1, 2, 4]",
                    "[[cases]]\nN = 1024\n[[cases]]\nN = 2048\n[metrics]\nGBps = \"8 * N / time_s / "
                    "1e9\"\n[objective]\nmaximize = \"GBps\"\nacross = \"worst\"\n");
  const json results = parsed(cli.run(spec));
  REQUIRE(results.size() == 2);
  for (const json& result : results) {
    CHECK(result["best"]["objective"]["GBps"] == result["best"]["metrics"]["GBps"]);
    CHECK(result["across"]["rule"] == "worst");
    CHECK(result["across"]["config"] == results[0]["across"]["config"]);
    CHECK(result["across"]["score"] == results[0]["across"]["score"]);
    CHECK(result["across"]["ratio"] >= 1);
  }
  const CommandResult text = cli.xtune({"run", spec, "--backend", "host", "--store", cli.path("cache")});
  CHECK(has(text.stdout_text, "for all cases: VARIANT="));
  CHECK(has(text.stdout_text, "objective: most GBps "));
  const CommandResult best = cli.xtune({"best", spec, "--backend", "host"});
  CHECK(has(best.stdout_text, "objective: most GBps "));
  CHECK(best.stdout_text.substr(best.stdout_text.find("for all cases:")) ==
        text.stdout_text.substr(text.stdout_text.find("for all cases:")));
  const json stored = parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json"}));
  const json again = parsed(cli.run(spec));
  REQUIRE(stored.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    for (const char* member : {"rule", "config", "score", "ratio", "time_ms"})
      CHECK(stored[i]["across"][member] == again[i]["across"][member]);
  const CommandResult none = cli.xtune({"best", spec, "--backend", "host", "--store", cli.path("empty")});
  CHECK(none.exit_code == 3);
  CHECK(has(none.stdout_text, "for all cases: none"));

  const std::string two = cli.copy_spec("[1, 2, 4]", "[objective]\nminimize = [\"time_ms\", \"VARIANT\"]\n");
  const json pareto = parsed(cli.run(two));
  REQUIRE(pareto["pareto"].is_array());
  CHECK(pareto["pareto"].size() >= 1);
  CHECK(pareto["best"]["objective"].size() == 2);
  CHECK(has(cli.xtune({"run", two, "--backend", "host"}).stdout_text, "Pareto set"));
}

TEST_CASE("Two runs at once share one store and lose nothing") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 3, 4]");
  Running one(cli, Cli::run_arguments(spec, {})), two(cli, Cli::run_arguments(spec, {}));
  REQUIRE(one.wait_for_end());
  REQUIRE(two.wait_for_end());
  CAPTURE(one.err);
  CAPTURE(two.err);
  CHECK(one.exit_code == 0);
  CHECK(two.exit_code == 0);
  const json after = parsed(cli.run(spec));
  CHECK(after["from_store"] == 4);
}

TEST_CASE("A store whose records cannot be written costs a warning; one that holds no artifacts another") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  fs::create_directories(cli.path("cache"));
  cli.write("cache/records", "a file where the folder should be");
  const CommandResult warned = cli.run(spec);
  CAPTURE(warned.stderr_text);
  CHECK(warned.exit_code == 0);
  CHECK(warned.stderr_text.find("warning") != std::string::npos);
  CHECK(parsed(warned)["counts"] == json{{"ok", 1}});
  const CommandResult blocked = cli.run(spec, {"--store", cli.write("blocked", "a file")});
  CHECK(blocked.exit_code == 0);
  CHECK(blocked.stderr_text.find("blocked") != std::string::npos);
  CHECK(parsed(blocked)["counts"] == json{{"ok", 1}});
}

TEST_CASE("On a full disk, or a read-only one, a run goes on without a store") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]"), disk = cli.path("disk");
  fs::create_directories(disk);
  // A separate file system needs a user namespace, which some machines do not allow.
  if (!cli.command({"unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=4k", "none", disk}).ok()) {
    MESSAGE("skipped: no private mounts here");
    return;
  }
  const auto on_disk = [&](const std::string& size, const std::string& script) {
    const std::string run = "run() { " XTUNE_PROGRAM " run \"$1\" --backend host --format json --store \"$0\" $2; };";
    return cli.command({"unshare", "-rm", "sh", "-c",
                        "mount -t tmpfs -o mode=755,size=" + size + " none \"$0\" && " + run + script, disk, spec});
  };
  const CommandResult none = on_disk("4k", "run \"$1\"");
  CHECK(none.exit_code == 0);
  CHECK(none.stderr_text.find("No space left") != std::string::npos);
  CHECK(parsed(none)["counts"] == json{{"ok", 2}});
  const CommandResult read_only =
      on_disk("1m", "run \"$1\" >/dev/null && mount -o remount,ro \"$0\" && run \"$1\" --fresh");
  CAPTURE(read_only.stderr_text);
  CHECK(read_only.exit_code == 0);
  CHECK(read_only.stderr_text.find("Read-only file system") != std::string::npos);
  CHECK(parsed(read_only)["counts"] == json{{"ok", 2}});
  const CommandResult full =
      on_disk("1m", "run \"$1\" >/dev/null; dd if=/dev/zero of=\"$0/fill\" 2>/dev/null; run \"$1\" --fresh");
  CAPTURE(full.stderr_text);
  CHECK(full.exit_code == 0);
  CHECK(full.stderr_text.find("warning") != std::string::npos);
  CHECK(parsed(full)["counts"] == json{{"ok", 2}});
}

TEST_CASE("Artifacts that are missing or damaged are compiled again within the run") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  REQUIRE(cli.run(spec).exit_code == 0);
  const auto images = [&] {
    std::vector<fs::path> found;
    for (const auto& file : fs::recursive_directory_iterator(cli.path("cache") + "/artifacts"))
      if (file.path().extension() == ".so") found.push_back(file.path());
    return found;
  };
  const auto before = images();
  REQUIRE(before.size() == 1);
  const std::function<void(const fs::path&)> damages[] = {
      [](const fs::path& image) { std::ofstream(image) << "garbage"; },
      [](const fs::path& image) { fs::remove(image); },
      [](const fs::path& image) { fs::resize_file(image, fs::file_size(image) - 1); }};
  for (const auto& damage : damages) {
    damage(before[0]);
    const CommandResult run = cli.run(spec, {"--fresh"});
    CAPTURE(run.stderr_text);
    CHECK(run.exit_code == 0);
    CHECK(parsed(run)["counts"] == json{{"ok", 2}});
    CHECK(images() == before);
  }
}

TEST_CASE("A full temporary disk ends the run and is never a configuration's failure") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]"), disk = cli.path("disk");
  fs::create_directories(disk);
  if (!cli.command({"unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=4k", "none", disk}).ok()) {
    MESSAGE("skipped: no private mounts here");
    return;
  }
  // Which step fails depends on the size: xtune's own files, the assembler, the linker, and from some size on none.
  std::string last;
  for (int kib = 4; kib < 4096; kib += kib == 4 ? 92 : 16) {
    CAPTURE(kib);
    const CommandResult run = cli.command({"unshare", "-rm", "sh", "-c",
                                           "mount -t tmpfs -o size=" + std::to_string(kib) +
                                               "k none \"$0\" && XTUNE_TMP_DIR=\"$0\" TMPDIR=\"$0\" exec " XTUNE_PROGRAM
                                               " run \"$1\" --backend host --format json",
                                           disk, spec});
    CAPTURE(run.stderr_text);
    if (run.exit_code == 0) {
      CHECK(parsed(run)["counts"] == json{{"ok", 2}});
      break;
    }
    CHECK(run.exit_code == 1);
    CHECK(has(run.stderr_text, disk));
    CHECK(has(run.stderr_text, "XTUNE_TMP_DIR"));
    CHECK(parsed(run)["error"]["message"].get<std::string>().find("XTUNE_TMP_DIR") != std::string::npos);
    CHECK(cli.stored_records() == 0);
    last = run.stderr_text;
  }
  CHECK(has(last, "No space left"));
  CHECK(parsed(cli.run(spec))["counts"] == json{{"ok", 2}});
}

TEST_CASE("A limit on file sizes is an error that names the file, never a death by signal") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const auto limited = [&](const std::string& blocks) {
    return cli.command({"/bin/sh", "-c",
                        "ulimit -f " + blocks + "; exec \"$0\" run \"$1\" --backend host --format json", XTUNE_PROGRAM,
                        spec});
  };
  const CommandResult none = limited("1");
  CAPTURE(none.stderr_text);
  CHECK(none.exit_code == 1);
  CHECK(none.stderr_text.find("cannot write /") != std::string::npos);
  CHECK(parsed(none).contains("error"));
}

TEST_CASE("Ctrl-C while a large space is built ends the run") {
  const Cli cli;
  std::string product, parameters;
  for (char name = 'A'; name <= 'L'; ++name) {
    product += std::string(name == 'A' ? "" : " * ") + name;
    parameters += std::string(1, name) + " = { min = 1, max = 20 }\n";
  }
  const std::string spec = cli.copy_spec("[1], compile_time = false }\n" + parameters + "X = { values = [1]",
                                         "[space]\nconstraints = [\"" + product + " <= 2000000000\"]\n");
  Running run(cli, Cli::run_arguments(spec, {}));
  REQUIRE(run.wait_until([&] { return !run.err.empty(); }));
  kill(run.process.pid(), SIGINT);
  REQUIRE(run.wait_for_end());
  CAPTURE(run.err);
  CHECK(run.exit_code == 130);
}

TEST_CASE("A compiler that takes too long is killed with all it started, and costs its own configuration") {
  const Cli cli;
  std::string source = "#define A0 -\n";
  for (int i = 1; i <= 6; ++i) {
    source += "#define A" + std::to_string(i);
    for (int j = 0; j < 10; ++j) source += " A" + std::to_string(i - 1);
    source += "\n";
  }
  cli.write("hang.cu", source +
                           "extern \"C\" __global__ void copy(const float* x, float* y) {\n"
                           "#if HANG\n  y[0] = A6 x[0];\n#else\n  y[0] = x[0];\n#endif\n}\n");
  const std::string spec = cli.write("hang.toml",
                                     "[kernel]\nname = \"hang\"\nsource = \"hang.cu\"\nentry = \"copy\"\n"
                                     "compile_timeout_s = 6\n[space.params]\nHANG = [false, true]\n"
                                     "[launch]\ngrid = [1]\nblock = [1]\n"
                                     "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [1, 1]\n"
                                     "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [1, 1]\nrole = \"out\"\n"
                                     "[validate]\nreference = { builtin = \"transpose\", x = \"x\" }\n");
  const CommandResult result = cli.run(spec, {"--log", cli.path("log.txt")});
  CAPTURE(result.stderr_text);
  CAPTURE(read_file(cli.path("log.txt")));
  CHECK(result.exit_code == 0);
  const json counts = parsed(result)["counts"];
  CHECK(counts["ok"] == 1);
  // A compiler that is faster at it than any known one would crash instead.
  CHECK((counts.contains("timed_out") || counts.contains("crashed")));
}

TEST_CASE("Where nothing passes the exit code is 3 and best is null") {
  const Cli cli;
  std::string spec = cli.copy_spec("[1]");
  cli.write("copy.cu", "extern \"C\" __global__ void copy(const float* x, float* y, int n) { y[0] = x[0] + n; }\n");
  const CommandResult result = cli.run(spec);
  CHECK(result.exit_code == 3);
  const json answer = parsed(result);
  CHECK(answer["best"].is_null());
  CHECK(answer["counts"] == json{{"wrong_result", 1}});
  const CommandResult none = cli.xtune({"best", spec, "--backend", "host", "--format", "json"});
  CHECK(none.exit_code == 3);
  CHECK(parsed(none)["best"].is_null());
}

TEST_CASE("best answers with configurations that the spec has today, and lists what has changed since") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  REQUIRE(cli.run(spec).exit_code == 0);
  const auto best = [&](const std::string& file) {
    return parsed(cli.xtune({"best", file, "--backend", "host", "--format", "json"}));
  };
  const auto mentions = [](const json& answer, const std::string& text) {
    return answer["reasons"].dump().find(text) != std::string::npos;
  };
  REQUIRE(best(spec)["match"] == "exact");
  CHECK(best(spec)["differences"].empty());

  SUBCASE("constraints that a stored configuration does not meet") {
    const json answer = best(cli.copy_spec("[1, 2, 3]", "[space]\nconstraints = [\"VARIANT == 2\"]\n"));
    CHECK(answer["best"]["config"] == json{{"VARIANT", 2}});
    CHECK(mentions(answer, "2 records whose configuration this spec does not allow"));
    const json none = best(cli.copy_spec("[1, 2, 3, 4]", "[space]\nconstraints = [\"VARIANT == 4\"]\n"));
    CHECK(none["match"] == "none");
    CHECK(none["best"].is_null());
    CHECK(mentions(none, "3 records whose configuration this spec does not allow"));
  }
  SUBCASE("a parameter with another name") {
    std::string text = read_file(spec);
    for (std::size_t at; (at = text.find("VARIANT")) != std::string::npos;) text.replace(at, 7, "WIDTH");
    const json answer = best(cli.write("renamed.toml", text));
    CHECK(answer["match"] == "none");
    CHECK(mentions(answer, "3 records whose parameters are not this spec's"));
  }
  SUBCASE("an edited source") {
    cli.write("copy.cu", read_file(cli.path("copy.cu")) + "// edited\n");
    const json answer = best(spec);
    CHECK(answer["match"] == "exact");
    CHECK(answer["differences"] == json{"source copy.cu: changed"});
    CHECK(mentions(answer, "what differs: source copy.cu: changed"));
    CHECK(has(cli.xtune({"best", spec, "--backend", "host"}).stdout_text,
              "measured before a change (source copy.cu: changed)"));
    CHECK(has(cli.xtune({"best", spec, "--backend", "host", "--format", "csv"}).stdout_text,
              "true,source copy.cu: changed,"));
    // Results of this source come before faster ones of the old source.
    const json again = parsed(cli.run(spec, {"-D", "VARIANT=3"}));
    REQUIRE(again["counts"] == json{{"ok", 1}});
    const json now = best(spec);
    CHECK(now["best"]["config"] == json{{"VARIANT", 3}});
    CHECK(now["differences"].empty());
  }
}

TEST_CASE("A changed define and a changed option are named with both values, in every format") {
  const Cli cli;
  std::string text = read_file(cli.copy_spec("[1]"));
  const auto spec_with = [&](const std::string& keys) {
    return cli.write("spec.toml", std::string(text).insert(text.find("entry = "), keys));
  };
  REQUIRE(cli.run(spec_with("defines = { LAYOUT = \"0\" }\n")).exit_code == 0);
  const std::string other = spec_with("defines = { LAYOUT = \"2\" }\noptions = [\"-O1\"]\n");
  const auto text_of = [&](const std::string& command, const std::string& format) {
    return cli.xtune({command, other, "--backend", "host", "--format", format}).stdout_text;
  };
  for (const std::string command : {"why", "best"})
    for (const std::string format : {"text", "json"}) {
      CAPTURE(command + format);
      CHECK(has(text_of(command, format), "define LAYOUT: 0 -> 2"));
      CHECK(has(text_of(command, format), "options: (none) -> -O1"));
    }
  const std::string csv = text_of("best", "csv");
  CHECK(has(csv, "stale,differences,failed_elsewhere\n"));
  CHECK(has(csv, "true,define LAYOUT: 0 -> 2; options: (none) -> -O1,"));
}

TEST_CASE("A configuration that was wrong for another problem does not answer without a word") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[2]");
  std::string source = read_file(cli.path("copy.cu"));
  cli.write("copy.cu", source.replace(source.find("x[i];"), 5, "x[i] + (n == 96);"));
  REQUIRE(cli.run(spec).exit_code == 0);
  REQUIRE(cli.run(spec, {"-D", "N=96"}).exit_code == 3);
  const auto best = [&](const std::string& size, const std::string& format) {
    return cli.xtune({"best", spec, "--backend", "host", "-D", size, "--format", format}).stdout_text;
  };
  CHECK(has(best("N=8192", "text"), "suspect: the same configuration failed for N=96 (wrong_result)"));
  const json answer = json::parse(best("N=8192", "json"));
  REQUIRE(answer["failed_elsewhere"].size() == 1);
  CHECK(answer["failed_elsewhere"][0]["problem"] == json{{"N", 96}});
  CHECK(has(best("N=8192", "csv"), ",wrong_result for N=96\n"));
  CHECK_FALSE(has(best("N=4096", "text"), "failed for N=96"));
}

TEST_CASE("best never answers with what a sanitized kernel took") {
  if (!can_sanitize) return;
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const CommandResult run = cli.run(spec, {"--sanitize"});
  if (run.exit_code == 4) return;  // no sanitizer here
  REQUIRE(run.exit_code == 0);
  const CommandResult best = cli.xtune({"best", spec, "--backend", "host", "--format", "json"});
  CHECK(best.exit_code == 3);
  CHECK(parsed(best)["match"] == "none");
  CHECK(parsed(best)["reasons"].dump().find("1 record of kernels built with --sanitize") != std::string::npos);
}

TEST_CASE("A division by zero of one configuration costs only that configuration") {
  const Cli cli;
  cli.copy_spec("[1, 2, 3]");
  std::string text = read_file(cli.path("copy.toml"));
  const std::string grid = "ceildiv(N, 32 * VARIANT)";
  REQUIRE(text.find(grid) != std::string::npos);
  text.replace(text.find(grid), grid.size(), "4096 // (VARIANT - 2) * 0 + " + grid);
  const CommandResult run = cli.run(cli.write("zero.toml", text), {"--log", cli.path("log.txt")});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 2}, {"rejected", 1}});
  const std::string log = read_file(cli.path("log.txt"));
  CHECK(log.find("zero.toml:10:") != std::string::npos);
  CHECK(log.find("division by zero in \"4096 // (VARIANT - 2)") != std::string::npos);
  CHECK(log.find("(N = 4096, VARIANT = 2)") != std::string::npos);
  // The answer is stored like any other.
  CHECK(parsed(cli.run(cli.path("zero.toml")))["from_store"] == 3);
}

namespace {

/// N sums of 8 elements; wrong where BLOCK is 64.
std::string sums_spec(const Cli& cli, const std::string& reference) {
  cli.write("sums.cu",
            "extern \"C\" __global__ void sums(const float* x, float* y) {\n"
            "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
            "  float sum = BLOCK == 64 ? 1 : 0;\n"
            "  for (int k = 0; k < 8; ++k) sum += x[i * 8 + k];\n"
            "  y[i] = sum;\n"
            "}\n");
  return cli.write("sums.toml",
                   "kernel = { name = \"sums\", source = \"sums.cu\" }\nproblem = { N = 256 }\n"
                   "launch = { grid = \"N // BLOCK\", block = \"BLOCK\" }\n"
                   "args = [{ name = \"x\", dtype = \"f32\", shape = [\"N\", 8] },\n"
                   "        { name = \"y\", dtype = \"f32\", shape = [\"N\"], role = \"out\" }]\n"
                   "measure = { rep = 3, min_rep = 3, race = false, finals = 0 }\n"
                   "space = { params = { BLOCK = [64, 32] } }\nvalidate = { reference = " +
                       reference + " }\n");
}

}  // namespace

TEST_CASE("The kernel itself at one configuration is the reference of all") {
  const Cli cli;
  CHECK(parsed(cli.run(sums_spec(cli, "{ config = { BLOCK = 32 } }")))["counts"] ==
        json{{"ok", 1}, {"wrong_result", 1}});
  // A configuration agrees with itself, whatever it computes; and what one reference judged, another does not answer.
  const json wrong = parsed(cli.run(sums_spec(cli, "{ config = {} }")));
  CHECK(wrong["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  CHECK(wrong["from_store"] == 0);
  CHECK(wrong["best"]["config"]["BLOCK"] == 64);
}

TEST_CASE("A reference kernel in the same source has the values that its options define") {
  const Cli cli;
  const std::string kernel = "{ kernel = \"sums\", options = [\"-DBLOCK=32\"]";
  const CommandResult run = cli.run(sums_spec(cli, kernel + ", grid = \"N // 32\", block = 32 }"));
  CAPTURE(run.stderr_text);
  CHECK(parsed(run)["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  const CommandResult check = cli.xtune({"check", sums_spec(cli, kernel + " }")});
  CHECK(check.exit_code == 2);
  CHECK(has(check.stderr_text, "sums.toml:8:57: the reference's options define the parameter 'BLOCK', but the launch"));
  CHECK(has(check.stderr_text, "reference = { config = { BLOCK = ... } }"));
}

TEST_CASE("A reference that uses a parameter has the same value in every run, of which a warning tells") {
  const Cli cli;
  const std::string spec = sums_spec(cli, "{ kernel = \"sums\" }");
  CHECK(parsed(cli.run(spec, {"-D", "BLOCK=32"}))["counts"] == json{{"wrong_result", 1}});
  CHECK(parsed(cli.run(spec, {"--filter", "BLOCK != 64"}))["from_store"] == 1);
  const CommandResult whole = cli.run(spec);
  CHECK(parsed(whole)["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  CHECK_FALSE(has(whole.stderr_text, "names the parameter"));
  cli.write("own.cu", "#include \"sums.cu\"\n");
  const std::string own = "{ kernel = \"sums\", source = \"own.cu\"";
  CHECK(has(cli.run(sums_spec(cli, own + " }")).stderr_text,
            "the source of the reference kernel names the parameter BLOCK, and is always compiled with BLOCK=64"));
  const CommandResult given =
      cli.run(sums_spec(cli, own + ", options = [\"-DBLOCK=32\"], grid = \"N // 32\", block = 32 }"));
  CHECK_FALSE(has(given.stderr_text, "names the parameter"));
  CHECK(parsed(given)["best"]["config"]["BLOCK"] == 32);
}

TEST_CASE("Indices of a given range are right; a reference that reads elsewhere ends the run") {
  const Cli cli;
  cli.write("gather.cu",
            "extern \"C\" __global__ void gather(const float* t, const int* i, float* y) {\n"
            "  const int k = blockIdx.x * blockDim.x + threadIdx.x;\n  y[k] = t[i[k]];\n}\n");
  const auto spec = [&](const std::string& fill) {
    return cli.write("gather.toml",
                     "kernel = { name = \"gather\", source = \"gather.cu\" }\nproblem = { N = 512, ROWS = 100 }\n"
                     "launch = { grid = \"N // 64\", block = 64 }\nargs = [\n"
                     "{ name = \"t\", dtype = \"f32\", shape = [\"ROWS\"] },\n"
                     "{ name = \"i\", dtype = \"i32\", shape = [\"N\"]" +
                         fill +
                         " },\n"
                         "{ name = \"y\", dtype = \"f32\", shape = [\"N\"], role = \"out\" }]\n"
                         "measure = { rep = 3, min_rep = 3, finals = 0 }\nspace = { params = { P = [1] } }\n"
                         "validate = { reference = { kernel = \"gather\" } }\n");
  };
  const CommandResult right = cli.run(spec(", fill = { integers = [0, \"ROWS\"] }"));
  CHECK(parsed(right)["counts"] == json{{"ok", 1}});
  CHECK_FALSE(has(right.stderr_text, "NaN"));
  const CommandResult wrong = cli.run(spec(""));
  CHECK(wrong.exit_code == 2);
  CHECK(has(wrong.stderr_text, "the reference kernel 'gather' reads outside of its arguments for "));
}

TEST_CASE("A source in the spec: its includes, its reference, and its lines in messages") {
  const Cli cli;
  cli.write("two.h", "#define TWO 2\n");
  const auto spec = [&](const std::string& value) {
    return cli.write("twice.toml",
                     "kernel.name = \"twice\"\nkernel.code = '''\n#include \"two.h\"\n"
                     "extern \"C\" __global__ void twice(float* y) {\n  y[threadIdx.x] = " +
                         value +
                         ";\n}\nextern \"C\" __global__ void four(float* y) { y[threadIdx.x] = 4; }\n'''\n"
                         "launch = { grid = 1, block = 32 }\nspace.params.FACTOR = [1, 2]\n"
                         "args = [{ name = \"y\", dtype = \"f32\", shape = [32], role = \"out\" }]\n"
                         "measure = { rep = 3, min_rep = 3, race = false, finals = 0 }\n"
                         "validate.reference = { kernel = \"four\" }\n");
  };
  const CommandResult run = cli.run(spec("TWO * FACTOR"));
  CAPTURE(run.stderr_text);
  CHECK(parsed(run)["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  CHECK(parsed(cli.run(spec("TWO * FACTOR")))["from_store"] == 2);
  CHECK(cli.xtune({"store", "bundle", "-o", cli.path("b.xtune"), "--spec", cli.path("twice.toml")}).exit_code == 0);
  const CommandResult broken = cli.run(spec("TWO * FACTR"));
  CHECK(broken.exit_code == 2);  // the reference does not compile either
  CHECK(has(broken.stderr_text + broken.stdout_text, "twice.toml:5:"));
  CHECK(has(broken.stderr_text + broken.stdout_text, "FACTR"));
}

TEST_CASE("A type that the problem decides on: each case has its own, and none answers for another") {
  const Cli cli;
  const std::string spec =
      cli.write("types.toml",
                "kernel.name = \"types\"\nkernel.code = '''\n#include <cuda_fp16.h>\n"
                "template <class T> __global__ void copy(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x]; }\n'''\n"
                "kernel.entry = \"copy<{'__half' if TYPE == 'f16' else 'double'}>\"\n"
                "problem = { TYPE = \"f32\", N = 8 }\ncases = [{ TYPE = \"f16\" }, { TYPE = \"f64\" }]\n"
                "launch = { grid = 1, block = \"N\" }\nspace.params.UNUSED = { values = [1], compile_time = false }\n"
                "args = [{ name = \"x\", dtype = \"{TYPE}\", shape = [1, \"N\"] },\n"
                "        { name = \"y\", dtype = \"{TYPE}\", shape = [\"N\", 1], role = \"out\" }]\n"
                "measure = { rep = 3, min_rep = 3, race = false, finals = 0 }\n"
                "validate.reference = { builtin = \"transpose\", x = \"x\" }\n");
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  const json cases = parsed(run);
  REQUIRE(cases.size() == 2);
  for (const json& each : cases) CHECK(each["counts"] == json{{"ok", 1}});
  const auto best_of = [&](const std::string& type) {
    return cli.xtune({"best", spec, "--backend", "host", "-D", "TYPE=" + type}).exit_code;
  };
  CHECK(best_of("f16") == 0);
  CHECK(best_of("f32") == 3);
}

TEST_CASE("A reference of the wrong shape is an error at its place") {
  const Cli cli;
  cli.copy_spec();
  std::string text = read_file(cli.path("copy.toml"));
  const std::string shape = "shape = [1, \"N\"]";
  REQUIRE(text.find(shape) != std::string::npos);
  text.replace(text.find(shape), shape.size(), "shape = [\"N\"]");
  const CommandResult run = cli.run(cli.write("shape.toml", text));
  CAPTURE(run.stderr_text);
  CHECK(run.exit_code == 2);
  CHECK(run.stderr_text.find("shape.toml:27:25: reference builtin transpose: x is f32[4096]") != std::string::npos);
  CHECK(parsed(run)["error"]["line"] == 27);
}

TEST_CASE("The example of the documentation runs on the host") {
  const Cli cli;
  const std::string page = read_file(XTUNE_SOURCE_DIR "/docs/spec-format.md");
  const std::string open = "```toml\n";
  const auto start = page.find(open) + open.size();
  const std::string spec = cli.write("scale.toml", page.substr(start, page.find("```", start) - start));
  cli.write("scale.cu",
            "template <int VECTOR_> __global__ void scale(float* x, long long n) {\n"
            "  const long long stride = (long long)gridDim.x * blockDim.x * VECTOR_;\n"
            "  for (long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * VECTOR_; i < n; i += stride)\n"
            "    for (int j = 0; j < VECTOR_; ++j) x[i + j] *= 2;\n"
            "}\n");
  cli.write("scale_naive.cu",
            "extern \"C\" __global__ void scale_naive(float* x, long long n) {\n"
            "  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  if (i < n) x[i] *= 2;\n"
            "}\n");
  const CommandResult run = cli.run(spec, {"--evals", "3"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  // On a noisy machine one may lose the race.
  const json counts = parsed(run)["counts"];
  CHECK(counts.value("ok", 0) >= 1);
  CHECK(counts.value("ok", 0) + counts.value("pruned", 0) == 3);
}

TEST_CASE("A reference kernel's time and the speed-up over it are in every output, also from the store") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  std::ofstream(cli.path("copy.cu"), std::ios::app)
      << "extern \"C\" __global__ void plain(const float* x, float* y, int n) {\n"
         "  for (int i = 0; i < n; ++i) y[i] = x[i];\n}\n";
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"-D", "N=4096"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cli.run(spec, arguments);
  };
  std::string text = read_file(spec);
  const std::string builtin = "reference = { builtin = \"transpose\", x = \"x\" }";
  const std::string kernel = "reference = { kernel = \"plain\", grid = [1], block = [1] }";
  cli.write("copy.toml", text.replace(text.find(builtin), builtin.size(), kernel));
  const json first = parsed(run({}));
  CHECK(first.at("best").at("speedup") == doctest::Approx(first.at("best").at("reference_ms").get<double>() /
                                                          first.at("best").at("time_ms").get<double>()));
  CHECK(first.at("default").at("config") == json{{"VARIANT", 1}});
  const json stored = parsed(run({}));
  CHECK(stored.at("from_store") == 3);
  CHECK(stored.at("best") == first.at("best"));
  const CommandResult table = cli.xtune({"run", spec, "--backend", "host"});
  CHECK(has(table.stdout_text, "speed-up"));
  // One of the two, as either may be faster.
  const bool slower = has(table.stdout_text, "      reference: plain, ");
  CHECK(slower != has(table.stdout_text, "\nwarning: the reference 'plain' is faster than every configuration: "));
  CHECK(has(table.stdout_text, "default: "));
  CHECK(has(cli.xtune({"best", spec, "--backend", "host", "--format", "csv"}).stdout_text, "speedup"));
  // Without it, there is none; and what is stored keeps what it has.
  cli.write("copy.toml", text.insert(text.find(kernel), "time_reference = false\n"));
  CHECK_FALSE(parsed(run({"--fresh"})).at("best").contains("speedup"));
}
