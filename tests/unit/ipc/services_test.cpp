// Tests of the worker-backed services: every way a worker can end becomes the right outcome, or the right error.
#include "worker/ipc/services.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/run/device_pool.hpp"
#include "fakes/limited_child.hpp"
#include "system/files.hpp"
#include "worker/ipc/target.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;

struct Workers {
  TemporaryDirectory folder;
  EventLoop loop;
  std::string opened = (folder.path() / "opened").string();
  WorkerCommand command{{XTUNE_FAKE_SERVICE_WORKER, opened}, {}, {}};

  std::size_t times_opened() const {
    std::ifstream in(opened);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
};

CompileAnswer compile(Workers& workers, CompileService& service, const std::string& key, double timeout_s = 60) {
  std::optional<CompileAnswer> answer;
  CompileJob job;
  job.key = key;
  service.compile(job, timeout_s, [&](const CompileAnswer& given) { answer = given; });
  const bool came = workers.loop.run_until([&] { return answer.has_value(); });
  REQUIRE(came);
  return *answer;
}

BenchAnswer bench(Workers& workers, BenchService& service, const std::string& key, double timeout_s = 60) {
  std::optional<BenchAnswer> answer;
  BenchJob job;
  job.artifact.key = key;
  service.bench(job, timeout_s, [&](const BenchAnswer& given) { answer = given; });
  const bool came = workers.loop.run_until([&] { return answer.has_value(); });
  REQUIRE(came);
  return *answer;
}

template <class Body>
std::pair<ErrorKind, std::string> error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {ErrorKind::interrupted, "no error"};
}

}  // namespace

TEST_CASE("A bench worker that kernels have made large is replaced") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  service.set_problem({});
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(bench(workers, service, "leak").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 1);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 2);
}

TEST_CASE("Workers' temporary files lie where the run removes them") {
  for (const WorkerCommand& command :
       {compile_worker_command(1, "/run/of/mine"), bench_worker_command(false, "/run/of/mine"),
        bench_worker_command(true, "/run/of/mine")}) {
    const std::map<std::string, std::string> env(command.env.begin(), command.env.end());
    CHECK(env.at("TMPDIR") == "/run/of/mine");
    CHECK(env.at("XTUNE_TMP_DIR") == "/run/of/mine");
  }
}

TEST_CASE("Compile answers come back whole; refusals keep message and log") {
  Workers workers;
  PooledCompileService service(workers.loop, 2, workers.command);
  CHECK(service.parallel() == 2);
  const CompileAnswer ok = compile(workers, service, "ok");
  CHECK(ok.outcome == Outcome::ok);
  CHECK(ok.artifact.key == "ok");
  CHECK(ok.artifact.usage.registers == 42);
  CHECK(ok.cpu_s == 0.5);
  const CompileAnswer refused = compile(workers, service, "refuse");
  CHECK(refused.outcome == Outcome::compile_failed);
  CHECK(refused.message == "expected ';'");
  CHECK(refused.log == "the whole log");
}

TEST_CASE("A compiler that crashes or hangs costs its own job") {
  Workers workers;
  PooledCompileService service(workers.loop, 1, workers.command);
  const CompileAnswer crashed = compile(workers, service, "crash");
  CHECK(crashed.outcome == Outcome::crashed);
  CHECK(crashed.message.find("signal 11") != std::string::npos);
  CHECK(crashed.log.find("dying words") != std::string::npos);
  const CompileAnswer hung = compile(workers, service, "hang", 0.05);
  CHECK(hung.outcome == Outcome::timed_out);
  CHECK(hung.message.find("0.05 s") != std::string::npos);
  CHECK(hung.artifact.compile_s > 0);
  CHECK(compile(workers, service, "ok").outcome == Outcome::ok);
}

TEST_CASE("A compiler that is killed from outside is tried once more, and then not blamed") {
  Workers workers;
  PooledCompileService service(workers.loop, 2, workers.command);
  const CompileAnswer second = compile(workers, service, "killed once");
  CHECK(second.outcome == Outcome::ok);
  CHECK(second.lack == Lack::none);
  const CompileAnswer killed = compile(workers, service, "kill");
  CHECK(killed.outcome == Outcome::crashed);
  CHECK(killed.lack == Lack::killed);
  CHECK(killed.message.find("signal 9") != std::string::npos);
  CHECK(killed.message.find("not stored") != std::string::npos);
  // A failure that the source caused is not tried twice, and is attributed to the source.
  CHECK(compile(workers, service, "crash").lack == Lack::none);
  CHECK(compile(workers, service, "hang", 0.05).lack == Lack::none);
}

TEST_CASE("A compiler without memory is to blame where it met its own limit, with memory to spare") {
  Workers workers;
  workers.command.memory_limit_bytes = std::uint64_t{8} << 30;
  const auto lack = [&](std::uint64_t available_bytes) {
    PooledCompileService service(workers.loop, 2, workers.command, [=] { return available_bytes; });
    const CompileAnswer answer = compile(workers, service, "no memory");
    CHECK(answer.outcome == Outcome::crashed);
    return answer.lack;
  };
  CHECK(lack(std::uint64_t{9} << 30) == Lack::none);
  CHECK(lack(std::uint64_t{7} << 30) == Lack::memory);
  workers.command.memory_limit_bytes = 0;
  CHECK(lack(std::uint64_t{9} << 30) == Lack::memory);
}

TEST_CASE("A kernel's worker that is killed from outside is tried once more, and then not blamed") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  CHECK(bench(workers, service, "killed once").outcome == Outcome::ok);
  const BenchAnswer killed = bench(workers, service, "kill");
  CHECK(killed.outcome == Outcome::crashed);
  CHECK(killed.lack == Lack::killed);
  CHECK(bench(workers, service, "crash").lack == Lack::none);
  CHECK(bench(workers, service, "hang", 0.05).lack == Lack::none);
  Problem problem;
  problem.reference.kind = ReferenceSpec::Kind::kernel;
  problem.reference.name = "kill";
  service.set_problem(problem);
  CHECK(error_of([&] { bench(workers, service, "ok"); }).first == ErrorKind::io);
}

TEST_CASE("A program that is killed from outside is tried once more in a fresh worker, and then not blamed") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  CHECK(bench(workers, service, "program killed once").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 2);
  const BenchAnswer killed = bench(workers, service, "program killed");
  CHECK(killed.outcome == Outcome::launch_failed);
  CHECK(killed.lack == Lack::killed);
  CHECK(workers.times_opened() == 3);
  // A stopped program has used all of its time.
  CHECK(bench(workers, service, "program stopped").lack == Lack::killed);
  CHECK(workers.times_opened() == 3);
}

TEST_CASE("A worker that dies under a limit of the user's is not blamed") {
  const auto lacks = [] {
    Workers workers;
    PooledCompileService compiler(workers.loop, 1, workers.command);
    WorkerBenchService bencher(workers.loop, workers.command);
    const CompileAnswer compiled = compile(workers, compiler, "crash");
    const BenchAnswer benched = bench(workers, bencher, "crash");
    return std::string(to_string(compiled.lack)) + " " + to_string(benched.lack) + benched.message;
  };
  CHECK(fakes::under_limit(RLIMIT_DATA, rlim_t{1} << 50, lacks).starts_with("unclear unclear"));
  CHECK(fakes::under_limit(RLIMIT_DATA, rlim_t{1} << 50, lacks).find("ulimit -d") != std::string::npos);
  CHECK(lacks().starts_with("none none"));
}

TEST_CASE("An error of xtune's own comes out of the loop with its kind") {
  Workers workers;
  PooledCompileService compiler(workers.loop, 1, workers.command);
  CHECK(error_of([&] { compile(workers, compiler, "error"); }) ==
        std::pair(ErrorKind::unsupported, std::string("no such architecture")));
  WorkerBenchService bencher(workers.loop, workers.command);
  CHECK(error_of([&] { bench(workers, bencher, "error"); }).first == ErrorKind::io);
}

TEST_CASE("Workers that cannot be started are not a configuration's fault") {
  Workers workers;
  const WorkerCommand missing{{"/nonexistent/xtune"}, {}, {}};
  PooledCompileService compiler(workers.loop, 1, missing);
  const auto [kind, text] = error_of([&] { compile(workers, compiler, "ok"); });
  CHECK(kind == ErrorKind::unavailable);
  CHECK(text.find("/nonexistent/xtune") != std::string::npos);
  WorkerBenchService bencher(workers.loop, missing);
  CHECK(error_of([&] { bench(workers, bencher, "ok"); }).first == ErrorKind::unavailable);
}

TEST_CASE("A compiler that told a large peak makes the next ones wait for each other") {
  Workers workers;
  PooledCompileService compiler(workers.loop, 2, workers.command, [] { return std::uint64_t{4} << 30; });
  CHECK(compile(workers, compiler, "large").outcome == Outcome::ok);
  std::vector<Outcome> ended;
  CompileJob job;
  for (const char* key : {"hang", "ok"}) {
    job.key = key;
    compiler.compile(job, key == std::string("hang") ? 0.2 : 60,
                     [&](const CompileAnswer& answer) { ended.push_back(answer.outcome); });
  }
  REQUIRE(workers.loop.run_until([&] { return ended.size() == 2; }));
  CHECK(ended == std::vector<Outcome>{Outcome::timed_out, Outcome::ok});
}

TEST_CASE("The problem is sent once to each worker process, and again after a new one was set") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  service.set_problem({});
  CHECK(bench(workers, service, "ok").samples_ms == std::vector<double>{1, 2, 3});
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 1);
  CHECK(bench(workers, service, "crash").outcome == Outcome::crashed);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 3);
  service.set_problem({});
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 4);
}

TEST_CASE("A worker that was prepared opens the problem once; its first job may come at once or later") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  service.set_problem({});
  service.prepare();
  service.prepare();
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 1);
  service.set_problem({});
  service.prepare();
  const bool opened = workers.loop.run_until([&] { return workers.times_opened() == 2; });
  CHECK(opened);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  service.prepare();
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 2);
}

TEST_CASE("A problem that cannot be prepared is reported by the job") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command, WorkerBenchService::Role::further);
  Problem problem;
  for (const char* way : {"error", "crash"}) {
    problem.backend = way;
    service.set_problem(problem);
    service.prepare();
    CHECK(bench(workers, service, "ok").no_device);
  }
  problem.backend = "ok";
  service.set_problem(problem);
  service.prepare();
  service.cancel_all();
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
}

TEST_CASE("Kernels that crash, hang or fault cost their own configuration") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  const BenchAnswer crashed = bench(workers, service, "crash");
  CHECK(crashed.outcome == Outcome::crashed);
  CHECK(crashed.stage == "run");
  CHECK(crashed.log.find("dying words") != std::string::npos);
  const BenchAnswer hung = bench(workers, service, "hang", 0.05);
  CHECK(hung.outcome == Outcome::timed_out);
  CHECK(hung.busy_s == 0.05);
  CHECK(bench(workers, service, "hang emulated", 1).message ==
        "its launches and checks took longer than 30 s ([measure] timeout_s; a larger one allows more), so the worker "
        "was "
        "killed; after 8 s: kernel 'k', 's_branch 1'");
  CHECK(bench(workers, service, "wrong").log.find("on stderr") != std::string::npos);
}

TEST_CASE("What a kernel used up in its process is not blamed on the next one, nor on the next problem or the finals") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  CHECK(bench(workers, service, "leaves refused").outcome == Outcome::ok);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == 2);
  CHECK(bench(workers, service, "refused").outcome == Outcome::launch_failed);
  CHECK(workers.times_opened() == 3);
  for (const char* aftermath : {"leaves crash", "leaves no files"}) {
    CHECK(bench(workers, service, aftermath).outcome == Outcome::ok);
    service.set_problem({});
    CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  }
  CHECK(bench(workers, service, "leaves error").outcome == Outcome::ok);
  RoundsJob job;
  job.jobs.resize(1);
  job.rounds = {{0}};
  std::optional<RoundsAnswer> answer;
  service.measure_rounds(job, 60, [&](const RoundsAnswer& given) { answer = given; });
  REQUIRE(workers.loop.run_until([&] { return answer.has_value(); }));
  CHECK(answer->outcome == Outcome::ok);
}

TEST_CASE("Where a kernel cut its worker off from all files, another worker finds them") {
  Workers workers;
  PooledCompileService compiler(workers.loop, 1, workers.command);
  WorkerBenchService worker(workers.loop, workers.command);
  RebuildingBench service(worker, compiler, 60);
  Problem problem;
  problem.compile_job = [](const Bindings&) {
    CompileJob again;
    again.key = "ok";
    return again;
  };
  service.set_problem(problem);
  BenchJob job;
  for (const char* key : {"leaves no files", "ok"}) {
    job.artifact.key = key;
    std::optional<BenchAnswer> answer;
    service.bench(job, 60, [&](const BenchAnswer& given) { answer = given; });
    REQUIRE(workers.loop.run_until([&] { return answer.has_value(); }));
    CHECK(answer->outcome == Outcome::ok);
  }
  CHECK(workers.times_opened() == 2);
}

TEST_CASE("What a kernel prints is in its log, is mentioned once, and a failed assertion is the message") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  Problem problem;
  std::vector<std::string> warnings;
  problem.warn = [&](const std::string& text) { warnings.push_back(text); };
  service.set_problem(problem);
  CHECK(bench(workers, service, "ok").log.empty());
  CHECK(warnings.empty());
  CHECK(bench(workers, service, "prints").log == "\nhello 64\nhello 65\n");
  CHECK(bench(workers, service, "prints").outcome == Outcome::ok);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == "a kernel prints, for example 'hello 64': --log FILE keeps it, and the times include it");
  const BenchAnswer failed = bench(workers, service, "assertion");
  CHECK(failed.outcome == Outcome::crashed);
  CHECK(failed.message == "k.cu:32: void k(int*): Assertion `n == 3' failed.");
  const BenchAnswer on_gpu = bench(workers, service, "device assertion");
  CHECK(on_gpu.message ==
        "device-side assert: k.cu:5: void k(): block: [0,0,0], thread: [0,0,0] Assertion `x` failed.");
  // A program prints what it likes.
  problem.backend = "process";
  service.set_problem(problem);
  bench(workers, service, "prints");
  CHECK(warnings.size() == 1);
}

TEST_CASE("What a kernel did to its worker's memory is not blamed on the next one") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  std::size_t opened = 1;
  for (const char* aftermath : {"crash", "hang", "error"}) {
    CAPTURE(aftermath);
    CHECK(bench(workers, service, std::string("then ") + aftermath).outcome == Outcome::wrong_result);
    CHECK(bench(workers, service, "ok", 0.5).outcome == Outcome::ok);
    CHECK(workers.times_opened() == ++opened);
  }
}

TEST_CASE("What a kernel prints is in its log, is mentioned once, and a failed assertion is the message") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  Problem problem;
  std::vector<std::string> warnings;
  problem.warn = [&](const std::string& text) { warnings.push_back(text); };
  service.set_problem(problem);
  CHECK(bench(workers, service, "ok").log.empty());
  CHECK(warnings.empty());
  CHECK(bench(workers, service, "prints").log == "\nhello 64\nhello 65\n");
  CHECK(bench(workers, service, "prints").outcome == Outcome::ok);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == "a kernel prints, for example 'hello 64': --log FILE keeps it, and the times include it");
  const BenchAnswer failed = bench(workers, service, "assertion");
  CHECK(failed.outcome == Outcome::crashed);
  CHECK(failed.message == "k.cu:32: void k(int*): Assertion `n == 3' failed.");
  const BenchAnswer on_gpu = bench(workers, service, "device assertion");
  CHECK(on_gpu.message ==
        "device-side assert: k.cu:5: void k(): block: [0,0,0], thread: [0,0,0] Assertion `x` failed.");
  // A program prints what it likes.
  problem.backend = "process";
  service.set_problem(problem);
  bench(workers, service, "prints");
  CHECK(warnings.size() == 1);
}

TEST_CASE("What a kernel did to its worker's memory does not end the next problem") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  CHECK(bench(workers, service, "then crash").outcome == Outcome::wrong_result);
  service.set_problem({});
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
}

TEST_CASE("A failure in a worker that others used before is the configuration's own where a fresh one fails too") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(bench(workers, service, "crash").outcome == Outcome::crashed);
  CHECK(workers.times_opened() == 2);
  // Its time is spent twice only where something was wrong before.
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(bench(workers, service, "hang", 0.05).outcome == Outcome::timed_out);
  CHECK(workers.times_opened() == 3);
  CHECK(bench(workers, service, "wrong").outcome == Outcome::wrong_result);
  CHECK(bench(workers, service, "hang", 0.05).outcome == Outcome::timed_out);
  CHECK(workers.times_opened() == 5);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(error_of([&] { bench(workers, service, "error"); }).second == "artifact is damaged");
  CHECK(workers.times_opened() == 7);
}

TEST_CASE("Rounds come back from the worker; who took it down is told only where it can tell") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  const auto rounds = [&](const std::vector<std::string>& keys, double timeout_s = 60) {
    RoundsJob job;
    for (const std::string& key : keys) {
      job.jobs.emplace_back();
      job.jobs.back().artifact.key = key;
    }
    job.rounds = {{0, 1}, {1, 0}};
    std::optional<RoundsAnswer> answer;
    service.measure_rounds(job, timeout_s, [&](const RoundsAnswer& given) { answer = given; });
    REQUIRE(workers.loop.run_until([&] { return answer.has_value(); }));
    return *answer;
  };
  const RoundsAnswer answer = rounds({"ok", "fine"});
  CHECK(answer.outcome == Outcome::ok);
  CHECK(answer.samples_ms == std::vector<std::vector<double>>{{2, 2}, {4, 4}});
  CHECK(answer.taints == std::vector<std::string>{"warm"});
  const RoundsAnswer crashed = rounds({"ok", "crash"});
  CHECK(crashed.outcome == Outcome::crashed);
  CHECK_FALSE(crashed.failed);
  CHECK(crashed.log.find("dying words") != std::string::npos);
  CHECK(rounds({"ok", "fault"}).failed == 1);
  CHECK(rounds({"hang", "ok"}, 0.05).outcome == Outcome::timed_out);
  CHECK(rounds({"ok", "ok"}).outcome == Outcome::ok);
  CHECK(workers.times_opened() == 4);
}

TEST_CASE("A worker that reports a lost device is gone before the next configuration comes") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  for (int i = 0; i < 3; ++i) {
    CHECK(bench(workers, service, "fault").outcome == Outcome::crashed);
    const BenchAnswer next = bench(workers, service, "ok");
    CHECK(next.outcome == Outcome::ok);
    CHECK(next.message == "");
  }
  CHECK(workers.times_opened() == 4);
}

TEST_CASE("A problem that cannot be prepared ends the run with the reason") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  Problem problem;
  problem.backend = "error";
  service.set_problem(problem);
  CHECK(error_of([&] { bench(workers, service, "ok"); }) ==
        std::pair(ErrorKind::invalid_spec, std::string("a.npy: wrong shape")));
  problem.backend = "crash";
  service.set_problem(problem);
  const auto [kind, text] = error_of([&] { bench(workers, service, "ok"); });
  CHECK(kind == ErrorKind::unavailable);
  CHECK(text.find("preparing inputs") != std::string::npos);
}

TEST_CASE("An artifact that the store lost is named, and costs neither the worker nor the run") {
  for (const auto role : {WorkerBenchService::Role::first, WorkerBenchService::Role::further}) {
    Workers workers;
    WorkerBenchService service(workers.loop, workers.command, role);
    Problem problem;
    problem.reference.kind = ReferenceSpec::Kind::kernel;
    problem.reference.name = "missing";
    service.set_problem(problem);
    const BenchAnswer without_reference = bench(workers, service, "ok");
    CHECK(without_reference.missing_artifact == "missing");
    CHECK_FALSE(without_reference.no_device);
    problem.reference.name = "ok";
    service.set_problem(problem);
    CHECK(bench(workers, service, "ok").missing_artifact.empty());
    CHECK(bench(workers, service, "missing").missing_artifact == "missing");
    RoundsJob job;
    job.jobs.resize(1);
    job.jobs.front().artifact.key = "missing";
    job.rounds = {{0}};
    std::optional<RoundsAnswer> answer;
    service.measure_rounds(job, 60, [&](const RoundsAnswer& given) { answer = given; });
    REQUIRE(workers.loop.run_until([&] { return answer.has_value(); }));
    CHECK(answer->missing_artifact == "missing");
    CHECK(bench(workers, service, "ok").samples_ms.size() == 3);
    CHECK(workers.times_opened() == 2);
  }
}

TEST_CASE("A further device that does not open is reported in the answer, and may be tried again") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command, WorkerBenchService::Role::further);
  Problem problem;
  const auto answer_where = [&](const std::string& open, const std::string& reference) {
    problem.backend = open;
    problem.reference.kind = ReferenceSpec::Kind::kernel;
    problem.reference.name = reference;
    service.set_problem(problem);
    return bench(workers, service, "ok");
  };
  const BenchAnswer refused = answer_where("error", "ok");
  CHECK(refused.no_device);
  CHECK(refused.message == "a.npy: wrong shape");
  CHECK(refused.outcome != Outcome::ok);
  const BenchAnswer crashed = answer_where("crash", "ok");
  CHECK(crashed.no_device);
  CHECK(crashed.message.find("preparing inputs") != std::string::npos);
  CHECK(answer_where("ok", "error").no_device);
  CHECK(answer_where("ok", "crash").no_device);
  const BenchAnswer opened = answer_where("ok", "ok");
  CHECK_FALSE(opened.no_device);
  CHECK(opened.outcome == Outcome::ok);
  // A failure of a configuration is attributed to it.
  CHECK_FALSE(bench(workers, service, "crash").no_device);
}

TEST_CASE("A further device whose worker cannot start is reported in the answer") {
  Workers workers;
  WorkerBenchService service(workers.loop, {{"/does/not/exist"}, {}, {}}, WorkerBenchService::Role::further);
  const BenchAnswer answer = bench(workers, service, "ok");
  CHECK(answer.no_device);
  CHECK(answer.message.find("could not be started") != std::string::npos);
}

TEST_CASE("A reference that hangs or crashes is named at its place; its time follows the measurement's") {
  Workers workers;
  WorkerBenchService service(workers.loop, workers.command);
  Problem problem;
  problem.reference.at = "k.toml:9:1";
  problem.measure.timeout_s = 0.005;
  const auto failure = [&](ReferenceSpec::Kind kind, const std::string& name) {
    problem.reference.kind = kind;
    problem.reference.name = name;
    service.set_problem(problem);
    return error_of([&] { bench(workers, service, "ok"); });
  };
  const auto hung = failure(ReferenceSpec::Kind::kernel, "hang");
  CHECK(hung.first == ErrorKind::invalid_spec);
  CHECK(hung.second.starts_with("k.toml:9:1: the reference kernel 'hang' took longer than 50 ms"));
  const auto slow = failure(ReferenceSpec::Kind::builtin, "hang");
  CHECK(slow.second.starts_with("k.toml:9:1: the reference 'hang' took longer than 100 ms"));
  const auto crashed = failure(ReferenceSpec::Kind::kernel, "crash");
  CHECK(crashed.first == ErrorKind::invalid_spec);
  CHECK(crashed.second.starts_with("k.toml:9:1: the reference kernel 'crash' died: killed by signal 11"));
  CHECK(crashed.second.find("dying words") != std::string::npos);
  CHECK(failure(ReferenceSpec::Kind::kernel, "error").second == "k.toml:9:1: out of bounds");
  const std::size_t before = workers.times_opened();
  problem.measure.timeout_s = 30;
  problem.reference.name = "fine";
  service.set_problem(problem);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(bench(workers, service, "ok").outcome == Outcome::ok);
  CHECK(workers.times_opened() == before + 1);
}

TEST_CASE("After cancel_all no answer comes, and both services stay usable") {
  Workers workers;
  PooledCompileService compiler(workers.loop, 2, workers.command);
  WorkerBenchService bencher(workers.loop, workers.command);
  for (int i = 0; i < 5; ++i) {
    CompileJob job;
    job.key = "hang";
    compiler.compile(job, 60, [](const CompileAnswer&) { FAIL("cancelled"); });
  }
  BenchJob job;
  job.artifact.key = "hang";
  bencher.bench(job, 60, [](const BenchAnswer&) { FAIL("cancelled"); });
  workers.loop.run_ready();
  compiler.cancel_all();
  bencher.cancel_all();
  CHECK(compile(workers, compiler, "ok").outcome == Outcome::ok);
  CHECK(bench(workers, bencher, "ok").outcome == Outcome::ok);
}

TEST_CASE("What a probe found keeps its meaning as JSON, unreadable bytes aside") {
  BackendState state;
  state.name = "host";
  state.devices.resize(2);
  state.devices[1].name = "A CPU";
  state.devices[1].shared_per_block = 49152;
  state.device_reason = "bad \xff byte";
  state.toolchain = "g++ 12";
  state.default_arch = "x86_64_v3";
  const BackendState same = backend_state_from_json(nlohmann::json::parse(to_json(state).dump()));
  CHECK(same.name == "host");
  REQUIRE(same.devices.size() == 2);
  CHECK(same.devices[1].name == "A CPU");
  CHECK(same.devices[1].shared_per_block == 49152);
  CHECK(same.device_reason.starts_with("bad "));
  CHECK(same.toolchain == "g++ 12");
  CHECK(same.default_arch == "x86_64_v3");
}

TEST_CASE("An unknown backend is refused by name before any process starts") {
  TargetOptions options;
  options.backend = "cudda";
  const auto [kind, text] = error_of([&] { choose_target(options); });
  CHECK(kind == ErrorKind::invalid_argument);
  CHECK(text.find("cuda") != std::string::npos);
}
