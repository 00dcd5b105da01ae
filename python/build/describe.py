#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""describe.py [HEADERS]: prints what CMake needs to know of this Python: version;headers;numpy. Fails where the headers are
missing: HEADERS, or its own."""
import importlib.util
import pathlib
import sys
import sysconfig

if sys.version_info < (3, 9) or sys.implementation.name != "cpython":
    sys.exit("CPython 3.9 or newer is needed")
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("a Python without the GIL has no limited API")
include = pathlib.Path(*sys.argv[1:] or [sysconfig.get_path("include")])
if not (include / "Python.h").exists():
    sys.exit(f"{include}/Python.h is missing")
numpy = "ON" if importlib.util.find_spec("numpy") else "OFF"
print(f"{sys.version_info[0]}.{sys.version_info[1]};{include};{numpy}")
