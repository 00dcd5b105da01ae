// Headers that a source includes and that its compiler does not find, cannot read or is not to read: what is read in
// their place, and where they may be.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/source_closure.hpp"

namespace xtune::build {

/// A line for each missing header that the user has to look for: "k.cu:3: #include "a.h" is not in src, include. lib
/// has it: ...". Those that xtune, C++ or the system has are omitted, and others that a compiler may have: <x> within
/// #if, and, unless the source's project has a file of the name, <x> or what is within #if. searched: directories in
/// order.
std::vector<std::string> missing_lines(const std::vector<MissingInclude>& missing,
                                       const std::vector<std::string>& searched);

/// Headers that a source includes and its compiler cannot read. Most are for the CPU's side of a program (<mpi.h>,
/// <thrust/sort.h>), so all are read as empty, and the compiler says whether the kernels need them. What one compile
/// has found out, the next ones of the source know. Sources are known by their file's name: a cut one is compiled
/// elsewhere (compile_with_headers). Thread-safe.
class UnreadHeaders {
 public:
  struct Names {
    std::set<std::string> missing;   ///< found nowhere: empty files are searched for after all other directories
    std::set<std::string> unusable;  ///< the compiler refuses them: stand-ins are searched for before its own headers
    std::set<std::string> readable;  ///< the compiler was asked, and reads them
    std::set<std::string> notable;   ///< missing ones that neither C++ nor the system has, as included: "<mpi.h>"
  };
  /// own_folders: those of the compiler's own headers, some of which it may refuse.
  explicit UnreadHeaders(std::vector<std::string> own_folders = {}) : own_folders_(std::move(own_folders)) {}

  Names of(const std::string& source_name) const;
  /// Adds what the failed compile shows. False: nothing, so that another attempt would fail alike.
  bool learn(const CompileRequest& request, const CandidateFailure& failure,
             const std::function<Artifact(const CompileRequest&)>& compile);

 private:
  bool add(std::set<std::string> Names::*kind, const std::string& source_name, const std::string& header);

  const std::vector<std::string> own_folders_;
  mutable std::mutex mutex_;
  std::map<std::string, Names> names_;
};

/// Makes a tree of the headers' directories where CompileRequest::headers are files and the others are links, and calls
/// `compile` with a request that is searched there first. Messages, logs and lists of files name the user's files.
/// Without such texts, compile(request).
Artifact compile_with_headers(const CompileRequest& request,
                              const std::function<Artifact(const CompileRequest&)>& compile);

/// A warning about headers that the artifact may lack: they may have held what its kernel needs. Empty: there is none.
std::string unread_warning(const Artifact& artifact);

/// "; not found and read as empty: <mpi.h>, ...": behind an error's message. Empty: all headers were read.
std::string text_of(const UnreadHeaders::Names& unread);

/// The first of missing_lines about the headers that were read as empty; empty: there is none.
std::string missing_hint(const CompileRequest& request, const UnreadHeaders::Names& unread);

/// The first line with an error, without leading blanks; empty: none.
std::string_view first_error(std::string_view log);

/// Whether a line of a compiler's log states an error.
bool states_an_error(std::string_view line);

/// The name in quotes of "cannot open source file "cstdint"", "'cstdint' file not found".
std::string_view quoted_name(std::string_view line);

/// The header that a compiler could not open; empty: the line reports something else. NVRTC: 'cannot open source file
/// "x.h"', clang: "fatal error: 'x.h' file not found", GCC: "fatal error: x.h: No such file or directory".
std::string_view missing_header(std::string_view line);

}  // namespace xtune::build
