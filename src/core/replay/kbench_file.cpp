// Reads kbench's YAML. The only file that uses yaml-cpp.
#include "core/replay/kbench_file.hpp"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "base/text.hpp"
#include "core/spec/command_text.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_values = max_kbench_values;
constexpr int max_depth = 32;

class KbenchReader {
 public:
  explicit KbenchReader(const fs::path& path) : path_(path) {}

  KbenchFile read(const std::string& text, bool of_benchmark) const {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) fail(documents[1], "a second document, behind ---: a kbench file is one");
    const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
    if (!root.IsMap()) fail(root, "a kbench file is a mapping with name, file and params");
    check_keys(root);
    KbenchFile read;
    if (of_benchmark) {
      for (const char* key : {"name", "file"})
        if (!root[key] || !root[key].IsScalar()) fail(root, fmt::format("the key '{}' is missing", key));
      read.name = root["name"].as<std::string>();
      read.file = benchmark_file(root["file"]);
    }
    read.groups = groups(root);
    if (root["rules"]) {
      const std::vector<space::Expression> rules = rules_of(root["rules"], read.groups);
      for (KbenchGroup& group : read.groups) group.rules = rules;
    }
    return read;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& why) const { fail(node.Mark(), why); }
  [[noreturn]] void fail(const YAML::Mark& at, const std::string& why) const {
    const std::string place =
        at.is_null() ? path_.string() : fmt::format("{}:{}:{}", path_.string(), at.line + 1, at.column + 1);
    throw Error(ErrorKind::invalid_argument, place + ": " + why);
  }

 private:
  /// Keys that kbench does not know hold what groups merge (`commons: &commons`).
  void check_keys(const YAML::Node& root) const {
    std::set<std::string> keys;
    for (const auto& entry : root) {
      const std::string key = key_of(entry.first);
      if (!keys.insert(key).second) fail(entry.first, "'" + key + "' is there twice");
    }
    std::vector<std::string> missing;
    for (const char* known : {"name", "file", "params"})
      if (!keys.contains(known)) missing.emplace_back(known);
    for (const auto& entry : root)
      if (const std::string key = key_of(entry.first); !base::nearest_word(key, missing).empty())
        fail(entry.first, "unknown key '" + base::printable(key, 80) + "'" + base::did_you_mean(key, missing));
  }

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

  std::vector<space::Expression> rules_of(const YAML::Node& node, const std::vector<KbenchGroup>& groups) const {
    if (node.IsScalar())
      fail(node, fmt::format("rules is a list: write rules: [\"{}\"]", base::printable(node.as<std::string>(), 200)));
    if (!node.IsSequence() && !node.IsNull()) fail(node, "rules is a list of expressions, each a text");
    std::vector<space::Expression> rules;
    for (const YAML::Node& rule : list_of(node)) rules.push_back(rule_of(rule, groups));
    return rules;
  }

  space::Expression rule_of(const YAML::Node& node, const std::vector<KbenchGroup>& groups) const {
    if (!node.IsScalar()) fail(node, "rules is a list of expressions, each a text");
    std::string text = node.as<std::string>();
    for (const KbenchGroup& group : groups)
      for (const auto& [name, option] : group.options)
        for (std::size_t at = 0; (at = text.find("$" + option, at)) != std::string::npos; at += name.size())
          text.replace(at, option.size() + 1, name);
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

  /// As kbench takes them: all of them Python, or all of them words.
  std::vector<Value> values_of(const YAML::Node& node, const std::string& name) const {
    std::vector<YAML::Node> items;
    flatten(node, items);
    std::vector<std::string> words;
    for (const YAML::Node& item : items) {
      if (!item.IsScalar()) fail(item, fmt::format("{}: a value is a number or a word", name));
      words.push_back(item.as<std::string>());
      if (!base::is_utf8(words.back())) fail(item, fmt::format("{}: a value is not valid UTF-8", name));
    }
    const auto refused = [&](std::size_t i, const std::string& why) { fail(i < items.size() ? items[i] : node, why); };
    return written_values(name, words, refused);
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
    std::size_t left = max_values;
    for (const auto& [key, values] : entries_of(node, left)) {
      const std::string name = key_of(key);
      if (name == "metadata") continue;
      space::Parameter parameter = named_parameter(name, group.options);
      if (const std::string complaint = name_complaint(parameter.name, name); !complaint.empty()) fail(key, complaint);
      if (find_parameter(group, parameter.name))
        fail(key, "'" + parameter.name + "' is there twice, with $ and without");
      parameter.values = values_of(values, parameter.name);
      group.parameters.push_back(std::move(parameter));
    }
    return group;
  }

  std::vector<KbenchGroup> groups(const YAML::Node& root) const {
    const YAML::Node params = root["params"];
    if (!params || params.IsNull()) fail(params ? params : root, "the key 'params' is missing: nothing to tune");
    std::vector<KbenchGroup> groups;
    for (const YAML::Node& node : params.IsSequence() ? list_of(params) : std::vector{params})
      groups.push_back(read_group(node));
    if (std::all_of(groups.begin(), groups.end(), [](const KbenchGroup& group) { return group.parameters.empty(); }))
      fail(params, "the key 'params' holds no parameters: nothing to tune");
    return groups;
  }

  const fs::path& path_;
};

}  // namespace

KbenchFile read_kbench(const KbenchText& text, KbenchPart part) {
  const KbenchReader reader(text.path);
  try {
    return reader.read(text.text, part == KbenchPart::benchmark);
  } catch (const YAML::Exception& error) {
    reader.fail(error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace xtune::replay
