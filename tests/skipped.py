#!/usr/bin/env python3
"""What the last run of CTest in a build directory skipped, with the reasons and the Debian packages that would run it.

  tests/skipped.py build/dev            after `ctest`, as `make test` does
  tests/skipped.py --strict build/dev   exits with 1 if a package was missing, as CI does

A test that skips itself, or a part of itself, prints a line "skipped: WHY [apt: PACKAGE...]", as a message of doctest
or as unittest's reason. The words in brackets are missing where no package of Debian helps. A tool's own message, which
a reason may quote, never has them.
"""
import argparse
import pathlib
import re
import sys
import textwrap

TEST = re.compile(r"\d+/\d+ Test: (.+)")
SKIPPED = re.compile(r"(?:.*MESSAGE: )?skipped: (.+)|.* \.\.\. skipped ['\"](.+)['\"]")
PACKAGES = re.compile(r"\[apt: ([^]]+)\]$")


def skipped_tests(log):
    """{reason: names of tests}, in the order of the log."""
    found, test = {}, ""
    for line in log.splitlines():
        if start := TEST.fullmatch(line):
            test = start[1]
        elif reason := SKIPPED.fullmatch(line):
            found.setdefault(reason[1] or reason[2], {})[test] = True
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    log = options.build / "Testing/Temporary/LastTest.log"
    reasons = skipped_tests(log.read_text(errors="replace"))
    lacking, packages = {}, {}
    for reason, tests in reasons.items():
        print(textwrap.fill(f"skipped in {', '.join(tests)}: {reason}", 120, subsequent_indent="  "))
        for named in PACKAGES.findall(reason):
            packages.update(dict.fromkeys(named.split()))
            lacking.update(tests)
    if packages:
        print(f"skipped for lack of packages: {', '.join(lacking)}. To run them: apt-get install {' '.join(packages)}")
    else:
        print("skipped for lack of packages: nothing")
    return 1 if options.strict and packages else 0


if __name__ == "__main__":
    sys.exit(main())
