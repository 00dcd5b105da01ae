// Answers are shared by the workers of a run: a file for each, in a directory that only this user can write.
#include "backends/compiler/identity.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/system_headers.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
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

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t timeout_ms = 20'000, max_answer_bytes = 1 << 24;

/// The variables that compilers may read: all but xtune's, and the place of temporary files, which differs between
/// workers.
std::string environment_text() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable)
    if (const std::string_view text = *variable; !text.starts_with("XTUNE_") && !text.starts_with("TMPDIR="))
      variables.emplace_back(text);
  std::sort(variables.begin(), variables.end());
  std::string all;
  for (const std::string& variable : variables) all += variable + '\0';
  return all;
}

/// Empty: the answer may change without a trace.
std::string key_of(const std::string& compiler, const Question& question) {
  if (!fs::path(compiler).is_absolute() || !build::is_elf(compiler)) return {};
  const build::KeyedFile file = build::look_at(compiler);
  if (file.recent) return {};
  std::string text = compiler + '\0' + file.state + '\0' + environment_text();
  for (const std::string& option : question.options) text += '\0' + option;
  for (const auto& [name, value] : question.env) text += '\0' + name + '=' + value;
  return base::sha256(text).substr(0, 32);
}

void replace_all(std::string& text, const std::string& from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

system::CommandResult start(const std::string& compiler, const Question& question) {
  const system::TemporaryDirectory temporary;
  system::CommandOptions options;
  options.own_group = false;
  options.timeout_ms = timeout_ms;
  options.env = {{"LC_ALL", "C"}, {"TMPDIR", temporary.path().string()}};
  options.env.insert(options.env.end(), question.env.begin(), question.env.end());
  std::vector<std::string> words{compiler};
  words.insert(words.end(), question.options.begin(), question.options.end());
  system::CommandResult result = system::run_command(words, options);
  for (std::string* text : {&result.stdout_text, &result.stderr_text})
    replace_all(*text, temporary.path().string(), temporary_place);
  return result;
}

/// The length of standard output, a line feed, standard output, standard error.
std::string stored_form(const system::CommandResult& answer) {
  return fmt::format("{}\n{}{}", answer.stdout_text.size(), answer.stdout_text, answer.stderr_text);
}

std::optional<system::CommandResult> read_answer(const fs::path& file) {
  const std::string text = system::read_if_there(file, max_answer_bytes);
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const auto begin = static_cast<std::size_t>(end - text.data()) + 1;
  if (error != std::errc() || begin > text.size() || bytes > text.size() - begin) return std::nullopt;
  system::CommandResult answer;
  answer.exit_code = 0;
  answer.stdout_text = text.substr(begin, bytes);
  answer.stderr_text = text.substr(begin + bytes);
  return answer;
}

}  // namespace

system::CommandResult ask_compiler(const std::string& compiler, const Question& question) {
  static std::mutex mutex;
  static std::map<std::string, system::CommandResult> known;
  const std::string key = key_of(compiler, question);
  if (key.empty()) return start(compiler, question);
  const fs::path folder = system::shared_folder();
  const fs::path file = folder / ("answer-" + key);
  if (!question.again) {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (!folder.empty())
      if (auto answer = read_answer(file)) return known.emplace(key, std::move(*answer)).first->second;
  }
  system::CommandResult answer = start(compiler, question);
  if (!answer.ok()) return answer;
  if (!folder.empty()) try {
      system::write_file_atomically(file, stored_form(answer));
    } catch (const Error&) {  // a full disk: others ask again
    }
  const std::lock_guard lock(mutex);
  known[key] = answer;
  return answer;
}

}  // namespace xtune::compiler
