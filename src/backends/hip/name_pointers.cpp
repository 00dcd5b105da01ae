// Pointers to names, and what their relocations and the compiler's errors say about the names.
#include "backends/hip/name_pointers.hpp"

#include <fmt/core.h>

#include <charconv>

#include "backends/gpu/elf_symbols.hpp"
#include "xtune/outcome.hpp"

namespace xtune::hip {
namespace {

std::string pointer_name(std::size_t number) { return fmt::format("xtune_name_{}", number); }

}  // namespace

std::string pointers_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format(
        "\n# {0} \"<name>\"\n"
        "extern \"C\" __attribute__((device, used)) const void* {1} = (const void*)&{2}; "
        "__attribute__((used)) static const void* {1}_on_host = (const void*)&{2};\n",
        i + 1, pointer_name(i), names[i]);
  return text;
}

std::string wrong_name(const std::vector<std::string>& names, const build::CompileRequest& request,
                       std::string_view error) {
  constexpr std::string_view place = "<name>:", label = "error: ";
  if (!error.starts_with(place)) return {};
  std::size_t number = 0;
  std::from_chars(error.data() + place.size(), error.data() + error.size(), number);
  if (number < 1 || number > names.size()) return {};
  const bool is_entry = number + request.variables.size() <= names.size();
  const std::size_t reason = error.find(label);
  return fmt::format("{} '{}' names no {} of {}: {}", is_entry ? "entry" : "constant", names[number - 1],
                     is_entry ? "kernel" : "variable", request.source_name,
                     reason == error.npos ? error : error.substr(reason + label.size()));
}

std::vector<std::string> lowered_names(const std::vector<std::string>& names, const build::Artifact& artifact,
                                       const build::CompileRequest& request) {
  std::vector<std::string> symbols;
  for (const std::string& name : names) {
    const auto symbol = gpu::symbol_pointed_to(artifact.image, pointer_name(symbols.size()));
    if (!symbol)
      throw build::CandidateFailure(
          Outcome::compile_failed,
          fmt::format("the code object for {} exports no '{}' of {}: some compilers export nothing of an anonymous "
                      "namespace, so move it out",
                      artifact.arch, name, request.source_name),
          artifact.log);
    symbols.push_back(*symbol);
  }
  return symbols;
}

}  // namespace xtune::hip
