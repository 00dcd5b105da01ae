// Files of batch systems: their mistakes, their templates, and the answers of each system that comes with xtune, as its
// commands print them, or as its manual shows them (LSF).
#include "cluster/batch_system.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "cluster/submission.hpp"
#include "cluster/walltime.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::cluster;

using namespace xtune;
using namespace xtune::test;

namespace {

const std::string least = R"(name = "Own"
[submit]
command = ["ownsub"]
job = '(\d+)'
dependency = ["--after={job}"]
[options]
prefix = "#OWN"
[start]
command = "ownrun -n {ranks}"
[job]
id = "OWN_JOB"
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = least;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string mistake(const std::string& text) {
  try {
    read_batch_system(text, "own.toml");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_spec);
    return error.what();
  }
  return "";
}

/// One job, whose system answers so.
JobState state(const std::string& system, const std::string& job, const std::vector<std::string>& answers) {
  std::size_t asked = 0;
  const auto states = job_states(choose_batch_system(system), {job}, [&](const Words&) { return answers.at(asked++); });
  return states.contains(job) ? states.at(job) : JobState{"unknown", "unknown"};
}

std::optional<Walltime> left(const std::map<std::string, std::string>& variables, const std::string& answer) {
  return find_walltime(
      "auto", 1'667'293'200'000,
      [&](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      [&](const Words&) { return answer; });
}

Submission submission_for(const std::string& system, const std::filesystem::path& folder) {
  Submission submission;
  submission.system = &choose_batch_system(system);
  submission.name = "suite-1";
  submission.store = folder / "a store";
  submission.folder = submission.store / "submissions" / "suite-1";
  submission.program = "/opt/my tools/xtune";
  submission.specs = {"/data/a b.toml"};
  submission.components = {JobComponent{"", 2, 2, "", "", "gpuq"}};
  return submission;
}

}  // namespace

TEST_CASE("The least file is complete; errors name file, line and key") {
  CHECK(mistake(least).empty());
  CHECK(read_batch_system(least, "dir/own.toml").id == "own");
  CHECK(has(mistake("name = \"Own\"\n"), "own.toml:1:1: a batch system needs [submit]"));
  CHECK(has(mistake(with("name =", "nme =")), "own.toml:1:1: unknown key 'nme' in the batch system (did you mean"));
  CHECK(
      has(mistake(with("prefix", "prefx")), "own.toml:7:1: unknown key 'prefx' in [options] (did you mean 'prefix'?)"));
  CHECK(has(mistake(with("prefix = \"#OWN\"", "")), "own.toml:6:1: [options] has no 'prefix'"));
  CHECK(has(mistake(with("\"#OWN\"", "\"\"")), "own.toml:6:1: options.prefix is empty"));
  CHECK(has(mistake(with("{ranks}", "{rank}")),
            "own.toml:9:11: start.command: unknown placeholder '{rank}' (did you mean 'ranks'?)"));
  CHECK(has(mistake(with("'(\\d+)'", "'(\\d+'")), "own.toml:4:7: submit.job: missing )"));
  CHECK(has(mistake(with("'(\\d+)'", "'\\d+'")), "submit.job: expected 1 groups in parentheses, got 0"));
  CHECK(has(mistake(with("[\"ownsub\"]", "\"ownsub\"")),
            "own.toml:3:11: submit.command: expected an array, got a string"));
  CHECK(has(mistake(with("command = \"ownrun -n {ranks}\"", "hosts = \"cat x\"")),
            "own.toml:8:1: [start] needs either 'command', or 'hosts' and 'on_host'"));
  CHECK(has(mistake(least + "[options2]\n"), "own.toml:12:"));
  CHECK(has(mistake("name = Own"), "own.toml:1:8:"));
}

TEST_CASE("Systems are chosen by name") {
  for (const char* name : {"slurm", "flux", "pbs", "lsf", "sge"}) CHECK(choose_batch_system(name).id == name);
  CHECK_THROWS_WITH_AS(choose_batch_system("slrum"),
                       doctest::Contains("(did you mean 'slurm'?); there are slurm, flux"), Error);
}

TEST_CASE("Templates") {
  const Values values{{"nodes", "2"}, {"job", "7"}};
  CHECK(fill("-N{nodes}", values) == "-N2");
  CHECK(fill("-g{gpus_per_rank}", values) == std::nullopt);
  CHECK(fill("select={nodes}{?:ngpus={gpus_per_node}?}:x", values) == "select=2:x");
  CHECK(fill("a{?:n={nodes}?}b", values) == "a:n=2b");
  CHECK(fill("{{id}} {nodes} ${A:+{?x{job}?}} { }", values) == "{{id}} 2 ${A:+x7} { }");
  const auto variable = [](const char* name) {
    return name == std::string("JOB") ? std::optional<std::string>("7") : std::nullopt;
  };
  CHECK(fill_variables("a-{?{OUTER}.?}{JOB}", variable) == "a-7");
  CHECK(fill_variables("a-{OUTER}.{JOB}", variable) == std::nullopt);
  CHECK(fill_words({"-l nodes={nodes}", "-g {gpus_per_rank}", "-w 'ended({job})'"}, values) ==
        Words{"-l", "nodes=2", "-w", "ended(7)"});
  CHECK(fill_words({"stat", "{jobs...}", "-j{jobs}"}, {{"jobs", "1,2"}}) == Words{"stat", "1", "2", "-j1,2"});
}

TEST_CASE("Times in the units of each system") {
  const auto options = [](const char* system) { return &choose_batch_system(system).options; };
  CHECK(write_duration(5400, *options("slurm")) == "90");
  CHECK(write_duration(61, *options("lsf")) == "2");
  CHECK(write_duration(5400, *options("pbs")) == "1:30:00");
  CHECK(write_duration(5400, *options("sge")) == "5400");
  CHECK(parse_duration("90", options("slurm")) == 5400);
  CHECK(parse_duration("90:30", options("slurm")) == 5430);
  CHECK(parse_duration("1-12", options("slurm")) == 36 * 3600);
  CHECK(parse_duration("1:30", options("lsf")) == 5400);
  CHECK(parse_duration("3600", options("sge")) == 3600);
  CHECK(parse_duration("2h", options("flux")) == 7200);
}

TEST_CASE("Users' options of other systems are recognized") {
  const auto given = [](const char* system) { return choose_batch_system(system).given; };
  CHECK(given_option(given("pbs").time, {"-l", "mem=4gb,walltime=1:00:00,ncpus=2"}).words ==
        Words{"-l", "walltime=1:00:00"});
  CHECK(given_option(given("sge").time, {"-l", "h_rt=3600", "-A", "p"}).value == "3600");
  CHECK(given_option(given("sge").account, {"-ac", "x=1", "-A", "p"}).words == Words{"-A", "p"});
  CHECK(given_option(given("lsf").time, {"-W", "1:00"}).words == Words{"-W", "1:00"});
  CHECK(given_option(given("flux").account, {"--bank=b", "-t30m"}).words == Words{"--bank=b"});
  check_options(choose_batch_system("sge"), {"-pe", "mpi", "4", "-notify", "-l", "h_rt=60"}, "behind --");
  CHECK_THROWS_WITH_AS(check_options(choose_batch_system("sge"), {"-t", "1-4"}, "behind --"),
                       doctest::Contains("once for each index"), Error);
  CHECK_THROWS_WITH_AS(check_options(choose_batch_system("lsf"), {"-W", "10", "job.sh"}, "behind --"),
                       doctest::Contains("bsub would take it for the script"), Error);
}

TEST_CASE("Ids in the answers of submit commands") {
  const auto job = [](const char* system, const std::string& answer) {
    return job_in_answer(choose_batch_system(system), answer);
  };
  CHECK(job("slurm", "sbatch: lua: hello\n123;cluster\n") == "123");
  CHECK(job("slurm", "would start tomorrow\n").empty());
  CHECK(job("flux", "\u0192M7Zq9AKHno\n") == "\u0192M7Zq9AKHno");
  CHECK(job("pbs", "1234.server.example.com\n") == "1234");
  CHECK(job("lsf", "Job <3856> is submitted to default queue <normal>.\n") == "3856");
  CHECK(job("sge", "41\n") == "41");
  CHECK(job("sge", "Unable to run job: warning\n").empty());
}

TEST_CASE("Commands that ask for states have their words") {
  std::vector<Words> asked;
  const auto ask = [&](const char* system) {
    asked.clear();
    job_states(choose_batch_system(system), {"1", "2"}, [&](const Words& words) {
      asked.push_back(words);
      return std::string();
    });
    return asked.front();
  };
  CHECK(ask("slurm") == Words{"squeue", "-h", "-t", "all", "-j", "1,2", "-o", "%i|%T"});
  CHECK(asked.back() == Words{"sacct", "-n", "-X", "-P", "-j", "1,2", "-o", "JobID,State"});
  CHECK(ask("flux") == Words{"env", "-u", "FLUX_F58_FORCE_ASCII", "LC_ALL=C.UTF-8", "flux", "--parent", "jobs", "-n",
                             "-o", "{id.f58} {status:h} {id.f58plain} {status:h}", "1", "2"});
  CHECK(ask("pbs") == Words{"qstat", "1", "2"});
  CHECK(asked.back() == Words{"qstat", "-x", "1", "2"});
  CHECK(ask("lsf") == Words{"bjobs", "-a", "-noheader", "-o", "jobid stat", "1", "2"});
  CHECK(ask("sge") == Words{"qstat"});
  CHECK(asked.size() == 3);
  CHECK(asked.back() == Words{"qacct", "-j", "2"});
}

TEST_CASE("States in the answers of status commands") {
  CHECK(state("slurm", "17", {"17+0|RUNNING\n17+1|RUNNING\n"}).phase == std::string("running"));
  const JobState completed = state("slurm", "17", {"", "17|COMPLETED\n"});
  CHECK(completed.text == "COMPLETED");
  CHECK(completed.phase == std::string("ended"));
  CHECK(state("slurm", "17", {"17|PENDING\n"}).phase == std::string("queued"));
  CHECK(state("flux", "\u0192Ab1", {"\u0192Ab1 SCHED fAb1 SCHED\n"}).phase == std::string("queued"));
  CHECK(state("flux", "fAb2", {"\u0192Ab1 RUN fAb1 RUN\n\u0192Ab2 CANCELED fAb2 CANCELED\n"}).text == "CANCELED");
  // qstat(1B), "Job Status in Default Format".
  const std::string pbs =
      "Job id            Name             User              Time Use S Queue\n"
      "----------------  ---------------- ----------------  -------- - -----\n"
      "1234.server       xtune-measure-s  user1             00:00:00 R workq\n"
      "1235.server       xtune-merge-su*  user1                    0 H workq\n";
  CHECK(state("pbs", "1234", {pbs}).phase == std::string("running"));
  CHECK(state("pbs", "9", {pbs, ""}).text == "unknown");  // without a history
  CHECK(state("pbs", "9", {"", "9.n1              STDIN            root              00:00:00 F workq           \n"})
            .text == "F");
  CHECK(state("pbs", "1235", {pbs}).phase == std::string("queued"));
  CHECK(state("pbs", "1234", {"", "1234.server  a  user1  00:00:00 F workq\n"}).phase == std::string("ended"));
  CHECK(state("lsf", "3856", {"3856 PEND\n"}).phase == std::string("queued"));
  CHECK(state("lsf", "3856", {"3856 SSUSP\n"}).phase == std::string("running"));
  CHECK(state("lsf", "3856", {"3856 EXIT\n"}).text == "EXIT");
  const std::string qstat =
      "job-ID  prior   name       user         state submit/start at     queue        slots ja-task-ID \n"
      "-----------------------------------------------------------------------------------------------\n"
      "     41 0.55500 xtune-meas user1        r     11/28/2026 13:00:00 all.q@n1         4        \n"
      "     42 0.00000 xtune-merg user1        hqw   11/28/2026 13:00:00                  1        \n";
  CHECK(state("sge", "41", {qstat}).phase == std::string("running"));
  CHECK(state("sge", "42", {qstat}).phase == std::string("queued"));
  const JobState accounted = state("sge", "43",
                                   {qstat,
                                    "jobnumber    43                  \nfailed       0    \n"
                                    "exit_status  0                   \n"});
  CHECK(accounted.text == "0");
  CHECK(accounted.phase == std::string("ended"));
  CHECK(state("sge", "44", {qstat, ""}).text == "unknown");
}

TEST_CASE("Time left in the answers of each system") {
  CHECK(left({{"FLUX_ENCLOSING_ID", "\u0192Ab1"}}, "3541\n")->remaining_s == 3541);
  CHECK_FALSE(left({{"FLUX_ENCLOSING_ID", "\u0192Ab1"}}, "4294967295\n"));
  ::setenv("TZ", "UTC", 1);
  // The clock says 1 November 2022, 9:00:00.
  CHECK(left({{"PBS_JOBID", "1.server"}},
             "Job Id: 1.server\n    Resource_List.walltime = 01:00:00\n"
             "    stime = Tue Nov  1 08:50:00 2022\n")
            ->remaining_s == 3000);
  CHECK_FALSE(left({{"PBS_JOBID", "1.server"}}, "Job Id: 1.server\n    stime = Tue Nov  1 08:50:00 2022\n"));
  CHECK(left({{"JOB_ID", "41"}, {"SGE_TASK_ID", "undefined"}},
             "<CE_name>h_rt</CE_name>\n<CE_valtype>3</CE_valtype>\n<CE_stringval>3600</CE_stringval>\n"
             "<JAT_start_time>1667291400</JAT_start_time>\n")
            ->remaining_s == 1800);
  CHECK_FALSE(left({{"JOB_ID", "41"}}, "h_rt=3600"));  // of another program
  // bjobs -WL: "hours:minutes status".
  const std::string columns =
      "JOBID USER  STAT QUEUE  FROM_HOST EXEC_HOST JOB_NAME TIME_LEFT\n7 user1 RUN normal h h m ";
  CHECK(left({{"LSB_JOBID", "7"}}, columns + "1:30 L\n")->remaining_s == 5400);
  CHECK_FALSE(left({{"LSB_JOBID", "7"}}, columns + "-\n"));
}

TEST_CASE("Processes of Flux are Flux's, although it sets PMI's variables too") {
  const std::map<std::string, std::string> variables{
      {"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"},      {"FLUX_JOB_ID", "f1"},   {"PMI_RANK", "1"},
      {"PMI_SIZE", "2"},       {"FLUX_ENCLOSING_ID", "f0"}, {"FLUX_JOB_NNODES", "1"}};
  const auto rank = find_rank([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
  REQUIRE(rank);
  CHECK(rank->launcher == "Flux");
  CHECK(rank->study == "Flux-f0.f1");
  CHECK(rank->local_size == 2);
}

TEST_CASE("Each system's scripts are good shell and say what is asked for") {
  const TemporaryDirectory folder;
  const bool shellcheck = run_command({"sh", "-c", "command -v shellcheck"}).ok();
  if (!shellcheck) MESSAGE("skipped: shellcheck is not installed [apt: shellcheck]");
  const std::map<std::string, Words> expected{
      {"slurm", {"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n", "#SBATCH --partition=gpuq\n"}},
      {"flux",
       {"# flux: --nodes=2\n# flux: --nslots=4\n# flux: --cores-per-slot=4\n# flux: --gpus-per-slot=1\n",
        "flux run -o exit-timeout=none -o cpu-affinity=per-task -o gpu-affinity=per-task --nodes=2 --ntasks=4 "
        "--cores-per-task=4 --gpus-per-task=1 "}},
      {"pbs",
       {"#PBS -l select=2:ncpus=8:mpiprocs=2:ngpus=2\n#PBS -l place=scatter\n#PBS -q gpuq\n",
        "pbs_tmrsh \"$host\" bash -lc 'exec \"$0\" \"$@\"' bash \"$folder/measure.sh\" rank"}},
      {"lsf",
       {"#BSUB -n 4\n#BSUB -R 'span[ptile=2]'\n#BSUB -R 'affinity[core(4)]'\n#BSUB -gpu num=2\n",
        "blaunch -no-shell \"$host\" bash"}},
      {"sge", {"#$ -pe mpi 4\n#$ -l gpu=1\n#$ -q gpuq\n", "qrsh -inherit -nostdin \"$host\" bash"}}};
  for (const auto& [system, parts] : expected) {
    CAPTURE(system);
    const std::vector<JobStep> steps = job_steps(submission_for(system, folder.path()));
    for (const std::string& part : parts) CHECK_MESSAGE(has(steps.front().script, part), steps.front().script);
    for (const JobStep& step : steps) {
      const std::filesystem::path script = folder.path() / (step.name + ".sh");
      write_file_atomically(script, step.script);
      const CommandResult syntax = run_command({"bash", "-n", script.string()});
      CHECK_MESSAGE(syntax.ok(), syntax.stderr_text);
      if (shellcheck) {  // SC2016: a $ in quotes; SC2317: what a trap calls
        const CommandResult checked = run_command({"shellcheck", "--exclude=SC2016,SC2317", script.string()});
        CHECK_MESSAGE(checked.ok(), checked.stdout_text);
      }
    }
    if (system == "lsf")  // without the variable that names its hosts
      CHECK(run_command({"bash", (folder.path() / "measure.sh").string()}).exit_code == 1);
  }
}
