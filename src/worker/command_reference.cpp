// The exchange of arrays with programs: references and checks.
#include "worker/command_reference.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "core/validate/npy.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t shown_stderr = 4000;

/// A directory that is always removed with its contents.
struct ExchangeFolder {
  fs::path path;
  explicit ExchangeFolder(fs::path path_) : path(std::move(path_)) {
    std::error_code error;
    fs::remove_all(path, error);
    fs::create_directories(path / "inputs", error);
    if (!error) fs::create_directories(path / "outputs", error);
    if (error) throw Error(ErrorKind::io, path.string() + ": " + error.message());
  }
  ~ExchangeFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ExchangeFolder(const ExchangeFolder&) = delete;
  ExchangeFolder& operator=(const ExchangeFolder&) = delete;
};

[[noreturn]] void fail(const CommandCall& call, const std::string& what, std::string_view words = {},
                       ErrorKind kind = ErrorKind::invalid_spec) {
  std::string message =
      fmt::format("the reference command '{}' {}", base::printable(fmt::format("{}", fmt::join(call.argv, " "))), what);
  const std::size_t skipped = words.size() > shown_stderr ? words.size() - shown_stderr : 0;
  if (!words.empty()) message += ":\n" + base::printable(words.substr(skipped));
  throw Error(kind, message);
}

void write_array(const fs::path& folder, const validate::ArrayView& array) {
  validate::write_npy(folder / (array.layout->name + ".npy"),
                      {array.layout->dtype, array.layout->shape, {array.data.begin(), array.data.end()}});
}

/// The inputs lie in the exchange directory from here on. Throws system::CannotStart.
system::CommandResult run(const CommandCall& call, const fs::path& folder) {
  for (const validate::ArrayView& input : call.inputs) write_array(folder / "inputs", input);
  system::CommandOptions options;
  options.env = {{"XTUNE_INPUTS", (folder / "inputs").string()}, {"XTUNE_OUTPUTS", (folder / "outputs").string()}};
  options.cwd = call.working_folder.string();
  options.timeout_ms = static_cast<std::uint64_t>(call.timeout_s * 1e3);
  options.output_limit_bytes = std::uint64_t{1} << 20;
  options.own_group = false;  // it must not outlive this worker
  return system::run_command(call.argv, options);
}

system::CommandResult run_reference(const CommandCall& call, const fs::path& folder) {
  try {
    return run(call, folder);
  } catch (const system::CannotStart& failure) {
    fail(call, std::string("could not be started: ") + failure.what(), {},
         system::is_shortage(failure.reason()) ? ErrorKind::unavailable : ErrorKind::invalid_spec);
  }
}

/// A program's words for why it ended so: the last line that it printed.
std::string last_words(const system::CommandResult& result) {
  const std::string line = base::last_line(result.stderr_text.empty() ? result.stdout_text : result.stderr_text, 400);
  return line.empty() ? "it printed nothing" : line;
}

}  // namespace

std::vector<std::vector<std::byte>> run_command_reference(const CommandReference& call) {
  const ExchangeFolder folder(call.exchange_folder);
  const system::CommandResult result = run_reference(call, folder.path);
  if (result.timed_out)
    fail(call,
         fmt::format("took longer than {} and was stopped; a slow one gets more time with a larger [measure] "
                     "timeout_s",
                     base::human_seconds(call.timeout_s)),
         result.stderr_text);
  if (!result.ok())
    fail(call, system::describe_end(result.exit_code, result.signal), result.stderr_text,
         system::comes_from_others(system::ending_signal(result.exit_code, result.signal)) ? ErrorKind::io
                                                                                           : ErrorKind::invalid_spec);
  std::vector<std::vector<std::byte>> outputs;
  bool any = false;
  for (const validate::ArgumentLayout* output : call.outputs) {
    outputs.emplace_back();
    validate::ArgumentLayout from_file = *output;
    from_file.file = folder.path / "outputs" / (output->name + ".npy");
    std::error_code ignored;
    if (!fs::exists(from_file.file, ignored)) continue;
    any = true;
    outputs.back().resize(output->bytes());
    try {
      validate::fill_input(from_file, 0, outputs.back());
    } catch (const Error& error) {
      fail(call, std::string("wrote an output that does not fit: ") + error.what(), result.stderr_text);
    }
  }
  if (!any)
    fail(call, fmt::format("wrote no {}.npy to the directory that XTUNE_OUTPUTS names", call.outputs.front()->name),
         result.stderr_text);
  return outputs;
}

void run_command_check(const CommandCall& call, const std::vector<validate::ArrayView>& outputs) {
  const ExchangeFolder folder(call.exchange_folder);
  for (const validate::ArrayView& output : outputs) write_array(folder.path / "outputs", output);
  system::CommandResult result;
  try {
    result = run(call, folder.path);
  } catch (const system::CannotStart& failure) {
    build::throw_start_failure(failure, "the validator", call.argv.front(), Outcome::launch_failed);
  }
  if (result.timed_out)
    throw build::CandidateFailure(
        Outcome::timed_out,
        fmt::format("the validator took longer than {} and was stopped; a slow one gets more time with "
                    "a larger [measure] timeout_s",
                    base::human_seconds(call.timeout_s)));
  if (result.ok()) return;
  const std::string message =
      "the validator " + system::describe_end(result.exit_code, result.signal, last_words(result));
  const std::string log = result.stdout_text + result.stderr_text;
  if (system::comes_from_others(system::ending_signal(result.exit_code, result.signal)))
    throw build::ShortageFailure(build::Lack::killed, Outcome::wrong_result, message + system::not_from_xtune, log);
  if (build::is_exit_of_missing_program(result.exit_code) || !system::user_limits().empty())
    throw build::ShortageFailure(build::Lack::unclear, Outcome::wrong_result,
                                 message + build::under(system::user_limits()), log);
  throw build::CandidateFailure(Outcome::wrong_result, message, log);
}

}  // namespace xtune::worker
