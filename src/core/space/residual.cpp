// Partial evaluation of a constraint, value by value.
//
// A node of the expression is bound at depth d if all its parameters come before d. The cells at depth d are the values
// of the largest bound nodes: once A and B are bound, "A * B * C <= 64" depends only on A * B. Two prefixes with equal
// cells therefore allow the same completions, which is what lets the solver merge them.
//
// A constraint is decided as early as bounds allow. Each parameter without a value counts as the interval of all its
// values, and interval arithmetic (bounds.hpp) shows whether the constraint can still hold or fail. If it holds for
// every completion, its cells become "decided", so that prefixes that differ only in them merge, too. After a short
// circuit ("A > 1 or B % A == 0"), cells that can no longer be evaluated are cleared for the same reason.
//
// An arithmetic error, such as a division by zero, is kept in a cell and reported only if the whole expression needs
// that value: `and` and `or` evaluate their right side as Python does, only where the left side does not decide.
#include "core/space/residual.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/space/interpreter.hpp"

namespace xtune::space {

namespace {

using Kind = ConstraintTree::Kind;
using Node = ConstraintTree::Node;

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

}  // namespace

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

}  // namespace xtune::space
