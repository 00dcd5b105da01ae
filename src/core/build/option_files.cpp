// Follows the manuals of GCC 12 (Link Options, Directory Options, Environment Variables) and ld 2.40.
#include "core/build/option_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "core/build/environment.hpp"
#include "core/build/linked_files.hpp"
#include "core/build/named_files.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/tool_files.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr int max_option_files = 200;  // limit for files that may name each other; GCC reads 2000

#if defined(__aarch64__)
constexpr const char* local_multiarch = "/usr/local/lib/aarch64-linux-gnu";
#else
constexpr const char* local_multiarch = "/usr/local/lib/x86_64-linux-gnu";
#endif

#if defined(__aarch64__)
constexpr const char* system_library_folders[] = {"/usr/local/lib", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
                                                  "/usr/lib64"};
#else
constexpr const char* system_library_folders[] = {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib",
                                                  "/usr/lib64"};
#endif

// Names after "lib" or "-l".
constexpr std::string_view thread_runtimes[] = {"gomp", "omp", "iomp", "mkl_", "openblas", "blis", "tbb", "nvomp"};

bool is_thread_runtime(std::string_view name) {
  return std::any_of(std::begin(thread_runtimes), std::end(thread_runtimes),
                     [&](std::string_view runtime) { return name.starts_with(runtime); });
}

/// Whether it is text for the compiler, and not for the linker.
bool is_source(const fs::path& path) {
  const std::string ending = path.extension().string();
  return !ending.empty() && ending != ".a" && ending != ".o" && ending != ".ld" && ending != ".lds" && ending != ".x" &&
         path.filename().string().find(".so") == std::string::npos;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return !path.empty() && fs::is_regular_file(path, error);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      begun = true;
    } else if (quote != '\0') {
      quote == c ? void(quote = '\0') : void(word += c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      begun = true;
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      word += c;
      begun = true;
    } else if (std::exchange(begun, false)) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (begun) words.push_back(word);
  return words;
}

/// Replaces option files by their words.
class OptionExpander {
 public:
  OptionExpander(const fs::path& folder, KeyedFiles& files) : folder_(folder), files_(files) {}

  /// before: prefix of words for the linker or the assembler, which read such files as well: "-Wl,".
  void expand(const std::vector<std::string>& options, const std::string& before = "") {
    for (const std::string& option : options) {
      const std::string start = option.substr(0, 4);
      const fs::path file = option.starts_with('@') ? folder_ / option.substr(1) : fs::path();
      if (left_ > 0 && is_file(file.string())) {
        --left_;
        expand(words_of(read_keyed(file, files_)), before);
      } else if (before.empty() && (start == "-Wl," || start == "-Wa,") && option.find(",@") != std::string::npos) {
        expand(base::split(std::string_view(option).substr(4), ','), start);
      } else {
        words.push_back(before + option);
      }
    }
  }

  std::vector<std::string> words;

 private:
  const fs::path& folder_;
  KeyedFiles& files_;
  int left_ = max_option_files;
};

/// Directories of profiles that GCC and Clang read: -fprofile-use=DIR.
std::vector<std::string> profile_folders(const std::vector<std::string>& options) {
  std::vector<std::string> folders;
  std::error_code failed;
  for (const std::string& option : options)
    if (const std::size_t value = option.find('=') + 1; value > 0 && option.starts_with("-fprofile"))
      if (fs::is_directory(option.substr(value), failed)) folders.push_back(option.substr(value));
  return folders;
}

/// Includes the words for the linker: "-Wl,-L,/x" and "-Xlinker -L/x" mean the same as "-L/x".
std::vector<std::string> flat(const std::vector<std::string>& options) {
  std::vector<std::string> words;
  for (const std::string& option : options) {
    if (option == "-Xlinker") continue;
    if (!option.starts_with("-Wl,")) {
      words.push_back(option);
      continue;
    }
    for (std::string& word : base::split(std::string_view(option).substr(4), ',')) words.push_back(std::move(word));
  }
  return words;
}

struct LinkOptions {
  std::vector<std::string> libraries, folders, parts, linkers;  ///< of -l; -L and -rpath; -B; -fuse-ld
};

LinkOptions link_options(const std::vector<std::string>& options) {
  LinkOptions found;
  const std::vector<std::string> words = flat(options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value_of = [&](std::string_view flag) -> std::optional<std::string> {
      if (words[i] == flag && i + 1 < words.size()) return words[i + 1];
      if (!words[i].starts_with(flag) || words[i].size() == flag.size()) return std::nullopt;
      return words[i].substr(flag.size() + (words[i][flag.size()] == '=' ? 1 : 0));
    };
    // The linker's "-B" (-Bstatic) sets how to link: those words do not name a directory.
    if (const auto rpath = value_of("-rpath"))
      found.folders.push_back(*rpath);
    else if (const auto path = value_of("--library-path"))
      found.folders.push_back(*path);
    else if (const auto long_name = value_of("--library"))
      found.libraries.push_back(*long_name);
    else if (const auto linker = value_of("-fuse-ld"))
      found.linkers.push_back(*linker);
    else if (const auto library = value_of("-l"))
      found.libraries.push_back(*library);
    else if (const auto folder = value_of("-L"))
      found.folders.push_back(*folder);
    else if (const auto parts = value_of("-B"))
      found.parts.push_back(*parts);
  }
  return found;
}

// Programs that GCC and Clang search in the directories of -B and COMPILER_PATH before their own.
constexpr const char* part_names[] = {
    "as",           "cc1",         "cc1plus",          "collect2", "crt1.o",      "crtbegin.o", "crtbeginS.o",
    "crtend.o",     "crtendS.o",   "crti.o",           "crtn.o",   "ld",          "ld.bfd",     "ld.gold",
    "ld.lld",       "ld.mold",     "libc.so",          "libgcc.a", "libgcc_s.so", "libm.so",    "libstdc++.a",
    "libstdc++.so", "lto-wrapper", "liblto_plugin.so", "lto1",     "specs"};

// Libraries that are linked by default, which a user's library directory may contain as well.
constexpr const char* own_libraries[] = {"asan", "c", "gcc", "gcc_s", "gomp", "m", "omp", "pthread", "stdc++", "ubsan"};

class LineMaker {
 public:
  explicit LineMaker(KeyedFiles& files) : files_(files) {}

  /// Returns true if it exists.
  bool look(const std::string& what, const fs::path& path) {
    if (!seen_.insert(what + "\n" + path.string()).second) return false;
    if (!is_file(path.string())) {
      files_.absent.push_back(path.string());
      return false;
    }
    key_remembered_file(path, files_);
    lines.push_back(what + " " + files_.files.back().sha256);
    return true;
  }
  void look_for_library(const std::string& name, const std::vector<std::string>& folders) {
    const std::string what = "library " + name;
    for (const fs::path folder : folders) {
      if (name.starts_with(":")) {
        if (look(what, folder / name.substr(1))) follow(folder / name.substr(1), folders);
        continue;
      }
      for (const char* ending : {".so", ".a"})
        if (const fs::path path = folder / ("lib" + name + ending); look(what, path)) follow(path, folders);
    }
  }
  /// Adds the files that a library or script names.
  void follow(const fs::path& library, const std::vector<std::string>& folders) {
    const LinkedNames named = names_in_library(library);
    for (const fs::path& file : named.files)
      if (look("of library", file)) follow(file, folders);
    for (const std::string& name : named.libraries) look_for_library(name, folders);
  }
  /// A prefix is a directory, or the beginning of file names.
  void look_for_parts(const std::string& prefix) {
    std::error_code error;
    const bool folder = fs::is_directory(prefix, error);
    for (const char* name : part_names)
      look(std::string("part ") + name, folder ? fs::path(prefix) / name : fs::path(prefix + name));
  }

  /// -fuse-ld=lld starts the first ld.lld in PATH.
  void look_for_linker(const std::string& name) {
    const std::string program = name.find('/') == name.npos ? base::find_program("ld." + name) : name;
    if (!program.empty()) look("linker", program);
  }

  std::vector<std::string> lines;

 private:
  KeyedFiles& files_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<std::string> with_option_files(const std::vector<std::string>& options, KeyedFiles& files,
                                           const fs::path& folder) {
  OptionExpander expander(folder, files);
  expander.expand(options);
  return std::move(expander.words);
}

std::vector<std::string> driver_lines(const std::vector<std::string>& options, KeyedFiles& files) {
  LinkOptions used = link_options(options);
  LineMaker maker(files);
  for (const std::string& folder : profile_folders(options))
    for (const auto& entry : fs::recursive_directory_iterator(folder)) maker.look("profile", entry.path());
  for (const auto& [name, value] : set_variables({VariableReader::compiler}))
    maker.lines.push_back("variable " + name + "=" + value);
  for (const std::string& prefix : used.parts) maker.look_for_parts(prefix);
  for (const std::string& folder : folders_of_variable("COMPILER_PATH")) maker.look_for_parts(folder);
  for (const std::string& linker : used.linkers) maker.look_for_linker(linker);
  used.folders.insert(used.folders.end(), used.parts.begin(), used.parts.end());
  for (const char* variable : {"LIBRARY_PATH", "LD_LIBRARY_PATH"})
    for (std::string& folder : folders_of_variable(variable)) used.folders.push_back(std::move(folder));
  for (const char* library : own_libraries) maker.look_for_library(library, used.folders);
  for (const char* folder : {"/usr/local/lib", "/usr/local/lib64", local_multiarch}) used.folders.emplace_back(folder);
  for (const std::string& library : used.libraries) maker.look_for_library(library, used.folders);
  for (const NamedFile& file : named_files(options, {}))
    if (!is_source(file.path)) maker.follow(file.path, used.folders);
  return std::move(maker.lines);
}

bool links_threads(const std::vector<std::string>& options) {
  KeyedFiles ignored;
  const std::vector<std::string> words = with_option_files(options, ignored);
  LinkOptions used = link_options(words);
  for (const char* variable : {"LIBRARY_PATH", "LD_LIBRARY_PATH"})
    for (std::string& folder : folders_of_variable(variable)) used.folders.push_back(std::move(folder));
  used.folders.insert(used.folders.end(), std::begin(system_library_folders), std::end(system_library_folders));
  const auto needs_threads = [](const fs::path& path) {
    if (!is_file(path.string())) return false;
    std::vector<std::string> loaded = libraries_of(path);
    loaded.push_back(path.string());
    return std::any_of(loaded.begin(), loaded.end(), [](const std::string& each) {
      const std::string name = fs::path(each).filename().string();
      return name.starts_with("lib") && is_thread_runtime(std::string_view(name).substr(3));
    });
  };
  const auto found_needs_threads = [&](const std::string& library) {
    const std::string name = library.starts_with(":") ? library.substr(1) : "lib" + library + ".so";
    return std::any_of(used.folders.begin(), used.folders.end(),
                       [&](const fs::path folder) { return needs_threads(folder / name); });
  };
  const std::vector<NamedFile> named = named_files(words, {});
  return std::any_of(used.libraries.begin(), used.libraries.end(),
                     [&](const std::string& library) {
                       return library.find('{') != library.npos || is_thread_runtime(library) ||
                              found_needs_threads(library);
                     }) ||
         std::any_of(named.begin(), named.end(), [&](const NamedFile& file) { return needs_threads(file.path); });
}

std::vector<std::string> library_lines(const std::vector<std::string>& words, const fs::path& folder,
                                       const std::set<fs::path>& written, KeyedFiles& files) {
  const LinkOptions used = link_options(words);
  if (used.libraries.empty()) return {};
  std::vector<std::string> folders;
  for (const std::string& each : used.folders) folders.push_back((folder / each).lexically_normal().string());
  for (const char* variable : {"LIBRARY_PATH", "LD_LIBRARY_PATH"})
    for (const std::string& each : folders_of_variable(variable)) folders.push_back(each);
  KeyedFiles found;
  LineMaker maker(found);
  for (const std::string& library : used.libraries) maker.look_for_library(library, folders);
  // A build may make a library itself: then neither its contents nor its absence count.
  const auto is_written = [&](const std::string& path) { return written.contains(fs::path(path).filename()); };
  std::vector<std::string> lines;
  for (const KeyedFile& file : found.files)
    if (!is_written(file.path)) {
      lines.push_back("library " + fs::path(file.path).filename().string() + " sha256:" + file.sha256);
      files.files.push_back(file);
    }
  return lines;
}

}  // namespace xtune::build
