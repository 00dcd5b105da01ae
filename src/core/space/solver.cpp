// Builds the decision diagram of a group of parameters, one layer for each parameter.
//
// Layer by layer, each state (the open part of the constraints, residual.hpp) is combined with each value of the next
// parameter. A value that makes a constraint fail adds no edge; two prefixes that leave equal states share a node, so
// the work grows with the number of states, not with the number of combinations.
//
// The order of the parameters determines the number of states, and the best order is not known in advance. There are up
// to four attempts: with few_bytes, the order of the spec, whose diagram numbers the configurations as a reader
// expects, then a narrow order (narrow_order); then both again with max_bytes. An order that needs too many steps is
// not tried again.
//
// Limits: the bytes of the layers, of the two tables of states, and of the diagram that the layers are reduced to;
// max_steps limits the time. A space beyond these limits is refused with the names of the parameters and constraints
// that were open then.
#include "core/space/solver.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/named.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "core/space/residual.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::space {

namespace {

// Limits for one order before another one is tried, and before the space is refused.
constexpr std::uint64_t few_bytes = 50'000'000;
// Of an edge and a node: in a layer, and in the reduced diagram with its table.
constexpr std::uint64_t edge_bytes = 8 + 16, node_bytes = 16 + 32;
constexpr std::uint64_t max_steps = 2'000'000'000, steps_between_polls = 100'000;

/// The first ones, and how many others there are.
std::string listed(const std::vector<std::string>& words) {
  constexpr std::size_t most = 8;
  const std::size_t shown = std::min(words.size(), most);
  const std::string text = fmt::format("{}", fmt::join(words.begin(), words.begin() + static_cast<long>(shown), ", "));
  return shown == words.size() ? text : fmt::format("{} and {} more", text, words.size() - shown);
}

/// open: the constraints that take the room; empty: all.
[[noreturn]] void refuse(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
                         const std::string& what, const std::vector<const BoundConstraint*>& open = {}) {
  std::vector<std::string> names, texts;
  for (const std::uint32_t member : members)
    if (open.empty() || std::ranges::any_of(open, [&](const BoundConstraint* each) {
          return std::ranges::binary_search(each->parameters(), member);
        }))
      names.push_back(parameters[member].name);
  for (const BoundConstraint* each : open)
    texts.push_back("'" + base::one_line(base::printable(each->expression().text(), 60)) + "'");
  throw Error(ErrorKind::unsupported,
              fmt::format("the space is too large: the parameters {}, which share constraints, have {}{}{}. Give them "
                          "fewer values, or constraints that name fewer parameters each",
                          listed(names), what, texts.empty() ? "" : ". Open at once: ", listed(texts)));
}

/// The states of one layer: cells of equal length, each state once.
class StateTable {
 public:
  explicit StateTable(std::size_t length) : length_(length), slots_(16, none) {}

  std::size_t size() const noexcept { return count_; }
  std::uint64_t bytes() const noexcept {
    return cells_.capacity() * sizeof(Cell) + slots_.size() * sizeof(std::uint32_t);
  }
  std::span<const Cell> state(std::size_t number) const noexcept {
    return std::span(cells_).subspan(number * length_, length_);
  }
  /// The number of this state, and whether it is new.
  std::pair<std::uint32_t, bool> add(std::span<const Cell> state) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    std::uint32_t& slot = slots_[find(state)];
    if (slot != none) return {slot, false};
    slot = static_cast<std::uint32_t>(count_++);
    cells_.insert(cells_.end(), state.begin(), state.end());
    return {slot, true};
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::size_t find(std::span<const Cell> state) const noexcept {
    std::uint64_t hash = 0;
    for (const Cell& cell : state) {
      hash = (hash ^ cell.bits ^ cell.tag << 56) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != none && !std::equal(state.begin(), state.end(), this->state(slots_[at]).begin()))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, none);
    for (std::size_t number = 0; number < count_; ++number)
      slots_[find(state(number))] = static_cast<std::uint32_t>(number);
  }

  std::size_t length_, count_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> slots_;
};

/// One attempt to build the layers in one order.
class Expansion {
 public:
  Expansion(const std::vector<Parameter>& parameters, const std::vector<ConstraintTree>& trees,
            const std::vector<const BoundConstraint*>& constraints, const std::vector<std::uint32_t>& order,
            std::vector<expr::Scalar>& values, const std::function<void()>& poll)
      : parameters_(parameters), order_(order), values_(values), poll_(poll) {
    for (std::size_t i = 0; i < trees.size(); ++i) {
      Residual residual(trees[i], parameters, order);
      const Residual::Verdict verdict = residual.start();
      possible_ = possible_ && verdict != Residual::Verdict::fails;
      if (verdict != Residual::Verdict::open) continue;
      residuals_.push_back(std::move(residual));
      constraints_.push_back(constraints[i]);
    }
  }

  enum class End { done, empty, too_many_bytes, too_many_steps };
  End run(std::uint64_t bytes_at_most) {
    if (!possible_) return End::empty;
    bytes_left_ = bytes_at_most;
    StateTable states(0);
    states.add({});
    for (std::size_t depth = 0; depth < order_.size(); ++depth) {
      depth_ = depth;
      StateTable next(length(depth + 1));
      // Every state of a layer is combined with every value of the next: the cost is known in advance.
      const double steps = static_cast<double>(states.size()) * static_cast<double>(choices(depth).size());
      if (static_cast<double>(steps_) + steps > static_cast<double>(max_steps)) return End::too_many_steps;
      if (!expand(depth, states, next)) return End::too_many_bytes;
      if (next.size() == 0) return End::empty;
      states = std::move(next);
    }
    return End::done;
  }
  std::vector<DiagramLayer> take_layers() { return std::move(layers_); }
  /// The constraints of which something was stored when the run ended.
  std::vector<const BoundConstraint*> open_constraints() const {
    std::vector<const BoundConstraint*> open;
    for (std::size_t i = 0; i < residuals_.size(); ++i)
      if (residuals_[i].cells(depth_) + residuals_[i].cells(depth_ + 1) > 0) open.push_back(constraints_[i]);
    return open;
  }

 private:
  const std::vector<Value>& choices(std::size_t depth) const noexcept { return parameters_[order_[depth]].values; }

  std::size_t length(std::size_t depth) const noexcept {
    std::size_t cells = 0;
    for (const Residual& residual : residuals_) cells += residual.cells(depth);
    return cells;
  }

  bool expand(std::size_t depth, const StateTable& states, StateTable& next) {
    const std::vector<Value>& values = choices(depth);
    DiagramLayer& layer = layers_.emplace_back();
    origins_.emplace_back();
    std::vector<Cell> child(length(depth + 1));
    for (std::size_t state = 0; state < states.size(); ++state) {
      if (poll_ && steps_ / steps_between_polls != (steps_ + values.size()) / steps_between_polls) poll_();
      steps_ += values.size();
      for (std::uint32_t digit = 0; digit < values.size(); ++digit) {
        if (!bind_all(depth, state, digit, states.state(state), child)) continue;
        const auto [number, added] = next.add(child);
        layer.edges.push_back({digit, number});
        if (added) origins_.back().push_back({static_cast<std::uint32_t>(state), digit});
        const std::uint64_t kept = edge_bytes + (added ? node_bytes : 0);
        if (kept + states.bytes() + next.bytes() > bytes_left_) return false;
        bytes_left_ -= kept;
      }
      layer.first_edges.push_back(layer.edges.size());
    }
    return true;
  }

  bool bind_all(std::size_t depth, std::size_t state, std::uint32_t digit, std::span<const Cell> before,
                std::span<Cell> after) {
    const expr::Scalar value = expr::Scalar::of(parameters_[order_[depth]].values[digit]);
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      Residual& residual = residuals_[i];
      const std::size_t used = residual.cells(depth), made = residual.cells(depth + 1);
      const Residual::Verdict verdict = residual.bind(depth, value, before.first(used), after.first(made));
      if (verdict == Residual::Verdict::fails) return false;
      if (verdict == Residual::Verdict::cannot_be_evaluated) explain(*constraints_[i], depth, state, digit);
      before = before.subspan(used);
      after = after.subspan(made);
    }
    return true;
  }

  /// Evaluates the constraint completely, for the error that names its values.
  void explain(const BoundConstraint& constraint, std::size_t depth, std::size_t state, std::uint32_t digit) {
    for (;;) {
      values_[order_[depth]] = expr::Scalar::of(parameters_[order_[depth]].values[digit]);
      if (depth == 0) break;
      const Origin origin = origins_[--depth][state];
      state = origin.state;
      digit = origin.digit;
    }
    constraint.holds(values_);
  }

  struct Origin {
    std::uint32_t state, digit;
  };
  const std::vector<Parameter>& parameters_;
  const std::vector<std::uint32_t>& order_;
  std::vector<expr::Scalar>& values_;
  const std::function<void()>& poll_;
  std::vector<Residual> residuals_;
  std::vector<const BoundConstraint*> constraints_;
  std::vector<DiagramLayer> layers_;
  std::vector<std::vector<Origin>>
      origins_;  ///< by depth: of each state of the next layer, the first prefix that led to it
  bool possible_ = true;
  std::uint64_t bytes_left_ = 0, steps_ = 0;
  std::size_t depth_ = 0;
};

constexpr std::uint64_t max_tested = std::uint64_t{1} << 20;

// A combination for which the constraint cannot be evaluated counts as removed.
bool removes(const BoundConstraint& constraint, const std::vector<expr::Scalar>& values) {
  try {
    return !constraint.holds(values);
  } catch (const ConstraintError&) {
    return true;
  }
}

}  // namespace

BoundConstraint::BoundConstraint(std::size_t number, const Expression& expression,
                                 const std::vector<Parameter>& parameters, const Bindings& constants)
    : number_(number), expression_(&expression) {
  for (const expr::NameUse& use : expression.code().uses) {
    Source source;
    if (const Parameter* parameter = base::find_named(parameters, use.name)) {
      source.is_parameter = true;
      source.position = static_cast<std::uint32_t>(parameter - parameters.data());
      if (parameter->values.size() > 1) parameters_.push_back(source.position);
    } else if (const Value* constant = find_value(constants, use.name)) {
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
      where += (where.empty() ? " (" : ", ") + expression_->code().uses[i].name + " = " + shown_text(load(i).value());
    throw ConstraintError(error.what() + (where.empty() ? where : where + ")"), error.column, error.word, number_);
  }
}

Solution solve(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
               const std::vector<const BoundConstraint*>& constraints, std::vector<expr::Scalar>& values,
               const std::function<void()>& poll, std::uint64_t max_bytes) {
  std::vector<ConstraintTree> trees;
  for (const BoundConstraint* constraint : constraints) trees.emplace_back(*constraint, values);
  const std::vector<std::uint32_t> narrow = narrow_order(trees, parameters, members);
  struct Attempt {
    const std::vector<std::uint32_t>& order;
    std::uint64_t bytes;
  };
  std::vector<const BoundConstraint*> open;
  // More room does not help an order that takes too many steps.
  std::vector<const std::vector<std::uint32_t>*> too_long;
  for (const Attempt& attempt :
       {Attempt{members, std::min(few_bytes, max_bytes)}, Attempt{narrow, std::min(few_bytes, max_bytes)},
        Attempt{members, max_bytes}, Attempt{narrow, max_bytes}}) {
    if (std::find(too_long.begin(), too_long.end(), &attempt.order) != too_long.end()) continue;
    Expansion expansion(parameters, trees, constraints, attempt.order, values, poll);
    const Expansion::End end = expansion.run(attempt.bytes);
    if (end == Expansion::End::empty) return {attempt.order, Diagram()};
    if (end == Expansion::End::too_many_steps) too_long.push_back(&attempt.order);
    open = expansion.open_constraints();
    if (end != Expansion::End::done) continue;
    if (auto diagram = Diagram::reduce(expansion.take_layers())) return {attempt.order, *std::move(diagram)};
    refuse(parameters, members, "more than 2^63 valid combinations");
  }
  refuse(parameters, members,
         "more combinations than can be tested or told apart in " + std::to_string(max_bytes / 1'000'000) + " MB",
         open);
}

ConstraintEffect effect_of(const BoundConstraint& constraint, const std::string& text,
                           const std::vector<Parameter>& parameters) {
  std::vector<expr::Scalar> values;
  double whole = 1;
  for (const Parameter& parameter : parameters) {
    values.push_back(expr::Scalar::of(parameter.values.front()));
    whole *= static_cast<double>(parameter.values.size());
  }
  double product = 1;
  for (const std::uint32_t used : constraint.parameters())
    product *= static_cast<double>(parameters[used].values.size());

  ConstraintEffect effect{text, 0, 0};
  if (product > static_cast<double>(max_tested)) {
    base::Random random(1);
    for (; effect.tested < max_tested; ++effect.tested) {
      for (const std::uint32_t used : constraint.parameters())
        values[used] = expr::Scalar::of(parameters[used].values[random.below(parameters[used].values.size())]);
      effect.removed += removes(constraint, values);
    }
    return effect;
  }
  for (; effect.tested < static_cast<std::uint64_t>(product); ++effect.tested) {
    std::uint64_t rest = effect.tested;
    for (const std::uint32_t used : constraint.parameters()) {
      const auto& choices = parameters[used].values;
      values[used] = expr::Scalar::of(choices[rest % choices.size()]);
      rest /= choices.size();
    }
    effect.removed += removes(constraint, values);
  }
  if (whole <= 0x1p53) {  // other parameters only multiply the counts
    const auto copies = static_cast<std::uint64_t>(whole / product);
    effect.removed *= copies;
    effect.tested *= copies;
  }
  return effect;
}

}  // namespace xtune::space
