// From a configuration to the build and the call of a program, and to their keys.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "core/resolve/resolve.hpp"
#include "core/spec/process_spec.hpp"
#include "fakes/environment_variable.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::resolve;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string base_spec = R"spec([kernel]
name = "p"
[problem]
N = 64
[space.params]
TILE = [8, 0]
FLAGS = ["-a -b", ""]
THREADS = [1, 2]
[process]
build = "cc {FLAGS...} -DT={TILE} main.cpp -o {out}"
run = "{out} {N} {N // TILE} {THREADS}"
sources = ["main.cpp"]
env = { OMP_NUM_THREADS = "{THREADS}" }
time = { json = "t" }
)spec";

struct ProgramJob {
  TemporaryDirectory own;
  std::filesystem::path folder;
  Spec spec;
  std::unique_ptr<Space> space;
  std::unique_ptr<CandidateResolver> resolver;

  explicit ProgramJob(const std::string& text = base_spec, const std::string& header = "1",
                      const std::string& place = "here")
      : folder(own.path() / place) {
    write_file_atomically(folder / "main.cpp", "#include \"own.hpp\"\n#include <vector>\nint main() {}\n");
    write_file_atomically(folder / "own.hpp", header);
    spec = parse_spec(text, "p.toml", folder);
    DeviceInfo device;
    device.backend = "process";
    device.arch = "x86_64";
    space = std::make_unique<Space>(make_space(spec, spec.cases[0], {}));
    resolver = std::make_unique<CandidateResolver>(spec, *space, spec.cases[0], device, "x86_64", "cc 1", false);
  }
  Config config(std::int64_t tile, const std::string& flags, std::int64_t threads) const {
    return {tile, flags, threads};
  }
  std::string artifact(const Config& config) const { return resolver->artifact_key(resolver->compile_request(config)); }
  std::string part(const Config& config, const std::string& name) const {
    for (const auto& [key, value] : resolver->measurement_key_parts(config, artifact(config)))
      if (key == name) return value;
    return "(none)";
  }
};

using Words = std::vector<std::string>;

/// A program whose source lies in sub/src and is built in sub; headers lie elsewhere.
struct ProgramTree {
  TemporaryDirectory own;
  std::string build;
  bool shell;
  explicit ProgramTree(std::string build_, bool shell_ = false) : build(std::move(build_)), shell(shell_) {
    write("src/main.cpp", "#include \"near.hpp\"\n#include <angled.hpp>\n#include <vector>\nint main() {}\n");
    write("src/deep/near.hpp", "#include \"far.hpp\"\n");
    for (const char* folder : {"inc/", "other/", "b c/"})
      for (const char* header : {"far.hpp", "angled.hpp"}) write(std::string(folder) + header, "1");
  }
  void write(const std::string& name, const std::string& text) const {
    write_file_atomically(own.path() / "sub" / name, text);
  }
  std::string key() const {
    std::string text =
        "[kernel]\nname = \"p\"\n[space.params]\nD = [\"inc\", \"other\"]\n[process]\nfolder = \"sub\"\n"
        "run = \"./p\"\nsources = [\"sub/src/main.cpp\"]\n";
    text += "build = '''" + build + " src/main.cpp -o {out}'''\nshell = " + (shell ? "true" : "false") + "\n";
    const Spec spec = parse_spec(text, "p.toml", own.path());
    const Space space = make_space(spec, spec.cases[0], {});
    DeviceInfo device;
    device.backend = "process";
    const CandidateResolver resolver(spec, space, spec.cases[0], device, "x86_64", "cc 1", false);
    return resolver.artifact_key(resolver.compile_request({std::string("inc")}));
  }
  /// Whether the key depends on the contents of the header.
  bool knows(const std::string& header) const {
    const std::string before = key();
    write(header, "2");
    const bool differs = key() != before;
    write(header, "1");
    CHECK(key() == before);
    return differs;
  }
};

}  // namespace

TEST_CASE("a configuration's build and call are words in which the places stay") {
  const ProgramJob program;
  const CompileRequest request = program.resolver->compile_request(program.config(8, "-a -b", 2));
  CHECK(request.options == Words{"cc", "-a", "-b", "-DT=8", "main.cpp", "-o", "{out}"});
  CHECK(program.resolver->compile_request(program.config(8, "", 2)).options ==
        Words{"cc", "-DT=8", "main.cpp", "-o", "{out}"});
  CHECK(request.folder == program.folder.string());
  const LaunchPlan launch = program.resolver->launch(program.config(8, "", 2));
  REQUIRE(launch.call);
  CHECK(launch.call->words == Words{"{out}", "64", "8", "2"});
  CHECK(launch.call->environment == std::vector<std::pair<std::string, std::string>>{{"OMP_NUM_THREADS", "2"}});
  CHECK_FALSE(program.resolver->limit_violation(launch, nullptr));
  CHECK(program.resolver->scalars(program.config(8, "", 2)).empty());
}

TEST_CASE("parameters that the build does not name share its artifact, and are measured apart") {
  const ProgramJob program;
  CHECK(program.artifact(program.config(8, "", 1)) == program.artifact(program.config(8, "", 2)));
  CHECK(program.artifact(program.config(8, "", 1)) != program.artifact(program.config(8, "-a -b", 1)));
  CHECK(program.part(program.config(8, "", 1), "runtime") != program.part(program.config(8, "", 2), "runtime"));
  CHECK(program.part(program.config(8, "", 1), "launch").find("OMP_NUM_THREADS=1") != std::string::npos);
}

TEST_CASE("an artifact's key knows what sources hold, included ones too, and not where they lie") {
  const ProgramJob program, elsewhere(base_spec, "1", "elsewhere/deep"), changed(base_spec, "2");
  const Config config = program.config(8, "", 1);
  CHECK(program.artifact(config) == elsewhere.artifact(config));
  CHECK(program.artifact(config) != changed.artifact(config));
}

TEST_CASE("headers that an include path of the build command leads to are part of its key") {
  for (const char* path : {"-Iinc", "-I inc", "-I ./inc", "-I../sub/inc", "'-Iinc'", "-O2 -Xcompiler -Iinc -D{D}"})
    for (const bool shell : {false, true}) {
      CAPTURE(path);
      CAPTURE(shell);
      const ProgramTree tree(std::string("cc -Isrc/deep ") + path, shell);
      CHECK(tree.knows("inc/far.hpp"));
      CHECK(tree.knows("inc/angled.hpp"));
      CHECK_FALSE(tree.knows("other/far.hpp"));
    }
  for (const char* path : {"-iquoteinc", "-iquote inc"}) {
    CAPTURE(path);
    const ProgramTree tree(std::string("cc -iquote src/deep ") + path);
    CHECK(tree.knows("inc/far.hpp"));
    CHECK_FALSE(tree.knows("inc/angled.hpp"));
  }
  CHECK(ProgramTree("cc -Isrc/deep '-Ib c'").knows("b c/far.hpp"));
  CHECK(ProgramTree("true; cc -Isrc/deep -I\"b c\"&& true", true).knows("b c/far.hpp"));
  CHECK(ProgramTree("cc -Isrc/deep -isystem inc").knows("inc/angled.hpp"));
  CHECK(ProgramTree("cc -include inc/far.hpp").knows("inc/far.hpp"));
}

TEST_CASE("include paths are searched as a compiler does, where no configuration decides them") {
  const ProgramTree tree("cc -isystem other -Isrc/deep -I inc -I other -iquote 'b c'");
  CHECK(tree.knows("b c/far.hpp"));
  CHECK_FALSE(tree.knows("b c/angled.hpp"));
  CHECK(tree.knows("inc/angled.hpp"));
  CHECK_FALSE(tree.knows("inc/far.hpp"));
  CHECK_FALSE(tree.knows("other/angled.hpp"));
  tree.write("src/deep/far.hpp", "1");
  CHECK(tree.knows("src/deep/far.hpp"));
  CHECK_FALSE(tree.knows("b c/far.hpp"));
  for (const char* path : {"-I{D}", "-I {D}", "{'-I' + D}", "{D...}", "-I none", "-I ''"}) {
    CAPTURE(path);
    CHECK_FALSE(ProgramTree(std::string("cc -Isrc/deep ") + path).knows("inc/far.hpp"));
  }
}

TEST_CASE("a text without a value rejects its configuration, and has a key all the same") {
  const ProgramJob program;
  const Config config = program.config(0, "", 1);
  CHECK_THROWS_WITH_AS(program.resolver->launch(config), doctest::Contains("division by zero"), CandidateFailure);
  try {
    program.resolver->launch(config);
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::rejected);
    CHECK(std::string(failure.what()).find("p.toml:11:21: ") != std::string::npos);
    CHECK(std::string(failure.what()).find("TILE = 0") != std::string::npos);
  }
  CHECK(program.part(config, "launch").find("division by zero") != std::string::npos);
}

TEST_CASE("variables that decide how fast a program runs are part of its measurement, others are not") {
  const ProgramJob program;
  const Config config = program.config(8, "", 1);
  const std::string before = program.part(config, "launch");
  ::setenv("OMP_PLACES", "cores", 1);
  CHECK(program.part(config, "launch") != before);
  ::unsetenv("OMP_PLACES");
  ::setenv("XTUNE_TEST_UNRELATED", "1", 1);
  CHECK(program.part(config, "launch") == before);
  std::string listed = base_spec;
  listed.replace(listed.find("env ="), 5, "environment = [\"XTUNE_TEST_UNRELATED\"]\nenv =");
  CHECK(ProgramJob(listed).part(config, "launch").find("XTUNE_TEST_UNRELATED=1") != std::string::npos);
  ::unsetenv("XTUNE_TEST_UNRELATED");
}

namespace {

/// A program that is a script, with other files. D and MODE do not affect the build.
struct Scripts {
  TemporaryDirectory own;
  std::string commands;
  explicit Scripts(std::string commands_) : commands(std::move(commands_)) {
    for (const char* name : {"bench.sh", "check.sh", "a/in.txt", "b/in.txt", "make.mk", "cmd", "data.bin", "out.txt"})
      write(name, "1");
    std::filesystem::permissions(own.path() / "bench.sh", std::filesystem::perms::owner_all);
  }
  void write(const std::string& name, const std::string& text) const { write_file_atomically(own.path() / name, text); }
  Spec spec() const {
    return parse_spec("[kernel]\nname = \"p\"\n[space.params]\nD = [\"a\", \"b\"]\n[process]\n" + commands + "\n",
                      "p.toml", own.path());
  }
  struct Keys {
    std::string artifact, launch;
    bool operator==(const Keys&) const = default;
  };
  Keys keys() const {
    const Spec read = spec();
    const Space space = make_space(read, read.cases[0], {});
    DeviceInfo device;
    device.backend = "process";
    const CandidateResolver resolver(read, space, read.cases[0], device, "x86_64", "cc 1", false);
    Keys keys;
    keys.artifact = resolver.artifact_key(resolver.compile_request({std::string("a")}));
    for (const auto& [name, value] : resolver.measurement_key_parts({std::string("a")}, "x"))
      if (name == "launch") keys.launch = value;
    return keys;
  }
  bool knows(const std::string& file, const std::string& other = "2") const {
    const std::string now = read_file(own.path() / file);
    const Keys before = keys();
    write(file, other);
    const Keys after = keys();
    write(file, now);
    CHECK(keys() == before);
    return !(after == before);
  }
};

}  // namespace

TEST_CASE("files that the words of run and check name are part of the measurement's key, with the values in them") {
  CHECK(Scripts("run = './bench.sh {D}'").knows("bench.sh"));
  CHECK(Scripts("run = 'sh ./bench.sh {D}'").knows("bench.sh"));
  CHECK(Scripts("run = 'sh bench.sh {D}'").knows("bench.sh"));
  CHECK(Scripts("run = 'echo {D}'\ncheck = 'sh check.sh'").knows("check.sh"));
  CHECK(Scripts("run = 'echo {D}'\nexec_prefix = 'sh ./bench.sh'").knows("bench.sh"));
  CHECK(Scripts("run = ['sh', '-c', './bench.sh {D}']").knows("bench.sh"));
  CHECK(Scripts("run = './bench.sh {D} | tail -1'\nshell = true").knows("bench.sh"));
  CHECK(Scripts("run = 'cat {D}/in.txt'").knows("a/in.txt"));
  CHECK_FALSE(Scripts("run = 'cat {D}/in.txt'").knows("b/in.txt"));
  for (const char* word : {"--data=data.bin", "if=./data.bin", "@data.bin", "-f./data.bin", "data.bin"}) {
    CAPTURE(word);
    CHECK(Scripts("run = 'echo {D} " + std::string(word) + "'").knows("data.bin"));
  }
  CHECK_FALSE(Scripts("run = 'echo {D}'").knows("data.bin"));
}

TEST_CASE(
    "directories that words of run and check name count with the files in them, those around the command do not") {
  CHECK(Scripts("run = 'grep -r x {D}'").knows("a/in.txt"));
  CHECK(Scripts("run = 'echo {D}'\ncheck = 'diff a --from-file=b'").knows("b/in.txt"));
  for (const char* word : {".", "..", "/", "/tmp", "/usr"}) {
    CAPTURE(word);
    CHECK_FALSE(Scripts("run = 'echo -D{D} " + std::string(word) + "'").knows("data.bin"));
  }
  CHECK_FALSE(Scripts("run = 'echo -D{D} a'\noutputs = ['a']").knows("a/in.txt"));
  const Scripts scripts("run = 'grep -r x {D}'");
  const Scripts::Keys before = scripts.keys();
  scripts.write("a/deep/new.txt", "");
  CHECK_FALSE(scripts.keys() == before);
}

TEST_CASE("values of env may name files, and a script its interpreter") {
  CHECK(Scripts("run = 'echo {D}'\nenv = { F = 'data.bin' }").knows("data.bin"));
  Scripts scripts("run = './bench.sh {D}'");
  scripts.write("bench.sh", "#! " + (scripts.own.path() / "data.bin").string() + " -x\n");
  CHECK(scripts.knows("data.bin"));
  scripts.write("data.bin", "#!" + (scripts.own.path() / "bench.sh").string() + "\n");  // in a circle
  CHECK(scripts.knows("cmd") == false);
  scripts.write("bench.sh", "#!/bin/sh\n");
  CHECK(scripts.keys().launch.find("\"sh ") == std::string::npos);
}

TEST_CASE("whether a source may be executed is part of the key") {
  const Scripts scripts("build = 'tool {D} {out}'\nrun = '{out}'\nsources = ['cmd']");
  const Scripts::Keys before = scripts.keys();
  std::filesystem::permissions(scripts.own.path() / "cmd", std::filesystem::perms::owner_all);
  CHECK_FALSE(scripts.keys() == before);
}

TEST_CASE("files that the words of a build name are part of the artifact's key") {
  CHECK(Scripts("build = 'make -f make.mk {out}'\nrun = '{out} {D}'").knows("make.mk"));
  CHECK(Scripts("build = 'cp {D}/in.txt {out}'\nrun = '{out} {D}'").knows("a/in.txt"));
  CHECK(Scripts("build = 'cc @cmd -o {out}'\nrun = '{out} {D}'").knows("cmd"));
  const Scripts listed("build = 'cc data.bin -o {out}'\nrun = '{out} -D{D}'\nsources = ['data.bin']");
  CHECK(listed.knows("data.bin"));
  CHECK(listed.keys().launch.find("files") == std::string::npos);
}

TEST_CASE("option files, and compilers in PATH, are part of a build's key") {
  CHECK(Scripts("build = 'cc @cmd -o {out}'\nrun = '{out} {D}'").knows("cmd"));
  for (const char* build : {"sh -c \"g++ x.cpp -o $0\" {out}", "make OUT={out}", "env g++ x.cpp -o {out}"}) {
    CAPTURE(build);
    Scripts scripts("build = '" + std::string(build) + "'\nrun = '{out} {D}'");
    const std::filesystem::path compiler = scripts.own.path() / "bin/g++";
    const auto install = [&](const std::string& contents) {
      scripts.write("bin/g++", contents);
      std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    };
    install("one");
    const Variable path("PATH", (scripts.own.path() / "bin").string() + ":" + std::getenv("PATH"));
    const auto before = scripts.keys();
    install("another");
    CHECK_FALSE(scripts.keys() == before);
    install("one");
    CHECK(scripts.keys() == before);
  }
}

TEST_CASE("files that build tools read first are part of the artifact's key") {
  for (const auto& [build, file] : {std::pair{"make -s D={D} OUT={out}", "Makefile"},
                                    {"make -C a {D} {out}", "a/makefile"},
                                    {"cmake --build a --target {D}{out}", "a/CMakeCache.txt"},
                                    {"sh -c \"ninja {D} && cp p $0\" {out}", "build.ninja"},
                                    {"cargo build {D}{out}", "Cargo.toml"}}) {
    CAPTURE(build);
    Scripts scripts("build = '" + std::string(build) + "'\nrun = '{out}'");
    scripts.write("a/other", "");
    scripts.write(file, "1");
    CHECK(scripts.knows(file));
  }
}

TEST_CASE("files that a shell's text names by variables, patterns and commands within it are part of the key") {
  for (const char* run : {"cat {D} $(echo data.bin)", "cat {D} `echo data.bin`", "cat {D} data.bi?",
                          "cat {D} $PWD/data.bin", "cat {D} ${{PWD}}/data.bin"}) {
    CAPTURE(run);
    CHECK(Scripts("run = '" + std::string(run) + "'\nshell = true").knows("data.bin"));
  }
  CHECK_FALSE(Scripts("run = 'rm -f data.bi?; echo {D}'\nshell = true").knows("data.bin"));
  CHECK(Scripts("run = ['bash', '--norc', '-c', 'cat data.bin {D}']").knows("data.bin"));
  CHECK(Scripts("run = ['bash', '-o', 'pipefail', '-euc', 'cat data.bin {D}']").knows("data.bin"));
  CHECK_FALSE(Scripts("run = ['bash', '-e', 'bench.sh', 'cat data.bin {D}']").knows("data.bin"));
}

TEST_CASE("sources may be patterns of files") {
  CHECK(Scripts("build = 'tool {D} {out}'\nrun = '{out}'\nsources = ['*.bin', 'cm?']").knows("data.bin"));
  CHECK_THROWS_WITH_AS(Scripts("build = 'tool {D} {out}'\nrun = '{out}'\nsources = ['*.none']").spec(),
                       doctest::Contains("process.sources '*.none': no further file matches"), Error);
}

TEST_CASE("the libraries that a program loads are part of the key") {
  const Scripts scripts("run = './p {D}'\nenv = { LD_LIBRARY_PATH = 'lib' }");
  const auto path = [&](const char* name) { return (scripts.own.path() / name).string(); };
  const auto compile = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "g++");
    REQUIRE(run_command(words).ok());
  };
  const auto make_library = [&](int value) {
    scripts.write("v.cpp", "int v() { return " + std::to_string(value) + "; }\n");
    compile({"-shared", "-fPIC", path("v.cpp"), "-o", path("lib/libv.so")});
  };
  std::filesystem::create_directories(path("lib"));
  make_library(5);
  scripts.write("m.cpp", "int v();\nint main() { return v(); }\n");
  compile({path("m.cpp"), "-o", path("p"), "-L" + path("lib"), "-lv"});
  const Scripts::Keys before = scripts.keys();
  CHECK(has(before.launch, "libraries [\"libv.so sha256:"));
  CHECK(scripts.keys() == before);
  make_library(9);
  CHECK_FALSE(scripts.keys() == before);
}

TEST_CASE("files that a command writes are not part of a key") {
  CHECK_FALSE(Scripts("run = 'echo {D} -o out.txt'").knows("out.txt"));
  CHECK_FALSE(Scripts("run = 'echo {D} --output=out.txt'").knows("out.txt"));
  CHECK_FALSE(Scripts("run = 'echo {D} > out.txt; cat out.txt'\nshell = true").knows("out.txt"));
  CHECK_FALSE(Scripts("run = 'echo {D} out.txt'\ntime = { json = 't', file = 'out.txt' }").knows("out.txt"));
  CHECK_FALSE(Scripts("run = 'echo {D}'\ncheck = 'cmp out.txt data.bin'\noutputs = ['out.txt']").knows("out.txt"));
  CHECK(Scripts("run = 'echo {D}'\ncheck = 'cmp out.txt data.bin'\noutputs = ['out.txt']").knows("data.bin"));
}

TEST_CASE("the key of a program that names no file is what it was, and a file that appears later changes none") {
  const Scripts built("build = 'cc {D} -o {out}'\nrun = '{out} -D{D} later.txt'");
  const Spec spec = built.spec();
  const Space space = make_space(spec, spec.cases[0], {});
  const CandidateResolver resolver(spec, space, spec.cases[0], {}, "x86_64", "cc 1", false);
  const Config config{std::string("a")};
  const KeyParts before = resolver.measurement_key_parts(config, "x");
  CHECK(before[3].second.starts_with(R"(call ["{out}","-Da","later.txt"])"));
  CHECK(before[3].second.find("files") == std::string::npos);
  built.write("later.txt", "1");
  CHECK(resolver.measurement_key_parts(config, "x") == before);
}

TEST_CASE("a file that a call names is compared before each record") {
  const Scripts scripts("run = 'sh ./bench.sh {D}'");
  const Spec spec = scripts.spec();
  const Space space = make_space(spec, spec.cases[0], {});
  const CandidateResolver resolver(spec, space, spec.cases[0], {}, "x86_64", "cc 1", false);
  resolver.measurement_key_parts({std::string("a")}, "x");
  CHECK_NOTHROW(resolver.throw_if_data_changed());
  scripts.write("bench.sh", "2");
  CHECK_THROWS_WITH_AS(resolver.throw_if_data_changed(), doctest::Contains("bench.sh: changed since the run began"),
                       Error);
}
