// Asks a compiler for its version, its directories and its libraries.
#include "backends/compiler/identity.hpp"

#include <algorithm>
#include <filesystem>

#include "backends/compiler/ask_compiler.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "core/build/system_headers.hpp"
#include "xtune/error.hpp"

namespace xtune::compiler {

Compiler identify_compiler(const std::string& path) {
  const base::CommandResult result = ask_compiler(path, {{"--version"}});
  if (!result.ok())
    throw Error(ErrorKind::unavailable, path + " --version failed (" +
                                            base::describe_exit(result.exit_code, result.signal) +
                                            "): " + base::printable(base::first_line(result.stderr_text), 200));
  const std::string version = base::printable(base::first_line(result.stdout_text), 200);
  return {path, version, version.find("clang") != std::string::npos};
}

std::vector<std::string> standard_folders(const std::string& compiler) {
  // Directories from environment variables belong to the user.
  const base::CommandResult result = ask_compiler(
      compiler,
      {{"-E", "-x", "c++", "-v", "/dev/null"}, {{"CPATH", ""}, {"CPLUS_INCLUDE_PATH", ""}, {"C_INCLUDE_PATH", ""}}});
  std::vector<std::string> folders;
  const std::string& text = result.stderr_text;
  std::size_t at = text.find("#include <...> search starts here:\n");
  while (result.ok() && (at = text.find('\n', at)) != std::string::npos && text.compare(at, 2, "\n ") == 0) {
    const std::size_t end = std::min(text.find('\n', at + 2), text.size());
    std::filesystem::path folder = text.substr(at + 2, end - at - 2);
    folders.push_back(folder.string());
    // The directory next to Clang's headers has the lists that its sanitizers read.
    if (folder.filename() == "include") folders.push_back((folder.parent_path() / "share").string());
    at = end;
  }
  return folders;
}

std::vector<std::string> compiler_folders(const std::string& compiler) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders = standard_folders(compiler);
  std::error_code failed;
  std::erase_if(folders, [&](const std::string& folder) {
    const auto& shared = build::shared_header_folders();
    return std::any_of(shared.begin(), shared.end(), [&, path = fs::weakly_canonical(folder, failed)](const auto& s) {
      return path == fs::weakly_canonical(s, failed);
    });
  });
  return folders;
}

std::string runtime_library(const std::string& compiler, const std::string& name) {
  const base::CommandResult result = ask_compiler(compiler, {{"-print-file-name=" + name}});
  std::error_code failed;
  // For a missing library the compiler prints the bare name.
  const std::filesystem::path path = base::first_line(result.stdout_text);
  if (!result.ok() || !path.is_absolute() || !std::filesystem::exists(path, failed)) return "";
  const auto real = std::filesystem::canonical(path, failed);
  return failed ? "" : real.string();
}

}  // namespace xtune::compiler
