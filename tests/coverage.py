#!/usr/bin/env python3
"""Lines that the tests of a build with --coverage executed, by directory of the sources.

  tests/coverage.py [-j JOBS] build/coverage    after `ctest`, as `make coverage` does
"""
import argparse
import collections
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = "(src|include|emulator|tools|python)/"


def files_of(build, jobs):
    """[{filename, line_covered, line_total}] of the project's own sources, without tests."""
    summary = build / "coverage.json"
    command = ["gcovr", "--root", ROOT, "--filter", SOURCES, "--exclude", ".*/tests/", "-j", jobs]
    command += ["--json-summary", summary.resolve(), build.resolve()]
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True)
    return json.loads(summary.read_text())["files"]


def by_directory(files):
    """{directory: (executed lines, lines)}"""
    counts = collections.defaultdict(lambda: (0, 0))
    for file in files:
        folder = str(pathlib.PurePath(file["filename"]).parent)
        covered, total = counts[folder]
        counts[folder] = (covered + file["line_covered"], total + file["line_total"])
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    counts = by_directory(files_of(options.build, options.jobs))
    rows = sorted(counts.items()) + [("all", tuple(map(sum, zip(*counts.values()))) or (0, 0))]
    for folder, (covered, total) in rows:
        print(f"{100 * covered / max(total, 1):6.1f} %  {covered:6} of {total:6} lines  {folder}")


if __name__ == "__main__":
    main()
