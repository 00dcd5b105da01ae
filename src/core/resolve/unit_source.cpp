#include "core/resolve/unit_source.hpp"

#include <filesystem>

#include "core/build/device_unit.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/tokens.hpp"
#include "core/init/signature.hpp"

namespace xtune::resolve {

namespace {

/// What the spec names of a source: kernels by their places, and every other word as code.
build::UnitRoots roots_of(const spec::Spec& spec, const std::filesystem::path& path) {
  build::UnitRoots roots;
  const auto add = [&](const std::string& code) { roots.text += code + ";\n"; };
  const auto add_entry = [&](const std::string& entry) {
    roots.entries.insert(build::unqualified_name(entry));
    add(entry);
  };
  const spec::ReferenceSpec& reference = spec.validate.reference;
  const bool has_reference = reference.kind == spec::ReferenceSpec::Kind::kernel && !reference.config;
  if (path == spec.kernel.source)
    for (const spec::StepSpec& step : spec::steps_of(spec)) add_entry(step.entry.text);
  if (has_reference && (path == reference.source || reference.source.empty())) add_entry(reference.name);
  for (const auto& [name, value] : spec.kernel.defines) roots.text += "#define " + name + " " + value.text + "\n";
  std::vector<spec::Text> options = spec.kernel.options;
  options.insert(options.end(), reference.options.begin(), reference.options.end());
  for (const auto& [backend, own] : spec.kernel.backend_options) options.insert(options.end(), own.begin(), own.end());
  for (const spec::Text& option : options) add(option.text);
  for (const spec::ArgSpec& argument : spec.args)
    if (argument.symbol) add(argument.symbol->text);
  for (const space::Parameter& parameter : spec.parameters)
    for (const Value& value : parameter.values)
      if (std::holds_alternative<std::string>(value)) add(to_text(value));
  return roots;
}

/// None where they are a library: reading it would take longer than compiling it.
std::map<std::string, std::string> headers_of(const spec::Spec& spec, const spec::SourceText& source) try {
  constexpr std::size_t max_bytes = std::size_t{1} << 20;
  std::map<std::string, std::string> texts;
  std::size_t bytes = 0;
  if (auto headers = init::user_headers(source, spec.kernel))
    for (auto& [header, scanned] : headers->files) {
      bytes += scanned.text.size();
      if (bytes > max_bytes || !scanned.scan.unknown.empty()) return {};
      texts[header.string()] = std::move(scanned.text);
    }
  return texts;
} catch (const Error&) {  // the key's reader reports it
  return {};
}

}  // namespace

UnitSource unit_source(const spec::Spec& spec, const std::filesystem::path& path, bool whole) {
  UnitSource unit{spec::read_source(spec, path)};
  unit.text = build::without_byte_order_mark(unit.text);
  if (spec.process || spec.for_kokkos() || whole) return unit;
  build::DeviceUnit cut = build::device_unit(unit.text, headers_of(spec, unit), roots_of(spec, path));
  if (cut.source != unit.text) unit.text = build::without_traces(unit.text, cut.source);
  unit.headers = std::move(cut.headers);
  unit.left_out = std::move(cut.left_out);
  return unit;
}

}  // namespace xtune::resolve
