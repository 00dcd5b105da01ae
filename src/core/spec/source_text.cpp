// A text in the spec counts its lines as the spec's file does, so that compilers' messages lead there.
#include "core/spec/source_text.hpp"

#include "base/files.hpp"

namespace xtune::spec {

SourceText read_source(const Spec& spec, const std::filesystem::path& path) {
  if (!spec.kernel.code || path != spec.kernel.source) return {path, base::read_file(path)};
  const Text& code = *spec.kernel.code;
  return {path, code.text, code.escaped || code.at.line == 0 ? 1 : code.at.line};
}

}  // namespace xtune::spec
