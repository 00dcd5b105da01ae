// Readers check what they read: a fact may be damaged, or out of date.
#include "base/machine_memory.hpp"

#include "base/absolute_path.hpp"
#include "base/chosen_store.hpp"
#include "base/files.hpp"
#include "base/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::base {
namespace {

/// The number of RememberNothing objects of this thread that forbid writing.
int& forbidden() noexcept {
  thread_local int count = 0;
  return count;
}

}  // namespace

std::optional<std::filesystem::path> place_in_default_store(const std::filesystem::path& inside) try {
  const std::filesystem::path store = forbidden() > 0 ? absolute_path(default_store()) : chosen_store({});
  require_trusted(store);
  const std::filesystem::path place = store / inside;
  require_trusted(place.parent_path());
  return place;
} catch (const Error&) {
  return std::nullopt;
}

void remember(const std::filesystem::path& place, const std::string& text) noexcept {
  if (forbidden() > 0) return;
  try {
    write_file_atomically(place, text);
  } catch (const std::exception&) {
  }
}

RememberNothing::RememberNothing(bool wanted) noexcept : wanted_(wanted) { forbidden() += wanted; }
RememberNothing::~RememberNothing() { forbidden() -= wanted_; }

Environment memory_variables() {
  if (forbidden() == 0) return {};
  return {{"XTUNE_DISABLE_CACHE", "1"}};
}

}  // namespace xtune::base
