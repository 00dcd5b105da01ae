// Searches PATH.
#include "base/find_program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace xtune::base {

std::string find_program(const std::string& name, const std::filesystem::path& folder) {
  const auto found_at = [](const std::filesystem::path& path) {
    std::error_code failed;
    const bool usable = std::filesystem::is_regular_file(path, failed) && access(path.c_str(), X_OK) == 0;
    return usable ? std::filesystem::absolute(path).string() : std::string();
  };
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) return found_at(folder / name);
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path place = end ? std::filesystem::path(rest.substr(0, end)) : folder / ".";
    if (std::string found = found_at(place / name); !found.empty()) return found;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

}  // namespace xtune::base
