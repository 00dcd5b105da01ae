# SPDX-License-Identifier: Apache-2.0
"""What the scripts that the program runs (__main__.py) share: their errors, and values as text."""
import decimal
import difflib


class Refused(Exception):
    """A request that a script cannot answer. kind: a kind of the program's errors."""

    def __init__(self, message, kind="invalid_argument"):
        super().__init__(message)
        self.kind = kind


def did_you_mean(word, known):
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), names, 1)
    return f" (did you mean '{names[near[0]]}'?)" if near else ""


def cut(text, limit=80):
    return text if len(text) <= limit else text[:limit] + "..."


def float_text(value):
    """The shortest text that reads back as the same float, and not as an integer; as std::to_chars writes it."""
    if value != value or value in (float("inf"), float("-inf")):
        return repr(value)
    sign, digits, power = decimal.Decimal(repr(value)).normalize().as_tuple()
    low, high = (-3, 4) if len(digits) == 1 else (-len(digits) - 3, 5)
    if low <= power <= high:
        text = f"{value:.{max(-power, 0)}f}"
        return text if "." in text else text + ".0"
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    return "-" * sign + first + "." * bool(rest) + rest + f"e{power + len(rest):+03d}"


def value_text(value):
    """A value as records have it: true, 8, 0.5, word."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(value) if isinstance(value, float) else str(value)


def type_rank(value):
    """The later type can hold the values of the earlier ones: booleans, integers, floats, texts."""
    return (bool, int, float, str).index(type(value))


def bindings_text(bindings):
    return " ".join(f"{name}={value_text(value)}" for name, value in bindings.items())
