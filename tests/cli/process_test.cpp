// Programs tuned by their own commands: builds with g++, runs, the store, the options of `run`, imports.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A C++ program whose time is made up of its parameters, so that the winner is known: SLOW is compiled in, N and WAY
/// are given when it runs.
constexpr const char* source =
    "#include <cstdio>\n#include <cstdlib>\n#include \"factor.hpp\"\n"
    "int main(int, char** argv) {\n"
    "  const double us = SLOW * factor * std::atof(argv[1]) + std::atoi(argv[2]);\n"
    "  if (std::atoi(argv[2]) == 9) { std::fprintf(stderr, \"way 9 is closed\\n\"); return 7; }\n"
    "  if (std::atoi(argv[2]) == 8) { std::puts(\"nothing to report\"); return 0; }\n"
    "  std::printf(\"{\\\"us\\\": %f, \\\"rate\\\": %f}\\nresult ok\\n\", us, 100 * SLOW - us);\n"
    "}\n";

struct Programs : Cli {
  std::string folder_name;
  explicit Programs(std::string name = "a folder") : folder_name(std::move(name)) {
    fs::create_directories(path(folder_name));
    write(folder_name + "/factor.hpp", "constexpr double factor = 1;\n");
    write(folder_name + "/model.cpp", source);
  }
  std::string spec(const std::string& more = "", const std::string& ways = "[1, 2]",
                   const std::string& measure = "[measure]\nrep = 3\nrace = false\nfinals = 0\n") const {
    return write(folder_name + "/model.toml",
                 "[kernel]\nname = \"model\"\n[problem]\nN = 10\n[space.params]\nSLOW = [3, 1, 2]\nWAY = " + ways +
                     "\n[process]\nbuild = \"g++ -DSLOW={SLOW} model.cpp -o {out}\"\nrun = \"{out} {N} {WAY}\"\n"
                     "sources = [\"model.cpp\"]\ntime = { json = \"us\", unit = \"us\" }\n"
                     "[process.metrics]\nrate = { json = \"rate\" }\n" +
                     measure + more);
  }
  json tune(const std::string& spec, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", spec, "--format", "json", "--quiet"});
    const CommandResult result = xtune(more);
    INFO(result.stderr_text);
    return parsed(result);
  }
  std::size_t artifacts() const {
    std::size_t count = 0;
    std::error_code ignored;
    for (fs::recursive_directory_iterator file(path("cache") + "/artifacts", ignored), end; file != end; ++file)
      count += file->path().extension() == ".program";
    return count;
  }
};

}  // namespace

TEST_CASE("a C++ program is built with g++, run, and its fastest configuration found and remembered") {
  const Programs cli;
  const std::string spec = cli.spec();
  const json first = cli.tune(spec);
  CHECK(first["best"]["config"] == json{{"SLOW", 1}, {"WAY", 1}});
  CHECK(first["best"]["time_ms"].get<double>() == doctest::Approx(0.011));
  CHECK(first["best"]["metrics"]["rate"].get<double>() == doctest::Approx(89));
  CHECK(first["device"]["backend"] == "process");
  CHECK(first["counts"] == json{{"ok", 6}});
  // One build serves all values of WAY, which it does not name.
  CHECK(cli.artifacts() == 3);
  const json again = cli.tune(spec);
  CHECK(again["from_store"] == 6);
  CHECK(again["best"]["config"] == first["best"]["config"]);
  const json best = parsed(cli.xtune({"best", spec, "--format", "json"}));
  CHECK(best["best"]["config"] == first["best"]["config"]);
  CHECK(best["match"] == "exact");
  const CommandResult why = cli.xtune({"why", spec});
  CHECK(has(why.stdout_text, "6 configurations: 6 stored"));
  CHECK(has(cli.xtune({"why", spec, "-D", "N=30"}).stdout_text, "  6 measured for other problems; what differs: "));
  const CommandResult text = cli.xtune({"run", spec, "--quiet"});
  CHECK(has(text.stdout_text, "rate"));
  CHECK(has(text.stdout_text, "not validated but by its exit code"));
}

TEST_CASE("a change of a build's dependencies builds again, and nothing else does") {
  const Programs cli;
  const std::string spec = cli.spec();
  cli.tune(spec);
  REQUIRE(cli.artifacts() == 3);
  // Another problem is another run of the same builds.
  CHECK(cli.tune(spec, {"-D", "N=20"})["from_store"] == 0);
  CHECK(cli.artifacts() == 3);
  // A header that a source includes counts, though only the source is named.
  cli.write(cli.folder_name + "/factor.hpp", "constexpr double factor = 10;\n");
  const json changed = cli.tune(spec);
  CHECK(changed["from_store"] == 0);
  CHECK(changed["best"]["time_ms"].get<double>() == doctest::Approx(0.101));
  CHECK(cli.artifacts() == 6);
  const json why = parsed(cli.xtune({"why", cli.spec("", "[1, 2, 3]"), "--format", "json"}));
  CHECK(why["stored"] == 6);
  CHECK(why["never_measured"] == 3);
}

TEST_CASE("another command, environment or place of a number is another measurement, and why says so") {
  Programs cli;
  cli.tune(cli.spec());
  const auto differing = [&](const std::string& spec) {
    return parsed(cli.xtune({"why", spec, "--format", "json"}))["differing"].dump();
  };
  std::string spec = cli.spec();
  cli.env.emplace_back("OMP_NUM_THREADS", "3");
  CHECK(differing(spec) == R"({"launch":6})");
  cli.env.pop_back();
  cli.env.emplace_back("CXXFLAGS", "-O3");
  CHECK(differing(spec) == R"({"artifact":6})");
  cli.env.pop_back();
  cli.env.emplace_back("UNRELATED", "1");
  CHECK(differing(spec) == "{}");
  std::string text = read_file(spec);
  text.replace(text.find("{out} {N} {WAY}"), 15, "{out} {N} {WAY} -v");
  CHECK(differing(cli.write(cli.folder_name + "/model.toml", text)) == R"({"launch":6})");
}

TEST_CASE("a build tool without listed sources is warned of, and its makefile counts") {
  const Programs cli;
  const auto spec = [&](const std::string& sources) {
    return cli.write(cli.folder_name + "/m.toml",
                     "[kernel]\nname = \"m\"\n[space.params]\nT = [1, 2]\n[process]\n" + sources +
                         "build = \"make -s TILE={T} OUT={out}\"\nrun = \"{out}\"\n"
                         "time = { regex = 'took ([0-9.]+) ms' }\n[measure]\nrep = 1\nmin_rep = 1\nrace = false\n"
                         "finals = 0\n");
  };
  const auto write_makefile = [&](const std::string& factor) {
    cli.write(cli.folder_name + "/Makefile", "all:\n\tprintf '#!/bin/sh\\necho took '$$(( $(TILE) * " + factor +
                                                 " ))' ms\\n' > $(OUT); chmod +x $(OUT)\n");
  };
  write_makefile("5");
  CHECK(cli.tune(spec("sources = [\"factor.hpp\"]\n"))["best"]["time_ms"] == 5);
  write_makefile("9");
  const CommandResult changed = cli.xtune({"run", spec("sources = [\"f*.hpp\"]\n"), "--format", "json"});
  CHECK(parsed(changed)["best"]["time_ms"] == 9);
  CHECK_FALSE(has(changed.stderr_text, "[process] sources is empty"));
  CHECK(has(cli.xtune({"run", spec("")}).stderr_text, "m.toml:6:9: [process] sources is empty"));
}

TEST_CASE("records of failed programs have their exit code, standard output and standard error") {
  const Programs cli;
  const json result = cli.tune(cli.spec("", "[1, 8, 9]"));
  CHECK(result["counts"] == json{{"ok", 3}, {"launch_failed", 3}, {"wrong_result", 3}});
  bool closed = false, silent = false;
  for (const json& record : cli.records()) {
    const std::string message = record.value("message", "");
    if (record["config"]["WAY"] == 9) {
      CHECK(message == "the program ended with exit code 7: way 9 is closed");
      CHECK(record["log"] == "way 9 is closed");
      closed = true;
    }
    if (record["config"]["WAY"] == 8) {
      CHECK(has(message, "the time was not found: neither the whole of it nor any line is JSON"));
      CHECK(has(message, "nothing to report"));
      silent = true;
    }
    if (record["config"]["WAY"] == 1) CHECK(record["reported"]["rate"].size() == record["samples_ms"].size());
  }
  CHECK(closed);
  CHECK(silent);
}

TEST_CASE("a build that fails says what the compiler said; where nothing passes, the run does") {
  const Programs cli;
  cli.write(cli.folder_name + "/model.cpp", "int main() { return undeclared; }\n");
  const CommandResult result = cli.xtune({"run", cli.spec(), "--quiet"});
  CHECK(result.exit_code == 3);
  CHECK(has(result.stdout_text, "6 compile_failed"));
  CHECK(has(result.stdout_text, "model.cpp:1:21: error:"));
  CHECK(has(result.stdout_text, "undeclared"));
}

TEST_CASE("a program that is not here ends the run at once, at the command's place") {
  const Programs cli;
  std::string text = read_file(cli.spec());
  text.replace(text.find("g++"), 3, "g+++");
  CommandResult result = cli.xtune({"run", cli.write("missing.toml", text), "--quiet"});
  CHECK(has(result.stderr_text, "process.sources"));  // the directory has none of them
  result = cli.xtune({"run", cli.write(cli.folder_name + "/model.toml", text), "--quiet"});
  CHECK(result.exit_code == 4);
  CHECK(has(result.stderr_text, "model.toml:9:9: g+++ is not in PATH: install it"));
}

TEST_CASE("metrics are objectives, one or two") {
  const Programs cli;
  const json most = cli.tune(cli.spec("[objective]\nmaximize = \"rate\"\n"));
  CHECK(most["best"]["config"] == json{{"SLOW", 3}, {"WAY", 1}});
  const json both = cli.tune(cli.spec("[objective]\nminimize = \"time_ms\"\nmaximize = \"rate\"\n"));
  const auto exported = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"store", "export", "--format", "kernel-tuner"});
    return json::parse(cli.xtune(words).stdout_text)["results"][0];
  };
  CHECK(exported({cli.spec("[objective]\nmaximize = \"rate\"\n")})["objectives"] == json::array({"rate"}));
  CHECK(exported({cli.spec("[objective]\nmaximize = \"rate\"\n")})["measurements"][1]["name"] == "rate");
  CHECK(exported({})["objectives"] == json::array({"time"}));
  CHECK(both["pareto"].size() == 3);
  CHECK(both["from_store"] == 6);
  const json own = cli.tune(cli.spec("[metrics]\nper_us = \"rate / (time_ms * 1000)\"\n"));
  CHECK(own["best"]["metrics"]["per_us"].get<double>() == doctest::Approx(89.0 / 11));
}

TEST_CASE("--filter and --partition cut the space; the parts have it all") {
  const Programs cli;
  const std::string spec = cli.spec();
  const json filtered = cli.tune(spec, {"--filter", "SLOW > 1", "--filter", "WAY == 2"});
  CHECK(filtered["space"] == 2);
  CHECK(filtered["best"]["config"] == json{{"SLOW", 2}, {"WAY", 2}});
  CHECK(cli.tune(spec, {"--partition", "0/2"})["space"] == 3);
  CHECK(cli.tune(spec, {"--partition", "1:2"})["space"] == 3);
  CHECK(cli.tune(spec)["from_store"] == 6);
  for (const char* bad : {"2/2", "x", "1", "-1/2", "1/2/3"}) {
    CAPTURE(bad);
    const CommandResult result = cli.xtune({"run", spec, "--partition=" + std::string(bad)});
    CHECK(result.exit_code == 2);
    CHECK(has(result.stderr_text, "write i/n"));
  }
  CHECK(cli.xtune({"run", spec, "--filter", "SLOWER > 1"}).exit_code == 2);
  CHECK(cli.xtune({"run", spec, "--filter", "SLOW > 5"}).exit_code == 3);
}

TEST_CASE("--dry-run prints commands that a shell may read: a value's line break ends no comment") {
  const Programs cli;
  const std::string touched = cli.path("touched");
  const std::string spec = cli.write("breaks.toml", "[kernel]\nname = \"breaks\"\n[space.params]\nV = [\"x\\ntouch " +
                                                        touched + "\"]\n[process]\nrun = \"true {V}\"\n");
  const CommandResult result = cli.xtune({"run", spec, "--dry-run"});
  REQUIRE(result.exit_code == 0);
  CHECK(run_command({"sh", "-c", result.stdout_text}).ok());
  CHECK_FALSE(fs::exists(touched));
}

TEST_CASE("--dry-run prints the commands and runs nothing") {
  const Programs cli;
  const std::string spec = cli.spec();
  const CommandResult result = cli.xtune({"run", spec, "--dry-run", "--exec-prefix", "nice -n '5'"});
  CHECK(result.exit_code == 0);
  // Lines that can be pasted: one path for what is built and run.
  const std::size_t out = result.stdout_text.find("g++ -DSLOW=3 model.cpp -o ./out-");
  REQUIRE(out != std::string::npos);
  const std::string path = result.stdout_text.substr(result.stdout_text.find("./out-", out), 18);
  CHECK(has(result.stdout_text, "-o " + path + "\nnice -n 5 " + path + " 10 1  # SLOW=3 WAY=1\n"));
  CHECK(std::count(result.stdout_text.begin(), result.stdout_text.end(), '\n') == 10);
  const json list = parsed(cli.xtune({"run", spec, "--dry-run", "--format", "json"}));
  CHECK(list.size() == 6);
  CHECK(list[0]["run"] == json{"{out}", "10", "1"});
  CHECK_FALSE(fs::exists(cli.path("cache") + "/records"));
  CHECK_FALSE(fs::exists(cli.path("cache") + "/artifacts"));
  const CommandResult kernel = cli.xtune({"run", cli.copy_spec(), "--dry-run", "--backend", "host"});
  CHECK(kernel.exit_code == 2);
  CHECK(has(kernel.stderr_text, "--dry-run is about programs"));
}

TEST_CASE("--exec-prefix goes before the run command, and its times are not the program's") {
  const Programs cli;
  const std::string spec = cli.spec();
  cli.tune(spec);
  const json prefixed = cli.tune(spec, {"--exec-prefix", "env WAY=x"});
  CHECK(prefixed["from_store"] == 0);
  CHECK(prefixed["counts"] == json{{"ok", 6}});
  const CommandResult bad = cli.xtune({"run", spec, "--exec-prefix", "a | b"});
  CHECK(bad.exit_code == 2);
  CHECK(has(bad.stderr_text, "--exec-prefix: '|' needs a shell"));
  const CommandResult missing = cli.xtune({"run", spec, "--exec-prefix", "no-such-wrapper -x"});
  CHECK(missing.exit_code == 4);
  CHECK(has(missing.stderr_text, "--exec-prefix: no-such-wrapper is not in PATH"));
}

TEST_CASE("values cannot break out of their word, with a shell and without") {
  Cli cli;
  fs::create_directories(cli.path("it's \"tmp\" $HOME"));
  cli.set("XTUNE_TMP_DIR", cli.path("it's \"tmp\" $HOME"));
  const std::string evil = "x; touch hacked; $(touch hacked) `touch hacked` ' \" {out}";
  const std::string spec =
      "[kernel]\nname = \"echo\"\n[space.params]\nV = ['''" + evil + "''', \"plain\"]\n[process]\n";
  const auto passes = [&](const std::string& process) {
    const CommandResult result =
        cli.xtune({"run", cli.write("echo.toml", spec + process), "--format", "json", "--quiet"});
    return parsed(result)["counts"] == json{{"ok", 2}} && !fs::exists(cli.path("hacked"));
  };
  cli.write("show.sh", "#!/bin/sh\ntest $# = 1 && echo \"time 1 <$1>\"\n");
  fs::permissions(cli.path("show.sh"), fs::perms::owner_all);
  cli.write("copy.sh", "#!/bin/sh\ncp \"$1\" \"$2\" && chmod +x \"$2\"\n");
  fs::permissions(cli.path("copy.sh"), fs::perms::owner_all);
  const std::string time = "time = { regex = 'time (\\d+)' }\n";
  CHECK(passes("run = \"./show.sh {V}\"\n" + time + "expect = '<(plain|x; touch .* . \" \\{out\\})>'\n"));
  CHECK(passes("run = \"./show.sh {V} | cat\"\nshell = true\n" + time +
               "expect = '<(plain|x; touch .* . \" \\{out\\})>'\n"));
  CHECK(passes("build = \"./copy.sh show.sh {out} > {tmp}/log\"\nrun = \"{out} {V}; test -d {tmp}\"\nshell = true\n" +
               time));
}

TEST_CASE("a program that hangs is killed; only its configuration is lost") {
  const Cli cli;
  const std::string spec = cli.write(
      "hang.toml",
      "[kernel]\nname = \"hang\"\n[space.params]\nS = [100, 0]\n[process]\nrun = \"sleep {S}\"\ntimeout_s = 1\n"
      "[measure]\nrep = 1\nfinals = 0\n");
  const json result = parsed(cli.xtune({"run", spec, "--format", "json", "--quiet"}));
  CHECK(result["counts"] == json{{"ok", 1}, {"timed_out", 1}});
  CHECK(result["best"]["config"] == json{{"S", 0}});
}

TEST_CASE("a directory may have any name, in finals too") {
  const Programs cli("a \xff \"folder\"");
  const json result = cli.tune(cli.spec("", "[1, 2]", "[measure]\nrep = 3\nrace = false\nfinals = 3\n"));
  CHECK(result["counts"] == json{{"ok", 6}});
  CHECK(result["best"]["config"] == json{{"SLOW", 1}, {"WAY", 1}});
}

TEST_CASE("--backend must fit the spec") {
  const Programs cli;
  const CommandResult host = cli.xtune({"run", cli.spec(), "--backend", "host"});
  CHECK(host.exit_code == 2);
  CHECK(has(host.stderr_text, "the spec has [process]"));
  const CommandResult process = cli.xtune({"run", cli.copy_spec(), "--backend", "process"});
  CHECK(process.exit_code == 2);
  CHECK(has(process.stderr_text, "the spec has no [process]"));
  CHECK(cli.xtune({"run", cli.spec(), "--backend", "process", "--quiet"}).exit_code == 0);
}

TEST_CASE("a program for a GPU needs one, and says why there is none") {
  Programs cli;
  cli.env.emplace_back("CUDA_VISIBLE_DEVICES", "-1");
  std::string text = read_file(cli.spec());
  text.replace(text.find("sources ="), 9, "device = \"cuda\"\nsources =");
  const std::string spec = cli.write(cli.folder_name + "/model.toml", text);
  const CommandResult result = cli.xtune({"run", spec, "--quiet"});
  CHECK(result.exit_code == 4);
  CHECK(has(result.stderr_text, "model.toml:8:1: no device for the program: "));
  // Results from another machine can be queried all the same.
  const CommandResult best = cli.xtune({"best", spec, "--arch", "sm_90"});
  CHECK(best.exit_code == 3);
  CHECK(has(best.stdout_text, "none: nothing stored"));
}

TEST_CASE("check, space and compile know programs") {
  const Programs cli;
  const std::string spec = cli.spec();
  CHECK(has(cli.xtune({"check", spec}).stdout_text, "OK: program 'model'"));
  CHECK(has(cli.xtune({"space", spec}).stdout_text, "6 of 6 configurations are valid"));
  const json built = parsed(cli.xtune({"compile", spec, "--format", "json"}));
  CHECK(built.size() == 6);
  CHECK(built[0]["outcome"] == "ok");
  CHECK(cli.artifacts() == 3);
}

TEST_CASE("the example of a program tunes as it stands") {
  const Cli cli;
  const std::string spec = std::string(XTUNE_SOURCE_DIR) + "/examples/process/stencil.toml";
  const CommandResult result = cli.xtune({"run", spec, "--format", "json", "--quiet", "--evals", "3", "-D", "N=128"});
  INFO(result.stderr_text);
  const json json = parsed(result);
  CHECK(json["counts"].value("ok", 0) + json["counts"].value("pruned", 0) == 3);
  CHECK(json["best"]["metrics"]["GB_per_s"].get<double>() > 0);
}

TEST_CASE("Ctrl-C ends the running program and keeps all measurements") {
  const Cli cli;
  const std::string spec = cli.write(
      "long.toml",
      "[kernel]\nname = \"long\"\n[space.params]\nS = [0, 1000]\n[search]\nstrategy = \"exhaustive\"\n[process]\n"
      "run = ['sh', '-c', 'echo $$ > pid$0; sleep $0', '{S}']\n[measure]\nrep = 1\nfinals = 0\n");
  Running run(cli, {"run", spec, "--quiet"});
  const auto pid_of_sleeper = [&] { return read_if_there(cli.path("pid1000")); };
  // The other one may come first or last.
  REQUIRE(run.wait_until([&] { return pid_of_sleeper().ends_with('\n'); }));
  run.process.kill_group(SIGINT);
  REQUIRE(run.wait_for_end());
  CHECK(run.exit_code == 130);
  const int pid = std::stoi(pid_of_sleeper());
  const auto gone = [&] {
    // A zombie whose new parent has not looked yet is gone, too.
    const std::string state = read_if_there("/proc/" + std::to_string(pid) + "/stat");
    return state.empty() || state.find(") Z ") != std::string::npos;
  };
  EventLoop loop;
  const auto deadline_ms = loop.now_ms() + 30'000;
  while (!gone() && loop.now_ms() < deadline_ms) {
    const auto poll = loop.call_after(5, [] {});
    loop.run_once();
  }
  CHECK(gone());
}

TEST_CASE("a store of programs is verified and listed like any other") {
  const Programs cli;
  const std::string spec = cli.spec();
  cli.tune(spec);
  const CommandResult verified = cli.xtune({"store", "verify"});
  INFO(verified.stdout_text << verified.stderr_text);
  CHECK(verified.exit_code == 0);
  CHECK(cli.xtune({"store", "ls"}).exit_code == 0);
}

TEST_CASE("A flipped bit in a stored time makes no winner: best passes over it, and verify names it") {
  const Programs cli;
  const std::string spec = cli.write("folder.toml",
                                     "[kernel]\nname = \"t\"\n[space.params]\nA = [5, 6]\n[process]\n"
                                     "run = \"echo took {A} ms\"\ntime = { regex = 'took ([0-9.]+) ms' }\n"
                                     "[measure]\nrep = 1\nrace = false\nfinals = 0\n");
  REQUIRE(cli.tune(spec)["best"]["config"] == json{{"A", 5}});
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file()) file = entry.path();
  const std::string whole = read_file(file), median = "\"median\":6.0";
  REQUIRE(has(whole, median));
  for (const char* flipped : {"\"median\":4.0", "\"median\":-4.0", "\"median\":0.0"}) {
    std::string text = whole;
    std::ofstream(file, std::ios::trunc) << text.replace(text.find(median), median.size(), flipped);
    const CommandResult best = cli.xtune({"best", spec, "--format", "json"});
    CHECK(json::parse(best.stdout_text)["best"]["config"] == json{{"A", 5}});
    CHECK(has(best.stderr_text, "its checksum does not match"));
    const CommandResult verified = cli.xtune({"store", "verify"});
    CHECK(verified.exit_code == 1);
    CHECK(has(verified.stdout_text, "its checksum does not match"));
  }
  CHECK(cli.tune(spec)["from_store"] == 1);  // the damaged one is measured again
}

TEST_CASE("A forgotten unit of the time is mentioned, because the wall clock disagrees") {
  const Cli cli;
  const auto warnings = [&](const std::string& time) {
    const std::string spec =
        cli.write("unit.toml",
                  "[kernel]\nname = \"unit\"\n[space.params]\nV = [1]\n[process]\nshell = true\nrun = "
                  "\"sleep 0.1; echo took 0.1\"\ntime = { regex = 'took ([0-9.]+)'" +
                      time + " }\n[measure]\nwarmup = 0\nrep = 3\nmin_rep = 3\n");
    return cli.xtune({"run", spec, "--fresh", "--format", "json", "--quiet"}).stderr_text;
  };
  CHECK(has(warnings(""), "if its number is in s, set unit = \"s\" in [process] time"));
  CHECK_FALSE(has(warnings(", unit = \"s\""), "if its number"));
}
