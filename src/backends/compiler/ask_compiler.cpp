// The shared memory is a file for each answer, in a directory that only this user can write.
#include "backends/compiler/ask_compiler.hpp"

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
#include "core/build/keyed_files.hpp"
#include "core/build/tool_files.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"

namespace xtune::compiler {
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
