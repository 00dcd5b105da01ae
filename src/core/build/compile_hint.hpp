// The error in a compiler's log, and what to do about a compiler's refusal of a kernel that another backend takes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/build/artifact.hpp"
#include "core/build/unread_headers.hpp"

namespace xtune::build {

/// The compilers that know other headers and functions than their neighbours.
enum class KernelCompiler { host, nvrtc, nvcc, cuda_clang, hiprtc, hip_clang };

/// A sentence about the log's error that is known best, without a full stop; empty: none is known.
std::string compile_hint(KernelCompiler compiler, std::string_view log);

/// compile(request), again each time that `unread` learns from a failure; messages name the headers. A
/// CandidateFailure(compile_failed) gets the hint behind its message, and stays a ShortageFailure
/// if it is one. The request's texts of headers stand for their files (compile_with_headers). An error in a header of
/// xtune is reported as error_in_header() has it. If a definition is named in the log and no hint is known, asks the
/// compiler whether the source compiles where the name is not a macro: then the name means something else in the code,
/// which the hint says.
using Compile = std::function<Artifact(const CompileRequest&)>;
Artifact with_compile_hint(KernelCompiler compiler, const CompileRequest& request, const Compile& compile,
                           UnreadHeaders& unread);

/// A toolchain whose compiles are those of with_compile_hint().
class HintedToolchain : public Toolchain {
 public:
  Artifact compile(const CompileRequest& request) final {
    return with_compile_hint(
        kind_, request, [this](const CompileRequest& each) { return compile_kernel(each); }, unread_);
  }

 protected:
  /// own_folders: as of UnreadHeaders.
  HintedToolchain(KernelCompiler kind, std::vector<std::string> own_folders)
      : kind_(kind), unread_(std::move(own_folders)) {}
  virtual Artifact compile_kernel(const CompileRequest& request) = 0;
  UnreadHeaders::Names unread(const CompileRequest& request) const { return unread_.of(request.source_name); }

 private:
  const KernelCompiler kind_;
  UnreadHeaders unread_;
};

/// The line of the first error in a compiler's or an assembler's log, printable; if there is none, the first line.
std::string first_error_or_first_line(const std::string& log);

/// Whether an error, or a log, is that of a check in the source: static_assert, #error, an array of negative size.
bool states_a_requirement(std::string_view text);

/// The message of an error in a header of xtune, which begins with a path in `directory`: without the directory, and
/// with the line of the source that the log names for the error: "xtune/hopper.cuh:48:35: error: ... (from k.cu:9:30)".
/// Other messages as they are.
std::string error_in_header(const std::string& message, std::string_view log, const std::string& directory);

}  // namespace xtune::build
