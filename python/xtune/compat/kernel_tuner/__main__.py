# SPDX-License-Identifier: Apache-2.0
"""Runs a script for Kernel Tuner as it is: python3 -m xtune.compat.kernel_tuner SCRIPT [ARGUMENT...]"""
import importlib
import os
import pkgutil
import runpy
import sys


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m xtune.compat.kernel_tuner SCRIPT [ARGUMENT...]")
    if not os.path.isfile(sys.argv[1]):
        sys.exit(f"{sys.argv[1]}: the file does not exist; pass the path of a script")
    package = importlib.import_module("xtune.compat.kernel_tuner")
    sys.modules["kernel_tuner"] = package
    for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not each.name.endswith("__main__"):
            sys.modules[each.name[len("xtune.compat.") :]] = importlib.import_module(each.name)
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
