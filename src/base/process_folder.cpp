#include "base/process_folder.hpp"

#include <cstdlib>
#include <optional>

#include "base/files.hpp"

namespace xtune::base {
namespace {

constexpr const char* variable = "XTUNE_SHARED_DIR";

const std::optional<TemporaryDirectory>& process_folder() {
  static const std::optional<TemporaryDirectory> folder = []() -> std::optional<TemporaryDirectory> {
    try {
      return std::make_optional<TemporaryDirectory>();
    } catch (const Error&) {  // workers then share nothing
      return std::nullopt;
    }
  }();
  return folder;
}

}  // namespace

Environment shared_folder_variables() noexcept try {
  if (!process_folder()) return {};
  return {{variable, process_folder()->path().string()}};
} catch (...) {
  return {};
}

std::filesystem::path shared_folder() {
  const char* const named = std::getenv(variable);
  return named ? named : "";
}

}  // namespace xtune::base
