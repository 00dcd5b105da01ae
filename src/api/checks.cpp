// Checks problems and configurations from code against the spec.
#include "api/checks.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "core/search/strategy.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "dispatch/arguments.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

Value like(const std::string& name, const Value& value, const Value& own) {
  space::require_utf8("problem: " + name, value);
  if (auto like = dispatch::size_like(value, own)) return std::move(*like);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("problem: {} is {} '{}', and the spec has {}", name, space::type_name(value),
                          space::shown_text(value), space::type_name(own)));
}

Bindings overlaid(Bindings problem, const Bindings& given) {
  std::vector<std::string> names;
  for (const auto& [name, value] : problem) names.push_back(name);
  for (const auto& [name, value] : given) {
    const auto own = problem.find(name);
    if (own == problem.end())
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("problem: '{}' is not a name of the problem{}; it has {}", name, base::did_you_mean(name, names),
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    own->second = like(name, value, own->second);
  }
  return problem;
}

/// Throws Error(invalid_argument) for a configuration that has other names than these parameters.
void require_parameters(const std::vector<space::Parameter>& parameters, const Bindings& config,
                        const std::string& where) {
  std::vector<std::string> known;
  for (const space::Parameter& parameter : parameters) known.push_back(parameter.name);
  for (const auto& [name, value] : config)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: '{}' is not a parameter{}", where, name, base::did_you_mean(name, known)));
  for (const std::string& name : known)
    if (!config.contains(name))
      throw Error(ErrorKind::invalid_argument, fmt::format("{}: the parameter {} has no value", where, name));
}

}  // namespace

void check_jobs(std::size_t jobs) {
  if (jobs > 4096)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("settings: jobs is {}; at most 4096 compilers run at once", jobs));
}

std::vector<Bindings> choose_problems(const spec::Spec& spec, const Bindings& given) {
  std::vector<Bindings> problems;
  for (const Bindings& each : spec.cases) {
    Bindings problem = overlaid(each, given);
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(std::move(problem));
  }
  return problems;
}

Bindings choose_problem(const spec::Spec& spec, const Bindings& given) {
  std::vector<Bindings> problems = choose_problems(spec, given);
  if (problems.size() == 1) return std::move(problems.front());
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("'{}' has {} cases ({}, {}, ...): say which with settings.problem, or call tune_cases",
                  spec.kernel.name, problems.size(), space::shown_text(problems[0]), space::shown_text(problems[1])));
}

void require_values(const std::vector<space::Parameter>& parameters, const Bindings& config, const std::string& where) {
  require_parameters(parameters, config, where);
  for (const space::Parameter& parameter : parameters) {
    const Value& given = config.at(parameter.name);
    const std::optional<double> number = space::number_of(given);
    const bool known = std::any_of(parameter.values.begin(), parameter.values.end(), [&](const Value& value) {
      return value == given || (number && space::number_of(value) == number);  // 1.0 is 1 here, as in a space
    });
    if (!known)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: {} = {} is not among its values, {}", where, parameter.name,
                              space::shown_text(given), spec::values_text(parameter.values)));
  }
}

std::vector<Bindings> choose_configs(const space::Space& space, const std::vector<Bindings>& configs,
                                     const std::function<void(const std::string&)>& passed_over) {
  std::vector<Bindings> chosen;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    require_parameters(space.parameters(), configs[i], fmt::format("configs[{}]", i));
    const auto index = space.index_of(configs[i]);
    if (!index)
      passed_over(fmt::format("configs[{}], {}, is not valid in the space of the spec and is skipped", i,
                              space::shown_text(configs[i])));
    else if (seen.insert(*index).second)
      chosen.push_back(configs[i]);
  }
  return chosen;
}

void require_strategy(const std::string& where, const std::string& name) {
  if (const std::string complaint = search::strategy_complaint(name); !complaint.empty())
    throw Error(ErrorKind::invalid_argument, where + ": " + complaint);
}

void require_dtype(DType dtype) {
  if (dtype < DType::f8e4m3 || dtype > DType::c128)
    throw Error(ErrorKind::invalid_argument, "there is no DType " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace xtune
