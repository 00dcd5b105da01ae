// The tuner's compile jobs: when, in which order, how far ahead of the device, and for which purposes.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/validate/check_kernel.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using fakes::compiled;
using fakes::measured;
using fakes::only_a;
using fakes::Tuning;

}  // namespace

TEST_CASE("A CPU is never measured while its cores compile") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 31 }\n";
  t.target.device.vendor = "cpu";
  t.compiler.turns = 3;
  t.bench.turns = 2;
  bool fought = false;
  t.compiler.respond = [&](const CompileJob& job) {
    fought = fought || t.bench.busy;
    return compiled(job);
  };
  t.bench.respond = [&](const BenchJob&) {
    fought = fought || t.compiler.outstanding > 0;
    return measured(1);
  };
  CHECK(t.run().records.size() == 31);
  CHECK_FALSE(fought);
  CHECK_FALSE(t.bench.overlapped_itself);
  std::size_t compiling = 0;
  for (const std::string& event : t.journal) {
    if (event.starts_with("compile ")) ++compiling;
    if (event.starts_with("compiled ")) --compiling;
    if (event.starts_with("bench ")) CHECK(compiling == 0);
  }
}

TEST_CASE("On a GPU compiling and measuring overlap, one measurement at a time") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 31 }\n";
  t.bench.turns = 4;
  CHECK(t.run().records.size() == 31);
  CHECK_FALSE(t.bench.overlapped_itself);
  CHECK(t.compiler.max_outstanding >= t.compiler.parallel());
  bool benching = false;
  std::size_t compiled_meanwhile = 0;
  for (const std::string& event : t.journal) {
    if (event.starts_with("bench ")) benching = true;
    if (event.starts_with("benched ")) benching = false;
    if (event.starts_with("compiled ") && benching) ++compiled_meanwhile;
  }
  CHECK(compiled_meanwhile > 10);
}

TEST_CASE("Compilers run ahead of a slow device unless the search waits for its outcomes") {
  const auto compiled_before_the_third = [](const std::string& strategy) {
    Tuning t;
    t.parameters = "A = { min = 1, max = 32 }\nC = { min = 1, max = 10 }\n";
    t.rest = "[search]\nstrategy = \"" + strategy + "\"\nevals = 100\n";
    t.bench.turns = 200;
    CHECK(t.run().records.size() == 100);
    std::size_t compiled = 0, benched = 0;
    for (const std::string& event : t.journal) {
      compiled += event.starts_with("compiled ");
      benched += event.starts_with("benched ");
      if (benched == 3) break;
    }
    return compiled;
  };
  CHECK(compiled_before_the_third("random") == 100);
  CHECK(compiled_before_the_third("local") < 20);
}

TEST_CASE("The compilers learn which of the jobs that wait takes longest, unless the time may end the run") {
  const auto jobs_of = [](const std::string& search) {
    Tuning t;
    t.parameters = "A = { min = 1, max = 32 }\nC = { min = 1, max = 10 }\n";
    t.rest = "[search]\nevals = 100\n" + search;
    t.compiler.respond = [](const CompileJob& job) {
      CompileAnswer answer = compiled(job);
      const std::string a = Tuning::define(job, "A");
      answer.cpu_s = a.empty() ? 0 : 0.1 * std::stod(a);
      return answer;
    };
    CHECK(t.run().records.size() == 100);
    return t.compiler.jobs;
  };
  std::size_t expected = 0;
  for (const CompileJob& job : jobs_of("strategy = \"random\"\n")) {
    if (!job.expected_s) continue;
    ++expected;
    CHECK(*job.expected_s == doctest::Approx(0.1 * std::stod(Tuning::define(job, "A"))).epsilon(0.3));
  }
  CHECK(expected >= 40);
  const std::vector<CompileJob> learning = jobs_of("strategy = \"local\"\n");
  CHECK(std::ranges::count_if(learning, [](const CompileJob& job) { return job.expected_s.has_value(); }) >= 40);
  for (const CompileJob& job : jobs_of("strategy = \"random\"\nseconds = 1000\n")) CHECK_FALSE(job.expected_s);
}

TEST_CASE("A search that learns has work for every compiler while one of them takes long") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 32 }\nC = { min = 1, max = 20 }\n";
  t.rest = "[search]\nevals = 80\n";
  std::string longest;
  t.compiler.turns_of = [&](const CompileJob& job) {
    if (longest.empty()) longest = job.key;
    return job.key == longest ? 2000 : 3;
  };
  std::size_t idle = 0;
  t.compiler.respond = [&](const CompileJob& job) {
    idle += t.compiler.jobs.size() < 80 && t.compiler.outstanding + 1 < t.compiler.parallel();
    return compiled(job);
  };
  CHECK(t.run().records.size() == 80);
  CHECK(idle == 0);
  const auto end_of_longest = std::ranges::find(t.journal, "compiled " + longest);
  CHECK(std::count_if(t.journal.begin(), end_of_longest,
                      [](const std::string& event) { return event.starts_with("compiled "); }) >= 79);
}

TEST_CASE("A reference kernel is compiled for the run; one that does not compile is the spec's fault") {
  Tuning t;
  t.parameters = only_a;
  std::ofstream(t.folder.path() / "r.cu") << "reference\n";
  t.reference = "reference = { kernel = \"r\", source = \"r.cu\" }";
  t.run();
  CHECK(t.compiler.jobs.size() == 5);
  REQUIRE(t.bench.problems.size() == 1);
  CHECK(t.bench.problems[0].reference.kind == ReferenceSpec::Kind::kernel);
  CHECK(t.bench.problems[0].reference.scalars.size() == 1);

  t.options.fresh = true;
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = compiled(job);
    if (job.request.entry == "r") answer.outcome = Outcome::compile_failed, answer.log = "r.cu(1): error: no";
    return answer;
  };
  try {
    t.run();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_spec);
    const std::string text = error.what();
    CHECK(text.find("t.toml:") == 0);
    CHECK(text.find("r.cu(1): error: no") != std::string::npos);
  }
  // No callback may reach the run that is gone.
  t.loop.run_ready();
  t.loop.run_ready();
}

TEST_CASE("The kernel that checks on the device is compiled for the run; where it is not, the host checks") {
  Tuning t;
  t.parameters = only_a;
  t.target.own_memory = true;
  t.run();
  REQUIRE(t.bench.problems.size() == 1);
  const auto& kernel = t.bench.problems[0].check_kernel;
  REQUIRE(kernel);
  const auto is_check = [](const CompileJob& job) { return job.request.entry == validate::check_kernel::name; };
  const auto compiling = std::find_if(t.compiler.jobs.begin(), t.compiler.jobs.end(), is_check);
  REQUIRE(compiling != t.compiler.jobs.end());
  CHECK(kernel->key == compiling->key);
  CHECK(compiling->request.arch == t.target.arch);
  CHECK(t.observer.notes.empty());

  Tuning refused;
  refused.parameters = only_a;
  refused.target.own_memory = true;
  refused.compiler.respond = [&](const CompileJob& job) {
    CompileAnswer answer = compiled(job);
    if (is_check(job)) answer.outcome = Outcome::compile_failed, answer.message = "no such architecture";
    return answer;
  };
  const TuneResult result = refused.run();
  CHECK(result.counts.at(Outcome::ok) == 4);
  REQUIRE(refused.bench.problems.size() == 1);
  CHECK_FALSE(refused.bench.problems[0].check_kernel);
  REQUIRE(refused.observer.notes.size() == 1);
  CHECK(refused.observer.notes[0].find("compared on the host") != std::string::npos);
  CHECK(refused.observer.notes[0].find("no such architecture") != std::string::npos);
}

TEST_CASE("Every compile job carries its backend, cache and the kernel's time limit") {
  Tuning t;
  t.parameters = only_a;
  t.run();
  for (const CompileJob& job : t.compiler.jobs) {
    CHECK(job.backend == "cuda");
    CHECK(job.cache == t.options.store);
    CHECK(job.request.arch == "sm_90");
    CHECK(job.key.size() == 64);
  }
  for (const double timeout_s : t.compiler.timeouts_s) CHECK(timeout_s == 120);
}

TEST_CASE("Times are added up: the compilers' CPU, the device's turn, the wall clock of compiling") {
  Tuning t;
  t.parameters = only_a;
  t.compiler.respond = [&](const CompileJob& job) {
    CompileAnswer answer = compiled(job);
    answer.cpu_s = 0.25;
    t.clock.advance_s(0.5);
    return answer;
  };
  t.bench.respond = [](const BenchJob&) {
    BenchAnswer answer = measured(1);
    answer.busy_s = 2;
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(result.compile_cpu_s == doctest::Approx(1));
  CHECK(result.compile_wall_s == doctest::Approx(2));
  CHECK(result.device_busy_s == doctest::Approx(8));
}

TEST_CASE("An error that all configurations share ends the run; one that some do not have does not") {
  Tuning t;
  t.parameters = "A = [1, 2, 3, 4, 5, 6, 7, 8]\nC = [1, 2, 3, 4, 5]\nD = [1, 2, 3]\n";
  std::string right = "none";
  t.compiler.respond = [&](const CompileJob& job) {
    CompileAnswer answer = compiled(job);
    if (Tuning::define(job, "A") == right) return answer;
    answer.outcome = Outcome::compile_failed, answer.message = "k.cu:4: error: 'xx' is undefined";
    return answer;
  };
  t.bench.respond = [](const BenchJob&) { return measured(1); };
  for (const char* strategy : {"exhaustive", "random", "bayesian"}) {
    CAPTURE(strategy);
    t.rest = "[search]\nstrategy = \"" + std::string(strategy) + "\"\nevals = 120\n";
    t.options.fresh = true;
    right = "none";
    const TuneResult none = t.run();
    CHECK(none.evaluated() < 40);
    CHECK(none.counts.at(Outcome::compile_failed) == none.evaluated());
    CHECK_FALSE(none.out_of_time);
    CHECK_FALSE(none.interrupted);
    REQUIRE(t.observer.warnings.size() == 1);
    CHECK(t.observer.warnings[0].find("fail with this error, so the other") != std::string::npos);
    for (const char* value : {"3", "8"}) {
      right = value;
      const TuneResult some = t.run();
      CHECK(some.evaluated() == 120);
      CHECK(some.counts.at(Outcome::ok) == 15);
      CHECK(t.observer.warnings.empty());
    }
    t.options.keep_going = true;
    right = "none";
    CHECK(t.run().evaluated() == 120);
    t.options.keep_going = false;
  }
}
