// [problem] and [[cases]]: the sizes that expressions refer to by name.
#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

Bindings read_case(const Reader& reader, const TomlNode& node, const Bindings& problem) {
  std::vector<std::string> names;
  for (const auto& [name, value] : problem) names.push_back(name);
  Bindings bindings = problem;
  for (const auto& [name, entry] : reader.table(node, "[[cases]]").entries) {
    const auto own = problem.find(name);
    if (own == problem.end())
      reader.fail(entry.key_at, "unknown problem name '" + name + "' in [[cases]]" + base::did_you_mean(name, names) +
                                    "; [problem] gives every name and its default");
    bindings[name] = value_like(reader, entry, "case: " + name, own->second, "[problem]");
  }
  return bindings;
}

}  // namespace

// An integer where the spec has a float means that float.
Value value_like(const Reader& reader, const TomlNode& node, const std::string& name, const Value& own,
                 const std::string& where) {
  Value value = reader.scalar(node, name);
  if (std::holds_alternative<double>(own) && std::holds_alternative<std::int64_t>(value))
    value = static_cast<double>(std::get<std::int64_t>(value));
  if (value.index() != own.index())
    reader.fail(node.at, name + " is " + space::type_name(own) + " in " + where + ", got " + space::type_name(value));
  return value;
}

void read_problem(Reader& reader, const SuiteEntry* suite) {
  Bindings problem;
  if (const TomlNode* node = reader.document.root().find("problem")) {
    for (const auto& [name, entry] : reader.table(*node, "[problem]").entries) {
      reader.check_identifier(entry.key_at, name, "problem name");
      problem[name] = reader.scalar(entry, name);
    }
  }
  const TomlNode* cases = suite ? suite->table().find("cases") : nullptr;
  // Errors point into the file that contains the cases.
  std::optional<Reader> of_suite;
  if (cases != nullptr) of_suite.emplace(Reader{*suite->document, reader.spec, reader.base_dir});
  const Reader& from = of_suite ? *of_suite : reader;
  if (cases == nullptr) cases = reader.document.root().find("cases");
  if (cases == nullptr) {
    reader.spec.cases.push_back(std::move(problem));
    return;
  }
  if (!cases->is_array()) from.wrong_type(*cases, "cases", "an array of tables, [[cases]]");
  if (cases->items.empty()) from.fail(cases->at, "cases is empty: give at least one case, or none of the key");
  for (const TomlNode& item : cases->items) {
    Bindings bindings = read_case(from, item, problem);
    auto& all = reader.spec.cases;
    if (const auto same = std::find(all.begin(), all.end(), bindings); same != all.end())
      from.fail(item.at, "duplicate case: the same problem as case " + std::to_string(same - all.begin() + 1));
    all.push_back(std::move(bindings));
  }
}

}  // namespace xtune::spec
