// Reads kbench's YAML, and writes what it says as TOML. The only file that sees yaml-cpp.
#include "core/import/kbench.hpp"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "core/device/program_call.hpp"
#include "core/space/expression.hpp"
#include "core/space/space.hpp"
#include "core/spec/configs_csv.hpp"
#include "core/spec/template_text.hpp"
#include "core/spec/toml_text.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

struct Group {
  std::vector<Parameter> parameters;  ///< compile_time: a -D
};

/// Groups of the same names, in the order of the first.
struct Family {
  std::vector<Group> groups;
};

class Reader {
 public:
  Reader(const fs::path& path, const KbenchOptions& options) : path_(path), options_(options) {}

  std::vector<KbenchSpec> read(const std::string& text, const std::string& stem) {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) fail(root, "a kbench file is a mapping with name, file and params");
    for (const char* key : {"name", "file"})
      if (!root[key] || !root[key].IsScalar()) fail(root, std::string("there is no ") + key);
    for (const auto& entry : root) {
      const std::string key = entry.first.as<std::string>();
      const std::vector<std::string> known{"name", "file", "params", "rules"};
      if (std::find(known.begin(), known.end(), key) == known.end() && key != "metadata")
        fail(entry.first, "unknown key '" + printable(key, 80) + "'" + did_you_mean(key, known));
    }
    name_ = root["name"].as<std::string>();
    file_ = benchmark_file(root["file"]);
    if (root["rules"])
      for (std::size_t i = 0; i < root["rules"].size(); ++i) read_rule(root["rules"][i]);
    std::vector<KbenchSpec> specs;
    for (const Family& family : families(root)) {
      const std::string own = specs.empty() ? stem : fmt::format("{}-{}", stem, specs.size() + 1);
      specs.push_back(write(family, own));
    }
    return specs;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& why) const { fail(node.Mark(), why); }
  [[noreturn]] void fail(const YAML::Mark& at, const std::string& why) const {
    const std::string place =
        at.is_null() ? path_.string() : fmt::format("{}:{}:{}", path_.string(), at.line + 1, at.column + 1);
    throw Error(ErrorKind::invalid_argument, place + ": " + why);
  }

 private:
  /// $NAME and ${NAME} are the environment's.
  fs::path benchmark_file(const YAML::Node& node) const {
    const std::string text = node.as<std::string>();
    std::string file;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$') {
        file += text[i];
        continue;
      }
      const bool braced = i + 1 < text.size() && text[i + 1] == '{';
      std::size_t start = i + (braced ? 2 : 1), end = start;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
      const std::string variable = text.substr(start, end - start);
      const char* value = std::getenv(variable.c_str());
      if (!value)
        fail(node, fmt::format("file: the environment has no {}: set it to where the benchmarks are", variable));
      file += value;
      i = braced ? end : end - 1;
    }
    std::error_code ignored;
    for (const fs::path& folder : {path_.parent_path(), fs::path()})
      if (const fs::path found = fs::absolute(folder / file); fs::is_regular_file(found, ignored))
        return found.lexically_normal();
    fail(node, fmt::format("file: {} does not exist", printable(file)));
  }

  void read_rule(const YAML::Node& node) {
    std::string text = node.as<std::string>();
    std::erase(text, '$');
    try {
      rules_.push_back(Expression::parse(text));
    } catch (const ExpressionError& error) {
      fail(node, fmt::format("the rule '{}': {}", printable(text, 200), error.what()));
    }
  }

  static void flatten(const YAML::Node& node, std::vector<YAML::Node>& to) {
    if (!node.IsSequence()) return to.push_back(node);
    for (std::size_t i = 0; i < node.size(); ++i) flatten(node[i], to);
  }

  /// As kbench takes them: all of them arithmetic, or all of them words. What Python calls True is a word for -D.
  std::vector<Value> values_of(const YAML::Node& node, const std::string& name) const {
    std::vector<YAML::Node> items;
    flatten(node, items);
    std::vector<Value> numbers, words;
    bool arithmetic = true;
    for (const YAML::Node& item : items) {
      if (!item.IsScalar()) fail(item, fmt::format("{}: a value is a number or a word", name));
      const std::string word = item.as<std::string>();
      words.emplace_back(word);
      try {
        const Value value = Expression::parse(word).evaluate([](std::string_view) { return nullptr; });
        arithmetic = arithmetic &&
                     (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value)) &&
                     (numbers.empty() || numbers.front().index() == value.index());
        numbers.push_back(value);
      } catch (const ExpressionError&) {
        arithmetic = false;
      }
    }
    std::vector<Value> distinct;
    for (const Value& value : arithmetic ? numbers : words)
      if (std::find(distinct.begin(), distinct.end(), value) == distinct.end()) distinct.push_back(value);
    if (distinct.empty()) fail(node, name + " has no values");
    return distinct;
  }

  Group read_group(const YAML::Node& node) const {
    if (!node.IsMap()) fail(node, "params: a group maps names to values");
    Group group;
    for (const auto& entry : node) {
      std::string name = entry.first.as<std::string>();
      if (name == "metadata") continue;
      Parameter parameter;
      parameter.compile_time = !name.starts_with('$');
      parameter.name = parameter.compile_time ? name : name.substr(1);
      const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
      if (parameter.name.empty() || std::isdigit(static_cast<unsigned char>(parameter.name[0])) ||
          !std::all_of(parameter.name.begin(), parameter.name.end(), part))
        fail(entry.first,
             fmt::format("'{}' is no name that a spec can have: letters, digits and _", printable(name, 80)));
      parameter.values = values_of(entry.second, parameter.name);
      group.parameters.push_back(std::move(parameter));
    }
    return group;
  }

  std::vector<Family> families(const YAML::Node& root) const {
    const YAML::Node params = root["params"];
    if (!params) fail(root, "there are no params: nothing to tune");
    std::vector<YAML::Node> nodes;
    if (params.IsSequence())
      for (std::size_t i = 0; i < params.size(); ++i) nodes.push_back(params[i]);
    else
      nodes.push_back(params);
    std::vector<Family> families;
    for (const YAML::Node& node : nodes) {
      Group group = read_group(node);
      const auto same = std::find_if(families.begin(), families.end(), [&](const Family& family) {
        return names_of(family.groups.front()) == names_of(group);
      });
      if (same == families.end())
        families.push_back({{std::move(group)}});
      else
        same->groups.push_back(std::move(group));
    }
    return families;
  }

  static std::set<std::pair<std::string, bool>> names_of(const Group& group) {
    std::set<std::pair<std::string, bool>> names;
    for (const Parameter& parameter : group.parameters) names.emplace(parameter.name, parameter.compile_time);
    return names;
  }

  /// Values of all groups; those that are words in one are words in all.
  static std::vector<Parameter> united(const Family& family) {
    std::vector<Parameter> parameters = family.groups.front().parameters;
    for (Parameter& parameter : parameters) {
      std::vector<Value> all;
      bool alike = true;
      for (const Group& group : family.groups)
        for (const Value& value : own_values(group, parameter.name)) {
          alike = alike && (all.empty() || all.front().index() == value.index());
          all.push_back(value);
        }
      parameter.values.clear();
      for (const Value& each : all) {
        const Value value = alike ? each : Value(to_text(each));
        if (std::find(parameter.values.begin(), parameter.values.end(), value) == parameter.values.end())
          parameter.values.push_back(value);
      }
    }
    return parameters;
  }

  static const std::vector<Value>& own_values(const Group& group, const std::string& name) {
    return std::find_if(group.parameters.begin(), group.parameters.end(),
                        [&](const Parameter& one) { return one.name == name; })
        ->values;
  }

  bool applies(const Expression& rule, const std::vector<Parameter>& parameters) const {
    return std::all_of(rule.names().begin(), rule.names().end(), [&](const std::string& name) {
      return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == name; });
    });
  }

  /// Each group's product in turn, without repetitions and what a rule forbids.
  std::string listed(const Family& family, const std::vector<Parameter>& parameters) const {
    std::vector<std::vector<std::uint32_t>> rows;
    std::set<std::vector<std::uint32_t>> seen;
    for (const Group& group : family.groups) {
      std::vector<Parameter> own = parameters;
      for (Parameter& parameter : own) {
        const bool words = std::holds_alternative<std::string>(parameter.values.front());
        parameter.values.clear();
        for (const Value& value : own_values(group, parameter.name))
          parameter.values.push_back(words ? Value(to_text(value)) : value);
      }
      std::vector<Expression> constraints;
      for (const Expression& rule : rules_)
        if (applies(rule, own)) constraints.push_back(rule);
      const Space space(own, constraints, {});
      for (std::uint64_t index = 0; index < space.size(); ++index) {
        std::vector<std::uint32_t> row;
        const Config config = space.at(index);
        for (std::size_t i = 0; i < config.size(); ++i) {
          const auto& values = parameters[i].values;
          row.push_back(
              static_cast<std::uint32_t>(std::find(values.begin(), values.end(), config[i]) - values.begin()));
        }
        if (seen.insert(row).second) rows.push_back(std::move(row));
      }
    }
    if (rows.empty()) throw Error(ErrorKind::nothing_valid, path_.string() + ": the rules leave no configuration");
    return configs_text(Space::listed(parameters, std::move(rows)));
  }

  KbenchSpec write(const Family& family, const std::string& stem) const {
    const std::vector<Parameter> parameters = united(family);
    KbenchSpec result;
    result.stem = stem;
    if (family.groups.size() > 1) result.configs = listed(family, parameters);
    std::string text = "# From kbench's " + printable(path_.filename().string()) + ".\n";
    std::replace(text.begin(), text.end() - 1, '\n', ' ');
    text += "[kernel]\nname = " + toml_string(kernel_name()) + "\n\n[space]\n";
    if (!result.configs.empty())
      text += "configs = " + toml_string(stem + ".configs.csv") + "\n";
    else
      text += constraints_text(parameters);
    text += "\n[space.params]\n";
    for (const Parameter& parameter : parameters) text += parameter.name + " = " + toml_list(parameter.values) + "\n";
    result.spec = text + process_text(parameters);
    return result;
  }

  std::string constraints_text(const std::vector<Parameter>& parameters) const {
    std::string list;
    for (const Expression& rule : rules_)
      if (applies(rule, parameters)) list += "  " + toml_string(rule.text()) + ",\n";
    return list.empty() ? "" : "constraints = [\n" + list + "]\n";
  }

  std::string process_text(const std::vector<Parameter>& parameters) const {
    const bool python = file_.extension() == ".py";
    const std::string file = to_call_text(file_.string());
    std::vector<Value> build{std::string("mojo"), std::string("build")}, run{std::string("{out}")};
    if (python) run = {std::string("python3"), file};
    for (const std::string& word : options_.build_opts) build.emplace_back(to_call_text(word));
    for (const Parameter& parameter : parameters) {
      const std::string both = fmt::format("{0}={{{0}}}", parameter.name);
      if (python || !parameter.compile_time) {
        run.emplace_back("--" + both);
      } else {
        build.emplace_back(std::string("-D"));
        build.emplace_back(both);
      }
    }
    build.insert(build.end(), {file, std::string("-o"), std::string("{out}")});
    run.insert(run.end(), {std::string("-o"), std::string("{tmp}/kbench.csv")});
    std::string text = "\n[process]\n";
    if (!python) text += "build = " + toml_list(build) + "\n";
    text += "run = " + toml_list(run) + "\nsources = " + toml_list({file_.string()}) + "\n";
    if (options_.device != "host") text += "device = " + toml_string(options_.device) + "\n";
    return text + "timeout_s = 120\ntime = { csv = \"met (ms)\", file = \"{tmp}/kbench.csv\" }\n";
  }

  std::string kernel_name() const {
    std::string name = name_.substr(0, 100);
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && std::string_view("_-+.").find(c) == std::string_view::npos)
        c = '_';
    return name.empty() || name[0] == '.' ? "_" + name.substr(0, 99) : name;
  }

  const fs::path& path_;
  const KbenchOptions& options_;
  std::string name_;
  fs::path file_;
  std::vector<Expression> rules_;
};

}  // namespace

std::vector<KbenchSpec> import_kbench(const std::string& text, const fs::path& path, const std::string& stem,
                                      const KbenchOptions& options) {
  Reader reader(path, options);
  try {
    return reader.read(text, stem);
  } catch (const YAML::Exception& error) {
    reader.fail(error.mark, error.msg);
  } catch (const ConstraintError& error) {
    throw Error(ErrorKind::invalid_argument, path.string() + ": a rule cannot be evaluated: " + error.what());
  }
}

}  // namespace xtune
