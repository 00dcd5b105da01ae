// Comments stand behind what they speak of, so that a line can be taken over or changed by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/outline/draft_model.hpp"
#include "core/spec/toml_text.hpp"

namespace xtune::outline {

namespace {

std::string with_comment(const std::string& line, const std::string& comment) {
  return comment.empty() ? line + "\n" : fmt::format("{}  # {}\n", line, comment);
}

std::string list_text(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(spec::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string parameter_text(const DraftParameter& parameter) {
  const std::string values = spec::toml_list(parameter.values);
  std::string line = parameter.commented_out ? "# " : "";
  line += parameter.name + " = ";
  line += parameter.compile_time ? values : fmt::format("{{ values = {}, compile_time = false }}", values);
  return with_comment(line, parameter.comment);
}

std::string space_text(const DraftModel& model) {
  std::string text;
  if (!model.constraints.empty()) text += "\n[space]\nconstraints = " + list_text(model.constraints) + "\n";
  text += model.constraints.empty() ? "\n[space.params]\n" : "[space.params]\n";
  for (const DraftParameter& parameter : model.parameters) text += parameter_text(parameter);
  return text;
}

std::string problem_text(const DraftModel& model) {
  if (model.sizes.empty()) return "";
  std::string text = "\n[problem]\n", host;
  for (const DraftSize& size : model.sizes) {
    text += with_comment(size.name + " = " + size.value, size.comment);
    if (!size.host_value.empty()) host += size.name + " = " + size.host_value + "\n";
  }
  if (!host.empty()) text += "\n# On the CPU, where a kernel takes longer.\n[on.host.problem]\n" + host;
  return text;
}

std::string argument_text(const DraftArgument& argument) {
  std::string text = "\n[[args]]\n";
  text += with_comment("name = " + spec::toml_string(argument.name), argument.comment);
  if (!argument.value.empty()) text += "kind = \"scalar\"\n";
  if (!argument.kind.empty()) text += "kind = " + spec::toml_string(argument.kind) + "\n";
  if (!argument.of.empty())
    return text + "of = " + spec::toml_string(argument.of) + "\n" +
           with_comment("box = " + list_text(argument.box), "guess: swizzle = 128 where the kernel expects it");
  text += "dtype = " + spec::toml_string(argument.dtype) + "\n";
  if (!argument.value.empty()) return text + "value = " + argument.value + "\n";
  text += "shape = " + list_text(argument.shape) + "\n";
  if (argument.role != "in") text += "role = " + spec::toml_string(argument.role) + "\n";
  return text;
}

/// The kernel judges itself until the user has something better.
std::string validate_text(const DraftModel& model) {
  const auto is_output = [](const DraftArgument& argument) {
    return argument.role == "out" || argument.role == "inout";
  };
  if (std::none_of(model.arguments.begin(), model.arguments.end(), is_output)) return "";
  std::vector<std::string> values;
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out && parameter.values.size() > 1)
      values.push_back(parameter.name + " = " + spec::toml_text(parameter.values.front()));
  const std::string simple =
      "# reference = { kernel = \"simple\", source = \"simple.cu\", grid = [\"ceildiv(N, 256)\"], block = [256] }\n";
  if (values.empty())
    return "\n# Nothing checks the results yet. A simple kernel with the same arguments can:\n# [validate]\n" + simple;
  return "\n[validate]\n# A simple kernel with the same arguments finds more mistakes:\n" + simple +
         with_comment(fmt::format("reference = {{ config = {{ {} }} }}", fmt::join(values, ", ")),
                      "guess: the kernel is right there");
}

}  // namespace

std::string draft_text(const DraftModel& model, const DraftRequest& request) {
  std::string text = fmt::format(
      "# A draft that `xtune init` made from {}. Lines with \"guess\" need a look. Then:\n"
      "#   xtune check {}\n#   xtune run {}\n\n[kernel]\nname = {}\nsource = {}\nentry = {}\n",
      request.source_path, request.spec_path, request.spec_path, spec::toml_string(model.kernel),
      spec::toml_string(request.source_path), spec::toml_string(model.entry));
  if (!model.kernel_args.empty())
    text += with_comment("args = " + list_text(model.kernel_args), "it reads the other arguments through tensor maps");
  for (const std::string& note : model.notes) text += "# " + note + "\n";
  text += problem_text(model);
  text += space_text(model);
  text += "\n[launch]\n" + with_comment("grid = " + list_text(model.grid), model.grid_comment) +
          with_comment("block = " + list_text(model.block), model.block_comment);
  if (!model.shared.empty()) text += with_comment("shared = " + spec::toml_string(model.shared), "guess");
  for (const DraftArgument& argument : model.arguments) text += argument_text(argument);
  text += validate_text(model);
  text += "\n# Shown beside the time:\n# [metrics]\n# GB_per_s = \"2 * 4 * N / time_s / 1e9\"\n";
  return text;
}

}  // namespace xtune::outline
