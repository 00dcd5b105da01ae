// Paths relative to the working directory, which may have been removed.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "xtune/error.hpp"

namespace xtune::base {

/// Throws Error(io) for a relative path if the working directory has been removed or cannot be read.
inline std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(path, failed);
  if (failed)
    throw Error(ErrorKind::io, "cannot determine the working directory (" + failed.message() + "), at which '" +
                                   path.string() + "' starts: change to one that is there");
  return whole;
}

}  // namespace xtune::base
