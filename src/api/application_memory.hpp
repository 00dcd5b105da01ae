// The application's own device memory and context, which the library reads, uses and leaves as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/runtime.hpp"

namespace xtune {

/// A copy of device memory (host backend: of this process's memory), once what is queued in its context has ended.
/// Throws Error(invalid_argument) that names the argument for a pointer that is none of the backend's and for one with
/// fewer bytes behind it; Error(unavailable) where the driver is not there.
std::vector<std::byte> read_application_memory(const std::string& backend, const std::string& argument,
                                               const void* pointer, std::size_t bytes);

/// The device that is current on this thread; nullopt: none is, or the backend's driver is not there.
std::optional<int> current_device(const std::string& backend);

/// Makes current again on destruction what was current on this thread before.
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
