// Searches for the xtune program in the places where a user of the library may have it.
#include "api/program_finder.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/absolute_path.hpp"
#include "core/target/program.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

bool is_program(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

/// The directory of the shared library (or program) that contains this code.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_worker_program), &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, ignored);
  return file.parent_path();
}

}  // namespace

void find_worker_program() {
  if (const char* given = std::getenv("XTUNE_PROGRAM"); given && *given) {
    if (!is_program(given))
      throw Error(ErrorKind::unavailable,
                  std::string("XTUNE_PROGRAM=") + given +
                      ": is not an executable file; it names the xtune program, which the library "
                      "starts to compile and to measure");
    return target::set_worker_program(base::absolute_path(given));
  }
  std::vector<std::filesystem::path> places;
  if (const std::filesystem::path folder = own_folder(); !folder.empty())
    places = {folder / XTUNE_PROGRAM_FROM_LIBRARY, folder / "xtune"};
  places.emplace_back(XTUNE_BUILT_PROGRAM);
  if (const char* path = std::getenv("PATH"))
    for (std::string_view rest = path; !rest.empty();) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) places.push_back(std::filesystem::path(rest.substr(0, end)) / "xtune");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  for (const std::filesystem::path& place : places)
    if (is_program(place)) return target::set_worker_program(base::absolute_path(place).lexically_normal());
  throw Error(ErrorKind::unavailable,
              "the xtune program, which the library starts to compile and to measure, is not at " +
                  places.front().lexically_normal().string() +
                  " and not in PATH: install it beside the library, or set XTUNE_PROGRAM to where it is");
}

}  // namespace xtune
