// Decision trees over problem sizes, as JSON and as a C++ header.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "core/record/record_json.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/config_tree.hpp"
#include "core/store/cover.hpp"
#include "core/store/export.hpp"
#include "core/store/header_text.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double not_measured = std::numeric_limits<double>::infinity();

/// The answer of a tree at a measured case.
struct TreeAnswer {
  const MeasuredCase* of = nullptr;
  std::size_t config = 0;
  std::optional<double> time_ms;  ///< unset: that configuration was not measured there
  double best_ms() const { return of->times_ms.front().second; }
  /// 0.05: five percent slower than the best.
  std::optional<double> regret() const {
    if (!time_ms) return std::nullopt;
    return std::max(*time_ms / best_ms(), 1.0) - 1;
  }
};

/// The tree of a kernel on an architecture.
struct ArchTree {
  std::string kernel, arch;
  std::vector<Bindings> configs;
  ConfigTree tree;
  std::vector<TreeAnswer> answers;

  std::size_t measured() const {
    return static_cast<std::size_t>(
        std::count_if(answers.begin(), answers.end(), [](const TreeAnswer& one) { return one.time_ms.has_value(); }));
  }
  std::size_t above(double within) const {
    return static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(), [&](const TreeAnswer& one) { return one.regret().value_or(0) > within; }));
  }
  double max_regret() const {
    double largest = 0;
    for (const TreeAnswer& one : answers) largest = std::max(largest, one.regret().value_or(0));
    return largest;
  }
  double mean_regret() const {
    double sum = 0;
    for (const TreeAnswer& one : answers) sum += one.regret().value_or(0);
    return measured() ? sum / static_cast<double>(measured()) : 0;
  }
};

/// Configurations numbered by their first appearance, and ratios[case][configuration].
struct Ratios {
  std::vector<Bindings> configs;
  std::vector<std::vector<double>> rows;
};

Ratios ratios_of(const std::vector<const MeasuredCase*>& cases) {
  Ratios ratios;
  std::map<Bindings, std::size_t> numbers;
  for (const MeasuredCase* one : cases)
    for (const auto& [config, time_ms] : one->times_ms)
      if (numbers.emplace(config, numbers.size()).second) ratios.configs.push_back(config);
  for (const MeasuredCase* one : cases) {
    std::vector<double>& row = ratios.rows.emplace_back(numbers.size(), not_measured);
    for (const auto& [config, time_ms] : one->times_ms) {
      double& ratio = row[numbers.at(config)];
      ratio = std::min(ratio, std::max(time_ms / one->times_ms.front().second, 1.0));
    }
  }
  return ratios;
}

ArchTree tree_of(const std::vector<const MeasuredCase*>& cases, const TreeOptions& options) {
  ArchTree result{cases.front()->kernel, cases.front()->arch, {}, {}, {}};
  const double limit = 1 + options.within;
  const Ratios ratios = ratios_of(cases);
  const Cover cover = smallest_cover(ratios.rows, limit, options.max_configs, Preference::measured);
  std::vector<TreeCase> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    TreeCase row{&cases[i]->problem, {}};
    for (const std::size_t config : cover.configs) row.ratios.push_back(ratios.rows[i][config]);
    rows.push_back(std::move(row));
  }
  result.tree = grow_tree(rows, limit, options.max_depth);
  // Only the configurations that a leaf has.
  std::map<std::size_t, std::size_t> numbers;
  for (TreeNode& node : result.tree) {
    if (!node.size.empty()) continue;
    const auto [place, is_new] = numbers.emplace(cover.configs[node.config], numbers.size());
    if (is_new) result.configs.push_back(ratios.configs[place->first]);
    node.config = place->second;
  }
  for (const MeasuredCase* one : cases) {
    TreeAnswer answer{one, choose(result.tree, one->problem), {}};
    for (const auto& [config, time_ms] : one->times_ms)
      if (config == result.configs[answer.config]) {
        answer.time_ms = answer.time_ms ? std::min(*answer.time_ms, time_ms) : time_ms;
      }
    result.answers.push_back(answer);
  }
  return result;
}

void warn_of_tree(const ArchTree& tree, const TreeOptions& options, std::vector<std::string>& warnings) {
  const std::size_t unmeasured = tree.answers.size() - tree.measured(), above = tree.above(options.within);
  if (unmeasured + above == 0) return;
  warnings.push_back(fmt::format(
      "{} on {}: of {} cases, {} are more than {:.3g} % above their best, and {} were not measured with the chosen "
      "configuration; raise --max-configs, --within or --max-depth, or measure more configurations on all cases",
      base::printable(tree.kernel, 80), base::printable(tree.arch, 80), tree.answers.size(), above,
      options.within * 100, unmeasured));
}

/// By kernel and architecture. cases must outlive the result.
std::vector<ArchTree> trees_of(const std::vector<MeasuredCase>& cases, const TreeOptions& options,
                               std::vector<std::string>& warnings) {
  if (cases.empty()) throw no_answers();
  std::map<std::string, const MeasuredCase*> newest;
  for (const MeasuredCase& one : cases) {
    const MeasuredCase*& known = newest[one.kernel];
    if (!known || one.newest_unix_ms > known->newest_unix_ms) known = &one;
  }
  std::map<std::pair<std::string, std::string>, std::vector<const MeasuredCase*>> groups;
  std::map<std::string, std::size_t> skipped;
  for (const MeasuredCase& one : cases) {
    const MeasuredCase& like = *newest[one.kernel];
    const bool fits = same_names(one.problem, like.problem) &&
                      std::all_of(one.times_ms.begin(), one.times_ms.end(), [&](const auto& time) {
                        return same_names(time.first, like.times_ms.front().first);
                      });
    if (fits)
      groups[{one.kernel, one.arch}].push_back(&one);
    else
      ++skipped[one.kernel];
  }
  for (const auto& [kernel, count] : skipped)
    warnings.push_back(fmt::format("{}: {} cases skipped: their parameters or dimensions differ from the newest's",
                                   base::printable(kernel, 80), count));
  std::vector<ArchTree> trees;
  for (const auto& [name, group] : groups) {
    trees.push_back(tree_of(group, options));
    warn_of_tree(trees.back(), options, warnings);
  }
  return trees;
}

template <class T>
OrderedJson json_or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson node_json(const TreeNode& node) {
  if (node.size.empty()) return {{"config", node.config}};
  return {{"size", node.size},
          {asks_equality(node) ? "equals" : "at_most", OrderedJson(record::to_json(node.value))},
          {"then", node.then},
          {"else", node.otherwise}};
}

OrderedJson tree_json(const ArchTree& tree, const TreeOptions& options) {
  OrderedJson json{{"kernel", tree.kernel},
                   {"arch", tree.arch},
                   {"within", options.within},
                   {"max_regret", tree.max_regret()},
                   {"mean_regret", tree.mean_regret()},
                   {"above", tree.above(options.within)},
                   {"not_measured", tree.answers.size() - tree.measured()}};
  for (const char* list : {"configs", "nodes", "cases"}) json[list] = OrderedJson::array();
  for (const Bindings& config : tree.configs) json["configs"].push_back(bindings_json(config));
  for (const TreeNode& node : tree.tree) json["nodes"].push_back(node_json(node));
  for (const TreeAnswer& answer : tree.answers)
    json["cases"].push_back({{"problem", bindings_json(answer.of->problem)},
                             {"device", answer.of->device},
                             {"config", answer.config},
                             {"time_ms", json_or_null(answer.time_ms)},
                             {"best", bindings_json(answer.of->times_ms.front().first)},
                             {"best_ms", answer.best_ms()},
                             {"regret", json_or_null(answer.regret())}});
  return json;
}

/// The fields of a kernel's structures, over the trees of all its architectures.
struct KernelFields {
  std::vector<HeaderField> parameters, dimensions;
};

KernelFields kernel_fields(const std::vector<const ArchTree*>& trees) {
  std::vector<const Bindings*> configs, problems;
  for (const ArchTree* tree : trees) {
    for (const Bindings& config : tree->configs) configs.push_back(&config);
    for (const TreeAnswer& answer : tree->answers) problems.push_back(&answer.of->problem);
  }
  return {header_fields(configs), header_fields(problems)};
}

std::string node_text(const ArchTree& tree, std::size_t number, const KernelFields& fields, std::size_t indent) {
  const TreeNode& node = tree.tree[number];
  const std::string space(indent, ' ');
  if (node.size.empty()) return fmt::format("{}return configs[{}];\n", space, node.config);
  const HeaderField& size = *std::find_if(fields.dimensions.begin(), fields.dimensions.end(),
                                          [&](const HeaderField& field) { return field.name == node.size; });
  return fmt::format("{}if (problem.{} {} {}) {{\n", space, size.word,
                     asks_equality(node) ? "==" : "<=", header_literal(node.value, size.kind)) +
         node_text(tree, node.then, fields, indent + 2) + space + "}\n" +
         node_text(tree, node.otherwise, fields, indent);
}

std::string arch_text(const ArchTree& tree, const std::string& word, const KernelFields& fields) {
  std::string text = fmt::format(
      "\n/// {}: {} configurations for {} measured cases. Above the best of a case: {:.2f} % at most, {:.2f} % on\n"
      "/// average; the chosen configuration was not measured for {} cases.\nnamespace {} {{\n\n",
      in_comment(tree.arch), tree.configs.size(), tree.answers.size(), tree.max_regret() * 100,
      tree.mean_regret() * 100, tree.answers.size() - tree.measured(), word);
  text += "inline constexpr Config configs[] = {\n";
  for (const Bindings& config : tree.configs)
    text += fmt::format("    {},\n", header_initializer(config, fields.parameters));
  text += "};\n\nconstexpr const Config& select([[maybe_unused]] const Problem& problem) {\n" +
          node_text(tree, 0, fields, 2) + "}\n\ninline constexpr Case cases[] = {\n";
  for (const TreeAnswer& answer : tree.answers) {
    const std::optional<double> regret = answer.regret();
    text += fmt::format(
        "    {{{}, {}, {}, {}, {}}},  // {}\n", header_initializer(answer.of->problem, fields.dimensions),
        string_literal(answer.of->device), answer.config,
        header_number(answer.time_ms.value_or(std::numeric_limits<double>::quiet_NaN())),
        header_number(answer.best_ms()),
        regret ? fmt::format("{:.2f} % above the best", *regret * 100) : "the configuration was not measured here");
  }
  return text + fmt::format("}};\n\n}}  // namespace {}\n", word);
}

std::string tree_kernel_text(const std::string& word, const std::vector<const ArchTree*>& trees) {
  const KernelFields fields = kernel_fields(trees);
  std::string text = fmt::format("\n/// {}\nnamespace xtune_tree::{} {{\n\n", in_comment(trees.front()->kernel), word);
  text += header_structure("Config", fields.parameters) + "\n" + header_structure("Problem", fields.dimensions);
  text +=
      "\n/// A measured problem: the number of the chosen configuration, its time (NaN: not measured for this "
      "problem), "
      "and the\n/// time of the best one, in milliseconds.\nstruct Case {\n  Problem problem;\n  std::string_view "
      "device;\n  std::size_t config;\n  double time_ms, best_ms;\n};\n";
  std::string choice;
  std::set<std::string> used{"Config", "Problem", "Case", "select"};
  for (const ArchTree* tree : trees) {
    const std::string arch = identifier(tree->arch, used);
    text += arch_text(*tree, arch, fields);
    choice += fmt::format("  if (arch == {}) return &{}::select(problem);\n", string_literal(tree->arch), arch);
  }
  return text +
         "\n/// The configuration for a problem on an architecture; a null pointer for an architecture that was not "
         "measured.\nconstexpr const Config* select(std::string_view arch, const Problem& problem) {\n" +
         choice + fmt::format("  return nullptr;\n}}\n\n}}  // namespace xtune_tree::{}\n", word);
}

}  // namespace

OrderedJson export_tree_json(const std::vector<MeasuredCase>& cases, const TreeOptions& options,
                             std::vector<std::string>& warnings) {
  OrderedJson json{{"xtune_trees", 1}, {"trees", OrderedJson::array()}};
  for (const ArchTree& tree : trees_of(cases, options, warnings)) json["trees"].push_back(tree_json(tree, options));
  return json;
}

std::string export_tree_header(const std::vector<MeasuredCase>& cases, const TreeOptions& options,
                               std::vector<std::string>& warnings) {
  const std::vector<ArchTree> trees = trees_of(cases, options, warnings);
  std::map<std::string, std::vector<const ArchTree*>> kernels;
  for (const ArchTree& tree : trees) kernels[tree.kernel].push_back(&tree);
  std::string text = fmt::format(
      "// Decision trees over problem sizes, made of the measurements of xtune {}. Generated by\n"
      "// `xtune store export --format tree-header`; C++17 or later.\n"
      "#pragma once\n\n#include <cstddef>\n#include <limits>\n#include <string_view>\n",
      version);
  std::set<std::string> used;
  for (const auto& [kernel, of_kernel] : kernels) text += tree_kernel_text(identifier(kernel, used), of_kernel);
  return text;
}

}  // namespace xtune::store
