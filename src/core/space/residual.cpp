// Partial evaluation of a constraint, value by value.
//
// A node of the expression is bound at depth d if all its parameters come before d. The cells at depth d are the values
// of the largest bound nodes: once A and B are bound, "A * B * C <= 64" depends only on A * B. Two prefixes with equal
// cells therefore allow the same completions, which is what lets the solver merge them.
//
// A constraint is decided as early as bounds allow. Each parameter without a value counts as the interval of all its
// values, and interval arithmetic shows whether the constraint can still hold or fail. If it holds for
// every completion, its cells become "decided", so that prefixes that differ only in them merge, too. After a short
// circuit ("A > 1 or B % A == 0"), cells that can no longer be evaluated are cleared for the same reason.
//
// An arithmetic error, such as a division by zero, is kept in a cell and reported only if the whole expression needs
// that value: `and` and `or` evaluate their right side as Python does, only where the left side does not decide.
#include "core/space/residual.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace xtune::space::expr {
namespace {

// Conservative interval arithmetic: results that rounding or overflow may affect are widened or unknown.

constexpr double max_exact = 0x1p53 - 1;  // larger integers may be rounded to 2^53

Bounds checked(double low, double high, bool whole) noexcept {
  if (!whole) {
    low = std::nextafter(low, -std::numeric_limits<double>::infinity());
    high = std::nextafter(high, std::numeric_limits<double>::infinity());
  }
  if (!(low >= -max_exact) || !(high <= max_exact)) return {};
  return {true, whole, low, high};
}

/// From the values at the corners, if the operation is monotone in each operand.
template <class Operation>
Bounds at_corners(const Bounds& a, const Bounds& b, bool whole, Operation operation) noexcept {
  const std::array<double, 4> corners{operation(a.low, b.low), operation(a.low, b.high), operation(a.high, b.low),
                                      operation(a.high, b.high)};
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return checked(*low, *high, whole);
}

bool excludes_zero(const Bounds& b) noexcept { return b.low > 0 || b.high < 0; }

// Exact for whole operands below 2^53: the quotient of doubles may round up to an integer, its remainder does not.
double floor_quotient(double a, double b) noexcept {
  const double quotient = std::floor(a / b);
  const bool too_large = b > 0 ? quotient * b > a : quotient * b < a;
  return too_large ? quotient - 1 : quotient;
}

Bounds modulo(const Bounds& a, const Bounds& b) noexcept {
  if (!a.whole || !b.whole || b.low <= 0) return {};
  if (a.low >= 0 && a.high < b.low) return a;
  return {true, true, 0, b.high - 1};
}

Bounds power(const Bounds& a, const Bounds& b) noexcept {
  if (!a.whole || !b.whole || a.low < 1 || b.low < 0) return {};
  return checked(std::pow(a.low, b.low), std::pow(a.high, b.high), true);
}

Bounds arithmetic(Arithmetic operation, const Bounds& a, const Bounds& b) noexcept {
  const bool whole = a.whole && b.whole;
  switch (operation) {
    case Arithmetic::add:
      return checked(a.low + b.low, a.high + b.high, whole);
    case Arithmetic::subtract:
      return checked(a.low - b.high, a.high - b.low, whole);
    case Arithmetic::multiply:
      return at_corners(a, b, whole, [](double x, double y) { return x * y; });
    case Arithmetic::divide:
      if (!excludes_zero(b)) return {};
      return at_corners(a, b, false, [](double x, double y) { return x / y; });
    case Arithmetic::floor_divide:
      if (!whole || !excludes_zero(b)) return {};
      return at_corners(a, b, true, floor_quotient);
    case Arithmetic::modulo:
      return modulo(a, b);
    case Arithmetic::power:
      return power(a, b);
    case Arithmetic::bit_and:
      if (!whole || a.low < 0 || b.low < 0) return {};
      return {true, true, 0, std::min(a.high, b.high)};
    default:
      return {};
  }
}

double next_power_of_two(double value) noexcept {
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

Bounds call(Function function, std::span<const Bounds> operands) noexcept {
  Bounds result = operands.front();
  switch (function) {
    case Function::min:
    case Function::max:
      for (const Bounds& operand : operands.subspan(1)) {
        const auto pick = [&](double a, double b) {
          return function == Function::min ? std::min(a, b) : std::max(a, b);
        };
        result = {true, result.whole && operand.whole, pick(result.low, operand.low), pick(result.high, operand.high)};
      }
      return result;
    case Function::abs:
      if (result.low >= 0) return result;
      if (result.high <= 0) return {true, result.whole, -result.high, -result.low};
      return {true, result.whole, 0, std::max(-result.low, result.high)};
    case Function::ceildiv:
      if (operands.size() != 2 || !result.whole || !operands[1].whole || !excludes_zero(operands[1])) return {};
      return at_corners(result, operands[1], true, [](double x, double y) { return -floor_quotient(-x, y); });
    case Function::pow2:
      if (!result.whole || result.low < 1) return {};
      return checked(next_power_of_two(result.low), next_power_of_two(result.high), true);
    case Function::log2:
    case Function::to_int:
    case Function::to_float:
    case Function::max_active_clusters:
      return {};
  }
  return {};
}

}  // namespace

static Bounds bounds_of(Truth truth) noexcept {
  if (truth == Truth::unknown) return {};
  return {true, true, truth == Truth::yes ? 1.0 : 0.0, truth == Truth::no ? 0.0 : 1.0};
}

static Bounds bounds_of(const Scalar& scalar) noexcept {
  if (!scalar.is_number()) return {};
  const double value = scalar.as_double();
  if (!(std::abs(value) <= max_exact)) return {};
  return {true, scalar.is_integer(), value, value};
}

/// The smallest range that holds both.
static Bounds unite(const Bounds& left, const Bounds& right) noexcept {
  if (!left.known || !right.known) return {};
  return {true, left.whole && right.whole, std::min(left.low, right.low), std::max(left.high, right.high)};
}

/// The bounds of an operation over operands within their bounds; instruction as in Expression::Code, but not a name or
/// jump.
static Bounds apply(const Instruction& instruction, std::span<const Bounds> operands) noexcept {
  if (operands.empty() || !std::all_of(operands.begin(), operands.end(), [](const Bounds& b) { return b.known; }))
    return {};
  switch (instruction.opcode) {
    case Opcode::arithmetic:
      return arithmetic(static_cast<Arithmetic>(instruction.detail), operands[0], operands[1]);
    case Opcode::negate:
      return {true, operands[0].whole, -operands[0].high, -operands[0].low};
    case Opcode::plus:
      return operands[0];
    case Opcode::call:
      return call(static_cast<Function>(instruction.detail), operands);
    case Opcode::contains:
      return bounds_of(Truth::either);
    default:
      return {};
  }
}

/// The result of a comparison.
static Truth apply(Relation relation, const Bounds& left, const Bounds& right) noexcept {
  if (!left.known || !right.known) return Truth::unknown;
  const auto decide = [](bool yes, bool no) { return yes ? Truth::yes : no ? Truth::no : Truth::either; };
  const bool same = left.low == left.high && right.low == right.high && left.low == right.low;
  const bool apart = left.high < right.low || right.high < left.low;
  switch (relation) {
    case Relation::equal:
      return decide(same, apart);
    case Relation::not_equal:
      return decide(apart, same);
    case Relation::less:
      return decide(left.high < right.low, left.low >= right.high);
    case Relation::less_equal:
      return decide(left.high <= right.low, left.low > right.high);
    case Relation::greater:
      return decide(left.low > right.high, left.high <= right.low);
    case Relation::greater_equal:
      return decide(left.low >= right.high, left.high < right.low);
  }
  return Truth::unknown;
}

static Truth truth(const Bounds& bounds) noexcept {
  if (!bounds.known) return Truth::unknown;
  if (excludes_zero(bounds)) return Truth::yes;
  return bounds.low == 0 && bounds.high == 0 ? Truth::no : Truth::either;
}

}  // namespace xtune::space::expr

namespace xtune::space {

namespace {

using Kind = ConstraintTree::Kind;
using Node = ConstraintTree::Node;

std::size_t operands_of(const expr::Instruction& instruction) noexcept {
  switch (instruction.opcode) {
    case expr::Opcode::arithmetic:
    case expr::Opcode::compare:
      return 2;
    case expr::Opcode::contains:
      return (instruction.operand + std::size_t{1}) * instruction.detail;
    case expr::Opcode::call:
      return instruction.operand;
    default:
      return 1;
  }
}

/// Rebuilds the tree that the parser flattened.
class TreeBuilder {
 public:
  TreeBuilder(std::vector<Node>& nodes, const BoundConstraint& constraint, std::span<const expr::Scalar> first_values)
      : nodes_(nodes), constraint_(constraint), code_(constraint.expression().code()), first_values_(first_values) {}

  /// The value that the instructions [at, end) leave on the stack.
  std::uint32_t build(std::size_t at, std::size_t end, std::vector<std::uint32_t> stack) {
    while (at < end) {
      const expr::Instruction& instruction = code_.instructions[at];
      switch (instruction.opcode) {
        case expr::Opcode::constant:
          stack.push_back(constant(code_.constants[instruction.operand]));
          break;
        case expr::Opcode::name:
          stack.push_back(name(instruction.operand));
          break;
        case expr::Opcode::skip_if_false:
        case expr::Opcode::skip_if_true: {
          const std::uint32_t left = take(stack);
          const std::uint32_t right = build(at + 1, instruction.operand, {});
          stack.push_back(
              add(instruction.opcode == expr::Opcode::skip_if_false ? Kind::both : Kind::any, {left, right}));
          at = instruction.operand;
          continue;
        }
        case expr::Opcode::branch: {
          const std::uint32_t condition = take(stack);
          const std::size_t other = instruction.operand, after = code_.instructions[other - 1].operand;
          const std::uint32_t value = build(at + 1, other - 1, {});
          stack.push_back(add(Kind::choice, {condition, value, build(other, after, {})}));
          at = after;
          continue;
        }
        case expr::Opcode::chain: {
          const std::uint32_t right = take(stack), left = take(stack);
          expr::Instruction relation = instruction;
          relation.opcode = expr::Opcode::compare;
          const std::uint32_t first = add(Kind::operation, {left, right}, relation);
          const std::uint32_t rest = build(at + 1, instruction.operand, {right});
          stack.push_back(add(Kind::both, {first, rest}));
          at = instruction.operand;
          continue;
        }
        default: {
          const std::size_t count = operands_of(instruction);
          std::vector<std::uint32_t> operands(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
          stack.resize(stack.size() - count);
          stack.push_back(add(Kind::operation, std::move(operands), instruction));
        }
      }
      ++at;
    }
    return stack.back();
  }

 private:
  static std::uint32_t take(std::vector<std::uint32_t>& stack) {
    const std::uint32_t top = stack.back();
    stack.pop_back();
    return top;
  }
  std::uint32_t add(Kind kind, std::vector<std::uint32_t> children, const expr::Instruction& instruction = {}) {
    Node node;
    node.kind = kind;
    node.instruction = instruction;
    node.children = std::move(children);
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  std::uint32_t constant(const expr::Scalar& value) {
    const std::uint32_t node = add(Kind::constant, {});
    nodes_[node].constant = value;
    return node;
  }
  std::uint32_t name(std::uint32_t use) {
    const BoundConstraint::Source& source = constraint_.sources()[use];
    if (!source.is_parameter) return constant(source.constant);
    const auto& members = constraint_.parameters();
    if (!std::binary_search(members.begin(), members.end(), source.position))  // it has only one value
      return constant(first_values_[source.position]);
    const std::uint32_t node = add(Kind::parameter, {});
    nodes_[node].member = source.position;
    return node;
  }

  std::vector<Node>& nodes_;
  const BoundConstraint& constraint_;
  const Expression::Code& code_;
  std::span<const expr::Scalar> first_values_;
};

Cell cell_of(const expr::Scalar& scalar) noexcept {
  const auto tag = static_cast<std::uint64_t>(scalar.kind);
  switch (scalar.kind) {
    case expr::Scalar::Kind::floating:
      return {tag, std::bit_cast<std::uint64_t>(scalar.floating)};
    case expr::Scalar::Kind::text:
      return {tag, reinterpret_cast<std::uint64_t>(scalar.text)};
    default:
      return {tag, static_cast<std::uint64_t>(scalar.integer)};
  }
}

expr::Scalar scalar_of(const Cell& cell) noexcept {
  expr::Scalar scalar;
  scalar.kind = static_cast<expr::Scalar::Kind>(cell.tag);
  if (scalar.kind == expr::Scalar::Kind::floating)
    scalar.floating = std::bit_cast<double>(cell.bits);
  else if (scalar.kind == expr::Scalar::Kind::text)
    scalar.text = reinterpret_cast<const std::string*>(cell.bits);
  else
    scalar.integer = static_cast<std::int64_t>(cell.bits);
  return scalar;
}

/// Bounds of a choice: of(1) if its condition holds, of(2) if it does not, both if either is possible.
template <class Of, class Unite>
auto chosen(expr::Truth condition, const Of& of, const Unite& unite) -> decltype(of(std::size_t{1})) {
  switch (condition) {
    case expr::Truth::yes:
      return of(1);
    case expr::Truth::no:
      return of(2);
    case expr::Truth::either:
      return unite(of(1), of(2));
    case expr::Truth::unknown:
      break;
  }
  return {};
}

/// Estimates how many states a set of bound parameters leaves.
class StateEstimate {
 public:
  StateEstimate(const std::vector<ConstraintTree>& trees, const std::vector<Parameter>& parameters)
      : trees_(trees), parameters_(parameters), bound_(parameters.size(), false) {}

  void set(std::uint32_t member, bool bound) { bound_[member] = bound; }

  /// Binary logarithm of the number of values that the stored parts can have together.
  double log_states() const {
    double sum = 0;
    for (const ConstraintTree& tree : trees_) {
      const Part root = part(tree, tree.root);
      if (!root.bound) sum += root.log_values;
    }
    return sum;
  }

 private:
  struct Part {
    bool bound;
    double log_values;  ///< bound: of the part; else the sum over its bound parts
  };

  Part part(const ConstraintTree& tree, std::uint32_t at) const {
    const Node& node = tree.nodes[at];
    if (node.kind == ConstraintTree::Kind::constant) return {true, 0};
    if (node.kind == ConstraintTree::Kind::parameter) {
      const bool bound = bound_[node.member];
      return {bound, bound ? std::log2(static_cast<double>(parameters_[node.member].values.size())) : 0};
    }
    Part whole{true, 0};
    for (const std::uint32_t child : node.children) {
      const Part below = part(tree, child);
      whole.bound = whole.bound && below.bound;
      whole.log_values += below.log_values;
    }
    const bool is_logical = node.kind == ConstraintTree::Kind::both || node.kind == ConstraintTree::Kind::any ||
                            node.instruction.opcode == expr::Opcode::compare ||
                            node.instruction.opcode == expr::Opcode::contains ||
                            node.instruction.opcode == expr::Opcode::logical_not;
    if (whole.bound && is_logical) whole.log_values = std::min(whole.log_values, 1.0);
    return whole;
  }

  const std::vector<ConstraintTree>& trees_;
  const std::vector<Parameter>& parameters_;
  std::vector<bool> bound_;
};

}  // namespace

ConstraintTree::ConstraintTree(const BoundConstraint& constraint, std::span<const expr::Scalar> first_values) {
  TreeBuilder builder(nodes, constraint, first_values);
  root = builder.build(0, constraint.expression().code().instructions.size(), {});
}

Residual::Residual(const ConstraintTree& tree, const std::vector<Parameter>& parameters,
                   const std::vector<std::uint32_t>& order)
    : tree_(tree), last_(tree.nodes.size(), -1), leaf_bounds_(tree.nodes.size()) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    if (node.kind == Kind::parameter) {
      last_[i] = static_cast<int>(std::find(order.begin(), order.end(), node.member) - order.begin());
      const auto& values = parameters[node.member].values;
      leaf_bounds_[i] = expr::bounds_of(expr::Scalar::of(values.front()));
      for (const Value& value : values)
        leaf_bounds_[i] = expr::unite(leaf_bounds_[i], expr::bounds_of(expr::Scalar::of(value)));
    }
    for (const std::uint32_t child : node.children) last_[i] = std::max(last_[i], last_[child]);
    has_logic_ = has_logic_ || node.kind == Kind::both || node.kind == Kind::any || node.kind == Kind::choice;
  }
  slots_.resize(order.size() + 1);
  slot_of_.resize(order.size() + 1);
  for (std::size_t depth = 0; depth <= order.size(); ++depth) {
    if (!is_bound(tree.root, depth)) collect(tree.root, depth, slots_[depth]);
    std::sort(slots_[depth].begin(), slots_[depth].end());
    slots_[depth].erase(std::unique(slots_[depth].begin(), slots_[depth].end()), slots_[depth].end());
    slot_of_[depth].assign(tree.nodes.size(), -1);
    for (std::size_t i = 0; i < slots_[depth].size(); ++i)
      slot_of_[depth][slots_[depth][i]] = static_cast<std::int32_t>(i);
  }
}

void Residual::collect(std::uint32_t node, std::size_t depth, Slots& slots) const {
  if (last_[node] < 0) return;
  if (is_bound(node, depth)) {
    slots.push_back(node);
    return;
  }
  for (const std::uint32_t child : tree_.nodes[node].children) collect(child, depth, slots);
}

Residual::Verdict Residual::start() {
  switch (truth(tree_.root, 0, {})) {
    case expr::Truth::yes:
      return Verdict::holds;
    case expr::Truth::no:
      return Verdict::fails;
    default:
      return Verdict::open;
  }
}

Residual::Verdict Residual::bind(std::size_t depth, const expr::Scalar& value, std::span<const Cell> before,
                                 std::span<Cell> after) {
  if (is_bound(tree_.root, depth)) return Verdict::holds;  // otherwise it would have ended this prefix
  if (!before.empty() && before.front().tag == Cell::decided) {
    std::fill(after.begin(), after.end(), Cell{Cell::decided, 0});
    return Verdict::holds;
  }
  if (is_bound(tree_.root, depth + 1)) {
    const Cell result = compute(tree_.root, depth, value, before);
    if (result.tag == Cell::failed) return Verdict::cannot_be_evaluated;
    return expr::truth(scalar_of(result)) ? Verdict::holds : Verdict::fails;
  }
  if (slots_[depth] == slots_[depth + 1]) {  // it does not use this parameter
    std::copy(before.begin(), before.end(), after.begin());
    return Verdict::open;
  }
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = compute(slots_[depth + 1][i], depth, value, before);
  if (has_logic_) drop_unneeded(depth + 1, after);
  switch (truth(tree_.root, depth + 1, after)) {
    case expr::Truth::no:
      return Verdict::fails;
    case expr::Truth::yes:
      std::fill(after.begin(), after.end(), Cell{Cell::decided, 0});
      return Verdict::holds;
    default:
      return Verdict::open;
  }
}

Cell Residual::compute(std::uint32_t at, std::size_t depth, const expr::Scalar& value, std::span<const Cell> before) {
  const Node& node = tree_.nodes[at];
  if (last_[at] >= 0 && is_bound(at, depth)) return before[static_cast<std::size_t>(slot_of_[depth][at])];
  switch (node.kind) {
    case Kind::constant:
      return cell_of(node.constant);
    case Kind::parameter:
      return cell_of(value);
    case Kind::operation:
      return operate(at, depth, value, before);
    case Kind::both:
    case Kind::any: {
      const Cell left = compute(node.children[0], depth, value, before);
      if (left.tag >= Cell::unused || expr::truth(scalar_of(left)) == (node.kind == Kind::any)) return left;
      return compute(node.children[1], depth, value, before);
    }
    case Kind::choice: {
      const Cell condition = compute(node.children[0], depth, value, before);
      if (condition.tag >= Cell::unused) return condition;
      return compute(node.children[expr::truth(scalar_of(condition)) ? 1 : 2], depth, value, before);
    }
  }
  return {};
}

Cell Residual::operate(std::uint32_t at, std::size_t depth, const expr::Scalar& value, std::span<const Cell> before) {
  const Node& node = tree_.nodes[at];
  const std::size_t base = stack_.size();
  for (const std::uint32_t child : node.children) {
    const Cell cell = compute(child, depth, value, before);
    if (cell.tag >= Cell::unused) {
      stack_.resize(base);
      return cell;
    }
    stack_.push_back(scalar_of(cell));
  }
  Cell result{Cell::failed, 0};
  try {
    result = cell_of(*(expr::operate(node.instruction, stack_.data() + stack_.size()) - 1));
  } catch (const expr::ArithmeticError&) {  // an error only if the whole expression needs it
  }
  stack_.resize(base);
  return result;
}

// Cells that a short circuit has made irrelevant would keep equal states apart.
void Residual::drop_unneeded(std::size_t depth, std::span<Cell> cells) {
  needed_.assign(cells.size(), false);
  mark_needed(tree_.root, depth, cells);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!needed_[i]) cells[i] = Cell{};
}

void Residual::mark_needed(std::uint32_t at, std::size_t depth, std::span<const Cell> cells) {
  if (last_[at] < 0) return;
  if (is_bound(at, depth)) {
    needed_[static_cast<std::size_t>(slot_of_[depth][at])] = true;
    return;
  }
  const Node& node = tree_.nodes[at];
  if (node.kind == Kind::both || node.kind == Kind::any) {
    const std::uint32_t left = node.children[0];
    mark_needed(left, depth, cells);
    if (last_[left] >= 0 && is_bound(left, depth)) {
      const Cell& cell = cells[static_cast<std::size_t>(slot_of_[depth][left])];
      if (cell.tag >= Cell::unused || expr::truth(scalar_of(cell)) == (node.kind == Kind::any)) return;
    }
    mark_needed(node.children[1], depth, cells);
    return;
  }
  if (node.kind == Kind::choice) {
    const std::uint32_t condition = node.children[0];
    if (last_[condition] >= 0 && is_bound(condition, depth)) {
      mark_needed(condition, depth, cells);
      const Cell& cell = cells[static_cast<std::size_t>(slot_of_[depth][condition])];
      if (cell.tag < Cell::unused) mark_needed(node.children[expr::truth(scalar_of(cell)) ? 1 : 2], depth, cells);
      return;
    }
  }
  for (const std::uint32_t child : node.children) mark_needed(child, depth, cells);
}

expr::Bounds Residual::bounds(std::uint32_t at, std::size_t depth, std::span<const Cell> cells) const {
  const Node& node = tree_.nodes[at];
  if (last_[at] >= 0 && is_bound(at, depth)) {
    const Cell& cell = cells[static_cast<std::size_t>(slot_of_[depth][at])];
    return cell.tag >= Cell::unused ? expr::Bounds{} : expr::bounds_of(scalar_of(cell));
  }
  switch (node.kind) {
    case Kind::constant:
      return expr::bounds_of(node.constant);
    case Kind::parameter:
      return leaf_bounds_[at];
    case Kind::operation:
      break;
    case Kind::choice:
      return chosen(
          truth(node.children[0], depth, cells),
          [&](std::size_t which) { return bounds(node.children[which], depth, cells); },
          [](const expr::Bounds& a, const expr::Bounds& b) { return expr::unite(a, b); });
    default:
      return {};
  }
  if (node.instruction.opcode == expr::Opcode::compare || node.instruction.opcode == expr::Opcode::logical_not)
    return expr::bounds_of(truth(at, depth, cells));
  std::array<expr::Bounds, 8> operands;
  if (node.children.size() > operands.size()) return {};
  for (std::size_t i = 0; i < node.children.size(); ++i) operands[i] = bounds(node.children[i], depth, cells);
  return expr::apply(node.instruction, std::span(operands).first(node.children.size()));
}

expr::Truth Residual::truth(std::uint32_t at, std::size_t depth, std::span<const Cell> cells) const {
  using expr::Truth;
  const Node& node = tree_.nodes[at];
  if (node.kind == Kind::both || node.kind == Kind::any) {
    // The value of a bound part is known, so the rest is needed only if it is evaluated.
    if (last_[at] >= 0 && is_bound(at, depth)) return expr::truth(bounds(at, depth, cells));
    const Truth ends = node.kind == Kind::both ? Truth::no : Truth::yes;
    const Truth left = truth(node.children[0], depth, cells);
    if (left == Truth::unknown || left == ends) return left;
    const Truth right = truth(node.children[1], depth, cells);
    if (left != Truth::either || right == Truth::unknown || right == ends) return right;
    return Truth::either;
  }
  if (node.kind == Kind::choice && !(last_[at] >= 0 && is_bound(at, depth)))
    return chosen(
        truth(node.children[0], depth, cells),
        [&](std::size_t which) { return truth(node.children[which], depth, cells); },
        [](Truth a, Truth b) {
          return a == b ? a : a == Truth::unknown || b == Truth::unknown ? Truth::unknown : Truth::either;
        });
  if (node.kind == Kind::operation && !(last_[at] >= 0 && is_bound(at, depth))) {
    if (node.instruction.opcode == expr::Opcode::compare)
      return expr::apply(static_cast<expr::Relation>(node.instruction.detail), bounds(node.children[0], depth, cells),
                         bounds(node.children[1], depth, cells));
    if (node.instruction.opcode == expr::Opcode::logical_not) {
      const Truth operand = truth(node.children[0], depth, cells);
      return operand == Truth::yes ? Truth::no : operand == Truth::no ? Truth::yes : operand;
    }
  }
  return expr::truth(bounds(at, depth, cells));
}

std::vector<std::uint32_t> narrow_order(const std::vector<ConstraintTree>& trees,
                                        const std::vector<Parameter>& parameters,
                                        const std::vector<std::uint32_t>& members) {
  StateEstimate estimate(trees, parameters);
  std::vector<std::uint32_t> order, left = members;
  while (!left.empty()) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t choice = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      estimate.set(left[i], true);
      if (const double states = estimate.log_states(); states < least) {
        least = states;
        choice = i;
      }
      estimate.set(left[i], false);
    }
    estimate.set(left[choice], true);
    order.push_back(left[choice]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(choice));
  }
  return order;
}

}  // namespace xtune::space
