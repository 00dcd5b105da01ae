// The format is Clang's "JSON Compilation Database": a list of { directory, file, command or arguments }.
#include "core/init/project_options.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/text.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"
#include "core/spec/document.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"

namespace xtune::init {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using WordList = std::vector<std::string>;

constexpr const char* database_name = "compile_commands.json";

[[noreturn]] void fail(const fs::path& database, const std::string& message) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: {}. Make the file again, or ignore it with --compile-commands none",
                          base::printable(database.string()), base::printable(message, 300)));
}

struct Database {
  fs::path path;
  fs::path project;  ///< whose files it may describe
};

std::optional<Database> database_near(const fs::path& source) {
  std::error_code failed;
  for (fs::path at = source.parent_path();; at = at.parent_path()) {
    for (const fs::path& path : {at / database_name, at / "build" / database_name})
      if (fs::is_regular_file(path, failed)) return Database{path, at};
    if (at == at.parent_path()) return std::nullopt;
  }
}

Json read_entries(const fs::path& path) {
  constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;
  // Entries have no values that are deeper.
  const auto is_shallow = [](int depth, Json::parse_event_t, const Json&) { return depth <= 3; };
  try {
    Json json = Json::parse(system::read_file(path, max_bytes), is_shallow);
    if (!json.is_array()) fail(path, "not a list of compile commands");
    return json;
  } catch (const Json::exception& error) {
    const std::string_view what = error.what();
    fail(path, "not JSON (" + std::string(what.substr(what.find("] ") + 2)) + ")");
  }
}

std::string value_of(const Json& entry, const char* key) {
  const auto found = entry.is_object() ? entry.find(key) : entry.end();
  return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
}

struct Entry {
  const Json* json = nullptr;
  fs::path file;
  std::size_t own = 0;  ///< how many are of the source itself: this is the first one; 0: none
};

/// The source's first entry, or the nearest one: in the directory that shares most with the source's, if possible of
/// the same kind and name.
Entry chosen_entry(const Json& entries, const fs::path& source, const Database& database) {
  const auto size = [](const fs::path& path) { return std::distance(path.begin(), path.end()); };
  const fs::path folder = source.parent_path();
  Entry best;
  std::tuple<std::ptrdiff_t, std::ptrdiff_t, bool, bool> best_rank;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string directory = value_of(entries[i], "directory"), name = value_of(entries[i], "file");
    if (best.own == 0 && (directory.empty() || name.empty()))
      fail(database.path, fmt::format("entry {} lacks a text \"directory\" or \"file\"", i + 1));
    const fs::path file = (database.path.parent_path() / directory / name).lexically_normal();
    std::error_code failed;
    if (file.filename() == source.filename() && fs::weakly_canonical(file, failed) == source) {
      if (best.own++ == 0) best.json = &entries[i], best.file = file;
      continue;
    }
    if (best.own > 0) continue;
    const fs::path other = file.parent_path();
    const std::ptrdiff_t common =
        std::distance(folder.begin(), std::mismatch(folder.begin(), folder.end(), other.begin(), other.end()).first);
    if (common < size(database.project)) continue;
    const std::tuple rank(common, -size(other), file.extension() == source.extension(), file.stem() == source.stem());
    if (best.json && rank <= best_rank) continue;
    best = {&entries[i], file, 0};
    best_rank = rank;
  }
  return best;
}

/// With the words of option files in their places: "@x.rsp", and nvcc's --options-file.
WordList expanded(const WordList& words, const fs::path& directory, int depth = 0) {
  WordList all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string file = words[i].starts_with('@') ? words[i].substr(1) : "";
    if ((words[i] == "--options-file" || words[i] == "-optf") && i + 1 < words.size()) file = words[++i];
    if (words[i].starts_with("--options-file=")) file = words[i].substr(15);
    const std::string text = file.empty() || depth > 3 ? "" : system::read_if_there(directory / file);
    if (file.empty())
      all.push_back(words[i]);
    else
      for (std::string& word : expanded(system::shell_words(text), directory, depth + 1))
        all.push_back(std::move(word));
  }
  return all;
}

WordList words_of(const Json& entry, const fs::path& database) {
  WordList words;
  if (const auto list = entry.find("arguments"); list != entry.end() && list->is_array())
    for (const Json& word : *list) words.push_back(word.is_string() ? word.get<std::string>() : "");
  else
    words = system::shell_words(value_of(entry, "command"));
  if (words.empty())
    fail(database, "the entry of " + value_of(entry, "file") + " has neither \"command\" nor \"arguments\"");
  return expanded(words, database.parent_path() / value_of(entry, "directory"));
}

class Collector {
 public:
  Collector(ProjectOptions& found, const fs::path& source, const fs::path& folder)
      : found_(found), source_(source), folder_(folder) {}

  void add_directory(const fs::path& given, const std::string& from) {
    const fs::path path = fs::absolute(given / "").lexically_normal().parent_path();
    const std::string text = shown(path);
    const bool is_known =
        std::ranges::find(found_.include_dirs, text, &ProjectOptions::Directory::path) != found_.include_dirs.end();
    if (!is_known && path != source_.parent_path()) found_.include_dirs.push_back({text, from});
  }

  void add_entry(const WordList& words, const fs::path& directory) {
    const build::IncludeOptions options = build::include_options(words);
    for (const WordList* folders : {&options.quoted, &options.folders})
      for (const std::string& each : *folders)
        if (const std::string why = objection(directory / each); why.empty())
          add_directory(directory / each, found_.from);
        else
          found_.notes.push_back(each + " (" + why + ")");
    for (const std::string& file : options.forced) found_.notes.push_back("-include " + file);
    add_macros(words);
    add_standard(words);
  }

  /// As the spec writes it.
  std::string shown(const fs::path& path) const {
    const fs::path relative = path.lexically_relative(folder_);
    // Not by way of the root.
    const auto up = std::ranges::count(relative, fs::path(".."));
    return relative.empty() || up + 1 >= std::distance(folder_.begin(), folder_.end()) ? path.string()
                                                                                       : relative.string();
  }

 private:
  /// Why a directory is not for kernels; empty: it is.
  static std::string objection(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) return "not there";
    const fs::path real = fs::weakly_canonical(path, failed);
    const auto has = [&](const char* name) { return fs::exists(real / name, failed); };
    const auto& shared = build::shared_header_folders();
    if (has("cuda_runtime.h") || has("hip/hip_runtime.h") || std::ranges::find(shared, real.string()) != shared.end())
      return "each compiler searches its own";
    return {};
  }

  /// In their order: the last -D or -U of a name counts.
  void add_macros(const WordList& words) {
    WordList before;
    const auto add_before = [&] {
      for (const std::string& macro : build::include_options(std::exchange(before, {})).macros) add_macro(macro);
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string name;
      if (!RE2::FullMatch(words[i], R"((?:-U|--undefine-macro=?)\s*(\w*))", &name)) {
        before.push_back(words[i]);
        continue;
      }
      add_before();
      if (name.empty() && i + 1 < words.size()) name = words[++i];
      std::erase_if(found_.defines, [&](const auto& define) { return define.first == name; });
      std::erase(found_.notes, "-D" + name);
    }
    add_before();
  }

  void add_macro(const std::string& macro) {
    const std::size_t end = std::min(macro.find_first_of(" ("), macro.size());
    const std::string name = macro.substr(0, end),
                      value = macro.substr(std::min(macro.find(' '), macro.size() - 1) + 1);
    const bool is_line = std::ranges::none_of(macro, [](unsigned char c) { return c < 0x20; });
    if (name.starts_with("__") || !RE2::FullMatch(name, "[A-Za-z_]\\w*") || !is_line || macro.substr(end, 1) == "(") {
      found_.notes.push_back("-D" + name);
      return;
    }
    std::erase_if(found_.defines, [&](const auto& define) { return define.first == name; });
    found_.defines.emplace_back(name, value);
  }

  /// The last one counts, in the form that all compilers take.
  void add_standard(const WordList& words) {
    std::string standard, found;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string pair = words[i] + (i + 1 < words.size() ? "=" + words[i + 1] : "");
      if (RE2::FullMatch(words[i], R"(--?std=(?:c|gnu)\+\+(\w+))", &found) ||
          RE2::FullMatch(pair, R"(--?std=(?:c|gnu)\+\+(\w+))", &found))
        standard = found;
    }
    constexpr std::pair<const char*, const char*> drafts[] = {{"1z", "17"}, {"2a", "20"}, {"2b", "23"}};
    for (const auto& [draft, year] : drafts)
      if (standard == draft) standard = year;
    if (RE2::FullMatch(standard, "98|03|0x|1[14y]"))
      found_.notes.push_back("-std=c++" + standard + " (kernels are C++17)");
    else if (!standard.empty())
      found_.options.push_back("-std=c++" + standard);
  }

  ProjectOptions& found_;
  const fs::path& source_;
  const fs::path& folder_;
};

std::string template_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return spec::toml_string(escaped);
}

}  // namespace

ProjectOptions project_options(const fs::path& source, const std::vector<std::string>& directories,
                               const std::string& database, const fs::path& folder) {
  std::error_code failed;
  const fs::path file = fs::weakly_canonical(fs::absolute(source), failed);
  ProjectOptions found;
  Collector collector(found, file, folder);
  for (const std::string& directory : directories) {
    if (!fs::is_directory(directory, failed))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("-I {}: the directory does not exist", base::printable(directory, 200)));
    collector.add_directory(directory, "-I");
  }
  if (database == "none") return found;
  const std::optional<Database> chosen = database.empty() ? database_near(file) : Database{fs::absolute(database), "/"};
  if (!chosen) return found;
  const Json entries = read_entries(chosen->path);
  const Entry entry = chosen_entry(entries, file, *chosen);
  const std::string name = collector.shown(chosen->path);
  if (!entry.json) {
    found.notes.push_back(name + " (no entry near the source)");
    return found;
  }
  found.from =
      fmt::format("{}, entry of {}{}", name, collector.shown(entry.file), entry.own > 0 ? "" : ", the nearest one");
  collector.add_entry(words_of(*entry.json, chosen->path),
                      chosen->path.parent_path() / value_of(*entry.json, "directory"));
  if (entry.own > 1)
    found.notes.push_back(fmt::format("{} more {} of the same source (the first one counts)", entry.own - 1,
                                      entry.own == 2 ? "entry" : "entries"));
  return found;
}

std::string kernel_lines(const ProjectOptions& project, const std::vector<std::string>& parameters) {
  std::string text;
  const std::string from = project.from.empty() ? "\n" : "  # " + base::one_line(project.from) + "\n";
  if (!project.include_dirs.empty()) text += "include_dirs = [\n";
  for (const auto& [path, origin] : project.include_dirs)
    text += "  " + spec::toml_string(path) + ",  # " + base::one_line(origin) + "\n";
  if (!project.include_dirs.empty()) text += "]\n";
  WordList options, defines;
  for (const std::string& option : project.options) options.push_back(spec::toml_string(option));
  for (const auto& [name, value] : project.defines)
    if (std::ranges::find(parameters, name) == parameters.end())
      defines.push_back(name + " = " + template_text(value));
    else
      text += fmt::format("# -D{}={} is the parameter{}", name, base::one_line(value), from);
  if (!options.empty()) text += fmt::format("options = [{}]{}", fmt::join(options, ", "), from);
  if (!defines.empty()) text += fmt::format("defines = {{ {} }}{}", fmt::join(defines, ", "), from);
  return text;
}

std::vector<std::string> described(const ProjectOptions& project) {
  WordList lines;
  for (const auto& [path, from] : project.include_dirs)
    lines.push_back(fmt::format("include directory {} (from {})", path, from));
  if (!project.defines.empty() || !project.options.empty())
    lines.push_back(fmt::format("{}{}{} (from {})", base::counted(project.defines.size(), "definition"),
                                project.options.empty() ? "" : ", ", fmt::join(project.options, " "), project.from));
  if (!project.notes.empty())
    lines.push_back(fmt::format("not used{}: {}", project.from.empty() ? "" : " of " + project.from,
                                fmt::join(project.notes, ", ")));
  return lines;
}

}  // namespace xtune::init
