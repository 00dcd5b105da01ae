// The directory of the scripts is installed beside the program, and needs only python3.
#include "cli/script.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "worker/ipc/installed.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {
namespace {

namespace fs = std::filesystem;

std::string script_directory() {
  const fs::path place = worker::installed_directory("compat");
  if (place.empty()) throw Error(ErrorKind::unavailable, "the scripts of xtune (share/xtune/compat) are not installed");
  return place.string();
}

[[noreturn]] void refuse_without(const std::string& what, const char* package) {
  throw Error(ErrorKind::unavailable,
              fmt::format("this command needs {}, which is not installed (Debian: {})", what, package));
}

}  // namespace

nlohmann::ordered_json script_answer(const std::string& name, nlohmann::ordered_json request,
                                     std::vector<std::string>& warnings) {
  request["version"] = version;
  system::CommandOptions options;
  options.stdin_text = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  options.output_limit_bytes = std::uint64_t{4} << 30;
  options.own_group = false;
  const std::string scripts = script_directory();
  nlohmann::ordered_json answer;
  // Debian's packages of modules serve its own Python, which need not be the first one in PATH.
  const char* const path = std::getenv("PATH");
  for (const std::string& directory : base::split(path ? path : "/usr/bin", ':')) {
    const std::string python = system::find_program(directory + "/python3");
    if (python.empty()) continue;
    const system::CommandResult result = system::run_command({python, "-I", "-B", scripts, name}, options);
    answer = nlohmann::ordered_json::parse(result.stdout_text, nullptr, false);
    if (!result.ok() || !answer.is_object())
      throw Error(ErrorKind::io, fmt::format("the script {}/{}.py failed ({}): {}", scripts, name,
                                             system::describe_exit(result.exit_code, result.signal),
                                             base::last_line(result.stderr_text)));
    if (!answer.contains("missing")) break;
  }
  if (answer.is_null()) refuse_without("python3", "python3");
  if (const std::string module = answer.value("missing", ""); !module.empty())
    refuse_without("the Python module " + module, module == "yaml" ? "python3-yaml" : "python3");
  if (answer.contains("error"))
    throw Error(
        answer["kind"] == to_string(ErrorKind::nothing_valid) ? ErrorKind::nothing_valid : ErrorKind::invalid_argument,
        answer["error"].get<std::string>());
  for (const auto& warning : answer["warnings"]) warnings.push_back(warning);
  return std::move(answer["answer"]);
}

}  // namespace xtune::cli
