// Tests of the command line itself: help, bad arguments, bad specs, and the commands that measure nothing.
#include <doctest/doctest.h>

#include <set>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

TEST_CASE("Every command has help with an example") {
  const Cli cli;
  const CommandResult help = cli.xtune({"--help"});
  CHECK(help.exit_code == 0);
  for (const char* command : {"run", "check", "space", "devices", "compile", "best", "why", "help"}) {
    CAPTURE(command);
    CHECK(has(help.stdout_text, command));
    const CommandResult one = cli.xtune({command, "--help"});
    CHECK(one.exit_code == 0);
    CHECK(has(one.stdout_text, "Example"));
    CHECK(has(one.stdout_text, std::string("xtune ") + command));
    if (std::string(command) != "help") CHECK(has(one.stdout_text, "--format text|json"));
  }
  for (const char* command : {"run", "best", "why", "cover"})
    for (const char* option : {"--backend", "--arch", "--device", "-D", "--filter", "--store"})
      CHECK_MESSAGE(has(cli.xtune({command, "--help"}).stdout_text, option), option);
  CHECK(has(cli.xtune({"--version"}).stdout_text, "xtune "));
}

TEST_CASE("Bad arguments exit with 2 and a message") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const std::vector<std::vector<std::string>> bad = {{},
                                                     {"runn"},
                                                     {"run"},
                                                     {"run", spec, "--no-such-option"},
                                                     {"run", spec, "--format", "yaml"},
                                                     {"run", spec, "--evals", "0"},
                                                     {"run", spec, "--evals", "many"},
                                                     {"run", spec, "--backend", "cudda"},
                                                     {"run", spec, "--backend", "host", "--device", "99"},
                                                     {"run", spec, "--backend", "host", "--device", "-1"},
                                                     {"run", spec, "--backend", "host", "--device", "0,0"},
                                                     {"run", spec, "--backend", "host", "--device", "0,1"},
                                                     {"run", spec, "--backend", "host", "--device", "0,"},
                                                     {"run", spec, "--backend", "host", "--device", "first"},
                                                     {"run", spec, "--backend", "host", "--device", ""},
                                                     {"run", spec, "--backend", "host", "--strategy", "lucky"},
                                                     {"run", spec, "--backend", "host", "-D", "N"},
                                                     {"run", spec, "--backend", "host", "-D", "=4"},
                                                     {"run", spec, "--backend", "host", "-D", "M=4"},
                                                     {"run", spec, "--backend", "host", "-D", "N=abc"},
                                                     {"run", spec, "--backend", "host", "--arch", "sm_90"},
                                                     {"space", spec, "--backend", "host", "--arch", "sm_99999"}};
  for (const auto& arguments : bad) {
    std::string line;
    for (const std::string& argument : arguments) line += argument + " ";
    CAPTURE(line);
    const CommandResult result = cli.xtune(arguments);
    CAPTURE(result.stderr_text);
    CHECK(result.exit_code == 2);
    CHECK(result.stdout_text.empty());
    CHECK_FALSE(result.stderr_text.empty());
  }
  CHECK(has(cli.xtune({"run", spec, "--backend", "cudda"}).stderr_text, "cuda"));
}

TEST_CASE("A word that is wrong is named, with the word that was meant") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const auto expect = [&](const std::vector<std::string>& words, const std::string& message) {
    const CommandResult result = cli.xtune(words);
    CAPTURE(result.stderr_text);
    CHECK(result.exit_code == 2);
    CHECK(result.stdout_text.empty());
    CHECK_MESSAGE(result.stderr_text.starts_with("xtune: " + message), message);
  };
  expect({"rnu"}, "unknown command 'rnu' (did you mean 'run'?); the commands are run, check");
  expect({"rnu", spec, "--evals", "5"}, "unknown command 'rnu' (did you mean 'run'?)");
  expect({"versio"}, "unknown command 'versio' (did you mean 'version'?)");
  expect({"store", "lss"}, "unknown command 'lss' of `xtune store` (did you mean 'ls'?); the commands are ls, verify");
  expect({"import", "ktuner", "x"}, "unknown command 'ktuner' of `xtune import`");
  expect({"run", spec, "--eval", "5"}, "unknown option '--eval' (did you mean '--evals'?)");
  expect({"run", "--stor=x"}, "unknown option '--stor' (did you mean '--store'?)");
  expect({"-v"}, "unknown option '-v' (did you mean '-");
  expect({"best"}, "SPEC is missing");
  expect({"store", "bundle"}, "--output FILE is missing");
  expect({"run", spec, "--evals"}, "--evals: the value N is missing");
  expect({"run", spec, "--evals", "5", "--evals", "6"}, "--evals: found 2 times, expected once");
  expect({"validate", spec, "--all", "--limit", "3"}, "--limit: not together with --all");
  expect({"devices", "here"}, "unexpected argument 'here'");
  expect({"run", spec, "--format", "jsno"}, "--format: 'jsno' is not one of text, json, csv (did you mean 'json'?)");
  expect({"compile", spec, "--backend", "host", "--arch", "h100"},
         "unknown architecture 'h100' (did you mean 'sm_90a', the architecture of NVIDIA H100 SXM?)");
  expect({"validate", spec, "--arch", "gfx999"}, "unknown architecture 'gfx999'");
  expect({"validate", spec, "--arch", ""}, "--arch: is empty");
  expect({"candidates", "--template", "matmul", "--arch", "mi300"},
         "--arch 'mi300' is unknown (did you mean 'gfx942', the architecture of AMD Instinct MI300");
  expect({"run", spec, "--backend", "hosst"}, "unknown backend 'hosst' (did you mean 'host'?)");
  expect({"run", spec, "--backend", "host", "--strategy", "bayes"},
         "--strategy: unknown strategy 'bayes' (did you mean 'bayesian'?)");
  expect({"run", spec, "--transfer", "none"}, "--transfer: 'none' is not one of auto, off");
  const std::string strategy = "[search]\nstrategy = \"";
  for (const auto& [other, own] : {std::pair("bayes", "bayesian"), {"grid", "exhaustive"}})
    CHECK(has(cli.xtune({"check", cli.copy_spec("[1]", strategy + other + "\"\n")}).stderr_text,
              std::string("unknown strategy '") + other + "' (did you mean '" + own + "'?)"));

  const CommandResult as_json = cli.xtune({"rnu", "--format", "json"});
  CHECK(as_json.exit_code == 2);
  CHECK(has(parsed(as_json)["error"]["message"], "unknown command 'rnu'"));
}

TEST_CASE("help and version in every usual spelling") {
  const Cli cli;
  const CommandResult nothing = cli.xtune({});
  CHECK(nothing.exit_code == 2);
  CHECK(has(nothing.stderr_text, "Usage: xtune"));
  CHECK(has(cli.xtune({"store"}).stderr_text, "verify"));
  const std::string help = cli.xtune({"--help"}).stdout_text;
  for (const auto& [words, same] : std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>{
           {{"help"}, {"--help"}},
           {{"help", "run"}, {"run", "--help"}},
           {{"help", "store", "ls"}, {"store", "ls", "--help"}},
           {{"version"}, {"--version"}},
           {{"-V"}, {"--version"}}}) {
    const CommandResult one = cli.xtune(words), other = cli.xtune(same);
    CHECK(one.exit_code == 0);
    CHECK(one.stdout_text != "");
    CHECK(one.stdout_text == other.stdout_text);
  }
  CHECK(cli.xtune({"help", "rnu"}).exit_code == 2);
}

TEST_CASE("A problem beyond what the cost model counts is sound") {
  const Cli cli;
  const std::string spec = cli.write("huge.toml",
                                     "[kernel]\nname = \"k\"\n[problem]\nM = 64\nN = 9223372036854775807\nK = 64\n"
                                     "[space.params]\nB = [16, 32]\n[candidates]\ntemplate = \"matmul\"\n"
                                     "[candidates.map]\nblock_m = \"B\"\nblock_n = \"B\"\nblock_k = \"B\"\n");
  const CommandResult check = cli.xtune({"check", spec});
  CAPTURE(check.stderr_text);
  CHECK(check.exit_code == 0);
  CHECK(has(check.stderr_text, "note: " + spec + ":10:12: "));
  CHECK(has(check.stderr_text, "the field n (columns of C) is 9.22337e+18"));
}

TEST_CASE("Bad specs exit with 2 and name file, line and column, before anything compiles") {
  const Cli cli;
  const std::string good = read_file(cli.copy_spec());
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(has(text, from));
    return text.replace(text.find(from), from.size(), to);
  };
  const auto line_of = [](const std::string& text, const std::string& part) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(part));
    return std::count(text.begin(), end, '\n') + 1;
  };
  struct Bad {
    std::string text, where, what;
  };
  const std::vector<Bad> specs = {
      {replaced("entry =", "entri ="), "entri", "entry"},
      {replaced("[launch]", "[lunch]"), "[lunch]", "launch"},
      {replaced("rep = 7", "rep = \"seven\""), "rep =", "rep"},
      {replaced("ceildiv(N,", "ceildiv(NN,"), "NN", "NN"},
      {replaced("[1, 2, 3]", "[]"), "VARIANT", "VARIANT"},
      {replaced("name = \"y\"", "name = \"x\""), "[[args]]", "x"},
      {replaced("copy.cu", "missing.cu"), "missing.cu", "missing.cu"},
      {replaced("dtype = \"f32\"", "dtype = \"f31\""), "f31", "f32"},
      {good + "[space]\nconstraints = [\"N // (VARIANT - VARIANT) > 1\"]\n", "", "zero"},
      {good + "= 5555", "= 5555", ""},
      {good + "[search]\nstrategy = \"exhaustve\"\n", "exhaustve", "did you mean 'exhaustive'"},
      {replaced("\"transpose\", x", "\"transpos\", x"), "transpos\", x", "did you mean 'transpose'"},
      {replaced("x = \"x\" }", "w = \"x\" }"), "w = ", "has no 'w'"},
      {replaced("x = \"x\" }", "x = \"2\" }"), "x = \"2\"", "takes a buffer argument, not '2'"},
      {replaced(", x = \"x\" }", " }"), "builtin =", "needs x"},
      {replaced("\"transpose\", x", "\"reduction\", op = \"sun\", x"), "sun", "no op 'sun' (did you mean 'sum'?)"},
      {good + "[space]\nconstraints = [\"VARIANT // 0 <= 256\"]\n", "VARIANT // 0", "zero"},
      {good + "[space]\nconstraints = [\"VARIANT <= 'a'\"]\n", "VARIANT <= 'a'", "string"},
      {good + "[space]\nconstraints = [\"2 ** 100 > VARIANT\"]\n", "2 ** 100", "does not fit a 64-bit integer"},
      {replaced("VARIANT = { values", "int = { values = [1] }\nVARIANT = { values"), "int = ", "a word of C++"},
  };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string name = "bad" + std::to_string(i) + ".toml";
    const std::string path = cli.write(name, specs[i].text);
    for (const char* command : {"check", "run"}) {
      const CommandResult result = cli.xtune({command, path, "--backend", "host"});
      CAPTURE(specs[i].where);
      CAPTURE(result.stderr_text);
      CHECK(result.exit_code == 2);
      CHECK(has(result.stderr_text, name + ":"));
      CHECK(has(result.stderr_text, specs[i].what));
      if (!specs[i].where.empty() && specs[i].where != "[[args]]")
        CHECK(has(result.stderr_text, name + ":" + std::to_string(line_of(specs[i].text, specs[i].where)) + ":"));
    }
  }
  CHECK_FALSE(fs::exists(cli.path("cache") + "/artifacts"));
}

TEST_CASE("Files that are not specs exit with 2") {
  const Cli cli;
  std::string garbage;
  for (int i = 0; i < 4096; ++i) garbage += static_cast<char>((i * 2654435761u) >> 13);
  const std::string huge = cli.write("huge.toml", "# ");
  fs::resize_file(huge, std::uintmax_t{100} << 20);
  for (const std::string& path : {cli.write("garbage.toml", garbage), cli.write("zeros.toml", std::string(64, '\0')),
                                  cli.write("empty.toml", ""), cli.path("missing.toml"), cli.path("tmp"), huge}) {
    CAPTURE(path);
    for (const char* command : {"check", "run", "space"}) {
      const CommandResult result = cli.xtune({command, path, "--backend", "host"});
      CAPTURE(result.stderr_text);
      CHECK(result.exit_code == 2);
      CHECK(has(result.stderr_text, fs::path(path).filename().string()));
    }
  }
}

TEST_CASE("Constraints that nothing meets are counted, with exit code 3") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 3]", "[space]\nconstraints = [\"VARIANT > 5\", \"VARIANT != 2\"]\n");
  const CommandResult result = cli.run(spec);
  CHECK(result.exit_code == 3);
  CHECK(has(result.stderr_text, "VARIANT > 5"));
  CHECK(has(result.stderr_text, "3"));
  // Told before any compiler is asked for.
  const CommandResult check = cli.xtune({"check", spec});
  CHECK(check.exit_code == 3);
  CHECK(has(check.stderr_text, "\"VARIANT > 5\" removes 3 of 3: all"));
}

TEST_CASE("check constructs the space for every case, with a device's facts where constraints ask for them") {
  const Cli cli;
  const std::string cases = cli.copy_spec(
      "[1, 2, 3]", "[space]\nconstraints = [\"N % VARIANT == 0\"]\n[[cases]]\nN = 4096\n[[cases]]\nN = 6\n");
  const json spaces = parsed(cli.xtune({"check", cases, "--format", "json"}))["spaces"];
  REQUIRE(spaces.size() == 2);
  CHECK(spaces[0]["valid"] == 2);
  CHECK(spaces[1]["valid"] == 3);
  CHECK(spaces[1]["problem"] == json{{"N", 6}});
  const std::string facts =
      cli.copy_spec("[1, 2, 3]", "[space]\nconstraints = [\"32 * VARIANT == device.warp_size\"]\n");
  const json hip = parsed(cli.xtune({"check", facts, "--format", "json", "--arch", "gfx90a"}))["spaces"];
  REQUIRE(hip.size() == 1);
  CHECK(hip[0]["backend"] == "hip");
  CHECK(hip[0]["valid"] == 1);
  const std::string never = cli.copy_spec("[1, 2, 3]", "[space]\nconstraints = [\"VARIANT > 7 * device.warp_size\"]\n");
  CHECK(cli.xtune({"check", never, "--arch", "sm_90"}).exit_code == 3);
  // An overlay's own space counts, too.
  const std::string overlay = cli.copy_spec(
      "[1, 2, 3]", "[space]\nconstraints = [\"VARIANT < 4\"]\n[on.hip.space]\nconstraints = [\"VARIANT > 4\"]\n");
  CHECK(cli.xtune({"check", overlay}).exit_code == 3);
  CHECK(cli.xtune({"check", overlay, "--backend", "cuda"}).exit_code == 0);
}

TEST_CASE("check compares the file of a reference with its output, and warns of what a reference lacks") {
  const Cli cli;
  cli.copy_spec();
  const std::string text = read_file(cli.path("copy.toml")), builtin = "{ builtin = \"transpose\", x = \"x\" }";
  const auto check = [&](const std::string& reference) {
    std::string changed = text;
    changed.replace(changed.find(builtin), builtin.size(), reference);
    return cli.xtune({"check", cli.write("changed.toml", changed)});
  };
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 2), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  cli.write("y.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(4096 * 2 * 4, '\0'));
  const CommandResult file = check("{ file = \"y.npy\" }");
  CHECK(file.exit_code == 2);
  CHECK(has(file.stderr_text, "changed.toml:27:13: "));
  CHECK(has(file.stderr_text, "y.npy holds f32[4096, 2], but argument 'y' is f32[4096, 1]"));
  const CommandResult command = check("{ command = \"xtune-no-such-program\" }");
  CHECK(command.exit_code == 0);
  CHECK(has(command.stderr_text, "the reference command's program 'xtune-no-such-program' is not in PATH"));
  const CommandResult kernel = check("{ kernel = \"copi\" }");
  CHECK(kernel.exit_code == 2);
  CHECK(has(kernel.stderr_text, "the source has no kernel 'copi' (did you mean 'copy'?); it has copy"));
}

TEST_CASE("With --format json an error is JSON on standard output, with its kind and place") {
  const Cli cli;
  const std::string bad = cli.write("bad.toml", "[kernel]\nname = 5\n");
  for (const char* command : {"check", "run", "space", "compile", "best", "why"}) {
    CAPTURE(command);
    const CommandResult result = cli.xtune({command, bad, "--backend", "host", "--format", "json"});
    CHECK(result.exit_code == 2);
    CHECK(has(result.stderr_text, "bad.toml:2:8: "));
    const json answer = parsed(result);
    CHECK(answer["error"]["kind"] == "invalid_spec");
    CHECK(answer["error"]["file"] == bad);
    CHECK(answer["error"]["line"] == 2);
    CHECK(answer["error"]["column"] == 8);
    CHECK(has(answer["error"]["message"], "kernel.name: expected a string"));
    CHECK(answer.contains("valid") == (std::string(command) == "check"));
  }
  const json checked = parsed(cli.xtune({"check", bad, "--format=json"}));
  CHECK(checked["valid"] == false);
  const CommandResult arguments = cli.xtune({"run", bad, "--format", "json", "--no-such-option"});
  CHECK(arguments.exit_code == 2);
  CHECK(parsed(arguments)["error"]["kind"] == "invalid_argument");
  CHECK(parsed(arguments)["error"]["line"].is_null());
  const std::string empty = cli.copy_spec("[1]", "[space]\nconstraints = [\"VARIANT > 5\"]\n");
  const CommandResult nothing = cli.xtune({"run", empty, "--backend", "host", "--format", "json"});
  CHECK(nothing.exit_code == 3);
  CHECK(parsed(nothing)["error"]["kind"] == "nothing_valid");
}

TEST_CASE("A path that is not UTF-8 does not break JSON") {
  const Cli cli;
  fs::create_directories(
      cli.path("b\xff"
               "d"));
  const std::string spec = cli.copy_spec();
  for (const char* name : {"copy.toml", "copy.cu"})
    fs::copy_file(cli.path(name), cli.path("b\xff"
                                           "d") +
                                      "/" + name);
  const CommandResult good = cli.xtune({"check",
                                        cli.path("b\xff"
                                                 "d/copy.toml"),
                                        "--format", "json"});
  CAPTURE(good.stderr_text);
  CHECK(good.exit_code == 0);
  CHECK(has(parsed(good)["spec"], "d/copy.toml"));
  const CommandResult missing = cli.xtune({"check",
                                           cli.path("b\xff"
                                                    "d/none.toml"),
                                           "--format", "json"});
  CHECK(missing.exit_code == 2);
  CHECK(parsed(missing)["error"]["kind"] == "invalid_argument");
}

TEST_CASE("Numbers that mean nothing are refused in few words") {
  Cli cli;
  const std::string spec = cli.copy_spec();
  const std::vector<std::vector<std::string>> bad = {
      {"run", "--evals", "0"},    {"run", "--evals", "-1"},    {"run", "--seconds", "0"}, {"run", "--seconds", "nan"},
      {"run", "--seconds", "-1"}, {"run", "--seconds", "inf"}, {"run", "--top", "-1"},    {"run", "--seed", "-1"},
      {"space", "--rows", "-1"},  {"space", "--seed", "x"}};
  for (const auto& words : bad) {
    const CommandResult result = cli.xtune({words[0], spec, "--backend", "host", words[1], words[2]});
    CAPTURE(words[1]);
    CAPTURE(words[2]);
    CAPTURE(result.stderr_text);
    CHECK(result.exit_code == 2);
    CHECK(has(result.stderr_text, words[1] + ": expected "));
    CHECK(has(result.stderr_text, "got '" + words[2] + "'"));
    CHECK(result.stderr_text.size() < 300);
  }
  for (const char* command : {"run", "compile", "validate"}) {
    const CommandResult jobs = cli.xtune({command, spec, "--backend", "host", "--jobs", "0.9:"});
    CHECK(jobs.exit_code == 2);
    CHECK(has(jobs.stderr_text, "--jobs='0.9:' is not a number of compilers"));
    CHECK(has(cli.xtune({command, spec, "--jobs", ""}).stderr_text, "--jobs: the value is empty"));
    CHECK(cli.xtune({command, spec, "--backend", "host", "--jobs", "1.0:2"}).exit_code == 0);
  }
  cli.set("XTUNE_DISABLE_CACHE", "maybe");
  const CommandResult maybe = cli.run(spec, {"--evals", "1"});
  CHECK(maybe.exit_code == 2);
  CHECK(has(maybe.stderr_text, "XTUNE_DISABLE_CACHE='maybe'"));
}

TEST_CASE("space prints each configuration once, however many are asked for") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const json space = parsed(
      cli.xtune({"space", spec, "--backend", "host", "--format", "json", "--samples", "99999999999", "--seed", "3"}));
  REQUIRE(space["samples"].size() == 3);
  CHECK(space["samples"][0] != space["samples"][1]);
  CHECK(space["samples"][0] != space["samples"][2]);
  CHECK(space["samples"][1] != space["samples"][2]);
  const std::string large =
      cli.write("large.toml",
                "[kernel]\nname = \"s\"\n[space.params]\nA = { min = 1, max = 9999 }\nB = { min = 1, max = 9999 }\n");
  CHECK(cli.xtune({"space", large, "--backend", "host", "--samples", "99999999999"}).exit_code == 2);
}

TEST_CASE("A store that is not there, and a log that cannot be written, are named") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  for (const char* command : {"best", "why"}) {
    const CommandResult result = cli.xtune({command, spec, "--backend", "host", "--store", cli.path("no-store")});
    CHECK(has(result.stderr_text, "the store " + cli.path("no-store") + " does not exist"));
  }
  const CommandResult log = cli.run(spec, {"--log", cli.path("no-folder/log.txt")});
  CHECK(log.exit_code == 2);
  CHECK(has(log.stderr_text, "no-folder/log.txt"));
}

TEST_CASE("check, space and devices print their facts") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 3]", "[space]\nconstraints = [\"VARIANT != 2\"]\n");
  const json check = parsed(cli.xtune({"check", spec, "--format", "json"}));
  CHECK(check["valid"] == true);
  CHECK(check["parameters"] == 1);
  const json space =
      parsed(cli.xtune({"space", spec, "--backend", "host", "--format", "json", "--samples", "4", "--constraints"}));
  CHECK(space["cartesian"] == 3);
  CHECK(space["valid"] == 2);
  CHECK(space["construct_ms"] >= 0);
  CHECK(space["samples"].size() == 2);  // there are only two
  CHECK(space["constraints"][0]["removed"] == 1);
  const json devices = parsed(cli.xtune({"devices", "--backend", "host", "--format", "json"}));
  REQUIRE(devices["backends"].size() == 1);
  CHECK(devices["backends"][0]["devices"].size() == 1);
  CHECK_FALSE(devices["backends"][0]["toolchain"].get<std::string>().empty());
  for (const char* config :
       {"attention_decode", "attention_hopper", "attention_hopper_variable", "chunk_delta_h", "gated_delta", "gemm",
        "gemm_f16", "gemv", "layernorm", "reduce_axis", "reduction", "rmsnorm", "softmax", "transpose"}) {
    CAPTURE(config);
    const CommandResult shipped =
        cli.xtune({"check", std::string(XTUNE_SOURCE_DIR "/configs/") + config + ".toml", "--format", "json"});
    CAPTURE(shipped.stderr_text);
    CHECK(shipped.exit_code == 0);
  }
}

TEST_CASE("A space-only spec has a space, and nothing to run") {
  const Cli cli;
  const std::string spec =
      cli.write("space.toml", "[kernel]\nname = \"s\"\n[space.params]\nA = { min = 1, max = 1000 }\nB = [1, 2]\n");
  const json space = parsed(cli.xtune({"space", spec, "--backend", "host", "--format", "json"}));
  CHECK(space["valid"] == 2000);
  CHECK(cli.run(spec).exit_code == 2);
}

TEST_CASE("The probe's result is cached; devices probes again") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  REQUIRE(cli.xtune({"space", spec, "--backend", "host"}).exit_code == 0);
  std::string memory;
  for (const auto& file : fs::directory_iterator(cli.path("cache") + "/inventory"))
    if (file.path().extension() == ".json") memory = file.path().string();
  REQUIRE_FALSE(memory.empty());
  json state = json::parse(read_file(memory));
  const std::string name = state["devices"][0]["name"];
  state["devices"][0]["name"] = "A remembered device";
  write_file_atomically(memory, state.dump());
  // Not even a process is needed to answer from memory.
  const CommandResult stored = cli.command({XTUNE_WITHOUT_CHILDREN, XTUNE_PROGRAM, "space", spec, "--backend", "host"});
  CHECK(stored.exit_code == 0);
  const CommandResult run = cli.run(spec, {"--evals", "1"});
  CHECK(has(run.stderr_text, "A remembered device"));
  const json fresh = parsed(cli.xtune({"devices", "--backend", "host", "--format", "json"}));
  CHECK(fresh["backends"][0]["devices"][0]["name"] == name);
  CHECK(json::parse(read_file(memory))["devices"][0]["name"] == name);
  // Damage does no harm.
  write_file_atomically(memory, "{\"name\": 1");
  CHECK(cli.xtune({"space", spec, "--backend", "host"}).exit_code == 0);
  CHECK(json::parse(read_file(memory))["devices"][0]["name"] == name);
}

TEST_CASE("A backend without a device says why and exits with 4, unless there is one") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  for (const char* backend : {"cuda", "hip"}) {
    CAPTURE(backend);
    const CommandResult devices = cli.xtune({"devices", "--backend", backend, "--format", "json"});
    const json found = parsed(devices);
    if (found.contains("error")) {  // not part of this build
      CHECK(devices.exit_code == 4);
      CHECK(found["error"]["kind"] == "unsupported");
      continue;
    }
    if (!found["backends"][0]["devices"].empty()) continue;
    CHECK(devices.exit_code == 4);
    CHECK_FALSE(found["backends"][0]["device_reason"].get<std::string>().empty());
    const CommandResult run = cli.xtune({"run", spec, "--backend", backend});
    CHECK(run.exit_code == 4);
    CHECK(has(run.stderr_text, backend));
  }
}

TEST_CASE("devices -v lists where each library was searched, and the one that was taken") {
  Cli cli;
  cli.env.emplace_back("ROCM_PATH", cli.path("rocm"));
  cli.env.emplace_back("XTUNE_HIP_LIBRARY", "");
  fs::create_directories(cli.path("rocm/lib"));
  cli.write("rocm/lib/libamdhip64.so.8", "no library");
  for (const char* backend : {"cuda", "hip"}) {
    CAPTURE(backend);
    const json brief = parsed(cli.xtune({"devices", "--backend", backend, "--format", "json"}));
    if (brief.contains("error")) continue;  // not part of this build
    CHECK_FALSE(brief["backends"][0].contains("searches"));
    const json state = parsed(cli.xtune({"devices", "-v", "--backend", backend, "--format", "json"}))["backends"][0];
    const std::string text = cli.xtune({"devices", "-v", "--backend", backend}).stdout_text;
    const std::string library = backend == std::string("cuda") ? "libnvrtc.so" : "libamdhip64.so";
    bool listed = false;
    for (const json& search : state["searches"]) {
      listed = listed || search["what"] == library;
      const std::string taken = search["taken"];
      CHECK(has(text, std::string(backend) + ": " + search["what"].get<std::string>() + ": " +
                          (taken.empty() ? "not found" : taken)));
      if (!taken.empty()) CHECK(fs::exists(taken));
      for (const json& place : search["searched"]) CHECK(has(text, place["path"].get<std::string>()));
    }
    CHECK(listed);
    if (library == "libamdhip64.so") CHECK(has(text, "  refused " + cli.path("rocm/lib/libamdhip64.so.8") + ": "));
  }
}

TEST_CASE("A library that appears where one is searched makes the next command probe again") {
  Cli cli;
  cli.env.emplace_back("VIRTUAL_ENV", cli.path("venv"));
  cli.env.emplace_back("ROCM_PATH", cli.path("rocm"));
  const std::string spec = cli.copy_spec();
  std::set<std::string> known;
  const auto is_probed = [&] {
    CHECK(cli.xtune({"space", spec, "--backend", "host"}).exit_code == 0);
    bool appeared = false;
    for (const auto& file : fs::directory_iterator(cli.path("cache") + "/inventory"))
      appeared = known.insert(file.path().filename().string()).second || appeared;
    return appeared;
  };
  CHECK(is_probed());
  CHECK_FALSE(is_probed());
  for (const char* library : {"venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                              "venv/lib/python3.12/site-packages/_rocm_sdk_core/lib/libamdhip64.so.8",
                              "rocm/lib/libhiprtc.so.7", "rocm/lib/libamd_comgr.so.3"}) {
    CAPTURE(library);
    fs::create_directories(fs::path(cli.path(library)).parent_path());
    cli.write(library, "no library");
    CHECK(is_probed());
    CHECK_FALSE(is_probed());
  }
}

TEST_CASE("--compiler chooses among a backend's compilers, and --arch does without it") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  CommandResult result = cli.xtune({"compile", spec, "--compiler", "gcc"});
  CHECK(result.exit_code == 2);
  CHECK(has(result.stderr_text, "'gcc' is not one of auto, "));
  result = cli.xtune({"run", spec, "--backend", "host", "--compiler", "clang"});
  CHECK(result.exit_code == 2);
  CHECK(has(result.stderr_text, "compiler 'clang' is not one of backend host"));

  const json devices = parsed(cli.xtune({"devices", "--backend", "hip", "--format", "json"}));
  if (devices.contains("error")) return;  // not part of this build
  std::set<std::string> here;
  for (const json& compiler : devices["backends"][0]["compilers"])
    if (compiler["toolchain"] != "") here.insert(compiler["name"]);
  for (const char* name : {"hiprtc", "clang"}) {
    CAPTURE(name);
    result =
        cli.xtune({"compile", spec, "--backend", "hip", "--arch", "gfx90a", "--compiler", name, "--format", "json"});
    CHECK(result.exit_code == (here.contains(name) ? 0 : 4));
    if (!here.contains(name))
      MESSAGE("skipped: " << std::string(name) << " is not installed [apt: libamdhip64-dev clang-19 lld-19]");
  }
  if (!here.contains("clang")) return;
  result = cli.xtune({"compile", spec, "--arch", "gfx942", "--format", "json"});
  CAPTURE(result.stderr_text);
  CHECK(result.exit_code == 0);
}

TEST_CASE("compile works without running anything, and a second time from the cache") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const CommandResult first = cli.xtune({"compile", spec, "--backend", "host", "--format", "json"});
  CAPTURE(first.stderr_text);
  REQUIRE(first.exit_code == 0);
  const json rows = parsed(first);
  REQUIRE(rows.size() == 3);
  for (const json& row : rows) {
    CHECK(row["outcome"] == "ok");
    CHECK(row["key"].get<std::string>().size() == 64);
    for (const char* field : {"config", "registers", "spilled_bytes", "shared_bytes", "seconds"})
      CHECK(row.contains(field));
  }
  for (const json& row : parsed(cli.xtune({"compile", spec, "--backend", "host", "--format", "json"})))
    CHECK(row["cached"] == true);
  CHECK(cli.xtune({"compile", spec, "--backend", "host", "--limit", "2"}).stdout_text.find("VARIANT=") !=
        std::string::npos);
}

TEST_CASE("What is about records chooses the backend that run would; compile says which architecture it took") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  REQUIRE(cli.xtune({"devices"}).exit_code == 0);
  // Compilers without a device, as on a login node.
  bool compiler_alone = false;
  for (const auto& file : fs::directory_iterator(cli.path("cache") + "/inventory")) {
    if (file.path().extension() != ".json") continue;  // digests of a compiler's files
    json state = json::parse(read_file(file.path()));
    if (state["name"] != "cuda" ||
        parsed(cli.xtune({"devices", "--backend", "cuda", "--format", "json"})).contains("error"))
      continue;  // not part of this build
    state["devices"] = json::array();
    state["device_reason"] = "no driver";
    state["toolchain"] = "nvrtc 99.0";
    state["default_arch"] = "sm_90";
    write_file_atomically(file.path(), state.dump());
    compiler_alone = true;
  }
  if (!compiler_alone) return;
  const CommandResult run = cli.xtune({"run", spec, "--format", "json"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  const std::string arch = parsed(run)["device"]["arch"];
  const CommandResult best = cli.xtune({"best", spec, "--format", "json"});
  CAPTURE(best.stderr_text);
  CHECK(best.exit_code == 0);
  CHECK(parsed(best)["match"] == "exact");
  CHECK(parsed(cli.xtune({"why", spec, "--format", "json"}))["stored"] == 1);
  // device.vendor shows the target that space used.
  const std::string asks =
      cli.copy_spec("[1, 2]", "[space]\nconstraints = [\"VARIANT == 1 or device.vendor == 'nvidia'\"]\n");
  const auto valid = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"space", asks, "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return parsed(cli.xtune(arguments))["valid"];
  };
  const bool gpu = parsed(run)["device"]["backend"] != "host";
  if (!gpu) CHECK(valid({}) == 1);
  CHECK(valid({"--arch", "sm_90"}) == 2);
  const CommandResult named = cli.xtune({"space", asks, "--backend", "cuda"});
  CHECK(named.exit_code == 0);
  CHECK(has(named.stderr_text, "sm_90"));
  // The test is about the selected architecture, not about the compiler's result.
  if (gpu) return;
  const std::string note = cli.xtune({"compile", spec, "--limit", "1"}).stderr_text;
  CAPTURE(note);
  // By the compiler that this machine has: CUDA's, else HIP's.
  CHECK((has(note, "no cuda device here: taken for sm_90") || has(note, "no hip device here: taken for gfx90a")));
}

TEST_CASE("An architecture that the compiler does not know costs itself, and the exit code says so") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const json devices = parsed(cli.xtune({"devices", "--format", "json"}));
  const auto compile = [&](const std::string& backend, const std::string& archs) {
    return cli.xtune({"compile", spec, "--backend", backend, "--arch", archs, "--format", "json"});
  };
  for (const json& backend : devices["backends"]) {
    const std::string name = backend["name"], toolchain = backend["toolchain"];
    if (toolchain.empty() || name == "kokkos") continue;  // which takes no such kernel
    CAPTURE(toolchain);
    const bool amd = backend["default_arch"].get<std::string>().starts_with("gfx");
    // Another vendor's architecture is a wrong argument on every backend, before anything compiles.
    const CommandResult foreign = compile(name, amd ? "gfx90a,sm_90" : "gfx90a");
    CAPTURE(foreign.stderr_text);
    CHECK(foreign.exit_code == 2);
    CHECK(has(foreign.stderr_text, amd ? "sm_90" : "gfx90a"));
    CHECK(parsed(foreign)["error"]["kind"] == "invalid_argument");
    if (name == "host") continue;
    // One that exists and that this compiler is too old or too new for.
    for (const std::string& unknown :
         amd ? std::vector<std::string>{"gfx942", "gfx1201"} : std::vector<std::string>{"sm_70"}) {
      const std::string known = amd ? "gfx90a" : "sm_90";
      if (compile(name, unknown).exit_code == 0) continue;
      const CommandResult both = compile(name, known + "," + unknown + "," + known);
      CAPTURE(both.stderr_text);
      CHECK(both.exit_code == 4);
      CHECK(has(both.stderr_text, unknown));
      const json rows = parsed(both);
      // Two configurations for each of the two, and a summary of all three behind them.
      REQUIRE(rows.size() == 4 + 3);
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(rows[i]["arch"] == known);
        CHECK(rows[i]["outcome"] == "ok");
      }
      CHECK(rows[4] == json{{"arch", known}, {"compiled", 2}, {"configurations", 2}});
      CHECK(rows[5]["arch"] == unknown);
      CHECK(rows[5]["compiled"] == 0);
      CHECK(rows[5]["error"]["kind"] == "unsupported");
      break;
    }
  }
}

TEST_CASE(
    "An architecture for which nothing compiles shows in the exit code, and one without a compiler costs itself") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  cli.write("copy.cu",
            "#ifdef __AVX512F__\n#error not this one\n#endif\n"
            "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i];\n}\n");
  const std::vector<std::string> command{"compile", spec, "--backend", "host", "--arch", "x86_64_v3,x86_64_v4"};
  const CommandResult text = cli.xtune(command);
  CAPTURE(text.stderr_text);
  CHECK(text.exit_code == 3);
  CHECK(has(text.stdout_text, "\nx86_64_v3: 2 of 2 compiled\nx86_64_v4: 0 of 2 compiled\n"));
  std::vector<std::string> as_json = command;
  as_json.insert(as_json.end(), {"--format", "json"});
  const json rows = parsed(cli.xtune(as_json));
  REQUIRE(rows.size() == 4 + 2);
  CHECK(rows[5] == json{{"arch", "x86_64_v4"}, {"compiled", 0}, {"configurations", 2}});

  const json devices = parsed(cli.xtune({"devices", "--format", "json"}));
  for (const auto& [name, arch] : {std::pair("cuda", "sm_90"), {"hip", "gfx90a"}}) {
    const bool usable = std::any_of(devices["backends"].begin(), devices["backends"].end(), [&](const json& backend) {
      return backend["name"] == name && backend["toolchain"] != "";
    });
    if (usable) continue;
    CAPTURE(name);
    const CommandResult both =
        cli.xtune({"compile", spec, "--arch", arch + std::string(",x86_64_v3"), "--format", "json"});
    CHECK(both.exit_code == 4);
    const json answers = parsed(both);
    REQUIRE(answers.size() == 2 + 2);
    CHECK(answers[0]["arch"] == "x86_64_v3");
    CHECK(answers[2]["error"]["kind"] == "unavailable");
    CHECK(answers[3]["compiled"] == 2);
  }
}

TEST_CASE("a parameter whose name the code uses for something else is named, and not where it is used as a value") {
  const Cli cli;
  const auto compiled = [&](const std::string& name, const std::string& source) {
    cli.write("k.cu", source);
    const std::string spec = cli.write("k.toml",
                                       "kernel = { name = \"k\", source = \"k.cu\" }\nproblem = { N = 64 }\n"
                                       "args = [{ name = \"in\", dtype = \"f32\", shape = \"N\", role = \"out\" }]\n"
                                       "launch = { grid = 1, block = 32 }\nspace = { params = { " +
                                           name + " = [64] } }\n");
    return cli.xtune({"compile", spec, "--backend", "host"}).stdout_text;
  };
  const std::string hint = "is a macro here";
  CHECK(has(compiled("step", "extern \"C\" __global__ void k(float* y) { int step = 1; y[threadIdx.x] = step; }\n"),
            "step " + hint));
  CHECK(has(compiled("B",
                     "template <int B> struct Tile { static constexpr int size = B; };\n"
                     "extern \"C\" __global__ void k(float* y) { y[threadIdx.x] = Tile<2 * B>::size; }\n"),
            "B " + hint));
  const std::string wrong =
      compiled("B", "extern \"C\" __global__ void k(float* y) { float part[B]; y[threadIdx.x] = part; }\n");
  CHECK(has(wrong, "error"));
  CHECK_FALSE(has(wrong, hint));
}

TEST_CASE("compile --limit shows every value, and every case") {
  const Cli cli;
  cli.copy_spec("[1, 2, 3]");  // launch-only: they share a binary
  std::string spec = read_file(cli.path("copy.toml"));
  spec.insert(spec.find("VARIANT ="), "TILE = [1, 2, 3, 4]\n");
  cli.write("copy.toml", spec + "\n[[cases]]\nN = 64\n[[cases]]\nN = 128\n");
  const json rows =
      parsed(cli.xtune({"compile", cli.path("copy.toml"), "--backend", "host", "--limit", "3", "--format", "json"}));
  for (const int size : {64, 128}) {
    std::set<std::string> binaries;
    std::set<int> tiles, variants;
    for (const json& row : rows) {
      if (row["problem"]["N"] != size) continue;
      binaries.insert(row["key"]);
      tiles.insert(row["config"]["TILE"].get<int>());
      variants.insert(row["config"]["VARIANT"].get<int>());
    }
    CHECK(binaries.size() == 3);
    CHECK(tiles.size() == 3);
    CHECK(variants == std::set<int>{1, 2, 3});
  }
}

TEST_CASE("A compile that fails reports its time") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  cli.write("copy.cu", "extern \"C\" __global__ void copy(const float* x, float* y, int n) { no }\n");
  const json rows = parsed(cli.xtune({"compile", spec, "--backend", "host", "--format", "json"}));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["outcome"] == "compile_failed");
  CHECK(rows[0]["seconds"] > 0);
}

TEST_CASE("space prints samples in the spec's order, and counts in words") {
  const Cli cli;
  const std::string spec = cli.write("two.toml", "[kernel]\nname = \"k\"\n[space.params]\nZ = [1]\nA = [2]\n");
  CHECK(cli.xtune({"space", spec, "--samples", "1"}).stdout_text.find("\nZ=1 A=2\n") != std::string::npos);
  const std::string one =
      cli.write("one.toml", "[kernel]\nname = \"k\"\n[space]\nconstraints = [\"Z > 1\"]\n[space.params]\nZ = [1, 2]\n");
  CHECK(cli.xtune({"space", one}).stdout_text.find("1 parameter, 1 constraint: 1 of 2") != std::string::npos);
}

TEST_CASE("Without a GPU, run says why it takes the CPU, and --backend gpu fails with the reasons") {
  Cli cli;
  for (const char* variable :
       {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "XTUNE_HIP_LIBRARY"})
    cli.env.emplace_back(variable, "");
  const std::string spec = cli.copy_spec("[1]");
  const CommandResult taken = cli.xtune({"run", spec, "--format", "json", "--quiet"});
  CHECK(taken.exit_code == 0);
  CHECK(parsed(taken).at("device").at("backend") == "host");
  CHECK_MESSAGE(taken.stderr_text.starts_with("note: no GPU ("), taken.stderr_text);
  CHECK_MESSAGE(taken.stderr_text.ends_with("): tuning on the CPU\n"), taken.stderr_text);
  CHECK(std::count(taken.stderr_text.begin(), taken.stderr_text.end(), '\n') == 1);
  CHECK_MESSAGE(has(cli.xtune({"validate", spec}).stderr_text, "): checking on the CPU\n"), "validate");
  for (const char* command : {"run", "validate"})
    CHECK_FALSE(has(cli.xtune({command, spec, "--backend", "host"}).stderr_text, "no GPU"));
  const CommandResult refused = cli.xtune({"run", spec, "--backend", "gpu"});
  CHECK(refused.exit_code == 4);
  CHECK_MESSAGE(has(refused.stderr_text, "no usable device\n  cuda: "), refused.stderr_text);
  CHECK_FALSE(has(refused.stderr_text, "host"));
  CHECK(cli.xtune({"devices", "--backend", "gpu"}).exit_code == 4);
  CHECK(cli.xtune({"best", spec, "--backend", "gpu"}).exit_code == 4);
  CHECK(has(cli.xtune({"check", spec, "--backend", "gpu"}).stdout_text, "  cuda, N=4096: 1 valid"));
  const CommandResult cpu = cli.xtune({"compile", spec, "--backend", "gpu", "--arch", "x86_64"});
  CHECK(cpu.exit_code == 2);
  CHECK_MESSAGE(has(cpu.stderr_text, "architecture 'x86_64' is a CPU's"), cpu.stderr_text);
}

TEST_CASE("The device cache is for visible devices: each VISIBLE_DEVICES setting is probed again") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const auto remembered = [&] {
    std::size_t count = 0;
    for (const auto& file : fs::directory_iterator(cli.path("cache") + "/inventory"))
      count += file.path().filename().string().starts_with("host-");
    return count;
  };
  std::size_t settings = 0;
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
    for (const char* visible : {"1,0", "0"}) {
      Cli limited;
      limited.set("XTUNE_CACHE_DIR", cli.path("cache"));
      limited.env.emplace_back(variable, visible);
      CAPTURE(variable);
      CHECK(limited.xtune({"space", spec, "--backend", "host", "--device", "0"}).exit_code == 0);
      CHECK(remembered() == ++settings);
      CHECK(limited.xtune({"space", spec, "--backend", "host", "--device", "all"}).exit_code == 0);
      CHECK(remembered() == settings);
    }
}
