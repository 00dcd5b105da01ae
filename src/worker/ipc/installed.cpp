// Places are relative to the program, so that an installation may be moved. Specs name their sources relative to
// themselves (configs/../kernels), so both are installed side by side.
#include "worker/ipc/installed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

namespace fs = std::filesystem;

fs::path installed_directory(const std::string& name) {
  std::error_code ignored;
  const fs::path beside = fs::weakly_canonical(worker_program(), ignored).parent_path(), sources = XTUNE_SOURCES;
  for (const fs::path& place : {beside / XTUNE_DATA_FROM_PROGRAM, beside, sources, sources / "python/xtune"})
    if (fs::is_directory(place / name, ignored)) return (place / name).lexically_normal();
  return {};
}

std::vector<fs::path> shipped_specs() {
  std::vector<fs::path> specs;
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(installed_directory("configs"), ignored))
    if (file.path().extension() == ".toml") specs.push_back(file.path());
  std::sort(specs.begin(), specs.end());
  return specs;
}

bool is_spec_name(const fs::path& given) {
  std::error_code ignored;
  const fs::file_status there = fs::status(given, ignored);
  return !given.empty() && given == given.stem() && (!fs::exists(there) || fs::is_directory(there));
}

fs::path shipped_spec(const fs::path& name) {
  std::vector<std::string> names;
  for (const fs::path& spec : shipped_specs()) {
    if (spec.stem() == name) return spec;
    names.push_back(spec.stem().string());
  }
  std::error_code ignored;
  const std::string shown = base::printable(name.string());
  throw Error(ErrorKind::io, fmt::format("cannot read {}: {}, and no kernel that comes with xtune has this name{}; "
                                         "`xtune kernels` lists them",
                                         shown, std::strerror(fs::is_directory(name, ignored) ? EISDIR : ENOENT),
                                         base::did_you_mean(name.string(), names)));
}

}  // namespace xtune::worker
