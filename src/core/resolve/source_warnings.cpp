// Definitions and uses of parameters are searched in the source and in the headers that it includes.
#include "core/resolve/source_warnings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/unread_headers.hpp"
#include "core/init/signature.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"

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
  for (const spec::StepSpec& step : spec::steps_of(spec)) {
    names.merge(spec::names_in(step.launch));
    names.merge(spec::CompiledText::template_text(step.entry).names());
    if (step.when) names.merge(spec::CompiledText::expression(*step.when).names());
    if (step.repeat) names.merge(spec::CompiledText::expression(step.repeat->count).names());
    for (const auto& [name, value] : step.with) names.merge(spec::CompiledText::expression(value).names());
  }
  for (const spec::ArgSpec& argument : spec.args) names.merge(spec::names_in(argument));
  for (const spec::ArgSpec& argument : spec.args)
    if (argument.symbol) names.merge(spec::CompiledText::template_text(*argument.symbol).names());
  std::vector<spec::Text> texts = spec.kernel.options;
  for (const auto& [backend, options] : spec.kernel.backend_options)
    texts.insert(texts.end(), options.begin(), options.end());
  if (spec.kernel.controls) texts.push_back(*spec.kernel.controls);
  for (const auto& [name, text] : spec.kernel.defines) texts.push_back(text);
  for (const spec::Text& text : texts) names.merge(spec::CompiledText::template_text(text).names());
  return names;
}

/// The words of the source and of its headers; nullopt: it makes names up, by ## or by macros in
/// #include, or options include more.
std::optional<Names> words_in(const build::SourceScan& own, const std::optional<init::UserHeaders>& headers) {
  bool computes = own.computes_names || !headers;
  Names words(own.words.begin(), own.words.end());
  if (headers)
    for (const auto& [path, header] : headers->files) {
      computes = computes || header.scan.computes_names;
      words.insert(header.scan.words.begin(), header.scan.words.end());
    }
  return computes ? std::nullopt : std::optional(std::move(words));
}

void warn_of_missing(const spec::Location& at, const std::string& what, const std::string& entry,
                     const spec::SourceText& source, const std::optional<Names>& words,
                     std::vector<std::string>& warnings) {
  const std::string name = build::unqualified_name(entry);
  if (!words || name.find('{') != std::string::npos || words->contains(name)) return;
  warnings.push_back(fmt::format("{}: {} '{}' is not in {}{}", spec::to_string(at), what, base::printable(name, 80),
                                 source.path.filename().string(),
                                 base::did_you_mean(name, {words->begin(), words->end()})));
}

/// A program that is not there, or a script for one that is not. words: those before the first that depends on the
/// configuration or the problem. whose: "the validator's".
void warn_of_command(const std::string& whose, const std::vector<std::string>& words, const spec::Location& at,
                     const std::filesystem::path& folder, std::vector<std::string>& warnings) {
  if (words.empty()) return;
  if (system::find_program(words[0], folder).empty())
    warnings.push_back(fmt::format(
        "{}: {} program '{}' is not {}", spec::to_string(at), whose, base::printable(words[0], 80),
        words[0].find('/') == std::string::npos ? "in PATH"
                                                : "an executable file (paths are relative to the spec's directory)"));
  static const std::set<std::string, std::less<>> readers{"bash", "node", "perl",    "python", "python3",
                                                          "ruby", "sh",   "Rscript", "julia"};
  if (words.size() < 2 || !readers.contains(std::filesystem::path(words[0]).filename().string())) return;
  std::error_code ignored;
  if (!words[1].starts_with('-') && !std::filesystem::exists(folder / words[1], ignored))
    warnings.push_back(fmt::format("{}: {} file '{}' does not exist (paths are relative to the spec's directory)",
                                   spec::to_string(at), whose, base::printable(words[1], 80)));
}

std::vector<std::string> plain_words(const std::vector<spec::Text>& command) {
  std::vector<std::string> words;
  for (const spec::Text& word : command) {
    if (word.text.find_first_of("{}") != std::string::npos) break;
    words.push_back(word.text);
  }
  return words;
}

void warn_of_program(const spec::Spec& spec, std::vector<std::string>& warnings) {
  const spec::ProcessSpec& process = *spec.process;
  const std::pair<const char*, const spec::ProcessCommand*> commands[] = {
      {"exec_prefix's", &process.exec_prefix}, {"the run's", &process.run}, {"validate's", &process.check}};
  for (const auto& [whose, command] : commands) {
    std::vector<spec::Text> words;
    for (const spec::CommandWord& word : command->words) words.push_back(word.text().source());
    std::vector<std::string> plain = plain_words(words);
    if (command->shell) continue;
    if (process.build.given() && plain.size() > 1) plain.resize(1);  // it may make the script
    warn_of_command(whose, plain, command->at, process.folder, warnings);
  }
}

void warn_of_reference(const spec::Spec& spec, const std::optional<Names>& kernel_words,
                       std::vector<std::string>& warnings) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  if (reference.kind == spec::ReferenceSpec::Kind::kernel && !reference.config) {
    const spec::SourceText source = spec::read_source(spec, reference.source);
    const bool own = reference.source != spec.kernel.source && kernel_words;
    warn_of_missing(
        reference.at, "the reference kernel", reference.name, source,
        own ? words_in(build::scan_source(source.text), init::user_headers(source, spec.kernel)) : kernel_words,
        warnings);
  }
  const std::filesystem::path folder = spec.path.parent_path();
  if (reference.kind == spec::ReferenceSpec::Kind::command)
    warn_of_command("the reference command's", plain_words(reference.command), reference.command.front().at, folder,
                    warnings);
  if (!spec.validate.check.empty())
    warn_of_command("the validator's", plain_words(spec.validate.check), spec.validate.check.front().at, folder,
                    warnings);
}

}  // namespace

std::vector<std::string> source_warnings(const spec::Spec& spec) {
  std::vector<std::string> warnings;
  if (spec.process) warn_of_program(spec, warnings);
  if (spec.process || spec.kernel.source.empty()) return warnings;
  const spec::SourceText source = spec::read_source(spec, spec.kernel.source);
  const build::SourceScan scan = build::scan_source(source.text);
  const std::optional<init::UserHeaders> headers =
      spec.for_kokkos() ? std::nullopt : init::user_headers(source, spec.kernel);
  if (headers) warnings = build::missing_lines(headers->missing, headers->searched);
  const std::optional<Names> words = words_in(scan, headers);
  for (const spec::StepSpec& step : spec::steps_of(spec))
    warn_of_missing(step.entry.at, "the kernel", step.entry.text, source, words, warnings);
  warn_of_reference(spec, words, warnings);
  const Names names = names_in_texts(spec);
  for (std::size_t i = 0; i < spec.parameters.size() && words; ++i)
    if (const std::string& name = spec.parameters[i].name; !words->contains(name) && !names.contains(name))
      warnings.push_back(
          fmt::format("{}: neither the source nor launch, arguments or options name {}: its values give "
                      "the same kernel",
                      spec::to_string(spec.parameters_at[i]), name));
  std::vector<std::pair<std::string, build::SourceScan>> files{{spec.kernel.source.filename().string(), scan}};
  if (headers)
    for (const auto& [path, header] : headers->files) files.emplace_back(path.filename().string(), header.scan);
  for (const space::Parameter& parameter : spec.parameters)
    for (const auto& [file, scanned] : files) {
      const std::string& name = parameter.name;
      const auto replaced = std::find_if(
          scanned.macros.begin(), scanned.macros.end(),
          [&](const build::MacroLine& macro) { return !macro.conditional && begins_with(macro.text, name); });
      if (!parameter.compile_time || replaced == scanned.macros.end()) continue;
      const std::size_t before = &scanned == &files.front().second ? source.first_line - 1 : 0;
      warnings.push_back(fmt::format(
          "{}:{}: {} is a parameter of the spec, and this #define replaces its value: put it between #ifndef {} and "
          "#endif",
          file, before + replaced->line, name, name));
    }
  return warnings;
}

}  // namespace xtune::resolve
