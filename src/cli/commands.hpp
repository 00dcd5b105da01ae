// The common parts of xtune's commands: registration, common options, exit codes.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_text.hpp"
#include "core/record/record.hpp"
#include "core/replay/read.hpp"
#include "core/spec/spec.hpp"
#include "core/target/target.hpp"
#include "xtune/error.hpp"

namespace xtune::cli {

enum ExitCode {
  done = 0,
  own_failure = 1,
  bad_arguments = 2,
  nothing_valid = 3,
  unavailable = 4,
  regressed = 5,
  interrupted = 130
};
int exit_code_of(ErrorKind kind) noexcept;
/// Each code with its meaning, for help, the manual and docs/command-line.md.
const std::vector<std::pair<int, std::string>>& exit_code_meanings();

/// A command's callback stores its exit code here.
struct Context {
  int exit_code = done;
};

#define COMMAND(add) void add(CLI::App& app, Context& context);
#include "cli/commands.def"
#undef COMMAND

/// The options that commands share.
struct CommonOptions {
  std::string format = "text";  ///< text | json | csv
  std::string backend = "auto";
  std::string compiler = "auto";
  std::string arch;
  std::string device = "all";
  std::vector<std::string> defines;                          ///< -D NAME=value
  std::vector<std::pair<std::string, std::string>> choices;  ///< --config NAME=value
  std::vector<std::string> filters;                          ///< --filter EXPR
  spec::Partition partition;                                 ///< only for `xtune run`
  std::string jobs;                         ///< --jobs, for commands that compile; empty: see ipc::job_count
  std::string store;                        ///< empty: default_store()
  const spec::SuiteEntry* suite = nullptr;  ///< the suite's entry for the spec, which changes it

  bool json() const { return format == "json"; }
  bool csv() const { return format == "csv"; }
  bool text() const { return format == "text"; }
  std::filesystem::path store_path() const;
  spec::SpecOptions spec_options(const std::string& for_backend) const;
  target::TargetOptions target_options(target::TargetNeed need) const;
  /// The indices in --device; empty: "all". Throws Error(invalid_argument).
  std::vector<int> devices() const;
};
/// -D, --filter, --backend, --compiler, --arch, --device and --format, for commands that read a spec for a device. csv:
/// whether the command also writes tables as CSV.
void add_common_options(CLI::App& command, CommonOptions& options, bool csv = false);
/// The same options in groups, for commands that need only some of them.
void add_problem_options(CLI::App& command, CommonOptions& options);
void add_backend_option(CLI::App& command, CommonOptions& options, const std::string& summary);
void add_compiler_option(CLI::App& command, CommonOptions& options);
void add_arch_option(CLI::App& command, CommonOptions& options, const std::string& summary);
void add_device_option(CLI::App& command, CommonOptions& options);
/// For --sanitize. Throws Error(unsupported) for GPUs, whose kernels are not instrumented.
void require_sanitizable(const device::DeviceInfo& device);
/// --jobs, whose value it checks.
void add_jobs_option(CLI::App& command, CommonOptions& options);
/// --strategy, whose value it checks.
CLI::Option* add_strategy_option(CLI::App& command, std::string& strategy);
void add_format_option(CLI::App& command, std::string& format,
                       const std::string& summary = "Print text, or only JSON on standard output", bool csv = false);
/// --log. what: of each configuration that the log has.
void add_log_option(CLI::App& command, std::string& log, const std::string& what);
void add_store_option(CLI::App& command, std::string& store,
                      const std::string& summary = "Use this directory of records and artifacts");
/// Adds the spec file argument of commands that read one.
void add_spec_argument(CLI::App& command, std::string& path);
/// A command's footer: "Example:\n  xtune run gemm.toml".
void add_example(CLI::App& command, const std::string& example);

/// load_spec with the given -D options; a file that cannot be read is Error(invalid_argument).
spec::Spec read_spec(const std::string& path, const CommonOptions& options, const std::string& for_backend);
/// The options with the backend of the spec's kernel, if it is only for one. Throws Error(invalid_argument) if another
/// one is requested, or a Kokkos backend for another kernel.
target::TargetOptions for_kernel(const spec::Spec& spec, target::TargetOptions options);
/// choose_target for the kernel or the program of this spec; if neither a device nor --arch determines the
/// architecture, prints the chosen one to stderr.
target::Target target_for(const std::string& path, const CommonOptions& options,
                          const target::TargetOptions& target_options);
target::Target target_for(const std::string& path, const CommonOptions& options, target::TargetNeed need);
/// Loads the spec with the overlay of the target's backend; prints its notes to stderr.
spec::Spec load_spec_for(const std::string& path, const CommonOptions& options, const target::Target& target);
/// Prints why a command uses the CPU, if the user did not choose it. work: "tuning".
void tell_no_gpu(const target::Target& target, const std::string& work);
void tell_notes(const spec::Spec& spec);  ///< prints the changes by its overlays and -D
/// The store's records of this kernel on the target's architecture; prints damage to stderr.
std::vector<record::Record> stored_records(const spec::Spec& spec, const CommonOptions& options,
                                           const target::Target& target);
/// read_recordings; an unreadable path is Error(invalid_argument), not a failure of xtune.
std::vector<replay::Recording> read_given_recordings(const std::filesystem::path& path,
                                                     const replay::ReadOptions& options = {});
/// Prints the warnings of a store to standard error, one for each cause: warnings that differ only in line, file or
/// artifact are printed once, with their count.
void tell_warnings(const std::vector<std::string>& warnings);
/// "1 parameter", "2 parameters".
std::string counted(std::uint64_t count, const std::string& what);
/// Prints warnings about a recording, and how much of it is damaged, to stderr.
void warn_of(const replay::Recording& recording);
/// The only function that writes text to a terminal: control characters in it, which names, keys and paths from others
/// may contain, are written as \x1b and similar; line ends and tabs are kept. Marks of styles (base/style.hpp) become
/// colours if the stream has them, and on standard error also the labels "xtune:" and "warning:".
void write_text(std::FILE* stream, const std::string& text);
/// Prints to standard error. If it cannot be written (closed, a full disk, a broken pipe) the text is lost, without an
/// error.
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stderr, fmt::format(format, std::forward<Arguments>(arguments)...));
}
/// Prints text to standard output; for JSON there is print_json.
template <class... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}
/// Prints JSON to standard output; bytes that are not UTF-8 (a path may have them) become U+FFFD. indent < 0: on one
/// line.
void print_json(const nlohmann::ordered_json& json, int indent = 2);
/// Prints one answer for each case: the object itself if there is one case, else the list.
void print_json(const std::vector<nlohmann::ordered_json>& answers);
/// Prints rows of a table as CSV to standard output.
void print_csv(const std::vector<nlohmann::ordered_json>& rows);

/// The place that an error's message opens with, "gemm.toml:12:9: ..."; line 0: none.
struct Place {
  std::string file;
  std::uint64_t line = 0, column = 0;
};
Place place_in(const std::string& message);

/// "5%" or "0.05" as 0.05; at most 100. A bare number of at least 1 is nearly always meant as per cent, and is refused
/// like any other mistake: Error(invalid_argument) that names the option.
double share_of(const std::string& option, const std::string& text);

/// "A=1,B=2", the value of an option --config: the space then has only configurations with these values. Throws
/// Error(invalid_argument).
void choose_config(const std::string& config, CommonOptions& common);
/// The parts of "gfx90a,gfx942" that are not empty.
std::vector<std::string> split_list(const std::string& text);

/// A check that an option has one of these words; the error lists them.
CLI::Validator one_of(std::vector<std::string> words);
/// Applies one_of to the option; help and completion list the words.
CLI::Option* restrict_to(CLI::Option* option, std::vector<std::string> words);
inline constexpr auto max_whole_number = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = max_whole_number);
CLI::Validator positive_seconds();

}  // namespace xtune::cli
