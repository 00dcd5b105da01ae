// Writes the header of all units and precompiles it.
#include "backends/kokkos/precompiled_header.hpp"

#include "backends/compiler/compile_step.hpp"
#include "backends/kokkos/runtime_texts.hpp"

namespace xtune::kokkos {

std::optional<PrecompiledHeader::Header> PrecompiledHeader::find(const std::string& compiler, bool is_clang,
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
  if (!file) return std::nullopt;
  return Header{file->parent_path() / "unit.hpp", file->parent_path()};
}

}  // namespace xtune::kokkos
