# SPDX-License-Identifier: Apache-2.0
"""kbench's YAML, in which Mojo benchmarks list their parameters, as specs with [process]: `xtune import kbench`.

name, file, params (a mapping, or a list of mappings: each group is a product of its values, and groups follow each
other), rules (Python expressions). A name with a $ is passed to the program when it runs, and is not a -D. Groups with
the same names are one spec; others get one each, stem-2 and so on."""
import ast
import csv
import dataclasses
import io
import math
import operator
import os
import re

import yaml

from ._text import Refused, cut, did_you_mean, type_rank, value_text

MAX_VALUES = 100_000  # of one name
MAX_LISTED = 1_000_000  # configurations of several groups
MAX_STEPS = 10_000_000  # combinations of values that are tried for them
MAX_DEPTH = 32  # of lists in lists, and of merges of merges
MAX_NESTED = 500  # of anything in the file
MEANINGS = ("and", "or", "not", "in", "if", "else", "true", "false", "True", "False", "device", "time_s", "time_ms")


class NotPython(Exception):
    """Text that is a word, or more of Python than is evaluated here."""


class Unusable(NotPython):
    """Python whose value cannot be used: not finite, beyond 64 bits, too many. It cannot be meant as a word."""


def power(a, b):
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b > 63:
        raise Unusable("the result of ** does not fit a 64-bit integer")
    try:
        result = a**b
    except OverflowError:
        raise Unusable("the result of ** does not fit a float") from None
    if isinstance(result, complex):
        raise Unusable("a negative number to a fractional power is not real")
    return result


def left_shift(a, b):
    if a and b > 64:
        raise Unusable("the result of << does not fit a 64-bit integer")
    return a << (b if a else 0)


ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: left_shift,
    ast.RShift: operator.rshift,
    ast.Invert: operator.invert,
    "abs": abs,
    "int": int,
    "ceildiv": lambda a, b: -(-a // b),
    "pow2": lambda a: 1 << max(a - 1, 0).bit_length(),
    "log2": lambda a: [1 << i for i in range(63)].index(a),
}
FUNCTIONS = {"min": min, "max": max, "float": float, "range": range, "list": lambda all: all, "tuple": lambda all: all}
RELATIONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Expression:
    """An expression of Python's, as far as specs have them too (docs/spec-format.md), or lists and loops of such.
    names: those that it reads. where: its place in a file. Raises NotPython."""

    def __init__(self, text, where=""):
        self.text, self.where, self.names, self.left = text, where, set(), MAX_VALUES
        try:
            self.tree = ast.parse(text.strip(), mode="eval").body
            self.value = self.compiled(self.tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise NotPython(getattr(error, "msg", None) or str(error) or "it is too long") from None

    def __call__(self, known, as_list=False):
        """known: values by name. as_list: those of lists in lists. Raises Unusable, and NotPython for an unknown name."""
        try:
            value = self.value(known)
            return list(self.flat(value)) if as_list else value
        except KeyError as error:
            raise NotPython(f"unknown name {error}") from None
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise Unusable(str(error)) from None

    def compiled(self, node):
        """A function of `known`."""
        kind, function = type(node), getattr(node, "op", None) or getattr(node, "func", None)
        parts = [
            self.compiled(one)
            for one in ast.iter_child_nodes(node)
            if isinstance(one, ast.expr)
            and one is not function
            and kind not in (ast.Attribute, ast.ListComp, ast.GeneratorExp)
        ]
        function = ast.unparse(function) if kind is ast.Call else type(function)
        if kind is ast.Constant and type(node.value) in (bool, int, float, str):
            return lambda known: node.value
        if kind in (ast.Name, ast.Attribute):
            return self.name(ast.unparse(node))
        if function in ARITHMETIC:
            return lambda known: self.calculated(ARITHMETIC[function], [part(known) for part in parts])
        if function in FUNCTIONS and not node.keywords:
            return lambda known: FUNCTIONS[function](*[part(known) for part in parts])
        if function is ast.Not:
            return lambda known: not parts[0](known)
        if kind is ast.BoolOp:
            return lambda known: self.logic(function is ast.Or, parts, known)
        if kind is ast.IfExp:
            return lambda known: parts[1](known) if parts[0](known) else parts[2](known)
        if kind is ast.Compare and all(type(one) in RELATIONS for one in node.ops):
            return lambda known: self.compared([RELATIONS[type(one)] for one in node.ops], parts, known)
        if kind in (ast.List, ast.Tuple):
            return lambda known: [part(known) for part in parts]
        if kind in (ast.ListComp, ast.GeneratorExp):
            outer = set(self.names)
            results = self.loop(self.compiled(node.elt), node.generators)
            self.names -= {one.target.id for one in node.generators} - outer
            return results
        raise NotPython(
            f"unknown function '{cut(function)}'"
            if kind is ast.Call
            else f"'{cut(ast.unparse(node))}' is not an expression of specs"
        )

    def holds_without(self, missing, node=None):
        """Whether a rule excludes nothing where these names are missing: for kbench, it then holds. Its value can only be
        false if it is decided before one of them is read."""
        node = node or self.tree
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return any(self.holds_without(missing, one) for one in node.values)
        return self.reads(missing, node)

    def reads(self, names, node):
        """Whether every evaluation reads one of the names."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return ast.unparse(node) in names
        if isinstance(node, ast.IfExp):
            return self.reads(names, node.test) or all(self.reads(names, one) for one in (node.body, node.orelse))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.reads(names, node.generators[0].iter)
        parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        always = {ast.BoolOp: 1, ast.Compare: 2}.get(type(node), len(parts))  # the others may be skipped
        return any(self.reads(names, one) for one in parts[:always])

    def name(self, name):
        if name in ("true", "false"):
            return lambda known: name == "true"
        self.names.add(name)
        return lambda known: known[name]

    @staticmethod
    def calculated(function, operands):
        if not all(isinstance(one, (int, float)) for one in operands):
            raise Unusable("arithmetic needs numbers, got a string")
        return in_64_bits(function(*operands))

    @staticmethod
    def logic(decisive, parts, known):
        for part in parts:
            value = part(known)
            if bool(value) is decisive:
                break
        return value

    @staticmethod
    def compared(relations, parts, known):
        left = parts[0](known)
        for relation, part in zip(relations, parts[1:]):
            right = part(known)
            if not relation(left, right):
                return False
            left = right
        return True

    def loop(self, element, clauses):
        if not clauses:
            return lambda known: [element(known)]
        if not isinstance(clauses[0].target, ast.Name):
            raise NotPython("only one name can follow 'for'")
        name, inner = clauses[0].target.id, self.loop(element, clauses[1:])
        values, conditions = self.compiled(clauses[0].iter), [self.compiled(one) for one in clauses[0].ifs]

        def results(known):
            for value in self.counted(values(known)):
                here = {**known, name: value}
                if all(condition(here) for condition in conditions):
                    yield from inner(here)

        return results

    def counted(self, values):
        for value in values:
            self.left -= 1
            if self.left < 0:
                raise Unusable(f"more than {MAX_VALUES} values")
            yield value

    def flat(self, value):
        if isinstance(value, (bool, int, float, str)):
            yield from self.counted([in_64_bits(value)])
        else:
            for one in value:
                yield from self.flat(one)


def in_64_bits(value):
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Unusable(f"{cut(str(value))} does not fit a 64-bit integer")
    return value


def python_values(text):
    """The values of a literal: an expression, 'text', [a, b], (a, b), range(...), [A for NAME in B if C]. None: the text
    is a word, such as 64x64 or bfloat16. Raises NotPython for what looks like Python and is none of these."""
    text = text.strip()
    try:
        values = Expression(text)({}, as_list=True)
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise Unusable(f"'{cut(text)}' is not a finite number")
        return [str(value) if isinstance(value, bool) else value for value in values]
    except NotPython as error:
        is_number = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text, re.IGNORECASE)  # as a word it says the same
        is_python = text[:1] in tuple("[({'\"") or re.match(r"[\w.]+\(", text, re.ASCII) and text.endswith(")")
        if not is_number and (is_python or isinstance(error, Unusable)):
            raise
        return None


@dataclasses.dataclass
class Parameter:
    option: str  # as the benchmark spells it, without $
    compile_time: bool  # a -D
    values: list


@dataclasses.dataclass
class Group:
    parameters: dict  # by name, an identifier
    rules: list = ()

    def names(self):
        return frozenset((one.option, one.compile_time) for one in self.parameters.values())


@dataclasses.dataclass
class Family:
    """Groups with the same names. cases: parameters that are taken out of them; each has a value for every case."""

    groups: list
    cases: dict


def items_of(text):
    """The items of "[a, b]" or "a, b", each as written."""
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1]
    items, open_brackets, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        open_brackets += not quote and (character in "[({") - (character in "])}")
        if character == "," and not quote and open_brackets == 0:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip() or item is not items[-1]]


def as_type_of(other, value):
    if isinstance(other, str):
        return value_text(value)
    return float(value) if isinstance(other, float) else value


def alike(values):
    """All of one type, each once: words where one is a word, else floats where one is a float."""
    widest = max(values, key=type_rank)
    return list(dict.fromkeys(as_type_of(widest, value) for value in values))


def written_values(name, items, refuse):
    """The values of a name, from what is written for it: all of it Python, or all of it words. refuse: is called with the
    number of the item at fault, or None, and the message."""
    values, all_python = [], True
    for i, item in enumerate(items):
        try:
            python = python_values(item)
        except NotPython as error:
            refuse(
                i,
                f"{name}: the Python value {cut(item)} cannot be evaluated: {error}. Write the values as a list, or a "
                "word in quotes within quotes, \"'...'\"",
            )
        all_python = all_python and python is not None
        values += python or []
        if len(values) > MAX_VALUES:
            refuse(i, f"more than {MAX_VALUES} values")
    values = values if all_python else items
    if not values:
        refuse(None, f"{name} has no values")
    return alike(values)


def named_parameter(option):
    """Its name, and the parameter without values. option: as a file writes it, with $ for what the program takes when it
    runs; bench-max-iters is the parameter bench_max_iters."""
    parameter = Parameter(option[option.startswith("$") :], not option.startswith("$"), [])
    return re.sub(r"[-.]", "_", parameter.option), parameter


def name_complaint(name, option):
    """Why a spec cannot have a parameter of that name; empty: it can."""
    why = (
        "is not a C identifier: letters, digits and _, not starting with a digit"
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
        else "has its own meaning in expressions: choose another name"
        if name in MEANINGS
        else f"is a place in the commands of [process], {{{name}}}: choose another name"
        if name in ("out", "tmp")
        else ""
    )
    return why and f"parameter '{cut(option)}' {why}"


# The files.


class Reader:
    """Reads a file of kbench's. file: {"path", "text", "utf8"}; the text has U+FFFD in the place of other bytes."""

    def __init__(self, file):
        self.path, self.utf8 = file["path"], file["utf8"]
        self.root = self.parsed(file["text"])
        if not isinstance(self.root, yaml.MappingNode):
            self.fail(self.root, "a kbench file is a mapping with name, file and params")
        self.check_keys()
        self.groups = self.read_groups()

    def fail(self, node, why):
        raise Refused(f"{self.place(node)}: {why}")

    def place(self, node):
        mark = getattr(node, "start_mark", node)
        return f"{self.path}:{mark.line + 1}:{mark.column + 1}" if mark else self.path

    def parsed(self, text):
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            nested = 0
            for event in yaml.parse(text, loader):
                nested += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
                if nested > MAX_NESTED:
                    self.fail(event, f"nested more than {MAX_NESTED} deep")
            documents = list(yaml.compose_all(text, loader))
        except yaml.MarkedYAMLError as error:
            why = ", ".join(filter(None, (error.context, error.problem)))
            self.fail(error.problem_mark or error.context_mark, f"not valid YAML: {why}")
        except yaml.YAMLError as error:
            self.fail(None, f"not valid YAML: {error}")
        if len(documents) > 1:
            self.fail(documents[1], "a second document, behind ---: a kbench file is one")
        return documents[0] if documents else yaml.ScalarNode("", "", yaml.Mark(self.path, 0, 0, 0, None, None))

    def check_keys(self):
        """Keys that kbench does not know hold what groups merge (`commons: &commons`)."""
        self.keys = {}
        for key, value in self.root.value:
            if self.word(key) in self.keys:
                self.fail(key, f"'{key.value}' is there twice")
            self.keys[key.value] = value
        missing = [known for known in ("name", "file", "params") if known not in self.keys]
        for key, _ in self.root.value:
            if hint := did_you_mean(key.value, missing):
                self.fail(key, f"unknown key '{cut(key.value)}'{hint}")

    def word(self, node, why="a key is a word"):
        if not isinstance(node, yaml.ScalarNode) or is_null(node):
            self.fail(node, why)
        return node.value

    def benchmark(self):
        """Its name, and its file: looked for from the directory of the YAML file, then from the working directory."""
        for key in ("name", "file"):
            if not isinstance(self.keys.get(key), yaml.ScalarNode) or is_null(self.keys[key]):
                self.fail(self.root, f"the key '{key}' is missing")
        node = self.keys["file"]

        def variable(match):
            name = match[1] if match[1] is not None else match[2]
            if name not in os.environ:
                self.fail(node, f"file: the environment has no {name}: set it to where the benchmarks are")
            return os.environ[name]

        file = re.sub(r"\$(?:\{(\w*)\}?|(\w*))", variable, node.value, flags=re.ASCII)
        for directory in (os.path.dirname(self.path), ""):
            if os.path.isfile(found := os.path.join(directory, file)):
                return self.keys["name"].value, os.path.abspath(found)
        self.fail(node, f"file: {file} does not exist")

    def read_groups(self):
        params = self.keys.get("params")
        if params is None or is_null(params):
            self.fail(params or self.root, "the key 'params' is missing: nothing to tune")
        groups = [self.group(node) for node in items_or_itself(params)]
        if not any(group.parameters for group in groups):
            self.fail(params, "the key 'params' holds no parameters: nothing to tune")
        rules = self.rules(self.keys.get("rules"), groups)
        for group in groups:
            group.rules = rules
        return groups

    def rules(self, node, groups):
        if node is None or is_null(node):
            return []
        if isinstance(node, yaml.ScalarNode):
            self.fail(node, f'rules is a list: write rules: ["{cut(node.value, 200)}"]')
        if not isinstance(node, yaml.SequenceNode):
            self.fail(node, "rules is a list of expressions, each a text")
        spelled = {one.option: name for group in groups for name, one in group.parameters.items() if one.option != name}
        return [self.rule(one, spelled) for one in node.value]

    def rule(self, node, spelled):
        """Names as parameters have them; texts in quotes stay as they are. A minus is part of a name only behind a $."""
        text = self.word(node, "rules is a list of expressions, each a text")
        longest_first = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True))) or "(?!)"
        quoted = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
        name = rf"(?<![\w.])(?P<dollar>\$)?(?:(?P<option>{longest_first})(?!\w)|[A-Za-z_][\w.]*)"

        def renamed(match):
            option = match["option"]
            is_name = option and (match["dollar"] or "-" not in option)
            return spelled[option] if is_name else match[0] if match[0][0] in "'\"" else match[0].removeprefix("$")

        text = re.sub(f"{quoted}|{name}", renamed, text)
        try:
            return Expression(text, self.place(node))
        except NotPython as error:
            self.fail(node, f"the rule '{cut(text, 200)}': {error}")

    def group(self, node):
        parameters = {}
        for key, values in self.entries(node, [MAX_VALUES]):
            if key.value == "metadata":
                continue
            name, parameter = named_parameter(key.value)
            if complaint := name_complaint(name, key.value):
                self.fail(key, complaint)
            if name in parameters:
                self.fail(key, f"'{name}' is there twice, with $ and without")
            parameter.values = self.values(values, name)
            parameters[name] = parameter
        return Group(parameters)

    def entries(self, node, left, depth=0):
        """Merges as in YAML 1.1: entries of `<<` come first, and are replaced by entries with the same name. left: a list
        with how many more entries may be visited."""
        if not isinstance(node, yaml.MappingNode):
            self.fail(
                node, "<< merges a mapping, or a list of them" if depth else "params: a group maps names to values"
            )
        if depth > MAX_DEPTH:
            self.fail(node, f"merges of merges, more than {MAX_DEPTH} deep")
        merged, own = {}, {}
        for key, value in node.value:
            left[0] -= 1
            if left[0] < 0:
                self.fail(node, f"more than {MAX_VALUES} values")
            if self.word(key) == "<<" and key.tag == "tag:yaml.org,2002:merge":
                for one in items_or_itself(value):
                    for entry in self.entries(one, left, depth + 1):
                        merged.setdefault(entry[0].value, entry)
            elif key.value in own:
                self.fail(key, f"'{cut(key.value)}' is there twice")
            else:
                own[key.value] = (key, value)
        return [entry for name, entry in merged.items() if name not in own] + list(own.values())

    def values(self, node, name):
        """As kbench takes them: all of them Python, or all of them words."""
        items = []

        def flatten(node, depth):
            # Nested aliases expand a few lines to many values, and an alias of a list that contains it is infinite.
            if len(items) >= MAX_VALUES:
                self.fail(node, f"more than {MAX_VALUES} values")
            if depth > MAX_DEPTH:
                self.fail(node, f"a list in a list, more than {MAX_DEPTH} deep")
            if not isinstance(node, yaml.SequenceNode):
                items.append(node)
            for item in node.value if isinstance(node, yaml.SequenceNode) else []:
                flatten(item, depth + 1)

        flatten(node, 0)
        for item in items:
            if "\ufffd" in self.word(item, f"{name}: a value is a number or a word") and not self.utf8:
                self.fail(item, f"{name}: a value is not valid UTF-8")
        return written_values(
            name, [item.value for item in items], lambda i, why: self.fail(node if i is None else items[i], why)
        )


def is_null(node):
    return node.tag == "tag:yaml.org,2002:null"


def items_or_itself(node):
    return node.value if isinstance(node, yaml.SequenceNode) else [node]


# Groups, as options of the command change them.


def set_params(groups, params):
    """Sets values of "NAME:VALUE" or "NAME:[VALUE, VALUE]" in every group; a group without the name gets it."""
    given = {}
    for param in params:
        option, colon, text = param.partition(":")
        if not option or not colon:
            raise Refused(f"--param '{cut(param)}': write NAME:VALUE or NAME:[VALUE, VALUE]")

        def refuse(_, why):
            raise Refused(f"--param {why}")

        try:  # "[i for i in range(4)]" is one item, "[a, b]" are two
            items = [text] if python_values(text) is not None else items_of(text)
        except Unusable as error:
            raise Refused(f"--param {option}: {error}") from None
        except NotPython:  # [bfloat16, float16] are words
            items = items_of(text)
        if "" in items:
            raise Refused(f"--param {option}: a value is missing: write NAME:VALUE or NAME:[VALUE, VALUE]")
        given[option] = alike(given.get(option, []) + written_values(option, items, refuse))
    for option, values in given.items():
        name, parameter = named_parameter(option)
        if complaint := name_complaint(name, option):
            raise Refused(f"--param {complaint}")
        for group in groups:
            old = group.parameters.setdefault(name, dataclasses.replace(parameter))
            old.values = values


def configurations(values, rules):
    """The combinations of values (a list for each name) that the rules leave, the first name's values slowest."""
    names, steps, known = list(values), 0, {}
    due = [[] for _ in names]
    for rule in rules:
        due[max((names.index(name) for name in rule.names), default=0)].append(rule)

    def extended(depth):
        nonlocal steps
        for value in values[names[depth]]:
            steps += 1
            if steps > MAX_STEPS:
                raise Unusable(f"more than {MAX_STEPS} combinations of values")
            known[names[depth]] = value
            if all(rule(known) for rule in due[depth]):
                if depth + 1 < len(names):
                    yield from extended(depth + 1)
                else:
                    yield tuple(known.values())

    return extended(0)


def families_of(groups, cases, shapes):
    """The groups by their names. Of the names in cases, the values become cases; groups are then of one family only if
    all other names have the same values and rules, too. shapes: names that become cases of every family; groups of a
    family have the same rules about them."""
    known = list(dict.fromkeys(name for group in groups for name in group.parameters))
    for name in cases:
        if name not in known:
            raise Refused(f"--cases: no parameter '{cut(name)}'{did_you_mean(name, known)}")
    families = {}
    for group in groups:
        key = group.names()
        rules = {rule.text: rule.names for rule in group.rules if rule.names <= {*group.parameters, *shapes}}
        taken = {name: one for name, one in group.parameters.items() if name in cases}
        group = Group({name: one for name, one in group.parameters.items() if name not in cases}, group.rules)
        if taken:
            key = key, repr(sorted((name, one.values) for name, one in group.parameters.items()))
            shared = [rule for rule, names in rules.items() if not names <= taken.keys()]
        else:
            shared = [rule for rule, names in rules.items() if names & shapes]
        key = key, frozenset(shared)
        family = families.setdefault(key, Family([], {}))
        if taken:
            add_cases(family, taken, group.rules)
        if not taken or not family.groups:
            family.groups.append(group)
    return list(families.values())


def add_cases(family, taken, rules):
    """Adds the configurations of these parameters that the rules about them leave."""
    rows = []
    for row in configurations(
        {name: one.values for name, one in taken.items()}, [rule for rule in rules if rule.names <= taken.keys()]
    ):
        rows.append(dict(zip(taken, row)))
        if len(rows) > MAX_VALUES:
            raise Refused(f"more than {MAX_VALUES} cases")
    if not family.cases:
        family.cases = {name: dataclasses.replace(one, values=[]) for name, one in taken.items()}
    for name, one in family.cases.items():
        one.values += [row[name] for row in rows]


def tidy_cases(family):
    """Equal cases once; values of one name of one type."""
    if not family.cases:
        return
    columns = [one.values for one in family.cases.values()]
    if not columns[0]:
        raise Refused("the rules leave no case")
    rows = {tuple(map(value_text, row)): row for row in reversed(list(zip(*columns)))}
    widest = [max(column, key=type_rank) for column in columns]
    for i, one in enumerate(family.cases.values()):
        one.values = [as_type_of(widest[i], row[i]) for row in reversed(list(rows.values()))]


def set_shapes(families, shapes):
    """Makes the configurations of the shapes' groups the cases of every family."""
    if any(shape.names() != shapes[0].names() for shape in shapes):
        raise Refused("--shapes: the shapes have different parameters; import them one by one")
    for family in families:
        for name in shapes[0].parameters:
            if name in family.groups[0].parameters:
                raise Refused(f"--shapes: '{name}' is a parameter of the benchmark's file, too")
        for shape in shapes:  # the benchmark's rules that are only about shapes choose among these
            add_cases(family, shape.parameters, shape.rules + family.groups[0].rules)


def check_rules(readers, more):
    """Refuses rules that would be ignored. A group without a rule's name satisfies it, as in kbench, unless the rest of
    the rule may decide before. more: names of shapes."""
    for reader in readers:
        known = {name for group in reader.groups for name in group.parameters} | more
        for rule in reader.groups[0].rules:
            start = f"{rule.where}: the rule '{cut(rule.text, 200)}'"
            for name in sorted(rule.names - known):
                raise Refused(f"{start}: no parameter '{cut(name)}'{did_you_mean(name, known)}")
            for group in reader.groups:
                missing = rule.names - group.parameters.keys() - more
                if missing and not rule.holds_without(missing):
                    raise Refused(
                        f"{start} is about {', '.join(sorted(missing))}, too, which the group of "
                        f"{', '.join(group.parameters)} does not have: write the rest as a rule for that group"
                    )


# Specs.


def toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if not isinstance(value, str):
        return value_text(value)
    escaped = re.sub(r'["\\]', r"\\\g<0>", value)
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'


class Writer:
    def __init__(self, path, name, file, request):
        self.path, self.file, self.request = path, file, request
        kernel = re.sub(rb"[^A-Za-z0-9_.+-]", b"_", name.encode()[:100]).decode()
        self.kernel = "_" + kernel[:99] if kernel[:1] in ("", ".") else kernel

    def written(self, family, stem):
        parameters = {
            name: dataclasses.replace(
                one, values=alike([value for group in family.groups for value in group.parameters[name].values])
            )
            for name, one in family.groups[0].parameters.items()
        }
        configs = self.listed(family, parameters) if len(family.groups) > 1 else ""
        title = re.sub(r"[\x00-\x1f\x7f]", " ", os.path.basename(self.path))
        text = f"# From kbench's {title}.\n[kernel]\nname = {toml(self.kernel)}\n\n[space]\n"
        if configs:
            text += f"configs = {toml(stem + '.configs.csv')}\n"
        elif rules := [rule for rule in family.groups[0].rules if self.applies(rule, parameters, family.cases)]:
            text += "constraints = [\n" + "".join(f"  {toml(rule.text)},\n" for rule in rules) + "]\n"
        text += "\n[space.params]\n" + "".join(f"{name} = {toml(one.values)}\n" for name, one in parameters.items())
        spec = text + self.process({**family.cases, **parameters}) + self.cases(family.cases)
        return {"stem": stem, "kernel": self.kernel, "spec": spec, "configs": configs}

    @staticmethod
    def applies(rule, parameters, cases=()):
        """A rule about cases has chosen them already."""
        about_parameters = not rule.names or any(name in parameters for name in rule.names)
        return about_parameters and all(name in parameters or name in cases for name in rule.names)

    def listed(self, family, parameters):
        """The product of each group in turn, without repetitions and configurations that a rule excludes."""
        rows = {}
        for group in family.groups:
            for rule in group.rules:
                if not self.applies(rule, parameters) and self.applies(rule, parameters, family.cases):
                    raise Refused(
                        f"{self.path}: the rule '{cut(rule.text, 200)}' is about parameters and shapes, and the "
                        "parameters are in several groups, which are listed without shapes: import a file with one "
                        "group at a time"
                    )
            values = {
                name: [as_type_of(one.values[0], value) for value in group.parameters[name].values]
                for name, one in parameters.items()
            }
            rules = [rule for rule in group.rules if self.applies(rule, parameters)]
            if not rules and len(rows) + math.prod(map(len, values.values())) > MAX_LISTED:
                self.refuse_length()
            for row in configurations(values, rules) if values else []:
                rows[row] = None
                if len(rows) > MAX_LISTED:
                    self.refuse_length()
        if not rows:
            raise Refused(f"{self.path}: the rules leave no configuration", "nothing_valid")
        places = [{value: i for i, value in enumerate(one.values)} for one in parameters.values()]
        rows = sorted(rows, key=lambda row: [place[value] for place, value in zip(places, row)])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [parameters, *([value_text(value) for value in row] for row in rows)]
        )
        return text.getvalue()

    def refuse_length(self):
        raise Refused(
            f"{self.path}: more than {MAX_LISTED} configurations of several groups, which are listed one by one"
        )

    @staticmethod
    def cases(cases):
        if not cases:
            return ""
        tables = [
            "".join(f"{name} = {toml(value)}\n" for name, value in zip(cases, row))
            for row in zip(*(one.values for one in cases.values()))
        ]
        return f"\n[problem]\n{tables[0]}" + "".join(f"\n[[cases]]\n{table}" for table in tables)

    def process(self, parameters):
        def call_text(text):
            return re.sub(r"[{}]", r"\g<0>\g<0>", text)

        python = os.path.splitext(self.file)[1] == ".py"
        file = call_text(self.file)
        build = ["mojo", "build", *map(call_text, self.request["build_opts"])]
        run = ["python3", file] if python else ["{out}"]
        for name, one in parameters.items():
            assigned = f"{one.option}={{{name}}}"
            if python or not one.compile_time:
                run.append("--" + assigned)
            else:
                build += ["-D", assigned]
        text = "\n[process]\n"
        if not python:
            text += f"build = {toml([*build, file, '-o', '{out}'])}\n"
        text += f"run = {toml([*run, '-o', '{tmp}/kbench.csv'])}\nsources = {toml([self.file])}\n"
        if self.request["device"] != "host":
            text += f"device = {toml(self.request['device'])}\n"
        text += 'timeout_s = 120\ntime = { csv = "met (ms)", file = "{tmp}/kbench.csv" }\n'
        metrics = self.metrics(list(dict.fromkeys(self.request["metrics"])))
        return text + (f"\n[process.metrics]\n{metrics}" if metrics else "")

    @staticmethod
    def metrics(columns):
        """The lines for columns such as "DataMovement (GB/s)"; the name of one that is there twice has its unit."""
        split = [
            column.rpartition(" (") if column.endswith(")") and " (" in column else (column, "", "")
            for column in columns
        ]
        titles, lines = [title for title, _, _ in split], {}
        for column, (title, _, unit) in zip(columns, split):
            name = re.sub(r"[^A-Za-z0-9]", "_", title if titles.count(title) == 1 else column.rstrip(")"))
            name = "_" + name if not name or name[0].isdigit() else name
            if name in lines:
                raise Refused(
                    f"--metric: '{cut(lines[name][0])}' and '{cut(column)}' would have the same name, {cut(name)}"
                )
            unit = f", unit = {toml(unit[:-1])}" if unit[:-1] else ""
            lines[name] = column, f'{name} = {{ csv = {toml(column)}, file = "{{tmp}}/kbench.csv"{unit} }}\n'
        return "".join(line for _, line in lines.values())


def answer(request, _):
    """[{"stem", "kernel", "spec", "configs"}, ...]: specs, and their lists of configurations (STEM.configs.csv) if these
    are not a plain product. Several files are of one benchmark, and their groups follow each other."""
    readers = [Reader(file) for file in request["files"]]
    path = readers[0].path
    name, file = readers[0].benchmark()
    for other in readers[1:]:
        if other.benchmark() != (name, file):
            raise Refused(
                "{}: is of '{}' in {}, but {} is of '{}' in {}: import them one by one".format(
                    other.path, *other.benchmark(), path, name, file
                )
            )
    groups = [group for reader in readers for group in reader.groups]
    set_params(groups, request["params"])
    if request["shapes"] and request["cases"]:
        raise Refused("--shapes and --cases exclude each other: both make [[cases]]")
    try:
        shape_readers = [Reader(shape) for shape in request["shapes"]]
        shapes = [group for reader in shape_readers for group in reader.groups]
        shape_names = {name for shape in shapes for name in shape.parameters}
        families = families_of(groups, [name[name.startswith("$") :] for name in request["cases"]], shape_names)
        if shapes:
            set_shapes(families, shapes)
        check_rules(readers, shape_names)
        check_rules(shape_readers, set())
        for family in families:
            tidy_cases(family)
        writer = Writer(path, name, file, request)
        return [
            writer.written(family, request["stem"] + (f"-{i}" if i > 1 else "")) for i, family in enumerate(families, 1)
        ]
    except Unusable as error:
        raise Refused(f"{path}: a rule cannot be evaluated: {error}") from None
