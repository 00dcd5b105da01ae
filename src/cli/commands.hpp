// What the commands of xtune share: registration, common options, exit codes.
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
  std::string arch;
  std::string device = "all";
  std::vector<std::string> defines;         ///< -D NAME=value
  std::vector<std::string> filters;         ///< --filter EXPR
  spec::Partition partition;                ///< of `xtune run` alone
  std::string store;                        ///< empty: default_store()
  const spec::SuiteEntry* suite = nullptr;  ///< the spec is one of a suite, and read as that changes it

  bool json() const { return format == "json"; }
  bool csv() const { return format == "csv"; }
  bool text() const { return format == "text"; }
  std::filesystem::path store_path() const;
  spec::SpecOptions spec_options(const std::string& for_backend) const;
  target::TargetOptions target_options(target::TargetNeed need) const;
  /// The indices in --device; empty: "all". Throws Error(invalid_argument).
  std::vector<int> devices() const;
};
/// -D, --filter, --backend, --arch, --device and --format: of commands that read a spec for a device. csv: whether the
/// command also writes tables as CSV.
void add_common_options(CLI::App& command, CommonOptions& options, bool csv = false);
/// The same one by one, for commands to which only some of them mean something.
void add_problem_options(CLI::App& command, CommonOptions& options);
void add_backend_option(CLI::App& command, CommonOptions& options, const std::string& summary);
void add_arch_option(CLI::App& command, CommonOptions& options, const std::string& summary);
void add_device_option(CLI::App& command, CommonOptions& options);
void add_format_option(CLI::App& command, std::string& format,
                       const std::string& summary = "Print text, or only JSON on standard output", bool csv = false);
void add_store_option(CLI::App& command, std::string& store,
                      const std::string& summary = "Use this directory of records and artifacts");
/// The spec file argument: shared by all commands that read one.
void add_spec_argument(CLI::App& command, std::string& path);
/// A command's footer: "Example:\n  xtune run gemm.toml".
void add_example(CLI::App& command, const std::string& example);

/// load_spec with the -D options given; a file that cannot be read is Error(invalid_argument).
spec::Spec read_spec(const std::string& path, const CommonOptions& options, const std::string& for_backend);
/// The options with the backend that the spec's kernel is for, where it is for one alone. Throws
/// Error(invalid_argument) when another is asked for, or a Kokkos backend for another kernel.
target::TargetOptions for_kernel(const spec::Spec& spec, target::TargetOptions options);
/// choose_target for the kernel or the program of this spec; where no device and no --arch tell the architecture, says
/// on stderr which one it took.
target::Target target_for(const std::string& path, const CommonOptions& options,
                          const target::TargetOptions& target_options);
target::Target target_for(const std::string& path, const CommonOptions& options, target::TargetNeed need);
/// Loads the spec with the overlay of the target's backend; prints its notes to stderr.
spec::Spec load_spec_for(const std::string& path, const CommonOptions& options, const target::Target& target);
void tell_notes(const spec::Spec& spec);  ///< what its overlays and -D changed
/// The store's records of this kernel on the target's architecture; prints what is damaged to stderr.
std::vector<record::Record> stored_records(const spec::Spec& spec, const CommonOptions& options,
                                           const target::Target& target);
/// read_recordings; what cannot be read is Error(invalid_argument), not a failure of xtune.
std::vector<replay::Recording> read_given_recordings(const std::filesystem::path& path,
                                                     const replay::ReadOptions& options = {});
/// The warnings of a store to standard error, one for each cause: what differs by its line, file or artifact alone is
/// told once, with how many there are.
void tell_warnings(const std::vector<std::string>& warnings);
/// "1 parameter", "2 parameters".
std::string counted(std::uint64_t count, const std::string& what);
/// Prints what is wrong with a recording, and how much of it is damaged, to stderr.
void warn_of(const replay::Recording& recording);
/// The one way of text to a terminal: control characters in it, which names, keys and paths of others may hold, are
/// written as \x1b and the like; line ends and tabs stay. Marks of styles (base/style.hpp) become colours where the
/// stream has them, and on standard error also the labels "xtune:" and "warning:".
void write_text(std::FILE* stream, const std::string& text);
/// To standard error. Where nobody can read it (closed, a full disk, a broken pipe) it is lost, and nothing else is.
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stderr, fmt::format(format, std::forward<Arguments>(arguments)...));
}
/// Text on standard output; JSON has print_json.
template <class... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}
/// JSON on standard output; bytes that are not UTF-8 (a path may have them) become U+FFFD. indent < 0: on one line.
void print_json(const nlohmann::ordered_json& json, int indent = 2);
/// One answer for each case: the object itself where there is one case, else the list.
void print_json(const std::vector<nlohmann::ordered_json>& answers);
/// Rows of a table as CSV on standard output.
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

/// What an option of this kind must be; else the message says what is expected.
CLI::Validator one_of(std::vector<std::string> words);
/// one_of, and help and completion list the words.
CLI::Option* restrict_to(CLI::Option* option, std::vector<std::string> words);
inline constexpr auto max_whole_number = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = max_whole_number);
CLI::Validator positive_seconds();

}  // namespace xtune::cli
