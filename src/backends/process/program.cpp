// Installs a program in a separate directory, runs it, and reads its results.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "backends/process/device.hpp"
#include "backends/process/read_value.hpp"
#include "backends/process/run_program.hpp"
#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/shortage.hpp"
#include "system/directory_lock.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::process {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_result = std::uint64_t{64} << 20;

std::vector<std::string> states_of(const std::vector<fs::path>& files) {
  std::vector<std::string> states;
  for (const fs::path& file : files) states.push_back(build::file_state(file));
  return states;
}

/// A file of [process] outputs as left by the last run of any configuration.
struct LeftFile {
  std::string state;     ///< build::file_state
  bool written = false;  ///< since the previous files were removed
};
std::map<std::string, LeftFile>& left_behind() {
  static std::map<std::string, LeftFile> files;
  return files;
}

/// Files that another configuration wrote must not be checked as this one's, whether it belongs to this run or to one
/// that takes turns with it. A file that no run has written belongs to the user, and is kept.
void remove_left_behind(const std::vector<std::string>& outputs, bool others_write) {
  const auto remove = [](const std::string& path) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) fs::remove(path, ignored);
  };
  for (const auto& [path, left] : left_behind())
    if (left.written && !left.state.empty() && build::file_state(path) == left.state) remove(path);
  if (others_write)
    for (const std::string& path : outputs)
      if (const auto known = left_behind().find(path);
          known == left_behind().end() || build::file_state(path) != known->second.state)
        remove(path);
  left_behind().clear();
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder.lexically_normal());
  return !relative.empty() && *relative.begin() != "..";
}

/// Files that all runs of a program write under the same path: not those below `own`, which is different for each run.
std::vector<fs::path> shared_files(const device::ProgramCall& call, const device::ProgramPlaces& places,
                                   const fs::path& own) {
  std::vector<fs::path> files(call.outputs.begin(), call.outputs.end());
  const auto add = [&](const device::ProgramValue& value) {
    if (!value.file.empty()) files.push_back(fs::path(call.folder) / device::from_call_text(value.file, places));
  };
  add(call.time);
  std::for_each(call.metrics.begin(), call.metrics.end(), add);
  for (fs::path& file : files) file = file.lexically_normal();
  std::erase_if(files, [&](const fs::path& file) { return is_below(file, own); });
  return files;
}

/// The directories in which programs that write these files take turns: their common directory, and others that contain
/// files.
std::vector<fs::path> directories_of(const std::vector<fs::path>& files, const fs::path& folder) {
  std::vector<fs::path> directories;
  for (const fs::path& file : files) directories.push_back(is_below(file, folder) ? folder : file.parent_path());
  return directories;
}

class RunnableProgram final : public measure::Program {
 public:
  RunnableProgram(const build::Artifact& artifact, const device::ProgramCall& call, int device) : call_(call) {
    if (!artifact.image.empty()) own_.install(artifact.image);
    files_ = shared_files(call_, own_.places(), own_.folder());
    run_ = own_.command_of(call_, call_.words, device);
  }

  bool times_itself() const noexcept override { return true; }
  void check_last_run() override {
    const std::uint64_t kills_before = system::memory_kills();
    try {
      const system::DirectoryLock lock(directories_of(files_, call_.folder));
      // Files that another run has written meanwhile must not be checked as this one's.
      if (!call_.check.empty() && checked_run_ != runs_ && states_of(files_) != states_) run_and_judge();
      check_results();
    } catch (const build::CandidateFailure& failure) {
      build::rethrow_counting_kills(failure, kills_before, build::Lack::memory);
    }
  }

  measure::Sample run(const measure::RunOptions& options) override {
    measure::Sample sample = run_undisturbed();
    for (std::size_t i = 0; i < options.more.size(); ++i) sample = run_undisturbed();
    return sample;
  }

 private:
  /// The time of a run during which it was suspended has no meaning.
  measure::Sample run_undisturbed() {
    for (int more = max_retakes;; --more) {
      const measure::Sample sample = run_once();
      if (!suspended_ || more == 0) return sample;
    }
  }

  measure::Sample run_once() {
    const std::uint64_t kills_before = system::memory_kills();
    try {
      const system::DirectoryLock lock(directories_of(files_, call_.folder));
      return run_and_judge();
    } catch (const build::CandidateFailure& failure) {
      build::rethrow_counting_kills(failure, kills_before, build::Lack::memory);
    }
  }

  measure::Sample run_and_judge() {
    own_.empty_tmp();
    if (runs_ == 0) {
      const std::vector<fs::path> directories = directories_of(files_, call_.folder);
      remove_left_behind(call_.outputs, std::any_of(directories.begin(), directories.end(), system::has_waited_for));
    }
    std::map<std::string, std::string> outputs_before;
    for (const std::string& path : call_.outputs) outputs_before.emplace(path, build::file_state(path));
    std::vector<std::string> before;
    for (const device::ProgramValue* value : values()) before.push_back(build::file_state(file_of(*value)));
    const ProgramEnd end = run_program(run_, "the program", Outcome::launch_failed);
    states_ = states_of(files_);
    suspended_ = end.suspended;
    for (const auto& [path, state] : outputs_before) {
      const std::string after = build::file_state(path);
      LeftFile& left = left_behind()[path];
      left = {after, left.written || after != state};
    }
    judge_end(end);
    require_expected_line(end);
    std::vector<double> numbers;
    std::size_t next = 0;
    for (const device::ProgramValue* value : values()) {
      numbers.push_back(value->form == device::ProgramValue::Form::wall ? end.wall_s * 1e3
                                                                        : read(*value, end, before[next]));
      ++next;
    }
    ++runs_;
    if (checked_run_ == 0) check_results();
    measure::Sample sample;
    sample.time_ms = numbers.front();
    sample.reported.assign(numbers.begin() + 1, numbers.end());
    return sample;
  }

  void require_expected_line(const ProgramEnd& end) const {
    if (call_.expect.empty() || base::last_match(call_.expect, end.stdout_text)) return;
    refuse_output(
        end, fmt::format("no line of the output matches the expected '{}'; it printed:\n{}", call_.expect, shown(end)));
  }

  std::vector<const device::ProgramValue*> values() const {
    std::vector<const device::ProgramValue*> values{&call_.time};
    for (const device::ProgramValue& metric : call_.metrics) values.push_back(&metric);
    return values;
  }

  fs::path file_of(const device::ProgramValue& value) const {
    return value.file.empty() ? fs::path() : fs::path(call_.folder) / device::from_call_text(value.file, own_.places());
  }

  void judge_end(const ProgramEnd& end) {
    throw_if_out_of_time(end, "the program", call_.timeout_s);
    if (end.ok()) return;
    refuse(end, end.signal != 0 ? Outcome::crashed : Outcome::launch_failed,
           "the program " + system::describe_end(end.exit_code, end.signal, base::last_line(end.stderr_text)),
           lack_behind(end, own_));
  }

  double read(const device::ProgramValue& value, const ProgramEnd& end, const std::string& before) const {
    const std::string what = value.name.empty() ? "the time" : "the metric '" + value.name + "'";
    const fs::path path = file_of(value);
    try {
      if (value.file.empty()) return read_number(value, end.stdout_text);
      if (build::file_state(path) == before)
        throw NoNumber(!before.empty() ? "the file is older than this run" : "the program did not write the file");
      return read_number(value, system::read_file(path, largest_result));
    } catch (const NoNumber& failure) {
      refuse_output(
          end, fmt::format("{} was not found{}: {}{}; the program printed:\n{}", what,
                           value.file.empty() ? "" : " in " + base::printable(path.string()), failure.what(),
                           end.output_cut && value.file.empty() ? " (of the output the last 16 MiB are looked at)" : "",
                           shown(end)));
    } catch (const Error& error) {
      throw build::CandidateFailure(Outcome::wrong_result, what + ": " + error.what(), log_of(end));
    }
  }

  /// Checks the results of the last run, once.
  void check_results() {
    if (call_.check.empty() || checked_run_ == runs_) return;
    ProgramRun check = run_;
    check.argv = device::from_call_texts(call_.check, own_.places());
    const ProgramEnd end = run_program(check, "the validator", Outcome::launch_failed);
    throw_if_out_of_time(end, "the validator", call_.timeout_s);
    if (!end.ok()) {
      const std::string words = base::last_line(end.stderr_text.empty() ? end.stdout_text : end.stderr_text);
      refuse(end, Outcome::wrong_result,
             fmt::format("the validator {}{}",
                         checked_run_ > 0 ? fmt::format("passed run 1 and, after run {}, ", runs_) : "",
                         system::describe_end(end.exit_code, end.signal, words)),
             lack_behind(end, own_));
    }
    checked_run_ = runs_;
    states_ = states_of(files_);
  }

  const ProgramFiles own_;
  const device::ProgramCall call_;
  ProgramRun run_;
  std::vector<fs::path> files_;      ///< files that other runs write, too
  std::vector<std::string> states_;  ///< states of files_ after the last run and its check
  int runs_ = 0, checked_run_ = 0;   ///< number of runs so far, and the last one that was checked
  bool suspended_ = false;           ///< during the last run
};

}  // namespace

std::unique_ptr<measure::Program> load_program(const build::Artifact& artifact, const device::ProgramCall& call,
                                               int device) {
  return std::make_unique<RunnableProgram>(artifact, call, device);
}

}  // namespace xtune::process
