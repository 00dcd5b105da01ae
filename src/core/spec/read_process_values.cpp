// [process] time and metrics: where the numbers of a program are found.
#include <algorithm>
#include <string_view>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/spec/process_reader.hpp"
#include "core/spec/section.hpp"

namespace xtune::spec {

namespace {

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
    key("file", &device::ProgramValue::file, ValueFile()), key("unit", &device::ProgramValue::unit, forms::String()),
    key("row", &device::ProgramValue::row, forms::Integer(-last_row, last_row)));

device::ProgramValue read_value(const Reader& reader, const TomlNode& node, const std::string& what, bool time) {
  device::ProgramValue value;
  value_section.checked(reader, node, what);
  std::vector<std::string> forms;
  for (const char* form : {"json", "csv", "regex"})
    if (node.find(form) != nullptr) forms.emplace_back(form);
  if (forms.size() != 1)
    reader.fail(node.at, what + " needs exactly one of json (a path), csv (a column) and regex, got " +
                             (forms.empty() ? "none" : forms[0] + " and " + forms[1]));
  const TomlNode& where = *node.find(forms[0]);
  value.where = reader.text(where, what + "." + forms[0]);
  if (value.where.empty()) reader.fail(where.at, what + "." + forms[0] + " is empty");
  if (forms[0] == "regex") check_regex(reader, where, what + ".regex");
  if (forms[0] == "json" && !is_json_path(value.where))
    reader.fail(where.at, what + ".json: '" + value.where +
                              "' has a quote or a bracket that is never closed, or no index in brackets; write "
                              "results[0].time, \"a key\".time, or a pointer, /results/0/time");
  value.form = forms[0] == "json"  ? device::ProgramValue::Form::json
               : forms[0] == "csv" ? device::ProgramValue::Form::csv
                                   : device::ProgramValue::Form::regex;
  if (const TomlNode* row = node.find("row"); row && value.form != device::ProgramValue::Form::csv)
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

}  // namespace

void check_regex(const Reader& reader, const TomlNode& node, const std::string& what) {
  const std::string text = reader.text(node, what);
  if (text.empty()) reader.fail(node.at, what + " is empty: give a regular expression");
  try {
    base::last_match(text, "");
  } catch (const Error& error) {
    reader.fail(node.at, what + ": " + error.what());
  }
}

void read_process_time(const Reader& reader, const TomlNode& time, ProcessSpec& spec) {
  spec.time = read_value(reader, time, "process.time", true);
}

void read_process_metrics(const Reader& reader, const TomlNode& metrics, ProcessSpec& spec) {
  const auto read_metric = [&](const TomlNode& node, const std::string& what) {
    return spec.serves ? read_answered(reader, node, what) : read_value(reader, node, what, false);
  };
  for (const auto& [name, node] : reader.table(metrics, "[process.metrics]").entries) {
    reader.check_identifier(node.key_at, name, "metric");
    if (names_input(reader.spec, name))
      reader.fail(node.key_at, "'" + name + "' is both a metric and a parameter or a name of [problem]: rename one");
    const auto& quantities = quantity_names();
    if (std::find(quantities.begin(), quantities.end(), name) != quantities.end())
      reader.fail(node.key_at, "'" + name + "' is a quantity that xtune measures: choose another name");
    spec.metrics.push_back(read_metric(node, "process.metrics." + name));
    spec.metrics.back().name = name;
    spec.metrics_at.push_back(reader.document.at(node.key_at));
  }
}

}  // namespace xtune::spec
