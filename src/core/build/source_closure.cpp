// Reads a source and the files that it includes, each once.
#include "core/build/source_closure.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/environment.hpp"
#include "core/build/keys.hpp"
#include "core/build/named_files.hpp"
#include "core/build/portable_headers.hpp"
#include "core/build/system_headers.hpp"
#include "core/build/tokens.hpp"
#include "system/descriptor.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

/// Where headers are searched, besides the directory of the file that includes them.
struct SearchFolders {
  std::vector<std::string> quoted, plain, system, last;
};

/// Kept for as long as the program runs.
const SourceScan& scanned(const PortableHeader& header) {
  static std::mutex mutex;
  static std::map<std::string_view, SourceScan> scans;
  const std::lock_guard lock(mutex);
  const auto [scan, is_new] = scans.try_emplace(header.name);
  if (is_new) scan->second = scan_source(header.text);
  return scan->second;
}

/// Which header names a macro may stand for. Conditions are not evaluated, so every definition counts. Only names
/// behind plain macros are found; others are known to compilers that list what they read.
class MacroDefinitions {
 public:
  /// text: the rest of the line after #define: "NAME", "NAME body", "NAME(a, b) body".
  void define(std::string_view line) {
    const std::string_view text = base::trimmed(line);
    const std::size_t end = std::min(end_of_word(text), text.size());
    const std::string_view body = text.substr(end);
    bodies_[std::string(text.substr(0, end))].emplace(body.starts_with('(') ? body : base::trimmed(body));
  }

  struct Names {
    std::vector<IncludeDirective> names;
    bool complete = true;        ///< false: there may be others
    std::set<std::string> used;  ///< names whose definitions, or missing definitions, were used
  };
  Names names_of(const std::string& text) const {
    Names found;
    add(text, found);
    return found;
  }

  /// The macros that ask whether a file exists, themselves or by another one.
  std::set<std::string> probing() const {
    const std::set<std::string> of_language{"__has_include", "__has_include_next", "__has_embed"};
    std::set<std::string> names = of_language;
    const auto asks = [&](const std::string& body) {
      return std::any_of(names.begin(), names.end(), [&](const auto& name) { return has_word(body, name); });
    };
    for (std::size_t before = 0; before < names.size();) {
      before = names.size();
      for (const auto& [name, bodies] : bodies_)
        if (!names.contains(name) && std::any_of(bodies.begin(), bodies.end(), asks)) names.insert(name);
    }
    for (const std::string& name : of_language) names.erase(name);
    return names;
  }

 private:
  static bool has_word(std::string_view text, std::string_view word) {
    const auto is_end = [&](std::size_t at) { return at >= text.size() || !is_word_character(text[at]); };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      if ((at == 0 || is_end(at - 1)) && is_end(at + word.size())) return true;
    return false;
  }
  static std::size_t end_of_word(std::string_view text) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_word_character) - text.begin());
  }

  void add(std::string_view given, Names& found) const {
    const std::string text(base::trimmed(given));
    const auto ends = [&](char first, char last) {
      return text.size() > 2 && text.front() == first && text.find(last, 1) == text.size() - 1;
    };
    if (text.empty()) return;
    if (ends('"', '"') || ends('<', '>')) {
      std::string name = text.substr(1, text.size() - 2);
      // Compilers replace macros between < and >.
      for (std::size_t at = 0; text.front() == '<' && at < name.size(); ++at) {
        const std::size_t end = at + end_of_word(std::string_view(name).substr(at));
        if (const std::string word = name.substr(at, end - at); bodies_.contains(word) || word.starts_with("__"))
          found.complete = false;
        at = end;
      }
      found.names.push_back({std::move(name), text.front() == '"'});
    } else if (end_of_word(text) < text.size()) {
      found.complete = false;
    } else if (const auto macro = bodies_.find(text); found.used.insert(text).second && macro != bodies_.end()) {
      for (const std::string& body : macro->second) add(body, found);
    }
  }

  std::map<std::string, std::set<std::string>> bodies_;
};

class ClosureReader {
 public:
  ClosureReader(const CompileRequest& request, SearchFolders folders, ScannedFiles& known)
      : search_(std::move(folders)),
        known_(known),
        source_{{}, scan_source(request.source)},
        source_name_(request.source_name),
        first_line_(request.first_line) {
    for (const auto& [name, value] : request.defines) macros_.define(name + " " + value);
    for (const std::string& macro : include_options(request.options).macros) macros_.define(macro);
    add(source_.scan, base::sha256(request.source), source_name_);
    const system::SignalsHeard signals;
    do {
      follow(signals);
    } while (mention_computed());
  }

  SourceClosure closure() {
    closure_.canonical_text = canonical_list(lines_);
    closure_.computes = !computed_.texts.empty();
    std::erase_if(closure_.missing,
                  [&](const MissingInclude& each) { return names_.asked_for.contains(each.include.name); });
    for (const std::string& text : names_.incomplete) closure_.keyed.unknown.push_back(text);
    return std::move(closure_);
  }

 private:
  struct Waiting {
    const SourceScan* scan;
    fs::path path;
  };

  void add(const SourceScan& scan, const std::string& digest, const fs::path& path) {
    lines_.push_back("file " + digest);
    waiting_.push_back({&scan, path});
    closure_.files.push_back(scan);
  }

  void follow(const system::SignalsHeard& signals) {
    while (!waiting_.empty()) {
      if (signals.asked())
        throw Error(ErrorKind::interrupted,
                    "stopped while headers of " + base::printable(source_name_.string()) + " were read");
      const Waiting file = std::move(waiting_.front());
      waiting_.pop_front();
      for (const IncludeDirective& include : file.scan->includes)
        if (!mention(include, file.path)) add_missing(include, file.path);
      for (const IncludeDirective& include : file.scan->mentioned) {
        mention(include, file.path);
        names_.asked_for.insert(include.name);
      }
      for (const MacroLine& macro : file.scan->macros) macros_.define(macro.text);
      for (const std::string& text : file.scan->computed)
        computed_.texts.push_back({text, file.path, "#include " + text});
      for (const std::string& text : file.scan->probed) computed_.add_probe(text, file.path);
      for (const std::string& text : file.scan->conditions) computed_.conditions.emplace_back(text, file.path);
      for (const std::string& literal : file.scan->unknown)
        closure_.keyed.unknown.push_back(file.path.filename().string() + ": " + literal);
    }
  }

  /// Included files may define macros, which may name more files. Returns true if there was something new.
  bool mention_computed() {
    const std::size_t before = names_.mentioned.size();
    names_.incomplete.clear();
    if (!computed_.conditions.empty())
      for (const std::string& name : macros_.probing())
        for (const auto& [text, path] : computed_.conditions)
          for (const std::string& argument : calls_of(name, text)) computed_.add_probe(argument, path);
    for (const auto& [text, path, shown] : computed_.texts) {
      const MacroDefinitions::Names names = macros_.names_of(text);
      closure_.computed_by.insert(names.used.begin(), names.used.end());
      if (!names.complete) closure_.computed_by.insert(any_name);
      if (!names.complete) names_.incomplete.insert(path.filename().string() + ": " + shown);
      for (const IncludeDirective& name : names.names)
        if (names_.mentioned.insert(path.string() + (name.quoted ? "\"" : "<") + name.name).second)
          if (!mention(name, path)) add_missing(name, path);
    }
    return names_.mentioned.size() > before;
  }

  void add_missing(const IncludeDirective& include, const fs::path& file) {
    if (!names_.missing.insert(include.name).second) return;
    closure_.missing.push_back({include, file});
    if (file == source_name_ && include.line > 0) closure_.missing.back().include.line += first_line_ - 1;
  }

  /// false: the file is in no directory.
  bool mention(const IncludeDirective& include, const fs::path& from) {
    lines_.push_back((include.quoted ? "quoted " : "angled ") + include.name);
    bool found = false;
    for (const fs::path& candidate : folders_for(include, from.parent_path())) {
      const fs::path path = candidate / include.name;
      std::error_code error;
      const fs::path file = fs::canonical(path, error);
      if (error || !fs::is_regular_file(file, error)) {
        if (names_.absent.insert(path.string()).second) closure_.keyed.absent.push_back(path.string());
        continue;
      }
      found = true;
      take(path, file);
      if (!include.any) break;
    }
    if (found) return true;
    const PortableHeader* const portable = find_header(portable_headers(), include.name);
    if (!portable) {
      lines_.emplace_back("of the toolchain");
      // What a compiler without headers of the system finds in their place.
      const PortableHeader* const standin = find_header(standin_headers(), include.name);
      if (standin && search_.system.empty()) lines_.back() += std::string(", or xtune's ") + standin->sha256;
      return false;
    }
    lines_.emplace_back("of xtune");
    if (seen_.emplace(portable->name, seen_.size()).second) add(scanned(*portable), portable->sha256, portable->name);
    return true;
  }

  std::vector<fs::path> folders_for(const IncludeDirective& include, const fs::path& folder) const {
    std::vector<fs::path> folders;
    const auto append = [&](const std::vector<std::string>& more) {
      folders.insert(folders.end(), more.begin(), more.end());
    };
    if (include.quoted) {
      folders.push_back(folder);
      append(search_.quoted);
    }
    append(search_.plain);
    const bool of_system = is_system_header(include.name);
    for (const std::string& dir : search_.system)
      if (!of_system || !counts_by_name(dir)) folders.emplace_back(dir);
    append(search_.last);
    if (include.any) folders.emplace_back(".");
    return folders;
  }

  /// /usr/local contains nothing that belongs to the system.
  static bool counts_by_name(const std::string& dir) { return dir.starts_with("/usr/include"); }

  /// path: as it is opened; file: its target.
  void take(const fs::path& path, const fs::path& file) {
    lines_.push_back("is " + std::to_string(seen_.emplace(file, seen_.size()).first->second));
    // Compilers search quoted names in the directory of a link, not of its target.
    std::error_code error;
    const fs::path folder = fs::canonical(path.parent_path(), error);
    const bool followed = followed_.emplace(file, folder).second;
    auto known = known_.find(file);
    if (known == known_.end()) known = known_.emplace(file, scan_file(path)).first;
    const KeyedFile& content = known->second.file;
    if (names_.opened.insert(path.string()).second) {
      KeyedFile opened = content;
      if (opened.path != path) opened = {path.string(), file_state(path), content.sha256, content.recent};
      closure_.keyed.files.push_back(std::move(opened));
    }
    if (followed) add(known->second.scan, content.sha256, folder / path.filename());
  }

  /// Only hashes what is not text. The includes of a very large text, if any, are unknown.
  ScannedFile scan_file(const fs::path& path) const {
    constexpr std::uintmax_t max_text_bytes = std::uintmax_t{16} << 20;
    std::string beginning(text_sample_bytes, ' ');
    std::ifstream(path, std::ios::binary).read(beginning.data(), text_sample_bytes);
    std::error_code error;
    KeyedFiles read;
    ScannedFile found;
    if (const bool is_large = fs::file_size(path, error) > max_text_bytes && !error; is_large || !is_text(beginning)) {
      key_file(path, read);
      if (is_large) found.scan.unknown.emplace_back("more than 16 MiB");
    } else {
      found.text = read_keyed(path, read);
      found.scan = scan_source(found.text);
    }
    found.file = read.files.front();
    return found;
  }

  const SearchFolders search_;
  ScannedFiles& known_;
  const ScannedFile source_;
  const fs::path source_name_;
  const std::size_t first_line_;
  MacroDefinitions macros_;
  std::vector<std::string> lines_;
  SourceClosure closure_;
  std::deque<Waiting> waiting_;
  std::map<fs::path, std::size_t> seen_;
  std::set<std::pair<fs::path, fs::path>> followed_;
  struct Computed {
    std::string text;
    fs::path path;
    std::string shown;
  };
  struct {
    std::vector<Computed> texts;
    std::set<std::string> probed;
    std::vector<std::pair<std::string, fs::path>> conditions;

    void add_probe(const std::string& text, const fs::path& path) {
      if (probed.insert(path.string() + "\n" + text).second)
        texts.push_back({text, path, "__has_include(" + text + ")"});
    }
  } computed_;
  struct {
    std::set<std::string> mentioned, incomplete, absent, opened, missing, asked_for;
  } names_;
};

}  // namespace

std::vector<std::string> folders_of_variable(const char* variable) {
  std::vector<std::string> folders;
  const char* const value = std::getenv(variable);
  if (!value || !*value) return folders;
  for (std::string_view rest = value;;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    folders.emplace_back(end > 0 ? rest.substr(0, end) : std::string_view("."));
    if (end == rest.size()) return folders;
    rest.remove_prefix(end + 1);
  }
}

SourceClosure source_closure(const CompileRequest& request, const std::vector<std::string>& quoted_dirs,
                             ScannedFiles& read) {
  return ClosureReader(request, {quoted_dirs, request.include_dirs, {}, {}}, read).closure();
}

SourceClosure source_closure(const CompileRequest& request) {
  ScannedFiles known;
  return source_closure(request, {}, known);
}

SourceClosure compile_closure(const CompileRequest& request) {
  ScannedFiles known;
  return compile_closure(request, {}, known);
}

SourceClosure compile_closure(const CompileRequest& request, const SystemSearch& search, ScannedFiles& read) {
  CompileRequest whole = request;
  const IncludeOptions extra = include_options_here(request.options);
  const auto last = extra.folders.end() - static_cast<std::ptrdiff_t>(extra.after_system);
  SearchFolders folders{extra.quoted, request.include_dirs, search.header_dirs, {last, extra.folders.end()}};
  folders.plain.insert(folders.plain.end(), extra.folders.begin(), last);
  for (const std::string& file : extra.forced) whole.source += "\n#include \"" + file + "\"\n";
  KeyedFiles files;
  std::vector<std::string> lines = option_file_lines(request.options, files);
  if (search.links)
    for (const auto& [name, value] : set_variables({VariableReader::compiler}))
      lines.push_back("variable " + name + "=" + value);
  SourceClosure closure = ClosureReader(whole, std::move(folders), read).closure();
  closure.keyed.add(files);
  if (!lines.empty()) closure.canonical_text += canonical_list(lines);
  return closure;
}

namespace {

enum class FolderVariables { count, are_ignored };

/// "NAME(a)=body" in the form of #define.
std::string macro_text(const std::string& option) {
  const std::size_t equals = option.find('=');
  return equals == std::string::npos ? option + " 1" : option.substr(0, equals) + " " + option.substr(equals + 1);
}

/// "-Xclang -I" and "-Wp,-I,D" mean "-I" and "D".
std::vector<std::string> plain_words(const std::vector<std::string>& options) {
  std::vector<std::string> words;
  for (const std::string& option : options) {
    if (option == "-Xclang" || option == "-Xpreprocessor") continue;
    if (!option.starts_with("-Wp,")) {
      words.push_back(option);
      continue;
    }
    for (std::string& word : base::split(std::string_view(option).substr(4), ','))
      if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

IncludeOptions read_options(const std::vector<std::string>& given, FolderVariables variables) {
  IncludeOptions found;
  const std::vector<std::string> options = plain_words(given);
  std::vector<std::string> system_folders, last_folders;  // searched later, regardless of their position
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    const auto value_of = [&](std::string_view flag) -> std::optional<std::string> {
      if (option == flag && i + 1 < options.size()) return options[i + 1];
      if (!option.starts_with(flag) || option.size() == flag.size()) return std::nullopt;
      // NVRTC takes "-I D" in one word.
      const std::size_t begin = flag.size() + (option[flag.size()] == '=' ? 1 : 0);
      return option.substr(std::min(option.find_first_not_of(' ', begin), option.size()));
    };
    // The first match is used: longer names come before their prefixes.
    const std::pair<std::string_view, std::vector<std::string>*> paths[] = {
        {"--pre-include", &found.forced},
        {"--include-path", &found.folders},
        {"--include-directory-after", &last_folders},
        {"--include-directory", &found.folders},
        {"--include", &found.forced},
        {"--imacros", &found.forced},
        {"-include", &found.forced},
        {"-imacros", &found.forced},
        {"-isystem-after", &last_folders},
        {"-isystem", &system_folders},
        {"-cxx-isystem", &system_folders},
        {"-internal-isystem", &last_folders},
        {"-internal-externc-isystem", &last_folders},
        {"-idirafter", &last_folders},
        {"-iquote", &found.quoted},
        {"-I", &found.folders}};
    const auto path = std::find_if(std::begin(paths), std::end(paths),
                                   [&](const auto& each) { return value_of(each.first).has_value(); });
    if (path != std::end(paths))
      path->second->push_back(*value_of(path->first));
    else if (const auto define = value_of("-D"))
      found.macros.push_back(macro_text(*define));
    else if (const auto macro = value_of("--define-macro"))
      found.macros.push_back(macro_text(*macro));
  }
  const auto append = [&](const std::vector<std::string>& folders) {
    found.folders.insert(found.folders.end(), folders.begin(), folders.end());
  };
  if (variables == FolderVariables::count) append(folders_of_variable("CPATH"));
  append(system_folders);
  // C_INCLUDE_PATH is for C, in which a program's sources may be written; for kernels the additional entry does no
  // harm.
  if (variables == FolderVariables::count)
    for (const char* variable : {"CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"}) append(folders_of_variable(variable));
  append(last_folders);
  found.after_system = last_folders.size();
  return found;
}

}  // namespace

std::set<std::string> defined_macros(const std::vector<std::string>& options) {
  std::set<std::string> names;
  for (const std::string& macro : include_options(options).macros)
    names.insert(macro.substr(0, macro.find_first_of(" (")));
  return names;
}

IncludeOptions include_options(const std::vector<std::string>& options) {
  return read_options(options, FolderVariables::are_ignored);
}

IncludeOptions include_options_here(const std::vector<std::string>& options) {
  return read_options(options, FolderVariables::count);
}

}  // namespace xtune::build
