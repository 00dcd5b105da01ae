// [validate], and the short tables: measure, search, metrics, objective, candidates and dispatch.
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
  return names_of(spec.args, [](const ArgSpec& arg) { return is_output(arg.role); });
}

// file and builtin describe one output: the named one, else the only one.
void read_output(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  const std::vector<std::string> outputs = output_names(reader.spec);
  if (const TomlNode* output = node.find("output")) {
    reference.output = reader.text(*output, "output");
    reader.require_among(output->at, reference.output, outputs,
                         "output: '" + reference.output + "' is not an argument with role out or inout");
  } else if (outputs.size() > 1) {
    reader.fail(node.at, std::string(table_name) + " does not say which output it describes: add output = \"" +
                             outputs.front() + "\"");
  }
}

void require_outputs(const Reader& reader, const TomlNode& node) {
  if (output_names(reader.spec).empty())
    reader.fail(node.at, "no argument has role out or inout, so there is nothing to validate");
}

void read_reference_args(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reference.args = read_argument_names(reader, node, std::string(table_name) + ".args");
  const auto is_written = [&](std::size_t number) { return is_output(reader.spec.args[number].role); };
  if (std::ranges::none_of(*reference.args, is_written))
    reader.fail(node.at, std::string(table_name) +
                             ".args has no argument with role out or inout, so the reference writes no result");
}

constexpr auto kernel_reference_section = section<ReferenceSpec>(
    table_name, key("kernel", &ReferenceSpec::name), key("source", &ReferenceSpec::source),
    key("options", &ReferenceSpec::options), read_by("args", &read_reference_args), keys_of(launch_section));

void read_kernel_reference(const Reader& reader, const TomlNode& node, ReferenceSpec& reference) {
  reference.kind = ReferenceSpec::Kind::kernel;
  reference.source = reader.spec.kernel.source;
  kernel_reference_section.read_toml(reader, node, "", reference);
  if (reference.name.empty())
    reader.fail(node.find("kernel")->at, "the reference's kernel is empty: give the name of a __global__ function");
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
  const std::pair<std::string, decltype(&read_kernel_reference)> forms[] = {{"kernel", &read_kernel_reference},
                                                                            {"config", &read_config_reference},
                                                                            {"builtin", &read_builtin_reference},
                                                                            {"file", &read_file_reference},
                                                                            {"command", &read_command_reference}};
  std::vector<std::string> known, given;
  for (const auto& [form, read] : forms) {
    known.push_back(form);
    if (reader.table(node, table_name).find(form) != nullptr) given.push_back(form);
  }
  if (given.empty())
    for (const auto& [key, entry] : node.entries)
      if (const std::string form = base::nearest_word(key, known); !form.empty())
        reader.document.complain(entry.key_at,
                                 "unknown key '" + key + "' in " + table_name + " (did you mean '" + form + "'?)");
  if (given.size() != 1)
    reader.fail(node.at, std::string(table_name) +
                             " needs exactly one of kernel, config, builtin, file and command, got " +
                             (given.empty() ? "none" : given[0] + " and " + given[1]));
  require_outputs(reader, node);
  validate.reference.at = reader.document.at(node.at);
  for (const auto& [form, read] : forms)
    if (form == given[0]) read(reader, node, validate.reference);
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
    reader.fail(repeatable->at, "xtune does not compare the outputs of programs: use validate in [process]");
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

void read_validator(const Reader& reader, const TomlNode& node, ValidateSpec& spec) {
  require_outputs(reader, node);
  spec.check = read_words(reader, node, "validator", command_remedy);
  spec.check_at = reader.document.at(node.at);
}

constexpr auto validate_section = section<ValidateSpec>(
    "[validate]", key("rtol", &ValidateSpec::rtol, forms::Number{0}),
    key("atol", &ValidateSpec::atol, forms::Number{0}),
    key("max_mismatched_ratio", &ValidateSpec::max_mismatched_ratio, forms::Number{0, 1}),
    key("outlier_factor", &ValidateSpec::outlier_factor, forms::Number{1}), key("reduction", &ValidateSpec::reduction),
    key("repeat", &ValidateSpec::repeat, forms::Integer{0, 10000}), read_apart("repeatable"),
    key("time_reference", &ValidateSpec::time_reference), read_by("accumulate", &read_accumulate),
    read_by("reference", &read_reference), read_by("validator", &read_validator),
    key("inputs", &ValidateSpec::inputs, forms::Word{inputs_words}));

// "Hot" means no flush at all, so the two keys set the same thing, and must not contradict each other.
void read_mode(Reader& reader, const TomlNode& node) {
  Flush& spec = reader.spec.measure.flush;
  const TomlNode* const flush = node.find("flush");
  const TomlNode* const mode = node.find("mode");
  if (mode == nullptr) return;
  const bool hot = reader.choice(*mode, "mode", {"cold", "hot"}) == 1;
  if (flush != nullptr && hot != (spec == Flush::none))
    reader.fail(mode->at,
                hot ? "mode = \"hot\" measures with warm caches, and flush empties them: remove one of the two"
                    : "mode = \"cold\" measures with empty caches, and flush = \"none\" leaves them warm: remove "
                      "one of the two");
  if (hot) spec = Flush::none;
}

// Either key may come from another table than the other: an entry of a suite changes one of them.
void name_statistic(MeasureSpec& spec) {
  if (spec.statistic == Statistic::mean || spec.statistic == Statistic::inlier_mean)
    spec.statistic = spec.drop_outliers ? Statistic::inlier_mean : Statistic::mean;
}

void read_measure(Reader& reader, const TomlNode& table) {
  const TomlNode* const node = table.find("measure");
  if (node == nullptr) return;
  MeasureSpec& spec = reader.spec.measure;
  measure_section.read_toml(reader, *node, "", spec);
  read_mode(reader, *node);
  name_statistic(spec);
  // If only rep is set, and below min_rep's default, few samples are wanted.
  if (spec.min_rep > spec.rep) {
    const TomlNode* const min_rep = node->find("min_rep");
    if (min_rep != nullptr && node->find("rep") != nullptr)
      reader.fail(min_rep->at,
                  "min_rep = " + std::to_string(spec.min_rep) + " is more than rep = " + std::to_string(spec.rep));
    (min_rep != nullptr ? spec.rep : spec.min_rep) = min_rep != nullptr ? spec.min_rep : spec.rep;
  }
}

void read_advisor(const Reader& reader, const TomlNode& command, SearchSpec& search) {
  AdvisorSpec advisor;
  advisor.at = reader.document.at(command.at);
  for (const Text& word : read_words(reader, command, "search.advisor",
                                     ", or give a list of words that begins with a shell: [\"sh\", \"-c\", ...]"))
    advisor.command.push_back(word.text);
  search.advisor = std::move(advisor);
}

}  // namespace

std::vector<std::string> effort_words() { return {"none", "quick", "full"}; }

namespace {

constexpr auto search_section = section<SearchSpec>(
    "[search]", key("strategy", &SearchSpec::strategy),
    key("effort", &SearchSpec::effort, forms::Choice{&effort_words}),
    key("evals", &SearchSpec::evals, forms::Integer{1}),
    key("seconds", &SearchSpec::seconds, forms::Number{0.001, 1e9}), key("seed", &SearchSpec::seed, forms::Integer{0}),
    read_by("advisor", &read_advisor),
    key(
        "advisor_share", [](auto& of) -> auto& { return of.advisor->share; }, forms::Number{0.001, 1}),
    key(
        "advisor_every", [](auto& of) -> auto& { return of.advisor->every; }, forms::Integer{1}),
    key(
        "advisor_timeout_s", [](auto& of) -> auto& { return of.advisor->timeout_s; }, forms::Number{0.001, 1e6}));

void read_search(Reader& reader, const TomlNode& table) {
  const TomlNode* const node = table.find("search");
  if (node == nullptr) return;
  SearchSpec& spec = reader.spec.search;
  const TomlNode* const strategy = search_section.checked(reader, *node, search_section.title).find("strategy");
  spec.at = reader.document.at(strategy != nullptr ? strategy->at : node->at);
  if (node->find("advisor") == nullptr)
    for (const auto& [key, entry] : node->entries)
      if (key.starts_with("advisor_")) reader.fail(entry.key_at, "search." + key + " needs search.advisor, a command");
  search_section.read_keys(reader, *node, "", spec);
}

std::vector<std::string> rank_words() { return {"model", "carver"}; }

void read_candidates_dtype(const Reader& reader, const TomlNode& node, CandidatesSpec& spec) {
  spec.dtype = read_dtype(reader, node, "candidates.dtype", spec.dtype_text);
}

void read_map(const Reader& reader, const TomlNode& node, CandidatesSpec& spec) {
  spec.map_at = reader.document.at(node.at);
  for (const auto& [field, value] : reader.table(node, "candidates.map").entries)
    spec.map.push_back({field, reader.document.at(value.key_at), reader.expression(value, "candidates.map")});
}

constexpr auto candidates_section = section<CandidatesSpec>(
    "[candidates]", required("template", &CandidatesSpec::template_name, "[candidates] has no template"),
    key("top_k", &CandidatesSpec::top_k, forms::Integer{1, 1'000'000}),
    key("rank", &CandidatesSpec::rank, forms::Choice{&rank_words}), read_by("dtype", &read_candidates_dtype),
    read_by("map", &read_map));

void read_candidates(Reader& reader) {
  const TomlNode* const node = reader.document.root().find("candidates");
  if (node == nullptr) return;
  CandidatesSpec spec;
  spec.at = spec.map_at = reader.document.at(node->at);
  candidates_section.read_toml(reader, *node, "", spec);
  spec.template_at = reader.document.at(node->find("template")->at);
  reader.spec.candidates = std::move(spec);
}

constexpr auto across_words = base::enum_words<ObjectiveSpec::Across>("each", "geomean", "worst");
constexpr auto objective_section =
    section<ObjectiveSpec>("[objective]", read_apart("minimize"), read_apart("maximize"),
                           key("across", &ObjectiveSpec::across, forms::Word{across_words}));

void read_objective(Reader& reader) {
  const TomlNode* const node = reader.document.root().find("objective");
  if (node == nullptr) return;
  ObjectiveSpec& spec = reader.spec.objective;
  spec.at = reader.document.at(node->at);
  objective_section.read_toml(reader, *node, "", spec);
  for (const auto& [key, value] : node->entries) {
    if (key != "minimize" && key != "maximize") continue;
    for (Text& text : reader.expressions(value, key)) spec.goals.push_back({std::move(text), key == "maximize"});
  }
  if (spec.goals.size() > 2)
    reader.fail(node->at, "[objective] has " + std::to_string(spec.goals.size()) +
                              " goals; it takes one, or two that are weighed against each other");
}

constexpr auto dispatch_section = section<DispatchSpec>(
    "[dispatch]", key("key", &DispatchSpec::key), key("radius", &DispatchSpec::radius, forms::Number{0}),
    key("default", &DispatchSpec::default_config, forms::Configuration()));

void read_dispatch(Reader& reader) {
  if (const TomlNode* const node = reader.document.root().find("dispatch"))
    dispatch_section.read_toml(reader, *node, "dispatch.", reader.spec.dispatch);
}

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
                "outputs of one set of inputs: use a kernel, builtin or command reference, or a validator");
}

const std::vector<std::string>& quantity_names() {
  static const std::vector<std::string> names{"energy_j", "registers", "repeatable", "shared_bytes", "spilled_bytes"};
  return names;
}

void read_budget(Reader& reader, const TomlNode& table) {
  read_measure(reader, table);
  read_search(reader, table);
}

bool names_input(const Spec& spec, const std::string& name) {
  return spec.cases.front().contains(name) || base::find_named(spec.parameters, name);
}

void read_metrics(Reader& reader) {
  const TomlNode* const metrics = reader.document.root().find("metrics");
  if (metrics == nullptr) return;
  const std::vector<std::string> reported = reported_names(reader.spec);
  for (auto& [name, text] : reader.named_texts(*metrics, "metrics")) {
    const auto refuse = [&](const std::string& why) {
      reader.fail(metrics->find(name)->key_at, "the metric '" + name + "' " + why + ": choose another name");
    };
    if (std::find(reported.begin(), reported.end(), name) != reported.end()) refuse("is in [process.metrics] as well");
    if (name == "time_ms" || name == "time_s") refuse("would stand beside the measured time of that name");
    if (std::ranges::find(quantity_names(), name) != quantity_names().end())
      refuse("is a quantity that xtune measures");
    if (names_input(reader.spec, name)) refuse("is a parameter or a name of [problem] as well");
    reader.spec.metrics.push_back({name, std::move(text)});
  }
}

void read_settings(Reader& reader) {
  read_budget(reader, reader.document.root());
  read_metrics(reader);
  read_objective(reader);
  read_candidates(reader);
  read_dispatch(reader);
}

SectionKeys keys_of_sections() {
  SectionKeys all = keys_of_kernel();
  for (const auto& of : keys_of_args()) all.push_back(of);
  all.push_back(validate_section.titled());
  for (const auto& of : keys_of_process()) all.push_back(of);
  for (const auto& of : {measure_section.titled(), search_section.titled(), objective_section.titled(),
                         candidates_section.titled(), dispatch_section.titled()})
    all.push_back(of);
  return all;
}

}  // namespace xtune::spec
