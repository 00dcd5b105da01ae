// [validate]: the reference and the tolerances.
#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/section.hpp"
#include "core/spec/template_text.hpp"

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

void read_kernel_name(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reference.name = reader.text(node, "kernel");
  if (reference.name.empty())
    reader.fail(node.at, "the reference's kernel is empty: give the name of a __global__ function");
}

void read_reference_args(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reference.args = read_argument_names(reader, node, std::string(table_name) + ".args");
  const auto is_written = [&](std::size_t number) { return is_output(reader.spec.args[number].role); };
  if (std::none_of(reference.args->begin(), reference.args->end(), is_written))
    reader.fail(node.at, std::string(table_name) +
                             ".args has no argument with role out or inout, so the reference writes no result");
}

constexpr auto kernel_reference_section = section<ReferenceSpec>(
    table_name, read_by("kernel", &read_kernel_name), key("source", &ReferenceSpec::source),
    key("options", &ReferenceSpec::options), read_by("args", &read_reference_args), keys_of(launch_section));

void read_kernel_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reference.kind = ReferenceSpec::Kind::kernel;
  reference.source = reader.spec.kernel.source;
  kernel_reference_section.read_toml(reader, node, "", reference);
  const bool own = node.find("grid") != nullptr && node.find("block") != nullptr;
  for (const std::string& key : launch_section.names())
    if (const TomlNode* const launch = node.find(key); launch != nullptr && (reader.spec.for_kokkos() || !own))
      reader.fail(launch->key_at, reader.spec.for_kokkos()
                                      ? std::string(table_name) + ": a Kokkos unit launches itself, so it has no " + key
                                      : std::string(table_name) + ": its own launch needs both grid and block");
  if (own) reference.launch = read_launch(reader, node, table_name);
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

constexpr const char* command_remedy = R"(, or give the words as a list: ["sh", "-c", "..."])";

void read_command_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reader.check_keys(node, table_name, {"command"});
  reference.kind = ReferenceSpec::Kind::command;
  reference.command = read_words(reader, *node.find("command"), "command", command_remedy);
  reference.name = reference.command.front().text;
}

void read_reference(const Reader& reader, const TomlNode& node, ValidateSpec& validate) {
  ReferenceSpec& reference = validate.reference;
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

/// repeat and repeatable.
void read_repeats(const Reader& reader, const TomlNode& validate, ValidateSpec& spec) {
  const TomlNode* const repeat = validate.find("repeat");
  const TomlNode* const repeatable = validate.find("repeatable");
  if (spec.repeat > 0) spec.repeatable = Repeatable::bitwise;
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

void read_accumulate(const Reader& reader, const TomlNode& node, ValidateSpec& spec) {
  spec.accumulate = read_dtype(reader, node, "accumulate", spec.accumulate_text);
  for (const Bindings& problem : reader.spec.cases)
    if (const DType type = dtype_in(spec.accumulate_text, *spec.accumulate, problem);
        !is_floating(type) || is_complex(type))
      reader.fail(node.at, std::string("accumulate: '") + to_string(type) +
                               "' is not a real floating-point type (f16, bf16, f32, f64)");
}

void read_check(const Reader& reader, const TomlNode& node, ValidateSpec& spec) {
  require_outputs(reader, node);
  spec.check = read_words(reader, node, "check", command_remedy);
  spec.check_at = reader.document.at(node.at);
}

constexpr auto validate_section = section<ValidateSpec>(
    "[validate]", key("rtol", &ValidateSpec::rtol, forms::Number{0}),
    key("atol", &ValidateSpec::atol, forms::Number{0}),
    key("max_mismatched_ratio", &ValidateSpec::max_mismatched_ratio, forms::Number{0, 1}),
    key("outlier_factor", &ValidateSpec::outlier_factor, forms::Number{1}), key("reduction", &ValidateSpec::reduction),
    key("repeat", &ValidateSpec::repeat, forms::Integer{0, 10000}), read_apart("repeatable"),
    key("time_reference", &ValidateSpec::time_reference), read_by("accumulate", &read_accumulate),
    read_by("reference", &read_reference), read_by("check", &read_check),
    key("inputs", &ValidateSpec::inputs, forms::Word{inputs_words}));

}  // namespace

void read_validate(Reader& reader) {
  const TomlNode* const validate = reader.document.root().find("validate");
  if (validate == nullptr) return;
  validate_section.checked(reader, *validate, validate_section.title);
  if (reader.spec.space_only()) reader.fail(validate->at, "[validate] without a kernel: [kernel] has no source");
  ValidateSpec& spec = reader.spec.validate;
  validate_section.read_keys(reader, *validate, "", spec);
  read_repeats(reader, *validate, spec);
  if (spec.inputs == Inputs::fresh && spec.reference.kind == ReferenceSpec::Kind::file)
    reader.fail(validate->find("inputs")->at,
                "inputs = \"fresh\" needs a reference that can be computed for new inputs, and a file holds the "
                "outputs of one set of inputs: use a kernel, builtin or command reference, or a check");
}

SectionKeys keys_of_validate() { return {validate_section.titled()}; }

}  // namespace xtune::spec
