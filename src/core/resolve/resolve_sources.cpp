// What the key of a program's build knows of its sources.
#include <filesystem>
#include <set>
#include <string>

#include "base/find_program.hpp"
#include "base/hash.hpp"
#include "base/shell_words.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/program_call.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/spec/process_spec.hpp"

namespace xtune {

namespace {

namespace fs = std::filesystem;

// Stands for what only a configuration knows: no command holds a zero byte.
constexpr char unknown = '\0';

bool is_cpp(const fs::path& path) {
  static const std::set<std::string> endings{".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".hip",
                                             ".h", ".hh", ".hpp", ".hxx", ".C",  ".H",   ".inc"};
  return endings.contains(path.extension().string());
}

std::string known_text(const CommandWord& word) {
  std::string text;
  for (const CompiledText::Part& part : word.text().parts()) {
    text += part.before;
    if (!part.expression.empty()) text += unknown;
  }
  return text;
}

/// Those of the build command, where no configuration decides them; folders from the one in which it is started.
IncludeOptions include_paths(const ProcessSpec& process) {
  std::vector<std::string> words;
  for (const CommandWord* word : process.build.texts()) words.push_back(known_text(*word));
  if (process.build.shell) words = shell_words(words.front());
  IncludeOptions found = include_options_here(words);
  for (std::vector<std::string>* paths : {&found.folders, &found.quoted, &found.forced, &found.macros})
    std::erase_if(*paths, [](const std::string& path) { return path.empty() || path.find(unknown) != path.npos; });
  for (std::vector<std::string>* folders : {&found.folders, &found.quoted})
    for (std::string& folder : *folders) folder = (process.folder / folder).string();
  if (!found.forced.empty()) found.quoted.push_back(process.folder.string());
  return found;
}

/// The file that the build command starts; empty where a configuration decides it, or where there is none.
std::string build_program(const ProcessSpec& process) {
  const std::string text = process.build.program();
  if (text.empty() || text.find("{out}") != text.npos || text.find("{tmp}") != text.npos) return {};
  return find_program(from_call_text(text, {}), process.folder);
}

}  // namespace

/// "name digest" of each source, with the files that those of C and C++ include, as far as their own folders and the
/// include paths of the build lead to them: a manifest to be read in the store, and what the artifact's key knows of
/// the sources.
std::string source_manifest(const ProcessSpec& process, KeyedFiles& files) {
  const IncludeOptions paths = include_paths(process);
  ScannedFiles read;
  std::string manifest;
  // The fingerprint has its content; a compiler that is replaced during the run is found by this.
  if (const std::string program = build_program(process); !program.empty()) read_keyed(program, files);
  for (const fs::path& path : process.sources) {
    const std::string text = read_keyed(path, files);
    std::string content = text;
    if (is_cpp(path)) {
      CompileRequest request;
      request.source_name = path.string();
      request.source = text;
      for (const std::string& file : paths.forced) request.source += "\n#include \"" + file + "\"\n";
      request.include_dirs = paths.folders;
      for (const std::string& macro : paths.macros) request.defines.emplace_back(macro, "");
      request.include_dirs.push_back(path.parent_path().string());
      SourceClosure closure = source_closure(request, paths.quoted, read);
      content = std::move(closure.canonical_text);
      files.add(closure.keyed);
    }
    manifest += path.lexically_relative(process.folder).string() + " sha256:" + sha256(content) + "\n";
  }
  return manifest;
}

}  // namespace xtune
