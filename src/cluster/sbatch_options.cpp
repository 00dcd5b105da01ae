// Reads options like getopt_long(3), as far as possible without a list of all options.
#include "cluster/sbatch_options.hpp"

#include <fmt/core.h>

#include <string_view>

#include "base/shell_words.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// Whether the next word may be its value.
bool may_take_next(const std::string& option) {
  return option.starts_with("--") ? option.find('=') == std::string::npos : option.size() == 2;
}

/// -a, --array, or an abbreviation that getopt_long(3) accepts for it.
bool makes_array(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return name.starts_with("--") ? name.size() >= 4 && std::string_view("--array").starts_with(name)
                                : name.starts_with("-a");
}

}  // namespace

void check_sbatch_options(const std::vector<std::string>& words, const std::string& source) {
  bool value_may_follow = false;
  for (const std::string& word : words) {
    if (word == "--" || (!is_option(word) && !value_may_follow))
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("{}: '{}' is not an option, and sbatch would take it for the script; xtune submit writes that "
                      "itself, and takes only options of sbatch there, such as --time=2:00:00",
                      source, base::printable(word, 80)));
    if (makes_array(word))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: {} would do the whole submission once for each index of the array; more processes "
                              "in one search come from --nodes and --gpus-per-node",
                              source, base::printable(word, 80)));
    value_may_follow = is_option(word) && may_take_next(word);
  }
}

namespace {

/// The last one of an option's values, as "--name=value".
std::vector<std::string> option_value(const std::vector<std::string>& words, const std::string& letter,
                                      const std::string& name) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool next = word == letter || word == name;
    if (next && i + 1 < words.size())
      found = {name + "=" + words[i + 1]};
    else if (word.starts_with(name + "="))
      found = {word};
    else if (!next && word.starts_with(letter))
      found = {name + "=" + word.substr(2)};
  }
  return found;
}

}  // namespace

std::vector<std::string> account_option(const std::vector<std::string>& words) {
  return option_value(words, "-A", "--account");
}

std::vector<std::string> time_option(const std::vector<std::string>& words) {
  return option_value(words, "-t", "--time");
}

std::vector<std::string> cpus_option(const std::vector<std::string>& words) {
  std::vector<std::string> found = option_value(words, "-c", "--cpus-per-task");
  return found.empty() ? option_value(words, "--cpus-per-gpu", "--cpus-per-gpu") : found;
}

std::vector<std::string> directive_words(const std::vector<std::string>& lines) {
  constexpr std::string_view start = "#SBATCH ";
  std::vector<std::string> words;
  for (const std::string& line : lines) {
    if (!line.empty() && !line.starts_with('#')) break;  // sbatch reads no options behind the first command
    if (line.starts_with(start))
      for (std::string& word : base::shell_words(std::string_view(line).substr(start.size())))
        words.push_back(std::move(word));
  }
  return words;
}

}  // namespace xtune::cluster
