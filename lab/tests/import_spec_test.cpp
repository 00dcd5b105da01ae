// kbench's YAML, imported and tuned with a stand-in for mojo; vLLM's tables.
#include <doctest/doctest.h>

#include <cstdlib>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

TEST_CASE("kbench's YAML becomes specs that tune") {
  Cli cli;
  cli.env.emplace_back("BENCHMARKS", cli.folder.path().string());
  cli.env.emplace_back("PATH", cli.path("bin") + ":" + std::getenv("PATH"));
  // This mojo "builds" a script that writes the table of a benchmark to the file in its last argument.
  fs::create_directories(cli.path("bin"));
  cli.write("bin/mojo",
            "#!/bin/sh\ncase \"$*\" in \"build -O3 -D \"*) ;; *) exit 1;; esac\nfor last; do :; done\n"
            "{ echo '#!/bin/sh'; echo \"for last; do :; done; echo 'name,iters,met (ms)' > \\\"\\$last\\\"\"; "
            "echo \"echo \\\"x,1,\\${1#--x=}1\\\" >> \\\"\\$last\\\"\"; } > \"$last\"; chmod +x \"$last\"\n");
  fs::permissions(cli.path("bin/mojo"), fs::perms::owner_all);
  cli.write("gemm.mojo", "def main(): pass\n");
  const std::string yaml = cli.write(
      "gemm.yaml",
      "name: multistage gemm\nfile: $BENCHMARKS/gemm.mojo\nparams:\n- stages: [4, 2**3]\n  dtype: DType.float16\n"
      "  $x: [0, 1, 2]\n- dtype: DType.float32\n  stages: 2\n  $x: 5\n- only: [1, 2]\n  $x: [3, 4]\n"
      "rules:\n- stages > 2 or $x == 5\n");
  const json specs =
      parsed(cli.xtune({"import", "kbench", yaml, "-o", cli.path("out"), "--build-opts", "-O3", "--format", "json"}));
  REQUIRE(specs.size() == 2);
  CHECK(specs[0]["configs"] == 7);
  CHECK(specs[0]["kernel"] == "multistage_gemm");
  CHECK(specs[1]["configs"] == 4);
  const json tuned = parsed(cli.xtune({"run", specs[0]["spec"], "--format", "json", "--quiet", "--top", "7"}));
  CHECK(tuned["counts"] == json{{"ok", 7}});
  CHECK(tuned["best"]["config"]["x"] == 0);
  CHECK(tuned["best"]["time_ms"] == 1);
}

TEST_CASE("several YAML files, --param and --cases make one spec that checks") {
  const Cli cli;
  cli.write("mm.py", "print(1)\n");
  const std::string head = "name: mm\nfile: mm.py\n";
  const std::string tuning = cli.write("tuning.yaml", head +
                                                          "lora: &lora {stages: [2, 4]}\nparams:\n- <<: *lora\n"
                                                          "  $M: \"[64, 128]\"\n  N: 32\n");
  const std::string shapes = cli.write("shapes.yaml", head + "params: {stages: [2, 4], $M: 1, N: [8, 16]}\n");
  const json specs = parsed(cli.xtune({"import", "kbench", tuning, shapes, "--cases", "$M,N", "--param",
                                       "$bench-max-iters:[100]", "-o", cli.path("out"), "--format", "json"}));
  REQUIRE(specs.size() == 1);
  CHECK(specs[0]["configs"] == 2);
  const std::string text = read_file(cli.path("out/tuning.toml"));
  CHECK(text.find("\"--bench-max-iters={bench_max_iters}\"") != std::string::npos);
  const json check = parsed(cli.xtune({"check", specs[0]["spec"], "--format", "json"}));
  CHECK(check["valid"] == true);
  CHECK(check["cases"] == 4);
  const std::string rules =
      cli.write("rules.yaml", head + "params: {stages: [2, 4], M: [1, 8]}\nrules: [stages < M + 3]\n");
  CHECK(has(cli.xtune({"import", "kbench", rules, "--cases", "M", "-o", cli.path("rules")}).stdout_text,
            "rules.toml: 1 to 2 configurations of mm in each of 2 cases; "));
  const CommandResult none =
      cli.xtune({"import", "kbench", rules, "--cases", "M", "--param", "M:[8,-2]", "-o", cli.path("no")});
  CHECK(has(none.stdout_text, "0 to 2 configurations of mm in each of 2 cases"));
  const CommandResult unknown = cli.xtune({"import", "kbench", tuning, "--cases", "MM", "-o", cli.path("none")});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.stderr_text.find("--cases: no parameter 'MM' (did you mean 'M'?)") != std::string::npos);
  CHECK_FALSE(fs::exists(cli.path("none")));
  const CommandResult endless =
      cli.xtune({"import", "kbench", tuning, "--param", "NEW:[1 for i in range(10**10)]", "-o", cli.path("none")});
  CHECK(endless.exit_code == 2);
  CHECK(endless.stderr_text.find("--param NEW: more than 100000 values") != std::string::npos);
}

TEST_CASE("--shapes makes cases, --metric reads columns, and the results are written as kbench writes them") {
  const Cli cli;
  cli.write("mm.py",
            "import sys\n"
            "values = dict(word.lstrip('-').split('=') for word in sys.argv[1:] if '=' in word)\n"
            "ms = int(values['M']) * int(values['stages'])\n"
            "with open(sys.argv[sys.argv.index('-o') + 1], 'w') as table:\n"
            "    table.write(f'name,met (ms),iters,DataMovement (GB/s)\\nmm,{ms},1,{ms / 2}\\n')\n");
  const std::string tuning =
      cli.write("tuning.yaml", "name: mm\nfile: mm.py\nparams: {stages: [2, 4]}\nrules: [stages < M, N < 7]\n");
  const std::string shapes = cli.write("shapes.yaml", "params:\n- {$M: [8, 16], $N: 5}\n- {$N: [6, 7], $M: 3}\n");
  const json specs = parsed(cli.xtune({"import", "kbench", tuning, "--shapes", shapes, "--metric",
                                       "DataMovement (GB/s)", "-o", cli.path("out"), "--format", "json"}));
  const std::string spec = specs[0]["spec"];
  CHECK(parsed(cli.xtune({"check", spec, "--format", "json"}))["cases"] == 3);
  const json tuned = parsed(cli.xtune({"run", spec, "--format", "json", "--quiet"}));
  REQUIRE(tuned.size() == 3);
  CHECK(tuned[2]["problem"] == json{{"M", 3}, {"N", 6}});
  CHECK(tuned[2]["best"]["time_ms"] == 6);
  CHECK(tuned[2]["best"]["metrics"]["DataMovement"] == 3);
  const CommandResult table = cli.xtune({"store", "export", "--format", "kbench"});
  CHECK(table.stdout_text.starts_with("name,met (ms),iters,DataMovement (GB/s),spec\n"));
  CHECK(table.stdout_text.find("mm,6.0,3,3.0,mm/M=3/N=6/stages=2\n") != std::string::npos);

  const auto refused = [&](const std::string& text, const std::string& why, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"import", "kbench",        tuning, "--shapes", cli.write("bad.yaml", text),
                                   "-o",     cli.path("none")};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = cli.xtune(words);
    CAPTURE(result.stderr_text);
    CHECK(result.exit_code == 2);
    CHECK(result.stderr_text.find(why) != std::string::npos);
    CHECK_FALSE(fs::exists(cli.path("none")));
  };
  refused("params: {stages: 3}\n", "--shapes: 'stages' is a parameter of the benchmark's file, too");
  refused("params: [{M: 3}, {N: 3}]\n", "--shapes: the shapes have different parameters");
  refused("params: {M: 3}\n", "--shapes and --cases exclude each other", {"--cases", "stages"});
  refused("params: {}\n", "bad.yaml:1:9: the key 'params' holds no parameters");
  refused("params: [x\n", "bad.yaml:");
  const std::string groups =
      cli.write("groups.yaml", "name: mm\nfile: mm.py\nparams: [{stages: 2}, {stages: 4}]\nrules: [stages < M]\n");
  CHECK(cli.xtune({"import", "kbench", groups, "--shapes", shapes, "-o", cli.path("none")})
            .stderr_text.find("the rule 'stages < M' is about parameters and shapes") != std::string::npos);
  CHECK(cli.xtune({"import", "kbench", tuning, "--shapes", cli.path("nowhere.yaml")}).exit_code == 2);
}

TEST_CASE("a file that is not kbench's is a bad argument, and leaves no spec") {
  const Cli cli;
  const CommandResult bad = cli.xtune({"import", "kbench", cli.write("bad.yaml", "name: [x\n"), "-o", cli.path("out")});
  CHECK(bad.exit_code == 2);
  CHECK(bad.stderr_text.find("bad.yaml:") != std::string::npos);
  CHECK_FALSE(fs::exists(cli.path("out")));
  // An error in the last of several specs prevents the others from being written as well.
  cli.write("b.mojo", "def main(): pass\n");
  const std::string yaml =
      "name: b\nfile: b.mojo\nparams:\n- {M: [1]}\n- {M: [2]}\n- {D: [a, b]}\nrules:\n- D > 0.75\n";
  const CommandResult rule = cli.xtune({"import", "kbench", cli.write("rule.yaml", yaml), "-o", cli.path("out")});
  CHECK(rule.exit_code == 2);
  CHECK(rule.stderr_text.find("rule.yaml: the resulting spec would be invalid: ") != std::string::npos);
  CHECK(rule.stderr_text.find("cannot use > on a string and a float") != std::string::npos);
  CHECK(rule.stdout_text.empty());
  const std::string none = "name: b\nfile: b.mojo\nparams: {M: [1]}\nrules: [M > 1]\n";
  CHECK(cli.xtune({"import", "kbench", cli.write("none.yaml", none), "-o", cli.path("out")})
            .stderr_text.find("none.yaml: the rules leave no configuration") != std::string::npos);
  CHECK_FALSE(fs::exists(cli.path("out")));
  CHECK(cli.xtune({"import", "kbench", cli.path("nowhere.yaml")}).exit_code == 2);
}

TEST_CASE("an import of kbench's YAML keeps specs that exist, unless --force is given") {
  const Cli cli;
  cli.write("mm.py", "print(1)\n");
  // Of two groups with other names, the second spec has a list of configurations.
  const std::string yaml = cli.write("mm.yaml",
                                     "name: mm\nfile: mm.py\nparams:\n- {M: [1, 2]}\n- {N: [1], K: 2}\n"
                                     "- {N: [3], K: 4}\n");
  const std::vector<std::string> import{"import", "kbench", yaml, "-o", cli.path("out"), "--format", "json"};
  const json specs = parsed(cli.xtune(import));
  REQUIRE(specs.size() == 2);
  const std::string edited = specs[1]["spec"];
  const std::string list = fs::path(edited).replace_extension(".configs.csv").string();
  for (const std::string& file : {edited, list}) {
    fs::remove_all(cli.path("out"));
    fs::create_directories(cli.path("out"));
    std::ofstream(file) << "mine";
    const CommandResult kept = cli.xtune(import);
    CHECK(kept.exit_code == 2);
    CHECK(has(kept.stderr_text, file + ": the file exists; --force replaces it, --name or -o names others"));
    CHECK(read_file(file) == "mine");
    CHECK_FALSE(fs::exists(specs[0]["spec"].get<std::string>()));
  }
  std::vector<std::string> forced = import, renamed = import;
  forced.emplace_back("--force");
  CHECK(parsed(cli.xtune(forced)) == specs);
  CHECK(parsed(cli.xtune({"check", edited, "--format", "json"}))["valid"] == true);
  renamed.insert(renamed.end(), {"--name", "other"});
  CHECK(cli.xtune(renamed).exit_code == 0);
}

TEST_CASE("without python3 or a module of it, the message names the Debian package") {
  Cli cli;
  const std::string yaml = cli.write("mm.yaml", "name: mm\nfile: mm.py\nparams: {M: [1, 2]}\n");
  cli.write("mm.py", "print(1)\n");
  fs::create_directories(cli.path("bin"));
  const std::string system_path = std::getenv("PATH");
  cli.env.emplace_back("PATH", cli.path("bin"));
  const auto imported = [&] { return cli.xtune({"import", "kbench", yaml, "-o", cli.path("out")}); };
  CommandResult result = imported();
  CHECK(result.exit_code == 4);
  CHECK(has(result.stderr_text, "this command needs python3, which is not installed (Debian: python3)"));
  cli.write("bin/python3", "#!/bin/sh\necho '{\"missing\": \"yaml\"}'\n");
  fs::permissions(cli.path("bin/python3"), fs::perms::owner_all);
  result = imported();
  CHECK(result.exit_code == 4);
  CHECK(has(result.stderr_text, "the Python module yaml, which is not installed (Debian: python3-yaml)"));
  CHECK_FALSE(fs::exists(cli.path("out")));
  // Another python3 in PATH may have it.
  cli.env.back().second += ":" + system_path;
  CHECK(imported().exit_code == 0);
  cli.write("bin/python3", "#!/bin/sh\necho 'no room' >&2; exit 7\n");
  result = imported();
  CHECK(result.exit_code == 1);
  CHECK(has(result.stderr_text, "kbench.py failed (exit code 7): no room"));
}

TEST_CASE("vLLM's tables become a spec with a case for each batch size") {
  const Cli cli;
  const std::string row = R"("BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 1, "num_warps": 4})";
  const std::string table =
      cli.write("E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8.json",
                R"({"triton_version": "3.4.0", "1": {"BLOCK_SIZE_M": 16, )" + row + R"(, "64": {"BLOCK_SIZE_M": 64, )" +
                    row + R"(, "128": {"BLOCK_SIZE_M": 64, )" + row + "}");
  const json specs = parsed(cli.xtune({"import", "vllm-moe", table, "--map", "BLOCK_SIZE_M=BM", "--name", "moe", "-o",
                                       cli.path("out"), "--format", "json"}));
  REQUIRE(specs.size() == 1);
  CHECK(specs[0]["configs"] == 2);
  const CommandResult checked = cli.xtune({"check", cli.path("out/moe.toml")});
  CHECK(checked.exit_code == 0);
  CHECK(checked.stdout_text.find("E=8 M=128 N=7168: 2 valid") != std::string::npos);
  const CommandResult unnamed = cli.xtune({"import", "vllm-moe", cli.write("table.json", "{}"), "-o", cli.path("no")});
  CHECK(unnamed.exit_code == 2);
  CHECK(unnamed.stderr_text.find("keep the name that vLLM gave it") != std::string::npos);
}
