#!/usr/bin/env python3
"""The command lines and specs of README.md and docs/ work.

pages.py --xtune PROGRAM --parser PROGRAM SOURCE

- A command line in a block of a shell (`console`, `sh`, `bash` or no language) begins with xtune, or with a launcher such as srun before it.
  All are parsed: commands and options exist. Those after a prompt (`$ xtune ...`) are also run, in the order of the page, in a directory with
  the page's files and those of configs/ and examples/; `xtune run` tries two configurations there. What `check` and `import` print has to be
  what the page shows.
- A `toml` block is a spec, a suite, or a part of a spec, which is then completed: with the other sections, and with sizes for names that only
  the part knows. `xtune check` accepts it.
- A block is written to a file if the paragraph before it names one of its language in backquotes (the last one counts), or if its first line is
  a comment with the name. So is what `$ cat FILE` shows.
- A command line in a text (`xtune run SPEC`) is parsed, as far as it goes: arguments may be missing, and words in capitals stand for values.
- A picture exists, is an SVG of at most 60 KiB, and loads and runs nothing.

A comment before a block says what differs:

    <!-- test: parse -->        command lines are only parsed, TOML is only read
    <!-- test: exit=3 -->       the exit code of the commands, or of the check
    <!-- test: file=a.toml -->  the file's name
    <!-- test: prints -->       the commands print the block's lines on the CPU, with other numbers. `xtune run` tries twelve configurations.
                                If the paragraph before says "change `A` to `B`", the page's file with A is changed meanwhile
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree

SHELLS = ("", "sh", "bash", "console", "shell")
SUFFIXES = {
    "toml": ("toml",),
    "c++": ("cu", "cpp", "hpp", "cuh"),
    "cpp": ("cu", "cpp", "hpp", "cuh"),
    "cuda": ("cu",),
    "python": ("py",),
    "yaml": ("yaml", "yml"),
    "json": ("json",),
    "csv": ("csv",),
    "sh": ("sh",),
}
FENCE = re.compile(r"^( *)```([\w+]*)[^\n]*\n(.*?)^\1```", re.M | re.S)
IN_TEXT = re.compile(r"(?<!`)`(xtune\s+[a-z][^`]*)`(?!`)")
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
MARKER = re.compile(r"<!--\s*test:(.*?)-->", re.S)
DRAWING = re.compile("[\u2500-\u257f]")  # a diagram, even if a command's name is in it
END_OF_COMMAND = re.compile(r"[|&;<>()]+")
LARGEST_PICTURE = 60 * 1024
UNAVAILABLE = 4
# `xtune run` on a page: what is tried, not how long a search takes.
FEW, TWELVE = ("--evals", "2"), ("--evals", "12", "--backend", "host")
SHOWN = (("check",), ("import", "kernel-tuner"), ("import", "kbench"))
# What a line of a run is, without what depends on its times: (pattern, replacement), in this order.
TIME = r"\d[\d.]*( min \d+)? (ns|us|ms|s|min)\b"
SHAPES = [
    (r"\n {8}(the device|no clear)", r"\n\1"),
    (r"(times the time of the best) \([^)]*\)", r"\1"),
    (r"\n {8,}|\n {2}(?=\(|max abs)", " "),  # wrapped lines
    (r"(?m)^ *\d+ +" + TIME + r".*(\n {3,5}[A-Z]\w*=.*)*$", "a row"),
    (r"(?m)^[ -]*-$\n", ""),
    (r"(?m)^( *# .*?)( +outliers)?( +[A-Z]+)*$", r"\1"),
    (r"(?m)^(.* valid configurations in " + TIME + ": ).*$", r"\1outcomes"),
    (r"\[measure\] \w+ allows", "[measure] a key allows"),
    (r"(\d+) others? (is|are) tied", r"\1 tied"),
    (r"% (faster|slower) during", "% during"),
    (r"\bat least ", ""),
    (TIME, "a time"),
    (r"\d[\d.]* [KM]iB", "a size"),
    (r"-?\d[\d.]*", "0"),
    (r" +", " "),
]
# Lines that a run prints only with some times. Others that begin so are of the same kind.
BY_TIMES = re.compile(
    r"\.\.\. 0 more|default: (the|a time)|same in all rows:|finals: 0|no clear winner|0 tied|certain:|the device (was|became)|tainted:|problem .*faster, but skipped"
)
DEVICE = re.compile(r" on (\S.*) \((\w+), host\)")
CHANGE = re.compile(r"change\s+`([^`]+)`\s+to\s+`([^`]+)`")
# Sections of a spec, so that a block with some of them can be completed with the others.
SECTIONS = {
    "kernel": '[kernel]\nname = "part"\nsource = "part.cu"\n',
    "problem": "[problem]\nM = 512\nN = 512\nK = 512\n",  # and NAME = 64 for names that only the part knows
    "space": "[space.params]\nBLOCK_M = [16, 32]\nBLOCK_N = [16, 32]\nBLOCK_K = [16, 32]\nTHREAD_M = [1, 2]\nTHREAD_N = [1, 2]\nSTAGES = [1, 2]\n",
    "derived": '[derived]\nTHREADS = "BLOCK_M // THREAD_M * (BLOCK_N // THREAD_N)"\n',
    "launch": "[launch]\ngrid = [1]\nblock = [64]\n",
    "args": '[[args]]\nname = "A"\ndtype = "f32"\nshape = ["M", "K"]\n[[args]]\nname = "B"\ndtype = "f32"\nshape = ["K", "N"]\n'
    '[[args]]\nname = "C"\ndtype = "f32"\nshape = ["M", "N"]\nrole = "out"\n',
    "metrics": '[metrics]\nGB_per_s = "4 * M * N / time_s / 1e9"\nTFLOPS = "2 * M * N * K / time_s / 1e12"\n',
}


class Mistake(Exception):
    pass


class Block:
    """A fenced block of a page, with what the comment before it says."""

    def __init__(self, page, match):
        before = page[: match.start()]
        self.line = before.count("\n") + 1
        self.language = match[2].lower()
        self.text = re.sub(rf"(?m)^{match[1]}", "", match[3]) if match[1] else match[3]
        paragraph = before.rstrip().rsplit("\n\n", 1)[-1]
        self.only_parsed, self.prints, self.exit, self.file = False, False, 0, None
        marker = list(MARKER.finditer(paragraph))
        if marker and not paragraph[marker[-1].end() :].strip():
            self.read_marker(marker[-1][1])
            paragraph = before[: before.rindex("<!--")].rstrip().rsplit("\n\n", 1)[-1]
        self.file = self.file or self.named_in(paragraph)
        self.change = CHANGE.search(paragraph) if self.prints else None

    def read_marker(self, text):
        for word in text.split():
            name, _, value = word.partition("=")
            if word == "parse":
                self.only_parsed = True
            elif word == "prints":
                self.prints = True
            elif name == "exit" and value.isdigit():
                self.exit = int(value)
            elif name == "file" and value:
                self.file = value
            else:
                raise Mistake(
                    f"line {self.line}: unknown word '{word}' in <!-- test: -->; parse, prints, exit=CODE or file=NAME"
                )

    def named_in(self, paragraph):
        suffixes = "|".join(SUFFIXES.get(self.language, ()))
        if not suffixes:
            return None
        comment = re.match(rf"(?://|#) ([\w./-]+\.(?:{suffixes}))\s*$", self.text.split("\n", 1)[0])
        names = re.findall(rf"`([\w./-]+\.(?:{suffixes}))`", paragraph)
        return comment[1] if comment else names[-1] if names else None


def blocks_of(page):
    return [Block(page, match) for match in FENCE.finditer(page)]


class Command:
    """One command line of a block: its words after "xtune", whether it follows a prompt, and the lines that it printed."""

    def __init__(self, line, words, prompted):
        self.line, self.words, self.prompted, self.printed = line, words, prompted, []

    def is_a(self, *names):
        return tuple(self.words[: len(names)]) == names


def words_after_xtune(text):
    """The words of each xtune in a line of a shell: up to a pipe, a redirection or the next command."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    commands, current = [], None
    for word in lexer:
        if END_OF_COMMAND.fullmatch(word):
            current = None
        elif current is not None:
            current.append(word)
        elif word == "xtune":
            commands.append(current := [])
    return commands


def commands_of(block):
    """The commands of a block, and {file: text} of `$ cat FILE`."""
    commands, files, shown = [], {}, None
    lines = block.text.split("\n")
    prompted = any(line.startswith("$ ") for line in lines)
    number = 0
    while number < len(lines):
        at, text = block.line + 1 + number, lines[number]
        number += 1
        if prompted and not text.startswith("$ "):
            if commands and shown is None:
                commands[-1].printed.append(text)
            elif shown is not None:
                files[shown] += text + "\n"
            continue
        while text.endswith("\\") and number < len(lines):
            text = text[:-1] + lines[number]
            number += 1
        text = text[2:] if prompted else text
        shown = text[4:].strip() if prompted and text.startswith("cat ") else None
        if shown is not None:
            files[shown] = ""
        elif re.match(r"(\S+ )*?xtune(\s|$)", text):
            commands += [Command(at, words, prompted) for words in words_after_xtune(text)]
    return commands, files


def completed(text, sections, names=()):
    """A part of a spec with the sections that it lacks; a suite and a whole spec as they are."""
    own_kernel = "kernel" in sections
    whole = own_kernel and ("code" not in sections["kernel"] or "launch" in sections)
    if "suite" in sections or whole:
        return text
    program = "process" in sections
    kernel = "" if own_kernel else '[kernel]\nname = "part"\n' if program else SECTIONS["kernel"]
    if program and "run" not in sections["process"]:
        text = re.sub(r"(?m)^\[process\]\n", "", text)
        kernel += '[process]\nrun = "true"\n'
    taken = (
        set(sections)
        | ({"launch", "args", "kernel"} if program else {"kernel"})
        | ({"metrics"} if own_kernel else set())
    )
    parts = {name: part for name, part in SECTIONS.items() if name not in taken}
    if names and "problem" in parts:
        parts["problem"] += "".join(f"{name} = 64\n" for name in names)
    return "\n".join([kernel, *parts.values(), text])


class Page:
    """Runs what a page says, in a directory of its own."""

    def __init__(self, path, name, options):
        self.path, self.name, self.options, self.problems = path, name, options, []
        self.text = path.read_text(encoding="utf-8")
        self.directory = tempfile.TemporaryDirectory(prefix="xtune-docs-")
        self.folder = pathlib.Path(self.directory.name) / "page"
        self.folder.mkdir()
        for each in ("configs", "kernels", "examples"):
            for parent in (self.folder, self.folder.parent):
                (parent / each).symlink_to(options.source / each)
        for each in [*(options.source / "configs").glob("*.toml"), *sorted((options.source / "examples").glob("*/*"))]:
            if not (self.folder / each.name).is_symlink():
                (self.folder / each.name).symlink_to(each)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("XTUNE_", "SLURM_"))}
        self.environment |= {
            "XTUNE_CACHE_DIR": str(self.folder / "store"),
            "XTUNE_BUSY": "no",
            "HOME": str(self.folder),
        }
        self.environment["PATH"] = f"{options.xtune.parent}:{self.environment['PATH']}"

    def problem(self, line, text):
        self.problems.append(f"{self.name}:{line}: {text}")

    def test(self):
        try:
            for block in blocks_of(self.text):
                if block.language == "toml":
                    self.test_spec(block)
                elif block.language in SHELLS and not DRAWING.search(block.text):
                    self.test_commands(block)
                elif block.file:
                    self.write(block.file, block.text)
            # With as many lines as before, so that places stay right.
            text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), self.text)
            for match in IN_TEXT.finditer(text):
                self.test_command_in_text(text[: match.start()].count("\n") + 1, match[1].replace("\\|", "|"))
            for match in PICTURE.finditer(self.text):
                self.test_picture(self.text[: match.start()].count("\n") + 1, self.path.parent / match[1])
        except Mistake as mistake:
            self.problems.append(f"{self.name}: {mistake}")
        finally:
            self.directory.cleanup()
        return self.problems

    def write(self, name, text):
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.parent.resolve()) and not path.is_symlink():
            raise Mistake(f"the file '{name}' leads out of the page's directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")

    def xtune(self, words):
        environment = self.environment | {"COLUMNS": "400"}  # no line is wrapped
        return subprocess.run(
            [str(self.options.xtune), *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )

    def test_spec(self, block):
        try:
            sections = tomllib.loads(block.text)
        except tomllib.TOMLDecodeError as error:
            return self.problem(block.line, f"not TOML: {error}")
        name = block.file or f"line{block.line}.toml"
        if block.file or block.only_parsed:
            self.write(name, block.text)
        if block.only_parsed:
            return None
        result = self.check(name, block, sections)
        if result.returncode != block.exit:
            self.problem(
                block.line,
                f"`xtune check` of this block exits with {result.returncode}, not {block.exit}:\n{last_lines(result)}",
            )
        return None

    def check(self, name, block, sections):
        """`xtune check` of a block, as it stands if it is a file of the page."""
        names = []
        while True:
            if not block.file:
                self.write(name, completed(block.text, sections, names))
            self.make_sources(name)
            result = self.xtune(["check", name])
            unknown = re.search(r"unknown name '([A-Z]\w*)'", result.stderr)
            if not unknown or unknown[1] in names or block.file or "kernel" in sections or "problem" in sections:
                return result
            names.append(unknown[1])

    def make_sources(self, name):
        """A page need not show every source that a spec names."""
        spec = tomllib.loads((self.folder / name).read_text(encoding="utf-8"))
        reference = spec.get("validate", {}).get("reference", {})
        sources = [
            table.get("source") for table in (spec.get("kernel", {}), reference if isinstance(reference, dict) else {})
        ]
        for source in sources + spec.get("process", {}).get("sources", []):
            if source and "*" not in source and not (self.folder / source).exists():
                self.write(source, "")

    def test_commands(self, block):
        commands, files = commands_of(block)
        for name, text in files.items():
            self.write(name, text)
        changed = self.changed(block.change) if block.change else None
        for command in commands:
            complaint = self.options.parse(command.words)
            if complaint:
                self.problem(command.line, f"{complaint}\n  xtune {shlex.join(command.words)}")
            elif command.prompted and not block.only_parsed:
                self.run(command, block)

        if changed:
            self.write(*changed)

    def changed(self, change):
        """Makes the change in the page's file that has its text once; the file's name and its text before."""
        for path in sorted(self.folder.glob("*.*")):
            if (
                path.is_file()
                and not path.is_symlink()
                and (text := path.read_text(errors="replace")).count(change[1]) == 1
            ):
                self.write(path.name, text.replace(change[1], change[2]))
                return path.name, text
        raise Mistake(f"no file of the page has '{change[1]}' once")

    def test_command_in_text(self, line, text):
        for words in words_after_xtune(" ".join(text.split())):
            complaint = self.options.parse(words)
            if complaint and not re.search(r"is required|^\S*( [A-Z|.]+)? is missing|got '[A-Z]+'", complaint):
                self.problem(line, f"{complaint}\n  xtune {shlex.join(words)}")

    def run(self, command, block):
        expected = block.exit
        words = [os.path.expanduser(os.path.expandvars(word)) for word in command.words]
        made = self.make_recordings(words)
        if command.is_a("run") and "--evals" not in words:
            words[1:1] = TWELVE if block.prints else FEW
        if command.is_a("best") and block.prints:
            words[1:1] = TWELVE[2:]
        result = self.xtune(words)
        # A page may compile for a GPU whose compiler this machine lacks.
        lacks = result.returncode == UNAVAILABLE and "no usable compiler" in result.stderr
        if result.returncode != expected and not lacks:
            self.problem(
                command.line,
                f"exit code {result.returncode}, not {expected}; <!-- test: parse --> before the block only parses it\n"
                f"  xtune {shlex.join(words)}\n{last_lines(result)}",
            )
        elif lacks:
            print(f"skipped: {self.name}:{command.line}: {result.stderr.strip().splitlines()[-1]}")
        elif block.prints:
            self.compare_shapes(command, result)
        elif not made and any(command.is_a(*names) for names in SHOWN):
            self.compare(command, result)

    def compare(self, command, result):
        printed = {line.strip() for line in (result.stdout + result.stderr).splitlines()}
        for line in command.printed:
            if line.strip() and line.strip() != "..." and "..." not in line and line.strip() not in printed:
                self.problem(
                    command.line,
                    f"`xtune {shlex.join(command.words)}` does not print this line:\n  {line}\nbut\n{last_lines(result)}",
                )

    def compare_shapes(self, command, result):
        lacks, more = differences("\n".join(command.printed), result.stdout)
        if lacks or more:
            self.problem(
                command.line,
                f"`xtune {shlex.join(command.words)}`, without numbers:"
                + "".join(f"\n  shown only:   {line}" for line in lacks)
                + "".join(f"\n  printed only: {line}" for line in more),
            )

    def test_picture(self, line, path):
        try:
            text = path.read_text(encoding="utf-8")
            elements = {element.tag.rpartition("}")[2] for element in xml.etree.ElementTree.fromstring(text).iter()}
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            return self.problem(line, f"no picture: {error}")
        if len(text) > LARGEST_PICTURE:
            self.problem(line, f"{path.name} has {len(text)} bytes, {LARGEST_PICTURE} at most")
        text = text.replace('xmlns="http://www.w3.org/2000/svg"', "", 1)
        if elements & {"script", "foreignObject", "image"} or re.search(r"https?:|@import|url\(|\son[a-z]+=", text):
            self.problem(line, f"{path.name} loads or runs something")
        return None

    def make_recordings(self, words):
        """Recordings of others are too large for the sources: small ones take their place."""
        names = [word for word in words if word.endswith(".json.gz") and "*" not in word]
        for name in names:
            with gzip.open(self.folder / name, "wt") as file:
                file.write(recording())
        return bool(names)


def recording():
    """A cache of Kernel Tuner with 64 configurations."""
    params = {"block_size_x": [16, 32, 64, 128], "block_size_y": [1, 2, 4, 8], "tile_size_x": [1, 2, 3, 4]}
    cache = {}
    for x in params["block_size_x"]:
        for y in params["block_size_y"]:
            for tile in params["tile_size_x"]:
                time_ms = 1 + abs(x * y - 128) / 64 + tile / 10
                cache[f"{x},{y},{tile}"] = {
                    "block_size_x": x,
                    "block_size_y": y,
                    "tile_size_x": tile,
                    "time": time_ms,
                    "times": [time_ms] * 7,
                    "compile_time": 1000,
                    "benchmark_time": 50,
                }
    return json.dumps(
        {
            "device_name": "NVIDIA A100-PCIE-40GB",
            "kernel_name": "convolution_kernel",
            "problem_size": [4096, 4096],
            "tune_params_keys": list(params),
            "tune_params": params,
            "objective": "time",
            "cache": cache,
        }
    )


def shape(text):
    """The lines of an output without numbers, wraps and the name of the device; equal lines that follow each other are one."""
    if device := DEVICE.search(text):
        text = text.replace(device[2], "an architecture").replace(f" on {device[1]}", " on a device")
    for pattern, replacement in SHAPES:
        text = re.sub(pattern, replacement, text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [line for number, line in enumerate(lines) if number == 0 or line != lines[number - 1]]


def differences(shown, printed):
    """The shapes of lines that only one of two outputs has, and that it may not lack; "..." in what is shown stands for any."""
    shown, printed = shape(shown), shape(printed)

    def missing(of, others):
        kinds = {match[0] for line in others if (match := BY_TIMES.match(line))}
        return [
            line
            for line in of
            if line not in others and not ((match := BY_TIMES.match(line)) and match[0] not in kinds)
        ]

    lacks = [line for line in missing(shown, printed) if line != "..."]
    return lacks, [] if "..." in shown else missing(printed, shown)


def last_lines(result):
    lines = (result.stdout + result.stderr).strip().splitlines()
    return "\n".join("  " + line for line in lines[-8:])


class Parser:
    """The program that parses command lines, for all pages."""

    def __init__(self, program):
        self.program = program

    def __call__(self, words):
        words = words[: words.index("--")] if "submit" in words[:1] and "--" in words else words  # the rest is sbatch's
        answer = subprocess.run(
            [str(self.program)], input=json.dumps(words) + "\n", capture_output=True, text=True, check=True
        )
        return answer.stdout.strip()


def pages_of(source):
    return [source / "README.md", *sorted((source / "docs").rglob("*.md"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", type=pathlib.Path, required=True)
    parser.add_argument("--parser", type=pathlib.Path, required=True)
    parser.add_argument("--page", help="only this page")
    parser.add_argument("source", type=pathlib.Path)
    options = parser.parse_args()
    options.source, options.xtune = options.source.resolve(), options.xtune.resolve()
    options.parse = Parser(options.parser.resolve())
    pages = [
        Page(path, str(path.relative_to(options.source)), options)
        for path in pages_of(options.source)
        if options.page in (None, str(path.relative_to(options.source)))
    ]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [problem for found in pool.map(Page.test, pages) for problem in found]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(problems)} problems")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
