#include "backends/kokkos/unit_headers.hpp"

#include <string_view>

#include "backends/compiler/compile_step.hpp"
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

std::optional<std::filesystem::path> PrecompiledHeader::find(const std::string& compiler, bool is_clang,
                                                             const std::vector<std::string>& flags,
                                                             const std::string& identity) {
  std::string text = identity + '\n' + compiler;
  for (const std::string& flag : flags) text += '\n' + flag;
  const auto make = [&](const std::filesystem::path& file) {
    const std::filesystem::path folder = file.parent_path();
    write_headers(folder);
    backend::write_scratch_file(folder / "unit.hpp", "#include <xtune/kokkos_entry.hpp>\n");
    std::vector<std::string> command{compiler, "-x", "c++-header", "-I" + folder.string()};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {(folder / "unit.hpp").string(), "-o", file.string()});
    return compiler::run_compiler(command, "", folder).ok();
  };
  const auto file = files_.find(text, is_clang ? "unit.hpp.pch" : "unit.hpp.gch", make);
  return file ? std::optional(file->parent_path() / "unit.hpp") : std::nullopt;
}

}  // namespace xtune::kokkos
