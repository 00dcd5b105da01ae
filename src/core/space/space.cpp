// Numbers the valid configurations: independent groups of parameters, combined in the lexicographic order of the whole.
#include "core/space/space.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "core/space/solver.hpp"
#include "xtune/error.hpp"

namespace xtune::space {

namespace {

// Parameters bound together by constraints, with their valid combinations; or one free parameter, listed nowhere.
struct Group {
  std::vector<std::uint32_t> members;  // in the order of the diagram's layers
  std::optional<Diagram> diagram;
  std::uint64_t count = 0;
};

std::uint32_t root_of(std::vector<std::uint32_t>& parents, std::uint32_t member) {
  while (parents[member] != member) member = parents[member] = parents[parents[member]];
  return member;
}

}  // namespace

struct Space::State {
  std::vector<Parameter> parameters;
  std::vector<Expression> expressions;
  Bindings constants;
  std::vector<BoundConstraint> constraints;
  std::vector<std::unordered_map<Value, std::uint32_t>> value_numbers;
  std::vector<Group> groups;
  std::vector<std::uint32_t> group_of;  // one for each parameter
  std::uint64_t size = 0;

  void take(std::vector<Parameter> given);
  void list(std::vector<std::vector<std::uint32_t>> lines);
  std::vector<expr::Scalar> first_values() const;
  void make_groups();
  void solve_groups(const std::function<void()>& poll);
  template <class Choose>
  std::optional<std::uint64_t> walk(Choose choose) const;
};

void Space::State::take(std::vector<Parameter> given) {
  parameters = std::move(given);
  for (const Parameter& parameter : parameters) {
    if (parameter.values.empty())
      throw Error(ErrorKind::invalid_argument,
                  "the parameter " + parameter.name + " has no values: give it at least one");
    auto& numbers = value_numbers.emplace_back();
    for (std::uint32_t i = 0; i < parameter.values.size(); ++i) numbers.emplace(parameter.values[i], i);
  }
}

void Space::State::list(std::vector<std::vector<std::uint32_t>> lines) {
  for (const auto& line : lines) {
    if (line.size() != parameters.size())
      throw Error(ErrorKind::invalid_argument, "a listed configuration has " + std::to_string(line.size()) +
                                                   " values: give one for each of the " +
                                                   std::to_string(parameters.size()) + " parameters");
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] >= parameters[i].values.size())
        throw Error(ErrorKind::invalid_argument, "a listed configuration names value " + std::to_string(line[i]) +
                                                     " of " + parameters[i].name + ", which has " +
                                                     std::to_string(parameters[i].values.size()));
  }
  std::sort(lines.begin(), lines.end());
  if (std::adjacent_find(lines.begin(), lines.end()) != lines.end())
    throw Error(ErrorKind::invalid_argument, "a configuration is listed twice: list each once");
  Group all;
  for (std::uint32_t i = 0; i < parameters.size(); ++i) all.members.push_back(i);
  all.diagram = Diagram::of_rows(lines, parameters.size());
  all.count = size = lines.size();
  group_of.assign(parameters.size(), 0);
  groups.push_back(std::move(all));
}

std::vector<expr::Scalar> Space::State::first_values() const {
  std::vector<expr::Scalar> values;
  for (const Parameter& parameter : parameters) values.push_back(expr::Scalar::of(parameter.values.front()));
  return values;
}

void Space::State::make_groups() {
  std::vector<std::uint32_t> parents(parameters.size());
  std::iota(parents.begin(), parents.end(), 0u);
  for (const BoundConstraint& constraint : constraints)
    for (const std::uint32_t member : constraint.parameters())
      parents[root_of(parents, member)] = root_of(parents, constraint.parameters().front());
  std::unordered_map<std::uint32_t, std::uint32_t> groups_of_roots;
  for (std::uint32_t i = 0; i < parameters.size(); ++i) {
    const auto [entry, added] =
        groups_of_roots.try_emplace(root_of(parents, i), static_cast<std::uint32_t>(groups.size()));
    if (added) groups.emplace_back();
    group_of.push_back(entry->second);
    groups[entry->second].members.push_back(i);
  }
}

void Space::State::solve_groups(const std::function<void()>& poll) {
  std::vector<expr::Scalar> values = first_values();
  std::vector<std::vector<const BoundConstraint*>> by_group(groups.size());
  bool possible = true;
  for (const BoundConstraint& constraint : constraints) {
    if (constraint.parameters().empty())
      possible = possible && constraint.holds(values);
    else
      by_group[group_of[constraint.parameters().front()]].push_back(&constraint);
  }
  size = possible ? 1 : 0;
  for (std::size_t i = 0; i < groups.size() && size > 0; ++i) {
    Group& group = groups[i];
    group.count = parameters[group.members.front()].values.size();
    if (!by_group[i].empty()) {
      Solution solution = solve(parameters, group.members, by_group[i], values, poll);
      group.members = std::move(solution.order);
      group.diagram = std::move(solution.diagram);
      group.count = group.diagram->size();
    }
    if (__builtin_mul_overflow(size, group.count, &size) || size >> 63 != 0)
      throw Error(ErrorKind::unsupported,
                  "the space has more than 2^63 configurations: give its parameters fewer values");
  }
}

// Numbers follow the order of the whole space although groups interleave: with a given prefix, each group is at a node
// of its diagram, and the number of configurations with the prefix is the product of those below these nodes.
// choose(parameter, group, node, others, index): `others` is the number of configurations of the other groups for each
// of this one's, and `index` the number of the first configuration with the prefix; it returns the value index, or
// nullopt to give up.
template <class Choose>
std::optional<std::uint64_t> Space::State::walk(Choose choose) const {
  std::vector<std::uint32_t> nodes, depths(groups.size(), 0);
  for (const Group& group : groups) nodes.push_back(group.diagram ? group.diagram->root() : 0);
  std::uint64_t remaining = size;
  std::uint64_t index = 0;
  for (const std::uint32_t number : group_of) {
    const Group& group = groups[number];
    const std::uint32_t parameter = group.members[depths[number]++];
    const std::uint64_t others = remaining / (group.diagram ? group.diagram->count(nodes[number]) : group.count);
    const std::optional<std::uint32_t> value = choose(parameter, group, nodes[number], others, index);
    if (!value) return std::nullopt;
    if (!group.diagram) {
      index += *value * others;
      remaining = others;
      continue;
    }
    const Diagram::Edge* const edge = group.diagram->find(nodes[number], *value);
    if (!edge) return std::nullopt;
    index += edge->before * others;
    nodes[number] = edge->child;
    remaining = others * group.diagram->count(edge->child);
  }
  return index;
}

Space::Space(std::vector<Parameter> parameters, std::vector<Expression> constraints, const Bindings& constants,
             const std::function<void()>& poll) {
  const auto state = std::make_shared<State>();
  state->take(std::move(parameters));
  state->expressions = std::move(constraints);
  state->constants = constants;
  for (std::size_t i = 0; i < state->expressions.size(); ++i)
    state->constraints.emplace_back(i, state->expressions[i], state->parameters, state->constants);
  state->make_groups();
  state->solve_groups(poll);
  state_ = state;
}

Space Space::listed(std::vector<Parameter> parameters, std::vector<std::vector<std::uint32_t>> rows) {
  const auto state = std::make_shared<State>();
  state->take(std::move(parameters));
  state->list(std::move(rows));
  return Space(state);
}

const std::vector<Parameter>& Space::parameters() const noexcept { return state_->parameters; }

double Space::cartesian_size() const noexcept {
  double product = 1;
  for (const Parameter& parameter : state_->parameters) product *= static_cast<double>(parameter.values.size());
  return product;
}

std::uint64_t Space::size() const noexcept { return state_->size; }

std::vector<std::uint32_t> Space::value_indices(std::uint64_t index) const {
  if (index >= size())
    throw std::out_of_range("no configuration " + std::to_string(index) + " in a space of " + std::to_string(size()));
  std::vector<std::uint32_t> digits(state_->parameters.size());
  state_->walk([&](std::uint32_t parameter, const Group& group, std::uint32_t node, std::uint64_t others,
                   std::uint64_t before) {
    const std::uint64_t position = (index - before) / others;
    digits[parameter] = group.diagram ? group.diagram->at(node, position).value : static_cast<std::uint32_t>(position);
    return std::optional(digits[parameter]);
  });
  return digits;
}

Config Space::at(std::uint64_t index) const {
  const std::vector<std::uint32_t> digits = value_indices(index);
  Config config;
  for (std::size_t i = 0; i < digits.size(); ++i) config.push_back(state_->parameters[i].values[digits[i]]);
  return config;
}

std::optional<std::uint64_t> Space::index_of(const std::vector<std::uint32_t>& value_indices) const {
  if (value_indices.size() != state_->parameters.size() || size() == 0) return std::nullopt;
  return state_->walk([&](std::uint32_t parameter, const Group&, std::uint32_t, std::uint64_t, std::uint64_t) {
    const std::uint32_t digit = value_indices[parameter];
    return digit < state_->parameters[parameter].values.size() ? std::optional(digit) : std::nullopt;
  });
}

std::optional<std::uint64_t> Space::index_of(const Config& config) const {
  if (config.size() != state_->parameters.size()) return std::nullopt;
  std::vector<std::uint32_t> digits;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const auto& numbers = state_->value_numbers[i];
    auto found = numbers.find(config[i]);
    if (found == numbers.end()) {  // a record written elsewhere may have 1.0 for 1
      if (const auto* integer = std::get_if<std::int64_t>(&config[i])) {
        found = numbers.find(static_cast<double>(*integer));
      } else if (const auto whole = integer_of(config[i])) {
        found = numbers.find(*whole);
      }
    }
    if (found == numbers.end()) return std::nullopt;
    digits.push_back(found->second);
  }
  return index_of(digits);
}

std::optional<std::uint64_t> Space::index_of(const Bindings& named_values) const {
  const std::optional<Config> config = ordered(named_values);
  return config ? index_of(*config) : std::nullopt;
}

std::optional<Config> Space::ordered(const Bindings& named_values) const {
  if (named_values.size() != state_->parameters.size()) return std::nullopt;
  Config config;
  for (const Parameter& parameter : state_->parameters) {
    const auto found = named_values.find(parameter.name);
    if (found == named_values.end()) return std::nullopt;
    config.push_back(found->second);
  }
  return config;
}

Bindings Space::named(const Config& config) const {
  Bindings named_values;
  for (std::size_t i = 0; i < state_->parameters.size(); ++i)
    named_values.emplace(state_->parameters[i].name, config.at(i));
  return named_values;
}

std::vector<std::uint64_t> Space::neighbours(std::uint64_t index) const {
  std::vector<std::uint32_t> digits = value_indices(index);
  std::vector<std::uint64_t> found;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::uint32_t own = digits[i];
    for (std::uint32_t other = 0; other < state_->parameters[i].values.size(); ++other) {
      if (other == own) continue;
      digits[i] = other;
      if (const auto neighbour = index_of(digits)) found.push_back(*neighbour);
    }
    digits[i] = own;
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<ConstraintEffect> Space::constraint_effects() const {
  std::vector<ConstraintEffect> effects;
  for (std::size_t i = 0; i < state_->constraints.size(); ++i)
    effects.push_back(effect_of(state_->constraints[i], state_->expressions[i].text(), state_->parameters));
  return effects;
}

}  // namespace xtune::space
