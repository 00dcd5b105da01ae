// Starts the compiler, and distinguishes its crash from an error in the source.
#include "backends/compiler/compile_step.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/shortage.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::compiler {

namespace {

// The first errors matter most; templates can make them long.
constexpr std::uint64_t log_bytes = std::uint64_t{256} << 10;

/// complaint: what is wrong with a name that is none.
void check_name(const std::string& text, const std::string& complaint) {
  const std::string name = build::unqualified_name(text);
  const bool word =
      !name.empty() &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
  if (word && text.find_first_of(";{}\n#") == std::string::npos) return;
  throw build::CandidateFailure(Outcome::compile_failed, complaint, complaint + "\n");
}

}  // namespace

void check_names(const build::CompileRequest& request) {
  for (const std::string& entry : build::entries_of(request))
    check_name(entry, fmt::format("entry \"{}\" is neither a function's name nor a template-id such as gemm<64, 32>",
                                  base::printable(entry, 200)));
  for (const std::string& variable : request.variables)
    check_name(variable,
               fmt::format("symbol \"{}\" is neither a variable's name nor a template-id such as ns::table<4>",
                           base::printable(variable, 200)));
}

std::vector<std::string> include_flags(const build::CompileRequest& request) {
  std::vector<std::string> flags;
  for (const std::string& dir : request.include_dirs) flags.push_back("-I" + dir);
  const auto folder = std::filesystem::path(request.source_name).parent_path();
  std::error_code failed;
  if (!folder.empty() && std::filesystem::is_directory(folder, failed))
    flags.insert(flags.end(), {"-iquote", std::filesystem::absolute(folder).string()});
  return flags;
}

system::CommandResult run_compiler(const std::vector<std::string>& arguments, std::string input,
                                   const std::filesystem::path& folder) {
  system::CommandOptions options;
  options.own_group = false;
  options.cwd = folder.string();
  options.env = {{"TMPDIR", folder.string()}, {"LC_ALL", "C"}};
  options.stdin_text = std::move(input);
  options.output_limit_bytes = std::uint64_t{256} << 20;  // for a preprocessed source
  options.stderr_limit_bytes = log_bytes;
  return system::run_command(arguments, options);
}

void require_compiled(const system::CommandResult& result, const std::string& earlier_log,
                      const build::CompileRequest& request, const std::string& compiler) {
  const std::string log = earlier_log + result.stderr_text;
  if (result.ok() && !result.output_truncated) return;
  if (!result.ok())
    build::throw_if_not_the_source({compiler, log, result.exit_code, result.signal, system::temporary_folder()});
  // The drivers of gcc and clang survive a crash of the compiler itself and report it.
  if (result.signal != 0 || log.find("internal compiler error") != std::string::npos ||
      log.find("PLEASE submit a bug report") != std::string::npos)
    throw build::CandidateFailure(Outcome::crashed,
                                  fmt::format("{} crashed on {}: {}", compiler, request.source_name,
                                              result.signal != 0 ? system::describe_exit(0, result.signal)
                                                                 : build::first_error_or_first_line(log)),
                                  log);
  if (result.ok())
    throw build::CandidateFailure(Outcome::compile_failed,
                                  fmt::format("{} is too large once its includes are read", request.source_name), log);
  const std::string error = build::first_error_or_first_line(log);
  throw build::CandidateFailure(Outcome::compile_failed,
                                error.empty() ? fmt::format("{} failed without a message ({})", compiler,
                                                            system::describe_exit(result.exit_code, result.signal))
                                              : error,
                                log);
}

}  // namespace xtune::compiler
