// Finds definitions of parameters in the source itself; headers are not looked at.
#include "core/resolve/source_warnings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "base/files.hpp"
#include "core/build/include_scan.hpp"

namespace xtune::resolve {
namespace {

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// Whether the text begins with the name, as a word.
bool begins_with(std::string_view text, std::string_view name) {
  text = without_blanks(text);
  if (!text.starts_with(name)) return false;
  const char next = text.size() > name.size() ? text[name.size()] : ' ';
  return std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_';
}

/// The line of the first #define of the name outside of any #if; 0: none.
std::size_t definition_line(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  int depth = 0;
  std::size_t number = 1;
  for (std::string whole; std::getline(lines, whole); ++number) {
    std::string_view line = without_blanks(whole);
    if (!line.starts_with('#')) continue;
    line = without_blanks(line.substr(1));
    if (line.starts_with("if")) ++depth;
    if (line.starts_with("endif")) --depth;
    if (depth == 0 && line.starts_with("define") && begins_with(line.substr(6), name)) return number;
  }
  return 0;
}

}  // namespace

std::vector<std::string> source_warnings(const spec::Spec& spec) {
  if (spec.process || spec.kernel.source.empty()) return {};
  const std::string text = base::read_file(spec.kernel.source);
  const std::vector<std::string> macros = build::scan_source(text).macros;
  std::vector<std::string> warnings;
  for (const space::Parameter& parameter : spec.parameters) {
    const std::string& name = parameter.name;
    // The scan knows what is a comment.
    const bool is_defined =
        std::any_of(macros.begin(), macros.end(), [&](const std::string& macro) { return begins_with(macro, name); });
    const std::size_t line = parameter.compile_time && is_defined ? definition_line(text, name) : 0;
    if (line == 0) continue;
    warnings.push_back(fmt::format(
        "{}:{}: {} is a parameter of the spec, and this #define replaces its value: put it between #ifndef {} and "
        "#endif",
        spec.kernel.source.filename().string(), line, name, name));
  }
  return warnings;
}

}  // namespace xtune::resolve
