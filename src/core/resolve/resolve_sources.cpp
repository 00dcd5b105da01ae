// The sources of a program, for the key of its build.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/program_call.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/spec/process_spec.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"

namespace xtune::resolve {

namespace {

namespace fs = std::filesystem;

// Placeholder for text that depends on the configuration: no command contains a zero byte.
constexpr char unknown = '\0';

// Files that GCC and Clang preprocess: "Overall Options" of GCC's manual, Clang's types::lookupTypeForExtension; and
// usual names of included files.
constexpr std::string_view preprocessed_endings[] = {
    ".C",    ".CPP", ".F",   ".F03", ".F08", ".F90", ".F95", ".FOR", ".FPP",  ".FTN", ".H",   ".HPP", ".M",
    ".S",    ".c",   ".c++", ".cc",  ".ccm", ".cl",  ".cp",  ".cpp", ".cppm", ".cu",  ".cuh", ".cxx", ".c++m",
    ".cxxm", ".fpp", ".h",   ".h++", ".hh",  ".hip", ".hp",  ".hpp", ".hxx",  ".i",   ".ii",  ".inc", ".inl",
    ".ipp",  ".ixx", ".m",   ".mi",  ".mii", ".mm",  ".sx",  ".tcc", ".tpp",  ".txx"};

bool is_preprocessed(const fs::path& path) {
  const std::string ending = path.extension().string();
  return std::find(std::begin(preprocessed_endings), std::end(preprocessed_endings), ending) !=
         std::end(preprocessed_endings);
}

std::string known_text(const spec::CommandWord& word) {
  std::string text;
  for (const spec::CompiledText::Part& part : word.text().parts()) {
    text += part.before;
    if (!part.expression.empty()) text += unknown;
  }
  return text;
}

/// The words of the build command that do not depend on the configuration.
std::vector<std::string> known_words(const spec::ProcessSpec& process) {
  std::vector<std::string> words;
  for (const spec::CommandWord* word : process.build.texts()) words.push_back(known_text(*word));
  if (process.build.shell) words = system::shell_words(words.front());
  return words;
}

/// Directories, resolved in the one in which the build is started.
build::IncludeOptions include_paths(const spec::ProcessSpec& process) {
  build::IncludeOptions found = build::include_options_here(known_words(process));
  for (std::vector<std::string>* paths : {&found.folders, &found.quoted, &found.forced, &found.macros})
    std::erase_if(*paths, [](const std::string& path) { return path.empty() || path.find(unknown) != path.npos; });
  for (std::vector<std::string>* folders : {&found.folders, &found.quoted})
    for (std::string& folder : *folders) folder = (process.folder / folder).string();
  if (!found.forced.empty()) found.quoted.push_back(process.folder.string());
  return found;
}

/// The file that the build command starts; empty if it depends on the configuration, or does not exist.
std::string build_program(const spec::ProcessSpec& process) {
  const std::string text = process.build.program();
  if (text.empty() || text.find("{out}") != text.npos || text.find("{tmp}") != text.npos) return {};
  return system::find_program(device::from_call_text(text, {}), process.folder);
}

}  // namespace

/// "name digest" of each source, with the files that those of C and C++ include, as far as their own directories and
/// the include paths of the build show: a readable manifest for the store, and the sources' part in the artifact's key.
std::string source_manifest(const spec::ProcessSpec& process, build::KeyedFiles& files) {
  const build::IncludeOptions paths = include_paths(process);
  build::ScannedFiles read;
  std::string manifest;
  // The fingerprint has its content; this notices a compiler that is replaced during the run.
  if (const std::string program = build_program(process); !program.empty()) build::read_keyed(program, files);
  for (const fs::path& path : process.sources) {
    const std::string text = build::read_keyed(path, files);
    std::string content = text;
    if (is_preprocessed(path)) {
      build::CompileRequest request;
      request.source_name = path.string();
      request.source = text;
      for (const std::string& file : paths.forced) request.source += "\n#include \"" + file + "\"\n";
      request.include_dirs = paths.folders;
      for (const std::string& macro : paths.macros) request.defines.emplace_back(macro, "");
      request.include_dirs.push_back(path.parent_path().string());
      build::SourceClosure closure = build::source_closure(request, paths.quoted, read);
      content = std::move(closure.canonical_text);
      files.add(closure.keyed);
    }
    manifest += path.lexically_relative(process.folder).string() + " sha256:" + base::sha256(content) + "\n";
  }
  return manifest;
}

}  // namespace xtune::resolve
