// Definitions are searched only in the source, uses of parameters also in the headers that it includes.
#include "core/resolve/source_warnings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

#include "base/files.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/source_closure.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::resolve {
namespace {

/// Whether the text begins with the name, as a word.
bool begins_with(std::string_view text, std::string_view name) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.starts_with(name)) return false;
  const char next = text.size() > name.size() ? text[name.size()] : ' ';
  return std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_';
}

using Names = std::set<std::string, std::less<>>;

/// The names in launch, arguments, entry, options and definitions.
Names names_in_texts(const spec::Spec& spec) {
  Names names;
  for (const std::vector<spec::Text>* sizes : {&spec.launch.grid, &spec.launch.block, &spec.launch.cluster})
    for (const spec::Text& size : *sizes) names.merge(spec::CompiledText::expression(size).names());
  if (spec.launch.shared) names.merge(spec::CompiledText::expression(*spec.launch.shared).names());
  for (const spec::ArgSpec& argument : spec.args)
    if (argument.value) names.merge(spec::CompiledText::expression(*argument.value).names());
  names.merge(spec::CompiledText::template_text(spec.kernel.entry).names());
  std::vector<spec::Text> texts = spec.kernel.options;
  for (const auto& [backend, options] : spec.kernel.backend_options)
    texts.insert(texts.end(), options.begin(), options.end());
  for (const auto& [name, text] : spec.kernel.defines) texts.push_back(text);
  for (const spec::Text& text : texts) names.merge(spec::CompiledText::template_text(text).names());
  return names;
}

/// The words of the source and of its headers; nullopt: names may be computed, by ## or by macros in #include.
std::optional<Names> words_in_sources(const spec::Spec& spec, const std::string& text, const build::SourceScan& own) {
  build::CompileRequest request;
  request.source_name = spec.kernel.source.string();
  request.source = text;
  for (const std::filesystem::path& folder : spec.kernel.include_dirs) request.include_dirs.push_back(folder.string());
  build::ScannedFiles headers;
  build::source_closure(request, {}, headers);
  bool computes = own.computes_names;
  Names words(own.words.begin(), own.words.end());
  for (const auto& [path, header] : headers) {
    computes = computes || header.scan.computes_names;
    words.insert(header.scan.words.begin(), header.scan.words.end());
  }
  return computes ? std::nullopt : std::optional(std::move(words));
}

}  // namespace

std::vector<std::string> source_warnings(const spec::Spec& spec) {
  if (spec.process || spec.kernel.source.empty()) return {};
  const std::string text = base::read_file(spec.kernel.source);
  const build::SourceScan scan = build::scan_source(text);
  std::vector<std::string> warnings;
  const std::optional<Names> words = spec.for_kokkos() ? std::nullopt : words_in_sources(spec, text, scan);
  const Names names = names_in_texts(spec);
  for (std::size_t i = 0; i < spec.parameters.size() && words; ++i)
    if (const std::string& name = spec.parameters[i].name; !words->contains(name) && !names.contains(name))
      warnings.push_back(
          fmt::format("{}: neither the source nor launch, arguments or options name {}: its values give "
                      "the same kernel",
                      spec::to_string(spec.parameters_at[i]), name));
  for (const space::Parameter& parameter : spec.parameters) {
    const std::string& name = parameter.name;
    const auto replaced = std::find_if(scan.macros.begin(), scan.macros.end(), [&](const build::MacroLine& macro) {
      return !macro.conditional && begins_with(macro.text, name);
    });
    if (!parameter.compile_time || replaced == scan.macros.end()) continue;
    warnings.push_back(fmt::format(
        "{}:{}: {} is a parameter of the spec, and this #define replaces its value: put it between #ifndef {} and "
        "#endif",
        spec.kernel.source.filename().string(), replaced->line, name, name));
  }
  return warnings;
}

}  // namespace xtune::resolve
