// What is installed with the program: directories of data, and the specs that users name without a path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::worker {

/// The directory of data of this name ("configs") that belongs to worker_program(): as installed, as in the Python
/// package, or in the sources that the program was built from. Empty: it is in none of these places.
std::filesystem::path installed_directory(const std::string& name);

/// The files of the specs, and suites, that come with xtune, by name ("gemm").
std::vector<std::filesystem::path> shipped_specs();

/// Whether this, given for the path of a spec, can only be the name of one that comes with xtune: it has neither a
/// directory nor an extension, and no file is there. A directory does not count, because it cannot be a spec.
bool is_spec_name(const std::filesystem::path& given);

/// The file of the spec with this name. Throws Error(io), as for a missing file, with the nearest name.
std::filesystem::path shipped_spec(const std::filesystem::path& name);

}  // namespace xtune::worker
