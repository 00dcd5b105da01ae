// Warnings about the use of the spec's parameters in a kernel's source.
#pragma once

#include <string>
#include <vector>

#include "core/spec/spec.hpp"

namespace xtune::resolve {

/// A line for each parameter that only constraints and metrics use, and for each whose value a #define of the source
/// replaces, since all its values compile the same kernel: "k.cu:3: ...". A #define within #if or #ifndef is assumed to
/// be a default. Empty for programs. Throws Error(io) if a source cannot be read.
std::vector<std::string> source_warnings(const spec::Spec& spec);

}  // namespace xtune::resolve
