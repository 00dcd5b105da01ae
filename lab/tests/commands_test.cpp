// xtune import kernel-tuner, run and audit on a recording, and score, as a user calls them.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A cache of "x" = 1 .. 40 whose every tenth configuration failed; the best is 13.
std::string cache_text(const std::string& kernel = "sweep", const std::string& special = "") {
  std::string values, entries;
  for (int x = 1; x <= 40; ++x) {
    values += (x > 1 ? "," : "") + std::to_string(x);
    const std::string time =
        x % 10 == 0 ? "\"RuntimeFailedConfig\"" : std::to_string(1 + (x > 13 ? x - 13 : 13 - x)) + ".5";
    entries += (x > 1 ? ",\n" : "") + ("\"" + std::to_string(x) + "\": {\"x\": " + std::to_string(x)) +
               ", \"time\": " + (x == 5 && !special.empty() ? special : time) +
               ", \"compile_time\": 1000, \"benchmark_time\": 500}";
  }
  return "{\"device_name\": \"NVIDIA A100\", \"kernel_name\": \"" + kernel +
         "\", \"problem_size\": [64, 64], \"tune_params_keys\": [\"x\"], \"tune_params\": {\"x\": [" + values +
         "]},\n\"cache\": {\n" + entries + "}\n}";
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("import, check, space and run a Kernel Tuner cache") {
  const Cli cli;
  const CommandResult imported = cli.xtune(
      {"import", "kernel-tuner", cli.write("sweep.json", cache_text()), "-o", cli.path("out"), "--format", "json"});
  REQUIRE(imported.exit_code == 0);
  const json summary = json::parse(imported.stdout_text);
  CHECK(summary["configs"] == 40);
  CHECK(summary["counts"] == json{{"ok", 36}, {"launch_failed", 4}});
  const std::string spec = cli.path("out/sweep.toml");
  const CommandResult checked = cli.xtune({"check", spec});
  CHECK(checked.exit_code == 0);
  CHECK(checked.stdout_text.find("  replay, problem_size_x=64 problem_size_y=64: 40 valid") != std::string::npos);
  CHECK(json::parse(cli.xtune({"space", spec, "--format", "json"}).stdout_text)["valid"] == 40);

  const CommandResult run = cli.xtune({"run", spec, "--format", "json", "--strategy", "exhaustive"});
  REQUIRE(run.exit_code == 0);
  const json result = json::parse(run.stdout_text);
  CHECK(result["simulated"] == true);
  CHECK(result["device"]["backend"] == "replay");
  CHECK(result["best"]["config"] == json{{"x", 13}});
  CHECK(result["best"]["time_ms"] == 1.5);
  CHECK(result["counts"] == json{{"ok", 36}, {"launch_failed", 4}});
  CHECK(result["seconds"]["device_busy"] == doctest::Approx(20.0));
  CHECK(json::parse(cli.xtune({"run", spec, "--format", "json", "--strategy", "exhaustive"}).stdout_text)["seconds"] ==
        result["seconds"]);
  // Nothing was written to the store, where it could be taken for a measurement.
  CHECK_FALSE(fs::exists(cli.path("cache/records")));

  const CommandResult text = cli.xtune({"run", spec, "--evals", "10"});
  CHECK(text.exit_code == 0);
  CHECK(text.stdout_text.find("the seconds are simulated") != std::string::npos);
}

TEST_CASE("records that a replay is asked to keep are marked, and no recording") {
  const Cli cli;
  REQUIRE(
      cli.xtune({"import", "kernel-tuner", cli.write("sweep.json", cache_text()), "-o", cli.path("out")}).exit_code ==
      0);
  REQUIRE(cli.xtune({"run", cli.path("out/sweep.toml"), "--evals", "10", "--store", cli.path("kept")}).exit_code == 0);
  std::size_t records = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("kept")))
    if (entry.path().extension() == ".jsonl") {
      std::istringstream lines(content(entry.path()));
      for (std::string line; std::getline(lines, line);)
        if (const json record = json::parse(line); record.contains("device")) {
          CHECK(record["device"]["backend"] == "replay");
          ++records;
        }
    }
  CHECK(records == 10);
  const CommandResult score = cli.xtune({"score", cli.path("kept")});
  CHECK(score.exit_code == 3);
  CHECK(score.stderr_text.find("no records of measurements") != std::string::npos);
}

TEST_CASE("xtune's own measurements replay") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 3, 4]");
  const CommandResult measured = cli.run(spec, {"--store", cli.path("mine")});
  REQUIRE(measured.exit_code == 0);
  const json real = json::parse(measured.stdout_text);
  for (const std::string& recording : {cli.path("mine"), cli.path("mine/records")}) {
    const CommandResult replayed = cli.xtune({"run", spec, "--recording", recording, "--format", "json"});
    REQUIRE(replayed.exit_code == 0);
    const json result = json::parse(replayed.stdout_text);
    CHECK(result["best"]["config"] == real["best"]["config"]);
    CHECK(result["best"]["time_ms"] == doctest::Approx(real["best"]["time_ms"].get<double>()).epsilon(1e-4));
    CHECK(result["counts"] == real["counts"]);
    CHECK(result["simulated"] == true);
  }
  CHECK(cli.xtune({"run", spec, "--backend", "replay"}).exit_code == 2);
  CHECK(cli.xtune({"run", spec, "--recording", cli.path("mine"), "-D", "N=64"}).exit_code == 2);
  CHECK(cli.xtune({"run", spec, "--recording", cli.path("mine"), "--backend", "host"}).exit_code == 2);
  const CommandResult foreign = cli.xtune({"run", spec, "--recording", cli.write("sweep.json", cache_text())});
  CHECK(foreign.exit_code == 2);
  CHECK(foreign.stderr_text.find("nothing recorded of kernel copy") != std::string::npos);
}

TEST_CASE("score compares strategies, and says the same again") {
  const Cli cli;
  const std::string file = cli.write("sweep.json", cache_text());
  const std::vector<std::string> command{"score",   "--strategy", "random,local", "--repeats", "20",
                                         "--evals", "5,40",       "--format",     "json",      file};
  const CommandResult first = cli.xtune(command);
  REQUIRE(first.exit_code == 0);
  json scores = json::parse(first.stdout_text);
  for (const char* strategy : {"random", "local"}) {
    CHECK(scores[strategy]["spaces"]["sweep"]["40"] == 1.0);
    CHECK(scores[strategy]["mean"]["5"] > 0.1);
    CHECK(scores[strategy]["mean"]["5"] < 1.0);
    CHECK(scores[strategy]["score"].is_number());
    scores[strategy].erase("ms_per_proposal");
  }
  CHECK(scores["random_exact"]["mean"]["40"] == doctest::Approx(1.0));
  std::vector<std::string> again = command;
  again.insert(again.end(), {"--threads", "3"});
  json repeated = json::parse(cli.xtune(again).stdout_text);
  for (const char* strategy : {"random", "local"}) repeated[strategy].erase("ms_per_proposal");
  CHECK(repeated == scores);
  CHECK(cli.xtune({"score", "--repeats", "3", file, file}).stdout_text.find("sweep (2)") != std::string::npos);
}

TEST_CASE("wrong arguments and files end with a reason and the right code") {
  const Cli cli;
  const std::string file = cli.write("sweep.json", cache_text());
  const auto expect = [&](const std::vector<std::string>& arguments, int code, const std::string& reason) {
    const CommandResult result = cli.xtune(arguments);
    CHECK_MESSAGE(result.exit_code == code, arguments.at(1));
    CHECK_MESSAGE(result.stderr_text.find(reason) != std::string::npos, result.stderr_text);
    CHECK(result.stdout_text.empty());
  };
  expect({"score", "--strategy", "randm", file}, 2, "did you mean 'random'?");
  expect({"score", "--strategy", "random,", file}, 2, "an entry of the list is empty");
  expect({"score", "--evals", "0", file}, 2, "not a number of evaluations");
  expect({"score", "--evals", "5,x", file}, 2, "'x' is not a number");
  expect({"score", "--repeats", "0", file}, 2, "--repeats");
  expect({"score", cli.path("gone.json")}, 2, "gone.json");
  expect({"score", cli.write("foreign.json", "{\"a\": 1}")}, 2, "not a Kernel Tuner cache");
  expect({"score", cli.write("empty.json", "{\"tune_params_keys\": [\"x\"], \"cache\": {}}")}, 3, "no entries");
  expect({"score", cli.write("cut.json.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3\x4b", 11))}, 2, "truncated");
  expect(
      {"score", cli.write("bad.json", "{\"tune_params_keys\": [\"x\"], \"cache\": {\"1\": {\"x\": 1, \"time\": -1}}}")},
      3, "1 of 1 configurations are damaged and count as failed, first entry '1': time is -1");
  expect({"import", "kernel-tuner", cli.path("gone.json")}, 2, "gone.json");
  expect({"import", "kernel-tuner", cli.write("copy.jsonl", "{\"xtune_records\":1}\n")}, 3, "no records");
  expect({"run", cli.copy_spec("[1, 2]"), "--recording", cli.path("gone")}, 2, "gone");
  expect({"compile", file + ".toml", "--backend", "replay"}, 2, "serves recordings to `xtune run`");
  expect({"import"}, 2, "");
}

TEST_CASE("a damaged configuration is reported and counts as failed") {
  const Cli cli;
  const std::string file = cli.write("sweep.json", cache_text("sweep", "NaN"));
  const CommandResult imported = cli.xtune({"import", "kernel-tuner", file, "-o", cli.path("out")});
  CHECK(imported.exit_code == 0);
  CHECK(imported.stderr_text.find("1 of 40 configurations are damaged") != std::string::npos);
  const json result = json::parse(
      cli.xtune({"run", cli.path("out/sweep.toml"), "--format", "json", "--strategy", "exhaustive"}).stdout_text);
  CHECK(result["counts"]["launch_failed"] == 5);
}

TEST_CASE("a cache where everything failed imports, and a run of it finds nothing") {
  const Cli cli;
  const std::string file = cli.write("bad.json",
                                     "{\"tune_params_keys\": [\"x\"], \"cache\": {\"1\": {\"x\": 1, \"time\": 1e20}, "
                                     "\"2\": {\"x\": 2, \"time\": 1e20}}}");
  REQUIRE(cli.xtune({"import", "kernel-tuner", file, "-o", cli.path("out")}).exit_code == 0);
  CHECK(cli.xtune({"run", cli.path("out/bad.toml")}).exit_code == 3);
  CHECK(cli.xtune({"score", file}).exit_code == 3);
}

TEST_CASE("score --transfer passes over what gives the optimum away, and says so") {
  const Cli cli;
  const std::string file = cli.write("sweep.json", cache_text());
  std::string other = cache_text();
  other.replace(other.find("NVIDIA A100"), 11, "NVIDIA A40");
  const std::string elsewhere = cli.write("elsewhere.json", other);
  const auto scored = [&](const std::vector<std::string>& files) {
    std::vector<std::string> command{"score", "--transfer",     "--evals",  "5",   "--repeats",
                                     "5",     "--no-aggregate", "--format", "json"};
    command.insert(command.end(), files.begin(), files.end());
    const CommandResult result = cli.xtune(command);
    CHECK(result.exit_code == 0);
    return std::pair(json::parse(result.stdout_text)["auto"]["spaces"]["sweep"]["5"].get<double>(), result.stderr_text);
  };
  const auto [cold, said] = scored({file});
  CHECK(said.find("note: nothing guides the search on sweep") != std::string::npos);
  const auto [twice, why] = scored({file, file});
  CHECK(twice == cold);
  CHECK(why.find("note: sweep (2) does not guide the search on sweep: it is of the same device and problem") !=
        std::string::npos);
  const auto [guided, quiet] = scored({file, elsewhere});
  CHECK(guided == 1.0);
  CHECK(quiet.find("note") == std::string::npos);
}

TEST_CASE("import --store puts the records where they guide, once") {
  const Cli cli;
  const std::string file = cli.write("sweep.json", cache_text());
  for (int time = 0; time < 2; ++time) {
    const CommandResult imported =
        cli.xtune({"import", "kernel-tuner", file, "--store", cli.path("kept"), "--format", "json"});
    REQUIRE(imported.exit_code == 0);
    const json summary = json::parse(imported.stdout_text);
    CHECK_FALSE(summary.contains("spec"));
    CHECK(summary["arch"] == "sm_80");
    CHECK(summary["stored"].get<std::string>().find("kept/records/sm_80/sweep/kernel-tuner-") != std::string::npos);
  }
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("kept"))) files += entry.is_regular_file();
  CHECK(files == 1);
  std::string other = cache_text();
  other.replace(other.find("NVIDIA A100"), 11, "NVIDIA A40");
  REQUIRE(cli.xtune({"import", "kernel-tuner", cli.write("other.json", other), "-o", cli.path("out"), "--store",
                     cli.path("kept")})
              .exit_code == 0);
  REQUIRE(cli.xtune({"import", "kernel-tuner", file, "-o", cli.path("out")}).exit_code == 0);
  // The replay is guided by the other device's records, and not by the replayed ones.
  const CommandResult run = cli.xtune(
      {"run", cli.path("out/sweep.toml"), "--store", cli.path("kept"), "--evals", "10", "--strategy", "bayesian"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.stderr_text.find("guided by 40 records of NVIDIA A40 (sm_86)") != std::string::npos);
  CHECK(run.stderr_text.find("records of NVIDIA A100") == std::string::npos);
}

TEST_CASE("an import keeps files that exist, unless --force is given") {
  const Cli cli;
  const std::string file = cli.write("sweep.json", cache_text());
  const std::vector<std::string> import{"import",  "kernel-tuner",  file, "-o", cli.path("out"),
                                        "--store", cli.path("kept")};
  for (const char* name : {"out/sweep.toml", "out/sweep.configs.csv", "out/sweep.jsonl"}) {
    fs::remove_all(cli.path("out"));
    fs::create_directories(cli.path("out"));
    cli.write(name, "mine");
    const CommandResult kept = cli.xtune(import);
    CHECK(kept.exit_code == 2);
    CHECK(has(kept.stderr_text, cli.path(name) + ": the file exists; --force replaces it, --name or -o names others"));
    CHECK(system::read_file(cli.path(name)) == "mine");
    CHECK_FALSE(fs::exists(cli.path("kept")));
  }
  std::vector<std::string> forced = import;
  forced.emplace_back("--force");
  CHECK(cli.xtune(forced).exit_code == 0);
  CHECK(cli.xtune({"check", cli.path("out/sweep.toml")}).exit_code == 0);
}

TEST_CASE("a replay with a store is served from it the next time") {
  const Cli cli;
  REQUIRE(
      cli.xtune({"import", "kernel-tuner", cli.write("sweep.json", cache_text()), "-o", cli.path("out")}).exit_code ==
      0);
  const auto run = [&](const char* evals, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{"run",        cli.path("out/sweep.toml"),
                                     "--store",    cli.path("kept"),
                                     "--evals",    evals,
                                     "--seed",     "7",
                                     "--strategy", "random",
                                     "--format",   "json"};
    command.insert(command.end(), more.begin(), more.end());
    return json::parse(cli.xtune(command).stdout_text);
  };
  const json first = run("10");
  CHECK(first["from_store"] == 0);
  const json again = run("10");
  CHECK(again["from_store"] == 10);
  CHECK(again["best"] == first["best"]);
  CHECK(run("20")["from_store"] == 10);
  CHECK(run("20", {"--fresh"})["from_store"] == 0);
}

TEST_CASE("a spec's candidates are the first places of a replay, by the recorded device's name") {
  const Cli cli;
  REQUIRE(
      cli.xtune({"import", "kernel-tuner", cli.write("sweep.json", cache_text()), "-o", cli.path("out")}).exit_code ==
      0);
  std::string spec = content(cli.path("out/sweep.toml"));
  spec += "\n[candidates]\ntemplate = \"elementwise\"\n[candidates.map]\nn = \"problem_size_x\"\nthreads = \"x * 8\"\n";
  std::ofstream(cli.path("out/sweep.toml"), std::ios::binary) << spec;
  const CommandResult run = cli.xtune({"run", cli.path("out/sweep.toml"), "--evals", "5"});
  CHECK(run.exit_code == 0);
  CHECK_MESSAGE(run.stderr_text.find("candidates of the elementwise model") != std::string::npos, run.stderr_text);
}

TEST_CASE("an interrupted replay says that it keeps nothing, where it does not") {
  for (const bool kept : {false, true}) {
    const Cli cli;
    std::string entries;
    for (int x = 1; x <= 3000; ++x)
      entries += (x > 1 ? ",\n" : "") + ("\"" + std::to_string(x)) + "\": {\"x\": " + std::to_string(x) +
                 ", \"time\": " + std::to_string(1 + x * 7919 % 3001) + "}";
    const std::string recording =
        cli.write("sweep.json", "{\"tune_params_keys\": [\"x\"], \"cache\": {" + entries + "}}");
    REQUIRE(cli.xtune({"import", "kernel-tuner", recording, "-o", cli.path("out")}).exit_code == 0);
    std::vector<std::string> command{
        "run", cli.path("out/sweep.toml"), "--strategy", "bayesian", "--evals", "2900", "--log", cli.path("log")};
    if (kept) command.insert(command.end(), {"--store", cli.path("kept")});
    Running run(cli, command);
    REQUIRE(run.wait_until([&] { return fs::exists(cli.path("log")) && fs::file_size(cli.path("log")) > 0; }));
    kill(run.process.pid(), SIGINT);
    REQUIRE(run.wait_for_end());
    CHECK(run.exit_code == 130);
    CHECK(run.err.find(kept ? "the next run goes on from there" : "keeps nothing without --store") !=
          std::string::npos);
  }
}

TEST_CASE("audit on a recording shows the flips of the search, and its gates end with 5") {
  const Cli cli;
  std::string values, entries;
  for (int x = 1; x <= 40; ++x) {
    values += (x > 1 ? "," : "") + std::to_string(x);
    entries += (x > 1 ? ",\n" : "") + ("\"" + std::to_string(x) + "\": {\"x\": " + std::to_string(x)) +
               ", \"time\": " + std::to_string(1 + x) + ", \"compile_time\": 1000, \"benchmark_time\": 500}";
  }
  const std::string cache =
      "{\"device_name\": \"NVIDIA A100\", \"kernel_name\": \"sweep\", \"problem_size\": [64, 64], "
      "\"tune_params_keys\": [\"x\"], \"tune_params\": {\"x\": [" +
      values + "]},\n\"cache\": {\n" + entries + "}\n}";
  REQUIRE(cli.xtune({"import", "kernel-tuner", cli.write("sweep.json", cache), "-o", cli.path("out")}).exit_code == 0);
  // The default, x = 1, would be the best: without it, six of forty are drawn at random.
  const std::string spec = cli.path("out/sweep.toml");
  const auto replay = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"audit", spec, "--strategy", "random", "--filter", "x > 1", "--format", "json", "--quiet"});
    return cli.xtune(more);
  };
  const json all = parsed(replay({"--evals", "40", "--repeats", "3"}));
  CHECK(all.at("flips") == 0);
  CHECK(all.at("max_regret").at("winner") == 0.0);
  std::ofstream(spec, std::ios::app) << "[dispatch]\ndefault = { x = 40 }\n";
  const CommandResult few = replay({"--evals", "4", "--repeats", "5", "--max-flips", "2%"});
  CHECK(few.exit_code == 5);
  CHECK(has(few.stderr_text, "flipped; --max-flips 2% allows less"));
  const json answer = parsed(few);
  CHECK(answer.at("flips") > 0);
  CHECK(answer.at("agreement") < 1.0);
  CHECK(answer.at("device").at("backend") == "replay");
  // The times are x + 1, so the regrets are known.
  const json& one = answer.at("cases").at(0);
  int least = 100;
  for (const json& winner : one.at("winners")) least = std::min(least, winner.at("config").at("x").get<int>());
  for (const json& winner : one.at("winners"))
    CHECK(winner.at("regret").get<double>() ==
          doctest::Approx((winner.at("config").at("x").get<double>() + 1) / (least + 1) - 1));
  CHECK(one.at("default").at("regret").get<double>() == doctest::Approx(41.0 / (least + 1) - 1));
  CHECK(replay({"--evals", "4", "--repeats", "5", "--max-regret", "1%"}).exit_code == 5);
  CHECK(
      replay({"--evals", "4", "--repeats", "5", "--same-seed", "--max-flips", "0%", "--max-regret", "0%"}).exit_code ==
      0);
}

TEST_CASE("a store of programs is replayed like any other") {
  const Cli cli;
  const std::string spec = cli.write("program.toml",
                                     "[kernel]\nname = \"program\"\n[space.params]\nSLOW = [3, 1, 2]\nWAY = [1, 2]\n"
                                     "[process]\nrun = \"echo took {SLOW}.{WAY} ms\"\n"
                                     "time = { regex = 'took ([0-9.]+) ms' }\n"
                                     "[measure]\nrep = 3\nrace = false\nfinals = 0\n");
  REQUIRE(cli.xtune({"run", spec, "--quiet"}).exit_code == 0);
  const json replayed = parsed(
      cli.xtune({"run", spec, "--backend", "replay", "--recording", cli.path("cache"), "--format", "json", "--quiet"}));
  CHECK(replayed["counts"] == json{{"ok", 6}});
  CHECK(replayed["best"]["config"] == json{{"SLOW", 1}, {"WAY", 1}});
}
