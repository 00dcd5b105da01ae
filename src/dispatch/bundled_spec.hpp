// Specs in bundles: packed with the files that they name, and written to disk when a kernel is loaded from them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/store/bundle.hpp"

namespace xtune::dispatch {

/// The spec, its sources with all their includes, and its data files, with their relative paths; for every backend.
/// Throws Error as load_spec; Error(unsupported) for a spec that cannot be read from another place, because its paths
/// are absolute. Directories in options (-I/opt/include) stay in the options.
store::BundledSpec pack_spec(const std::filesystem::path& spec);

/// Writes the files below the directory. Returns the path of the spec.
std::filesystem::path unpack_spec(const store::BundledSpec& spec, const std::filesystem::path& folder);

/// A bundled spec in a private temporary directory.
struct OpenedSpec {
  std::filesystem::path spec;
  std::shared_ptr<const void> directory;  ///< keeps the files until it is destroyed
};

/// kernel: may be empty if the bundle has only one spec. Throws Error(invalid_argument) with the bundle's kernels if it
/// has none of that name, Error(io).
OpenedSpec open_bundled_spec(const std::filesystem::path& bundle, std::string kernel);

}  // namespace xtune::dispatch
