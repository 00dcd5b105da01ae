#!/usr/bin/env python3
"""Finds types of one qualified name that are defined in more than one file.

Two different types of one name in one program break the one-definition rule: the linker keeps one of each inline
function, such as a destructor, for both. No compiler reports it. A type in an unnamed namespace may share its name with
those of other unnamed namespaces, not with a type that has linkage: a reader could not tell which one is meant.

type_names.py FOLDER...             exits with 1 and a line for each name that is defined twice
type_names.py --expect NAMES FOLDER exits with 0 where exactly these names (separated by commas) are found
"""
import argparse
import pathlib
import re
import sys
from collections import defaultdict

TOKEN = re.compile(
    r"""(?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<literal>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)"
          | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | \b(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'| '(?:\\.|[^'\\\n])+')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[\w.]|'(?=\w)|(?<=[eEpP])[+-])*)
      | (?P<mark>::|\[\[|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
UNNAMED = "(unnamed)"


def tokens_of(text):
    for match in TOKEN.finditer(text):
        if match.lastgroup == "directive" or match.group("directive"):
            yield "#" + match.group("directive").strip().lstrip("#").strip()
        elif match.group("literal"):
            yield '""'
        elif not match.group("skip"):
            yield match.group(0)


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
        if at < len(tokens) and tokens[at] == "<":  # a specialisation is a type of its own
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


def types_in(text):
    """The qualified names of the types that the text defines, those within functions left out. Raises ValueError for
    braces that do not match."""
    tokens = list(tokens_of(text)) + [";"] * 4
    scopes, branches, at = [], [], 0  # a scope of None is a function's, or any other block
    while at < len(tokens):
        token = tokens[at]
        opened = None
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
            opened = definition_at(tokens, at)
            if opened and None not in scopes:
                yield "::".join(scope for scope in scopes + [opened[0]] if scope)
        elif token == "{":
            scopes.append(None)
        elif token == "}":
            if not scopes:
                raise ValueError("a brace closes that none opened")
            scopes.pop()
        if opened:
            scopes.append(opened[0])
            at = opened[1]
        at += 1
    if scopes:
        raise ValueError("a brace is open at the end")


def clashes(folders):
    """{name: files} of the names that two files define."""
    named, unnamed = defaultdict(set), defaultdict(set)
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*.[ch]pp")):
            try:
                for name in types_in(path.read_text()):
                    plain = name.replace(UNNAMED + "::", "")
                    (unnamed if plain != name else named)[plain].add(str(path))
            except ValueError as error:
                raise SystemExit(f"{path}: {error}; type_names.py cannot read it")
    found = {}
    for name, files in named.items():
        everywhere = files | unnamed[name]
        if len(everywhere) > 1:
            found[name] = sorted(everywhere)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--expect", default="")
    options = parser.parse_args()
    expected = set(options.expect.split(",")) - {""}
    found = clashes(options.folders)
    for name in sorted(set(found) - expected):
        print(f"{name} is defined in {' and in '.join(found[name])}: rename one of them")
    for name in sorted(expected - set(found)):
        print(f"{name} was expected to be found twice, and was not")
    return 1 if set(found) != expected else 0


if __name__ == "__main__":
    sys.exit(main())
