// Shipping from the command line: trees, vLLM's tables, copies elsewhere, frozen answers, coverage.
#include <doctest/doctest.h>

#include "cli.hpp"
#include "system/files.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A store with two problems of the kernel `copy`.
struct Shipped : Cli {
  std::string spec = copy_spec();

  Shipped() {
    REQUIRE(run(spec).exit_code == 0);
    REQUIRE(run(spec, {"-D", "N=65536"}).exit_code == 0);
  }
  CommandResult best(std::vector<std::string> more) const {
    more.insert(more.begin(), {"best", spec, "--backend", "host", "--format", "json"});
    return xtune(more);
  }
};

std::string output_of(const CommandResult& result) {
  INFO("stderr: " << result.stderr_text);
  CHECK(result.exit_code == 0);
  return result.stdout_text;
}

}  // namespace

TEST_CASE("trees and tables are exported, and wrong options are named") {
  const Shipped cli;
  const json trees = json::parse(output_of(cli.xtune({"store", "export", "--format", "tree-json", "--within", "0%"})));
  REQUIRE(trees["trees"].size() == 1);
  CHECK(trees["trees"][0]["cases"].size() == 2);
  CHECK(trees["trees"][0]["max_regret"] == 0);
  CHECK(has(output_of(cli.xtune({"store", "export", "--format", "tree-header", "--max-configs", "1"})),
            "namespace xtune_tree::copy {"));
  const auto fails = [&](std::vector<std::string> more, const std::string& why) {
    more.insert(more.begin(), {"store", "export"});
    const CommandResult result = cli.xtune(more);
    CHECK(result.exit_code == 2);
    if (!has(result.stderr_text, why)) MESSAGE(result.stderr_text);
    CHECK(has(result.stderr_text, why));
  };
  fails({"--format", "vllm-moe"}, "needs the problem size 'E'");
  fails({"--format", "vllm-moe", "--map", "E"}, "write --map VLLM_NAME=NAME");
  fails({"--format", "vllm-moe", "--map", "Q=N"}, "no such name");
  fails({"--format", "vllm-moe", "--block-shape", "128"}, "write two numbers");
  fails({"--format", "vllm-moe", "--dtype", "a/b"}, "write a word of vLLM");
  fails({"--format", "tree-json", "--within", "5"}, "per cent");
  fails({"--format", "tree-json", "--max-depth", "65"}, "65");
}

TEST_CASE("a table for vLLM goes to a file, or into a directory under its own name") {
  const Cli cli;
  cli.copy_spec();
  std::string text = read_file(cli.path("copy.toml"));
  const auto put = [&](const std::string& before, const std::string& more) {
    text.insert(text.find(before) + before.size(), more);
  };
  put("[problem]\n", "E = 8\nM = 16\n");
  std::string constants;
  for (const char* name : {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps"})
    constants += std::string(name) + " = { values = [16], compile_time = false }\n";
  put("[space.params]\n", constants);
  const std::string spec = cli.write("moe.toml", text);
  REQUIRE(cli.run(spec).exit_code == 0);
  fs::create_directories(cli.path("configs"));
  const CommandResult written = cli.xtune({"store", "export", "--format", "vllm-moe", "--map", "num_stages=VARIANT",
                                           "--dtype", "fp8_w8a8", "-o", cli.path("configs")});
  INFO(written.stderr_text);
  REQUIRE(written.exit_code == 0);
  const fs::path file = fs::directory_iterator(cli.path("configs"))->path();
  CHECK(file.filename().string().starts_with("E=8,N=4096,device_name="));
  CHECK(file.string().ends_with(",dtype=fp8_w8a8.json"));
  CHECK(json::parse(read_file(file))["16"]["BLOCK_SIZE_M"] == 16);
}

TEST_CASE("frozen answers come from the bundle, with a digest") {
  Shipped cli;
  const std::string bundle = cli.path("copy.xtune");
  REQUIRE(cli.xtune({"store", "bundle", "-o", bundle}).exit_code == 0);
  const json stored = parsed(cli.best({})), frozen = parsed(cli.best({"--frozen", bundle}));
  CHECK(frozen["best"]["config"] == stored["best"]["config"]);
  CHECK(frozen["match"] == "exact");
  CHECK(frozen["digest"].get<std::string>().size() == 64);
  CHECK(has(output_of(cli.xtune({"best", cli.spec, "--backend", "host", "--frozen", bundle})),
            "digest: " + frozen["digest"].get<std::string>()));
  fs::remove_all(cli.path("cache") + "/records");
  fs::remove_all(cli.path("cache") + "/artifacts");
  CHECK(parsed(cli.best({"--frozen", bundle})) == frozen);
  const json other = parsed(cli.best({"--frozen", bundle, "-D", "N=65536"}));
  CHECK(other["bundle_digest"] == frozen["bundle_digest"]);
  CHECK(other["digest"] != frozen["digest"]);
  CHECK(cli.best({"--frozen", bundle, "--store", cli.path("cache")}).exit_code == 2);
  // Nothing is written where nothing was: neither by this process nor by those that it starts.
  cli.set("XTUNE_CACHE_DIR", cli.path("none"));
  CHECK(parsed(cli.best({"--frozen", bundle})) == frozen);
  CHECK_FALSE(fs::exists(cli.path("none")));
  std::string text = read_file(bundle);
  text.back() = static_cast<char>(text.back() ^ 1);
  const CommandResult damaged = cli.best({"--frozen", cli.write("damaged.xtune", text)});
  CHECK(damaged.exit_code == 1);
  CHECK(damaged.stdout_text.find("\"digest\"") == std::string::npos);
}

TEST_CASE("push and pull from the command line") {
  if (find_program("rsync").empty()) {
    MESSAGE("skipped: rsync is not installed [apt: rsync]");
    return;
  }
  const Shipped cli;
  const std::string there = cli.path("there"), other = cli.path("other");
  const std::string planned = output_of(cli.xtune({"store", "push", there, "--dry-run"}));
  CHECK(has(planned, "would get"));
  CHECK(has(planned, "records/"));
  CHECK(has(output_of(cli.xtune({"store", "push", there})), there + ": got"));
  const json pulled = parsed(cli.xtune({"store", "pull", there, "--store", other, "--format", "json"}));
  CHECK(pulled["records"] == 6);
  CHECK(pulled["left_out"].empty());
  CHECK(parsed(cli.run(cli.spec, {"--store", other}))["from_store"] == 3);
  const CommandResult unreachable = cli.xtune({"store", "pull", cli.path("nowhere"), "--store", other});
  CHECK(unreachable.exit_code == 2);
  CHECK(has(unreachable.stderr_text, "does not exist"));
}

TEST_CASE("a pull that is terminated ends by the signal, and the next one continues") {
  if (find_program("rsync").empty()) {
    MESSAGE("skipped: rsync is not installed [apt: rsync]");
    return;
  }
  Shipped cli;
  const std::string there = cli.path("there"), other = cli.path("other");
  output_of(cli.xtune({"store", "push", there}));
  // This rsync copies, but its caller is terminated before it has ended.
  fs::create_directories(cli.path("bin"));
  cli.write("bin/rsync", "#!/bin/sh\n" + find_program("rsync") +
                             " \"$@\"\ncase \"$*\" in *--files-from*) kill -TERM $PPID; sleep 5;; esac\n");
  fs::permissions(cli.path("bin/rsync"), fs::perms::owner_all);
  cli.env.emplace_back("PATH", cli.path("bin") + ":" + std::getenv("PATH"));
  const CommandResult ended = cli.xtune({"store", "pull", there, "--store", other});
  CHECK(ended.signal == SIGTERM);
  CHECK_FALSE(fs::exists(other + "/records"));
  cli.env.pop_back();
  CHECK(parsed(cli.xtune({"store", "pull", there, "--store", other, "--format", "json"}))["records"] == 6);
}

TEST_CASE("coverage lists an application's problems, and writes a suite that run takes") {
  const Shipped cli;
  const auto line = [&](std::int64_t n, const std::string& kind, const std::string& more) {
    return json{{"xtune_coverage", 1},
                {"process", "p"},
                {"kernel", "copy"},
                {"spec", cli.spec},
                {"defines", json::object()},
                {"backend", "host"},
                {"arch", "x"},
                {"device", "cpu"},
                {"problem", {{"N", n}}},
                {"kind", kind},
                {"config", {{"VARIANT", 1}}},
                {"stale", false},
                {"unix_time_ms", 5}}
               .dump()
               .insert(1, more) +
           "\n";
  };
  const std::string near = "\"measured_for\":{\"N\":4096},\"distance\":1.0,\"time_ms\":1.0,";
  const std::string log = cli.write(
      "run.jsonl",
      line(4096, "exact", "\"measured_for\":{\"N\":4096},\"distance\":0,\"time_ms\":1.0,") +
          line(8192, "nearest", near) + line(512, "default", "") +
          "{\"xtune_coverage\":1,\"process\":\"p\",\"kernel\":\"copy\",\"arch\":\"x\",\"device\":\"cpu\",\"problem\":{"
          "\"N\":8192},\"calls\":12}\n");
  const std::string table = output_of(cli.xtune({"coverage", log, "-o", cli.path("cases.toml")}));
  CHECK(has(table, "3 problems: 1 default, 1 nearest, 1 exact"));
  CHECK(table.find("N=512") < table.find("N=8192"));
  const json all = parsed(cli.xtune({"coverage", log, "--format", "json"}));
  CHECK(all["problems"][1]["calls"] == 12);
  CHECK(all["problems"][1]["loss"] == nullptr);
  const std::string suite = read_file(cli.path("cases.toml"));
  CHECK(suite.find("512") < suite.find("8192"));
  CHECK(suite.find("4096 }") == std::string::npos);
  const json tuned = json::parse(output_of(cli.run(cli.path("cases.toml"))));
  REQUIRE(tuned.size() == 2);
  CHECK(tuned[0]["problem"]["N"] == 512);
  CHECK(cli.xtune({"coverage", cli.path("none")}).exit_code == 2);
  CHECK(cli.xtune({"coverage", cli.write("empty.jsonl", "")}).exit_code == 3);
  json unnamed = json::parse(line(512, "default", ""));
  unnamed["spec"] = "";
  const CommandResult unwritten =
      cli.xtune({"coverage", cli.write("unnamed.jsonl", unnamed.dump() + "\n"), "-o", cli.path("unwritten.toml")});
  CHECK(has(unwritten.stderr_text, "no spec of the problems is known"));
  CHECK(unwritten.exit_code == 3);
}
