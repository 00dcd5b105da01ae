# SPDX-License-Identifier: Apache-2.0
"""Starts the program xtune, for `python -m xtune`. A wheel has a copy outside the package, for the command `xtune`, which
so does not load the package."""
import importlib.util
import os
import sys


def main():
    folder = importlib.util.find_spec("xtune").submodule_search_locations[0]
    program = os.environ.get("XTUNE_PROGRAM") or os.path.join(folder, "xtune")
    # Where wheels of compilers are searched, also without an active environment.
    packages = [os.path.dirname(folder), *(path for path in sys.path if path.endswith("-packages"))]
    os.environ.setdefault("XTUNE_PYTHON_PACKAGES", ":".join(dict.fromkeys(packages)))
    try:
        os.execv(program, ["xtune", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"xtune: cannot start {program}: {error.strerror}; XTUNE_PROGRAM names the program")


if __name__ == "__main__":
    main()
