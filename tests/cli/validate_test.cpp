// xtune validate: configurations are compiled, executed and compared, and nothing is measured or stored.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "cli.hpp"
#include "support/emulated_gpu.hpp"

using namespace xtune::cli_test;
using xtune::system::CommandResult;

namespace {

/// Right for FAULT = 0; 1 computes another value, and 2 writes far behind the output.
std::string faulty_spec(const Cli& cli) {
  cli.write("faulty.cu",
            "extern \"C\" __global__ void faulty(const float* x, float* y, int n) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  if (i < n) y[i] = FAULT == 1 ? 2 * x[i] : x[i];\n"
            "  if (FAULT == 2 && i == 3) y[1 << 28] = 1;\n}\n");
  return cli.write("faulty.toml",
                   "[kernel]\nname = \"faulty\"\nsource = \"faulty.cu\"\nentry = \"faulty\"\n[problem]\nN = 1000\n"
                   "[space.params]\nFAULT = [0, 1, 2]\n[launch]\ngrid = [\"ceildiv(N, 64)\"]\nblock = [64]\n"
                   "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [1, \"N\"]\n"
                   "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\", 1]\nrole = \"out\"\n"
                   "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                   "[validate]\nreference = { builtin = \"transpose\", x = \"x\" }\n");
}

/// 1 never ends, 2 fails an assertion, and 3 writes behind the guard zone of the output, of 256 bytes.
std::string lost_spec(const Cli& cli) {
  cli.write("lost.cu",
            "#include <assert.h>\nextern \"C\" __global__ void lost(float* y, int n) {\n"
            "  volatile float* const z = y;\n  const int i = threadIdx.x;\n"
            "  while (FAULT == 1 && !(z[0] < 0)) z[i] = i;\n"
            "  if (FAULT == 2) assert(n + i < 67);\n"
            "  y[FAULT == 3 ? i + 100000 : i] = 1;\n}\n");
  return cli.write("lost.toml",
                   "[kernel]\nname = \"lost\"\nsource = \"lost.cu\"\nentry = \"lost\"\n[problem]\nN = 64\n"
                   "[space.params]\nFAULT = [1, 2, 3]\n[launch]\ngrid = [1]\nblock = [\"N\"]\n"
                   "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                   "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                   "[measure]\ntimeout_s = 2\n");
}

/// The row of a configuration.
json row_of(const json& answer, int fault) {
  for (const json& row : answer.at("configurations"))
    if (row.at("config").at("FAULT") == fault) return row;
  return {};
}

}  // namespace

TEST_CASE("validate executes configurations on the CPU, and keeps no measurement") {
  const Cli cli;
  const CommandResult text = cli.xtune({"validate", cli.copy_spec(), "--backend", "host"});
  CHECK_MESSAGE(text.exit_code == 0, text.stderr_text);
  CHECK(has(text.stdout_text, "VARIANT=1"));
  CHECK(has(text.stdout_text, ": 3 of 3 valid\n"));
  CHECK(cli.stored_records() == 0);
  const json answer = parsed(
      cli.xtune({"validate", cli.copy_spec(), "--backend", "host", "--config", "VARIANT=2", "--format", "json"}));
  CHECK(answer.at("kernel") == "copy");
  CHECK(answer.at("counts") == json{{"ok", 1}});
  CHECK(answer.at("configurations").at(0).at("config") == json{{"VARIANT", 2}});
  CHECK(answer.at("configurations").at(0).at("valid") == true);
  CHECK(answer.at("configurations").at(0).at("validation").at("passed") == true);
}

TEST_CASE("validate reports what is wrong, and returns 3") {
  const Cli cli;
  const std::string spec = faulty_spec(cli);
  const CommandResult wrong = cli.xtune({"validate", spec, "--backend", "host", "--filter", "FAULT < 2"});
  CHECK(wrong.exit_code == 3);
  CHECK(has(wrong.stdout_text, "wrong_result"));
  CHECK(has(wrong.stdout_text, "y: "));
  CHECK(has(wrong.stdout_text, ": 1 of 2 valid, 1 wrong_result\n"));
  const CommandResult none = cli.xtune({"validate", spec, "--backend", "host", "--config", "FAULT"});
  CHECK(none.exit_code == 2);
  CHECK(cli.xtune({"validate", spec, "--backend", "host", "--all", "--limit", "2"}).exit_code == 2);
}

TEST_CASE("validate takes at most as many configurations as asked for") {
  const Cli cli;
  const CommandResult some =
      cli.xtune({"validate", cli.copy_spec("[1, 2, 3, 4, 5, 6]"), "--backend", "host", "--limit", "2"});
  CHECK(has(some.stdout_text, ": 2 of 2 valid\n"));
  CHECK(has(some.stderr_text, "2 of 6 configurations"));
}

TEST_CASE("an emulated AMD GPU executes kernels, and its faults are told in full") {
  if (!xtune::testing::can_emulate_gpus()) return;
  const Cli cli;
  const CommandResult done =
      cli.xtune({"validate", faulty_spec(cli), "--arch", "gfx942,gfx1100", "--compiler", "clang", "--format", "json"});
  CHECK(done.exit_code == 3);
  const json answers = parsed(done);
  REQUIRE(answers.size() == 2);
  for (const json& answer : answers) {
    const std::string arch = answer.at("device").at("arch");
    CHECK(answer.at("device").at("name") == "emulated " + arch.substr(0, arch.find('-')) + " (no hardware)");
    CHECK(row_of(answer, 0).at("outcome") == "ok");
    CHECK(row_of(answer, 1).at("outcome") == "wrong_result");
    CHECK(row_of(answer, 2).at("outcome") == "crashed");
    const std::string message = row_of(answer, 2).at("message");
    for (const char* part : {"kernel 'faulty', 'global_store_", " of its code",
                             ", workgroup 0,0,0, wave 0, lane 3: writes 4 ", "which is in no allocation",
                             xtune::testing::has_source_lines() ? " (faulty.cu:4), workgroup" : ", workgroup"})
      CHECK_MESSAGE(has(message, part), message);
  }
  CHECK(answers[0].at("device").at("arch") == "gfx942-emulated");
  CHECK(answers[1].at("device").at("arch") == "gfx1100-emulated");
}

TEST_CASE("an emulated GPU notes reads of shared memory that nothing has written, and fails those that matter") {
  if (!xtune::testing::can_emulate_gpus()) return;
  const Cli cli;
  cli.write("padded.cu",
            "extern \"C\" __global__ void padded(const float* x, float* y) {\n"
            "  __shared__ volatile float rows[4][33];\n"
            "  const int i = threadIdx.x;\n"
            "  for (int row = 0; row < 4; ++row) rows[row][i] = x[32 * row + i];\n"
            "  __syncthreads();\n"
            "  float sum = 0;\n"
            "  for (int row = 0; row < 4; ++row) {\n"
            "    const float next = rows[row][i + 1];\n"
            "    sum += rows[row][i] + (USES || i < 31 ? next : 0);\n"
            "  }\n"
            "  y[i] = sum;\n}\n");
  const std::string spec = cli.write(
      "padded.toml",
      "[kernel]\nname = \"padded\"\nsource = \"padded.cu\"\nentry = \"padded\"\n[space.params]\nUSES = [0, 1]\n"
      "[launch]\ngrid = [1]\nblock = [32]\n[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [4, 32]\n"
      "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [32]\nrole = \"out\"\n");
  const CommandResult done =
      cli.xtune({"validate", spec, "--arch", "gfx942", "--all", "--compiler", "clang", "--format", "json"});
  const json answer = parsed(done);
  const std::string fault = answer.at("configurations").at(1).value("message", "");
  CHECK(answer.at("configurations").at(0).at("outcome") == "ok");
  CHECK_MESSAGE(has(fault, "wave 0, lane 31: reads 4 bytes of LDS at "), fault);
  CHECK_MESSAGE(has(done.stderr_text, "which no lane has written; no result depends on it"), done.stderr_text);
  CHECK(done.stderr_text.find("no result depends") == done.stderr_text.rfind("no result depends"));
}

TEST_CASE("an emulated GPU notices the ways in which a kernel of the fault campaign fails") {
  if (!xtune::testing::can_emulate_gpus()) return;
  const Cli cli;
  // Without those that a time limit ends.
  const json answers = parsed(cli.xtune({"validate", std::string(XTUNE_SOURCE_DIR) + "/tests/faults/faults.toml",
                                         "--arch", xtune::testing::all_emulated, "--all", "-D", "N=1024", "--filter",
                                         "WORK == 1 and FAULT != 'compiler_crash' and FAULT != 'infinite_loop'",
                                         "--compiler", "clang", "--format", "json"}));
  const std::map<std::string, std::string> expected{{"none", "ok"},
                                                    {"compile_error", "compile_failed"},
                                                    {"illegal_address", "crashed"},
                                                    {"trap", "crashed"},
                                                    {"wrong_result", "wrong_result"},
                                                    {"nan_output", "wrong_result"},
                                                    {"out_of_bounds_write", "wrong_result"},
                                                    {"too_much_shared", "rejected"},
                                                    {"too_many_threads", "rejected"}};
  REQUIRE(answers.size() == 4);
  for (const json& answer : answers) {
    CAPTURE(answer.at("device").at("arch"));
    std::map<std::string, std::string> outcomes, messages;
    for (const json& row : answer.at("configurations")) {
      outcomes[row.at("config").at("FAULT")] = row.at("outcome");
      messages[row.at("config").at("FAULT")] = row.value("message", "");
    }
    CHECK(outcomes == expected);
    CHECK_MESSAGE(has(messages["trap"], "'s_trap 2' at offset "), messages["trap"]);
    CHECK_MESSAGE(has(messages["trap"], ": traps: "), messages["trap"]);
  }
}

TEST_CASE(
    "an emulated GPU says where a kernel was when its time ended, which assertion failed, and which array ended") {
  if (!xtune::testing::can_emulate_gpus()) return;
  const Cli cli;
  // The whole name of a target, as rocminfo and hipDeviceProp_t have it.
  const json answer = parsed(cli.xtune({"validate", lost_spec(cli), "--arch", "gfx942:sramecc+:xnack-", "--all",
                                        "--compiler", "clang", "--format", "json"}));
  CHECK(answer.at("device").at("arch") == "gfx942-emulated");
  const auto message = [&](int fault, const char* outcome) {
    const json row = row_of(answer, fault);
    CHECK(row.at("outcome") == outcome);
    return row.at("message").get<std::string>();
  };
  const std::string endless = message(1, "timed_out"), failed = message(2, "crashed"), outside = message(3, "crashed");
  CHECK_MESSAGE(has(endless, " s: kernel 'lost', '"), endless);
  CHECK_MESSAGE(has(endless, ", workgroup 0,0,0, wave 0"), endless);
  CHECK_MESSAGE(has(failed, "kernel 'lost', 's_trap 2' at offset "), failed);
  CHECK_MESSAGE(has(failed, "lane 3: fails an assertion: "), failed);
  CHECK_MESSAGE(has(failed, "lost.cu:6: "), failed);
  CHECK_MESSAGE(has(failed, "Device-side assertion `n + i < 67' failed."), failed);
  CHECK_MESSAGE(has(outside, "which is in no allocation: 399744 bytes after the end of argument 'y' (256 bytes)"),
                outside);
}

TEST_CASE("the names of architectures are checked before anything is done") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const auto complaint = [&](const std::string& archs) {
    const CommandResult done = cli.xtune({"validate", spec, "--arch", archs});
    CHECK(done.exit_code == 2);
    return done.stderr_text;
  };
  const std::string empty = complaint("gfx942,,gfx90a"), unknown = complaint("gfx90a,gfx942:foo"),
                    unsigned_one = complaint("gfx942:xnack"), none = complaint("gfx1100:xnack-");
  CHECK_MESSAGE(has(empty, "--arch: 'gfx942,,gfx90a' has an empty element"), empty);
  CHECK_MESSAGE(has(unknown, "'foo' is not a feature of gfx942"), unknown);
  CHECK_MESSAGE(has(unknown, "expected after each ':' one of sramecc+, sramecc-, xnack+, xnack-"), unknown);
  CHECK_MESSAGE(has(unsigned_one, "'xnack' is not a feature of gfx942"), unsigned_one);
  CHECK_MESSAGE(has(none, "'xnack-' is not a feature of gfx1100 (expected no ':'"), none);
}

TEST_CASE("an architecture whose reference does not compile costs itself, and each architecture is validated once") {
  if (!xtune::testing::can_emulate_gpus()) return;
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  cli.write("reference.cu",
            "#ifdef __gfx1100__\n#error not this one\n#endif\n"
            "extern \"C\" __global__ void reference(const float* x, float* y, int n) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i];\n}\n");
  std::string text = xtune::system::read_file(spec);
  const std::size_t at = text.find("reference");
  REQUIRE(at != std::string::npos);
  text.replace(
      at, text.find('\n', at) - at,
      "reference = { kernel = \"reference\", source = \"reference.cu\", grid = [\"ceildiv(N, 64)\"], block = [64] }");
  const std::string changed = cli.write("reference.toml", text);
  const CommandResult done =
      cli.xtune({"validate", changed, "--arch", "gfx1100,gfx942,gfx942", "--compiler", "clang", "--format", "json"});
  CHECK(done.exit_code == 2);
  const json answers = parsed(done);
  REQUIRE_MESSAGE(answers.size() == 2, done.stderr_text);
  CHECK(answers[0].at("device").at("arch") == "gfx942-emulated");
  CHECK(answers[0].at("counts") == json{{"ok", 1}});
  CHECK(answers[1].at("arch") == "gfx1100");
  const std::string message = answers[1].at("error").at("message");
  const std::size_t first = message.find("not this one");
  REQUIRE_MESSAGE(first != std::string::npos, message);
  CHECK_MESSAGE(message.find("error: not this one", first + 1) == std::string::npos, message);
}

TEST_CASE("an architecture that the emulator does not execute is named, with those that it does") {
  if (!xtune::testing::can_emulate_gpus()) return;
  Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const CommandResult older = cli.xtune({"validate", spec, "--arch", "gfx908", "--compiler", "clang"});
  CHECK(older.exit_code == 4);
  CHECK_MESSAGE(has(older.stderr_text, "the emulator does not execute gfx908; it executes gfx90a, "),
                older.stderr_text);
  CHECK_MESSAGE(!has(older.stderr_text, "XTUNE_"), older.stderr_text);
  cli.env.emplace_back("XTUNE_HIP_LIBRARY", xtune::testing::emulator_library());
  cli.env.emplace_back("XTUNE_EMULATED_ARCH", "gfx90a,,gfx1100");
  const CommandResult empty = cli.xtune({"devices", "--backend", "hip"});
  const std::string said = empty.stdout_text + empty.stderr_text;
  CHECK_MESSAGE(has(said, "XTUNE_EMULATED_ARCH='gfx90a,,gfx1100' has an empty element"), said);
  cli.env.back().second = "gfx90a, gfx1100";
  const CommandResult both = cli.xtune({"devices", "--backend", "hip"});
  CHECK_MESSAGE(has(both.stdout_text, "gfx90a-emulated"), both.stderr_text);
  CHECK_MESSAGE(has(both.stdout_text, "gfx1100-emulated"), both.stderr_text);
}

TEST_CASE("--sanitize is refused where it has no effect") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  if (xtune::testing::can_emulate_gpus()) {
    const CommandResult emulated =
        cli.xtune({"validate", spec, "--arch", "gfx942", "--sanitize", "--compiler", "clang"});
    CHECK(emulated.exit_code != 0);
    CHECK_MESSAGE(has(emulated.stderr_text, "--sanitize: emulated gfx942 (no hardware): the emulator always reports "),
                  emulated.stderr_text);
  }
  const CommandResult compiled = cli.xtune({"compile", spec, "--arch", "sm_90", "--sanitize"});
  CHECK(compiled.exit_code != 0);
  // Where no compiler for it is installed, that is the error.
  if (!has(compiled.stderr_text, "no usable compiler"))
    CHECK_MESSAGE(has(compiled.stderr_text, "--sanitize works with --backend host"), compiled.stderr_text);
}

TEST_CASE("results of an emulated GPU never answer for a real one") {
  if (!xtune::testing::can_emulate_gpus()) return;
  Cli cli;
  cli.env.emplace_back("XTUNE_HIP_LIBRARY", xtune::testing::emulator_library());
  cli.env.emplace_back("XTUNE_EMULATED_ARCH", "gfx942");
  const std::string spec = cli.copy_spec();
  const CommandResult devices = cli.xtune({"devices", "--backend", "hip"});
  CHECK(has(devices.stdout_text, "gfx942-emulated"));
  CHECK(has(devices.stdout_text, "times are simulated"));
  const CommandResult run = cli.xtune({"run", spec, "--backend", "hip", "--compiler", "clang"});
  CHECK_MESSAGE(run.exit_code == 0, run.stderr_text);
  CHECK(has(run.stdout_text, "emulated: times are simulated from counts of instructions and bytes"));
  CHECK(cli.stored_records() >= 3);
  for (const json& record : cli.records()) CHECK(record.at("device").at("arch") == "gfx942-emulated");
  const CommandResult clocks = cli.xtune({"run", spec, "--backend", "hip", "--compiler", "clang", "--lock-clocks"});
  CHECK(clocks.exit_code != 0);
  CHECK_MESSAGE(has(clocks.stderr_text, "--lock-clocks: emulated gfx942 (no hardware): times are simulated"),
                clocks.stderr_text);
  const CommandResult again = cli.xtune({"best", spec, "--backend", "hip", "--compiler", "clang"});
  CHECK(has(again.stdout_text, "exact: "));
  CHECK(has(again.stdout_text, "emulated: times are simulated"));
  cli.env.resize(cli.env.size() - 2);
  const CommandResult real = cli.xtune({"best", spec, "--arch", "gfx942", "--backend", "hip", "--compiler", "clang"});
  CHECK_MESSAGE(has(real.stdout_text, "none: nothing stored for this problem"), real.stdout_text);
}

TEST_CASE("an emulator that is not there is named, with what to do") {
  Cli cli;
  cli.env.emplace_back("XTUNE_HIP_LIBRARY", cli.path("libxtune_amdhip64.so"));
  const CommandResult done = cli.xtune({"validate", cli.copy_spec(), "--arch", "gfx942"});
  CHECK(done.exit_code == 4);
  CHECK_MESSAGE(has(done.stderr_text, "XTUNE_HIP_LIBRARY=" + cli.path("libxtune_amdhip64.so")), done.stderr_text);
}

TEST_CASE("an LLVM that does not know an architecture is refused, with what to install") {
  if (xtune::testing::emulator_library().empty()) return;
  Cli cli;
  cli.env.emplace_back("XTUNE_HIP_LIBRARY", xtune::testing::emulator_library());
  cli.env.emplace_back("XTUNE_LLVM_LIBRARY", XTUNE_FAKE_LLVM);
  const auto reason = [&](const std::string& arch) {
    const CommandResult done = cli.xtune({"validate", cli.copy_spec(), "--arch", arch});
    CHECK(done.exit_code == 4);
    return done.stderr_text;
  };
  const std::string fake = std::string("LLVM 12.3.4 (") + XTUNE_FAKE_LLVM + ")";
  const std::string newer = reason("gfx1201"), removed = reason("gfx940");
  CHECK_MESSAGE(has(newer, fake + " cannot decode the instructions of gfx1201"), newer);
  CHECK_MESSAGE(has(newer, "Install LLVM 18 to 22 (Debian: libllvm19)"), newer);
  CHECK_MESSAGE(has(removed, fake + " cannot decode the instructions of gfx940"), removed);
  CHECK_MESSAGE(has(removed, "Install LLVM 17 to 19 (Debian: libllvm19)"), removed);
  cli.set("XTUNE_LLVM_LIBRARY", cli.path("libLLVM.so"));
  CHECK_MESSAGE(has(reason("gfx942"), "XTUNE_LLVM_LIBRARY=" + cli.path("libLLVM.so")), "the name is in the message");
  // Debian 12's, where HIP's compiler is installed.
  if (void* const old = dlopen("libLLVM-15.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(old);
    cli.set("XTUNE_LLVM_LIBRARY", "libLLVM-15.so.1");
    const std::string real = reason("gfx942");
    CHECK_MESSAGE(has(real, "the LLVM in libLLVM-15.so.1 cannot decode the instructions of gfx942"), real);
    const CommandResult known = cli.xtune({"validate", cli.copy_spec(), "--arch", "gfx90a"});
    CHECK_MESSAGE(!has(known.stderr_text, "cannot decode"), known.stderr_text);
  } else {
    MESSAGE("skipped: LLVM 15 is not installed [apt: libllvm15]");
  }
}

TEST_CASE("run records whether outputs repeat, and shows outliers' count beside it") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  std::string text = xtune::system::read_file(spec);
  text.insert(text.find("[validate]") + 10, "\nrepeatable = \"record\"");
  const std::string recorded = cli.write("recorded.toml", text);
  const json answer =
      parsed(cli.xtune({"run", recorded, "--backend", "host", "--format", "json", "--quiet", "--evals", "2"}));
  CHECK(answer.at("best").at("repeatable") == true);
  const json best = parsed(cli.xtune({"best", recorded, "--backend", "host", "--format", "json"}));
  CHECK(best.dump().find("\"repeatable\":true") != std::string::npos);
}

TEST_CASE("a goal that stored results lack is measured for them again") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const auto measured = [&](const std::string& path) {
    return parsed(cli.xtune({"run", path, "--backend", "host", "--format", "json", "--quiet", "--evals", "2"}));
  };
  CHECK_FALSE(measured(spec).at("best").contains("repeatable"));
  const std::string goal =
      cli.write("goal.toml",
                xtune::system::read_file(spec) + "\n[objective]\nminimize = \"time_ms\"\nmaximize = \"repeatable\"\n");
  for (int i = 0; i < 2; ++i) {  // then the new results answer
    const json answer = measured(goal);
    CHECK(answer.at("best").at("repeatable") == true);
    CHECK(answer.at("from_store").get<int>() == (i == 0 ? 0 : 2));
  }
}

TEST_CASE("clocks and graphs of a CPU are refused, with what to do") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const CommandResult clocks = cli.xtune({"run", spec, "--backend", "host", "--lock-clocks"});
  CHECK(clocks.exit_code != 0);
  CHECK(has(clocks.stderr_text, "only the clocks of GPUs can be fixed, and the backend is host"));
  const CommandResult wrong = cli.xtune({"run", spec, "--backend", "host", "--lock-clocks=fast"});
  CHECK(wrong.exit_code == 2);
  CHECK(has(wrong.stderr_text, "is not a clock in MHz"));
  const std::string in_graph = cli.copy_spec("[1, 2, 3]", "[measure]\nlaunch = \"graph\"\n");
  const CommandResult graph = cli.xtune({"run", in_graph, "--backend", "host"});
  CHECK(graph.exit_code != 0);
  CHECK(has(graph.stderr_text, "[measure] launch = \"graph\": only the cuda and hip backends launch graphs"));
}
