# SPDX-License-Identifier: Apache-2.0
"""A kernel with its best configurations as a C++ library that does not need xtune: `xtune export`. The text that is the
same for all kernels is in the directory `exported`."""
import ast
import os

from . import constraints
from ._text import Refused, bindings_text, cut, value_text
from .headers import identifier, in_comment, literal, number, one_line, string_literal

TYPES = {"f32": "float", "f64": "double", "bool": "bool"} | {f"{s}{bits}": f"{w}int{bits}_t" for s, w in (("i", ""), ("u", "u")) for bits in (8, 16, 32, 64)}  # fmt: skip
ALL_TYPES = ("f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "c64", "c128")  # fmt: skip
RESULTS = {"bool": "bool", "truth": "bool", "int": "long long", "float": "double", "text": "std::string_view"}
BACKENDS = {"cuda": "CudaBackend", "hip": "HipBackend", "host": "HostBackend"}
TEXT_FACTS = ("backend", "name", "vendor", "arch")
OWN_WORDS = """stream device ok key config plan names other buffers scalars library words count value extents bytes_of map_type
element_bytes dense_strides allowed same_code check expect fail detail Plan Source Key Names Config Device Shapes""".split()
NOTE = "Written by `xtune export`; yours to use and change under any licence."


def template_parts(text):
    """The expressions of a template text."""
    parts, at = [], 0
    while at < len(text):
        if text[at : at + 2] in ("{{", "}}"):
            at += 2
        elif text[at] == "{":
            end = text.index("}", at)
            parts.append(text[at + 1 : end].strip())
            at = end + 1
        else:
            at += 1
    return parts


class Expressions(constraints.Translation):
    """Expressions as code of the members of `Names`: sizes, words and parameters are variables, derived names are
    functions."""

    def __init__(self, names, derived):
        super().__init__(names, derived, string_literal, number)
        self.used = set()  # names in the expressions since it was emptied
        self.functions = {}  # derived name -> (identifier, kind, C++ text, names that it uses)
        self.taken = {text for text, _ in names.values()}

    def of_Name(self, node):
        if node.id in self.names:
            self.used.add(node.id)
        if node.id in self.names or node.id not in self.derived or node.id in self.open:
            return super().of_Name(node)
        if node.id not in self.functions:
            outer, self.used = self.used, set()
            text, kind = super().of_Name(node)
            self.functions[node.id] = identifier(node.id, self.taken), kind, text, self.used
            self.used = outer
        word, kind, _, used = self.functions[node.id]
        self.used |= used
        return f"{word}()", kind

    def of_Attribute(self, node):
        name = ast.unparse(node)
        if not name.startswith("device."):
            raise constraints.Unknown(f"uses {name}")
        return name, "text" if name[7:] in TEXT_FACTS else "int"

    def of_BinOp(self, node):
        if isinstance(node.op, ast.Pow):
            values = [self.value(node.left), self.value(node.right)]
            if "float" in (values[0][1], values[1][1]):
                (base, power), kind = self.numbers(values)
                return f"detail::power({base}, {power}, ok)", kind
        return super().of_BinOp(node)

    def code(self, text, where, kind=None):
        """kind: "int" or "float", which the value becomes; None: its own. Refuses what C++ does not have."""
        try:
            value = self.expression(text)
            if kind == "bool":
                return self.truth(value)
            return self.as_number(value, kind) if kind else value[0]
        except constraints.Unknown as error:
            raise Refused(f'{where}: "{cut(one_line(text))}" {error}, and a library without xtune cannot compute it') from None  # fmt: skip

    def template(self, text, where):
        """The code of a text that is a word, or one expression in braces."""
        parts = template_parts(text)
        if not parts:
            return string_literal(text)
        if len(parts) > 1 or text.strip() != "{" + text.strip()[1:-1] + "}":
            raise Refused(f'{where}: "{cut(text)}" is more than one name in braces')
        return self.code(parts[0], where)


def folded(text, fixed):
    """The expression where `A if NAME else B` has only the branch of a name with one value."""
    node = ast.parse("(" + text.strip() + ")", mode="eval").body
    while isinstance(node, ast.IfExp) and isinstance(node.test, ast.Name) and isinstance(fixed.get(node.test.id), bool):
        node = node.body if fixed[node.test.id] else node.orelse
    return ast.unparse(node)


def is_size(value):
    return type(value) is int


class Kernel:
    """The parameters of the exported functions, and the code of the tables."""

    def __init__(self, request):
        self.request, self.args = request, request["args"]
        self.cases = request["cases"]
        self.name = identifier(request["kernel"], set())
        self.problem = self.ordered_problem()
        self.words = {
            name: list(dict.fromkeys(case[name] for case in self.cases))
            for name in self.problem
            if isinstance(self.cases[0][name], str)
        }
        self.fixed = {
            name: self.cases[0][name]
            for name in self.problem
            if not is_size(self.cases[0][name]) and len({case[name] for case in self.cases}) == 1
        }
        self.free = [name for name in self.problem if name not in self.fixed]
        taken = set(OWN_WORDS)
        names = {}
        for name in self.problem + request["parameters"]:
            values = (
                [case[name] for case in self.cases]
                if name in self.problem
                else [one[name] for one in request["configs"]]
            )
            rank = max(
                3 if isinstance(v, str) else 0 if isinstance(v, bool) else 2 if isinstance(v, float) else 1
                for v in values
            )
            names[name] = identifier(name, taken), rank
        self.names = Expressions(names, request["derived"])
        self.parameter_names = {one["name"]: identifier(one["name"], taken) for one in self.args}
        self.check_arguments()
        self.buffers = [
            one for one in self.args if one["kind"] == "buffer" and one["role"] != "scratch" and not self.is_absent(one)
        ]
        self.scratch = [one for one in self.args if one["kind"] == "buffer" and one["role"] == "scratch"]
        self.maps = [one for one in self.args if one["kind"] == "tensor_map"]
        self.scalars = [one for one in self.args if one["kind"] == "scalar" and self.is_passed(one)]

    def ordered_problem(self):
        """As callers expect them: in the order of the scalars and shapes that name them, then flags and words."""
        texts = [one["value"] for one in self.args if one["kind"] == "scalar"]
        texts += [text for one in self.args if one["kind"] == "buffer" for text in one["shape"]]
        names = [text.strip() for text in texts if text and text.strip() in self.cases[0]]
        names = list(dict.fromkeys(names + sorted(self.cases[0])))
        return [n for n in names if is_size(self.cases[0][n])] + [n for n in names if not is_size(self.cases[0][n])]

    def check_arguments(self):
        for one in self.args:
            if one["kind"] in ("struct", "table", "constant"):
                raise Refused(f"argument '{one['name']}' is a {one['kind']}, which an exported library does not have")
            if one["sum_of"]:
                raise Refused(f"argument '{one['name']}' is a sum that xtune makes, which an exported library does not")
            if one["kind"] == "scalar" and len(set(one["dtypes"])) == 1:
                one["dtype"] = one["dtypes"][0]
            if one["kind"] == "scalar" and one["dtype"] not in TYPES:
                raise Refused(
                    f"argument '{one['name']}' is a scalar of {one['dtype']}, which an exported library does not have"
                )
        if any(isinstance(value, float) for case in self.cases for value in case.values()):
            raise Refused("the problem has a floating-point number, which an exported library does not take")

    def is_absent(self, argument):
        return self.fixed.get(argument["when"]) is False

    def is_passed(self, argument):
        """Whether the caller passes a scalar: its value names nothing, or is only a default."""
        if argument["call_value"] is not None:
            return True
        self.names.used = set()
        code = self.names.code(argument["value"], f"argument '{argument['name']}'")
        return not self.names.used and "device." not in code

    # Code of Names.

    def source(self, argument, value=None):
        number = lambda kind, of: f"{{Source::{kind}, {[one['name'] for one in of].index(argument['name'])}}}"
        if argument["kind"] == "tensor_map":
            return number("map", self.maps)
        if argument["kind"] == "buffer":
            if self.is_absent(argument):
                return "value<std::uint64_t>(0, ok)"
            return number("scratch", self.scratch) if argument["role"] == "scratch" else number("buffer", self.buffers)
        if value is None and argument in self.scalars:
            return number("scalar", self.scalars)
        kind = "float" if argument["dtype"] in ("f32", "f64") else "int"
        code = self.names.code(value or argument["value"], f"argument '{argument['name']}'", kind)
        return f"value<{TYPES[argument['dtype']]}>({code}, ok)"

    def numbers(self, texts, where):
        return "{" + ", ".join(self.names.code(text, where, "int") for text in texts) + "}"

    def map_code(self, argument):
        spec, where = argument["map"], f"tensor map '{argument['name']}'"
        of = next(one for one in self.args if one["name"] == spec["of"])
        scratch = of["role"] == "scratch"
        if self.is_absent(of):
            raise Refused(f"{where} is of '{of['name']}', which the exported cases do not pass")
        shape = spec["shape"] or of["shape"]
        strides = self.numbers(spec["strides"], where)
        if not spec["strides"]:
            strides = "dense_strides(" + self.numbers(shape, where) + ")"
        element_strides = self.numbers(spec["element_strides"] or ["1"] * len(shape), where)
        word = lambda key, otherwise: self.names.code(spec[key] or otherwise, where, "int")
        number = [one["name"] for one in (self.scratch if scratch else self.buffers)].index(of["name"])
        type_code = self.names.template(of["dtype"], where)
        flag = lambda value: str(bool(value)).lower()
        return f"""    // {in_comment(argument["name"])}
    plan.maps.push_back({{{number}, {flag(scratch)}, map_type({type_code}, {flag(spec["tf32"])}), element_bytes({type_code}),
                         {self.numbers(shape, where)}, {strides}, {self.numbers(spec["box"], where)},
                         {element_strides}, {word("swizzle", "0")}, {word("l2_promotion", "128")}, {word("interleave", "0")}, {flag(spec["nan_outside"])}}});
"""

    def step_code(self, step, index):
        where = f"step {index + 1}" if self.request["steps"][1:] else "the launch"
        names = step["args"] or [one["name"] for one in self.args]
        values = dict(step["with"])
        sources = [
            self.source(one, values.get(one["name"])) for name in names for one in self.args if one["name"] == name
        ]
        if len(sources) > 64:
            raise Refused(f"{where} takes {len(sources)} arguments, and an exported library passes up to 64")
        cluster = f"extents({self.numbers(step['cluster'], where)}, 1, ok)" if step["cluster"] else "{}"
        shared = self.names.code(step["shared"] or "0", where, "int")
        text = f"""plan.steps.push_back({{{index},
      {{extents({self.numbers(step["grid"], where)}, 1, ok), extents({self.numbers(step["block"], where)}, 1, ok), {cluster},
       static_cast<unsigned>({shared}), {str(step["cooperative"]).lower()}}},
      {{{", ".join(sources)}}}, nullptr}});
"""
        when = step["when"] and self.names.code(step["when"], where, "bool")
        return f"    // {in_comment(step['entry'])}\n    " + (f"if ({when}) " if when else "") + text

    def steps_code(self):
        """Steps that follow each other with the same loop alternate in it."""
        text, open_loop = "", None
        for index, step in enumerate(self.request["steps"]):
            if step["repeat"] != open_loop:
                if open_loop:
                    text += "    }\n"
                    del self.names.names[open_loop["index"]]
                open_loop = step["repeat"]
                if open_loop:
                    word = identifier(open_loop["index"], set(self.names.taken))
                    count = self.names.code(open_loop["count"], "a loop of steps", "int")
                    text += f"    for (long long {word} = 0, count = {count}; {word} < count; ++{word}) {{\n"
                    self.names.names[open_loop["index"]] = word, 1
            text += self.step_code(step, index)
        return text + ("    }\n" if open_loop else "")

    def plan_code(self):
        sizes = ""
        for one in self.buffers:
            where = f"argument '{one['name']}'"
            code = f"bytes_of({self.names.template(one['dtype'], where)}, {self.numbers(one['shape'], where)}, ok)"
            if one["when"]:
                code = f"{self.names.code(one['when'], where, 'bool')} ? {code} : 0"
            sizes += f"    plan.buffer_bytes.push_back({code});  // {in_comment(one['name'])}\n"
        for one in self.scratch:
            where = f"argument '{one['name']}'"
            code = f"bytes_of({self.names.template(one['dtype'], where)}, {self.numbers(one['shape'], where)}, ok)"
            zero = str(one["zero"]).lower()
            sizes += f"    plan.scratch.push_back({{static_cast<std::size_t>({code}), {zero}}});  // {in_comment(one['name'])}\n"
        return sizes + "".join(map(self.map_code, self.maps)) + self.steps_code()

    def code_texts(self):
        """The expressions that decide on what is compiled and use the problem."""
        texts = (
            [text for _, text in self.request["defines"]]
            + self.request["options"]
            + [one["entry"] for one in self.request["steps"]]
        )
        found = []
        for text in dict.fromkeys(part for text in texts for part in template_parts(text)):
            self.names.used = set()
            code = self.names.code(text, "what is compiled")
            if self.names.used & set(self.problem):
                found.append((text, code))
        return found

    def names_struct(self):
        variables = [(name, *self.names.names[name]) for name in self.problem + self.request["parameters"]]
        types = ("bool", "long long", "double", "std::string_view")
        plan, code = self.plan_code(), self.code_texts()
        allowed = "".join(
            f"    // {in_comment(one_line(text))}\n    if (!({self.names.code(text, 'a constraint', 'bool')})) return false;\n"
            for text in self.request["constraints"]
        )
        same = " && ".join(f"code_{i}() == other.code_{i}()" for i in range(len(code))) or "true"
        key = {name: f"key[{i}]" for i, name in enumerate(self.problem)}
        init = ", ".join(
            f"{word}({self.from_key(name, key[name]) if name in key else 'config.' + word})"
            for name, word, _ in variables
        )
        members = "".join(f"  {types[rank]} {word};\n" for _, word, rank in variables)
        derived = "".join(
            f"  {RESULTS[kind]} {word}() const {{ return {text}; }}\n"
            for word, kind, text, _ in self.names.functions.values()
        )
        codes = "".join(
            f"  auto code_{i}() const {{ return {text}; }}  // {in_comment(of)}\n" for i, (of, text) in enumerate(code)
        )
        return f"""/// A problem and a configuration: what the spec's expressions name.
struct Names {{
  Names(const Key& key, [[maybe_unused]] const Config& config, const Device& device_)
      : {init}{", " if init else ""}device(device_) {{}}

{members}  const Device& device;
  mutable bool ok = true;  ///< false: an expression has no value

{derived}
  /// Whether the spec allows the configuration for the problem.
  bool allowed() const {{
{allowed}    return ok;
  }}

  // What decides on the compiled code, besides the configuration.
{codes}  bool same_code([[maybe_unused]] const Names& other) const {{ return {same}; }}

  /// Memory, tensor maps and launches.
  Plan plan() const {{
    Plan plan;
{plan}    return plan;
  }}
}};
"""

    def from_key(self, name, text):
        value = self.cases[0][name]
        return (
            f"words_{self.names.names[name][0]}[{text}]"
            if isinstance(value, str)
            else f"({text} != 0)"
            if isinstance(value, bool)
            else text
        )

    def to_key(self, case):
        return (
            "{"
            + ", ".join(str(self.words[n].index(case[n]) if n in self.words else int(case[n])) for n in self.problem)
            + "}"
        )

    # The parameters of the C functions.

    def word(self, name):
        return self.names.names[name][0]

    def problem_parameters(self, names):
        kinds = {str: "const char *", bool: "bool ", int: "int64_t "}
        return [kinds[type(self.cases[0][name])] + self.word(name) for name in names]

    def scalar_parameters(self):
        return [f"{TYPES[one['dtype']]} {self.parameter_names[one['name']]}" for one in self.scalars]

    def buffer_parameters(self):
        texts = []
        for one in self.buffers:
            ctype = TYPES.get(one["dtypes"][0], "void") if len(set(one["dtypes"])) == 1 else "void"
            texts.append(f"{'const ' if one['role'] == 'in' else ''}{ctype} *{self.parameter_names[one['name']]}")
        return texts

    def parameters(self):
        """Of the call that passes addresses and sizes."""
        return (
            ["void *stream"] + self.buffer_parameters() + self.problem_parameters(self.free) + self.scalar_parameters()
        )

    def parameters_without_sizes(self):
        """Those beside the arrays, from which the other sizes follow."""
        sizes = self.found_sizes()
        return self.problem_parameters(n for n in self.free if n not in sizes) + self.scalar_parameters()

    def array_parameters(self):
        """Of the call that passes arrays with their extents."""
        arrays = [f"{self.name}_array {self.parameter_names[one['name']]}" for one in self.buffers]
        return ["void *stream"] + arrays + self.parameters_without_sizes()

    def found_sizes(self):
        """Which extent gives a size: name -> (argument, dimension)"""
        found = {}
        for one in self.buffers:
            for dimension, text in enumerate(one["shape"]):
                text = folded(text, self.fixed)
                if text in self.free and is_size(self.cases[0][text]) and not one["when"]:
                    found.setdefault(text, (one, dimension))
        return found

    def key_code(self):
        parts = []
        for name in self.problem:
            if name in self.fixed:
                parts.append("0" if name in self.words else str(int(self.fixed[name])))
            elif name in self.words:
                parts.append(f"number_of({string_literal(name)}, words_{self.word(name)}, {self.word(name)})")
            else:
                parts.append(self.word(name))
        return "{" + ", ".join(parts) + "}"


def documented(kernel):
    """What the header says of a call."""
    lines = []
    for one in kernel.buffers:
        shape = ", ".join(folded(text, kernel.fixed) for text in one["shape"])
        types = " or ".join(dict.fromkeys(one["dtypes"]))
        role = {"in": "read", "out": "written", "inout": "read and written"}[one["role"]]
        when = f"; null unless {one['when']}" if one["when"] else ""
        lines.append(f"{kernel.parameter_names[one['name']]}: {types}[{shape}], {role}{when}")
    for name, value in kernel.fixed.items():
        lines.append(f"{name} is {value_text(value)}")
    return "".join(f" *   {in_comment(line)}\n" for line in lines)


def header(kernel):
    name = kernel.name
    parameters, arrays = kernel.parameters(), kernel.array_parameters()
    types = ", ".join(f"{name}_{one}" for one in ALL_TYPES)
    return f"""/* {kernel.request["kernel"]}, with its configurations for {", ".join(one["arch"] for one in kernel.request["archs"])}. {NOTE} */
#ifndef {name.upper()}_H
#define {name.upper()}_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__GNUC__)
#define {name.upper()}_API __attribute__((visibility("default")))
#else
#define {name.upper()}_API
#endif

#ifdef __cplusplus
extern "C" {{
#endif

/* Queues the kernel in a stream (cudaStream_t, hipStream_t or NULL; a CPU's kernel has ended when the call returns).
 * The arrays are in the memory of the current device, one element after the other in C order:
{documented(kernel)} * Returns 0, or another number and {name}_error() says what is wrong. Any thread may call it. */
{name.upper()}_API int {name}({", ".join(parameters)});

typedef enum {{ {types} }} {name}_type;

/* An array in C order, with what {name}_arrays() checks. */
typedef struct {{
  const void *data;
  {name}_type type;
  int rank;
  int64_t extents[8];
}} {name}_array;

/* The same; sizes follow from the extents. */
{name.upper()}_API int {name}_arrays({", ".join(arrays)});

/* The thread's last error; "" if its last call succeeded. */
{name.upper()}_API const char *{name}_error(void);

#ifdef __cplusplus
}}
#endif
#endif
"""


def wrapper(kernel):
    name, sizes = kernel.name, kernel.found_sizes()
    view = [f"const {name}_view &{kernel.parameter_names[one['name']]}" for one in kernel.buffers]
    rest = kernel.parameters_without_sizes()
    passed = [kernel.parameter_names[one["name"]] for one in kernel.buffers]
    passed += [kernel.word(n) for n in kernel.free if n not in sizes] + [
        kernel.parameter_names[one["name"]] for one in kernel.scalars
    ]
    cases = "".join(
        f"template <>\nstruct {name}_type_of<{'std::' if t.endswith('_t') else ''}{t}> {{\n  static constexpr {name}_type value = {name}_{d};\n}};\n"
        for d, t in TYPES.items()
    )
    return f"""// {kernel.request["kernel"]} for C++17: {name}(stream, {{a, {{m, k}}}}, ...), which throws std::runtime_error.
// {NOTE}
#pragma once

#include <initializer_list>
#include <stdexcept>

#include "{name}.h"

template <class T>
struct {name}_type_of;  ///< of types that C++ does not have, give the type: {{a, {name}_bf16, {{m, k}}}}
{cases}
/// An array in C order, which is not owned.
struct {name}_view : {name}_array {{
  {name}_view(const void *data_, {name}_type type_, std::initializer_list<std::int64_t> extents_)
      : {name}_array{{data_, type_, static_cast<int>(extents_.size()), {{}}}} {{
    int i = 0;
    for (const std::int64_t each : extents_)
      if (i < 8) extents[i++] = each;
  }}
  template <class T>
  {name}_view(const T *data_, std::initializer_list<std::int64_t> extents_)
      : {name}_view(data_, {name}_type_of<T>::value, extents_) {{}}
}};

inline void {name}({", ".join(["void *stream"] + view + rest)}) {{
  if ({name}_arrays({", ".join(["stream"] + passed)}) != 0) throw std::runtime_error({name}_error());
}}
"""


def tree_code(tree, kernel, numbers, node=0, indent=2):
    """The tree of an architecture as `if`s over the members of Names."""
    space, node = " " * indent, tree["nodes"][node]
    if "config" in node:
        return f"{space}return {numbers[bindings_text(tree['configs'][node['config']])]};\n"
    word, rank = kernel.names.names[node["size"]]
    relation, value = ("<=", node["at_most"]) if "at_most" in node else ("==", node["equals"])
    return (
        f"{space}if (names.{word} {relation} {literal(value, rank)}) {{\n"
        + tree_code(tree, kernel, numbers, node["then"], indent + 2)
        + f"{space}}}\n"
        + tree_code(tree, kernel, numbers, node["else"], indent)
    )


def counted(number, noun):
    return f"{number} {noun}{'s' if number != 1 else ''}"


def tree_comment(arch):
    tree = arch["tree"]
    if not tree:
        return f"{arch['arch']}: nothing was measured, so this is the spec's default, whose speed is not known."
    return (
        f"{arch['arch']}, {arch['device']}: {counted(len(tree['configs']), 'configuration')} for "
        f"{counted(len(tree['cases']), 'measured problem')}. "
        f"Above the best of a problem: {tree['max_regret'] * 100:.2f} % at most, {tree['mean_regret'] * 100:.2f} % on average."
    )


def tables(kernel):
    """The configurations, architectures, answers and builds."""
    request, configs = kernel.request, kernel.request["configs"]
    numbers = {bindings_text(one): i for i, one in enumerate(configs)}
    fields = [(name, *kernel.names.names[name]) for name in request["parameters"]]
    types = ("bool", "long long", "double", "std::string_view")
    members = "".join(f"  {types[rank]} {word};\n" for _, word, rank in fields)
    rows = ",\n".join(
        "    {" + ", ".join(literal(one[name], rank) for name, _, rank in fields) + "}" for one in configs
    )
    archs, trees, answers, builds = "", "", "", ""
    for i, arch in enumerate(request["archs"]):
        facts = arch["facts"]
        order = [line.split() for line in ("backend name vendor arch", "warp_size compute_units shared_per_block shared_per_block_optin shared_per_compute_unit registers_per_block registers_per_compute_unit max_threads_per_block max_threads_per_compute_unit max_grid_x max_grid_y max_grid_z max_block_x max_block_y max_block_z l2_bytes memory_bytes clock_khz memory_clock_khz memory_bus_bits max_cluster_blocks")]  # fmt: skip
        texts = [string_literal(facts["device." + one]) for one in order[0]] + [
            str(facts["device." + one]) for one in order[1]
        ]
        archs += f"      {{{string_literal(arch['arch'])}, {{{', '.join(texts)}}}}},\n"
        leaf = f"  return {numbers[bindings_text(arch['answers'][0]['config'])]};\n"
        body = tree_code(arch["tree"], kernel, numbers) if arch["tree"] else leaf
        trees += f"/// {in_comment(tree_comment(arch))}\nstd::size_t tree_{i}([[maybe_unused]] const Names& names) {{\n{body}}}\n\n"
        for one in arch["answers"]:
            answers += (
                f"      {{{i}, {one['case']}, {numbers[bindings_text(one['config'])]}}},  // {in_comment(one['why'])}\n"
            )
    places = list(images_of(request, "builds"))
    for one in request["builds"]:
        symbols = ", ".join(string_literal(symbol) if symbol else "nullptr" for symbol in one["symbols"])
        builds += f"      {{{one['arch']}, {one['case']}, {numbers[bindings_text(one['config'])]}, {places.index(one['image'])}, {{{symbols}}}}},\n"
    config = f"struct Config {{\n{members}}};\n\n/// {', '.join(request['parameters'])}\nconst Config all_configs[] = {{\n{rows},\n}};\n"
    return config, archs, trees, answers, builds


def source(kernel):
    request, name = kernel.request, kernel.name
    config, archs, trees, answers, builds = tables(kernel)
    names = kernel.names_struct()
    backends = list(dict.fromkeys(one["backend"] for one in request["archs"]))
    words = "".join(
        f"constexpr std::string_view words_{kernel.word(n)}[] = {{{', '.join(map(string_literal, values))}}};\n"
        for n, values in kernel.words.items()
    )
    case_texts = "; ".join(bindings_text(case) for case in kernel.cases)
    include = "".join(f'#include "runtime/{one}.hpp"\n' for one in backends)
    problems = ", ".join(map(kernel.to_key, kernel.cases))
    own_images = images_of(request, "builds")
    images = ", ".join(f"{{{name}_images::image_{i}, {len(image) // 2}}}" for i, image in own_images.items())
    alignments = ", ".join(
        f"{max(1, min(element, 16))}" for element in (size_of(one["dtypes"]) for one in kernel.buffers)
    )
    branches = "".join(f"    if (arch == {i}) return tree_{i}(names);\n" for i in range(len(request["archs"])))
    text = (
        " << ".join(
            f'"{", " * (i > 0)}{n} = " << {kernel.from_key(n, f"key[{i}]")}' for i, n in enumerate(kernel.problem)
        )
        or '""'
    )
    return f"""// {kernel.request["kernel"]}: what is launched for which problem. {NOTE}
#include "{name}.h"

#include "runtime/arithmetic.hpp"
{include}
{declared(name + "_images", own_images)}
namespace {{

/// {", ".join(kernel.problem)}
using Key = std::array<long long, {len(kernel.problem)}>;
{words}
{config}
{names}
// Which configuration a problem gets that was not measured itself.

{trees}struct Kernel {{
  using Key = ::Key;
  using Names = ::Names;
  static constexpr std::size_t buffers = {len(kernel.buffers)};
  static constexpr const char* buffer_names[] = {{{", ".join(string_literal(one["name"]) for one in kernel.buffers)}}};
  static constexpr unsigned alignments[] = {{{alignments}}};
  static constexpr OpenBackend backends[] = {{{", ".join(f"{BACKENDS[one]}::open" for one in backends)}}};
  static constexpr const char* cases = {string_literal(case_texts)};
  static constexpr const auto& configs = all_configs;
  static constexpr struct {{
    std::string_view arch;
    Device device;
  }} archs[] = {{
{archs}  }};
  static constexpr Key problems[] = {{{problems}}};
  /// The configuration for a problem that was exported.
  static constexpr struct {{
    std::size_t arch, problem, config;
  }} answers[] = {{
{answers}  }};
  static constexpr Image images[] = {{{images}}};
  /// The compiled code of a configuration for a problem, with the name of each step's kernel.
  static constexpr struct {{
    std::size_t arch, problem, config, image;
    const char* symbols[{len(request["steps"])}];
  }} builds[] = {{
{builds}  }};
  static std::size_t tree(std::size_t arch, const Key& key, const Device& device) {{
    const Names names(key, configs[0], device);
{branches}    return 0;
  }}
  static std::string text([[maybe_unused]] const Key& key) {{
    std::ostringstream text;
    text << {text};
    return text.str();
  }}
}};

{calls(kernel)}"""


def size_of(dtypes):
    sizes = {"c128": 16, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "bool": 1, "c64": 8}
    return min(sizes[one] if one in sizes else int(one[1:]) // 8 for one in dtypes)


def calls(kernel):
    name, sizes = kernel.name, kernel.found_sizes()
    word = lambda one: kernel.parameter_names[one["name"]]
    parameters, arrays = kernel.parameters(), kernel.array_parameters()
    listed = lambda items: ", ".join(items) or "nullptr"
    buffers, scalars = listed(map(word, kernel.buffers)), listed("&" + word(one) for one in kernel.scalars)
    found = "".join(
        f"    const std::int64_t {kernel.word(n)} = {word(one)}.extents[{d}];\n" for n, (one, d) in sizes.items()
    )
    origin = ", ".join(f"{n} = \", {kernel.word(n)}, \" by '{one['name']}'" for n, (one, _) in sizes.items())
    checks = shapes = ""
    for one in kernel.buffers:
        dtype = kernel.names.template(one["dtype"], one["name"])
        condition = f"if ({kernel.names.code(one['when'], one['name'], 'bool')}) " if one["when"] else ""
        rank = len(one["shape"])
        checks += f"    if ({word(one)}.data) expect_rank({string_literal(one['name'])}, {word(one)}.rank, {rank});\n"
        extents = kernel.numbers(one["shape"], one["name"])
        shown = ", ".join(folded(text, kernel.fixed) for text in one["shape"])
        shapes += f"""    {condition}expect({string_literal(one["name"])}, {word(one)}, {dtype}, {extents}, {string_literal(shown)});
"""
    return f"""struct Shapes : Names {{
  using Names::Names;
  /// Compares a shape with the sizes, and the type.
  static void expect(const char* name, const {name}_array& array, std::string_view type,
                     std::initializer_list<long long> extents, const char* shape) {{
    static constexpr std::string_view types[] = {{{", ".join(map(string_literal, ALL_TYPES))}}};
    const auto given = static_cast<std::size_t>(array.type);
    if (given >= std::size(types)) fail("'", name, "' has an unknown type");
    if (types[given] != type) fail("'", name, "' is an array of ", type, " and was given one of ", types[given]);
    int dimension = 0;
    for (const long long extent : extents) {{
      if (array.extents[dimension] != extent)
        fail("'", name, "' has ", array.extents[dimension], " elements in dimension ", dimension + 1, ", and it is [", shape,
             "], which has ", extent, " there");
      ++dimension;
    }}
  }}
  void check({", ".join(f"const {name}_array& {word(one)}" for one in kernel.buffers)}) const {{
{shapes}  }}
}};

std::string& last_error() {{
  thread_local std::string text;
  return text;
}}

/// Exceptions do not leave C functions.
template <class Call>
int guarded(const Call& call) {{
  try {{
    call();
    if (!last_error().empty()) last_error().clear();
    return 0;
  }} catch (const std::exception& error) {{
    last_error() = std::string("{name}: ") + error.what();
    return 1;
  }}
}}

Calls<Kernel>& library() {{
  static Calls<Kernel> calls;
  return calls;
}}

}}  // namespace

int {name}({", ".join(parameters)}) {{
  return guarded([&] {{
    const Key key{kernel.key_code()};
    const void* const buffers[] = {{{buffers}}};
    const void* const scalars[] = {{{scalars}}};
    library().run(stream, key, buffers, scalars);
  }});
}}

int {name}_arrays({", ".join(arrays)}) {{
  return guarded([&] {{
{checks}{found}    const Key key{kernel.key_code()};
    try {{
      Shapes(key, all_configs[0], Kernel::archs[0].device).check({", ".join(map(word, kernel.buffers))});
    }} catch (const Failure& failure) {{
      fail(failure.what(){f', ": {origin}' + chr(34) if origin else ""});
    }}
    const void* const buffers[] = {{{listed(word(one) + ".data" for one in kernel.buffers)}}};
    const void* const scalars[] = {{{scalars}}};
    library().run(stream, key, buffers, scalars);
  }});
}}

const char *{name}_error(void) {{ return last_error().c_str(); }}
"""


def images_source(namespace, images):
    """images: number -> hex digits"""
    text = f"// Compiled code. {NOTE}\nnamespace {namespace} {{\n"
    for i, image in images.items():
        data = bytes.fromhex(image)
        data += bytes(-len(data) % 8)
        words = [f"0x{int.from_bytes(data[at : at + 8], 'little'):x}" for at in range(0, len(data), 8)]
        lines = "".join(f"    {','.join(words[at : at + 6])},\n" for at in range(0, len(words), 6))
        text += f"alignas(64) extern const unsigned long long image_{i}[] = {{\n{lines}}};\n"
    return text + f"}}  // namespace {namespace}\n"


def declared(namespace, numbers):
    """The declarations of images."""
    images = "".join(f"extern const unsigned long long image_{i}[];\n" for i in numbers)
    return f"namespace {namespace} {{\n{images}}}  // namespace {namespace}\n"


def images_of(request, rows):
    """The images that these builds or references use, by number."""
    return {i: request["images"][i] for i in sorted({one["image"] for one in request[rows]})}


def self_test(kernel):
    request, name = kernel.request, kernel.name
    backends = list(dict.fromkeys(one["backend"] for one in request["archs"]))
    include = "".join(f'#include "runtime/{one}.hpp"\n' for one in backends)
    cases = functions = ""
    for i, test in enumerate(request["tests"]):
        case = kernel.cases[test["case"]]
        buffers = "".join(
            f"         {{{string_literal(one['name'])}, {string_literal(one['dtype'])}, {one['elements']}, {str(one['role'] != 'out').lower()}, "
            f"{str(one['role'] != 'in').lower()}, {string_literal(one['file']) if one['file'] else 'nullptr'}}},\n"
            for one in (next(each for each in test["buffers"] if each["name"] == own["name"]) for own in kernel.buffers)
        )
        passed = [
            f"static_cast<{p.rsplit('*', 1)[0]}*>(buffers[{j}])" for j, p in enumerate(kernel.buffer_parameters())
        ]
        passed += [string_literal(case[n]) if n in kernel.words else str(case[n]).lower() for n in kernel.free]
        passed += [f"{value_text(test['scalars'][one['name']])}" for one in kernel.scalars]
        functions += f"int call_{i}(void* stream, void* const* buffers) {{\n  return {name}({', '.join(['stream'] + passed)});\n}}\n\n"
        cases += f"""      {{{string_literal(bindings_text(case))}, call_{i}, {test["rtol"]}, {test["atol"]}, {test["mismatched"]},
       {{
{buffers}       }}}},
"""
    references = ""
    for one in request["references"]:
        index = {own["name"]: j for j, own in enumerate(kernel.buffers)}
        arguments = ", ".join(
            f"{{{index.get(each['buffer'], -1)}, {{}}}}"
            if "buffer" in each
            else "{-2, {" + ", ".join(str(b) for b in bytes.fromhex(each["bytes"])) + "}}"
            for each in one["args"]
        )
        shape = lambda key: "{" + ", ".join(map(str, one[key])) + "}"
        references += f"""      {{{string_literal(request["archs"][one["arch"]]["arch"])}, {one["test"]}, {{{name}_reference::image_{one["image"]}, {len(request["images"][one["image"]]) // 2}}}, {string_literal(one["symbol"])},
       {{{shape("grid")}, {shape("block")}, {{}}, {one["shared"]}, false}}, {{{arguments}}}}},
"""
    return f"""// Runs the exported cases and compares them with the spec's reference kernel. {NOTE}
#include "{name}.h"

{include}#include "runtime/selftest.hpp"

{declared(name + "_reference", images_of(request, "references"))}
namespace {{

{functions}}}  // namespace

int main(int count, char** words) {{
  const OpenBackend backends[] = {{{", ".join(f"{BACKENDS[one]}::open" for one in backends)}}};
  const std::vector<TestCase> cases{{
{cases}  }};
  const std::vector<Reference> references{{
{references}  }};
  return self_test({{count, words}}, backends, cases, references, {name}_error);
}}
"""


def build_file(kernel):
    shared = " SHARED" if any(one["backend"] == "host" for one in kernel.request["archs"]) else ""
    name = kernel.name
    return f"""# {NOTE}
cmake_minimum_required(VERSION 3.16)
project({name} LANGUAGES C CXX)
find_package(Threads REQUIRED)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library({name}{shared} {name}.cpp {name}_images.cpp)
target_include_directories({name} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
target_compile_features({name} PUBLIC cxx_std_17)
set_target_properties({name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_link_libraries({name} PRIVATE ${{CMAKE_DL_LIBS}} Threads::Threads)

# The test needs a device; without one it is skipped (exit code 77).
enable_testing()
add_executable({name}_selftest {name}_selftest.cpp {name}_reference.cpp)
target_link_libraries({name}_selftest PRIVATE {name} ${{CMAKE_DL_LIBS}} Threads::Threads)
add_test(NAME {name} COMMAND {name}_selftest WORKING_DIRECTORY "${{CMAKE_CURRENT_SOURCE_DIR}}")
set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)
"""


def readme(kernel):
    name, request = kernel.name, kernel.request
    notes = "".join(f"- {one_line(tree_comment(one))}\n" for one in request["archs"])
    opens = "opens the driver at run time, and " if any(one["backend"] != "host" for one in request["archs"]) else ""
    return f"""# {request["kernel"]}

A library with the kernel `{request["kernel"]}`, compiled for {", ".join(one["arch"] for one in request["archs"])}. `{name}.h` is its C interface, `{name}.hpp`
adds C++. It {opens}needs nothing else to build or to run.

    cmake -S . -B build && cmake --build build && ctest --test-dir build
    build/{name}_selftest --time     # nanoseconds of a call

{notes}
Exported cases: {"; ".join(bindings_text(case) for case in kernel.cases)}.

{NOTE}
"""


def answer(request, warnings):
    """{file name: text}"""
    kernel, name = Kernel(request), identifier(request["kernel"], set())
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exported")
    backends = {one["backend"] for one in request["archs"]}
    fixed = ["runtime", "selftest"] + sorted(backends) + (["driver"] if backends & {"cuda", "hip"} else [])
    files = {}
    for one in fixed:
        with open(os.path.join(folder, one + ".hpp"), encoding="utf-8") as text:
            files[f"runtime/{one}.hpp"] = text.read()
    files[
        "runtime/arithmetic.hpp"
    ] = f"""// Arithmetic as in specs: what has no value makes `ok` false. {NOTE}
#pragma once

#include <cmath>

namespace {{
namespace detail {{
{constraints.HELPERS}inline double power(double a, double b, bool& ok) {{
  const double result = std::pow(a, b);
  if (!std::isfinite(result)) ok = false;
  return result;
}}
}}  // namespace detail
}}  // namespace
"""
    files |= {f"{name}.h": header(kernel), f"{name}.hpp": wrapper(kernel), f"{name}.cpp": source(kernel)}
    for part, rows in (("images", "builds"), ("reference", "references")):
        files[f"{name}_{part}.cpp"] = images_source(f"{name}_{part}", images_of(request, rows))
    files[f"{name}_selftest.cpp"] = self_test(kernel)
    return files | {"CMakeLists.txt": build_file(kernel), "README.md": readme(kernel)}
