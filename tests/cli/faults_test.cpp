// Runs the spec with one of each fault, and kernels with bad accesses under --sanitize.
#include <doctest/doctest.h>

#include <map>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

TEST_CASE("A run with one of each fault ends, every outcome is the right one, and the best is right") {
  const Cli cli;
  const CommandResult run = cli.run(XTUNE_SOURCE_DIR "/tests/faults/faults.toml", {"--log", cli.path("log.txt")});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  const json result = parsed(run);
  CHECK(result["best"]["config"] == json{{"FAULT", "none"}, {"WORK", 1}});

  std::map<std::string, std::string> outcome, stage;
  std::map<std::string, int> times;
  for (const json& record : cli.records()) {
    if (record["config"]["WORK"] != 1) continue;
    if (record.contains("finals")) continue;  // where noise hides how much faster it is
    const std::string fault = record["config"]["FAULT"];
    outcome[fault] = record["outcome"];
    stage[fault] = record["stage"];
    ++times[fault];
  }
  CAPTURE(read_file(cli.path("log.txt")));
  CHECK(outcome == std::map<std::string, std::string>{{"none", "ok"},
                                                      {"compile_error", "compile_failed"},
                                                      {"compiler_crash", "crashed"},
                                                      {"illegal_address", "crashed"},
                                                      {"trap", "crashed"},
                                                      {"infinite_loop", "timed_out"},
                                                      {"wrong_result", "wrong_result"},
                                                      {"nan_output", "wrong_result"},
                                                      {"out_of_bounds_write", "wrong_result"},
                                                      {"too_much_shared", "rejected"},
                                                      {"too_many_threads", "rejected"}});
  CHECK(stage["compile_error"] == "compile");
  CHECK(stage["compiler_crash"] == "compile");
  CHECK(stage["illegal_address"] == "run");
  CHECK(stage["trap"] == "run");
  CHECK(stage["infinite_loop"] == "run");
  CHECK(stage["wrong_result"] == "validate");
  CHECK(stage["nan_output"] == "validate");
  CHECK(stage["out_of_bounds_write"] == "validate");
  CHECK(stage["too_much_shared"] == "space");
  CHECK(stage["too_many_threads"] == "space");
  for (const auto& entry : times) CHECK_MESSAGE(entry.second == 1, entry.first);

  const std::string log = read_file(cli.path("log.txt"));
  CHECK(log.find("this configuration does not compile") != std::string::npos);
  CHECK(log.find("wrote past the end") != std::string::npos);

  // Stored failures are answers too.
  const json again = parsed(cli.run(XTUNE_SOURCE_DIR "/tests/faults/faults.toml"));
  CHECK(again["from_store"] == 12);
  CHECK(again["counts"] == result["counts"]);
}

TEST_CASE("A CPU kernel that uses up or changes its process spoils no other one, and does not win") {
  const Cli cli;
  // The odd configurations spoil, and are faster.
  cli.write("spoil.cu", R"(#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <thread>
extern "C" __global__ void spoil(const float* x, float* y, int n, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = 0;
  for (int turn = what ? 99 : 0; turn < 100; ++turn) value = *(const volatile float*)(x + i);
  y[i] = value;
  const rlimit few = {3, 3}, little = {1 << 20, 1 << 20};
  if (i > 0) return;
  if (what == 1) open("/dev/null", O_RDONLY);
  for (int k = 0; what == 2 && k < 100; ++k)
    mmap(0, 4096, k % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (what == 3) setrlimit(RLIMIT_NOFILE, &few);
  if (what == 4) setrlimit(RLIMIT_AS, &little);
  if (what == 5 && (chroot("/proc") != 0 || chdir("/") != 0)) chdir("/proc");
  if (what == 6) signal(SIGCONT, SIG_IGN);
  if (what == 7) std::thread([] { for (;;) sleep(1000); }).detach();
  if (what == 8) setenv("LD_BIND_NOW", "1", 1);
})");
  const std::string spec =
      cli.write("spoil.toml",
                "kernel = { name = \"spoil\", source = \"spoil.cu\", entry = \"spoil\" }\n"
                "problem = { N = 4096 }\nlaunch = { grid = [\"N / 64\"], block = [64] }\n"
                "args = [{ name = \"x\", dtype = \"f32\", shape = [1, \"N\"] },\n"
                "        { name = \"y\", dtype = \"f32\", shape = [\"N\", 1], role = \"out\" },\n"
                "        { name = \"n\", kind = \"scalar\", dtype = \"i32\", value = \"N\" },\n"
                "        { name = \"what\", kind = \"scalar\", dtype = \"i32\", value = \"T % 2 * (T + 1) / 2\" }]\n"
                "[space.params]\nT = { min = 1, max = 16, compile_time = false }\n[search]\nstrategy = \"exhaustive\"\n"
                "[validate]\nreference = { builtin = \"transpose\", x = \"x\" }\n[measure]\nrep = 40\nmin_rep = "
                "40\nrace = false\n");
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.stderr_text, "T=1: the kernel left "));
  std::map<int, std::string> found;
  bool clean = false;  // the machine may take CPU time away, which taints records, too
  for (const json& record : cli.records()) {
    const int t = record["config"]["T"];
    CAPTURE(record.dump());
    const std::string taints = record.contains("tainted") ? record["tainted"].dump() : "";
    if (t % 2 == 0) {
      CHECK(record["outcome"] == "ok");
      CHECK_FALSE(has(taints, "kernel"));
      clean = clean || taints.empty();
    } else if (record["outcome"] == "ok") {
      CHECK(has(taints, "kernel"));
      found[t] += taints;
    } else {
      CHECK(record["outcome"] == "crashed");
    }
  }
  if (clean) CHECK(parsed(run)["best"]["config"]["T"].get<int>() % 2 == 0);
  CHECK(has(found[1], " descriptors open"));
  CHECK(has(found[3], " mappings"));
  CHECK(has(found[5], "changed the limits"));
  CHECK(has(found[9], "changed the "));
  CHECK(has(found[11], "changed the signal handlers"));
  CHECK(has(found[15], "changed the environment"));
}

TEST_CASE("A reference kernel that hangs or crashes is the spec's fault, at its place") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  std::string text = read_file(spec);
  const std::string builtin = "{ builtin = \"transpose\", x = \"x\" }";
  text.replace(text.find(builtin), builtin.size(), "{ kernel = \"reference\", source = \"reference.cu\" }");
  text.replace(text.find("[measure]\n"), 10, "[measure]\ntimeout_s = 0.2\n");
  cli.write("copy.toml", text);
  const auto head = text.substr(0, text.find("reference = "));
  const std::string place = "copy.toml:" + std::to_string(std::count(head.begin(), head.end(), '\n') + 1) + ":";
  const std::string signature = "extern \"C\" __global__ void reference(const float* x, float* y, int n) ";
#ifdef XTUNE_SANITIZED  // the sanitizer handles the signal and ends the worker with an exit status
  const std::string death = "ended without an answer";
#else
  const std::string death = "signal 11";
#endif
  for (const auto& [body, what] :
       {std::pair<std::string, std::string>{"{ for (volatile int i = 0; n; i = 0) {} }", "took longer"},
        {"{ *(volatile float*)(unsigned long)n = 1; }", death}}) {
    cli.write("reference.cu", signature + body + "\n");
    CommandResult run = cli.run(spec);
    // A reference that got hardly any CPU time shows nothing about the spec.
    for (int again = 0; again < 4 && run.exit_code == 1 && has(run.stderr_text, "or got hardly any CPU time"); ++again)
      run = cli.run(spec);
    CAPTURE(run.stderr_text);
    CHECK(run.exit_code == 2);
    CHECK(has(run.stderr_text, place));
    CHECK(has(run.stderr_text, "'reference'"));
    CHECK(has(run.stderr_text, what));
    CHECK(cli.stored_records() == 0);
  }
}

TEST_CASE("The vendors' compilers crash for real, without a device, and cost their own configuration") {
  const Cli cli;
  const std::pair<const char*, const char*> targets[] = {{"cuda", "sm_90"}, {"hip", "gfx90a"}};
  for (const auto& [backend, arch] : targets) {
    const json devices = parsed(cli.xtune({"devices", "--backend", backend, "--format", "json"}));
    if (devices.contains("error")) continue;  // not part of this build
    const std::string toolchain = devices["backends"][0]["toolchain"];
    if (toolchain.empty() || (backend == std::string("hip") && has(toolchain, "nvrtc"))) continue;
    CAPTURE(toolchain);
    // Alone, so that nothing follows the crash.
    const CommandResult alone = cli.xtune({"compile", XTUNE_SOURCE_DIR "/tests/faults/faults.toml", "--backend",
                                           backend, "--arch", arch, "-D", "FAULT=compiler_crash", "--format", "json"});
    CAPTURE(alone.stderr_text);
    CHECK(alone.exit_code == 3);
    const json crashed = parsed(alone);
    REQUIRE(crashed.size() == 1);
    // hipRTC 6.4 does not crash, but takes longer than the spec allows.
    const std::string outcome = crashed[0]["outcome"];
    CHECK((outcome == "crashed" || (backend == std::string("hip") && outcome == "timed_out")));
    const CommandResult all = cli.xtune({"compile", XTUNE_SOURCE_DIR "/tests/faults/faults.toml", "--backend", backend,
                                         "--arch", arch, "--format", "json"});
    CAPTURE(all.stderr_text);
    CHECK(all.exit_code == 0);
    std::map<std::string, int> counts;
    for (const json& row : parsed(all)) ++counts[row["outcome"]];
    CHECK(counts == std::map<std::string, int>{{"ok", 8}, {"rejected", 2}, {"compile_failed", 1}, {outcome, 1}});
  }
}

TEST_CASE("A crash of the host's compiler is told from a refusal, whichever compiler it is") {
  for (const char* compiler : {"g++", "clang++"}) {
    Cli cli;
    if (!cli.command({"sh", "-c", std::string("command -v ") + compiler}).ok()) {
      MESSAGE("skipped: " << std::string(compiler) << " is not installed [apt: clang]");
      continue;
    }
    CAPTURE(compiler);
    cli.env.emplace_back("XTUNE_HOST_CXX", compiler);
    const CommandResult run = cli.xtune({"compile", XTUNE_SOURCE_DIR "/tests/faults/faults.toml", "--backend", "host",
                                         "-D", "FAULT=compiler_crash", "--format", "json"});
    CAPTURE(run.stderr_text);
    CHECK(run.exit_code == 3);
    CHECK(parsed(run)[0]["outcome"] == "crashed");
    const json refused = parsed(cli.xtune({"compile", XTUNE_SOURCE_DIR "/tests/faults/faults.toml", "--backend", "host",
                                           "-D", "FAULT=compile_error", "--format", "json"}));
    CHECK(refused[0]["outcome"] == "compile_failed");
  }
}

TEST_CASE("--sanitize finds threads of a block that count without atomics") {
  if (!can_sanitize) return;
  const Cli cli;
  const auto run = [&](const std::string& count, bool sanitize) {
    cli.write("count.cu", "extern \"C\" __global__ void count(const int* x, int* bins) {\n  " + count + "\n}\n");
    const std::string spec = cli.write(
        "count.toml",
        "kernel = { name = \"count\", source = \"count.cu\", entry = \"count\" }\nlaunch = { grid = 1, block = 256 }\n"
        "args = [{ name = \"x\", dtype = \"i32\", shape = [256], fill = \"one\" },\n"
        "        { name = \"bins\", dtype = \"i32\", shape = [4], role = \"inout\", fill = \"zero\" }]\n"
        "[space.params]\nA = [1]\n[validate]\nreference = { kernel = \"sum\", source = \"sum.cu\", grid = 1, block = 1 "
        "}\n");
    cli.write("sum.cu", "extern \"C\" __global__ void sum(const int* x, int* bins) { bins[1] += 256; }\n");
    return cli.run(spec, sanitize ? std::vector<std::string>{"--sanitize"} : std::vector<std::string>{"--fresh"});
  };
  const std::string racing = "bins[x[threadIdx.x]] += 1;", right = "atomicAdd(&bins[x[threadIdx.x]], 1);";
  CHECK(run(racing, false).exit_code == 0);
  const CommandResult found = run(racing, true);
  CHECK(found.exit_code == 3);
  CHECK(has(found.stdout_text, "one in which the threads of a block change at random stores was not"));
  CHECK(run(right, true).exit_code == 0);
}

TEST_CASE("--sanitize names the line of a bad access to shared and to global memory") {
  if (!can_sanitize) return;
  const Cli cli;
  cli.write("oob.cu",
            "extern \"C\" __global__ void oob(const float* x, float* y, int n) {\n"
            "  __shared__ float tile[32];\n"
            "  const int i = threadIdx.x;\n"
            "  tile[i] = x[i];\n"
            "  __syncthreads();\n"
            "#if WHERE == 1\n"
            "  tile[i + n - 31] = 1;\n"
            "#elif WHERE == 2\n"
            "  y[i + n - 31] = 1;\n"
            "#endif\n"
            "  y[i] = tile[i];\n"
            "}\n");
  const std::string spec = cli.write("oob.toml",
                                     "[kernel]\nname = \"oob\"\nsource = \"oob.cu\"\nentry = \"oob\"\n"
                                     "[space.params]\nWHERE = [0, 1, 2]\n[launch]\ngrid = [1]\nblock = [32]\n"
                                     "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [1, 32]\n"
                                     "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [32, 1]\nrole = \"out\"\n"
                                     "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"32\"\n"
                                     "[validate]\nreference = { builtin = \"transpose\", x = \"x\" }\n"
                                     "[measure]\nrep = 7\nmax_time_ms = 20\n");
  const CommandResult run = cli.run(spec, {"--sanitize", "--log", cli.path("log.txt")});
  const std::string log = read_file(cli.path("log.txt"));
  CAPTURE(run.stderr_text);
  CAPTURE(log);
  REQUIRE(run.exit_code == 3);  // the purpose of --sanitize are reports, even if other configurations passed
  CHECK(parsed(run)["counts"] == json{{"crashed", 2}, {"ok", 1}});
  const json failures = parsed(run)["failures"];
  REQUIRE(failures.size() == 1);
  CHECK(failures[0]["outcome"] == "crashed");
  CHECK(failures[0]["count"] == 2);
  CHECK(failures[0]["sanitizer"] == true);
  CHECK(failures[0]["message"].get<std::string>().find("heap-buffer-overflow") != std::string::npos);
  CHECK(parsed(run)["best"]["config"] == json{{"WHERE", 0}});
  CHECK(log.find("oob.cu:7") != std::string::npos);
  CHECK(log.find("oob.cu:9") != std::string::npos);
  CHECK(log.find("heap-buffer-overflow") != std::string::npos);
}

TEST_CASE("A kernel's assertion, print and argument types are told to the user") {
  const Cli cli;
  const auto spec_of = [&](const std::string& body, const std::string& dtype) {
    cli.write("k.cu",
              "#include <cassert>\n#include <cstdio>\nextern \"C\" __global__ void k(const float* x, float* y) { " +
                  body + " y[threadIdx.x] = x[threadIdx.x]; }\n");
    return cli.write("k.toml",
                     "kernel = { name = \"k\", source = \"k.cu\", entry = \"k\" }\nlaunch = { grid = 1, block = "
                     "64 }\nargs = [{ name = \"x\", dtype = \"" +
                         dtype +
                         "\", shape = [64] },\n { name = \"y\", dtype = \"f32\", shape = [64], role = \"out\" }]\n"
                         "[space.params]\nA = [1]\n");
  };
  const std::vector<std::string> logged{"--log", cli.path("log.txt")};
  const CommandResult failed = cli.run(spec_of("assert(threadIdx.x < 9);", "f32"));
  CHECK(failed.exit_code == 3);
  CHECK(has(failed.stdout_text, "Assertion `threadIdx.x < 9' failed."));
  const CommandResult printed = cli.run(spec_of("if (threadIdx.x == 0) printf(\"hello %d\\n\", 42);", "f32"), logged);
  CHECK(printed.exit_code == 0);
  CHECK(has(printed.stderr_text, "a kernel prints, for example 'hello 42': --log FILE keeps it"));
  CHECK(has(read_file(cli.path("log.txt")), "    hello 42\n"));
  const std::string log = cli.path("validated.txt");
  const CommandResult validated =
      cli.xtune({"validate", spec_of("if (threadIdx.x == 0) printf(\"hello %d\\n\", 43);", "f32"), "--backend", "host",
                 "--log", log});
  CHECK_MESSAGE(has(validated.stderr_text, "a kernel prints, for example 'hello 43': --log FILE keeps it\n"),
                validated.stderr_text);
  CHECK(has(read_file(log), "    hello 43\n"));
  const CommandResult mistyped = cli.run(spec_of("", "f64"));
  CHECK(mistyped.exit_code == 2);
  CHECK(has(mistyped.stdout_text, "argument 1 of k is const float* x (k.cu:3), and the spec's 'x' is a buffer of f64"));
}
