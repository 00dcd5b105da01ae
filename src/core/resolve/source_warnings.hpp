// What a spec's sources and its reference have that its author can hardly want.
#pragma once

#include <string>
#include <vector>

#include "core/spec/spec.hpp"

namespace xtune::resolve {

/// A line for each header that is missing (build::missing_lines), for each kernel that its source does not name, and
/// for commands of reference, validator and program that are not in PATH, or whose script is missing; a line for each
/// parameter that nothing but constraints and metrics name, and for each whose value a #define of the source replaces:
/// all its values compile the same kernel. "k.cu:3:
/// ...". A #define within #if or #ifndef is taken to be a default. Throws Error(io) for a source
/// that cannot be read.
std::vector<std::string> source_warnings(const spec::Spec& spec);

}  // namespace xtune::resolve
