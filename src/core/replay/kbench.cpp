// Writes the contents of kbench's YAML as TOML.
#include "core/replay/kbench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.hpp"
#include "core/device/program_call.hpp"
#include "core/record/kbench_metric.hpp"
#include "core/replay/kbench_file.hpp"
#include "core/spec/configs_csv.hpp"
#include "core/spec/toml_text.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_listed = 1'000'000;

class Writer {
 public:
  Writer(const KbenchFile& file, const fs::path& path, const KbenchOptions& options)
      : file_(file), path_(path), options_(options) {}

  KbenchSpec write(const KbenchFamily& family, const std::string& stem) const {
    const std::vector<space::Parameter> parameters = united(family);
    KbenchSpec result;
    result.stem = stem;
    result.kernel = kernel_name();
    if (family.groups.size() > 1) result.configs = listed(family, parameters);
    std::string text = "# From kbench's " + base::printable(path_.filename().string()) + ".\n";
    std::replace(text.begin(), text.end() - 1, '\n', ' ');
    text += "[kernel]\nname = " + spec::toml_string(result.kernel) + "\n\n[space]\n";
    if (!result.configs.empty())
      text += "configs = " + spec::toml_string(stem + ".configs.csv") + "\n";
    else
      text += constraints_text(family, parameters);
    text += "\n[space.params]\n";
    for (const space::Parameter& parameter : parameters)
      text += parameter.name + " = " + spec::toml_list(parameter.values) + "\n";
    result.spec = text + process_text(family, parameters) + cases_text(family.cases);
    return result;
  }

 private:
  /// Values of all groups, of one type.
  static std::vector<space::Parameter> united(const KbenchFamily& family) {
    std::vector<space::Parameter> parameters = family.groups.front().parameters;
    for (space::Parameter& parameter : parameters) {
      std::vector<Value> all;
      for (const KbenchGroup& group : family.groups) {
        const std::vector<Value>& own = own_values(group, parameter.name);
        all.insert(all.end(), own.begin(), own.end());
      }
      parameter.values = alike(all);
    }
    return parameters;
  }

  static const std::vector<Value>& own_values(const KbenchGroup& group, const std::string& name) {
    return find_parameter(group, name)->values;
  }

  static bool applies(const space::Expression& rule, const std::vector<space::Parameter>& parameters,
                      const std::vector<space::Parameter>& cases = {}) {
    const auto holds = [](const std::vector<space::Parameter>& list, const std::string& name) {
      return std::any_of(list.begin(), list.end(), [&](const space::Parameter& one) { return one.name == name; });
    };
    // A rule about cases has chosen them already.
    return std::any_of(rule.names().begin(), rule.names().end(),
                       [&](const std::string& name) { return holds(parameters, name); }) &&
           std::all_of(rule.names().begin(), rule.names().end(),
                       [&](const std::string& name) { return holds(parameters, name) || holds(cases, name); });
  }

  /// The product of each group in turn, without repetitions and configurations that a rule excludes.
  std::string listed(const KbenchFamily& family, const std::vector<space::Parameter>& parameters) const {
    std::vector<std::vector<std::uint32_t>> rows;
    std::set<std::vector<std::uint32_t>> seen;
    for (const KbenchGroup& group : family.groups) {
      std::vector<space::Parameter> own = parameters;
      for (space::Parameter& parameter : own) {
        const Value one = parameter.values.front();
        parameter.values.clear();
        for (const Value& value : own_values(group, parameter.name)) parameter.values.push_back(as_type_of(one, value));
      }
      std::vector<space::Expression> constraints;
      for (const space::Expression& rule : group.rules)
        if (applies(rule, own))
          constraints.push_back(rule);
        else if (applies(rule, own, family.cases))
          throw Error(ErrorKind::invalid_argument,
                      fmt::format("{}: the rule '{}' is about parameters and shapes, and the parameters are in several "
                                  "groups, which are listed without shapes: import a file with one group at a time",
                                  path_.string(), base::printable(rule.text(), 200)));
      const space::Space space(own, constraints, {});
      if (rows.size() + space.size() > max_listed)
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("{}: more than {} configurations of several groups, which are listed one by one",
                                path_.string(), max_listed));
      for (std::uint64_t index = 0; index < space.size(); ++index) {
        std::vector<std::uint32_t> row;
        const space::Config config = space.at(index);
        for (std::size_t i = 0; i < config.size(); ++i) {
          const auto& values = parameters[i].values;
          row.push_back(
              static_cast<std::uint32_t>(std::find(values.begin(), values.end(), config[i]) - values.begin()));
        }
        if (seen.insert(row).second) rows.push_back(std::move(row));
      }
    }
    if (rows.empty()) throw Error(ErrorKind::nothing_valid, path_.string() + ": the rules leave no configuration");
    return spec::configs_text(space::Space::listed(parameters, std::move(rows)));
  }

  static std::string constraints_text(const KbenchFamily& family, const std::vector<space::Parameter>& parameters) {
    std::string list;
    for (const space::Expression& rule : family.groups.front().rules)
      if (applies(rule, parameters, family.cases)) list += "  " + spec::toml_string(rule.text()) + ",\n";
    return list.empty() ? "" : "constraints = [\n" + list + "]\n";
  }

  static std::string cases_text(const std::vector<space::Parameter>& cases) {
    if (cases.empty()) return "";
    const auto table = [&](std::size_t row) {
      std::string lines;
      for (const space::Parameter& parameter : cases)
        lines += parameter.name + " = " + spec::toml_text(parameter.values[row]) + "\n";
      return lines;
    };
    std::string text = "\n[problem]\n" + table(0);
    for (std::size_t row = 0; row < cases.front().values.size(); ++row) text += "\n[[cases]]\n" + table(row);
    return text;
  }

  std::string process_text(const KbenchFamily& family, std::vector<space::Parameter> parameters) const {
    parameters.insert(parameters.begin(), family.cases.begin(), family.cases.end());
    const bool python = file_.file.extension() == ".py";
    const std::string file = device::to_call_text(file_.file.string());
    std::vector<Value> build{std::string("mojo"), std::string("build")}, run{std::string("{out}")};
    if (python) run = {std::string("python3"), file};
    for (const std::string& word : options_.build_opts) build.emplace_back(device::to_call_text(word));
    for (const space::Parameter& parameter : parameters) {
      const std::string both =
          fmt::format("{}={{{}}}", option_of(family.groups.front(), parameter.name), parameter.name);
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
    if (!python) text += "build = " + spec::toml_list(build) + "\n";
    text += "run = " + spec::toml_list(run) + "\nsources = " + spec::toml_list({file_.file.string()}) + "\n";
    if (options_.device != "host") text += "device = " + spec::toml_string(options_.device) + "\n";
    return text + "timeout_s = 120\ntime = { csv = \"met (ms)\", file = \"{tmp}/kbench.csv\" }\n" + metrics_text();
  }

  std::string metrics_text() const {
    std::string text;
    for (const std::string& column : options_.metrics) {
      const record::KbenchMetric metric = record::kbench_metric(column);
      text += metric.name + " = { csv = " + spec::toml_string(column) + ", file = \"{tmp}/kbench.csv\"";
      text += (metric.unit.empty() ? "" : ", unit = " + spec::toml_string(metric.unit)) + " }\n";
    }
    return text.empty() ? "" : "\n[process.metrics]\n" + text;
  }

  std::string kernel_name() const {
    std::string name = file_.name.substr(0, 100);
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && std::string_view("_-+.").find(c) == std::string_view::npos)
        c = '_';
    return name.empty() || name[0] == '.' ? "_" + name.substr(0, 99) : name;
  }

  const KbenchFile& file_;
  const fs::path& path_;
  const KbenchOptions& options_;
};

std::vector<KbenchGroup> shapes_of(const KbenchOptions& options) {
  if (!options.shapes.empty() && !options.cases.empty())
    throw Error(ErrorKind::invalid_argument, "--shapes and --cases exclude each other: both make [[cases]]");
  std::vector<KbenchGroup> shapes;
  for (const KbenchText& text : options.shapes) {
    const std::vector<KbenchGroup> more = read_kbench(text, KbenchPart::shapes).groups;
    shapes.insert(shapes.end(), more.begin(), more.end());
  }
  return shapes;
}

}  // namespace

std::vector<KbenchSpec> import_kbench(const std::vector<KbenchText>& texts, const std::string& stem,
                                      const KbenchOptions& options) {
  const fs::path& path = texts.front().path;
  KbenchFile file = read_kbench(texts.front(), KbenchPart::benchmark);
  for (std::size_t i = 1; i < texts.size(); ++i) {
    KbenchFile more = read_kbench(texts[i], KbenchPart::benchmark);
    if (more.name != file.name || more.file != file.file)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: is of '{}' in {}, but {} is of '{}' in {}: import them one by one",
                              texts[i].path.string(), base::printable(more.name), more.file.string(), path.string(),
                              base::printable(file.name), file.file.string()));
    file.groups.insert(file.groups.end(), more.groups.begin(), more.groups.end());
  }
  set_params(file.groups, options.params);
  std::vector<KbenchSpec> specs;
  try {
    const Writer writer(file, path, options);
    std::vector<KbenchFamily> families = families_of(file.groups, options.cases);
    if (const std::vector<KbenchGroup> shapes = shapes_of(options); !shapes.empty()) set_shapes(families, shapes);
    for (const KbenchFamily& family : families)
      specs.push_back(writer.write(family, specs.empty() ? stem : fmt::format("{}-{}", stem, specs.size() + 1)));
  } catch (const space::ConstraintError& error) {
    throw Error(ErrorKind::invalid_argument, path.string() + ": a rule cannot be evaluated: " + error.what());
  }
  return specs;
}

}  // namespace xtune::replay
