// The application's own device memory and context, which the library only reads and uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/runtime.hpp"

namespace xtune {

/// A copy of device memory (host backend: of this process's memory), after all work that is queued in its context has
/// ended. Throws Error(invalid_argument) with the argument for a pointer that does not belong to the backend and for
/// one with fewer bytes behind it; Error(unavailable) if the driver is missing.
std::vector<std::byte> read_application_memory(const std::string& backend, const std::string& argument,
                                               const void* pointer, std::size_t bytes);

/// The current device of this thread; nullopt: none, or the backend's driver is missing.
std::optional<int> current_device(const std::string& backend);

/// Restores this thread's current context on destruction.
class CurrentContext {
 public:
  explicit CurrentContext(const std::string& backend);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const std::shared_ptr<backend::Runtime> runtime_;
  const std::uintptr_t context_;
};

}  // namespace xtune
