// Options of commands: how a command adds them, the ones that commands share, and checks of their values.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>

#include "cli/commands.hpp"
#include "core/spec/spec.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::cli {

/// The groups of options, in the order in which help shows them. Options without a group come last.
namespace option_group {
inline constexpr const char* search = "Search";
inline constexpr const char* problem = "Problem";
inline constexpr const char* device = "Device";
inline constexpr const char* direct = "Without a spec";
inline constexpr const char* job = "Job";
inline constexpr const char* output = "Output";
inline constexpr const char* store = "Store";
inline constexpr const char* other = "Options";  ///< of options that name no group
}  // namespace option_group

/// A command's footer: "Example:\n  xtune run gemm.toml"; empty: none.
void add_example(CLI::App& command, const std::string& example);

template <class Options>
struct NewCommand {
  CLI::App& command;
  Options& options;  ///< they live as long as the context
};
/// Adds a command that calls run(options), which returns the exit code.
template <class Options>
NewCommand<Options> add_command(CLI::App& parent, Context& context, const std::string& name, const std::string& summary,
                                const std::string& example, std::type_identity_t<std::function<int(Options&)>> run) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *parent.add_subcommand(name, summary);
  add_example(command, example);
  command.callback([&options = *options, run = std::move(run), &context] { context.exit_code = run(options); });
  context.options.push_back(options);
  return {command, *options};
}

/// A check that an option has one of these words; the error lists them.
CLI::Validator one_of(std::vector<std::string> words);
/// Applies one_of to the option; help and completion list the words.
CLI::Option* restrict_to(CLI::Option* option, std::vector<std::string> words);
inline constexpr auto max_whole_number = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
CLI::Validator whole_number(std::uint64_t min, std::uint64_t max = max_whole_number);
CLI::Validator positive(const char* unit);
CLI::Validator not_empty();

/// Adds options of one group to a command. The help shows defaults other than 0 and empty texts.
class OptionGroup {
 public:
  OptionGroup(CLI::App& command, const char* name) : command_(command), name_(name) {}

  /// An option with a value. type: what the help calls the value.
  template <class T>
  CLI::Option* value(const char* name, T& target, const std::string& type, const std::string& summary) const {
    CLI::Option* const option = command_.add_option(name, target, summary)->type_name(type)->group(name_);
    if constexpr (std::equality_comparable<T>)
      if (target != T()) option->capture_default_str();
    return option;
  }
  template <class T>
  CLI::Option* number(const char* name, T& target, std::uint64_t min, const std::string& summary,
                      std::uint64_t max = max_whole_number) const {
    return value(name, target, "N", summary)->check(whole_number(min, max));
  }
  CLI::Option* words(const char* name, std::string& target, std::vector<std::string> words,
                     const std::string& summary) const {
    return restrict_to(value(name, target, "", summary), std::move(words));
  }
  /// An option that may be repeated, with one value each time.
  CLI::Option* list(const char* name, std::vector<std::string>& target, const std::string& type,
                    const std::string& summary) const {
    return value(name, target, type, summary)->allow_extra_args(false);
  }
  CLI::Option* flag(const char* name, bool& target, const std::string& summary) const {
    return command_.add_flag(name, target, summary)->group(name_);
  }

 private:
  CLI::App& command_;
  const char* name_;
};

/// Adds a required argument.
template <class T>
CLI::Option* add_argument(CLI::App& command, const char* name, T& target, const std::string& type,
                          const std::string& summary) {
  return command.add_option(name, target, summary)->required()->type_name(type);
}

/// A spec that the command line describes.
struct DirectSpec {
  std::string text;             ///< TOML
  std::filesystem::path place;  ///< the file that it is, or would be: relative paths start in its directory
};

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
  std::string jobs;                          ///< --jobs, for commands that compile; empty: see worker::job_count
  std::string store;                         ///< empty: default_store()
  std::shared_ptr<const DirectSpec> direct;  ///< read in the place of a file
  const spec::SuiteEntry* suite = nullptr;   ///< the suite's entry for the spec, which changes it

  bool json() const { return format == "json"; }
  bool csv() const { return format == "csv"; }
  bool text() const { return format == "text"; }
  std::filesystem::path store_path() const;
  spec::SpecOptions spec_options(const std::string& for_backend) const;
  worker::TargetOptions target_options(worker::TargetNeed need) const;
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
/// --jobs, whose value it checks.
void add_jobs_option(CLI::App& command, CommonOptions& options);
/// --strategy, whose value it checks.
void add_strategy_option(CLI::App& command, std::string& strategy);
void add_keep_going_option(CLI::App& command, bool& keep_going);
void add_sanitize_option(CLI::App& command, bool& sanitize, const std::string& remark = "");
void add_format_option(CLI::App& command, std::string& format,
                       const std::string& summary = "Print text, or only JSON on standard output", bool csv = false);
void add_quiet_option(CLI::App& command, bool& quiet, const std::string& what = "progress");
/// --log. what: of each configuration that the log has.
void add_log_option(CLI::App& command, std::string& log, const std::string& what);
void add_store_option(CLI::App& command, std::string& store,
                      const std::string& summary = "Use this directory of records and artifacts");
/// Adds --color to the help of a command and all its subcommands, and checks its value, which choose_colours() reads.
void add_color_option(CLI::App& command);
/// The path of a spec that the command line gives, or of the one with this name that comes with xtune, which is told.
/// Throws Error(invalid_argument) for an unknown name.
std::string spec_named(const std::string& given);
/// Adds the spec file argument of commands that read one, or several files and suites.
CLI::Option* add_spec_argument(CLI::App& command, std::string& path);
void add_specs_argument(CLI::App& command, std::vector<std::string>& paths);

/// --force, for commands that write specs, which users edit afterwards.
void add_force_option(CLI::App& command, bool& force);
/// A file name without special characters for shells and TOML.
std::string file_stem(std::string name);
/// How a user chooses other files than the existing ones that an import would replace.
inline constexpr const char* other_files = "--name or -o names others";
/// Throws Error(invalid_argument) that names the first of the files that exists, also as a broken link, unless force.
/// otherwise: how to choose another file, for example "-o names another".
void require_new_files(const std::vector<std::filesystem::path>& files, bool force, const std::string& otherwise);

/// What read() returns. A file of the command line that cannot be read is Error(invalid_argument), not a failure of
/// xtune.
template <class Read>
auto read_given(const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw Error(ErrorKind::invalid_argument, error.what());
    throw;
  }
}

/// "5%" or "0.05" as 0.05; at most 100. A bare number of at least 1 is nearly always meant as per cent, and is refused
/// like any other mistake: Error(invalid_argument) that names the option.
double share_of(const std::string& option, const std::string& text);
/// The parts of "NAME=VALUE". Throws Error(invalid_argument): "OPTION TEXT: write EXPECTED".
std::pair<std::string, std::string> name_and_value(const std::string& option, const std::string& text,
                                                   const std::string& expected);
/// "A=1,B=2", the value of an option --config: the space then has only configurations with these values. Throws
/// Error(invalid_argument).
void choose_config(const std::string& config, CommonOptions& common);
/// The parts of "gfx90a,gfx942" that are not empty.
std::vector<std::string> split_list(const std::string& text);

}  // namespace xtune::cli
