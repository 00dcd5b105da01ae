// A vendor's library that is opened at run time: the loaded build, and calls in the form of xtune's tables.
#pragma once

#include <string>

namespace xtune::gpu {

/// Facts about the shared library that holds `symbol` (an address in this process); empty if they are unknown.

/// The dotted version after ".so." in its file name, symbolic links followed: "5.2.21153".
std::string library_version(const void* symbol);
/// Its path, symbolic links followed.
std::string library_path(const void* symbol);
/// The directory that contains it, symbolic links followed.
std::string library_folder(const void* symbol);
/// The first 12 hexadecimal digits of the linker's build id: distinguishes builds of one version, at no cost.
std::string library_build_id(const void* symbol);

/// A call of the library as one of a table: handles become the vendor's, and its result a number.
template <class Result, class... Own>
auto table_call(Result (*call)(Own...)) {
  return [call]<class... Given>(Given... given) -> int { return call(Own(given)...); };
}

}  // namespace xtune::gpu
