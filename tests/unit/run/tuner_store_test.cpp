// Tests of what a run says of its store.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "tuner_fixture.hpp"

TEST_CASE("Damaged records are told once, with a count, and what is sound is kept") {
  xtune::fakes::Tuning t;
  t.run();
  REQUIRE(t.observer.warnings.empty());
  for (const auto& file : std::filesystem::recursive_directory_iterator(t.options.store / "records"))
    if (file.is_regular_file()) {
      std::ofstream records(file.path(), std::ios::app);
      for (int i = 0; i < 40; ++i) records << "{\"x\n";
    }
  const xtune::TuneResult again = t.run();
  CHECK(again.from_store == 6);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().find("(40 times)") != std::string::npos);
}

TEST_CASE("A store that takes no record is told once, and at the end how many it lacks") {
  xtune::fakes::Tuning t;
  t.options.store = "/dev/null/store";
  const xtune::TuneResult result = t.run();
  CHECK(result.records.size() == 6);
  const auto& warnings = t.observer.warnings;
  CHECK(std::count_if(warnings.begin(), warnings.end(),
                      [](const std::string& text) { return text.find(".jsonl") != std::string::npos; }) == 1);
  CHECK(warnings.back().rfind("6 records could not be stored", 0) == 0);
}

TEST_CASE("A failure that the machine may have caused counts in this run, is not stored, and is told once") {
  xtune::fakes::Tuning t;
  using namespace xtune;
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = fakes::compiled(job);
    if (fakes::Tuning::define(job, "A") == "1")
      answer.outcome = Outcome::crashed, answer.lack = Lack::killed, answer.message = "killed by signal 9";
    return answer;
  };
  t.bench.respond = [](const BenchJob& job) {
    BenchAnswer answer = fakes::measured(2);
    if (fakes::a_of(job) == 2) {
      answer.outcome = Outcome::launch_failed;
      answer.lack = Lack::unclear;
      answer.message = "sh: 0: Cannot fork";
      answer.samples_ms.clear();
    }
    return answer;
  };
  const TuneResult first = t.run();
  CHECK(first.counts ==
        std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::crashed, 2}, {Outcome::launch_failed, 2}});
  REQUIRE(t.observer.warnings.size() == 2);
  CHECK(t.observer.warnings[0].find("not stored") != std::string::npos);
  CHECK(t.observer.warnings[1].rfind("4 failures are not stored", 0) == 0);
  t.compiler.respond = {};
  t.bench.respond = {};
  const TuneResult second = t.run();
  CHECK(second.from_store == 2);
  CHECK(second.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 6}});
}

TEST_CASE("A reference whose compiler was killed does not make the spec wrong") {
  using namespace xtune;
  for (const auto& [outcome, lack, expected] :
       {std::tuple(Outcome::crashed, Lack::killed, ErrorKind::io),
        std::tuple(Outcome::crashed, Lack::none, ErrorKind::io),
        std::tuple(Outcome::timed_out, Lack::killed, ErrorKind::io),
        std::tuple(Outcome::compile_failed, Lack::none, ErrorKind::invalid_spec),
        std::tuple(Outcome::timed_out, Lack::none, ErrorKind::invalid_spec)}) {
    fakes::Tuning t;
    std::ofstream(t.folder.path() / "ref.cu") << "extern \"C\" __global__ void ref(const float*, float*, int) {}\n";
    t.reference = "reference = { kernel = \"ref\", source = \"ref.cu\", grid = [1], block = [1] }";
    t.compiler.respond = [&, outcome = outcome, lack = lack](const CompileJob& job) {
      CompileAnswer answer = fakes::compiled(job);
      if (job.request.entry == "ref") answer.outcome = outcome, answer.lack = lack;
      return answer;
    };
    ErrorKind kind = ErrorKind::interrupted;
    try {
      t.run();
    } catch (const Error& error) {
      kind = error.kind();
    }
    CHECK(kind == expected);
  }
}
