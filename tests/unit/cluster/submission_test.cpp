// Scripts of submissions with any characters in names, and one type of GPU per component.
#include "cluster/submission.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "cluster/shared_study.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::cluster;

using namespace xtune;
using namespace xtune::test;

namespace {

Submission evil(const std::filesystem::path& folder) {
  Submission submission;
  submission.system = &choose_batch_system("slurm");
  submission.name = "suite-1";
  submission.store = folder / "it's $HOME \"store\"";
  submission.folder = submission.store / "submissions" / "suite-1";
  submission.program = "/opt/my tools/xtune";
  submission.specs = {"/data/a b;touch pwned/`id`.toml"};
  submission.run_arguments = {"-D", "K='; exit 9 #"};
  submission.components = {parse_component("sm_90a:nodes=2,gpus-per-node=4,gres=gpu:h100:4"),
                           parse_component("gfx942:nodes=1,gpus-per-node=2,constraint=mi300a&nvme,partition=amd")};
  submission.options = {"--time=1:00:00", "-A", "a project"};
  submission.compile_job = true;
  submission.compile_options = {"--partition=cpu"};
  return submission;
}

std::string names_and_ids(const Submission& submission) {
  std::string text;
  const Submitted submitted = read_submission(submission.folder);
  for (const SubmittedJob& job : submitted.jobs) text += job.name() + " " + job.id + ", ";
  return text;
}

}  // namespace

TEST_CASE("Components, and what is wrong with them") {
  const JobComponent component = parse_component("sm_90a:nodes=2,gpus-per-node=4,gres=gpu:h100:4,partition=gh");
  CHECK(component.arch == "sm_90a");
  CHECK(component.nodes == 2);
  CHECK(component.gpus_per_node == 4);
  CHECK(component.gres == "gpu:h100:4");
  CHECK(component.partition == "gh");
  CHECK(parse_component("gfx942").arch == "gfx942");
  CHECK(parse_component("nodes=3").nodes == 3);
  CHECK(parse_component("gres=gpu:h100:2").arch.empty());
  const auto refused = [](const std::string& text, const std::string& why) {
    CHECK_THROWS_WITH_AS(parse_component(text), doctest::Contains(why.c_str()), Error);
  };
  refused("sm_90:node=2", "unknown key 'node' (did you mean 'nodes'?)");
  refused("nodes=0", "nodes='0' is not a count of at least 1");
  refused("gpus-per-node=x", "gpus-per-node='x'");
  refused("partition=a b", "letters, digits");
  refused("gres=a\n#SBATCH --uid=0", "letters, digits");
  refused("", "arch=''");
}

TEST_CASE("Scripts are good shell, with each foreign word one word") {
  const TemporaryDirectory folder;
  const std::vector<JobStep> steps = job_steps(evil(folder.path()));
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].name == "compile");
  CHECK(steps[1].name == "measure");
  CHECK(steps[2].name == "merge");
  const bool shellcheck = run_command({"sh", "-c", "command -v shellcheck"}).ok();
  if (!shellcheck) MESSAGE("skipped: shellcheck is not installed [apt: shellcheck]");
  for (const JobStep& step : steps) {
    const std::filesystem::path script = folder.path() / (step.name + ".sh");
    write_file_atomically(script, step.script);
    const CommandResult syntax = run_command({"bash", "-n", script.string()});
    CHECK_MESSAGE(syntax.ok(), syntax.stderr_text);
    if (shellcheck) {  // SC2016: a $ in quotes, which is what quotes are for
      const CommandResult checked = run_command({"shellcheck", "--exclude=SC2016", script.string()});
      CHECK_MESSAGE(checked.ok(), checked.stdout_text);
    }
  }
  CHECK(has(steps[0].script, "--arch sm_90a,gfx942"));
  CHECK(has(steps[1].script, "#SBATCH hetjob\n#SBATCH --nodes=1\n"));
  CHECK(has(steps[1].script, "--gres=gpu:h100:4"));
  CHECK(has(steps[1].script, "#SBATCH --time="));
  CHECK(has(steps[1].script, "${SLURM_CPUS_PER_TASK_HET_GROUP_1:+--cpus-per-task=$SLURM_CPUS_PER_TASK_HET_GROUP_1} "));
  CHECK(has(steps[1].script,
            "srun --export=ALL --kill-on-bad-exit=0 --wait=0 --no-kill --het-group=1 --gpus-per-task=1"));
  CHECK(steps[1].arguments.size() == 2 + 3 + 1 + 3);

  // The shell turns the quoted words into the original ones.
  const std::vector<std::string> words{"it's", "a b", "$HOME", "`id`", "\"", "", "x\ny", "*"};
  const CommandResult echo = run_command({"bash", "-c", "printf '%s|' " + command_line(words)});
  CHECK(echo.stdout_text == "it's|a b|$HOME|`id`|\"||x\ny|*|");
}

TEST_CASE("One component is not a heterogeneous job; without an architecture nothing compiles first") {
  Submission submission = evil("/tmp");
  submission.components = {JobComponent{"", 4, 0, "", "", ""}};
  const std::vector<JobStep> steps = job_steps(submission);
  REQUIRE(steps.size() == 2);
  CHECK_FALSE(has(steps[0].script, "het"));
  CHECK_FALSE(has(steps[0].script, "gpu"));
  CHECK(compile_command(submission).empty());
}

TEST_CASE("Cores, setup lines and limits are in the scripts") {
  Submission submission = evil("/tmp");
  submission.components = {JobComponent{"sm_90", 4, 2, "", "", ""}};
  submission.options = {"-t", "2:00:00", "-A", "a project", "--comment=two\nlines"};
  submission.compile_options = {"--partition=cpu"};
  submission.setup = {"module load cuda", "export A=1"};
  std::vector<JobStep> steps = job_steps(submission);
  REQUIRE(steps.size() == 3);
  for (const JobStep& step : steps) {
    CHECK(has(step.script, "module load cuda\nexport A=1\nexport XTUNE_SCHEDULER=slurm\nset -u\n"));
    CHECK_FALSE(has(step.script, "two"));
  }
  CHECK(has(steps[0].script,
            "#SBATCH --cpus-per-task=4\n#SBATCH '--account=a project'\n#SBATCH --time=2:00:00\n"
            "#SBATCH --partition=cpu\n"));
  CHECK(has(steps[1].script, "#SBATCH --cpus-per-task=4\n"));
  CHECK(has(steps[1].script, "#SBATCH -t 2:00:00\n#SBATCH -A 'a project'\n"));
  CHECK(has(steps[1].script, " ${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} "));
  CHECK(has(steps[2].script, "#SBATCH --time=30\n#SBATCH --partition=cpu\n"));
  submission.cpus_per_task = 7;
  steps = job_steps(submission);
  CHECK(has(steps[0].script, "--cpus-per-task=7\n"));
  CHECK(has(steps[1].script, "--cpus-per-task=7\n"));
  submission.cpus_per_task = 0;
  submission.components[0].gpus_per_node = 0;
  CHECK_FALSE(has(job_steps(submission)[1].script, "#SBATCH --cpus-per-task"));
}

TEST_CASE("A number of cores in the user's options or setup lines is the only one in a script") {
  Submission submission = evil("/tmp");
  submission.components = {JobComponent{"sm_90", 1, 2, "", "", ""}};
  const auto cores = [](const JobStep& step) {
    std::vector<std::string> found;
    std::istringstream lines(step.script);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("#SBATCH ") && (has(line, "--cpus-per-task") || has(line, " -c"))) found.push_back(line);
    return found;
  };
  using Lines = std::vector<std::string>;
  submission.options = {"--cpus-per-task=8"};
  submission.compile_options = {"-c", "16"};
  CHECK(cores(job_steps(submission)[0]) == Lines{"#SBATCH -c 16"});
  CHECK(cores(job_steps(submission)[1]) == Lines{"#SBATCH --cpus-per-task=8"});
  // The options behind -- are those of the measuring job only.
  submission.compile_options = {};
  CHECK(cores(job_steps(submission)[0]) == Lines{"#SBATCH --cpus-per-task=4"});
  submission.options = {};
  submission.setup = {"#SBATCH --cpus-per-task 8", "module load cuda"};
  for (const std::size_t step : {0, 1}) CHECK(cores(job_steps(submission)[step]) == Lines{"#SBATCH --cpus-per-task 8"});
  const std::size_t components = submission.components.size();
  submission.components.push_back(submission.components.back());
  CHECK(cores(job_steps(submission)[1]).size() == components + 1);
  CHECK(cores(job_steps(submission)[1]).back() == "#SBATCH --cpus-per-task 8");
  submission.components.pop_back();
  // sbatch does not read it behind a command.
  submission.setup = {"module load cuda", "#SBATCH --cpus-per-task 8"};
  CHECK(cores(job_steps(submission)[0]).front() == "#SBATCH --cpus-per-task=4");
  submission.setup = {};
  submission.options = {"--cpus-per-gpu=6"};
  CHECK(cores(job_steps(submission)[1]).empty());
}

TEST_CASE("Options of the submit command are options; the account is that of all steps") {
  const BatchSystem& slurm = choose_batch_system("slurm");
  const auto account_option = [&](const std::vector<std::string>& words) {
    return given_option(slurm.given.account, words).words;
  };
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    CHECK_THROWS_WITH_AS(check_options(slurm, words, "behind --"), doctest::Contains(why.c_str()), Error);
  };
  check_options(slurm, {}, "behind --");
  check_options(slurm, {"--time=5", "-A", "a project", "-t5", "--qos", "high", "--exclusive", "-H"}, "behind --");
  check_options(slurm, {"--account=a", "--acctg-freq=30", "-A", "array"}, "behind --");
  for (const char* array : {"--array=0-3", "--array", "--arr=0-3", "-a0-3", "-a"})
    refused({"--time=5", array, "0-3"}, "once for each index");
  refused({"job.sh"}, "behind --: 'job.sh' is not an option");
  refused({"--time=5", "job.sh"}, "'job.sh'");
  refused({"-A", "project", "job.sh"}, "'job.sh'");
  refused({"--time=5", ":", "--time=6"}, "':'");
  refused({"--", "job.sh"}, "'--'");
  refused({"--time=5", ""}, "''");

  CHECK(account_option({"--time=5", "-A", "a project"}) == Words{"--account=a project"});
  CHECK(account_option({"-Ap"}) == Words{"--account=p"});
  CHECK(account_option({"--account", "p"}) == Words{"--account=p"});
  CHECK(account_option({"--account=p", "--account=q"}) == Words{"--account=q"});
  CHECK(account_option({"--accounting", "-A"}).empty());

  const std::vector<JobStep> steps = job_steps(evil("/tmp"));
  for (const JobStep& step : {steps.front(), steps.back()})
    CHECK(std::count(step.arguments.begin(), step.arguments.end(), "--account=a project") == 1);
}

TEST_CASE("A submission is found again") {
  const TemporaryDirectory folder;
  Submission submission = evil(folder.path());
  write_submission(submission, {{"measure", "", {"-A", "a project"}}, {"merge", "", {}}});
  CHECK(note_job(submission.folder, {"measure", 0, "17"}) == "17");
  const std::vector<Submitted> list = read_submissions(submission.store);
  REQUIRE(list.size() == 1);
  CHECK(list[0].name == "suite-1");
  CHECK(list[0].jobs.at(0).id == "17");
  CHECK(list[0].arguments.at("measure") == Words{"-A", "a project"});
  CHECK(list[0].scheduler == "slurm");
  write_file_atomically(submission.folder / "submission.json",
                        R"({"name": "suite-1", "specs": [], "steps": [{"step": "measure", "job": "16"},
                            {"step": "merge", "job": "18"}]})");  // of an earlier version of xtune
  CHECK(names_and_ids(submission) == "measure 17, merge 18, ");
  write_file_atomically(submission.folder / "submission.json", "{");
  CHECK(read_submissions(submission.store).empty());
  CHECK(read_submissions("/nowhere").empty());
}

TEST_CASE("A job that is not noted notes itself, or gives way to another one") {
  const TemporaryDirectory folder;
  const Submission submission = evil(folder.path());
  write_submission(submission, job_steps(submission));
  const auto submitted = [&] { return read_submission(submission.folder); };
  const auto following = [&](std::size_t attempt) {
    const SubmittedJob job = following_job(submitted(), attempt);
    return job.name() + " " + job.id;
  };
  for (const JobStep& step : job_steps(submission)) {
    write_file_atomically(submission.folder / (step.name + ".sh"), step.script);
    note_job(submission.folder, {step.name, 0, "1"});
  }
  CHECK(following(0) == "measure.r1 ");
  CHECK_FALSE(std::filesystem::exists(submission.folder / "measure.r1.job"));
  // The submitter was killed, and the job starts first.
  write_attempt(submitted(), "measure", 1);
  CHECK(note_job(submission.folder, {"measure", 1, "4"}) == "4");
  CHECK(following(0) == "measure.r1 4");
  // The next ones start last.
  write_attempt(submitted(), "measure", 2);
  write_attempt(submitted(), "measure", 3);
  CHECK(following(0) == "measure.r1 4");
  CHECK(following(1) == "measure.r4 ");
  CHECK(note_job(submission.folder, {"measure", 2, "5"}).empty());
  write_attempt(submitted(), "measure", 4);
  CHECK(note_job(submission.folder, {"measure", 4, "7"}) == "7");
  CHECK(note_job(submission.folder, {"measure", 4, "\u01927"}) == "7");
  CHECK(following(0) == "measure.r4 7");
  CHECK(names_and_ids(submission) == "compile 1, measure 1, merge 1, measure.r1 4, measure.r4 7, ");
}

TEST_CASE("A component has one type of GPU") {
  const TemporaryDirectory store;
  require_one_device(store.path(), "s", "0", "NVIDIA H100", "sm_90");
  require_one_device(store.path(), "s", "0", "NVIDIA H100", "sm_90");
  require_one_device(store.path(), "s", "1", "AMD MI300A", "gfx942");
  CHECK_THROWS_WITH_AS(require_one_device(store.path(), "s", "0", "NVIDIA H200", "sm_90"),
                       doctest::Contains("NVIDIA H100 (sm_90) on"), Error);
  CHECK_THROWS_WITH_AS(require_one_device(store.path(), "s", "1", "NVIDIA H100", "sm_90"),
                       doctest::Contains("give each type its own"), Error);
}

TEST_CASE("A chain of jobs ends at the number, the GPU hours, or a file") {
  const TemporaryDirectory folder;
  Submission submission = evil(folder.path());
  CHECK(gpu_hours(submission) == 2 * 4 + 2);  // for an hour
  submission.max_jobs = 3;
  submission.max_gpu_hours = 25;
  const auto end = [&](std::size_t jobs) {
    write_submission(submission, {});
    Submitted submitted = read_submission(submission.folder);
    submitted.jobs = {{"compile", 0, "1"}};
    for (std::size_t i = 0; i < jobs; ++i) submitted.jobs.push_back({"measure", i, "2"});
    return end_of_chain(submitted);
  };
  CHECK(end(1).empty());
  CHECK(end(2) == "its 2 jobs asked for 20 GPU hours, and another one asks for 10 more (--max-gpu-hours 25)");
  submission.max_gpu_hours.reset();
  CHECK(end(2).empty());
  CHECK(end(3) == "it has had 3 jobs (--max-jobs 3)");
  write_file_atomically(submission.folder / "stop", "");
  CHECK(has(end(1), "stop ends the chain"));
  submission.options = {};
  CHECK_FALSE(gpu_hours(submission));
}

TEST_CASE("The script of a later job has its number") {
  const TemporaryDirectory folder;
  Submission submission = evil(folder.path());
  write_submission(submission, {});
  write_file_atomically(submission.folder / "measure.sh", job_steps(submission).at(1).script);
  const std::filesystem::path script = write_attempt(read_submission(submission.folder), "measure", 2);
  CHECK(script.filename() == "measure.r2.sh");
  CHECK(has(read_file(script), "\nattempt=2\nexport XTUNE_STUDY=suite-1.r$attempt\n"));
  CHECK_FALSE(has(read_file(script), "attempt=0"));
}
