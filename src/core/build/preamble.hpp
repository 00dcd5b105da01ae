// Where a source's opening includes end, so that parameters can be defined behind them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// How long the opening of a source is that holds nothing but preprocessor directives, up to and with its last #include
/// outside of any #if: bytes, whole lines. 0 when it includes nothing there. Ends early at what cannot be told without
/// a preprocessor: code, also behind an #if; #include MACRO; pragmas other than once; raw strings.
std::size_t preamble_length(std::string_view source);

/// Whether a name is a setting of the toolchains' headers (_CG_ABI_EXPERIMENTAL, CUB_WRAPPED_NAMESPACE), which has to
/// come before those.
bool sets_a_header(std::string_view name);

/// A compile request's source in three parts, which belong together in this order. `head` and the definitions in front
/// of it are the same for all configurations that differ only in parameters that nothing in the head asks for; the
/// toolchain's headers there never see those.
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

/// Where names may be computed (## or #include MACRO in the head or its files), or files are included by option, the
/// head is empty. Reads the user's headers that the head includes; one that cannot be read leaves the head empty, for
/// the compiler to complain.
SplitSource split_source(const CompileRequest& request);

}  // namespace xtune::build
