// A spec's texts as JSON.
#include "cli/export_spec.hpp"

#include "cli/cases.hpp"

namespace xtune::cli {
namespace {

Json texts(const std::vector<spec::Text>& list) {
  Json json = Json::array();
  for (const spec::Text& text : list) json.push_back(text.text);
  return json;
}

Json text(const std::optional<spec::Text>& text) { return text ? Json(text->text) : Json(); }

Json map_json(const spec::TensorMapSpec& map) {
  return {{"of", map.of},
          {"box", texts(map.box)},
          {"shape", texts(map.shape)},
          {"strides", texts(map.strides)},
          {"element_strides", texts(map.element_strides)},
          {"swizzle", text(map.swizzle)},
          {"l2_promotion", text(map.l2_promotion)},
          {"interleave", text(map.interleave)},
          {"tf32", map.tf32},
          {"nan_outside", map.nan_outside}};
}

Json argument_json(const spec::ArgSpec& argument) {
  return {{"name", argument.name},
          {"kind", spec::kind_words.of(argument.kind)},
          {"role", spec::role_words.of(argument.role)},
          {"dtype", argument.dtype_text ? argument.dtype_text->text : std::string(to_string(argument.dtype))},
          {"dtypes", Json::array()},
          {"shape", texts(argument.shape)},
          {"zero", argument.fill == Fill::zero},
          {"value", text(argument.value)},
          {"call_value", text(argument.call_value)},
          {"when", text(argument.when)},
          {"transposed", argument.transposed},
          {"sum_of", argument.sum_of},
          {"map", argument.map ? map_json(*argument.map) : Json()}};
}

Json step_json(const spec::Spec& spec, const spec::StepSpec& step) {
  Json json{{"entry", step.entry.text},
            {"when", text(step.when)},
            {"grid", texts(step.launch.grid)},
            {"block", texts(step.launch.block)},
            {"cluster", texts(step.launch.cluster)},
            {"shared", text(step.launch.shared)},
            {"cooperative", step.launch.cooperative},
            {"args", Json::array()},
            {"repeat", nullptr},
            {"with", Json::array()}};
  for (const spec::ArgSpec* argument : spec::arguments_of(spec, step.args)) json["args"].push_back(argument->name);
  if (step.repeat) json["repeat"] = {{"index", step.repeat->index}, {"count", step.repeat->count.text}};
  for (const auto& [name, value] : step.with) json["with"].push_back(Json::array({name, value.text}));
  return json;
}

}  // namespace

void require_exportable(const std::string& path, const spec::Spec& spec, const run::Target& target) {
  require_more_than_space(path, spec, "export");
  const auto refuse = [&](const std::string& why) { throw Error(ErrorKind::unsupported, path + ": " + why); };
  if (spec.process || spec.replays()) refuse("a program or a replay has no kernel that a library could launch");
  if (spec.for_kokkos()) refuse("a Kokkos unit is compiled with the application's Kokkos, not exported");
  if (spec.configs) refuse("the space is a list of configurations, and a library needs constraints to judge them");
  if (target.backend.name != "host") return;
  for (const spec::StepSpec& step : spec::steps_of(spec))
    if (!step.launch.cluster.empty() || step.launch.cooperative)
      refuse("clusters and cooperative launches are exported only for GPUs; on a CPU only xtune has them");
  for (const spec::ArgSpec& argument : spec.args)
    if (argument.kind == spec::ArgKind::tensor_map)
      refuse("tensor maps are exported only for GPUs; on a CPU only xtune has them");
}

Json exported_spec(const spec::Spec& spec, const std::string& backend) {
  Json json{{"kernel", spec.kernel.name}, {"parameters", Json::array()},
            {"derived", Json::object()},  {"constraints", texts(spec.constraints)},
            {"defines", Json::array()},   {"options", texts(spec.kernel.options)},
            {"args", Json::array()},      {"steps", Json::array()}};
  for (const space::Parameter& parameter : spec.parameters) json["parameters"].push_back(parameter.name);
  if (spec.derived)
    for (const auto& [name, expression] : *spec.derived) json["derived"][name] = expression.text();
  for (const auto& [name, value] : spec.kernel.defines) json["defines"].push_back(Json::array({name, value.text}));
  if (const auto own = spec.kernel.backend_options.find(backend); own != spec.kernel.backend_options.end())
    for (const spec::Text& option : own->second) json["options"].push_back(option.text);
  if (spec.kernel.controls) json["options"].push_back(spec.kernel.controls->text);
  for (const spec::ArgSpec& argument : spec.args) json["args"].push_back(argument_json(argument));
  for (const spec::StepSpec& step : spec::steps_of(spec)) json["steps"].push_back(step_json(spec, step));
  return json;
}

}  // namespace xtune::cli
