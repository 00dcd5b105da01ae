// [[steps]]: several kernels of the source, launched one after the other.
#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

/// The arguments that kernels take.
std::vector<std::string> kernel_arguments(const Spec& spec) {
  std::vector<std::string> names;
  for (const ArgSpec& arg : spec.args)
    if (arg.kind != ArgKind::constant) names.push_back(arg.name);
  return names;
}

std::vector<std::string> read_step_args(const Reader& reader, const TomlNode& node) {
  const std::vector<std::string> known = kernel_arguments(reader.spec);
  std::vector<std::string> names;
  for (const TomlNode& item : reader.array(node, "args").items) {
    const std::string name = reader.text(item, "args");
    const ArgSpec* const arg = base::find_named(reader.spec.args, name);
    if (arg == nullptr)
      reader.fail(item.at, "args: '" + name + "' is not the name of one of [[args]]" + base::did_you_mean(name, known));
    if (arg->kind == ArgKind::constant)
      reader.fail(item.at, "args: '" + name +
                               "' is a constant, a variable of the source that every step finds filled; it is not "
                               "among a kernel's arguments");
    names.push_back(name);
  }
  return names;
}

StepSpec read_step(const Reader& reader, const TomlNode& node) {
  reader.check_keys(reader.table(node, "[[steps]]"), "[[steps]]",
                    {"entry", "when", "grid", "block", "shared", "cluster", "args"});
  StepSpec step;
  step.at = reader.document.at(node.at);
  const TomlNode* const entry = node.find("entry");
  if (entry == nullptr) reader.fail(node.at, "[[steps]] has no entry, the name of the __global__ function to launch");
  if (reader.text(*entry, "entry").empty())
    reader.fail(entry->at, "entry is empty: give the name of the __global__ function");
  step.entry = reader.expression(*entry, "entry");
  if (const TomlNode* when = node.find("when")) step.when = reader.expression(*when, "when");
  for (const char* key : {"grid", "block"})
    if (node.find(key) == nullptr) reader.fail(node.at, "the step '" + step.entry.text + "' has no " + key);
  step.launch = read_launch(reader, node, "steps");
  if (const TomlNode* args = node.find("args")) step.args = read_step_args(reader, *args);
  return step;
}

void refuse_beside_steps(const Reader& reader, const TomlNode& steps) {
  const TomlNode& root = reader.document.root();
  if (reader.spec.for_kokkos())
    reader.fail(steps.at, "[[steps]]: a Kokkos unit launches its own kernels, so it has no steps");
  if (reader.spec.space_only()) reader.fail(steps.at, "[[steps]] without a kernel: [kernel] has no source");
  if (const TomlNode* entry = root.find("kernel")->find("entry"))
    reader.fail(entry->key_at, "[kernel] entry and [[steps]] exclude each other: each step names its own entry");
  if (const TomlNode* launch = root.find("launch"))
    reader.fail(launch->key_at, "[launch] and [[steps]] exclude each other: each step has its own grid and block");
  const ReferenceSpec& reference = reader.spec.validate.reference;
  if (reference.kind == ReferenceSpec::Kind::kernel && !reference.config && !reference.launch)
    reader.document.fail(reference.at,
                         "the reference kernel needs its own grid and block: with [[steps]] there is no launch that "
                         "it could share");
}

/// An argument that no kernel reads or writes is a mistake: its contents would be made, kept and compared for nothing.
void refuse_unused(const Reader& reader) {
  const std::vector<StepSpec>& steps = reader.spec.steps;
  const auto takes = [](const StepSpec& step, const std::string& name) {
    return !step.args || std::find(step.args->begin(), step.args->end(), name) != step.args->end();
  };
  for (const ArgSpec& arg : reader.spec.args)
    if (arg.kind != ArgKind::constant &&
        std::none_of(steps.begin(), steps.end(), [&](const StepSpec& step) { return takes(step, arg.name); }))
      reader.document.fail(arg.at, "the argument '" + arg.name + "' is in the args of no step: add it, or remove it");
}

}  // namespace

void read_steps(Reader& reader) {
  const TomlNode* const steps = reader.document.root().find("steps");
  if (steps == nullptr) return;
  if (!steps->is_array()) reader.wrong_type(*steps, "steps", "an array of tables, [[steps]]");
  refuse_beside_steps(reader, *steps);
  if (steps->items.empty()) reader.fail(steps->at, "steps is empty: list the kernels to launch");
  for (const TomlNode& item : steps->items) reader.spec.steps.push_back(read_step(reader, item));
  refuse_unused(reader);
}

std::vector<StepSpec> steps_of(const Spec& spec) {
  if (!spec.steps.empty()) return spec.steps;
  StepSpec only;
  only.entry = spec.kernel.entry;
  only.launch = spec.launch;
  return {only};
}

}  // namespace xtune::spec
