// Which build of a vendor's library is loaded.
#pragma once

#include <string>

namespace xtune::gpu {

/// Of the shared library that holds `symbol` (an address in this process); empty where it cannot be told.

/// The dotted version behind ".so." in its file name, symbolic links followed: "5.2.21153".
std::string library_version(const void* symbol);
/// Its path, symbolic links followed.
std::string library_path(const void* symbol);
/// The folder it lies in, symbolic links followed.
std::string library_folder(const void* symbol);
/// The first 12 hexadecimal digits of the linker's build id: tells two builds of one version apart, at no cost.
std::string library_build_id(const void* symbol);

}  // namespace xtune::gpu
