// What to do about a compiler's refusal of a kernel that another backend takes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// The compilers that know other headers and functions than their neighbours.
enum class KernelCompiler { host, nvrtc, hiprtc, hip_clang };

/// A sentence about the log's error that is known best, without a full stop; empty: none is known.
std::string compile_hint(KernelCompiler compiler, std::string_view source, std::string_view log);

/// compile(); a CandidateFailure(compile_failed) gets the hint behind its message, and stays a ShortageFailure if it is
/// one. An error in a header of xtune is reported as error_in_header() has it.
Artifact with_compile_hint(KernelCompiler compiler, const CompileRequest& request,
                           const std::function<Artifact()>& compile);

}  // namespace xtune::build
