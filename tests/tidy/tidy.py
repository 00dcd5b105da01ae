#!/usr/bin/env python3
"""The rules of the sources that no compiler checks.

tidy.py [--clang-format PROGRAM] [--black PROGRAM] ROOT   exits with 1 and a line "file:line: what to do" for each violation
tidy.py --lines ROOT                                      prints lines and budget of each directory

Rules: includes follow the layers (rules.py), each folder has its namespace, no file includes itself by a way round, no two files define types of one
name, functions and classes stay small, headers open with a sentence, Markdown lines and links, plain words in messages, comments and Markdown, clang-format,
black.
"""
import argparse
import pathlib
import re
import subprocess
import sys
from collections import defaultdict

import rules
from cpp_source import UNNAMED, class_members, definitions_in

NAMESPACE = re.compile(r"^namespace (xtune[:\w]*) \{$(.*?)^\}  // namespace \1$", re.MULTILINE | re.DOTALL)
FORWARD = re.compile(r"(\s|(enum )?(class|struct) \w+;|//.*$)*", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            yield path, path.relative_to(root).as_posix()


def own_sources(root):
    """The sources of the program and of the components beside it, without tests: (path, name, directory as includes name it)."""
    for path, name in sources(root, "src", *rules.COMPONENTS):
        folder = path.parent.relative_to(root / "src" if name.startswith("src/") else root).as_posix()
        if not rules.OUTSIDE.search(folder):
            yield path, name, folder


def place_of(root, folder):
    return "src/" + folder if (root / "src" / folder).exists() else folder


def includes_of(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def check_layers(root, layers=rules.LAYERS):
    known = set(layers)
    for folder, below in layers.items():
        for one in below:
            if one not in known:
                yield f"tests/tidy/rules.py:1: {folder} may include {one}, which is not a directory of sources"
    order = list(layers)
    for path, name, folder in own_sources(root):
        while folder not in layers and "/" in folder:
            folder = folder.rsplit("/", 1)[0]
        if folder not in layers:
            yield f"{name}:1: {name.rsplit('/', 1)[0]} has no line in tests/tidy/rules.py: say what it may include"
            continue
        for line, included in includes_of(path):
            other = included.rsplit("/", 1)[0] if "/" in included else folder
            if (
                other in ("base", "xtune", folder)
                or (other == "system" and folder != "base")
                or other not in known
                or other in layers[folder]
            ):
                continue
            yield f"{name}:{line}: {name.rsplit('/', 1)[0]} must not include {place_of(root, other)} (tests/tidy/rules.py)"
    for folder, below in layers.items():
        for one in below:
            if one in known and order.index(one) > order.index(folder) and not one.startswith(folder):
                yield f"tests/tidy/rules.py:1: {folder} stands above {one}, which it includes"


def namespace_of(folder):
    return rules.NAMESPACES.get(
        folder, "xtune::" + folder.removeprefix("core/").removeprefix("backends/").split("/")[0]
    )


def check_namespaces(root):
    for path, name, folder in own_sources(root):
        expected = namespace_of(folder)
        text = path.read_text()
        for block in NAMESPACE.finditer(text):
            found, body = block.groups()
            if found == expected or found.startswith(expected + "::") or found == rules.OTHER_NAMESPACES.get(name):
                continue
            if not FORWARD.fullmatch(body):
                line = text.count("\n", 0, block.start()) + 1
                yield f"{name}:{line}: namespace {found} holds more than forward declarations: this is {expected}"


def check_cycles(root):
    graph = {}
    for path, name in sources(root, "src", "include", *rules.COMPONENTS):
        graph[name] = [
            found
            for _, included in includes_of(path)
            for found in ("src/" + included, "include/" + included, included)
            if (root / found).exists()
        ]
    done, way = set(), []

    def visit(name):
        if name in way:
            yield f"{name}:1: includes itself: {' -> '.join(way[way.index(name):] + [name])}"
            return
        if name in done:
            return
        way.append(name)
        for included in graph.get(name, []):
            yield from visit(included)
        way.pop()
        done.add(name)

    for name in graph:
        yield from visit(name)


def check_type_names(root):
    named, unnamed = defaultdict(dict), defaultdict(dict)
    for path, name in [*sources(root, "include"), *(source[:2] for source in own_sources(root))]:
        for definition in definitions_in(path.read_text()):
            if definition.kind == "function" or definition.in_function:
                continue
            plain = definition.name.replace(UNNAMED + "::", "")
            (unnamed if plain != definition.name else named)[plain].setdefault(name, definition.line)
    for plain, places in sorted(named.items()):
        # A type in an unnamed namespace may share its name only with those of other unnamed namespaces: otherwise it
        # would be unclear to a reader which one is meant. Two with linkage break the one-definition rule, which no
        # compiler reports.
        everywhere = {**unnamed[plain], **places}
        if len(everywhere) > 1:
            first, *rest = sorted(everywhere)
            for other in rest:
                yield f"{other}:{everywhere[other]}: {plain} is also defined in {first}: rename one of them"


def check_sizes(root):
    for path, name in sources(root, "src", "include", "python", *rules.COMPONENTS):
        text = path.read_text()
        for definition in definitions_in(text):
            lines = definition.last_line - definition.line + 1
            if definition.kind == "function" and lines > rules.FUNCTION_LINES:
                yield f"{name}:{definition.line}: a function of {lines} lines, {rules.FUNCTION_LINES} at most: split it"
        for one in class_members(text):
            limits = rules.LARGE_TYPES.get(f"{name} {one.name}", (rules.CLASS_METHODS, rules.CLASS_MEMBERS))
            methods, members = len(one.methods), len(one.members)
            if methods > limits[0] or (members > limits[1] and methods > rules.DATA_METHODS):
                yield (
                    f"{name}:{one.line}: {one.name} has {methods} methods and {members} members, "
                    f"{limits[0]} and {limits[1]} at most: move what belongs together to a type of its own"
                )
    for key in rules.LARGE_TYPES:
        name, type_name = key.split(" ")
        if not (root / name).exists() or type_name not in (c.name for c in class_members((root / name).read_text())):
            if (root / "src").exists() and (root / "CMakeLists.txt").exists():
                yield f"tests/tidy/rules.py:1: LARGE_TYPES lists {key}, which is not there: remove it"


def check_headers(root):
    for path, name in sources(root, "src", "include", "python", *rules.COMPONENTS):
        if path.suffix != ".hpp":
            continue
        opening = []
        for line in path.read_text().splitlines():
            if not line.startswith("//"):
                break
            opening.append(line.lstrip("/ "))
        if not re.search(r"\w.*[.:]", " ".join(opening)):
            yield f"{name}:1: open with a comment of one sentence that says what the header is for"


def lines_by_directory(root, budgets):
    """Lines of sources and headers below each directory of the budgets, each file at the directory nearest to it, without tests;
    None: every other file."""
    counts = dict.fromkeys([*budgets, None], 0)
    paths = [path for folder in ("src", "include", *rules.COMPONENTS) for path in (root / folder).rglob("*")]
    for path in paths:
        name = path.relative_to(root).as_posix()
        if path.suffix not in rules.SOURCES or not path.is_file() or rules.OUTSIDE.search(name.rsplit("/", 1)[0]):
            continue
        near = max((folder for folder in budgets if name.startswith(folder + "/")), key=len, default=None)
        counts[near] += path.read_text().count("\n")
    return counts


def check_budgets(root, budgets=rules.LINES):
    for folder, lines in lines_by_directory(root, budgets).items():
        if folder is None and lines:
            yield f"tests/tidy/rules.py:1: {lines} lines are in directories without a budget in LINES"
        elif folder and lines > budgets[folder]:
            yield (
                f"tests/tidy/rules.py:1: {folder} has {lines} lines, {budgets[folder]} are its budget: make something simpler, "
                f"or raise the budget in a commit that says why"
            )


def print_lines(root):
    counts = lines_by_directory(root, rules.LINES)
    for folder, budget in rules.LINES.items():
        print(f"{counts[folder]:7} of {budget:6}  {folder}")
    for title, chosen in [
        ("src and include", ("src/", "include/")),
        ("components beside src", tuple(f"{c}/" for c in rules.COMPONENTS)),
    ]:
        print(
            f"{sum(n for folder, n in counts.items() if folder and (folder + '/').startswith(chosen)):7}            {title}"
        )


def check_moved_names(root, moved=rules.MOVED_NAMES):
    for path, name in sources(root, "src", "include", "python", "tests", "benchmarks", *rules.COMPONENTS):
        text = path.read_text()
        for used, header in moved.items():
            if f"{used}(" in text and f"#include {header}" not in text:
                line = text[: text.index(f"{used}(")].count("\n") + 1
                yield f"{name}:{line}: {used} needs #include {header}: other sources do not bring it in every release"


def markdown_files(root):
    for path in sorted(root.rglob("*.md")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(("build/", ".")):
            yield path, name


def anchors_of(text):
    for line in text.splitlines():
        if line.startswith("#"):
            title = re.sub(r"[`*]", "", line.lstrip("# ")).lower()
            yield re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-")


def check_markdown(root):
    for path, name in markdown_files(root):
        code, text = False, path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("```"):
                code = not code
            if code:
                continue
            # A row of a table or a lone link cannot be broken.
            can_break = not line.startswith("|") and " " in line.strip("-*> ").split("](")[0]
            if len(line) > rules.MARKDOWN_COLUMNS and can_break:
                yield f"{name}:{number}: a line of {len(line)} columns, {rules.MARKDOWN_COLUMNS} at most: break it"
            for link in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                file = (path.parent / target) if target else path
                if not file.exists():
                    yield f"{name}:{number}: links to {link}, which is not there"
                elif name.startswith("docs/") and not file.resolve().is_relative_to((root / "docs").resolve()):
                    yield f"{name}:{number}: links to {link}, which the site does not have: write `{target.lstrip('./')}`"
                elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text()):
                    yield f"{name}:{number}: links to {link}: no heading of that name"


def split_comment(line):
    """A line of C++ as its code and its comment; "//" in a literal begins none."""
    quote, at = "", 0
    while at < len(line):
        if quote:
            if line[at] == "\\":
                at += 1
            elif line[at] == quote:
                quote = ""
        elif line.startswith("//", at):
            return line[:at], line[at:]
        elif line[at] == '"' or (line[at] == "'" and not line[at - 1 : at].isalnum()):
            quote = line[at]
        at += 1
    return line, ""


def strings_of(code):
    """The string literals in the code of a line of C++ that are text rather than names."""
    if code.lstrip().startswith("#include"):
        return
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', code):
        if literal.count(" ") > 1:
            yield literal


def words_of_comment(comment):
    """A comment without names of the code: `name`, <name>, and "name:" or "name, name:" before a description."""
    return re.sub(r"`[^`]*`|<\w+>|\b\w+(?:, \w+)*:(?= )", "", comment)


def prose_of(text):
    """The lines of a Markdown text without code."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, re.sub(r"`[^`]*`", "", line)


def check_words(root, words=rules.PLAIN_WORDS):
    def complaints(name, number, text):
        for pattern, instead in words:
            for found in re.findall(pattern, text):
                yield f"{name}:{number}: '{found.strip()}' is not plain English here; write: {instead}"

    for path, name in sources(root, "src", "include", "python", "tests", "benchmarks", "examples"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code, comment = split_comment(line)
            yield from complaints(name, number, words_of_comment(comment))
            if name.startswith(("src/", "include/")):
                for literal in strings_of(code):
                    yield from complaints(name, number, literal)
    for path, name in markdown_files(root):
        for number, line in prose_of(path.read_text()):
            yield from complaints(name, number, line)


def check_format(root, program):
    files = [
        str(path)
        for path, _ in sources(root, "src", "include", "python", "tests", "benchmarks", "examples", *rules.COMPONENTS)
    ]
    result = subprocess.run([program, "--dry-run", *files], capture_output=True, text=True, check=False)
    for match in sorted(set(re.findall(r"^(.*?):(\d+):\d+: warning", result.stderr, re.MULTILINE))):
        place = pathlib.Path(match[0]).resolve().relative_to(root.resolve()).as_posix()
        yield f"{place}:{match[1]}: not as clang-format has it: run make format"


def check_python_format(root, program):
    result = subprocess.run([program, "--check", "."], cwd=root, capture_output=True, text=True, check=False)
    for found in re.findall(r"^would reformat (.*)$", result.stderr, re.MULTILINE):
        place = (root / found).resolve().relative_to(root.resolve()).as_posix()
        yield f"{place}:1: not as black has it: run make format"
    if result.returncode not in (0, 1):
        yield f"pyproject.toml:1: {result.stderr.strip()}"


CHECKS = [
    check_layers,
    check_namespaces,
    check_cycles,
    check_type_names,
    check_sizes,
    check_budgets,
    check_headers,
    check_moved_names,
    check_markdown,
    check_words,
]


def violations(root, clang_format=None, black=None):
    found = []
    for check in CHECKS:
        try:
            found += check(root)
        except ValueError as error:
            found.append(f"{check.__name__}: {error}; tests/tidy/cpp_source.py cannot read a source")
    if clang_format:
        found += check_format(root, clang_format)
    if black:
        found += check_python_format(root, black)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--clang-format", default="")
    parser.add_argument("--black", default="")
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    if options.lines:
        print_lines(options.root)
        return 0
    if not options.clang_format:
        print("skipped: clang-format 14 is not installed [apt: clang-format-14]")
    if not options.black:
        print("skipped: black 23 is not installed [apt: black]")
    found = violations(options.root, options.clang_format, options.black)
    print("\n".join(found))
    if found:
        print(f"{len(found)} violations of the rules in tests/tidy/tidy.py")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
