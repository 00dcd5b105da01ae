// The hashed texts are assembled from pieces, each with the parameters that it depends on.
#include "core/resolve/measurement_keys.hpp"

#include <algorithm>

#include "base/named.hpp"
#include "core/resolve/resolve_state.hpp"

namespace xtune::resolve {
namespace {

std::string part_text(const std::string& name, const std::string& value) {
  return build::canonical_list({name, value});
}

/// An item of a list whose text is a key's part, as it stands in the key's text between \".
std::string quoted_item(const std::string& item) {
  constexpr std::size_t quotes = 5;  // ["[\" and \"]"]
  const std::string list = build::canonical_list({build::canonical_list({item})});
  return list.substr(quotes, list.size() - 2 * quotes);
}

}  // namespace

MeasurementKeys::MeasurementKeys(const CandidateResolver& resolver) : resolver_(resolver) {
  const CandidateResolver::State& state = *resolver.state_;
  const std::vector<space::Parameter>& parameters = state.space.parameters();
  const bool is_program = state.spec.process != nullptr;
  std::vector<bool> in_templates(parameters.size(), is_program);
  for (const CompiledStep& step : state.steps) {
    add_named({step.entry}, in_templates);
    if (step.when) add_named({*step.when}, in_templates);
    if (step.repeat) add_named({*step.repeat}, in_templates);
  }
  add_named(state.options, in_templates);
  add_named(state.controls, in_templates);
  add_named(state.defines, in_templates);
  for (const ArgumentText& variable : state.variables) add_named({variable.text}, in_templates);
  defines_.only = std::find(in_templates.begin(), in_templates.end(), true) == in_templates.end() && !is_program;
  std::vector<bool> in_artifact = in_templates, at_runtime(parameters.size()), in_scalars(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) (parameters[i].compile_time ? in_artifact : at_runtime)[i] = true;
  for (const ValueTexts& value : state.by_value) add_named(value.all(), in_scalars);
  std::vector<bool> in_launch = in_templates;  // if one of these has no value, the launch's text reports it
  for (const ValueTexts& value : state.by_value) add_named(value.all(), in_launch);
  for (const CompiledStep& step : state.steps) add_named(step.launch_texts(), in_launch);
  for (const ScratchTexts& scratch : state.buffers.scratch) add_named(scratch.shape, in_launch);
  for (const TensorMapTexts& map : state.buffers.maps)
    for (const spec::CompiledText* text : map.all()) add_named({*text}, in_launch);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (at_runtime[i]) runtime_items_.emplace_back(parameters[i].name, i);
  std::sort(runtime_items_.begin(), runtime_items_.end());
  for (auto& [before, parameter] : runtime_items_) before = quoted_item(before + "=");
  set(artifact_, in_artifact), set(runtime_, at_runtime), set(scalars_, in_scalars), set(launch_, in_launch);
}

void MeasurementKeys::add_named(const std::vector<spec::CompiledText>& texts, std::vector<bool>& used) const {
  const std::vector<space::Parameter>& parameters = resolver_.state_->space.parameters();
  for (const spec::CompiledText& text : texts)
    for (const std::string& name : text.names())
      if (const auto* parameter = base::find_named(parameters, name))
        used[static_cast<std::size_t>(parameter - parameters.data())] = true;
}

void MeasurementKeys::set(Piece& piece, const std::vector<bool>& used) {
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) piece.parameters.push_back(i);
}

const std::string& MeasurementKeys::text_of(Piece& piece, const space::Config& config,
                                            const std::function<std::string()>& make) {
  const auto value_of = [&](std::size_t parameter) -> const Value& { return config[parameter]; };
  if (piece.known && std::ranges::equal(piece.parameters, piece.values, {}, value_of)) return piece.text;
  piece.known = false;
  piece.text = make();
  piece.values.clear();
  for (const std::size_t parameter : piece.parameters) piece.values.push_back(config[parameter]);
  piece.known = true;
  return piece.text;
}

bool MeasurementKeys::any(const space::Config& config, const std::function<bool(const base::Sha256&)>& visit) {
  CandidateResolver::State& state = *resolver_.state_;
  const std::string& base = text_of(artifact_, config, [&] { return artifact_key(config); });
  int changes = 0;
  {
    const std::lock_guard lock(state.mutex);
    changes = state.of_reference.changes;
    if (base != base_ || learned_ != state.manifests.learned)
      artifacts_ =
          build::possible_keys(base, state.manifests.of(state.device.backend, state.sources.tuned.path.string()));
    base_ = base, learned_ = state.manifests.learned;
  }
  if (end_.empty() || changes != reference_changes_) {
    const build::KeyParts parts = resolver_.measurement_key_parts(config, base);
    end_.clear();
    for (std::size_t i = 4; i < parts.size(); ++i) end_ += ',' + part_text(parts[i].first, parts[i].second);
    end_ += ']';
    reference_changes_ = changes;
  }
  text_of(runtime_, config, [&] { return runtime_text(config); });
  text_of(scalars_, config, [&] { return part_text("scalars", state.scalars_part(config)); });
  text_of(launch_, config, [&] { return part_text("launch", resolver_.launch_part(config)); });
  return std::any_of(artifacts_.begin(), artifacts_.end(), [&](const std::string& artifact) {
    buffer_.assign("[[\"artifact\",\"").append(artifact).append("\"],").append(runtime_.text).append(",");
    buffer_.append(scalars_.text).append(",").append(launch_.text).append(end_);
    return visit(base::sha256_bytes(buffer_));
  });
}

/// part_text of the part "runtime". For a search in a large store most of a key's time would go into quoting it.
std::string MeasurementKeys::runtime_text(const space::Config& config) const {
  std::string text = "[\"runtime\",\"[";
  for (const auto& [before, parameter] : runtime_items_) {
    const Value& value = config[parameter];
    text.append(text.ends_with('[') ? "\\\"" : ",\\\"").append(before);
    text += std::holds_alternative<std::string>(value) ? quoted_item(typed_text(value)) : to_text(value);
    text += "\\\"";
  }
  return text + "]\"]";
}

std::string MeasurementKeys::artifact_key(const space::Config& config) {
  if (!defines_.before.empty()) return defines_key(config);
  CandidateResolver::State& state = *resolver_.state_;
  const build::CompileRequest request = resolver_.compile_request(config);
  const build::KeyParts parts =
      build::artifact_key_parts(request, state.device.backend, state.toolchain, state.read(request).digest);
  // If the includes depend on definitions, so does the source's digest.
  if (defines_.only && state.computing.empty() && parts.size() >= 8 && parts[6].first == "defines") {
    for (std::size_t i = 0; i < 6; ++i) defines_.before += (i ? "," : "[") + part_text(parts[i].first, parts[i].second);
    for (std::size_t i = 7; i < parts.size(); ++i) defines_.after += ',' + part_text(parts[i].first, parts[i].second);
    defines_.after += ']';
    const auto fixed = request.defines.end() - static_cast<std::ptrdiff_t>(state.defines.size());
    defines_.fixed.assign(fixed, request.defines.end());
  }
  return build::key_of(parts);
}

std::string MeasurementKeys::defines_key(const space::Config& config) {
  const std::vector<space::Parameter>& parameters = resolver_.state_->space.parameters();
  std::vector<std::string> defines;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].compile_time) defines.push_back(parameters[i].name + "=" + space::to_define(config[i]));
  for (const auto& [name, value] : defines_.fixed) defines.push_back(name + "=" + value);
  return base::sha256(defines_.before + ',' + part_text("defines", build::canonical_list(defines)) + defines_.after);
}

}  // namespace xtune::resolve
