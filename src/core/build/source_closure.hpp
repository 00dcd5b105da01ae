// A source with all the files that it includes.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// Stands for every name in SourceClosure::computed_by, where not all that decided could be told.
inline constexpr const char* any_name = "*";

struct SourceClosure {
  std::string canonical_text;           ///< a JSON list of digests and names: what source_digest (keys.hpp) hashes
  std::vector<SourceScan> files;        ///< the source, then each file once, in the order of first mention
  bool of_toolchain = false;            ///< some include was found nowhere: a header of the toolchain's
  bool computes = false;                ///< the definitions decide what is included: #include MACRO
  std::set<std::string> computed_by{};  ///< names whose definitions decide that, as far as they do here
  KeyedFiles keyed;                     ///< what was read, and what else decided that these files are meant
};

/// Resolves as source_digest says. Throws Error(io) when a file cannot be read.
SourceClosure source_closure(const CompileRequest& request);

/// What a compiler takes from the system without being told.
struct SystemSearch {
  /// Folders that it searches for headers, before those of -idirafter; headers of the system itself count by name there
  /// (system_headers.hpp).
  std::vector<std::string> header_dirs{};
  /// Its libraries, its other parts and the variables that it reads count as well (option_files.hpp).
  bool links = false;
};

struct ScannedFile {
  KeyedFile file;
  SourceScan scan;
};
/// By canonical path.
using ScannedFiles = std::map<std::filesystem::path, ScannedFile>;

/// The same of a request as compilers take it: with the folders and files that its options and the environment name
/// (-I, -include, CPATH, ...), and the contents of other files that options name (@file, -fplugin=, objects).
/// Options are not only read by their names: of a folder that any word names (NamedPaths), every header that has an
/// included name counts, and a text file counts with what it includes. What is in `read` is not read again, and what is
/// read is added.
SourceClosure compile_closure(const CompileRequest& request, const SystemSearch& search, ScannedFiles& read);
SourceClosure compile_closure(const CompileRequest& request);

/// The closure of one source of several: what is in `read` is not read again, and what is read is added. quoted_dirs:
/// searched for quoted includes only, before include_dirs.
SourceClosure source_closure(const CompileRequest& request, const std::vector<std::string>& quoted_dirs,
                             ScannedFiles& read);

/// Folders and files that a compiler's options name (-I, --include-path, -isystem, -idirafter; -iquote; -include,
/// --pre-include, -imacros): they decide what is included as much as include_dirs do.
struct IncludeOptions {
  std::vector<std::string> folders;  ///< -I, then those of CPATH, -isystem, those of CPLUS_INCLUDE_PATH, -idirafter
  std::size_t after_system = 0;      ///< so many at the end of `folders` are searched behind the compiler's own
  std::vector<std::string> quoted, forced;
  std::vector<std::string> macros;  ///< -DNAME=body as "NAME body"
};
/// Folders and text files that words name, in whatever option they stand: a word itself, what follows a "=", a "," or a
/// blank in it, and what begins at its first slash ("-I/x").
struct NamedPaths {
  std::vector<std::string> folders, files;
};
NamedPaths named_paths(const std::vector<std::string>& options);

/// The folders of a list as PATH has them; an empty element is the folder at hand. Empty: the variable has no say.
std::vector<std::string> folders_of_variable(const char* variable);

IncludeOptions include_options(const std::vector<std::string>& options);
/// Names of the macros that options define: "BLOCK" for -DBLOCK=16.
std::set<std::string> defined_macros(const std::vector<std::string>& options);
/// The same, with the folders of the variables that GCC and Clang read, in the order in which these look into them.
IncludeOptions include_options_here(const std::vector<std::string>& options);

}  // namespace xtune::build
