"""For MkDocs (hooks in mkdocs.yml): fills docs/messages.md with the messages of the sources, so that the site's search
finds a message that a user pastes. What a message quotes or counts is shown as an ellipsis."""
import ast
import collections
import itertools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a part of the sources is about, and the page that explains it. The longest path counts.
PARTS = {
    "python": ("Python", "python.md"),
    "src/api": ("The library", "library.md"),
    "src/backends": ("Backends", "command-line.md#backends"),
    "src/backends/hip": ("AMD GPUs", "amd.md"),
    "src/backends/host": ("The host backend", "host-backend.md"),
    "src/backends/kokkos": ("Kokkos", "kokkos.md"),
    "src/backends/process": ("Programs", "process.md"),
    "src/base": ("Files and the system", "store.md"),
    "src/cli": ("The command line", "command-line.md"),
    "src/cluster": ("Clusters", "cluster.md"),
    "src/core": ("Runs", "search.md"),
    "src/core/init": ("Drafts of specs", "command-line.md"),
    "src/core/resolve": ("Specs", "spec-format.md"),
    "src/core/space": ("Expressions and spaces", "spec-format.md"),
    "src/core/spec": ("Specs", "spec-format.md"),
    "src/core/store": ("The store", "store.md"),
    "src/core/validate": ("Validation", "validation.md"),
    "src/dispatch": ("Calls of tuned kernels", "dispatch.md"),
    "src/report": ("Reports", "report.md"),
    "src/system": ("Files and the system", "store.md"),
    "src/worker": ("Runs", "search.md"),
}
SECTION = 25  # messages below one heading: the search finds sections, and short ones better
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
RAISED = re.compile(
    r"\bthrow\s+[\w:]+\s*[({]|\breturn\s+[\w:]*Error\s*[({]|\b(?:fail|refuse|bad_argument|Error|Failure)\s*[({]"
)


def of_cpp(text):
    """The text of each exception: the literals within its parentheses; what is between two is not known here."""
    for start in RAISED.finditer(text):
        at, depth, pieces = start.end(), 1, []
        while depth and at < len(text):
            if literal := LITERAL.match(text, at):
                if depth <= 2:  # deeper ones choose what the message quotes
                    pieces.append(literal.group()[1:-1].replace('\\"', '"').replace("\\n", " "))
                at = literal.end()
                continue
            depth += (text[at] in "({[") - (text[at] in ")}]")
            pieces += ["{}"] if pieces and not text[at].isspace() else []
            at += 1
        yield "".join(pieces)


def of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and node.exc:
            texts = [one for one in ast.walk(node.exc) if isinstance(one, ast.JoinedStr) or of_constant(one)]
            for one in texts[:1]:
                parts = one.values if isinstance(one, ast.JoinedStr) else [one]
                yield "".join(of_constant(part) or "{}" for part in parts)


def of_constant(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages():
    """By title and page, sorted: each message once."""
    found = collections.defaultdict(set)
    cpp = ((path, of_cpp) for path in ROOT.glob("src/**/*.[ch]pp"))
    python = ((path, of_python) for path in ROOT.glob("python/**/*.py"))
    for path, read in itertools.chain(cpp, python):
        name = str(path.relative_to(ROOT))
        part = max((part for part in PARTS if name.startswith(part + "/")), key=len)
        for message in read(path.read_text()):
            message = re.sub(r"\{[^{}]*\}(\s*\{[^{}]*\})*", "…", message)
            message = re.sub(r"^\(\)(: )?", "", message).strip(" …:;,.")
            if len(message.split()) > 1:
                found[PARTS[part]].add(message)
    return sorted((where, sorted(own, key=str.lower)) for where, own in found.items())


def on_page_markdown(markdown, page, **_):
    if page.file.src_path != "messages.md":
        return markdown
    page.meta["hide"] = ["toc"]
    for (title, target), own in messages():
        markdown += f"\n## {title}\n\n[{target.split('#')[0]}]({target}) explains them.\n"
        for number, some in enumerate((own[at : at + SECTION] for at in range(0, len(own), SECTION)), 1):
            items = "\n".join("- " + re.sub(r"([\\`*_<>\[\]])", r"\\\1", message) for message in some)
            markdown += f"\n### {title} {number}\n\n{items}\n"
    return markdown
