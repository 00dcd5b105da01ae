// The registry of backends, from backends.def.
#include "backends/backend.hpp"

#include "base/text.hpp"
#include "xtune/error.hpp"

#ifndef XTUNE_HAS_CUDA
#define XTUNE_HAS_CUDA 0
#endif
#ifndef XTUNE_HAS_HIP
#define XTUNE_HAS_HIP 0
#endif

namespace xtune {

#define BACKEND(name, factory, built_in) std::unique_ptr<Backend> factory();
#define OF_ITS_OWN(name, factory) std::unique_ptr<Backend> factory();
#include "backends/backends.def"
#undef BACKEND
#undef OF_ITS_OWN

namespace {

using Factory = std::unique_ptr<Backend> (*)();

struct Entry {
  const char* name;
  Factory factory;  // nullptr: left out of this build
  bool is_for_all;  // whether it takes kernels in the languages that the others take
};

const Entry entries[] = {
#define BACKEND(name, factory, built_in) {name, XTUNE_FACTORY(built_in, factory), true},
#define OF_ITS_OWN(name, factory) {name, factory, false},
#define XTUNE_FACTORY_1(factory) factory
#define XTUNE_FACTORY_0(factory) nullptr
#define XTUNE_FACTORY_PASTE(built_in, factory) XTUNE_FACTORY_##built_in(factory)
#define XTUNE_FACTORY(built_in, factory) XTUNE_FACTORY_PASTE(built_in, factory)
#include "backends/backends.def"
#undef BACKEND
#undef OF_ITS_OWN
};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries)
    if (entry.factory && entry.is_for_all) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Backend> make_backend(std::string_view name) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (name == entry.name) {
      if (entry.factory) return entry.factory();
      throw Error(ErrorKind::unsupported,
                  "backend '" + std::string(name) +
                      "' is not in this build: its headers were missing when xtune was configured; "
                      "the summary of `cmake --preset dev` says how to get it");
    }
    known.emplace_back(entry.name);
  }
  if (name == "replay")
    throw Error(
        ErrorKind::invalid_argument,
        "backend 'replay' serves recordings to `xtune run`: it has no compiler and no device for anything else");
  throw Error(ErrorKind::invalid_argument, "unknown backend '" + std::string(name) + "'" + did_you_mean(name, known) +
                                               "; known: cuda, hip, host, kokkos, auto, and for `xtune run` replay");
}

}  // namespace xtune
