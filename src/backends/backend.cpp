// Making backends, by backends.def.
#include "backends/backend.hpp"

#include <algorithm>

#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"
#include "system/dynamic_library.hpp"

#define BACKEND(name, ...)                          \
  namespace xtune::name {                           \
  std::unique_ptr<backend::Backend> make_backend(); \
  }
#include "core/device/backends.def"
#undef BACKEND

namespace xtune::backend {
namespace {

using Factory = std::unique_ptr<Backend> (*)();

struct Entry {
  const char* name;
  Factory factory;
};

// There is no factory for a backend that is not part of this build.
const Entry entries[] = {
#define XTUNE_FACTORY_1(name) xtune::name::make_backend
#define XTUNE_FACTORY_0(name) nullptr
#define XTUNE_FACTORY_PASTE(built_in, name) XTUNE_FACTORY_##built_in(name)
#define XTUNE_FACTORY(built_in, name) XTUNE_FACTORY_PASTE(built_in, name)
#define BACKEND(name, built_in, ...) {#name, XTUNE_FACTORY(built_in, name)},
#include "core/device/backends.def"
#undef BACKEND
};

}  // namespace

std::unique_ptr<build::Toolchain> open_toolchain(Backend& backend, const std::string& compiler,
                                                 const std::string& arch) {
  if (!compiler.empty()) return backend.open_compiler(compiler);
  const std::vector<std::string> names = device::compilers_of(backend.name());
  if (names.empty()) return backend.open_toolchain();
  std::unique_ptr<build::Toolchain> first;
  std::string reasons;
  bool installed = false;
  for (const std::string& name : names) try {
      std::unique_ptr<build::Toolchain> toolchain = backend.open_compiler(name);
      if (device::knows_arch(toolchain->archs(), arch)) return toolchain;
      if (!first) first = std::move(toolchain);
    } catch (const Error& error) {
      reasons += (reasons.empty() ? "" : "; ") + name + ": " + error.what();
      installed = installed || dynamic_cast<const system::NotInstalled*>(&error) == nullptr;
    }
  if (first) return first;
  if (installed) throw Error(ErrorKind::unavailable, reasons);
  throw system::NotInstalled(reasons);
}

std::unique_ptr<Backend> make_backend(std::string_view name) {
  const device::BackendFacts& facts = device::require_backend(name);
  for (const Entry& entry : entries)
    if (facts.name == std::string_view(entry.name)) return entry.factory();
  return nullptr;  // both lists come from backends.def
}

}  // namespace xtune::backend
