// Sources: the manuals of GNU make ("Summary of Options", "Including Other Makefiles"), ninja and cargo; cmake(1).
#include "core/build/implicit_files.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/files.hpp"
#include "base/shell_words.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::uint64_t file_limit_bytes = std::uint64_t{64} << 20;

struct BuildTool {
  std::string_view program;
  std::vector<std::string_view> folder_options, file_options;
  std::vector<std::string_view> files;  ///< read if no option names others
  bool takes_first = false;             ///< only the first existing one of `files`
  std::vector<std::string_view> includes = {};
};

const std::vector<BuildTool>& build_tools() {
  static const BuildTool make{"make",
                              {"-C", "--directory"},
                              {"-f", "--file", "--makefile"},
                              {"GNUmakefile", "makefile", "Makefile"},
                              true,
                              {"include", "-include", "sinclude"}};
  static const BuildTool ninja{"ninja", {"-C"}, {"-f"}, {"build.ninja"}, true, {"include", "subninja"}};
  static const std::vector<BuildTool> tools{
      make,
      {"gmake", make.folder_options, make.file_options, make.files, true, make.includes},
      ninja,
      {"samu", ninja.folder_options, ninja.file_options, ninja.files, true, ninja.includes},
      {"cmake", {"--build"}, {}, {"CMakeCache.txt"}},
      {"meson", {"-C"}, {}, {"build.ninja"}},
      {"cargo", {"-C"}, {"--manifest-path"}, {"Cargo.toml", "Cargo.lock", "build.rs", ".cargo/config.toml"}}};
  return tools;
}

const BuildTool* find_tool(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const std::vector<BuildTool>& tools = build_tools();
  const auto tool =
      std::find_if(tools.begin(), tools.end(), [&](const BuildTool& each) { return each.program == name; });
  return tool == tools.end() ? nullptr : &*tool;
}

/// "-C DIR", "-CDIR", "--directory DIR", "--directory=DIR"; `at` moves on to the last word that was used.
std::optional<std::string> value_of(const Words& words, std::size_t& at, const std::vector<std::string_view>& options) {
  const std::string& word = words[at];
  for (const std::string_view option : options) {
    if (word == option) return at + 1 < words.size() ? std::optional(words[++at]) : std::nullopt;
    if (!word.starts_with(option)) continue;
    if (option.starts_with("--") && word[option.size()] != '=') continue;
    return word.substr(option.size() + (word[option.size()] == '=' ? 1 : 0));
  }
  return std::nullopt;
}

/// Lines without comments, joined with the next one after a backslash at the end.
Words joined_lines(std::string_view text) {
  Words lines;
  bool goes_on = false;
  for (std::string_view line : base::split_lines(text)) {
    const bool ends_open = line.ends_with('\\');
    if (ends_open) line.remove_suffix(1);
    line = line.substr(0, line.find('#'));
    if (std::exchange(goes_on, ends_open))
      lines.back() += " " + std::string(line);
    else
      lines.emplace_back(line);
  }
  return lines;
}

class ToolReader {
 public:
  ToolReader(const BuildTool& tool, fs::path folder, const std::function<bool(const fs::path&)>& is_file)
      : tool_(tool), folder_(std::move(folder)), is_file_(is_file) {}

  /// Returns true if the file exists.
  bool take(const std::string& name) {
    const fs::path path = folder_ / name;
    if (!is_file_(path)) return false;
    if (!seen_.insert(path.lexically_normal()).second) return true;
    files.push_back({0, name, path});
    if (tool_.includes.empty() && tool_.program != "cmake") return true;
    try {
      follow(base::read_file(path, file_limit_bytes));
    } catch (const Error&) {  // the file counts anyway; the code that reads it reports the error
    }
    return true;
  }

  std::vector<ImplicitFile> files;

 private:
  void follow(const std::string& text) {
    constexpr std::string_view home = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    for (const std::string& line : joined_lines(text)) {
      if (tool_.program == "cmake" && line.starts_with(home)) take(line.substr(home.size()) + "/CMakeLists.txt");
      const Words words = line.starts_with('\t') ? Words() : base::shell_words(line);
      if (words.empty()) continue;
      if (std::find(tool_.includes.begin(), tool_.includes.end(), words.front()) == tool_.includes.end()) continue;
      for (std::size_t i = 1; i < words.size(); ++i) {
        if (!base::is_pattern(words[i]))
          take(words[i]);
        else
          for (const std::string& name : base::files_matching(words[i], folder_)) take(name);
      }
    }
  }

  const BuildTool& tool_;
  const fs::path folder_;
  const std::function<bool(const fs::path&)>& is_file_;
  std::set<fs::path> seen_;
};

std::vector<ImplicitFile> files_of(const BuildTool& tool, const Words& words, std::size_t at, fs::path folder,
                                   const std::function<bool(const fs::path&)>& is_file) {
  Words named;
  bool builds = tool.program != "cmake";
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (const auto place = value_of(words, i, tool.folder_options)) {
      folder /= *place;
      builds = true;
    } else if (auto file = value_of(words, i, tool.file_options)) {
      named.push_back(std::move(*file));
    }
  }
  if (!builds) return {};
  ToolReader reader(tool, folder, is_file);
  for (const std::string& file : named) reader.take(file);
  if (named.empty())
    for (const std::string_view file : tool.files)
      if (reader.take(std::string(file)) && tool.takes_first) break;
  return std::move(reader.files);
}

}  // namespace

bool is_build_tool(std::string_view program) { return find_tool(program) != nullptr; }

std::vector<ImplicitFile> implicit_files(const Words& words, const fs::path& folder,
                                         const std::function<bool(const fs::path&)>& is_file) {
  std::vector<ImplicitFile> files;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (const BuildTool* const tool = find_tool(words[i]))
      for (ImplicitFile& file : files_of(*tool, words, i, folder, is_file)) {
        file.word = i;
        files.push_back(std::move(file));
      }
  return files;
}

}  // namespace xtune::build
