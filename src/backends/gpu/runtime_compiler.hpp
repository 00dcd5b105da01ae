// The common part of NVRTC and hipRTC: compiles a program from a string, with its log and the lowered name of its
// kernel; and the resource usage from the output of ptxas -v.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/preamble.hpp"

namespace xtune::gpu {

/// The calls of a run-time compiler; thread-safe, no device. 0 is success.
struct CompilerApi {
  using Program = void*;
  std::string name;  ///< "nvrtc"
  std::function<int(Program*, const char* source, const char* source_name)> create;
  std::function<int(Program*)> destroy;
  /// Empty: the caller finds the names.
  std::function<int(Program, const char* expression)> add_name_expression;
  std::function<int(Program, int count, const char* const* options)> compile;
  std::function<int(Program, std::size_t* size)> log_size;
  std::function<int(Program, char* log)> log;
  std::function<int(Program, const char* expression, const char** name)>
      lowered_name;  ///< the name is valid as long as the program
  std::function<int(Program, std::size_t* size)> code_size;
  std::function<int(Program, char* code)> code;
  /// The same as text for a virtual architecture (PTX). Empty: there is none.
  std::function<int(Program, std::size_t* size)> assembly_size;
  std::function<int(Program, char* text)> assembly;
  std::function<std::string(int)> describe;  ///< "NVRTC_ERROR_COMPILATION"
  int out_of_memory = -1;                    ///< result of the calls in that case; -1: unknown
};

struct CompiledProgram {
  std::string image;
  std::string log;
  std::vector<std::string> entry_symbols;  ///< of all entries of the request, in their order
  std::vector<std::string> variables;      ///< the symbols of the request's
  double seconds = 0;                      ///< wall clock of the compile call
};

/// Of the request: source_name, entries (names or template-ids, as in C++) and variables; source and options as the
/// compiler takes them. Throws CandidateFailure(compile_failed) whose message is the first
/// error of the log, or (crashed) if it ran out of memory; Error if the machine is the cause (compile_hint.hpp).
CompiledProgram compile_program(const CompilerApi& api, const build::CompileRequest& request, const std::string& source,
                                const std::vector<std::string>& options);

/// The source with "#define NAME value" lines for the request's defines, and #line directives that correct the
/// numbering. They are placed after the includes at the source's top that do not use them (core/build/preamble.hpp): a
/// -D, or a #define before the first line, would affect the compilers' own headers.
std::string with_defines(const build::CompileRequest& request);
std::string with_defines(const build::CompileRequest& request, const build::SplitSource& split);

/// The parts of with_defines: "#define NAME value" lines, and "#line 7 \"name\"".
std::string define_lines(const build::SplitSource::Defines& defines);
std::string line_directive(std::size_t line, const std::string& source_name);

/// Reads only the lines of the entry function; a log may have several. Fields that are not in the log stay unset.
/// Format: CUDA Binary Utilities and nvcc documentation, `--resource-usage`; toolkits from 9 to 13 differ in blanks and
/// order.
build::ResourceUsage parse_ptxas_log(std::string_view log, std::string_view entry_symbol);

/// The maximum static shared memory that an entry of the log declares, in bytes, and the entry's symbol; 0 if there is
/// none.
std::pair<std::int64_t, std::string> largest_static_shared(std::string_view log);

}  // namespace xtune::gpu
