"""Reads C++ as far as the rules need it: tokens, the types and functions that a file defines, and classes' members.

It is not a compiler. It relies on sources formatted by clang-format, and knows no macro that opens or closes a brace."""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<literal>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)"
          | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | \b(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'| '(?:\\.|[^'\\\n])+')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[\w.]|'(?=\w)|(?<=[eEpP])[+-])*)
      | (?P<mark>::|\[\[|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
UNNAMED = "(unnamed)"


class Token(str):
    """The text of a token, and the line it begins in."""

    line = 0


def tokens_of(text):
    line = 1
    for match in TOKEN.finditer(text):
        token = None
        if match.lastgroup == "directive" or match.group("directive"):
            token = Token("#" + match.group("directive").strip().lstrip("#").strip())
        elif match.group("literal"):
            token = Token('""')
        elif not match.group("skip"):
            token = Token(match.group(0))
        if token is not None:
            token.line = line
            yield token
        line += match.group(0).count("\n")


def matching(tokens, at, opening, closing):
    """The position behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] == opening) - (tokens[at] == closing)
        at += 1
        if depth == 0:
            break
    return at


def is_name(token):
    return re.match(r"[A-Za-z_]\w*$", token) is not None


def skip_attributes(tokens, at):
    while at < len(tokens) and tokens[at] in ("[[", "alignas", "__attribute__"):
        if tokens[at] == "[[":
            while tokens[at] != "]":
                at += 1
            at += 2
        else:
            at = matching(tokens, at + 1, "(", ")")
    return at


def definition_at(tokens, at):
    """(name, position of its brace) of the type that the keyword at `at` defines; None: it defines none."""
    at += 1
    if tokens[at - 1] == "enum" and tokens[at] in ("class", "struct"):
        at += 1
    at = skip_attributes(tokens, at)
    name = ""
    while at < len(tokens) and (is_name(tokens[at]) or tokens[at] == "::"):
        if is_name(tokens[at]) and name and not name.endswith("::"):
            break
        name += tokens[at]
        at += 1
        if at < len(tokens) and tokens[at] == "<":  # a specialisation is a separate type
            end = matching(tokens, at, "<", ">")
            name += "".join(tokens[at:end])
            at = end
    if not name:
        return None
    if tokens[at] == "final":
        at += 1
    if tokens[at] == ":":
        while tokens[at] not in ("{", ";"):
            at = matching(tokens, at, "(", ")") if tokens[at] == "(" else at + 1
    return (name, at) if tokens[at] == "{" else None


def namespace_at(tokens, at):
    """(name, position of its brace); None: an alias or a directive."""
    at += 1
    at = skip_attributes(tokens, at)
    name = ""
    while is_name(tokens[at]) or tokens[at] == "::":
        if tokens[at] != "inline":
            name += tokens[at]
        at += 1
    return (name or UNNAMED, at) if tokens[at] == "{" else None


@dataclass
class Definition:
    """A type or function that a file defines."""

    kind: str  # "class", "struct", "union", "enum" or "function"
    name: str  # of a type, qualified; UNNAMED for an unnamed namespace
    line: int
    last_line: int = 0
    in_function: bool = False
    methods: list = field(default_factory=list)  # of a class: names of the declared ones, without special members
    members: list = field(default_factory=list)  # of a class: names of its data, without static constants


SKIPPED = {"using", "friend", "static_assert", "typedef", "enum", "struct", "class", "union", "template", "requires"}


def skip_angles(tokens, at):
    """The position behind the bracket that closes the '<' at `at`; `at` + 1 where it is the operator."""
    depth, here = 0, at
    while here < len(tokens) and tokens[here] not in (";", "{", "}"):
        if tokens[here] == "(":
            here = matching(tokens, here, "(", ")")
            continue
        depth += (tokens[here] == "<") - (tokens[here] == ">")
        here += 1
        if depth == 0:
            return here
    return at + 1


def read_member(tokens, at, owner):
    """Notes what the declaration at `at` in the class `owner` declares; gives the position behind it."""
    name, is_method, is_static, takes_value = "", False, False, False
    skipped = tokens[at] in SKIPPED and tokens[at] != "template"
    while tokens[at] not in (";", "}"):
        token = tokens[at]
        if token == "{":
            at = matching(tokens, at, "{", "}")
            if is_method and not takes_value:
                break
            continue
        if token == "<" and tokens[at - 1] != "operator" and not takes_value:
            at = skip_angles(tokens, at)
            continue
        if token == "(":
            if not is_method and not takes_value and name:
                is_method = True
            at = matching(tokens, at, "(", ")")
            continue
        if token == "[":
            at = matching(tokens, at, "[", "]")
            continue
        if token == "=" and tokens[at - 1] != "operator":
            takes_value = True
        if token == "," and not is_method and not skipped and not is_static:
            owner.members.append(str(name))
            takes_value = False
        if token in ("static", "constexpr"):
            is_static = True
        if is_name(token) and not is_method and not takes_value and token not in ("const", "mutable", "bitand"):
            name = token
        if tokens[at - 1] == "operator":
            name = "operator" + token
        at += 1
    if not skipped and name:
        own = owner.name.split("::")[-1]
        if is_method:
            if name != own and not name.startswith("operator"):
                owner.methods.append(str(name))
        elif not is_static:
            owner.members.append(str(name))
    return at + (tokens[at] == ";")


def is_function_body(tokens, at):
    """Whether the brace at `at`, in a namespace or class, opens a function's body."""
    at -= 1
    while at >= 0 and tokens[at] in ("const", "noexcept", "override", "final", "mutable", "&", "&&", "try"):
        at -= 1
    if tokens[at] in (")", "}"):
        return True
    # a trailing return type, or the last initialiser of a constructor in braces
    for back in range(at, max(at - 30, 0), -1):
        if tokens[back] in (";", "{", "}"):
            return False
        if tokens[back] == ">" and tokens[back - 1] == "-":
            return True
    return False


def definitions_in(text):
    """The types and functions that the text defines. Raises ValueError for braces that do not match."""
    tokens = list(tokens_of(text)) + [Token(";")] * 4
    scopes, branches, at = [], [], 0  # of each open brace its Definition, a namespace's name, or None for any block
    found, statement = [], 0
    while at < len(tokens):
        token, opened = tokens[at], None
        inside = [scope for scope in scopes if not isinstance(scope, str)]
        in_block = any(scope is None or scope.kind == "function" for scope in inside)
        if token.startswith("#"):
            word = re.match(r"#\w*", token).group(0)
            if word in ("#if", "#ifdef", "#ifndef"):
                branches.append(list(scopes))
            elif word in ("#else", "#elif") and branches:
                scopes = list(branches[-1])
            elif word == "#endif" and branches:
                branches.pop()
        elif token == "namespace":
            opened = namespace_at(tokens, at) if tokens[at - 1] != "using" else None
        elif token == "extern" and tokens[at + 1] == '""' and tokens[at + 2] == "{":
            opened = ("", at + 2)
        elif token in ("struct", "class", "union", "enum") and tokens[at - 1] not in ("<", ",", "enum"):
            type_at = definition_at(tokens, at)
            if type_at:
                outer = [scope if isinstance(scope, str) else scope.name for scope in scopes if scope is not None]
                name = "::".join(part for part in outer + [type_at[0]] if part)
                definition = Definition(str(token), name, token.line, in_function=in_block)
                found.append(definition)
                opened = (definition, type_at[1])
        elif token == "{":
            definition = None
            if not in_block and is_function_body(tokens, at):
                definition = Definition("function", "", tokens[statement].line)
                found.append(definition)
            scopes.append(definition)
        elif token == "}":
            if not scopes:
                raise ValueError("a brace closes that none opened")
            closed = scopes.pop()
            if isinstance(closed, Definition):
                closed.last_line = token.line
        if opened:
            scopes.append(opened[0])
            at = opened[1]
        if token in (";", "}", "{") or token.startswith("#") or opened:
            statement = at + 1
        elif token == ":" and tokens[at - 1] in ("public", "private", "protected"):
            statement = at + 1
        at += 1
    if scopes:
        raise ValueError("a brace is open at the end")
    return found


def class_members(text):
    """The types that the text defines outside of functions, with the names of their methods and data."""
    tokens = list(tokens_of(text)) + [Token(";")] * 4
    classes, at = [], 0
    while at < len(tokens):
        if tokens[at] in ("struct", "class") and tokens[at - 1] not in ("<", ",", "enum"):
            opened = definition_at(tokens, at)
            if opened:
                definition = Definition(str(tokens[at]), opened[0], tokens[at].line)
                classes.append(definition)
                read_body(tokens, opened[1], definition)
        at += 1
    return classes


def read_body(tokens, brace, owner):
    end, at = matching(tokens, brace, "{", "}") - 1, brace + 1
    while at < end:
        if tokens[at].startswith("#") or tokens[at] == ";":
            at += 1
        elif tokens[at] in ("public", "private", "protected") and tokens[at + 1] == ":":
            at += 2
        elif tokens[at] == "template":
            at = skip_angles(tokens, at + 1)
        elif tokens[at] in ("struct", "class", "union", "enum") and definition_at(tokens, at):
            at = matching(tokens, definition_at(tokens, at)[1], "{", "}")
            if tokens[at] != ";":  # a member of this very type follows
                at = read_member(tokens, at, owner)
        else:
            at = read_member(tokens, at, owner)
