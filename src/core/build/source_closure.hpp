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

/// In SourceClosure::computed_by: any name, because the names could not be determined completely.
inline constexpr const char* any_name = "*";

/// An #include whose file is in no directory that is searched before the compiler's own.
struct MissingInclude {
  IncludeDirective include;
  std::filesystem::path file;  ///< that includes it
};

struct SourceClosure {
  std::string canonical_text;     ///< a JSON list of digests and names: neither bytes nor places of files
  std::vector<SourceScan> files;  ///< the source, then each file once, in the order of first mention
  /// Headers that only a compiler may have. Each name once, and none that __has_include asks for.
  std::vector<MissingInclude> missing;
  bool computes = false;                ///< definitions determine what is included: #include MACRO
  std::set<std::string> computed_by{};  ///< names whose definitions determine that, as far as this is known
  KeyedFiles keyed;                     ///< the files that were read, and what else determined this choice of files
};

/// The source and every file that it includes, directly or indirectly, as resolved by include_dirs, and for quoted
/// includes by the including file's own directory. Includes that are not found belong to the toolchain, and only their
/// names count; those behind a false #if count too. Files that are not text (weights) count by their digest. Throws
/// Error(io) if a file cannot be read, and Error(interrupted) if a signal asks the program to end meanwhile.
SourceClosure source_closure(const CompileRequest& request);

/// Files that a compiler uses from the system by default.
struct SystemSearch {
  /// Directories that it searches for headers, before those of -idirafter; the system's own headers there count by name
  /// (system_headers.hpp).
  std::vector<std::string> header_dirs{};
  bool links = false;  ///< the variables that a compiler with a linker reads count as well (environment.hpp)
};

struct ScannedFile {
  KeyedFile file;
  SourceScan scan;
  std::string text{};  ///< empty: no text, or too much of it; its content was only hashed
};
/// Files by canonical path.
using ScannedFiles = std::map<std::filesystem::path, ScannedFile>;

/// The same for a request as compilers see it: with the directories and files that its options and the environment name
/// (-I, -include, CPATH, ...), and the contents of files that options name (named_files.hpp). Files in `read` are not
/// read again, and new ones are added to it.
SourceClosure compile_closure(const CompileRequest& request, const SystemSearch& search, ScannedFiles& read);
SourceClosure compile_closure(const CompileRequest& request);

/// The closure of one of several sources: files in `read` are not read again, and new ones are added to it.
/// quoted_dirs: searched only for quoted includes, before include_dirs.
SourceClosure source_closure(const CompileRequest& request, const std::vector<std::string>& quoted_dirs,
                             ScannedFiles& read);

/// Directories and files that a compiler's options name (-I, --include-path, -isystem, -idirafter; -iquote; -include,
/// --pre-include, -imacros): they determine what is included, as include_dirs do.
struct IncludeOptions {
  std::vector<std::string> folders;  ///< -I, then those of CPATH, -isystem, those of CPLUS_INCLUDE_PATH, -idirafter
  std::size_t after_system = 0;      ///< this many at the end of `folders` are searched after the compiler's own
  std::vector<std::string> quoted, forced;
  std::vector<std::string> macros;  ///< -DNAME=body as "NAME body"
};
/// The directories of a variable in the format of PATH; an empty element is the working directory. Empty: the variable
/// is not set.
std::vector<std::string> folders_of_variable(const char* variable);

IncludeOptions include_options(const std::vector<std::string>& options);
/// Names of the macros that options define: "BLOCK" for -DBLOCK=16.
std::set<std::string> defined_macros(const std::vector<std::string>& options);
/// The same, with the directories of the variables that GCC and Clang read, in the order in which they search them.
IncludeOptions include_options_here(const std::vector<std::string>& options);

}  // namespace xtune::build
