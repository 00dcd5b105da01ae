// Making backends, by backends.def.
#include "backends/backend.hpp"

#include "core/device/backend_facts.hpp"

namespace xtune {

#define BACKEND(name, factory, ...) std::unique_ptr<Backend> factory();
#include "core/device/backends.def"
#undef BACKEND

namespace {

using Factory = std::unique_ptr<Backend> (*)();

struct Entry {
  const char* name;
  Factory factory;
};

// The factory of a backend that is left out of this build does not exist.
const Entry entries[] = {
#define XTUNE_FACTORY_1(factory) factory
#define XTUNE_FACTORY_0(factory) nullptr
#define XTUNE_FACTORY_PASTE(built_in, factory) XTUNE_FACTORY_##built_in(factory)
#define XTUNE_FACTORY(built_in, factory) XTUNE_FACTORY_PASTE(built_in, factory)
#define BACKEND(name, factory, built_in, ...) {name, XTUNE_FACTORY(built_in, factory)},
#include "core/device/backends.def"
#undef BACKEND
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name) {
  const BackendFacts& facts = require_backend(name);
  for (const Entry& entry : entries)
    if (facts.name == std::string_view(entry.name)) return entry.factory();
  return nullptr;  // both lists are backends.def
}

}  // namespace xtune
