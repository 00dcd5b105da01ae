// Specs in bundles: packed with the files that they name, and put down again where a kernel is loaded from them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/store/bundle.hpp"

namespace xtune::dispatch {

/// The spec, its sources with all that they include, and its data files, as they lie to each other; for every backend.
/// Throws Error as load_spec; Error(unsupported) for a spec that cannot be read from another place, as its paths are
/// absolute. Folders that options name (-I/opt/include) stay in the options.
store::BundledSpec pack_spec(const std::filesystem::path& spec);

/// Writes the files below the folder. Returns the path of the spec.
std::filesystem::path unpack_spec(const store::BundledSpec& spec, const std::filesystem::path& folder);

/// A bundled spec in a private temporary directory.
struct OpenedSpec {
  std::filesystem::path spec;
  std::shared_ptr<const void> directory;  ///< holds the files until it goes
};

/// kernel: may be empty where the bundle has one spec. Throws Error(invalid_argument) that lists the bundle's kernels
/// where it has none of that name, Error(io).
OpenedSpec open_bundled_spec(const std::filesystem::path& bundle, std::string kernel);

}  // namespace xtune::dispatch
