// Batch jobs without a batch system: the scripts of submit, status only from files, time limits.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// The first process of a job of mpirun, whose second one never comes.
void be_one_of_two(Cli& cli) {
  cli.env.emplace_back("OMPI_COMM_WORLD_RANK", "0");
  cli.env.emplace_back("OMPI_COMM_WORLD_SIZE", "2");
  cli.env.emplace_back("XTUNE_STUDY", "nightly");
}

}  // namespace

TEST_CASE("submit --dry-run prints the scripts and leaves nothing behind") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const CommandResult run =
      cli.xtune({"submit", spec, "--backend", "host", "-D", "N=64", "--dry-run", "--arch-component",
                 "sm_90a:nodes=2,gpus-per-node=4", "--arch-component", "gfx942:gpus-per-node=2", "--compile", "job",
                 "--format", "json", "--", "--time=1:00:00", "-A", "a b"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  const json answer = parsed(run);
  REQUIRE(answer["steps"].size() == 3);
  CHECK(answer["steps"][1]["sbatch"].dump() ==
        json{"sbatch", "--dependency=afterany:<compile>", "--parsable",
             "--output=" + answer["folder"].get<std::string>() + "/measure-%j.log", "--time=1:00:00", "-A", "a b", ":",
             "--time=1:00:00", "-A", "a b", answer["folder"].get<std::string>() + "/measure.sh"}
            .dump());
  CHECK(has(answer["steps"][1]["script"], "-D N=64"));
  CHECK_FALSE(fs::exists(cli.path("cache") + "/submissions"));

  const CommandResult text = cli.xtune({"submit", spec, "--dry-run"});
  CHECK(text.exit_code == 0);
  CHECK(has(text.stdout_text, "#!/bin/bash"));
  CHECK_FALSE(has(text.stdout_text, "hetjob"));

  const std::string no_gpu = "warning: the job asks Slurm for no GPU";
  CHECK(has(text.stderr_text, no_gpu));
  CHECK_FALSE(has(run.stderr_text, no_gpu));
  CHECK_FALSE(has(cli.xtune({"submit", spec, "--dry-run", "--gpus-per-node", "2"}).stderr_text, no_gpu));
  CHECK_FALSE(has(cli.xtune({"submit", spec, "--dry-run", "--backend", "host"}).stderr_text, no_gpu));
  CHECK_FALSE(has(cli.xtune({"submit", spec, "--dry-run", "--", "--gres=gpu:1"}).stderr_text, no_gpu));
}

TEST_CASE("submit warns of a store in the home directory") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  cli.env.emplace_back("HOME", cli.path("home"));
  const std::string warning = "is in the home directory, which compute nodes may not see";
  const CommandResult home = cli.xtune({"submit", spec, "--dry-run", "--store", cli.path("home/.cache/xtune")});
  CHECK(has(home.stderr_text, warning));
  CHECK(has(home.stdout_text, "#SBATCH --time=30"));
  const CommandResult other = cli.xtune({"submit", spec, "--dry-run", "--store", cli.path("work"), "--setup",
                                         "module load cuda", "--cpus-per-task", "3"});
  CHECK_FALSE(has(other.stderr_text, warning));
  CHECK(has(other.stdout_text, "\nmodule load cuda\n"));
  CHECK(has(other.stdout_text, "#SBATCH --cpus-per-task=3\n"));
}

TEST_CASE("submit refuses two numbers of cores") {
  const Cli cli;
  const std::vector<std::string> submit{"submit",         cli.copy_spec("[1]"), "--dry-run", "--store",
                                        cli.path("work"), "--cpus-per-task",    "3"};
  const auto complaint = [&](std::vector<std::string> more) {
    more.insert(more.begin(), submit.begin(), submit.end());
    const CommandResult result = cli.xtune(more);
    CHECK(result.exit_code == 2);
    return result.stderr_text;
  };
  CHECK(has(complaint({"--setup", "#SBATCH -c 8"}),
            "--cpus-per-task 3 and --cpus-per-task=8 in --setup: write only one of them"));
  CHECK(has(complaint({"--", "-c8"}), "--cpus-per-task 3 and --cpus-per-task=8 behind --: write only one of them"));
  CHECK(has(complaint({"--", "--cpus-per-gpu=8"}), "--cpus-per-gpu=8 behind --: write only one of them"));
}

TEST_CASE("submit refuses a broken spec and reports a missing Slurm") {
  Cli cli;
  const std::string broken = cli.write("broken.toml", "[kernel]\nnam = 1\n");
  CHECK(cli.xtune({"submit", broken, "--dry-run"}).exit_code == 2);
  CHECK(cli.xtune({"submit", cli.copy_spec("[1]"), "--dry-run", "--arch-component", "node=1"}).exit_code == 2);
  cli.env.emplace_back("PATH", "/nowhere");
  const CommandResult none = cli.xtune({"submit", cli.copy_spec("[1]"), "--compile", "none"});
  CHECK(none.exit_code == 4);
  CHECK(has(none.stderr_text, "sbatch"));
  CHECK(has(none.stderr_text, "--dry-run"));
}

TEST_CASE("submit refuses what sbatch would misread and options that would say nothing") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const auto refused = [&](std::vector<std::string> more, const std::string& why) {
    more.insert(more.begin(), {"submit", spec, "--dry-run"});
    const CommandResult run = cli.xtune(more);
    CHECK(run.exit_code == 2);
    CHECK_MESSAGE(has(run.stderr_text, why), run.stderr_text);
  };
  refused({"--nodes", "2", "--arch-component", "nodes=1"}, "--nodes and --arch-component");
  refused({"--gpus-per-node", "2", "--arch-component", "nodes=1"}, "--gpus-per-node and");
  refused({"--arch", "sm_90", "--arch-component", "nodes=1"}, "--arch and");
  refused({"--device", "1"}, "the devices that Slurm gives it");
  refused({"--backend", "hots"}, "did you mean 'host'?");
  refused({"--cpu-option=job.sh"}, "--cpu-option: 'job.sh'");
  refused({"--", "--time=5", "job.sh"}, "sbatch would take it for the script");
}

TEST_CASE("Queued jobs are listed if a later step is refused") {
  Cli cli;
  const std::string bin = cli.path("bin");
  const std::string spec = cli.copy_spec("[1]");
  fs::create_directories(bin);
  // An sbatch that takes one job, and one that answers without a number.
  write_file_atomically(bin + "/sbatch", "#!/bin/sh\n[ -e " + cli.path("once") + " ] && exit 7\necho 4711 > " +
                                             cli.path("once") + "\necho 4711\n");
  fs::permissions(bin + "/sbatch", fs::perms::owner_all);
  cli.env.emplace_back("PATH", bin + ":/usr/bin:/bin");
  const CommandResult second = cli.xtune({"submit", spec, "--backend", "host"});
  CHECK(second.exit_code == 4);
  CHECK(has(second.stderr_text, "failed: exit code 7"));
  CHECK(has(second.stderr_text, "already queued are measure: job 4711; `scancel 4711` cancels them"));
  write_file_atomically(bin + "/sbatch", "#!/bin/sh\necho would start tomorrow\n");
  fs::permissions(bin + "/sbatch", fs::perms::owner_all);
  const CommandResult test = cli.xtune({"submit", spec, "--backend", "host"});
  CHECK(test.exit_code == 4);
  CHECK(has(test.stderr_text, "printed no job number: would start tomorrow"));
  CHECK_FALSE(has(test.stderr_text, "already queued"));
}

TEST_CASE("A site's batch system is a file; what it lacks is refused") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1]"), bin = cli.path("bin");
  fs::create_directories(bin);
  write_file_atomically(bin + "/ownsub", "#!/bin/sh\necho \"$@\" >> " + cli.path("asked") + "\necho job 17\n");
  write_file_atomically(bin + "/ownstat", "#!/bin/sh\necho 17 W\n");
  for (const char* name : {"/ownsub", "/ownstat"}) fs::permissions(bin + name, fs::perms::owner_all);
  cli.env.emplace_back("PATH", bin + ":/usr/bin:/bin");
  const std::string file = cli.write("own.toml", R"(name = "Own"
[submit]
command = ["ownsub"]
job = 'job (\d+)'
dependency = ["--after={job}"]
[options]
prefix = "#OWN"
component = ["--hosts={nodes}"]
time = ["--limit={time}"]
[start]
command = "ownrun"
[job]
id = "OWN_JOB"
[status]
commands = [["ownstat", "{jobs}"]]
line = '(\d+) (\S)'
queued = "W"
)");
  const CommandResult run =
      cli.xtune({"submit", spec, "--backend", "host", "--scheduler", file, "--nodes", "3", "--time", "1:00:00"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.stdout_text, "measure: job 17"));
  const std::string asked = read_file(cli.path("asked"));
  CHECK(asked.starts_with("--limit=1:00:00 /"));
  CHECK(has(asked, "\n--after=17 --limit=0:30:00 /"));
  const json status = parsed(cli.xtune({"status", "--format", "json"}));
  CHECK(status["jobs"][0]["state"] == "W");
  CHECK(status["jobs"][0]["phase"] == "queued");
  CHECK(status["chain"]["end"].is_null());
  CHECK(has(cli.xtune({"status"}).stdout_text, "another job follows if its time ends before the search"));
  const std::string script =
      read_file(fs::path(status["chain"]["stop"].get<std::string>()).parent_path() / "measure.sh");
  CHECK(has(script, "#OWN --hosts=3\n#OWN --limit=1:00:00\n"));
  CHECK(has(script, "export XTUNE_SCHEDULER=" + file));
  CHECK(has(script, " --start && exit\n"));
  write_file_atomically(status["chain"]["stop"].get<std::string>(), "");
  CHECK(has(cli.xtune({"status"}).stdout_text, "no further job follows"));

  // A job whose submitter was killed notes itself, and the one that is given up ends at its start.
  const fs::path folder = fs::path(status["chain"]["stop"].get<std::string>()).parent_path();
  cli.env.emplace_back("XTUNE_SCHEDULER", file);
  cli.env.emplace_back("OWN_JOB", "18");
  const auto starts = [&](const char* attempt) {
    return cli.xtune({"continue", folder.filename().string(), "--attempt", attempt, "--start"}).exit_code == 1;
  };
  CHECK(starts("0"));
  CHECK(read_file(folder / "measure.r0.job") == "17\n");
  CHECK(starts("1"));
  CHECK(read_file(folder / "measure.r1.job") == "18\n");
  write_file_atomically(folder / "measure.r2.job", "\n");
  CHECK_FALSE(starts("2"));

  const auto refused = [&](std::vector<std::string> more, const std::string& why) {
    more.insert(more.begin(), {"submit", spec, "--dry-run", "--scheduler", file});
    const CommandResult result = cli.xtune(more);
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result.stderr_text, why), result.stderr_text);
  };
  refused({"--arch-component", "nodes=1", "--arch-component", "nodes=2"}, "Own has no heterogeneous jobs");
  refused({"--arch-component", "gres=gpu:2"}, "Own has no gres");
  refused({"--account", "a"}, "--account: Own has no such option");
  refused({"--time", "soon"}, "--time 'soon'");
  refused({"--cpus-per-task", "2"}, "--cpus-per-task: Own has no such option");
  std::string one_node = read_file(file);
  one_node.replace(one_node.find("{nodes}"), 7, "1");
  cli.write("own.toml", one_node);
  refused({"--nodes", "2"}, "--nodes: Own has no such option");
  cli.write("own.toml", "name = 1\n");
  refused({}, "own.toml:1:8: name: expected a string, got an integer");
}

TEST_CASE("The GPU hours of jobs are asked for, estimated and bounded") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const std::vector<std::string> submit{"submit", spec, "--dry-run", "--scheduler", "pbs", "--gpus-per-node", "4"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), submit.begin(), submit.end());
    return cli.xtune(more);
  };
  const json hours = parsed(
      with({"--nodes", "2", "--max-jobs", "3", "--format", "json", "--", "-l", "walltime=0:30:00"}))["gpu_hours"];
  CHECK(hours["asked_by_each_job"] == 4.0);
  CHECK(hours["max_jobs"] == 3);
  CHECK(hours["max"].is_null());
  CHECK(hours.contains("estimated"));
  CHECK(has(with({"--time", "900"}).stdout_text,
            "GPU hours: each of at most 20 jobs asks for 1; the search needs about"));
  CHECK(with({"--time", "900", "--max-gpu-hours", "1"}).exit_code == 0);
  const CommandResult more = with({"--time", "900", "--max-gpu-hours", "0.9"});
  CHECK(more.exit_code == 2);
  CHECK(has(more.stderr_text, "the first job asks for 1 GPU hours"));
  CHECK(has(with({"--max-gpu-hours", "9"}).stderr_text, "say how long a job may run"));
  for (const char* few : {"-1", "0", "nan", "inf"}) {
    const CommandResult none = with({"--time", "900", "--max-gpu-hours", few});
    CHECK(none.exit_code == 2);
    CHECK(has(none.stderr_text, "--max-gpu-hours: expected hours, more than 0"));
  }
  // GPUs in a number that only the batch system knows.
  const std::vector<std::string> uncounted{"submit", spec, "--dry-run", "--scheduler", "slurm", "--time", "900"};
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--arch-component", "gres=gpu:4"}, {"--setup", "#SBATCH -G 4"}, {"--", "--gpus=4"}}) {
    std::vector<std::string> command = uncounted;
    command.insert(command.end(), asked.begin(), asked.end());
    CHECK(has(cli.xtune(command).stdout_text, "each of at most 20 jobs asks for an unknown number"));
    command.insert(command.begin() + 1, {"--max-gpu-hours", "9"});
    CHECK(has(cli.xtune(command).stderr_text, "--max-gpu-hours: say how long a job may run and how many GPUs"));
  }
  CHECK(has(cli.xtune(uncounted).stdout_text, "jobs asks for 0;"));
  // A space of one configuration.
  CHECK(parsed(with({"--format", "json"}))["gpu_hours"]["estimated"].get<double>() == doctest::Approx(1.0 / 3600));
}

TEST_CASE("status reports a named study only from its files") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const CommandResult none = cli.xtune({"status"});
  CHECK(none.exit_code == 2);
  CHECK(has(none.stderr_text, "has no jobs to show"));

  cli.env.emplace_back("XTUNE_STUDY", "tuesday");
  cli.env.emplace_back("PATH", "/usr/bin:/bin");
  REQUIRE(cli.run(spec).exit_code == 0);
  const json status = parsed(cli.xtune({"status", "--format", "json"}));
  CHECK(status["name"] == "tuesday");
  REQUIRE(status["work"].size() == 1);
  CHECK(status["work"][0]["kernel"] == "copy");
  CHECK(status["work"][0]["done"] == 2);
  CHECK(status["work"][0]["total"] == 2);
  CHECK(status["work"][0]["state"] == "done");
  CHECK(status["work"][0]["best"]["time_ms"] > 0);
  REQUIRE(status["processes"].size() == 1);
  CHECK(status["processes"][0]["alive"] == false);
  CHECK(status["processes"][0]["state"] == "done");

  const CommandResult text = cli.xtune({"status", "tuesday", "--watch"});
  CHECK(text.exit_code == 0);
  CHECK(has(text.stdout_text, "2/2"));
  CHECK(has(text.stdout_text, "0 of 1 process at work"));
  const CommandResult other = cli.xtune({"status", "tuesdy"});
  CHECK(other.exit_code == 2);
  CHECK(has(other.stderr_text, "did you mean 'tuesday'?"));
}

TEST_CASE("A limit that leaves no time stops before anything is measured, one that leaves enough changes nothing") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const CommandResult none = cli.run(spec, {"--walltime", "1"});
  CHECK(none.exit_code == 130);
  CHECK(has(none.stderr_text, "stopped before the end of the job's time"));
  CHECK(cli.stored_records() == 0);
  // More nanoseconds than 64 bits count.
  CHECK(cli.run(spec, {"--walltime", "99999999999999", "--evals", "1"}).exit_code == 0);
  const CommandResult enough = cli.run(spec, {"--walltime", "1:00:00"});
  CHECK(enough.exit_code == 0);
  CHECK(has(enough.stderr_text, "left in the job (--walltime)"));
  CHECK(cli.run(spec, {"--walltime", "soon"}).exit_code == 2);
  const CommandResult requeue = cli.run(spec, {"--walltime", "1", "--requeue", "--fresh"});
  CHECK(requeue.exit_code == 130);
  CHECK(has(requeue.stderr_text, "this is not a Slurm job"));
}

TEST_CASE("A job whose name was used before is another run, with different answers") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  be_one_of_two(cli);
  const auto run = [&](const std::vector<std::string>& more) {
    const CommandResult result = cli.run(spec, more);
    CAPTURE(result.stderr_text);
    REQUIRE(result.exit_code == 0);
    return parsed(result);
  };
  CHECK(run({})["from_store"] == 0);
  CHECK(run({})["from_store"] == 2);
  CHECK(run({"--fresh"})["from_store"] == 0);
  CHECK(cli.stored_records() == 4);
  const CommandResult status = cli.xtune({"status", "nightly"});
  CHECK(status.exit_code == 0);
  CHECK(has(status.stdout_text, "nightly+3"));
}

TEST_CASE("Processes of a job whose store cannot be written do all of the work each") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  be_one_of_two(cli);
  fs::create_directories(cli.path("cache"));
  cli.write("cache/studies", "in the way");
  const CommandResult run = cli.run(spec);
  CHECK(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 2}});
  CHECK(has(run.stderr_text, "does all of the work"));
}
