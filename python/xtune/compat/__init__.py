# SPDX-License-Identifier: Apache-2.0
"""Functions with the arguments of other tuners: xtune.compat.kernel_tuner."""
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtune.compat import kernel_tuner as kernel_tuner

__all__ = ["kernel_tuner"]


def __getattr__(name):
    """A module, which is imported when it is first used."""
    if name in __all__:
        return importlib.import_module(f"xtune.compat.{name}")
    raise AttributeError(f"module 'xtune.compat' has no attribute '{name}'")


def __dir__():
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
