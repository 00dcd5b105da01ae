# SPDX-License-Identifier: Apache-2.0
"""The program xtune: `python -m xtune`, and in a wheel the script `xtune`, which does not load the package."""
import importlib.util
import os
import sys

FOLDER = importlib.util.find_spec("xtune").submodule_search_locations[0]
PROGRAM = os.environ.get("XTUNE_PROGRAM") or os.path.join(FOLDER, "xtune")
# Where wheels of compilers are searched, also without an active environment.
PACKAGES = [os.path.dirname(FOLDER), *(path for path in sys.path if path.endswith("-packages"))]
os.environ.setdefault("XTUNE_PYTHON_PACKAGES", ":".join(dict.fromkeys(PACKAGES)))
try:
    os.execv(PROGRAM, ["xtune", *sys.argv[1:]])
except OSError as error:
    sys.exit(f"xtune: cannot start {PROGRAM}: {error.strerror}; XTUNE_PROGRAM names the program")
