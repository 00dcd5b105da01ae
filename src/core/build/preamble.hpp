// Finds the end of a source's opening includes, so that parameters can be defined after them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// The length of the opening of a source, which has only preprocessor directives, up to and including its last #include
/// outside of any #if: in bytes, whole lines. 0 if there is no such include. Ends early at anything that needs a
/// preprocessor: code, also behind an #if; #include MACRO; pragmas other than once; raw strings.
std::size_t preamble_length(std::string_view source);

/// Whether a name is a setting of the toolchains' headers (_CG_ABI_EXPERIMENTAL, CUB_WRAPPED_NAMESPACE), which must be
/// defined before these headers.
bool sets_a_header(std::string_view name);

/// A compile request's source in three parts, in this order. `head` and the definitions before it are the same for all
/// configurations that differ only in parameters that the head does not use; the toolchain's headers in it never see
/// those parameters.
struct SplitSource {
  using Defines = std::vector<std::pair<std::string, std::string>>;
  Defines before;             ///< what the head or a file of the user's in it mentions; settings of headers (CUB_..)
  std::string head;           ///< the preamble; may be empty, and then all defines come before the tail
  Defines between;            ///< the others
  std::string tail;           ///< the rest of the source
  std::size_t head_line = 1;  ///< the line of the source's file in which the head begins
  std::size_t tail_line = 1;  ///< likewise
  std::string digest;  ///< hex SHA-256 over the texts of the head and of all that it includes, as keys.hpp has it
  std::string states;  ///< file_state() of the files that it includes, a line each
  bool of_toolchain = false;  ///< the head includes headers of the toolchain
};

/// The head is empty if names may be computed (## or #include MACRO in the head or its files) or files are included by
/// option. Reads the user's headers that the head includes; if one cannot be read, the head is empty and the compiler
/// reports the error.
SplitSource split_source(const CompileRequest& request);

}  // namespace xtune::build
