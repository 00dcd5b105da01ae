// Limits of jobs, and when to stop.
#include "cluster/walltime.hpp"

#include <doctest/doctest.h>

#include <map>

#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::cluster;

using namespace xtune;

namespace {

struct SlurmJob {
  std::map<std::string, std::string> variables;
  std::string squeue;
  std::vector<std::vector<std::string>> asked{};

  std::optional<Walltime> walltime(const std::string& given = "auto") {
    return find_walltime(
        given, 1'000'000'000,
        [this](const char* name) {
          const auto found = variables.find(name);
          return found == variables.end() ? std::nullopt : std::optional(found->second);
        },
        [this](const std::vector<std::string>& argv) {
          asked.push_back(argv);
          return squeue;
        });
  }
};

}  // namespace

TEST_CASE("Durations as Slurm writes them") {
  CHECK(parse_duration("90") == 90);
  CHECK(parse_duration("1:30") == 90);
  CHECK(parse_duration("2:00:01") == 7201);
  CHECK(parse_duration("1-02:03:04") == 86400 + 7384);
  CHECK(parse_duration("2-12") == 2 * 86400 + 12 * 3600);
  for (const char* other : {"", "-", "1-", "a", "1:2:3:4", "UNLIMITED", "INVALID", "NOT_SET", "-5", "1.5", "1:", ":1"})
    CHECK_MESSAGE(!parse_duration(other), other);
}

TEST_CASE("A job's limit comes from the variable, else from squeue, else it is unknown") {
  SlurmJob none;
  CHECK_FALSE(none.walltime());
  CHECK(none.asked.empty());

  SlurmJob told{{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "1000600"}}, "1:00\n"};
  CHECK(told.walltime()->remaining_s == 600);
  CHECK(told.walltime()->source == "SLURM_JOB_END_TIME");
  CHECK(told.asked.empty());

  SlurmJob asked{{{"SLURM_JOB_ID", "7"}}, "1:30\n"};
  CHECK(asked.walltime()->remaining_s == 90);
  CHECK(asked.asked == std::vector<std::vector<std::string>>{{"squeue", "-h", "-j", "7", "-o", "%L"}});

  SlurmJob heterogeneous{{{"SLURM_JOB_ID", "7"}}, "5:00\n4:00\nUNLIMITED\n"};
  CHECK(heterogeneous.walltime()->remaining_s == 240);
  SlurmJob unlimited{{{"SLURM_JOB_ID", "7"}}, "UNLIMITED\n"};
  CHECK_FALSE(unlimited.walltime());
  SlurmJob no_squeue{{{"SLURM_JOB_ID", "7"}}, ""};
  CHECK_FALSE(no_squeue.walltime());
}

TEST_CASE("The user's setting counts first") {
  SlurmJob job{{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "1000600"}, {"XTUNE_WALLTIME", "0:20"}}, ""};
  CHECK(job.walltime()->remaining_s == 20);
  CHECK(job.walltime()->source == "XTUNE_WALLTIME");
  CHECK(job.walltime("30")->remaining_s == 30);
  CHECK_FALSE(job.walltime("none"));
  CHECK_THROWS_WITH_AS(job.walltime("soon"), doctest::Contains("--walltime 'soon'"), Error);
  job.variables["XTUNE_WALLTIME"] = "0";
  CHECK_THROWS_WITH_AS(job.walltime(), doctest::Contains("XTUNE_WALLTIME '0'"), Error);
}

TEST_CASE("The reserve is twice the slowest configuration and a margin") {
  using Step = StopRule::Step;
  StopRule rule(600);  // a margin of 30 s
  CHECK(rule.reserve_s() == 30);
  CHECK(rule.at(31) == Step::go_on);
  rule.measured(20);
  rule.measured(5);
  CHECK(rule.reserve_s() == 70);
  CHECK(rule.at(71) == Step::go_on);
  CHECK(rule.at(70) == Step::drain);
  CHECK(rule.at(16) == Step::drain);
  CHECK(rule.at(15) == Step::stop);
  CHECK(StopRule(10).reserve_s() == 2);
  CHECK(StopRule(1e6).reserve_s() == 60);
}

TEST_CASE("Only squeue is asked if neither option nor variable gives the limit") {
  const auto only = [](const std::string& given, const std::map<std::string, std::string>& variables) {
    return only_a_command_knows(given, [&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  CHECK(only("auto", {{"SLURM_JOB_ID", "7"}}));
  CHECK(only("auto", {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "soon"}}));
  CHECK_FALSE(only("auto", {}));
  CHECK_FALSE(only("auto", {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "1000600"}}));
  CHECK_FALSE(only("auto", {{"SLURM_JOB_ID", "7"}, {"XTUNE_WALLTIME", "5"}}));
  CHECK_FALSE(only("none", {{"SLURM_JOB_ID", "7"}}));
  CHECK_FALSE(only("auto", {{"SLURM_JOB_ID", "--help"}}));
}

TEST_CASE("An invalid job variable is neither a limit nor an option of squeue") {
  SlurmJob option{{{"SLURM_JOB_ID", "-v"}}, "0\n"};
  CHECK_FALSE(option.walltime());
  CHECK(option.asked.empty());
  SlurmJob never{{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "0"}}, "1:00\n"};
  CHECK(never.walltime()->remaining_s == 60);
}

TEST_CASE("One process of a job shares the time of its end with the others") {
  const TemporaryDirectory store;
  std::map<std::string, std::string> variables{{"SLURM_JOB_ID", "7"}};
  const auto get = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const JobEnd first(store.path(), "a study", get), other(store.path(), "a study", get);
  CHECK_FALSE(other.heard(1'000'000));
  first.tell(Walltime{60, "squeue"}, 1'000'000);
  // Ten seconds later, on another node.
  REQUIRE(other.heard(1'010'000));
  CHECK(other.heard(1'010'000)->walltime->remaining_s == 50);
  first.tell(std::nullopt, 1'010'000);
  REQUIRE(other.heard(1'010'000));
  CHECK_FALSE(other.heard(1'010'000)->walltime);

  variables["SLURM_RESTART_COUNT"] = "1";
  CHECK_FALSE(JobEnd(store.path(), "a study", get).heard(1'010'000));

  for (const auto& file : std::filesystem::recursive_directory_iterator(store.path()))
    if (file.is_regular_file())
      for (const char* damaged : {"", "12", "x\n", "12x\n", "99999999999999999999\n"}) {
        write_file_atomically(file.path(), damaged);
        CHECK_MESSAGE(!other.heard(1'010'000), damaged);
      }
  // The directory cannot be created, which does no harm.
  JobEnd("/proc/nowhere", "s", get).tell(std::nullopt, 0);
}
