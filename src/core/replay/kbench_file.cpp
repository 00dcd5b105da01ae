// Reads kbench's YAML. The only file that uses yaml-cpp.
#include "core/replay/kbench_file.hpp"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/text.hpp"
#include "core/spec/command_text.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_values = 100'000;
constexpr int max_depth = 32;

class KbenchReader {
 public:
  explicit KbenchReader(const fs::path& path) : path_(path) {}

  KbenchFile read(const std::string& text) const {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) fail(documents[1], "a second document, behind ---: a kbench file is one");
    const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
    if (!root.IsMap()) fail(root, "a kbench file is a mapping with name, file and params");
    std::set<std::string> keys;
    for (const auto& entry : root) {
      const std::string key = key_of(entry.first);
      if (!keys.insert(key).second) fail(entry.first, "'" + key + "' is there twice");
      const std::vector<std::string> known{"name", "file", "params", "rules"};
      if (std::find(known.begin(), known.end(), key) == known.end() && key != "metadata")
        fail(entry.first, "unknown key '" + base::printable(key, 80) + "'" + base::did_you_mean(key, known));
    }
    for (const char* key : {"name", "file"})
      if (!root[key] || !root[key].IsScalar()) fail(root, fmt::format("the key '{}' is missing", key));
    KbenchFile read{root["name"].as<std::string>(), benchmark_file(root["file"]), {}, {}};
    if (root["rules"]) read.rules = rules_of(root["rules"]);
    read.families = families(root);
    return read;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& why) const { fail(node.Mark(), why); }
  [[noreturn]] void fail(const YAML::Mark& at, const std::string& why) const {
    const std::string place =
        at.is_null() ? path_.string() : fmt::format("{}:{}:{}", path_.string(), at.line + 1, at.column + 1);
    throw Error(ErrorKind::invalid_argument, place + ": " + why);
  }

 private:
  /// Expands $NAME and ${NAME} from the environment.
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
    fail(node, fmt::format("file: {} does not exist", base::printable(file)));
  }

  std::vector<space::Expression> rules_of(const YAML::Node& node) const {
    if (node.IsScalar())
      fail(node, fmt::format("rules is a list: write rules: [\"{}\"]", base::printable(node.as<std::string>(), 200)));
    if (!node.IsSequence() && !node.IsNull()) fail(node, "rules is a list of expressions, each a text");
    std::vector<space::Expression> rules;
    for (const YAML::Node& rule : list_of(node)) rules.push_back(rule_of(rule));
    return rules;
  }

  space::Expression rule_of(const YAML::Node& node) const {
    if (!node.IsScalar()) fail(node, "rules is a list of expressions, each a text");
    std::string text = node.as<std::string>();
    std::erase(text, '$');
    try {
      return space::Expression::parse(text);
    } catch (const space::ExpressionError& error) {
      fail(node, fmt::format("the rule '{}': {}", base::printable(text, 200), error.what()));
    }
  }

  void flatten(const YAML::Node& node, std::vector<YAML::Node>& to, int depth = 0) const {
    // Nested aliases expand a few lines to many values, and an alias of a list that contains it is infinite.
    if (to.size() >= max_values) fail(node, fmt::format("more than {} values", max_values));
    if (depth > max_depth) fail(node, fmt::format("a list in a list, more than {} deep", max_depth));
    if (!node.IsSequence()) return to.push_back(node);
    for (const YAML::Node& item : list_of(node)) flatten(item, to, depth + 1);
  }

  static std::optional<Value> number_of(const std::string& word) {
    try {
      const Value value = space::Expression::parse(word).evaluate([](std::string_view) { return nullptr; });
      const auto* const floating = std::get_if<double>(&value);
      if (std::holds_alternative<std::int64_t>(value) || (floating && std::isfinite(*floating))) return value;
    } catch (const space::ExpressionError&) {
    }
    return std::nullopt;
  }

  /// As kbench reads them: all are arithmetic, or all are words. Python's True is a word for -D.
  std::vector<Value> values_of(const YAML::Node& node, const std::string& name) const {
    std::vector<YAML::Node> items;
    flatten(node, items);
    std::vector<Value> numbers, words;
    for (const YAML::Node& item : items) {
      if (!item.IsScalar()) fail(item, fmt::format("{}: a value is a number or a word", name));
      words.emplace_back(item.as<std::string>());
      if (!base::is_utf8(item.as<std::string>())) fail(item, fmt::format("{}: a value is not valid UTF-8", name));
      if (const auto number = number_of(item.as<std::string>())) numbers.push_back(*number);
    }
    if (words.empty()) fail(node, name + " has no values");
    return alike(numbers.size() == words.size() ? numbers : words);
  }

  void check_name(const YAML::Node& node, const std::string& name) const {
    std::string complaint = spec::identifier_complaint(name);
    if (complaint.empty()) complaint = spec::place_complaint(name);
    if (!complaint.empty()) fail(node, fmt::format("parameter '{}' {}", base::printable(name, 80), complaint));
  }

  std::string key_of(const YAML::Node& node) const {
    if (!node.IsScalar()) fail(node, "a key is a word");
    return node.as<std::string>();
  }

  using Entries = std::vector<std::pair<YAML::Node, YAML::Node>>;

  /// Merges as in YAML 1.1: entries of `<<` come first, and are replaced by entries with the same name. left: how many
  /// more entries may be visited.
  Entries entries_of(const YAML::Node& node, std::size_t& left, int depth = 0) const {
    if (!node.IsMap())
      fail(node, depth > 0 ? "<< merges a mapping, or a list of them" : "params: a group maps names to values");
    if (depth > max_depth) fail(node, fmt::format("merges of merges, more than {} deep", max_depth));
    Entries merged, own;
    std::set<std::string> names;
    for (const auto& entry : node) {
      if (left-- == 0) fail(node, fmt::format("more than {} values", max_values));
      const std::string key = key_of(entry.first);
      if (key == "<<" && entry.first.Tag() != "!")
        for (const YAML::Node& from : entry.second.IsSequence() ? list_of(entry.second) : std::vector{entry.second})
          for (auto& one : entries_of(from, left, depth + 1)) merged.push_back(std::move(one));
      else if (names.insert(key).second)
        own.emplace_back(entry.first, entry.second);
      else
        fail(entry.first, "'" + base::printable(key, 80) + "' is there twice");
    }
    Entries entries;
    for (auto& one : merged)
      if (names.insert(key_of(one.first)).second) entries.push_back(std::move(one));
    entries.insert(entries.end(), own.begin(), own.end());
    return entries;
  }

  static std::vector<YAML::Node> list_of(const YAML::Node& node) {
    std::vector<YAML::Node> items;
    for (std::size_t i = 0; i < node.size(); ++i) items.push_back(node[i]);
    return items;
  }

  KbenchGroup read_group(const YAML::Node& node) const {
    KbenchGroup group;
    std::set<std::string> names;
    std::size_t left = max_values;
    for (const auto& [key, values] : entries_of(node, left)) {
      const std::string name = key_of(key);
      if (name == "metadata") continue;
      space::Parameter parameter;
      parameter.compile_time = !name.starts_with('$');
      parameter.name = parameter.compile_time ? name : name.substr(1);
      check_name(key, parameter.name);
      if (!names.insert(parameter.name).second)
        fail(key, "'" + parameter.name + "' is there twice, with $ and without");
      parameter.values = values_of(values, parameter.name);
      group.parameters.push_back(std::move(parameter));
    }
    return group;
  }

  std::vector<KbenchFamily> families(const YAML::Node& root) const {
    const YAML::Node params = root["params"];
    if (!params || params.IsNull()) fail(params ? params : root, "the key 'params' is missing: nothing to tune");
    std::vector<KbenchFamily> families;
    for (const YAML::Node& node : params.IsSequence() ? list_of(params) : std::vector{params}) {
      KbenchGroup group = read_group(node);
      const auto same = std::find_if(families.begin(), families.end(), [&](const KbenchFamily& family) {
        return names_of(family.groups.front()) == names_of(group);
      });
      if (same == families.end())
        families.push_back({{std::move(group)}});
      else
        same->groups.push_back(std::move(group));
    }
    if (std::all_of(families.begin(), families.end(),
                    [](const KbenchFamily& family) { return family.groups.front().parameters.empty(); }))
      fail(params, "the key 'params' is missing: nothing to tune");
    return families;
  }

  static std::set<std::pair<std::string, bool>> names_of(const KbenchGroup& group) {
    std::set<std::pair<std::string, bool>> names;
    for (const space::Parameter& parameter : group.parameters) names.emplace(parameter.name, parameter.compile_time);
    return names;
  }

  const fs::path& path_;
};

}  // namespace

Value as_type_of(const Value& other, const Value& value) {
  if (std::holds_alternative<std::string>(other)) return to_text(value);
  const auto* const integer = std::get_if<std::int64_t>(&value);
  return integer && std::holds_alternative<double>(other) ? Value(static_cast<double>(*integer)) : value;
}

std::vector<Value> alike(const std::vector<Value>& values) {
  // In the order of the alternatives of Value: each type can represent the values of those before it.
  const Value widest = *std::max_element(values.begin(), values.end(),
                                         [](const Value& a, const Value& b) { return a.index() < b.index(); });
  std::vector<Value> result;
  std::unordered_set<Value> seen;
  for (const Value& value : values)
    if (Value same = as_type_of(widest, value); seen.insert(same).second) result.push_back(std::move(same));
  return result;
}

KbenchFile read_kbench(const std::string& text, const fs::path& path) {
  const KbenchReader reader(path);
  try {
    return reader.read(text);
  } catch (const YAML::Exception& error) {
    reader.fail(error.mark, error.msg);
  }
}

}  // namespace xtune::replay
