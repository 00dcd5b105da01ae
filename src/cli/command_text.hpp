// The parser's description of a command, as data for help, manual pages and shell completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace xtune::cli {

/// The groups of options, in the order in which help shows them. Options without a group come last.
namespace option_group {
inline constexpr const char* search = "Search";
inline constexpr const char* problem = "Problem";
inline constexpr const char* device = "Device";
inline constexpr const char* job = "Job";
inline constexpr const char* output = "Output";
inline constexpr const char* store = "Store";
inline constexpr const char* other = "Options";  ///< of options that name no group
}  // namespace option_group

/// The kind of a value, by the option's type name: shells complete paths.
enum class ValueKind { none, text, file, directory };

struct OptionText {
  std::vector<std::string> names;  ///< "--output", "-o"; empty for a positional argument
  std::string value;               ///< as in the help: "N", "FILE", "text|json"; for an argument "SPEC..."
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  ///< all valid values of a closed set
  std::string summary;
  std::string remark;  ///< after the summary: words that do not fit into value, the default, whether it may be repeated
  bool required = false;
  bool repeated = false;
};

struct CommandText {
  std::string name;  ///< "run"
  std::string path;  ///< "xtune store ls"
  std::string summary;
  std::string usage;
  std::vector<OptionText> arguments;
  std::vector<std::pair<std::string, std::vector<OptionText>>> groups;
  std::vector<CommandText> commands;  ///< hidden ones are skipped
  std::vector<std::string> examples;
  std::vector<std::string> notes;
};

CommandText describe(const CLI::App& app);

/// "xtune", "xtune store": as a user types it.
std::string full_name(const CLI::App& app);

}  // namespace xtune::cli
