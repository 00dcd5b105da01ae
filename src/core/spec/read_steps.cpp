// [[steps]]: several kernels of the source, launched one after the other.
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

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
  if (const TomlNode* args = node.find("args")) step.args = read_argument_names(reader, *args, "args");
  return step;
}

void refuse_beside_steps(const Reader& reader, const TomlNode& steps) {
  const TomlNode& root = reader.document.root();
  if (reader.spec.for_kokkos())
    reader.fail(steps.at, "[[steps]]: a Kokkos unit launches its own kernels, so it has no steps");
  if (reader.spec.space_only()) reader.fail(steps.at, "[[steps]] without a kernel: [kernel] has no source");
  for (const char* key : {"entry", "args"})
    if (const TomlNode* own = root.find("kernel")->find(key))
      reader.fail(own->key_at,
                  std::string("[kernel] ") + key + " and [[steps]] exclude each other: each step has its own " + key);
  if (const TomlNode* launch = root.find("launch"))
    reader.fail(launch->key_at, "[launch] and [[steps]] exclude each other: each step has its own grid and block");
  const ReferenceSpec& reference = reader.spec.validate.reference;
  if (reference.kind == ReferenceSpec::Kind::kernel && !reference.config && !reference.launch)
    reader.document.fail(reference.at,
                         "the reference kernel has no launch: with [[steps]], give it its own grid and block");
}

}  // namespace

void read_steps(Reader& reader) {
  const TomlNode* const steps = reader.document.root().find("steps");
  if (steps == nullptr) return;
  if (!steps->is_array()) reader.wrong_type(*steps, "steps", "an array of tables, [[steps]]");
  refuse_beside_steps(reader, *steps);
  if (steps->items.empty()) reader.fail(steps->at, "steps is empty: list the kernels to launch");
  for (const TomlNode& item : steps->items) reader.spec.steps.push_back(read_step(reader, item));
}

std::vector<StepSpec> steps_of(const Spec& spec) {
  if (!spec.steps.empty()) return spec.steps;
  StepSpec only;
  only.entry = spec.kernel.entry;
  only.launch = spec.launch;
  only.args = spec.kernel.args;
  return {only};
}

}  // namespace xtune::spec
