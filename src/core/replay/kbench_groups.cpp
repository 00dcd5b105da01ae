// Names, values and cases of kbench's groups.
#include "core/replay/kbench_groups.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/text.hpp"
#include "core/replay/python_values.hpp"
#include "core/spec/command_text.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::invalid_argument, why); }

/// The items of --param's "[a, b]" or "a".
std::vector<std::string> param_items(const std::string& name, const std::string& text) {
  try {
    // "[i for i in range(4)]" is one item, "[a, b]" are two.
    try {
      if (python_values(text)) return {text};
    } catch (const PythonValueError&) {
      throw;
    } catch (const PythonError&) {  // [bfloat16, float16] are words
    }
    return python_items(text);
  } catch (const PythonError& error) {
    refuse(fmt::format("--param {}: {}", name, error.what()));
  }
}

std::vector<Value> param_values(const std::string& name, const std::string& text) {
  const std::vector<std::string> items = param_items(name, text);
  if (std::any_of(items.begin(), items.end(), [](const std::string& item) { return item.empty(); }))
    refuse(fmt::format("--param {}: a value is missing: write NAME:VALUE or NAME:[VALUE, VALUE]", name));
  return written_values(name, items, [](std::size_t, const std::string& why) { refuse("--param " + why); });
}

std::set<std::pair<std::string, bool>> names_of(const KbenchGroup& group) {
  std::set<std::pair<std::string, bool>> names;
  for (const space::Parameter& parameter : group.parameters)
    names.emplace(option_of(group, parameter.name), parameter.compile_time);
  return names;
}

bool same_values(const KbenchGroup& one, const KbenchGroup& other) {
  return std::all_of(one.parameters.begin(), one.parameters.end(), [&](const space::Parameter& parameter) {
    return find_parameter(other, parameter.name)->values == parameter.values;
  });
}

/// The parameters of these names.
std::vector<space::Parameter> taken_out(KbenchGroup& group, const std::vector<std::string>& names) {
  std::vector<space::Parameter> taken, left;
  for (space::Parameter& parameter : group.parameters)
    (std::find(names.begin(), names.end(), parameter.name) != names.end() ? taken : left)
        .push_back(std::move(parameter));
  group.parameters = std::move(left);
  return taken;
}

/// The configurations of the case parameters that the rules leave, in front of those that are there.
void add_cases(KbenchFamily& family, const std::vector<space::Parameter>& taken, const KbenchGroup& group) {
  if (taken.empty()) return;
  std::vector<space::Expression> rules;
  for (const space::Expression& rule : group.rules)
    if (std::all_of(rule.names().begin(), rule.names().end(), [&](const std::string& name) {
          return std::any_of(taken.begin(), taken.end(), [&](const auto& one) { return one.name == name; });
        }))
      rules.push_back(rule);
  const space::Space space(taken, rules, {});
  if (family.cases.empty()) {
    family.cases = taken;
    for (space::Parameter& parameter : family.cases) parameter.values.clear();
  }
  if (space.size() > max_kbench_values) refuse(fmt::format("more than {} cases", max_kbench_values));
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const space::Config config = space.at(index);
    for (space::Parameter& parameter : family.cases)
      for (std::size_t i = 0; i < taken.size(); ++i)
        if (taken[i].name == parameter.name) parameter.values.push_back(config[i]);
  }
}

/// Equal cases once; values of one name of one type.
void tidy_cases(KbenchFamily& family) {
  std::vector<space::Parameter>& cases = family.cases;
  if (cases.empty()) return;
  if (cases.front().values.empty()) refuse("the rules leave no case");
  std::vector<Value> widest;
  for (const space::Parameter& parameter : cases) widest.push_back(alike(parameter.values).front());
  std::set<std::string> seen;
  std::vector<space::Parameter> kept = cases;
  for (space::Parameter& parameter : kept) parameter.values.clear();
  for (std::size_t row = 0; row < cases.front().values.size(); ++row) {
    std::string text;
    for (const space::Parameter& parameter : cases) text += to_text(parameter.values[row]) + "\n";
    if (!seen.insert(text).second) continue;
    for (std::size_t i = 0; i < cases.size(); ++i)
      kept[i].values.push_back(as_type_of(widest[i], cases[i].values[row]));
  }
  cases = std::move(kept);
}

bool has_rule(const KbenchGroup& group, const space::Expression& rule) {
  return std::any_of(group.rules.begin(), group.rules.end(),
                     [&](const space::Expression& own) { return own.text() == rule.text(); });
}

/// Throws for a name that no group has.
void check_cases(const std::vector<KbenchGroup>& groups, const std::vector<std::string>& cases) {
  std::vector<std::string> names;
  for (const KbenchGroup& group : groups)
    for (const space::Parameter& parameter : group.parameters) base::add_once(names, parameter.name);
  for (const std::string& name : cases)
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse(fmt::format("--cases: no parameter '{}'{}", base::printable(name, 80), base::did_you_mean(name, names)));
}

}  // namespace

std::string option_of(const KbenchGroup& group, const std::string& parameter) {
  const auto found = group.options.find(parameter);
  return found == group.options.end() ? parameter : found->second;
}

const space::Parameter* find_parameter(const KbenchGroup& group, const std::string& name) {
  const auto found = std::find_if(group.parameters.begin(), group.parameters.end(),
                                  [&](const space::Parameter& one) { return one.name == name; });
  return found == group.parameters.end() ? nullptr : &*found;
}

space::Parameter named_parameter(const std::string& option, std::map<std::string, std::string>& options) {
  space::Parameter parameter;
  parameter.compile_time = !option.starts_with('$');
  const std::string spelling = parameter.compile_time ? option : option.substr(1);
  parameter.name = spelling;
  for (char& c : parameter.name)
    if (c == '-' || c == '.') c = '_';
  if (parameter.name != spelling) options[parameter.name] = spelling;
  return parameter;
}

std::string name_complaint(const std::string& name, const std::string& option) {
  std::string complaint = spec::identifier_complaint(name);
  if (complaint.empty()) complaint = spec::place_complaint(name);
  return complaint.empty() ? "" : fmt::format("parameter '{}' {}", base::printable(option, 80), complaint);
}

std::vector<Value> written_values(const std::string& name, const std::vector<std::string>& items,
                                  const std::function<void(std::size_t item, const std::string& why)>& refused) {
  std::vector<Value> words, evaluated;
  bool all_python = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    words.emplace_back(items[i]);
    try {
      const auto python = python_values(items[i]);
      all_python = all_python && python;
      if (python) evaluated.insert(evaluated.end(), python->begin(), python->end());
    } catch (const PythonError& error) {
      refused(i, fmt::format("{}: the Python value {} cannot be evaluated: {}. Write the values as a list, or a word "
                             "in quotes within quotes, \"'...'\"",
                             name, base::printable(items[i], 80), error.what()));
    }
    if (evaluated.size() > max_kbench_values) refused(i, fmt::format("more than {} values", max_kbench_values));
  }
  const std::vector<Value>& values = all_python ? evaluated : words;
  if (values.empty()) refused(items.size(), name + " has no values");
  return alike(values);
}

Value as_type_of(const Value& other, const Value& value) {
  if (std::holds_alternative<std::string>(other)) return to_text(value);
  const auto* const integer = std::get_if<std::int64_t>(&value);
  return integer && std::holds_alternative<double>(other) ? Value(static_cast<double>(*integer)) : value;
}

std::vector<Value> alike(const std::vector<Value>& values) {
  // In the order of the alternatives of Value: what is to the right can say all that is to the left.
  const Value widest = *std::max_element(values.begin(), values.end(),
                                         [](const Value& a, const Value& b) { return a.index() < b.index(); });
  std::vector<Value> result;
  std::unordered_set<Value> seen;
  for (const Value& value : values)
    if (Value same = as_type_of(widest, value); seen.insert(same).second) result.push_back(std::move(same));
  return result;
}

void set_params(std::vector<KbenchGroup>& groups, const std::vector<std::string>& params) {
  std::vector<std::pair<std::string, std::vector<Value>>> given;
  for (const std::string& param : params) {
    const std::size_t colon = param.find(':');
    if (colon == 0 || colon == std::string::npos)
      refuse(fmt::format("--param '{}': write NAME:VALUE or NAME:[VALUE, VALUE]", base::printable(param, 80)));
    const std::string name = param.substr(0, colon);
    std::vector<Value> values = param_values(name, param.substr(colon + 1));
    const auto same = std::find_if(given.begin(), given.end(), [&](const auto& one) { return one.first == name; });
    if (same == given.end()) {
      given.emplace_back(name, std::move(values));
    } else {
      same->second.insert(same->second.end(), values.begin(), values.end());
      same->second = alike(same->second);
    }
  }
  for (KbenchGroup& group : groups)
    for (const auto& [option, values] : given) {
      std::map<std::string, std::string> spelling;
      space::Parameter parameter = named_parameter(option, spelling);
      if (const std::string complaint = name_complaint(parameter.name, option); !complaint.empty())
        refuse("--param " + complaint);
      parameter.values = values;
      const auto same = std::find_if(group.parameters.begin(), group.parameters.end(),
                                     [&](const space::Parameter& one) { return one.name == parameter.name; });
      if (same != group.parameters.end()) {
        same->values = values;
      } else {
        group.options.merge(spelling);
        group.parameters.push_back(std::move(parameter));
      }
    }
}

std::vector<KbenchFamily> families_of(std::vector<KbenchGroup> groups, const std::vector<std::string>& cases) {
  check_cases(groups, cases);
  std::vector<KbenchFamily> families;
  for (KbenchGroup& group : groups) {
    const auto names = names_of(group);
    const std::vector<space::Parameter> taken = taken_out(group, cases);
    const auto same = std::find_if(families.begin(), families.end(), [&](const KbenchFamily& family) {
      KbenchGroup first = family.groups.front();
      first.parameters.insert(first.parameters.end(), family.cases.begin(), family.cases.end());
      return names_of(first) == names && (taken.empty() || same_values(group, first));
    });
    KbenchFamily& family = same == families.end() ? families.emplace_back() : *same;
    add_cases(family, taken, group);
    if (taken.empty() || family.groups.empty()) family.groups.push_back(std::move(group));
  }
  for (KbenchFamily& family : families) tidy_cases(family);
  return families;
}

void set_shapes(std::vector<KbenchFamily>& families, const std::vector<KbenchGroup>& shapes) {
  for (const KbenchGroup& shape : shapes)
    if (names_of(shape) != names_of(shapes.front()))
      refuse("--shapes: the shapes have different parameters; import them one by one");
  for (KbenchFamily& family : families) {
    for (const space::Parameter& parameter : shapes.front().parameters)
      if (find_parameter(family.groups.front(), parameter.name))
        refuse(fmt::format("--shapes: '{}' is a parameter of the benchmark's file, too", parameter.name));
    for (KbenchGroup shape : shapes) {
      // The benchmark's rules that are only about shapes choose among these.
      for (const space::Expression& rule : family.groups.front().rules)
        if (std::all_of(family.groups.begin(), family.groups.end(),
                        [&](const KbenchGroup& group) { return has_rule(group, rule); }))
          shape.rules.push_back(rule);
      add_cases(family, shape.parameters, shape);
    }
    tidy_cases(family);
    for (KbenchGroup& group : family.groups)
      group.options.insert(shapes.front().options.begin(), shapes.front().options.end());
  }
}

}  // namespace xtune::replay
