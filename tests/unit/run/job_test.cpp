// State that the runs of a tuning job share, and state of each run.
#include "core/run/job.hpp"

#include <doctest/doctest.h>

#include "unit/run/tuner_fixture.hpp"

using namespace xtune;
using fakes::Tuning;
using run::TuneOptions;
using run::TuningJob;

TEST_CASE("settings replace what they name of [search]") {
  spec::SearchSpec search;
  search.strategy = "exhaustive";
  search.evals = 7;
  run::apply({}, search);
  CHECK(search.strategy == "exhaustive");
  CHECK(search.evals == 7);
  run::apply({"random", "quick", 3, 5, 2.5}, search);
  CHECK(search.strategy == "random");
  CHECK(search.effort == "quick");
  CHECK(search.evals == 3);
  CHECK(search.seed == 5);
  CHECK(search.seconds == 2.5);
}

TEST_CASE("runs of a job share store and records, and have attempts of their own") {
  Tuning t;
  const spec::Spec spec = spec::parse_spec(t.spec_text(), "k.toml", t.folder.path());
  t.options.top = 3;
  TuningJob job(t.options, system::Kept::all);
  const TuneOptions first = job.next_run(spec, t.target, "a"), second = job.next_run(spec, t.target, "b");
  CHECK(first.store == t.options.store);
  CHECK(second.store == t.options.store);
  CHECK(second.scratch == "b");
  CHECK(second.top == 3);
  REQUIRE(first.records);
  CHECK(first.records == second.records);
  CHECK(job.attempts() == std::set{first.attempt, second.attempt});
  CHECK(job.attempts().size() == 2);
}

TEST_CASE("records of one architecture are not read for another, as a replay of several may have them") {
  Tuning t;
  const spec::Spec spec = spec::parse_spec(t.spec_text(), "k.toml", t.folder.path());
  TuningJob job(t.options, system::Kept::all);
  const TuneOptions first = job.next_run(spec, t.target, "a");
  t.target.device.arch = "sm_80";
  CHECK(job.next_run(spec, t.target, "a").records != first.records);
}

TEST_CASE("a job that keeps nothing gives each problem a store in its scratch directory") {
  Tuning t;
  const spec::Spec spec = spec::parse_spec(t.spec_text(), "k.toml", t.folder.path());
  TuningJob job(t.options, system::Kept::nothing);
  const TuneOptions options = job.next_run(spec, t.target, "scratch");
  CHECK(options.store == std::filesystem::path("scratch") / "store");
  CHECK_FALSE(options.records);
  CHECK(job.stored(spec, t.target).records.empty());
}

TEST_CASE("a job that keeps only artifacts takes them from the store, and neither reads nor writes its records") {
  Tuning t;
  const spec::Spec spec = spec::parse_spec(t.spec_text(), "k.toml", t.folder.path());
  t.run();
  TuningJob job(t.options, system::Kept::artifacts);
  const TuneOptions options = job.next_run(spec, t.target, "scratch");
  CHECK(options.store == std::filesystem::path("scratch") / "store");
  CHECK(options.artifact_store() == t.options.store);
  CHECK_FALSE(options.records);
  CHECK(job.stored(spec, t.target).records.empty());
}

TEST_CASE("a job's stored records answer unless all is measured again") {
  Tuning t;
  const spec::Spec spec = spec::parse_spec(t.spec_text(), "k.toml", t.folder.path());
  t.run();
  CHECK_FALSE(TuningJob(t.options, system::Kept::all).stored(spec, t.target).records.empty());
  t.options.fresh = true;
  CHECK(TuningJob(t.options, system::Kept::all).stored(spec, t.target).records.empty());
}
