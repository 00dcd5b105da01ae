# SPDX-License-Identifier: Apache-2.0
"""Runs a script for a command of the program: python3 -I DIRECTORY SCRIPT <request.json >answer.json

The program installs this directory beside itself; python3 is enough to run it, without the package xtune."""
import importlib
import json
import math
import os
import sys


def encoded(value):
    """JSON has no infinity and no NaN: {"float": "inf"}."""
    if isinstance(value, dict):
        return {name: encoded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [encoded(one) for one in value]
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def decoded(values):
    return (
        float(values["float"]) if values.keys() == {"float"} and values["float"] in ("inf", "-inf", "nan") else values
    )


def main():
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    request, warnings = json.load(sys.stdin.buffer, object_hook=decoded), []
    refused = importlib.import_module("compat._text").Refused
    try:
        script = importlib.import_module(f"compat.{sys.argv[1]}")
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    try:
        return {"answer": script.answer(request, warnings), "warnings": warnings}
    except refused as error:
        return {"error": str(error), "kind": error.kind}


if __name__ == "__main__":
    sys.stdout.buffer.write(json.dumps(encoded(main()), ensure_ascii=False).encode("utf-8", "replace"))
