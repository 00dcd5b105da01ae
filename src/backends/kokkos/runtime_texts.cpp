// Writes the headers to the paths where the compiler finds them.
#include "backends/kokkos/runtime_texts.hpp"

#include <string_view>

#include "xtune/error.hpp"

namespace xtune::kokkos {

void write_runtime_file(const std::string& name, const std::filesystem::path& to) {
  for (int i = 0; i < runtime_file_count; ++i)
    if (runtime_files[i].name == name) return backend::write_scratch_file(to, runtime_files[i].text);
  throw Error(ErrorKind::io, "this xtune was built without " + name + " of its kokkos backend: build it again");
}

void write_headers(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directory(folder / "xtune", failed);
  for (const char* name : {"kokkos.hpp", "kokkos_abi.h", "kokkos_entry.hpp"})
    write_runtime_file(name, folder / "xtune" / name);
}

std::string runtime_digest() {
  return backend::digest_of({runtime_files, static_cast<std::size_t>(runtime_file_count)});
}

}  // namespace xtune::kokkos
