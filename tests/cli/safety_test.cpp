// Other users, other processes, and misleading texts.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// Line ends and tabs aside.
bool has_control_characters(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F; });
}

/// A program that takes a while, with the given number of configurations.
std::string program_spec(const Cli& cli, int configurations) {
  return cli.write("p.toml",
                   "[kernel]\nname = \"p\"\n[space.params]\nT = { min = 1, max = " + std::to_string(configurations) +
                       " }\n[process]\nrun = \"sh -c 'sleep 0.01; echo took {T} ms'\"\n"
                       "time = { regex = 'took ([0-9.]+) ms' }\n[measure]\nrep = 1\nrace = false\n"
                       "finals = 0\n[search]\nstrategy = \"exhaustive\"\n");
}

Cli rank_of(const Cli& cli, int rank, int size) {
  Cli other;
  other.env = cli.env;
  other.env.emplace_back("OMPI_COMM_WORLD_RANK", std::to_string(rank));
  other.env.emplace_back("OMPI_COMM_WORLD_SIZE", std::to_string(size));
  other.env.emplace_back("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size));
  other.env.emplace_back("PMIX_NAMESPACE", "job");
  return other;
}

}  // namespace

TEST_CASE("a run loses nothing when its artifacts are removed, and removed again") {
  Cli cli;
  // After each compile all that was compiled before is gone, as after `store gc --older-than 0s` in between.
  const std::string compiler =
      cli.write("c++",
                "#!/bin/sh\ng++ \"$@\"\nstatus=$?\n"
                "rm -f \"$XTUNE_CACHE_DIR\"/artifacts/*/*.json \"$XTUNE_CACHE_DIR\"/artifacts/*/*.so\n"
                "exit $status\n");
  REQUIRE(::chmod(compiler.c_str(), 0755) == 0);
  cli.env.emplace_back("XTUNE_HOST_CXX", compiler);
  std::string spec = cli.copy_spec("[1, 2]", "[measure]\nrep = 7\nmin_rep = 5\nfinals = 4\nrace = true\n");
  std::string text = read_file(spec);
  text.replace(text.find("[space.params]\n"), 15, "[space.params]\nUNUSED = [1, 2, 3]\n");
  spec = cli.write("copy.toml", text);
  const CommandResult run = cli.run(spec);
  INFO(run.stderr_text);
  CHECK(run.exit_code == 0);
  const json counts = parsed(run)["counts"];
  CHECK(counts.value("ok", 0) + counts.value("pruned", 0) == 6);
}

TEST_CASE("without HOME no directory is used that others may have made") {
  Cli cli;
  std::erase_if(cli.env, [](const auto& variable) { return variable.first == "XTUNE_CACHE_DIR"; });
  for (const char* name : {"XTUNE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) cli.env.emplace_back(name, "");
  const std::string spec = cli.copy_spec("[1]");
  const fs::path store = fs::path(cli.path("tmp")) / ("xtune-" + std::to_string(::geteuid()));
  fs::create_directory(store);
  REQUIRE(::chmod(store.c_str(), 0777) == 0);
  const CommandResult refused = cli.run(spec);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.stderr_text, store.string() + " as the store: every user may write to it; set HOME"));
  CHECK(fs::is_empty(store));
  fs::remove(store);
  CHECK(cli.run(spec).exit_code == 0);
  CHECK(fs::status(store).permissions() == fs::perms::owner_all);
}

TEST_CASE("code of another user is not loaded, and the message says how to go on") {
  Cli cli;
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give files away");
    return;
  }
  const std::string spec = cli.copy_spec("[1]");
  REQUIRE(cli.run(spec).exit_code == 0);
  REQUIRE(::chown(cli.path("cache").c_str(), 54321, 54321) == 0);
  const CommandResult refused = cli.run(spec);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.stderr_text, "it belongs to uid 54321"));
  CHECK(has(refused.stderr_text, "XTUNE_TRUST=54321"));
  cli.env.emplace_back("XTUNE_TRUST", "54321");
  const json again = parsed(cli.run(spec));
  CHECK(again["from_store"] == 1);
}

TEST_CASE("when the process that would print is killed, another one prints") {
  const Cli cli;
  for (const std::string format : {"text", "json"}) {
    Cli job;
    job.set("XTUNE_CACHE_DIR", cli.path(format));
    const std::string spec = program_spec(cli, 60);
    const std::vector<std::string> arguments{"run", spec, "--format", format};
    Running first(rank_of(job, 0, 2), arguments);
    REQUIRE(first.wait_until([&] { return has(first.err, "one of 2 processes"); }));
    Running second(rank_of(job, 1, 2), arguments);
    REQUIRE(second.wait_until([&] {
      std::error_code ignored;
      const fs::path records = fs::path(cli.path(format)) / "records";
      return std::count_if(fs::recursive_directory_iterator(records, ignored), fs::recursive_directory_iterator(),
                           [](const auto& entry) { return entry.path().extension() == ".jsonl"; }) == 2;
    }));
    REQUIRE(::kill(first.process.pid(), SIGKILL) == 0);
    REQUIRE(first.wait_for_end());
    CHECK(first.out.empty());
    REQUIRE(second.wait_for_end());
    INFO(second.err);
    CHECK(second.exit_code == 0);
    CHECK(has(second.out, format == "text" ? "best: T=1" : "\"best\""));
  }
}

TEST_CASE("of processes that live exactly one prints") {
  const Cli cli;
  const std::string spec = program_spec(cli, 20);
  Running first(rank_of(cli, 0, 2), {"run", spec, "--quiet"}), second(rank_of(cli, 1, 2), {"run", spec, "--quiet"});
  REQUIRE(first.wait_for_end());
  REQUIRE(second.wait_for_end());
  CHECK(first.exit_code == 0);
  CHECK(second.exit_code == 0);
  CHECK(has(first.out, "best: T=1") != has(second.out, "best: T=1"));
}

TEST_CASE("no control character of a text reaches the terminal, and none ends a message") {
  const Cli cli;
  const auto spec = [&](const std::string& name, const std::string& dtype = "f32", const std::string& role = "out") {
    return cli.write(
        "k.toml", "[kernel]\nname = \"" + name +
                      "\"\n[space.params]\nA = [\"x\\u001b[2J\", \"y\"]\n[[args]]\nname = \"x\"\ndtype = \"" + dtype +
                      "\"\nshape = [1]\nrole = \"" + role + "\"\n");
  };
  const std::string evil = "a\\u001b[2J\\u009b1mb";
  for (const std::string& path : {spec(evil), spec("k", evil), spec("k", "f32", evil), spec("k\\u0000b"),
                                  cli.write("e\x1b[2J.toml", "[kernel]\nname = 3\n")})
    for (const char* command : {"check", "space", "run", "best"}) {
      const CommandResult result = cli.xtune({command, path});
      CHECK_FALSE(has_control_characters(result.stdout_text + result.stderr_text));
    }
  const CommandResult zero = cli.xtune({"check", spec("k", "f\\u000032")});
  CHECK(zero.exit_code == 2);
  CHECK(has(zero.stderr_text, "'f\\x0032'"));
  const CommandResult argument = cli.xtune({"run", "\x1b[2J", "--no\x1b[2Jthing"});
  CHECK(argument.exit_code == 2);
  CHECK_FALSE(has_control_characters(argument.stderr_text));
}

TEST_CASE("Values with control characters are stored as they are, found again, and printed escaped") {
  const Cli cli;
  cli.copy_spec();
  const std::string values = R"(["a\tb", "line\nbreak", "\u0001\u001b[2J", "del\u007f", "c1\u009b", "back\\slash"])";
  std::string text = read_file(cli.path("copy.toml"));
  text.replace(text.find("[problem]\n"), 10, "[problem]\nMODE = \"wide\\nand\\u0002\\u009b\"\n");
  text.replace(text.find("[space.params]\n"), 15,
               "[space.params]\nKIND = { values = " + values + ", compile_time = false }\n");
  const std::string spec = cli.write("copy.toml", text);
  const json first = parsed(cli.run(spec, {"-D", "VARIANT=1"}));
  CHECK(first["counts"]["ok"] == 6);
  CHECK(first["from_store"] == 0);
  const json second = parsed(cli.run(spec, {"-D", "VARIANT=1"}));
  CHECK(second["from_store"] == 6);
  CHECK(second["problem"] == first["problem"]);
  const json best = parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json"}));
  CHECK(best["match"] == "exact");
  CHECK(best["best"]["config"] == second["best"]["config"]);
  CHECK(parsed(cli.xtune({"why", spec, "-D", "VARIANT=1", "--backend", "host", "--format", "json"}))["stored"] == 6);
  CHECK(cli.xtune({"store", "verify"}).exit_code == 0);

  const auto shown = [&](const std::vector<std::string>& arguments) {
    CAPTURE(arguments[0]);
    const CommandResult result = cli.xtune(arguments);
    const std::string all = result.stdout_text + result.stderr_text;
    CHECK_FALSE(has_control_characters(all));
    CHECK_FALSE(has(all, "\xC2\x9B"));
    CHECK_FALSE(has(all, "wide\n"));
    CHECK_FALSE(has(all, "line\n"));
    CHECK_FALSE(has(all, "\t"));
    return all;
  };
  for (const char* kind : {"a\tb", "line\nbreak", "\x01\x1b[2J", "del\x7f", "c1\xC2\x9B"}) {
    const std::string pin = std::string("KIND=") + kind;
    for (const char* command : {"run", "best", "why", "check", "space", "compile", "export"}) {
      std::vector<std::string> arguments{command, spec, "-D", pin, "-D", "VARIANT=1", "--backend", "host"};
      if (command == std::string("export")) arguments = {"store", "export", "json"};
      shown(arguments);
      if (arguments[0] == "store") continue;
      arguments.insert(arguments.end(), {"--format", "json"});
      shown(arguments);
    }
  }
  CHECK(has(shown({"run", spec, "-D", "KIND=line\nbreak", "--backend", "host"}), "KIND=line\\nbreak"));
  CHECK(has(shown({"best", spec, "--backend", "host"}), "MODE=wide\\nand\\x02?"));
}

TEST_CASE("Candidates print values with control characters escaped") {
  const Cli cli;
  std::string text = read_file(XTUNE_SOURCE_DIR "/configs/gemm.toml");
  for (const auto& [section, line] :
       {std::pair<std::string, std::string>{"[problem]\n", R"(MODE = "wide\nand")"},
        {"[space.params]\n", R"(KIND = { values = ["line\nbreak\u001b", "a\tb"], compile_time = false })"}})
    text.replace(text.find(section), section.size(), section + line + "\n");
  const std::string source = "../kernels/";
  for (std::size_t at = 0; (at = text.find(source)) != text.npos;)
    text.replace(at, source.size(), XTUNE_SOURCE_DIR "/kernels/");
  const CommandResult result = cli.xtune({"candidates", cli.write("gemm.toml", text), "--arch", "sm_90", "--top", "4"});
  CHECK(result.exit_code == 0);
  CHECK(has(result.stdout_text, "MODE=wide\\nand"));
  CHECK((has(result.stdout_text, "line\\nbreak\\x1b") || has(result.stdout_text, "a\\tb")));
  CHECK_FALSE(has_control_characters(result.stdout_text));
  CHECK_FALSE(has(result.stdout_text, "\t"));
}

TEST_CASE("A value that is not UTF-8 is refused where it is given") {
  const Cli cli;
  cli.copy_spec();
  std::string text = read_file(cli.path("copy.toml"));
  text.replace(text.find("[problem]\n"), 10, "[problem]\nMODE = \"wide\"\n");
  const std::string spec = cli.write("copy.toml", text);
  const CommandResult defined = cli.xtune({"check", spec, "-D", "MODE=a\xff"});
  CHECK(defined.exit_code == 2);
  CHECK(has(defined.stderr_text, "-D MODE: the value 'a\\xff' is not valid UTF-8"));
  const CommandResult written =
      cli.xtune({"check", cli.write("copy.toml", text.replace(text.find("wide"), 4, "a\xff"))});
  CHECK(written.exit_code == 2);
  CHECK(has(written.stderr_text, "copy.toml:"));
  CHECK(has(written.stderr_text, "utf-8"));
}

TEST_CASE("--quiet leaves standard error to warnings") {
  const Cli cli;
  const CommandResult run = cli.xtune({"run", cli.copy_spec("[1]"), "--backend", "host", "--quiet"});
  CHECK(run.exit_code == 0);
  CHECK(run.stderr_text.empty());
}

TEST_CASE("a filter that is a number, and a define of two lines, are refused at their place") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  for (const char* filter : {"VARIANT + 1", "min(VARIANT, 2)", "-VARIANT"}) {
    const CommandResult refused = cli.xtune({"check", spec, "--filter", filter});
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.stderr_text, std::string("--filter '") + filter + "': this is a number"));
  }
  for (const char* filter : {"VARIANT + 1 < 3", "not VARIANT % 2", "VARIANT in [1, 2]", "VARIANT and VARIANT + 1"})
    CHECK(cli.xtune({"check", spec, "--filter", filter}).exit_code == 0);
  std::string text = read_file(spec);
  text.replace(text.find("[problem]"), 0, "defines = { Z = \"a\\nb\" }\n");
  const CommandResult refused = cli.xtune({"check", cli.write("copy.toml", text)});
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.stderr_text, "copy.toml:5:17: kernel.defines: the value of 'Z' holds a line end"));
}

TEST_CASE("check refuses a buffer that no machine holds, where run does") {
  const Cli cli;
  std::string text = read_file(cli.copy_spec());
  text.replace(text.find("N = 4096"), 8, "N = 3000000");
  text.replace(text.find("shape = [1, \"N\"]"), 16, "shape = [\"N\", \"N\", \"N\"]");
  const std::string spec = cli.write("copy.toml", text);
  for (const char* command : {"check", "run"}) {
    const CommandResult refused = cli.xtune({command, spec, "--backend", "host"});
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.stderr_text, "copy.toml:12:1: argument 'x' is f32[3000000, 3000000, 3000000]"));
  }
}
