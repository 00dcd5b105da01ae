// The answers of a compile sweep for each configuration, if several share a binary.
#include "core/run/compile_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "fakes/fake_services.hpp"
#include "system/event_loop.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::device;
using namespace xtune::resolve;
using namespace xtune::run;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;

namespace {

/// A kernel with 200 KiB of static shared memory, on a device that allows 227 KiB; S bytes come on top at the launch.
struct Sweep {
  TemporaryDirectory folder;
  EventLoop loop;
  fakes::Journal journal;
  fakes::FakeCompileService compiler{loop, journal};
  DeviceInfo device = known_device("sm_90").value();
  std::string more;                         ///< parameters
  std::string failure;                      ///< CompileSweep::common_failure() of the last sweep
  std::vector<std::string> without_effect;  ///< of the last sweep

  Sweep() {
    std::ofstream(folder.path() / "k.cu") << "extern \"C\" __global__ void k(float*) {}\n";
    device.backend = "cuda";
    compiler.respond = [](const CompileJob& job) {
      CompileAnswer answer;
      answer.artifact.key = job.key;
      answer.artifact.usage.static_shared_bytes = 200 * 1024;
      answer.artifact.compile_s = 0.5;
      answer.log = "ptxas info";
      return answer;
    };
  }

  std::vector<SweptConfig> compile(
      const std::string& values, std::function<bool()> stopped = [] { return false; }, bool keep_going = false) {
    const Spec spec = parse_spec(
        "[kernel]\nname = \"k\"\nsource = \"k.cu\"\nentry = \"k\"\n[problem]\nN = 8\n[space.params]\nA = [1, 2]\nS = { "
        "values = " +
            values + ", compile_time = false }\n" + more +
            "[launch]\ngrid = [\"N\"]\nblock = [\"A * 32\"]\nshared = \"S\"\n"
            "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n",
        "k.toml", folder.path(), {{}, "cuda"});
    const Space space = make_space(spec, spec.cases.front(), device_facts(device));
    const CandidateResolver resolver(spec, space, spec.cases.front(), device, "sm_90", "fake compiler 1", false);
    CompileSweep sweep(spec, space, resolver, "cuda", folder.path() / "store", loop, compiler);
    std::vector<std::uint64_t> indices(space.size());
    for (std::uint64_t i = 0; i < indices.size(); ++i) indices[i] = indices.size() - 1 - i;
    std::vector<SweptConfig> swept = sweep.compile(indices, stopped, keep_going);
    failure = sweep.common_failure();
    without_effect = sweep.without_effect();
    return swept;
  }
};

std::map<std::uint32_t, Outcome> by_shared(const std::vector<SweptConfig>& swept) {
  std::map<std::uint32_t, Outcome> outcomes;
  for (const SweptConfig& each : swept) outcomes[each.launch.max_shared_bytes()] = each.outcome;
  return outcomes;
}

}  // namespace

TEST_CASE("configurations that share a binary are each judged by their own launch, in any order") {
  for (const char* values : {"[0, 60000]", "[60000, 0]"}) {
    CAPTURE(values);
    Sweep sweep;
    const std::vector<SweptConfig> swept = sweep.compile(values);
    REQUIRE(swept.size() == 4);
    CHECK(sweep.compiler.jobs.size() == 2);
    CHECK(by_shared(swept) == std::map<std::uint32_t, Outcome>{{0, Outcome::ok}, {60000, Outcome::rejected}});
    for (std::size_t i = 0; i < swept.size(); ++i) {
      CHECK(swept[i].done);
      CHECK(swept[i].index == swept.size() - 1 - i);
      CHECK(swept[i].seconds == 0.5);
      CHECK(swept[i].log == "ptxas info");
      CHECK(swept[i].message.empty() == (swept[i].outcome == Outcome::ok));
    }
  }
}

TEST_CASE("a launch that no device takes is rejected without compiling") {
  Sweep sweep;
  const std::vector<SweptConfig> swept = sweep.compile("[300000, -1]");
  REQUIRE(swept.size() == 4);
  CHECK(sweep.compiler.jobs.empty());
  for (const SweptConfig& each : swept) {
    CHECK(each.done);
    CHECK(each.outcome == Outcome::rejected);
    CHECK(each.message != "");
  }
}

TEST_CASE("a sweep that is stopped says which answers are missing; nothing answers later") {
  Sweep sweep;
  const std::vector<SweptConfig> swept = sweep.compile("[0, 300000]", [] { return true; });
  CHECK(sweep.compiler.outstanding == 0);
  for (const SweptConfig& each : swept) CHECK(each.done == (each.launch.max_shared_bytes() == 300000));
  sweep.loop.run_once();
}

TEST_CASE("An error that all configurations share is found without compiling all of them") {
  Sweep sweep;
  sweep.more = "C = [1, 2, 3, 4, 5]\nD = [1, 2, 3, 4]\n";
  const auto compiled = [&](const std::string& error, const std::string& but = "none", bool keep_going = false) {
    sweep.compiler.respond = [&](const CompileJob& job) {
      CompileAnswer answer;
      answer.artifact.key = job.key;
      const auto is_other = [&](const auto& define) { return define.first + define.second == but; };
      if (std::any_of(job.request.defines.begin(), job.request.defines.end(), is_other)) return answer;
      answer.outcome = Outcome::compile_failed, answer.message = error;
      return answer;
    };
    const std::vector<SweptConfig> swept = sweep.compile(
        "[0]", [] { return false; }, keep_going);
    return std::count_if(swept.begin(), swept.end(), [](const SweptConfig& each) { return each.done; });
  };
  const std::string typo = "k.cu:4:27: error: 'xx' was not declared in this scope";
  const auto few = compiled(typo);
  CHECK((few >= 5 && few <= 10));
  CHECK(sweep.failure.starts_with(std::to_string(few) + " configurations, with every value of every parameter"));
  CHECK(sweep.failure.ends_with(typo));
  CHECK(compiled(typo, "none", true) == 40);
  for (const char* but : {"A2", "C3", "D4"}) CHECK(compiled(typo, but) == 40);
  CHECK(compiled("k.cu:4: error: static assertion failed: too large") == 40);
  CHECK(sweep.failure.empty());
  // The kernel may be whole where two values meet.
  std::ofstream(sweep.folder.path() / "k.cu") << "#if A * C == D\n#endif\nextern \"C\" __global__ void k(float*) {}\n";
  CHECK(compiled(typo) == 40);
  std::ofstream(sweep.folder.path() / "k.cu") << "#if A == 2\n#endif\nextern \"C\" __global__ void k(float*) {}\n";
  CHECK(compiled(typo) == few);
}

TEST_CASE("a parameter with which neither the binary nor the launch changes is named, and no other") {
  Sweep sweep;
  sweep.more = "B = [1, 2, 3]\nC = [1, 2]\n";
  std::string used = "C";
  sweep.compiler.respond = [&](const CompileJob& job) {
    CompileAnswer answer;
    answer.artifact.key = job.key;
    for (const auto& [name, value] : job.request.defines)
      if (name == used) answer.image_sha256 = "image " + value;
    return answer;
  };
  sweep.compile("[0, 64]");
  REQUIRE(sweep.without_effect.size() == 1);  // A and S are in the launch
  CHECK(sweep.without_effect[0] ==
        "B has no effect: its 3 values give the same binary and the same launch (compared at 8 settings of the other "
        "parameters). Does the kernel use that name?");
  used = "B";
  sweep.compile("[0]");
  REQUIRE(sweep.without_effect.size() == 1);
  CHECK(sweep.without_effect[0].starts_with("C has no effect: its 2 values"));
  std::ofstream(sweep.folder.path() / "k.cu") << "extern \"C\" __global__ void k(float*) {\n#pragma unroll C\n}\n";
  sweep.compile("[0]");
  REQUIRE(sweep.without_effect.size() == 1);
  CHECK(sweep.without_effect[0].starts_with("C has no effect with this compiler: its 2 values"));
  CHECK(sweep.without_effect[0].ends_with("the other parameters), though the source uses that name"));
  used = "unknown";  // without images nothing is compared
  sweep.compile("[0]");
  CHECK(sweep.without_effect.empty());
}

TEST_CASE("other compilers of the backend are asked about a source that one refuses") {
  Sweep sweep;
  std::ofstream(sweep.folder.path() / "k.cu")
      << "#include <cstdio>\n__global__ void k(float*) {}\nint main() { k<<<1, 1>>>(0); }\n";
  const Spec spec = parse_spec(
      "[kernel]\nname = \"k\"\nsource = \"k.cu\"\nentry = \"k\"\ncompile_timeout_s = 500\n[problem]\nN = "
      "8\n[space.params]\nA "
      "= [1, 2]\n[launch]\ngrid = [\"N\"]\nblock = [\"32\"]\n[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = "
      "[\"N\"]\nrole = \"out\"\n",
      "k.toml", sweep.folder.path(), {{}, "cuda"});
  Target target;
  target.backend.name = "cuda";
  target.backend.toolchain = "nvrtc 13.0, parts 0";
  target.device = sweep.device;
  target.arch = "sm_90";
  for (const char* name : {"nvrtc", "nvcc", "clang"}) {
    CompilerState& compiler = target.backend.compilers.emplace_back();
    compiler.name = name;
    compiler.toolchain = std::string(name) + " 13.0, parts 0";
  }
  std::set<std::string> accepting{"nvcc"};
  std::map<std::string, std::string> sources;
  sweep.compiler.respond = [&](const CompileJob& job) {
    const std::string name = job.request.toolchain.substr(0, job.request.toolchain.find(' '));
    sources[name] = job.request.source;
    CompileAnswer answer;
    answer.artifact.key = job.key;
    if (!accepting.contains(name)) answer.outcome = Outcome::compile_failed;
    return answer;
  };
  const auto asked = [&] {
    return other_compilers(spec, spec.cases.front(), target, {{"A", Value(std::int64_t{2})}},
                           sweep.folder.path() / "store", sweep.loop, sweep.compiler, [] { return false; });
  };
  CHECK(asked() == "nvcc compiled it when asked with this configuration: --compiler nvcc");
  CHECK(sources.size() == 2);                                    // the target's own is not asked again
  CHECK(sources["nvcc"].find("int main") != std::string::npos);  // they get the file as it stands
  accepting = {"nvcc", "clang"};
  CHECK(asked().starts_with("nvcc and clang compiled it"));
  accepting = {};
  CHECK(asked() == "nvcc and clang were asked and refuse it, too");
  target.backend.compilers[1].toolchain.clear();  // not installed
  target.backend.compilers[2].archs = {"sm_80"};
  CHECK(asked().empty());
}
