// Uses the backend's runtime, with the error messages of tuning.
#include "api/application_memory.hpp"

#include "backends/backend.hpp"
#include "xtune/error.hpp"

namespace xtune {

std::vector<std::byte> read_application_memory(const std::string& backend, const std::string& argument,
                                               const void* pointer, std::size_t bytes) {
  std::vector<std::byte> copy(bytes);
  if (bytes == 0) return copy;
  try {
    backend::make_backend(backend)->open_runtime()->snapshot(copy.data(), pointer, bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), "the data of '" + argument + "': " + error.what());
  }
  return copy;
}

std::optional<int> current_device(const std::string& backend) try {
  const std::shared_ptr<backend::Runtime> runtime = backend::make_backend(backend)->open_runtime();
  if (runtime->current() == 0) return std::nullopt;
  return runtime->device().index;
} catch (const Error&) {
  return std::nullopt;
}

CurrentContext::CurrentContext(const std::string& backend)
    : runtime_(backend::make_backend(backend)->open_runtime()), context_(runtime_->current()) {}

CurrentContext::~CurrentContext() {
  try {
    runtime_->adopt(context_);
  } catch (const Error&) {  // a kernel that faulted has invalidated the context
  }
}

}  // namespace xtune
