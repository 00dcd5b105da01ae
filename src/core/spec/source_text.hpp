// The texts of a spec's sources, from their files or from the spec itself.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/spec/spec.hpp"

namespace xtune::spec {

/// A source, and where it stands.
struct SourceText {
  std::filesystem::path path;  ///< of a text in the spec: the spec's
  std::string text;
  std::size_t first_line = 1;  ///< the line of that file in which it begins
};

/// The kernel's source, or its reference's. Throws Error(io) for a file that cannot be read.
SourceText read_source(const Spec& spec, const std::filesystem::path& path);

}  // namespace xtune::spec
