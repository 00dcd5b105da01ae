// Headers that compilers find by themselves: which of them belong to the system, and which somebody installed there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

/// Folders of headers that host compilers search beside their own, in their order; anybody's headers lie there:
/// /usr/local/include, /usr/include/x86_64-linux-gnu, /usr/include.
const std::vector<std::string>& shared_header_folders();

/// Whether a header of this name below /usr/include, or the folder of the machine's kind in it, comes with the C
/// library, the C++ library or the kernel's interface. Their updates are those of the operating system, which no key
/// names.
bool is_system_header(std::string_view name);

/// Of headers that a compiler of the system read, those that are nobody's but the system's: it compares with the
/// folders of above.
bool is_system_header_path(const std::string& path);

}  // namespace xtune::build
