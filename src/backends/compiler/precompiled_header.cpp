// The process that creates the directory does the work; the header is valid from the moment it has its name.
#include "backends/compiler/precompiled_header.hpp"

#include "base/hash.hpp"

namespace xtune::compiler {
namespace {

bool made(const PrecompiledHeader::Make& make, const std::filesystem::path& to) try {
  const std::string part = to.string() + ".part";
  if (!make(part)) return false;
  std::filesystem::rename(part, to);
  return true;
} catch (const std::exception&) {  // a full disk, a missing compiler: the source's own compile will report it
  return false;
}

}  // namespace

std::filesystem::path PrecompiledHeader::root() {
  const std::filesystem::path shared = system::temporary_folder();
  if (shared.filename().string().starts_with("xtune-")) return shared;
  if (!own_) own_ = std::make_unique<system::TemporaryDirectory>();
  return own_->path();
}

std::optional<std::filesystem::path> PrecompiledHeader::find(const std::string& identity, const std::string& name,
                                                             const Make& make) {
  const std::string key = base::sha256(identity).substr(0, 16);
  std::filesystem::path folder;
  {
    const std::lock_guard lock(mutex_);
    if (++asked_[key] < 2) return std::nullopt;
    folder = root() / ("headers-" + key);
  }
  std::error_code failed;
  if (std::filesystem::exists(folder / name, failed)) return folder / name;
  if (!std::filesystem::create_directory(folder, failed) || !made(make, folder / name)) return std::nullopt;
  return folder / name;
}

}  // namespace xtune::compiler
