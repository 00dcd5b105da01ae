// The table of backends, from backends.def.
#include "core/device/backend_facts.hpp"

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::device {
namespace {

constexpr BackendFacts table[] = {
#define BACKEND(name, built_in, source, vendor, memory, compiler) \
  {#name, (built_in) != 0, SourceKind::source, vendor, ArgumentMemory::memory, CompilerKind::compiler},
#include "core/device/backends.def"
#undef BACKEND
};

}  // namespace

std::span<const BackendFacts> all_backends() noexcept { return table; }

const BackendFacts* find_backend_facts(std::string_view name) noexcept {
  for (const BackendFacts& facts : table)
    if (name == facts.name) return &facts;
  return nullptr;
}

const BackendFacts& require_backend(std::string_view name) {
  const BackendFacts* const facts = find_backend_facts(name);
  if (facts && facts->built_in) return *facts;
  if (facts)
    throw Error(ErrorKind::unsupported,
                "backend '" + std::string(name) +
                    "' is not in this build: its headers were missing when xtune was configured; "
                    "the summary of `cmake --preset dev` says how to get it");
  if (name == "replay")
    throw Error(
        ErrorKind::invalid_argument,
        "backend 'replay' serves recordings to `xtune run`: it has no compiler and no device for anything else");
  std::vector<std::string> names;
  std::string known;
  for (const BackendFacts& each : table) {
    names.emplace_back(each.name);
    known += names.back() + ", ";
  }
  throw Error(ErrorKind::invalid_argument, "unknown backend '" + std::string(name) + "'" +
                                               base::did_you_mean(name, names) + "; known: " + known +
                                               "auto, and for `xtune run` replay");
}

std::vector<std::string> backends_of(SourceKind source) {
  std::vector<std::string> names;
  for (const BackendFacts& facts : table)
    if (facts.source == source) names.emplace_back(facts.name);
  return names;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendFacts& facts : table)
    if (facts.built_in && facts.source == SourceKind::cuda_cpp) names.emplace_back(facts.name);
  return names;
}

std::string backend_of_vendor(std::string_view vendor) {
  for (const BackendFacts& facts : table)
    if (vendor == facts.vendor) return facts.name;
  return "host";
}

std::string compiler_name(std::string_view fingerprint) {
  std::string_view name = fingerprint.substr(0, fingerprint.find(", parts "));
  constexpr std::size_t shortest_digest = 8;
  const std::size_t last = name.rfind(' ');
  if (last != std::string_view::npos && name.size() - last > shortest_digest &&
      name.find_first_not_of("0123456789abcdef", last + 1) == std::string_view::npos)
    name = name.substr(0, last);
  return std::string(name);
}

}  // namespace xtune::device
