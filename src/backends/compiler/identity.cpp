// Asks a compiler for its version, its directories and its libraries.
#include "backends/compiler/identity.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "backends/compiler/ask_compiler.hpp"
#include "base/text.hpp"
#include "core/build/system_headers.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

namespace xtune::compiler {

Compiler identify_compiler(const std::string& path) {
  const system::CommandResult result = ask_compiler(path, {{"--version"}});
  if (!result.ok())
    throw Error(ErrorKind::unavailable, path + " --version failed (" +
                                            system::describe_exit(result.exit_code, result.signal) +
                                            "): " + base::printable(base::first_line(result.stderr_text), 200));
  const std::string version = base::printable(base::first_line(result.stdout_text), 200);
  return {path, version, version.find("clang") != std::string::npos};
}

bool names_options(const std::vector<std::string>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return option.find('@') != std::string::npos || option.find("config") != std::string::npos ||
           option.find("-specs") != std::string::npos;
  });
}

namespace {

std::vector<std::string> folders_behind(const std::string& text, const std::string& heading) {
  std::vector<std::string> folders;
  std::size_t at = text.find(heading + " search starts here:\n");
  while (at != std::string::npos && (at = text.find('\n', at)) != std::string::npos &&
         text.compare(at, 2, "\n ") == 0) {
    const std::size_t end = std::min(text.find('\n', at + 2), text.size());
    folders.push_back(text.substr(at + 2, end - at - 2));
    at = end;
  }
  return folders;
}

}  // namespace

SearchedFolders searched_folders(const std::string& compiler, const std::vector<std::string>& options) {
  Question question{options};
  question.options.insert(question.options.end(), {"-E", "-v", "-x", "c++", "/dev/null"});
  question.again = names_options(options);
  const system::CommandResult result = ask_compiler(compiler, question);
  SearchedFolders searched{folders_behind(result.stderr_text, "#include \"...\""),
                           folders_behind(result.stderr_text, "#include <...>")};
  // A directory that is made later is searched then, before any other for all that is known.
  constexpr std::string_view ignored = "ignoring nonexistent directory \"";
  for (const std::string_view line : base::split_lines(result.stderr_text))
    if (line.starts_with(ignored) && line.ends_with('"'))
      searched.angled.emplace(searched.angled.begin(), line.substr(ignored.size(), line.size() - ignored.size() - 1));
  return searched;
}

std::vector<std::string> standard_folders(const std::string& compiler) {
  // Directories from environment variables belong to the user.
  const system::CommandResult result = ask_compiler(
      compiler,
      {{"-E", "-x", "c++", "-v", "/dev/null"}, {{"CPATH", ""}, {"CPLUS_INCLUDE_PATH", ""}, {"C_INCLUDE_PATH", ""}}});
  std::vector<std::string> folders;
  if (!result.ok()) return folders;
  for (const std::filesystem::path folder : folders_behind(result.stderr_text, "#include <...>")) {
    folders.push_back(folder.string());
    // The directory next to Clang's headers has the lists that its sanitizers read.
    if (folder.filename() == "include") folders.push_back((folder.parent_path() / "share").string());
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
  const system::CommandResult result = ask_compiler(compiler, {{"-print-file-name=" + name}});
  std::error_code failed;
  // For a missing library the compiler prints the bare name.
  const std::filesystem::path path = base::first_line(result.stdout_text);
  if (!result.ok() || !path.is_absolute() || !std::filesystem::exists(path, failed)) return "";
  const auto real = std::filesystem::canonical(path, failed);
  return failed ? "" : real.string();
}

}  // namespace xtune::compiler
