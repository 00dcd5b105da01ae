// [validate]: the reference and the tolerances.
#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/bindings_text.hpp"
#include "core/spec/command_text.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

constexpr const char* table_name = "validate.reference";

std::vector<std::string> output_names(const Spec& spec) {
  std::vector<std::string> names;
  for (const ArgSpec& arg : spec.args)
    if (is_output(arg.role)) names.push_back(arg.name);
  return names;
}

// file and builtin describe one output: the named one, else the only one.
void read_output(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  const std::vector<std::string> outputs = output_names(reader.spec);
  if (const TomlNode* output = node.find("output")) {
    reference.output = reader.text(*output, "output");
    if (std::find(outputs.begin(), outputs.end(), reference.output) == outputs.end())
      reader.fail(output->at, "output: '" + reference.output + "' is not an argument with role out or inout" +
                                  base::did_you_mean(reference.output, outputs));
  } else if (outputs.size() > 1) {
    reader.fail(node.at, std::string(table_name) + " does not say which output it describes: add output = \"" +
                             outputs.front() + "\"");
  }
}

void require_outputs(const Reader& reader, const TomlNode& node) {
  if (output_names(reader.spec).empty())
    reader.fail(node.at, "no argument has role out or inout, so there is nothing to validate");
}

void read_kernel_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reader.check_keys(node, table_name, {"kernel", "source", "options", "args", "grid", "block", "shared", "cluster"});
  reference.kind = ReferenceSpec::Kind::kernel;
  reference.name = reader.text(*node.find("kernel"), "kernel");
  if (reference.name.empty())
    reader.fail(node.find("kernel")->at, "the reference's kernel is empty: give the name of a __global__ function");
  reference.source = reader.spec.kernel.source;
  if (const TomlNode* source = node.find("source")) reference.source = reader.existing_file(*source, "source");
  if (const TomlNode* options = node.find("options")) reference.options = reader.expressions(*options, "options");
  if (const TomlNode* args = node.find("args")) {
    reference.args = read_argument_names(reader, *args, std::string(table_name) + ".args");
    const auto is_written = [&](std::size_t number) { return is_output(reader.spec.args[number].role); };
    if (std::none_of(reference.args->begin(), reference.args->end(), is_written))
      reader.fail(args->at, std::string(table_name) +
                                ".args has no argument with role out or inout, so the reference writes no result");
  }
  for (const char* key : {"grid", "block", "shared", "cluster"})
    if (const TomlNode* launch = node.find(key); launch != nullptr && reader.spec.for_kokkos())
      reader.fail(launch->key_at, std::string(table_name) + ": a Kokkos unit launches itself, so it has no " + key);
  const TomlNode* const grid = node.find("grid");
  const TomlNode* const block = node.find("block");
  if (grid != nullptr && block != nullptr) {
    reference.launch = read_launch(reader, node, table_name);
    return;
  }
  for (const char* key : {"grid", "block", "shared", "cluster"})
    if (const TomlNode* lone = node.find(key))
      reader.fail(lone->key_at, std::string(table_name) + ": its own launch needs both grid and block");
}

void read_config_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reader.check_keys(node, table_name, {"config"});
  reference.kind = ReferenceSpec::Kind::kernel;
  const std::string hint = "; [on." + reader.spec.backend + ".validate] can give another reference";
  reference.config = read_configuration(reader, *node.find("config"), std::string(table_name) + ".config", hint);
  reference.name = reader.spec.kernel.name + " at";
  for (const space::Parameter& parameter : reader.listed)
    reference.name += " " + parameter.name + "=" + to_text(reference.config->at(parameter.name));
  reference.source = reader.spec.kernel.source;
}

void read_builtin_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reference.kind = ReferenceSpec::Kind::builtin;
  reference.name = reader.text(*node.find("builtin"), "builtin");
  reference.at = reader.document.at(node.find("builtin")->at);
  read_output(reader, node, reference);
  for (const auto& [key, entry] : node.entries)
    if (key != "builtin" && key != "output") reference.bindings.emplace_back(key, reader.expression(entry, key));
}

void read_file_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reader.check_keys(node, table_name, {"file", "output"});
  reference.kind = ReferenceSpec::Kind::file;
  reference.file = reader.existing_file(*node.find("file"), "file");
  read_output(reader, node, reference);
}

std::vector<Text> command_words(const Reader& reader, const TomlNode& node, const std::string& what) {
  if (node.is_array()) return reader.expressions(node, what);
  try {
    return split_command(reader.placed_text(node, what));
  } catch (const TextError& error) {
    reader.document.fail(error.at, error.message + R"(, or give the words as a list: ["sh", "-c", "..."])");
  }
}

std::vector<Text> checked_command(const Reader& reader, const TomlNode& node, const std::string& what) {
  std::vector<Text> words = command_words(reader, node, what);
  if (words.empty() || words.front().text.empty())
    reader.fail(node.at, what + " is empty: give the words of a program's call");
  return words;
}

void read_command_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reader.check_keys(node, table_name, {"command"});
  reference.kind = ReferenceSpec::Kind::command;
  reference.command = checked_command(reader, *node.find("command"), "command");
  reference.name = reference.command.front().text;
}

void read_reference(const Reader& reader, const TomlNode& node) {
  ReferenceSpec& reference = reader.spec.validate.reference;
  reader.table(node, table_name);
  reference.at = reader.document.at(node.at);
  std::vector<std::string> forms;
  const std::vector<std::string> known{"kernel", "config", "builtin", "file", "command"};
  for (const std::string& form : known)
    if (node.find(form) != nullptr) forms.push_back(form);
  if (forms.empty())
    for (const auto& [key, entry] : node.entries)
      if (const std::string form = base::nearest_word(key, known); !form.empty())
        reader.document.complain(entry.key_at,
                                 "unknown key '" + key + "' in " + table_name + " (did you mean '" + form + "'?)");
  if (forms.size() != 1)
    reader.fail(node.at, std::string(table_name) +
                             " needs exactly one of kernel, config, builtin, file and command, got " +
                             (forms.empty() ? "none" : forms[0] + " and " + forms[1]));
  require_outputs(reader, node);
  if (forms[0] == "kernel") read_kernel_reference(reader, node, reference);
  if (forms[0] == "config") read_config_reference(reader, node, reference);
  if (forms[0] == "builtin") read_builtin_reference(reader, node, reference);
  if (forms[0] == "command") read_command_reference(reader, node, reference);
  if (forms[0] == "file") read_file_reference(reader, node, reference);
}

void read_repeats(const Reader& reader, const TomlNode& validate) {
  ValidateSpec& spec = reader.spec.validate;
  const TomlNode* const repeat = validate.find("repeat");
  const TomlNode* const repeatable = validate.find("repeatable");
  if (repeat != nullptr) {
    spec.repeat = static_cast<int>(reader.integer(*repeat, "repeat", 0, 10000));
    if (spec.repeat > 0) spec.repeatable = Repeatable::bitwise;
  }
  if (repeatable == nullptr) return;
  spec.repeatable = reader.word(*repeatable, "repeatable", repeatable_words);
  if (spec.repeatable == Repeatable::ignore) {
    if (spec.repeat > 0)
      reader.fail(repeatable->at, "repeatable = \"ignore\" compares nothing, and repeat = " +
                                      std::to_string(spec.repeat) + " launches more to compare: remove one of the two");
    return;
  }
  if (reader.spec.process)
    reader.fail(repeatable->at, "xtune does not compare the outputs of programs: use a check in [process]");
  require_outputs(reader, *repeatable);
  if (repeat == nullptr)
    spec.repeat = usual_repeats;
  else if (spec.repeat == 0)
    reader.fail(repeat->at, std::string("repeat = 0 leaves nothing to compare for repeatable = \"") +
                                repeatable_words.of(spec.repeatable) + "\": give at least 1, or remove repeat");
}

}  // namespace

void read_validate(Reader& reader) {
  const TomlNode* const validate = reader.document.root().find("validate");
  if (validate == nullptr) return;
  reader.check_keys(reader.table(*validate, "[validate]"), "[validate]",
                    {"reference", "check", "inputs", "rtol", "atol", "max_mismatched_ratio", "outlier_factor",
                     "reduction", "accumulate", "repeat", "repeatable", "time_reference"});
  if (reader.spec.space_only()) reader.fail(validate->at, "[validate] without a kernel: [kernel] has no source");
  ValidateSpec& spec = reader.spec.validate;
  if (const TomlNode* rtol = validate->find("rtol")) spec.rtol = reader.number(*rtol, "rtol", 0);
  if (const TomlNode* atol = validate->find("atol")) spec.atol = reader.number(*atol, "atol", 0);
  if (const TomlNode* ratio = validate->find("max_mismatched_ratio"))
    spec.max_mismatched_ratio = reader.number(*ratio, "max_mismatched_ratio", 0, 1);
  if (const TomlNode* factor = validate->find("outlier_factor"))
    spec.outlier_factor = reader.number(*factor, "outlier_factor", 1);
  if (const TomlNode* reduction = validate->find("reduction"))
    spec.reduction = reader.expression(*reduction, "reduction");
  read_repeats(reader, *validate);
  if (const TomlNode* timed = validate->find("time_reference"))
    spec.time_reference = reader.boolean(*timed, "time_reference");
  if (const TomlNode* accumulate = validate->find("accumulate")) {
    spec.accumulate = read_dtype(reader, *accumulate, "accumulate", spec.accumulate_text);
    for (const Bindings& problem : reader.spec.cases)
      if (const DType type = dtype_in(spec.accumulate_text, *spec.accumulate, problem);
          !is_floating(type) || is_complex(type))
        reader.fail(accumulate->at, std::string("accumulate: '") + to_string(type) +
                                        "' is not a real floating-point type (f16, bf16, f32, f64)");
  }
  if (const TomlNode* reference = validate->find("reference")) read_reference(reader, *reference);
  if (const TomlNode* check = validate->find("check")) {
    require_outputs(reader, *check);
    spec.check = checked_command(reader, *check, "check");
    spec.check_at = reader.document.at(check->at);
  }
  if (const TomlNode* inputs = validate->find("inputs")) {
    spec.inputs = reader.word(*inputs, "inputs", inputs_words);
    if (spec.inputs == Inputs::fresh && spec.reference.kind == ReferenceSpec::Kind::file)
      reader.fail(inputs->at,
                  "inputs = \"fresh\" needs a reference that can be computed for new inputs, and a file holds the "
                  "outputs of one set of inputs: use a kernel, builtin or command reference, or a check");
  }
}

}  // namespace xtune::spec
