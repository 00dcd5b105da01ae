"""What the rules of the sources allow."""

import re

# Directories beside src/ with C++ sources, and what in them is not part of the product.
COMPONENTS = ["emulator", "lab", "runtime", "tools"]
SOURCES = {".cpp", ".hpp", ".cuh", ".h", ""}
OUTSIDE = re.compile("(^|/)(tests|benchmark|applications)$")

# Directory below src, or beside it: the directories that its files include. base, system and the public headers
# (include/xtune) are open to all, but system not to base.
# The order is the one in docs/architecture.md: a directory includes only directories above it. A directory that
# includes backends can open devices: only workers and applications may, never the driver (core/run).
LAYERS = {
    "base": [],
    "system": [],
    "runtime/host": [],
    "runtime/kokkos": [],
    "core/space": [],
    "core/device": ["core/space"],
    "core/spec": ["core/space", "core/device"],
    "core/model": ["core/space", "core/device", "core/spec"],
    "core/search": ["core/space"],
    "core/build": ["core/space", "core/device", "core/spec"],
    "core/measure": ["core/device", "core/spec", "core/build"],
    "core/validate": ["core/device", "core/space", "core/spec", "core/build"],
    "core/init": ["core/space", "core/spec", "core/build"],
    "core/resolve": [
        "core/space",
        "core/device",
        "core/spec",
        "core/build",
        "core/init",
        "core/measure",
        "core/validate",
    ],
    "core/store": [
        "core/space",
        "core/device",
        "core/spec",
        "core/build",
        "core/measure",
        "core/validate",
        "core/resolve",
    ],
    "core/run": [
        "core/space",
        "core/device",
        "core/spec",
        "core/model",
        "core/search",
        "core/build",
        "core/measure",
        "core/validate",
        "core/resolve",
        "core/store",
    ],
    "worker/ipc": ["core/device", "core/spec", "core/build", "core/measure", "core/store", "core/run"],
    "backends": ["core/device", "core/build", "core/measure"],
    "backends/compiler": ["core/build"],
    "backends/gpu": ["core/device", "core/build", "core/measure", "backends"],
    "backends/cuda": ["core/device", "core/build", "core/measure", "backends", "backends/compiler", "backends/gpu"],
    "backends/hip": [
        "core/device",
        "core/build",
        "core/measure",
        "backends",
        "backends/compiler",
        "backends/gpu",
        "backends/cuda",
    ],
    "backends/cpu": ["core/device", "core/build", "core/measure"],
    "backends/host/block": ["core/device", "core/build", "core/measure", "backends/cpu", "runtime/host"],
    "backends/host/hopper": ["core/device", "core/build", "core/measure", "backends/host/block", "runtime/host"],
    "backends/host": [
        "core/device",
        "core/build",
        "core/measure",
        "backends",
        "backends/compiler",
        "backends/gpu",
        "backends/cpu",
        "backends/host/block",
        "backends/host/hopper",
        "runtime/host",
    ],
    "backends/process": ["core/device", "core/build", "core/measure", "backends", "backends/compiler", "backends/cpu"],
    "backends/kokkos": [
        "core/device",
        "core/build",
        "core/measure",
        "backends",
        "backends/compiler",
        "backends/gpu",
        "backends/cpu",
        "runtime/kokkos",
    ],
    "emulator": ["backends/gpu"],
    "emulator/hip": ["core/device", "backends/gpu", "emulator"],
    "worker": [
        "core/device",
        "core/build",
        "core/measure",
        "core/validate",
        "core/run",
        "worker/ipc",
        "backends",
        "backends/cpu",
        "backends/host",
        "backends/host/block",
    ],
    "cluster": ["core/space", "core/spec", "core/store", "core/run"],
    "tools/kokkos": [
        "core/space",
        "core/device",
        "core/search",
        "core/build",
        "core/measure",
        "core/resolve",
        "core/store",
        "backends/gpu",
        "backends/cpu",
    ],
    "dispatch": [
        "core/space",
        "core/device",
        "core/spec",
        "core/model",
        "core/build",
        "core/measure",
        "core/validate",
        "core/resolve",
        "core/store",
        "core/run",
        "backends",
    ],
    "report/plot": [],
    "report/text": ["core/space", "core/device", "core/spec", "core/store", "core/run"],
    "report/page": [
        "core/space",
        "core/device",
        "core/spec",
        "core/model",
        "core/search",
        "core/store",
        "core/run",
        "report/plot",
        "report/text",
    ],
    "cli": [
        "core/space",
        "core/device",
        "core/spec",
        "core/model",
        "core/search",
        "core/build",
        "core/init",
        "core/resolve",
        "core/store",
        "core/run",
        "worker/ipc",
        "worker",
        "cluster",
        "dispatch",
        "report/text",
        "report/page",
    ],
    "lab": ["core/space", "core/device", "core/spec", "core/search", "core/measure", "core/store", "core/run"],
    "lab/commands": [
        "core/space",
        "core/device",
        "core/spec",
        "core/search",
        "core/store",
        "core/run",
        "worker/ipc",
        "report/text",
        "cli",
        "lab",
    ],
    "api": [
        "core/space",
        "core/device",
        "core/spec",
        "core/model",
        "core/search",
        "core/build",
        "core/init",
        "core/measure",
        "core/validate",
        "core/resolve",
        "core/store",
        "core/run",
        "worker/ipc",
        "worker",
        "dispatch",
        "backends",
    ],
}

# The namespace of a directory is xtune and the directory's name, without "core" and "backends". Exceptions are
# backends, whose name is a function of the public API, and api.
NAMESPACES = {
    "api": "xtune",
    "api/library": "xtune",
    "backends": "xtune::backend",
    "runtime/host": "xtune::host",
    "runtime/kokkos": "xtune::kokkos",
    "tools/kokkos": "xtune::kokkos_tools",
    "lab/commands": "xtune::cli",
}

# Sources that define a part of the public API, which lives in xtune itself.
OTHER_NAMESPACES = {
    "src/base/error.cpp": "xtune",
    "src/core/space/value.cpp": "xtune",
    "src/core/spec/dtype.cpp": "xtune",
    "src/dispatch/arguments.hpp": "xtune",
    "src/dispatch/array_calls.cpp": "xtune",
    "src/dispatch/kernel_state.cpp": "xtune",
    "src/dispatch/kernel_state.hpp": "xtune",
}

# Lines of sources and headers below a directory, without tests, each file counted at the nearest one. A budget may shrink; a commit that raises it
# says why.
LINES = {
    "include": 2448,
    "src/base": 1242,
    "src/system": 4084,
    "src/core/build": 5744,
    "src/core/device": 1131,
    "src/core/init": 5983,
    "src/core/measure": 1378,
    "src/core/model": 2910,
    "src/core/resolve": 2840,
    "src/core/run": 7128,
    "src/core/search": 3389,
    "src/core/space": 3325,
    "src/core/spec": 5503,
    "src/core/store": 9478,
    "src/core/validate": 3011,
    "src/worker": 6277,
    "src/backends": 486,
    "src/backends/compiler": 1171,
    "src/backends/cpu": 507,
    "src/backends/cuda": 2262,
    "src/backends/gpu": 2309,
    "src/backends/hip": 1851,
    "src/backends/host": 4806,
    "src/backends/kokkos": 1083,
    "src/backends/process": 1638,
    "src/cluster": 2470,
    "src/dispatch": 4914,
    "src/api": 4799,
    "src/report": 4257,
    "src/cli": 9649,
    "emulator": 7890,
    "runtime": 5581,
    "lab": 2683,
    "tools": 409,
    "tools/kokkos": 2143,
}

FUNCTION_LINES = 70
CLASS_METHODS = 25
CLASS_MEMBERS = 15
# A type with this many methods is plain data, with any number of members.
DATA_METHODS = 6
MARKDOWN_COLUMNS = 120

# Types beyond these limits, with their methods and members: they may shrink, and leave the list then.
LARGE_TYPES = {
    "include/xtune/tunable.hpp Tunable": (79, 1),  # a builder: a method for each thing that a spec can say
    "src/core/resolve/resolve.hpp CandidateResolver": (26, 1),  # a method for each thing that a configuration has
}

# Words of text that people read (messages, comments, documents), and what to write instead.
PLAIN_WORDS = [
    (
        r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer\b|more\b|slower\b|faster\b|worse\b|better\b|later\b)",
        "is not a",
    ),
    (r"\balone\b", "only, or: on its own"),
    (r"\btells\b", "reports, returns, prints, shows, lists, or: finds out"),
    (r"\b[Ww]hoever\b|\b[Nn]obody\b", "a process that, users who, none"),
    (r"\bso many\b|\d at most\b|\} at most\b", "at most N, up to N"),
    (r"\bof (?:its own|theirs)\b", "its own"),
    (r"\banew\b|\b[Aa]gain and again\b", "again, once more, repeatedly"),
    (r"\b(?:pass|passe[sd]|left|leave|leaves) (?:over|out)\b", "skipped, ignored, omitted"),
    (r"(?<!\$)\bfolders?\b", "directory"),
]

# Names that newer releases of a library declare in another header than older ones: {name: header that each source needs}.
MOVED_NAMES = {"fmt::join": "<fmt/ranges.h>"}
