// The process that creates the directory does the work; the header is valid from the moment it has its name.
#include "backends/kokkos/precompiled_header.hpp"

#include "backends/compiler/compile_step.hpp"
#include "backends/kokkos/runtime_texts.hpp"
#include "base/hash.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

namespace fs = std::filesystem;

bool make(const std::string& compiler, const std::vector<std::string>& flags, const fs::path& folder,
          const fs::path& precompiled) try {
  write_headers(folder);
  backend::write_scratch_file(folder / "unit.hpp", "#include <xtune/kokkos_entry.hpp>\n");
  const std::string part = precompiled.string() + ".part";
  std::vector<std::string> command{compiler, "-x", "c++-header", "-I" + folder.string()};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {(folder / "unit.hpp").string(), "-o", part});
  if (!compiler::run_compiler(command, "", folder).ok()) return false;
  fs::rename(part, precompiled);
  return true;
} catch (const std::exception&) {  // a full disk, a missing compiler: the unit's own compile will report it
  return false;
}

}  // namespace

fs::path PrecompiledHeader::root() {
  const fs::path shared = base::temporary_folder();
  if (shared.filename().string().starts_with("xtune-")) return shared;
  if (!own_) own_ = std::make_unique<base::TemporaryDirectory>();
  return own_->path();
}

std::optional<PrecompiledHeader::Header> PrecompiledHeader::find(const std::string& compiler, bool is_clang,
                                                                 const std::vector<std::string>& flags,
                                                                 const std::string& identity) {
  std::string text = identity + '\n' + compiler;
  for (const std::string& flag : flags) text += '\n' + flag;
  const std::string key = base::sha256(text).substr(0, 16);
  fs::path folder;
  {
    const std::lock_guard lock(mutex_);
    if (++asked_[key] < 2) return std::nullopt;
    folder = root() / ("kokkos-" + key);
  }
  const fs::path precompiled = folder / (is_clang ? "unit.hpp.pch" : "unit.hpp.gch");
  std::error_code failed;
  if (fs::exists(precompiled, failed)) return Header{folder / "unit.hpp", folder};
  if (!fs::create_directory(folder, failed) || !make(compiler, flags, folder, precompiled)) return std::nullopt;
  return Header{folder / "unit.hpp", folder};
}

}  // namespace xtune::kokkos
