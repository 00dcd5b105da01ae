# SPDX-License-Identifier: Apache-2.0
"""Winners as a C++ header, and decision trees over problem sizes, as JSON or as such a header: `xtune store export`."""
import functools
import itertools
import math
import re

from . import constraints
from ._text import bindings_text, cut, float_text, type_rank, value_text

# Words of C++, and names that the headers use themselves.
TAKEN = frozenset(
    """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept
const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept
not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof
static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
unsigned using virtual void volatile wchar_t while xor xor_eq
std arch device config problem time_ms Config Problem Winner winners default_config best distance detail allowed choices
first_choice ok""".split()
)
TYPES = ("bool", "long long", "double", "std::string_view")


def identifier(name, used):
    """A C++ identifier that is not in `used`, which gets it."""
    word = re.sub("_+", "_", re.sub("[^A-Za-z0-9]", "_", name.encode().decode("latin-1"))).lstrip("_")
    if not word or word[0].isdigit():
        word = "p" + word
    if word in TAKEN:
        word += "p" if word.endswith("_") else "_"
    result, number = word, 2
    while result in used:
        result, number = word + ("" if word.endswith("_") else "_") + str(number), number + 1
    used.add(result)
    return result


def string_literal(text):
    escaped = (
        f"\\{chr(byte)}" if chr(byte) in '"\\?' else chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return '"' + "".join(escaped) + '"'


def in_comment(text):
    """One line without a backslash."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\\]", " ", cut(text, 100))


def number(value):
    if math.isfinite(value):
        return float_text(value)
    return "-" * (value < 0) + f"std::numeric_limits<double>::{'infinity' if value == value else 'quiet_NaN'}()"


def literal(value, rank):
    """rank: of the type of the field."""
    if rank == 3:
        return string_literal(value_text(value))
    if rank == 2:
        return number(float(value))
    if rank == 0:
        return value_text(value)
    return "-9223372036854775807LL - 1" if value == -(2**63) else str(int(value)) + "LL" * (type(value) is int)


class Fields:
    """The members of a structure that holds these values: (name in the store, identifier, rank of the type)."""

    def __init__(self, lists):
        used = set()
        self.fields = [(name, identifier(name, used), max(type_rank(one[name]) for one in lists)) for name in lists[0]]

    def initializer(self, values):
        return "{" + ", ".join(literal(values[name], rank) for name, _, rank in self.fields) + "}"

    def structure(self, title):
        members = (
            f"  {TYPES[rank]} {word};{'' if word == name else '  // ' + in_comment(name)}\n"
            for name, word, rank in self.fields
        )
        return f"struct {title} {{\n{''.join(members)}}};\n"


def by(key, items):
    groups = {}
    for item in items:
        groups.setdefault(item[key], []).append(item)
    return sorted(groups.items())


# Winners.

CHOICE = """
/// The configuration of the nearest problem measured on this architecture, by shape, that may run for this one: measured
/// for it, or allowed; on this device where one is named and was measured. Null where there is none.
constexpr const Config* best(std::string_view arch, const Problem& problem, std::string_view device = {}) {
  const Config* nearest = nullptr;
  double least = 1e299;
  bool on_device = false;
  for (std::size_t i = 0; i + 1 < sizeof(first_choice) / sizeof(*first_choice); ++i) {
    const Winner& winner = winners[i];
    if (winner.arch != arch) continue;
    const double distance = detail::distance(winner.problem, problem);
    const bool here = winner.device == device;
    if (!(distance < least || (!(least < distance) && here && !on_device && distance < 1e299))) continue;
    for (std::size_t choice = first_choice[i]; choice < first_choice[i + 1]; ++choice) {
      if (!(distance == 1.0) && !allowed(choices[choice], problem)) continue;
      nearest = &choices[choice];
      least = distance;
      on_device = here;
      break;
    }
  }
  return nearest;
}
"""


def one_line(text):
    return " ".join(text.split())


def allowed_text(kernel, request, config, problem, warnings):
    """The function `allowed` with its helpers, and whether it can allow a problem that was not measured for a configuration
    that was."""
    names = {name: (f"config.{word}", rank) for name, word, rank in config.fields}
    names |= {name: (f"problem.{word}", rank) for name, word, rank in problem.fields}
    conditions, why = [], ""
    if "constraints" not in request:
        why = "the constraints of its spec are not known; `xtune store export SPEC` compiles them in"
    for text in request.get("constraints", ()):
        try:
            translation = constraints.Translation(names, request["derived"], string_literal, number)
            conditions.append((text, translation.condition(text)))
        except constraints.Unknown as error:
            why = f'its constraint "{cut(one_line(text))}" {error}'
            break
    head = "\n/// Whether the spec allows a configuration for a problem{}.\nconstexpr bool allowed("
    parameters = "[[maybe_unused]] const Config& config, [[maybe_unused]] const Problem& problem) {\n"
    if why:
        warnings.append(f"{cut(kernel)}: only problems that were measured have an answer in the header: {why}")
        comment = f": unknown, and taken as no. Only problems\n/// that were measured have an answer: {in_comment(why)}"
        return head.format(comment) + parameters + "  return false;\n}\n", False
    if not conditions:
        return head.format(": it has no constraints") + parameters + "  return true;\n}\n", True
    comment = (
        ":" + "".join(f"\n///   {in_comment(one_line(text))}" for text, _ in conditions) + "\n/// Without a value, no"
    )
    body = "".join(f"  if (!({condition}) || !ok) return false;\n" for _, condition in conditions)
    helpers = f"\nnamespace detail {{\n{constraints.HELPERS}}}  // namespace detail\n"
    return helpers + head.format(comment) + parameters + f"  bool ok = true;\n{body}  return ok;\n}}\n", True


def distance_text(problem):
    """Sizes as ratios: their product orders as the sum of the logarithms does, which are not constexpr."""
    text = """namespace detail {
constexpr double ratio(double a, double b) {
  if (!(a > 0) || !(b > 0)) return a < b || b < a ? 1e300 : 1.0;
  return a < b ? b / a : a / b;
}
constexpr double distance([[maybe_unused]] const Problem& a, [[maybe_unused]] const Problem& b) {
  double product = 1.0;
"""
    for _, word, rank in problem.fields:
        text += (
            f"  product *= ratio(static_cast<double>(a.{word}), static_cast<double>(b.{word}));\n"
            if rank in (1, 2)
            else f"  if (a.{word} != b.{word}) return 1e300;\n"
        )
    return text + "  return product;\n}\n}  // namespace detail\n"


def most_frequent(winners):
    """The configuration that wins most often, among equals the one with the smallest text."""
    counts = {}
    for winner in winners:
        counts.setdefault(bindings_text(winner["config"]), []).append(winner["config"])
    return max(sorted(counts.items()), key=lambda item: len(item[1]))[1][0]


def winners_of_kernel(kernel, namespace, winners, request, warnings):
    newest = max(winners, key=lambda one: one["unix_time_ms"])
    kept = [one for one in winners if all(one[key].keys() == newest[key].keys() for key in ("config", "problem"))]
    if len(kept) < len(winners):
        warnings.append(
            f"{cut(kernel)}: {len(winners) - len(kept)} winners skipped: their parameters or dimensions differ "
            "from the newest's"
        )
    others = [[each for each in one.get("others", ()) if each.keys() == newest["config"].keys()] for one in kept]
    config = Fields([one["config"] for one in kept] + sum(others, []))
    problem = Fields([one["problem"] for one in kept])
    allowed, more = allowed_text(kernel, request, config, problem, warnings)
    choices = [[one["config"], *(rest if more else ())] for one, rest in zip(kept, others)]
    first = list(itertools.accumulate(map(len, choices), initial=0))
    rows = ""
    for one in kept:
        driver = f"  // driver {in_comment(one['driver'])}" if one["driver"] else ""
        rows += (
            f"    {{{string_literal(one['arch'])}, {string_literal(one['device'])}, {problem.initializer(one['problem'])}, "
            f"{config.initializer(one['config'])}, {number(one['time_ms'])}}},{driver}\n"
        )
    return f"""
/// {in_comment(kernel)}
namespace xtune_best::{namespace} {{

{config.structure("Config")}
{problem.structure("Problem")}
struct Winner {{
  std::string_view arch, device;
  Problem problem;
  Config config;
  double time_ms;
}};

inline constexpr Winner winners[] = {{
{rows}}};

/// The configurations that answer for the problem of a winner, best first: winners[i] has choices[first_choice[i]] up to
/// first_choice[i + 1].
inline constexpr Config choices[] = {{
{"".join(f"    {config.initializer(each)},{chr(10)}" for each in sum(choices, []))}}};
inline constexpr std::size_t first_choice[] = {{{", ".join(map(str, first))}}};

/// What won most often.
inline constexpr Config default_config = {config.initializer(most_frequent(kept))};

{distance_text(problem)}{allowed}{CHOICE}
}}  // namespace xtune_best::{namespace}
"""


def winners_header(request, warnings):
    """A namespace xtune_best::<kernel> for each kernel. Winners whose parameters or dimensions differ from the newest
    winner's are omitted, with a warning."""
    used = set()
    return f"""// The fastest configurations found by xtune {request["version"]}, by architecture and problem. Generated by
// `xtune store export --format header`; C++17 or later.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
""" + "".join(
        winners_of_kernel(kernel, identifier(kernel, used), winners, request, warnings)
        for kernel, winners in by("kernel", request["winners"])
    )


# Trees: classification and regression trees (CART), with the cost of a wrong configuration in place of the usual impurity. A
# cost is the number of unmeasured cases, that of cases above the limit, and the sum of the logarithms of the ratios.


def cost_of(ratio, limit):
    return (1, 0, 0.0) if ratio is None else (0, int(ratio > limit), math.log(ratio))


def added(costs, others, sign=1):
    return [tuple(x + sign * y for x, y in zip(a, b)) for a, b in zip(costs, others)]


def rank_of(cost):
    """Sums in another order differ in their last digits."""
    return (cost[0], cost[1], math.copysign(math.floor(abs(cost[2]) * 1e9 + 0.5), cost[2]))


def is_number(value):
    return type(value) in (int, float)


def is_at_most(a, b):
    return a <= b if type(a) is type(b) is int else float(a) <= float(b)


def between(a, b):
    """a <= result < b: the middle of the logarithms, since the effect of a size grows with its ratio."""
    low, high = float(a), float(b)
    middle = math.sqrt(low) * math.sqrt(high) if low > 0 else low + (high - low) / 2
    inside = low <= middle < high  # beyond 2^53 it may be rounded out of the interval
    if type(a) is type(b) is int:
        return min(max(math.floor(middle), a), b - 1) if inside else a
    return middle if inside else low


class Tree:
    """Grows a tree for problems, and rows of ratios: the time of each configuration divided by the best one of the problem;
    None: not measured. nodes: {"config"}, or {"size", "at_most" or "equals", "then", "else"}; the first one is the root.

    A leaf takes the configuration with the fewest unmeasured cases, then the fewest cases above `limit` (1.05 for five
    percent), then the smallest product of ratios. A node whose leaf has such cases is split greedily: of all sizes and of
    all places between neighbouring values, the split with the best sum of both leaves, then the most even one. Splits that
    save no case are removed afterwards, from the leaves to the root. Ties are resolved by the order of names, values and
    configurations, so equal cases always give the same tree."""

    def __init__(self, problems, ratios, limit, max_depth):
        self.problems, self.nodes = problems, []
        self.costs = [[cost_of(ratio, limit) for ratio in row] for row in ratios]
        self.add(range(len(problems)), max_depth)

    def total(self, members):
        return functools.reduce(added, (self.costs[i] for i in members))

    def add(self, members, depth):
        """Adds a node with its successors; returns its cost."""
        costs, node = self.total(members), len(self.nodes)
        leaf = min(costs, key=rank_of)
        self.nodes.append({"config": costs.index(leaf)})
        split = self.best_split(members, costs) if depth and leaf[:2] != (0, 0) else None
        if not split:
            return leaf
        _, question, yes, no = split
        then, cost = len(self.nodes), self.add(yes, depth - 1)
        otherwise, other = len(self.nodes), self.add(no, depth - 1)
        cost = added([cost], [other])[0]
        if cost[:2] >= leaf[:2]:
            del self.nodes[node + 1 :]
            return leaf
        self.nodes[node] = {**question, "then": then, "else": otherwise}
        return cost

    def best_split(self, members, costs):
        """(rank, question, problems that answer yes, others)"""
        best = None
        for size in self.problems[0]:
            column = [problem[size] for problem in self.problems]
            numbers = all(map(is_number, column))
            exact = all(type(value) is int for value in column)
            key = (
                (lambda i: column[i] if exact else float(column[i]))
                if numbers
                else (lambda i: (type_rank(column[i]), value_text(column[i])))
            )
            runs = [list(run) for _, run in itertools.groupby(sorted(members, key=key), key)]
            before = None
            for i in range(len(runs) - (numbers or len(runs) == 1)):
                before = self.total(runs[i]) if i == 0 or not numbers else added(before, self.total(runs[i]))
                after = added(costs, before, -1)
                yes, no = (runs[: i + 1], runs[i + 1 :]) if numbers else ([runs[i]], runs[:i] + runs[i + 1 :])
                cost = added([min(before, key=rank_of)], [min(after, key=rank_of)])[0]
                found = (*rank_of(cost), abs(sum(map(len, yes)) - sum(map(len, no))))
                if best is None or found < best[0]:
                    value = column[runs[i][0]]
                    question = {"at_most": between(value, column[runs[i + 1][0]])} if numbers else {"equals": value}
                    best = found, {"size": size, **question}, sum(yes, []), sum(no, [])
        return best

    def choose(self, problem):
        node = self.nodes[0]
        while "config" not in node:
            value = problem[node["size"]]
            holds = (
                is_number(value) and is_at_most(value, node["at_most"])
                if "at_most" in node
                else type(value) is type(node["equals"]) and value == node["equals"]
            )
            node = self.nodes[node["then" if holds else "else"]]
        return node["config"]


def ratio(time_ms, case):
    return max(time_ms / case["best_ms"], 1.0)


def tree_of(group, within, max_depth, warnings):
    """The tree of a kernel on an architecture, with its answer at each case."""
    cases = group["cases"]
    tree = Tree(
        [one["problem"] for one in cases],
        [[time and ratio(time, one) for time in one["times_ms"]] for one in cases],
        1 + within,
        max_depth,
    )
    numbers = {}  # only of the configurations that a leaf has
    answers = []
    for node in tree.nodes:
        if "config" in node:
            node["config"] = numbers.setdefault(node["config"], len(numbers))
    for one in cases:
        config = tree.choose(one["problem"])
        time = one["times_ms"][list(numbers)[config]]
        answers.append(
            {
                "problem": one["problem"],
                "device": one["device"],
                "config": config,
                "time_ms": time,
                "best": one["best"],
                "best_ms": one["best_ms"],
                "regret": None if time is None else ratio(time, one) - 1,
            }
        )
    regrets = [one["regret"] or 0.0 for one in answers]
    above, not_measured = sum(one > within for one in regrets), sum(one["time_ms"] is None for one in answers)
    if above or not_measured:
        warnings.append(
            f"{cut(group['kernel'])} on {cut(group['arch'])}: of {len(answers)} cases, {above} are more than "
            f"{within * 100:.3g} % above their best, and {not_measured} were not measured with the chosen "
            "configuration; raise --max-configs, --within or --max-depth, or measure more configurations on all "
            "cases"
        )
    return {
        "kernel": group["kernel"],
        "arch": group["arch"],
        "within": within,
        "max_regret": max(regrets),
        "mean_regret": sum(regrets) / (len(answers) - not_measured or 1),
        "above": above,
        "not_measured": not_measured,
        "configs": [group["configs"][config] for config in numbers],
        "nodes": tree.nodes,
        "cases": answers,
    }


def node_text(tree, node, problem, indent):
    space, node = " " * indent, tree["nodes"][node]
    if "config" in node:
        return f"{space}return {node['config']};\n"
    _, word, rank = next(field for field in problem.fields if field[0] == node["size"])
    relation, value = ("<=", node["at_most"]) if "at_most" in node else ("==", node["equals"])
    return (
        f"{space}if (problem.{word} {relation} {literal(value, rank)}) {{\n"
        + node_text(tree, node["then"], problem, indent + 2)
        + f"{space}}}\n"
        + node_text(tree, node["else"], problem, indent)
    )


def tree_text(tree, namespace, config, problem):
    cases = ""
    for one in tree["cases"]:
        why = (
            "the configuration was not measured here"
            if one["time_ms"] is None
            else f"{one['regret'] * 100:.2f} % above the best"
        )
        time = math.nan if one["time_ms"] is None else one["time_ms"]
        cases += (
            f"    {{{problem.initializer(one['problem'])}, {string_literal(one['device'])}, {one['config']}, {number(time)}, "
            f"{number(one['best_ms'])}}},  // {why}\n"
        )
    configs = "".join(f"    {config.initializer(one)},\n" for one in tree["configs"])
    return f"""
/// {in_comment(tree["arch"])}: {len(tree["configs"])} configurations for {len(tree["cases"])} measured cases. Above the best of \
a case: {tree["max_regret"] * 100:.2f} % at most, {tree["mean_regret"] * 100:.2f} % on
/// average; the chosen configuration was not measured for {tree["not_measured"]} cases.
namespace {namespace} {{

inline constexpr Config configs[] = {{
{configs}}};

inline constexpr Case cases[] = {{
{cases}}};

/// The number of the tree's configuration.
constexpr std::size_t leaf([[maybe_unused]] const Problem& problem) {{
{node_text(tree, 0, problem, 2)}}}

/// The tree's configuration, if it was measured for the problem or the spec allows it; else the first one of `configs`
/// that the spec allows; null where there is none.
constexpr const Config* select(const Problem& problem) {{
  const std::size_t chosen = leaf(problem);
  if (allowed(configs[chosen], problem)) return &configs[chosen];
  for (const Case& one : cases)
    if (one.config == chosen && one.time_ms == one.time_ms && detail::distance(one.problem, problem) == 1.0)
      return &configs[chosen];
  for (const Config& config : configs)
    if (allowed(config, problem)) return &config;
  return nullptr;
}}

}}  // namespace {namespace}
"""


def trees_of_kernel(kernel, namespace, trees, request, warnings):
    config = Fields([one for tree in trees for one in tree["configs"]])
    problem = Fields([one["problem"] for tree in trees for one in tree["cases"]])
    text, choice, used = "", "", {"Config", "Problem", "Case", "select", "allowed", "detail"}
    for tree in trees:
        arch = identifier(tree["arch"], used)
        text += tree_text(tree, arch, config, problem)
        choice += f"  if (arch == {string_literal(tree['arch'])}) return {arch}::select(problem);\n"
    return f"""
/// {in_comment(kernel)}
namespace xtune_tree::{namespace} {{

{config.structure("Config")}
{problem.structure("Problem")}
/// A measured problem: the number of the chosen configuration, its time (NaN: not measured for this problem), and the
/// time of the best one, in milliseconds.
struct Case {{
  Problem problem;
  std::string_view device;
  std::size_t config;
  double time_ms, best_ms;
}};

{distance_text(problem)}{allowed_text(kernel, request, config, problem, warnings)[0]}{text}
/// The configuration for a problem on an architecture; null where none may run, and for an architecture that was not
/// measured.
constexpr const Config* select(std::string_view arch, const Problem& problem) {{
{choice}  return nullptr;
}}

}}  // namespace xtune_tree::{namespace}
"""


def trees_header(trees, request, warnings):
    """A namespace xtune_tree::<kernel>::<architecture> with select(problem), the configurations, and the answers at the
    cases."""
    used = set()
    return f"""// Decision trees over problem sizes, made of the measurements of xtune {request["version"]}. Generated by
// `xtune store export --format tree-header`; C++17 or later.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
""" + "".join(
        trees_of_kernel(kernel, identifier(kernel, used), group, request, warnings)
        for kernel, group in by("kernel", trees)
    )


def answer(request, warnings):
    """request: "format", "version" of the program, and "winners" as `store export --format json` has them, or "groups" of
    cases, one for each kernel and architecture."""
    if request["format"] == "header":
        return winners_header(request, warnings)
    trees = [tree_of(group, request["within"], request["max_depth"], warnings) for group in request["groups"]]
    if request["format"] == "tree-json":
        return {"xtune_trees": 1, "constraints": request.get("constraints"), "trees": trees}
    return trees_header(trees, request, warnings)
