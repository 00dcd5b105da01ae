// The tools that build a program, and the backend that runs it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "support/text.hpp"
#include "system/files.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::spec;
using namespace xtune::run;
using namespace xtune::worker;

using namespace xtune;
using namespace xtune::test;

namespace {

struct Job {
  TemporaryDirectory folder;
  Job() {
    write_file_atomically(folder.path() / "make.sh", "#!/bin/sh\n");
    std::filesystem::permissions(folder.path() / "make.sh", std::filesystem::perms::owner_all);
  }
  Spec spec(const std::string& process) const {
    return parse_spec("[kernel]\nname = \"p\"\n[space.params]\nA = [1, 2]\nCC = ['gcc']\n[process]\n" + process,
                      "p.toml", folder.path());
  }
  std::string fingerprint(const std::string& process) const { return build_fingerprint(spec(process)); }
  std::string failure(const std::string& process, const TargetOptions& options = {}) const {
    try {
      choose_target(spec(process), options);
      return "no failure";
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
  }
};

}  // namespace

TEST_CASE("a build's fingerprint knows the program that it starts by its contents, and compilers' variables") {
  const Job job;
  const std::string make = "build = './make.sh {A} {out}'\nrun = '{out}'\n";
  const std::string before = job.fingerprint(make);
  CHECK(before.starts_with("make.sh sha256:"));
  write_file_atomically(job.folder.path() / "make.sh", "#!/bin/sh\n# another\n");
  std::filesystem::permissions(job.folder.path() / "make.sh", std::filesystem::perms::owner_all);
  const std::string changed = job.fingerprint(make);
  CHECK(changed != before);
  // What else is set here is this machine's own business.
  const std::string flags = ", LDFLAGS=-lfast", kit = ", XTUNE_TEST_SDK=7";
  ::setenv("LDFLAGS", "-lfast", 1);
  CHECK(has(job.fingerprint(make), flags));
  CHECK_FALSE(has(job.fingerprint(make + "build_env = { LDFLAGS = 'x' }\n"), flags));
  CHECK(job.fingerprint("run = 'true'\n") == "commands of the spec");
  ::unsetenv("LDFLAGS");
  ::setenv("XTUNE_TEST_SDK", "7", 1);
  CHECK_FALSE(has(job.fingerprint(make), kit));
  CHECK(has(job.fingerprint(make + "environment = ['XTUNE_TEST_SDK']\n"), kit));
  ::unsetenv("XTUNE_TEST_SDK");
}

TEST_CASE("a build tool whose sources are not listed is warned of") {
  const Job job;
  const auto warning = [&](const std::string& process) { return warning_of_unknown_sources(job.spec(process)); };
  CHECK(has(warning("build = '/usr/bin/make {A} {out}'\nrun = '{out}'\n"), "p.toml:7:9: [process] sources is empty"));
  CHECK(
      has(warning("build = 'cd . && ninja {A}; cp p {out}'\nrun = '{out}'\nshell = true\n"), "that 'ninja' compiles"));
  CHECK(warning("build = 'make {A} {out}'\nrun = '{out}'\nsources = ['make.sh']\n").empty());
  CHECK(warning("build = './make.sh {A} {out}'\nrun = '{out}'\n").empty());
  CHECK(warning("run = 'true'\n").empty());
}

TEST_CASE("a program that differs by configuration is looked for when it is built") {
  const Job job;
  CHECK(job.fingerprint("build = '{CC} -o {out}'\nrun = '{out}'\n").starts_with("commands of the spec"));
}

TEST_CASE("a missing program of a build is reported at the command's place") {
  const Job job;
  const auto failure = [&](const std::string& process) {
    try {
      return job.fingerprint(process);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(failure("run = '{out}'\nbuild = 'no-such-cc {out}'\n") ==
        "p.toml:8:9: no-such-cc is not in PATH: install it, load its module, or give its path");
  CHECK(has(failure("run = '{out}'\nbuild = './none {out}'\n"), "./none is not an executable program"));
}

TEST_CASE("each program that a run starts is looked for, at its place") {
  const Job job;
  const auto failure = [&](const std::string& process) {
    try {
      require_programs(job.spec(process));
      return std::string("none");
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
  };
  CHECK(has(failure("run = 'no-such-program {A}'\n"), "no-such-program is not in PATH"));
  CHECK(has(failure("run = '{CC}'\ncheck = 'no-such-check'\n"), "no-such-check is not in PATH"));
  CHECK(failure("run = '{CC}'\nexec_prefix = 'no-such-wrapper -x'\n") ==
        "unavailable: p.toml:8:15: no-such-wrapper is not in PATH: install it, load its module, or give its "
        "path");
  CHECK(failure("run = '{CC}'\nexec_prefix = 'env A={A}'\n") == "none");
}

TEST_CASE("backends of kernels run no programs, and the process backend no kernels") {
  const Job job;
  TargetOptions options;
  options.backend = "host";
  CHECK(has(job.failure("run = 'true'\n", options), "invalid_argument: --backend host: the spec has [process]"));
  options.backend = "process";
  const Spec space = parse_spec("[kernel]\nname = \"s\"\n[space.params]\nA = [1]\n", "s.toml", job.folder.path());
  CHECK_THROWS_WITH_AS(choose_target(space, options), doctest::Contains("the spec has no [process]"), Error);
}
