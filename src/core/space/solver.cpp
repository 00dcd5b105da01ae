// A depth-first walk over one group of parameters that checks each constraint as soon as its last parameter has a
// value.
#include "core/space/solver.hpp"

#include <algorithm>
#include <limits>

#include "core/space/interpreter.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

constexpr std::uint64_t most_rows = 200'000'000;
constexpr std::uint64_t most_visits = 10'000'000'000;
constexpr std::uint64_t largest_table = std::uint64_t{1} << 22;

const Value* find(const Bindings& bindings, const std::string& name) {
  const auto at = bindings.find(name);
  return at == bindings.end() ? nullptr : &at->second;
}

// One constraint of the group at the depth where it is decided. Its outcomes are remembered by the values of its own
// parameters where these repeat under different values of the others: a product of 10^7 often needs some 10^3
// evaluations.
struct Check {
  const BoundConstraint* constraint;
  std::vector<std::pair<std::uint32_t, std::uint64_t>>
      strides;                      // depth, stride: all but the last parameter's, whose stride is 1
  std::vector<std::uint8_t> known;  // 0 not yet, 1 fails, 2 holds; empty: not worth a table
  std::uint64_t base = 0;

  bool holds(std::uint32_t index, std::span<const expr::Scalar> values) {
    if (known.empty()) return constraint->holds(values);
    std::uint8_t& entry = known[base + index];
    if (entry == 0) entry = constraint->holds(values) ? 2 : 1;
    return entry == 2;
  }
};

struct Level {
  std::uint32_t position;            // in the space
  std::vector<expr::Scalar> values;  // of the parameter
  std::vector<Check> checks;
};

std::vector<Level> make_levels(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
                               const std::vector<const BoundConstraint*>& constraints) {
  std::vector<Level> levels(members.size());
  for (std::size_t depth = 0; depth < members.size(); ++depth) {
    levels[depth].position = members[depth];
    for (const Value& value : parameters[members[depth]].values)
      levels[depth].values.push_back(expr::Scalar::of(value));
  }
  for (const BoundConstraint* constraint : constraints) {
    Check check{constraint, {}, {}, 0};
    double product = 1;
    const auto& used = constraint->parameters();
    for (std::size_t i = used.size(); i-- > 0;) {
      const auto depth =
          static_cast<std::uint32_t>(std::find(members.begin(), members.end(), used[i]) - members.begin());
      if (i + 1 < used.size()) check.strides.emplace_back(depth, static_cast<std::uint64_t>(std::min(product, 0x1p62)));
      product *= static_cast<double>(levels[depth].values.size());
    }
    const auto last =
        static_cast<std::size_t>(std::find(members.begin(), members.end(), used.back()) - members.begin());
    if (product <= static_cast<double>(largest_table) && used.size() <= last)
      check.known.resize(static_cast<std::size_t>(product));
    levels[last].checks.push_back(std::move(check));
  }
  return levels;
}

[[noreturn]] void refuse(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
                         const std::string& what) {
  std::string names;
  for (const std::uint32_t member : members) names += (names.empty() ? "" : ", ") + parameters[member].name;
  throw Error(ErrorKind::unsupported, "the space is too large: the parameters " + names +
                                          ", which share constraints, have " + what +
                                          ". Give them fewer values, or constraints that name fewer parameters each");
}

}  // namespace

BoundConstraint::BoundConstraint(std::size_t number, const Expression& expression,
                                 const std::vector<Parameter>& parameters, const Bindings& constants)
    : number_(number), expression_(&expression) {
  for (const expr::NameUse& use : expression.code().uses) {
    Source source;
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const Parameter& candidate) { return candidate.name == use.name; });
    if (parameter != parameters.end()) {
      source.is_parameter = true;
      source.position = static_cast<std::uint32_t>(parameter - parameters.begin());
      if (parameter->values.size() > 1) parameters_.push_back(source.position);
    } else if (const Value* constant = find(constants, use.name)) {
      source.constant = expr::Scalar::of(*constant);
    } else {
      throw ConstraintError("unknown name '" + use.name + "'", use.column, use.name, number_);
    }
    sources_.push_back(source);
  }
  std::sort(parameters_.begin(), parameters_.end());
}

bool BoundConstraint::holds(std::span<const expr::Scalar> values) const {
  const auto load = [&](std::size_t index) {
    const Source& source = sources_[index];
    return source.is_parameter ? values[source.position] : source.constant;
  };
  try {
    return expr::truth(expr::run(expression_->code(), load));
  } catch (const ExpressionError& error) {
    std::string where;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      where += (where.empty() ? " (" : ", ") + expression_->code().uses[i].name + " = " + to_text(load(i).value());
    throw ConstraintError(error.what() + (where.empty() ? where : where + ")"), error.column, error.word, number_);
  }
}

PackedRows solve(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
                 const std::vector<const BoundConstraint*>& constraints, std::vector<expr::Scalar>& values) {
  std::vector<Level> levels = make_levels(parameters, members, constraints);
  std::vector<std::uint32_t> sizes;
  for (const Level& level : levels) sizes.push_back(static_cast<std::uint32_t>(level.values.size()));
  PackedRows rows(sizes);
  std::vector<std::uint32_t> digits(levels.size(), 0);
  std::uint64_t visits = 0;
  for (std::size_t depth = 0;;) {
    Level& level = levels[depth];
    if (digits[depth] == sizes[depth]) {
      if (depth == 0) break;
      ++digits[--depth];
      continue;
    }
    if (digits[depth] == 0) {
      if (visits > most_visits) refuse(parameters, members, "more combinations than can be tried");
      visits += sizes[depth];
      for (Check& check : level.checks) {
        check.base = 0;
        for (const auto& [earlier, stride] : check.strides) check.base += digits[earlier] * stride;
      }
    }
    const std::uint32_t digit = digits[depth];
    values[level.position] = level.values[digit];
    const bool valid =
        std::all_of(level.checks.begin(), level.checks.end(), [&](Check& check) { return check.holds(digit, values); });
    if (valid && depth + 1 < levels.size()) {
      digits[++depth] = 0;
      continue;
    }
    if (valid) {
      if (rows.count() == most_rows) refuse(parameters, members, "more than 200 million valid combinations");
      rows.append(digits);
    }
    ++digits[depth];
  }
  rows.shrink();
  return rows;
}

}  // namespace xtune
