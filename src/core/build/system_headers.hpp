// Headers that compilers find by default: which of them belong to the system, and which were installed in addition.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

/// Directories of headers that host compilers search besides their own, in order; they may contain headers of any
/// origin: /usr/local/include, /usr/include/x86_64-linux-gnu, /usr/include.
const std::vector<std::string>& shared_header_folders();

/// Whether a header of this name below /usr/include, or in the directory of the machine's kind in it, comes with the C
/// library, the C++ library or the kernel's interface. These are updated with the operating system, which no key
/// describes.
bool is_system_header(std::string_view name);

/// Whether a header that a compiler of the system read belongs only to the system; compares with the directories above.
bool is_system_header_path(const std::string& path);

}  // namespace xtune::build
