# SPDX-License-Identifier: Apache-2.0
"""Constraints of a spec as C++: the expressions are Python's, with a few names of their own."""
import ast

ARITHMETIC = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Pow: "power",
}
BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
SHIFTS = {ast.LShift: "shift_left", ast.RShift: "shift_right"}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
FUNCTIONS = {"ceildiv": 2, "abs": 1, "pow2": 1, "log2": 1, "int": 1, "float": 1}
KINDS = ("bool", "int", "float", "text")  # by the rank of a type
MAX_LENGTH = 20_000  # of the C++ text of a constraint: an expression in the place of a name may be named again

# Arithmetic as in specs: whole numbers are exact, and what has no value makes `ok` false.
HELPERS = """\
constexpr long long add(long long a, long long b, bool& ok) {
  long long result = 0;
  if (__builtin_add_overflow(a, b, &result)) ok = false;
  return result;
}
constexpr long long subtract(long long a, long long b, bool& ok) {
  long long result = 0;
  if (__builtin_sub_overflow(a, b, &result)) ok = false;
  return result;
}
constexpr long long multiply(long long a, long long b, bool& ok) {
  long long result = 0;
  if (__builtin_mul_overflow(a, b, &result)) ok = false;
  return result;
}
constexpr long long floor_divide(long long a, long long b, bool& ok) {
  if (b == 0 || (b == -1 && a < -9223372036854775807LL)) return ok = false, 0;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
constexpr long long modulo(long long a, long long b, bool& ok) {
  if (b == 0) return ok = false, 0;
  if (b == -1) return 0;
  return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
}
constexpr long long power(long long a, long long b, bool& ok) {
  if (b < 0) return ok = false, 0;
  long long result = 1;
  for (; b > 0 && ok && !(a == 1 || a == 0 || (a == -1 && b > 1)); --b) result = multiply(result, a, ok);
  if (b > 0) result = a == 0 ? 0 : a == -1 && b % 2 != 0 ? -1 : 1;
  return result;
}
constexpr double add(double a, double b, bool&) { return a + b; }
constexpr double subtract(double a, double b, bool&) { return a - b; }
constexpr double multiply(double a, double b, bool&) { return a * b; }
constexpr double divide(double a, double b, bool& ok) {
  if (b == 0) return ok = false, 0;
  return a / b;
}
constexpr double floor(double a, bool& ok) {
  if (!(a > -9e15 && a < 9e15)) return ok = false, 0;
  const double whole = static_cast<double>(static_cast<long long>(a));
  return whole > a ? whole - 1 : whole;
}
constexpr double floor_divide(double a, double b, bool& ok) { return floor(divide(a, b, ok), ok); }
constexpr double modulo(double a, double b, bool& ok) { return a - floor_divide(a, b, ok) * b; }
constexpr long long ceildiv(long long a, long long b, bool& ok) {
  const long long down = floor_divide(a, b, ok);
  return ok && modulo(a, b, ok) != 0 ? down + 1 : down;
}
constexpr double ceildiv(double a, double b, bool& ok) { return -floor(-divide(a, b, ok), ok); }
constexpr long long absolute(long long a, bool& ok) { return a < 0 ? subtract(0, a, ok) : a; }
constexpr double absolute(double a, bool&) { return a < 0 ? -a : a; }
constexpr long long pow2(long long a, bool& ok) {
  if (a > (1LL << 62)) return ok = false, 0;
  long long result = 1;
  while (result < a) result *= 2;
  return result;
}
constexpr long long log2(long long a, bool& ok) {
  if (a <= 0 || (a & (a - 1)) != 0) return ok = false, 0;
  long long result = 0;
  for (; a > 1; a /= 2) ++result;
  return result;
}
constexpr long long truncate(double a, bool& ok) {
  if (!(a > -9e18 && a < 9e18)) return ok = false, 0;
  return static_cast<long long>(a);
}
constexpr long long shift_left(long long a, long long by, bool& ok) {
  if (by < 0 || (by > 62 && a != 0)) return ok = false, 0;
  return a == 0 ? 0 : multiply(a, 1LL << by, ok);
}
constexpr long long shift_right(long long a, long long by, bool& ok) {
  if (by < 0) return ok = false, 0;
  return a >> (by < 63 ? by : 63);
}
"""


class Unknown(Exception):
    """What a header cannot compute: a fact of the device, a name that it does not have."""


def literal(value):
    return "-9223372036854775807LL - 1" if value == -(2**63) else f"{value}LL"


class Translation:
    """names: name -> (C++ text, rank of its type); derived: name -> expression. text_literal, number: make C++ of values."""

    def __init__(self, names, derived, text_literal, number):
        self.names, self.derived = names, derived
        self.text_literal, self.number = text_literal, number
        self.open = []  # derived names on the way, which must not contain themselves

    def condition(self, text):
        cpp = self.truth(self.expression(text))
        if len(cpp) > MAX_LENGTH:
            raise Unknown("is too long")
        return cpp

    def expression(self, text):
        try:
            # One line: in parentheses. A literal with leading zeros or the like is an error of Python's, too.
            return self.value(ast.parse("(" + text.strip() + ")", mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise Unknown("is not an expression that a header has") from error

    def value(self, node):
        """(C++ text, kind)"""
        handler = getattr(self, "of_" + type(node).__name__, None)
        if handler is None:
            raise Unknown("has what a header does not have: " + type(node).__name__)
        text, kind = handler(node)
        if len(text) > MAX_LENGTH:
            raise Unknown("is too long")
        return text, kind

    @staticmethod
    def truth(value):
        text, kind = value
        return text if kind in ("bool", "truth") else f"!{text}.empty()" if kind == "text" else f"({text} != 0)"

    @staticmethod
    def as_number(value, kind):
        """kind: int or float"""
        text, own = value
        if own in ("text", "truth"):
            raise Unknown("computes with a text, or with what `and` and `or` return")
        return text if own == kind else f"static_cast<{'double' if kind == 'float' else 'long long'}>({text})"

    def numbers(self, values, at_least="int"):
        """The same type for all: (texts, kind)"""
        kind = "float" if at_least == "float" or any(kind == "float" for _, kind in values) else "int"
        return [self.as_number(value, kind) for value in values], kind

    def of_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            return str(value).lower(), "bool"
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return literal(value), "int"
        if isinstance(value, float):
            return self.number(value), "float"
        if isinstance(value, str):
            return f"std::string_view({self.text_literal(value)})", "text"
        raise Unknown("has a literal that a header does not have")

    def of_Name(self, node):
        if node.id in ("true", "false"):
            return node.id, "bool"
        if node.id in self.names:
            text, rank = self.names[node.id]
            return text, KINDS[rank]
        if node.id not in self.derived or node.id in self.open:
            raise Unknown(f"names {node.id}, which a header does not have")
        self.open.append(node.id)
        text, kind = self.expression(self.derived[node.id])
        self.open.pop()
        return f"({text})", kind

    def of_Attribute(self, node):
        raise Unknown(f"uses {ast.unparse(node)}, a fact of the device")

    def of_UnaryOp(self, node):
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return f"!({self.truth(value)})", "bool"
        (text,), kind = self.numbers([value])
        if isinstance(node.op, ast.UAdd):
            return text, kind
        if isinstance(node.op, ast.Invert):
            if kind == "float":
                raise Unknown("has bits of a float")
            return f"(~({text}))", kind
        zero = "0LL" if kind == "int" else "0.0"
        return f"detail::subtract({zero}, {text}, ok)", kind

    def of_BinOp(self, node):
        values = [self.value(node.left), self.value(node.right)]
        operation = type(node.op)
        texts, kind = self.numbers(values, "float" if operation is ast.Div else "int")
        if operation in ARITHMETIC:
            if operation is ast.Pow and kind == "float":
                raise Unknown("has a power of floats")
            return f"detail::{ARITHMETIC[operation]}({texts[0]}, {texts[1]}, ok)", kind
        if kind == "float":
            raise Unknown("has bits of a float")
        if operation in BITS:
            text = f"(({texts[0]}) {BITS[operation]} ({texts[1]}))"
            return (f"({text} != 0)", "bool") if all(own == "bool" for _, own in values) else (text, kind)
        if operation in (ast.LShift, ast.RShift):
            return f"detail::{SHIFTS[operation]}({texts[0]}, {texts[1]}, ok)", kind
        raise Unknown("has an operator that a header does not have")

    def of_BoolOp(self, node):
        """Its truth only: `a or b` as a number is rare, and refused where it is computed with."""
        sign = " && " if isinstance(node.op, ast.And) else " || "
        values = [self.value(value) for value in node.values]
        if any(kind != "bool" for _, kind in values):
            return "(" + sign.join(self.truth(value) for value in values) + ")", "truth"
        return "(" + sign.join(text for text, _ in values) + ")", "bool"

    def of_IfExp(self, node):
        test = self.truth(self.value(node.test))
        values = [self.value(node.body), self.value(node.orelse)]
        if len({kind for _, kind in values}) == 1:
            texts, kind = [text for text, _ in values], values[0][1]
        else:
            texts, kind = self.numbers(values)
        return f"({test} ? {texts[0]} : {texts[1]})", kind

    def same(self, sign, left, right):
        if "text" in (left[1], right[1]):
            if left[1] == right[1]:
                return f"({left[0]} {sign} {right[0]})"
            if sign in ("==", "!="):
                return "false" if sign == "==" else "true"
            raise Unknown("compares a text with a number")
        (a, b), _ = self.numbers([left, right])
        return f"({a} {sign} {b})"

    def of_Compare(self, node):
        parts, left = [], self.value(node.left)
        for operation, right in zip(node.ops, node.comparators):
            if isinstance(operation, (ast.In, ast.NotIn)):
                if not isinstance(right, (ast.List, ast.Tuple, ast.Set)):
                    raise Unknown("has `in` without a list")
                found = " || ".join(self.same("==", left, self.value(one)) for one in right.elts) or "false"
                parts.append(f"{'!' * isinstance(operation, ast.NotIn)}({found})")
                continue
            if type(operation) not in COMPARISONS:
                raise Unknown("has an operator that a header does not have")
            value = self.value(right)
            parts.append(self.same(COMPARISONS[type(operation)], left, value))
            left = value
        return "(" + " && ".join(parts) + ")", "bool"

    def of_Call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if node.keywords:
            raise Unknown("has a call that a header does not have")
        values = [self.value(one) for one in node.args]
        if name in ("min", "max") and values:
            texts, kind = self.numbers(values)
            result = texts[0]
            for text in texts[1:]:
                result = f"({result} {'<' if name == 'min' else '>'}= {text} ? {result} : {text})"
                if len(result) > MAX_LENGTH:
                    raise Unknown("is too long")
            return result, kind
        if FUNCTIONS.get(name) != len(values):
            raise Unknown(f"calls {name}, which a header does not have")
        if name == "float":
            return self.as_number(values[0], "float"), "float"
        if name == "int":
            if values[0][1] != "float":
                return self.as_number(values[0], "int"), "int"
            return f"detail::truncate({values[0][0]}, ok)", "int"
        texts, kind = self.numbers(values)
        if name in ("pow2", "log2") and kind == "float":
            raise Unknown(f"calls {name} of a float")
        function = {"abs": "absolute"}.get(name, name)
        return f"detail::{function}({', '.join(texts)}, ok)", kind
