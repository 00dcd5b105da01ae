// The table of backends, from backends.def.
#include "core/device/backend_facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::device {
namespace {

constexpr BackendFacts table[] = {
#define BACKEND(name, built_in, source, vendor, memory, compiler, compilers) \
  {#name, (built_in) != 0, SourceKind::source, vendor, ArgumentMemory::memory, CompilerKind::compiler, compilers},
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
                                               "auto, gpu, and for `xtune run` replay");
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

bool is_choice(std::string_view name) noexcept { return name == "auto" || name == "gpu"; }

std::vector<std::string> backends_for(std::string_view choice) {
  if (!is_choice(choice)) return {require_backend(choice).name};
  std::vector<std::string> names = backend_names();
  if (choice == "gpu")
    std::erase_if(names,
                  [](const std::string& name) { return find_backend_facts(name)->vendor == std::string("cpu"); });
  return names;
}

std::string backend_of_vendor(std::string_view vendor) {
  for (const BackendFacts& facts : table)
    if (vendor == facts.vendor) return facts.name;
  return "host";
}

std::vector<std::string> compilers_of(std::string_view backend) {
  const BackendFacts* const facts = find_backend_facts(backend);
  std::istringstream words(facts ? facts->compilers : "");
  std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
  for (std::string& name : names) name.erase(0, name.starts_with('+') ? 1 : 0);
  return names;
}

bool takes_programs(std::string_view backend, std::string_view fingerprint) {
  const BackendFacts* const facts = find_backend_facts(backend);
  const std::string name = compiler_of(backend, fingerprint);
  return facts && !name.empty() && std::string_view(facts->compilers).find("+" + name) != std::string_view::npos;
}

std::string compiler_of(std::string_view backend, std::string_view fingerprint) {
  for (const std::string& name : compilers_of(backend))
    if (fingerprint.starts_with(name + " ")) return name;
  return {};
}

void require_compiler(std::string_view backend, const std::string& compiler) {
  if (compiler.empty() || compiler == "auto") return;
  std::vector<std::string> names;
  std::string known;
  for (const BackendFacts& facts : table) {
    const std::vector<std::string> own = compilers_of(facts.name);
    if ((is_choice(backend) || backend == facts.name) && std::find(own.begin(), own.end(), compiler) != own.end())
      return;
    for (const std::string& name : own) {
      known += fmt::format("{} (backend {}), ", name, facts.name);
      names.push_back(name);
    }
  }
  const std::string word = base::printable(compiler, 80);
  if (std::find(names.begin(), names.end(), compiler) != names.end())
    throw Error(ErrorKind::invalid_argument, fmt::format("compiler '{}' is not one of backend {}; known: {}auto", word,
                                                         base::printable(std::string(backend), 80), known));
  throw Error(ErrorKind::invalid_argument,
              fmt::format("unknown compiler '{}'{}; known: {}auto", word, base::did_you_mean(compiler, names), known));
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
