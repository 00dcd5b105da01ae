// [process]: commands, their environment, and where the numbers of a program are found.
#include "core/spec/process_spec.hpp"

#include <algorithm>
#include <string_view>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/section.hpp"
#include "system/shell_words.hpp"

namespace xtune::spec {

namespace {

// Each sample is a run of a whole program, and the first run, which is validated, also serves as the warm-up. A sample
// of a server is one answer, which takes it less time than a run, but may stand for many launches.
void set_measure_defaults(MeasureSpec& measure, bool serves) {
  measure.warmup = 0;
  measure.timeout_s = 600;
  measure.flush = Flush::none;
  if (serves) {
    measure.rep = 20;
    measure.min_rep = 5;
    measure.max_time_ms = 2'000;
    return;
  }
  measure.rep = 7;
  measure.min_rep = 3;
  measure.max_time_ms = 10'000;
  measure.noise = 0.01;
  measure.finals = 4;
}

void exclude_kernels(const Reader& reader, const TomlNode& process) {
  for (const char* section : {"launch", "steps", "args", "validate", "candidates"})
    if (const TomlNode* node = reader.document.root().find(section))
      reader.fail(node->at,
                  "[" + std::string(section) + "] is about kernels, and [process] tunes a program" +
                      (std::string(section) == "validate" ? ": its results are judged by validate and expect" : ""));
  const TomlNode* const kernel = reader.document.root().find("kernel");
  for (const char* source : {"source", "code"})
    if (kernel != nullptr && kernel->find(source) != nullptr)
      reader.fail(process.at, std::string("[process] and kernel.") + source +
                                  " exclude each other: a spec tunes a program or a kernel");
}

std::vector<CommandWord> read_command_words(const Reader& reader, const TomlNode& node, const std::string& what,
                                            bool may_be_empty = false) {
  return compiled(reader, [&] {
    const std::vector<Text> words = read_words(reader, node, what, ", or set shell = true", may_be_empty);
    return std::vector<CommandWord>(words.begin(), words.end());
  });
}

/// A shell would set a variable; without a shell it would be the program's name.
void refuse_assignment(const Reader& reader, const Text& word, const std::string& what, const char* variables) {
  const std::size_t equals = word.text.find('=');
  if (equals == std::string::npos || !identifier_complaint(word.text.substr(0, equals), false).empty()) return;
  reader.document.fail(word.at, what + " begins with '" + word.text +
                                    "', which would be the program: set variables with " + variables + " = { " +
                                    word.text.substr(0, equals) + " = \"" + word.text.substr(equals + 1) + "\" }");
}

ProcessCommand read_command(const Reader& reader, const TomlNode& process, const char* key, bool shell) {
  ProcessCommand command;
  const TomlNode* const node = process.find(key);
  if (node == nullptr) return command;
  const std::string what = std::string("process.") + key;
  command.at = reader.document.at(node->at);
  if (shell) {
    if (node->is_array()) reader.fail(node->at, what + ": with shell = true it is one text, as /bin/sh reads it");
    const Text text = reader.placed_text(*node, what);
    command.shell = true;
    command.words = {compiled(reader, [&] { return CommandWord(text, true); })};
    if (text.text.find_first_not_of(" \t\n") == std::string::npos)
      reader.fail(node->at, what + " is empty: give the words of a program's call");
  } else {
    command.words = read_command_words(reader, *node, what);
    const bool builds = std::string_view(key) == "build";
    refuse_assignment(reader, command.words.front().text().source(), what, builds ? "build_env" : "env");
  }
  return command;
}

struct Regex {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, std::string& expression) {
    expression = reader.text(node, what);
    if (expression.empty()) reader.fail(node.at, what + " is empty: give a regular expression");
    try {
      base::last_match(expression, "");
    } catch (const Error& error) {
      reader.fail(node.at, what + ": " + error.what());
    }
  }
};

/// Otherwise only the first run would find the error.
bool is_json_path(const std::string& path) {
  if (path.starts_with('/')) return true;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '"' && path[i] != '[') continue;
    const std::size_t close = path.find(path[i] == '"' ? '"' : ']', i + 1);
    if (close == std::string::npos) return false;
    const std::string_view inside = std::string_view(path).substr(i + 1, close - i - 1);
    if (path[i] == '[' && (inside.empty() || inside.find('"') != std::string_view::npos)) return false;
    i = close;
  }
  return true;
}

struct ValueFile {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, std::string& value) {
    const Text text = reader.expression(node, what);
    const CommandWord word = compiled(reader, [&] { return CommandWord(text); });
    if (!word.expressions().empty())
      reader.fail(node.at, what +
                               " names a file that is the same for all: of placeholders only {tmp}, the directory "
                               "that each run has for itself");
    std::vector<std::string> texts;
    word.expand([](std::string_view) { return nullptr; }, texts);
    value = texts.front();
  }
};

constexpr int last_row = 1'000'000'000;
constexpr auto value_section = section<device::ProgramValue>(
    "process.time", read_apart("json"), read_apart("csv"), read_apart("regex"),
    key("file", &device::ProgramValue::file, ValueFile()), key("unit", &device::ProgramValue::unit),
    key("row", &device::ProgramValue::row, forms::Integer{-last_row, last_row}));

device::ProgramValue read_value(const Reader& reader, const TomlNode& node, const std::string& what, bool time) {
  device::ProgramValue value;
  value_section.checked(reader, node, what);
  using Form = device::ProgramValue::Form;
  std::vector<std::string> forms;
  for (const auto& [name, form] : {std::pair("json", Form::json), {"csv", Form::csv}, {"regex", Form::regex}})
    if (node.find(name) != nullptr) forms.emplace_back(name), value.form = form;
  if (forms.size() != 1)
    reader.fail(node.at, what + " needs exactly one of json (a path), csv (a column) and regex, got " +
                             (forms.empty() ? "none" : forms[0] + " and " + forms[1]));
  const TomlNode& where = *node.find(forms[0]);
  value.where = reader.text(where, what + "." + forms[0]);
  if (value.where.empty()) reader.fail(where.at, what + "." + forms[0] + " is empty");
  if (value.form == Form::regex) Regex::read(reader, where, what + ".regex", value.where);
  if (value.form == Form::json && !is_json_path(value.where))
    reader.fail(where.at, what + ".json: '" + value.where +
                              "' has a quote or a bracket that is never closed, or no index in brackets; write "
                              "results[0].time, \"a key\".time, or a pointer, /results/0/time");
  if (const TomlNode* row = node.find("row"); row && value.form != Form::csv)
    reader.fail(row->key_at, what + ".row goes only with csv");
  value_section.read_keys(reader, node, what + ".", value);
  if (time && !value.unit.empty() && device::milliseconds_in(value.unit) == 0)
    reader.fail(node.find("unit")->at, what + ".unit: '" + value.unit + "' is not a unit of time (s, ms, us, ns)");
  return value;
}

/// A metric of a server, which answers by the metric's name.
device::ProgramValue read_answered(const Reader& reader, const TomlNode& node, const std::string& what) {
  device::ProgramValue value;
  for (const char* place : {"json", "csv", "regex", "file", "row"})
    if (const TomlNode* given = reader.table(node, what).find(place))
      reader.fail(given->key_at, what + "." + place + " is about the output of a program that runs once: a server " +
                                     "answers with \"metrics\", by their names; here is only the unit");
  reader.check_keys(node, what, {"unit"});
  value.form = device::ProgramValue::Form::json;
  if (const TomlNode* unit = node.find("unit")) value.unit = reader.text(*unit, what + ".unit");
  return value;
}

struct TimeValue {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, device::ProgramValue& value) {
    value = read_value(reader, node, what, true);
  }
};

void read_process_metrics(const Reader& reader, const TomlNode& metrics, ProcessSpec& spec) {
  const auto read_metric = [&](const TomlNode& node, const std::string& what) {
    return spec.serves ? read_answered(reader, node, what) : read_value(reader, node, what, false);
  };
  for (const auto& [name, node] : reader.table(metrics, "[process.metrics]").entries) {
    reader.check_identifier(node.key_at, name, "metric");
    if (names_input(reader.spec, name))
      reader.fail(node.key_at, "'" + name + "' is both a metric and a parameter or a name of [problem]: rename one");
    spec.metrics.push_back(read_metric(node, "process.metrics." + name));
    spec.metrics.back().name = name;
    spec.metrics_at.push_back(reader.document.at(node.key_at));
  }
}

struct Environment {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what,
                   std::vector<std::pair<std::string, CommandWord>>& variables) {
    for (const auto& [name, text] : reader.named_texts(node, what)) {
      if (name.empty() || name.find('=') != std::string::npos)
        reader.fail(node.find(name)->key_at, "'" + name + "' is not a name of an environment variable");
      variables.emplace_back(name, compiled(reader, [&, &wanted = text] { return CommandWord(wanted); }));
    }
  }
};

void read_prefix(const Reader& reader, const TomlNode& node, ProcessSpec& spec) {
  spec.exec_prefix.words = read_command_words(reader, node, "process.exec_prefix", true);
  spec.exec_prefix.at = reader.document.at(node.at);
}

void read_outputs(const Reader& reader, const TomlNode& node, ProcessSpec& spec) {
  for (const TomlNode& item : reader.array(node, "process.outputs").items)
    spec.outputs.push_back((spec.folder / reader.text(item, "process.outputs")).lexically_normal());
}

std::vector<std::string> device_words() { return device::backends_of(device::SourceKind::cuda_cpp); }

// Otherwise the commands would get the place, and never the value.
void refuse_place_names(const Reader& reader) {
  if (const TomlNode* problem = reader.document.root().find("problem"))
    for (const auto& [name, node] : problem->entries)
      if (is_place(name)) reader.fail(node.key_at, "problem name '" + name + "' " + place_complaint(name));
  for (std::size_t i = 0; i < reader.spec.parameters.size(); ++i)
    if (const std::string& name = reader.spec.parameters[i].name; is_place(name))
      reader.document.fail(reader.spec.parameters_at[i], "parameter '" + name + "' " + place_complaint(name));
}

// A parameter that the build command does not use does not affect the binary.
void find_launch_only(const Reader& reader, const TomlNode& process, const ProcessSpec& spec) {
  std::vector<CommandWord> texts = spec.build.words;
  for (const auto& [name, word] : spec.build_env) texts.push_back(word);
  std::set<std::string, std::less<>> named;
  for (const CommandWord& word : texts) named.merge(word.text().names());
  for (std::size_t i = 0; i < reader.spec.parameters.size(); ++i) {
    space::Parameter& parameter = reader.spec.parameters[i];
    if (!parameter.compile_time && named.contains(parameter.name))
      reader.document.fail(reader.spec.parameters_at[i], "the parameter '" + parameter.name +
                                                             "' is compile_time = false, and process.build names it");
    parameter.compile_time = named.contains(parameter.name);
  }
  if (spec.build.given() && !named.contains("out"))
    reader.fail(process.find("build")->at,
                "process.build does not name {out}, the file that it must build: add, for example, -o {out}");
  for (const ProcessCommand* command : {&spec.run, &spec.check})
    for (const CommandWord& word : command->words)
      if (!spec.build.given() && word.names("out"))
        reader.document.fail(command->at, "{out} is made by process.build, and there is no build");
}

/// A file, or all that match a pattern now.
void add_sources(const Reader& reader, const TomlNode& item, ProcessSpec& spec) {
  const std::string name = reader.text(item, "process.sources");
  std::error_code error;
  if (!reader.check_files || !system::is_pattern(name) || std::filesystem::exists(reader.base_dir / name, error))
    return spec.sources.push_back(reader.existing_file(item, "process.sources"));
  const std::size_t before = spec.sources.size();
  for (const std::string& match : system::files_matching(name, reader.base_dir)) {
    const std::filesystem::path path = (reader.base_dir / match).lexically_normal();
    const bool known = std::find(spec.sources.begin(), spec.sources.end(), path) != spec.sources.end();
    if (std::filesystem::is_regular_file(path, error) && !known) spec.sources.push_back(path);
  }
  if (spec.sources.size() == before)
    reader.fail(item.at,
                "process.sources '" + name + "': no further file matches (paths are relative to the spec's directory)");
}

void read_sources(const Reader& reader, const TomlNode& node, ProcessSpec& spec) {
  for (const TomlNode& item : reader.array(node, "process.sources").items) add_sources(reader, item, spec);
}

/// Keys that mean something else with serve, or nothing.
void read_server(const Reader& reader, const TomlNode& process, ProcessSpec& spec) {
  for (const auto& [key, remedy] :
       {std::pair{"time", "a server answers with \"times_ms\""},
        {"expect", "with validate = true a server judges its results, and answers with \"validated\""},
        {"outputs", "a server's files belong below {tmp}"}})
    if (const TomlNode* node = process.find(key))
      reader.fail(node->key_at, std::string("process.") + key + " is about the runs of a program: " + remedy);
  if (const TomlNode* validate = process.find("validate"))
    spec.checks = reader.boolean(*validate, "process.validate of a server, which says whether it judges its results,");
}

/// Either run or serve.
void read_main_command(const Reader& reader, const TomlNode& process, bool shell, ProcessSpec& spec) {
  const TomlNode *const run = process.find("run"), *const serve = process.find("serve");
  if (run == nullptr && serve == nullptr)
    reader.fail(process.at,
                "[process] has neither run, the command that is timed, nor serve, the command that starts a "
                "server");
  if (run != nullptr && serve != nullptr)
    reader.fail(serve->key_at, "[process] has both run and serve: a program runs once for each sample, or it serves");
  spec.serves = serve != nullptr;
  spec.run = read_command(reader, process, spec.serves ? "serve" : "run", shell);
  if (spec.serves) return read_server(reader, process, spec);
  spec.check = read_command(reader, process, "validate", shell);
  if (const TomlNode* timeout = process.find("start_timeout_s"))
    reader.fail(timeout->key_at, "process.start_timeout_s is about servers: it goes only with serve");
}

constexpr auto process_section = section<ProcessSpec>(
    "[process]", read_apart("build"), read_apart("run"), read_apart("serve"), read_apart("validate"),
    read_apart("shell"), read_by("exec_prefix", &read_prefix), key("folder", &ProcessSpec::folder, forms::Directory()),
    read_by("sources", &read_sources), read_by("outputs", &read_outputs), key("environment", &ProcessSpec::environment),
    key("env", &ProcessSpec::env, Environment()), key("build_env", &ProcessSpec::build_env, Environment()),
    key("time", &ProcessSpec::time, TimeValue()), read_by("metrics", &read_process_metrics),
    key("expect", &ProcessSpec::expect, Regex()), key("device", &ProcessSpec::device, forms::Choice{&device_words}),
    key("timeout_s", &ProcessSpec::timeout_s, forms::Number{0.001, 1e6}),
    key("start_timeout_s", &ProcessSpec::start_timeout_s, forms::Number{0.001, 1e6}));

}  // namespace

std::vector<std::string> ProcessCommand::expand(const space::Lookup& lookup) const {
  std::vector<std::string> texts;
  for (const CommandWord& word : words) word.expand(lookup, texts);
  return texts;
}

std::string ProcessCommand::program() const {
  if (shell) return "/bin/sh";
  if (words.empty() || !words.front().expressions().empty()) return {};
  std::vector<std::string> texts;
  words.front().expand([](std::string_view) { return nullptr; }, texts);
  return texts.empty() ? std::string() : texts.front();
}

std::vector<std::string> reported_names(const Spec& spec) {
  return spec.process ? names_of(spec.process->metrics) : std::vector<std::string>();
}

bool validates(const Spec& spec) {
  if (!spec.validate.check.empty()) return true;
  if (spec.process) return spec.process->check.given() || spec.process->checks || !spec.process->expect.empty();
  return spec.validate.reference.kind != ReferenceSpec::Kind::none;
}

void read_process(Reader& reader) {
  const TomlNode* const node = reader.document.root().find("process");
  if (node == nullptr) return;
  process_section.checked(reader, *node, process_section.title);
  exclude_kernels(reader, *node);
  refuse_place_names(reader);
  const TomlNode* const shell_node = node->find("shell");
  const bool shell = shell_node != nullptr && reader.boolean(*shell_node, "process.shell");
  ProcessSpec spec;
  spec.at = reader.document.at(node->at);
  spec.folder = reader.base_dir.lexically_normal();
  spec.build = read_command(reader, *node, "build", shell);
  read_main_command(reader, *node, shell, spec);
  process_section.read_keys(reader, *node, "process.", spec);
  find_launch_only(reader, *node, spec);
  set_measure_defaults(reader.spec.measure, spec.serves);
  reader.spec.process = std::make_shared<const ProcessSpec>(std::move(spec));
}

SectionKeys keys_of_process() { return {process_section.titled()}; }
}  // namespace xtune::spec
