# SPDX-License-Identifier: Apache-2.0
"""What Kernel Tuner has, and this does not: names that are refused in words when they are used."""
import importlib
from typing import Any, Callable, Type

from xtune.errors import UnsupportedError

PAGE = "docs/from-kernel-tuner.md lists what there is"


def refuse_others(module: str) -> Callable[[str], Any]:
    """__getattr__ of a module: an import of another name, unless it is a module, says that xtune does not have it."""

    def absent(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        try:
            return importlib.import_module(f"xtune.compat.{module}.{name}")
        except ModuleNotFoundError:
            raise UnsupportedError(f"{module}: xtune has no '{name}'; {PAGE}") from None

    return absent


def refused(name: str, why: str) -> Type:
    """A class that can be imported, and is refused when it is called."""

    def refuse(self: Any, *args: Any, **named: Any) -> None:
        raise UnsupportedError(f"{name}: {why}")

    return type(name, (), {"__init__": refuse, "__doc__": f"Refused: {why}."})
