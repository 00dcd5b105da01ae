// A spec's source without what its kernels do not need: a whole program as it stands becomes what compilers for kernels
// accept.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/spec/spec.hpp"

namespace xtune::resolve {

/// A source whose host code is blanked (build/device_unit.hpp).
struct UnitSource : spec::SourceText {
  std::map<std::string, std::string> headers{};   ///< texts of the user's headers that hold host code: by path
  std::map<std::string, std::size_t> left_out{};  ///< names that were blanked, with their lines
};

/// The kernel's source, or its reference's, without a byte order mark. whole: nothing is blanked. That of a Kokkos unit
/// is whole in any case. Throws Error(io) for a file that cannot be read.
UnitSource unit_source(const spec::Spec& spec, const std::filesystem::path& path, bool whole = false);

}  // namespace xtune::resolve
