# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's models of clocks and power: refused when they are imported, in words."""
from xtune.errors import UnsupportedError


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'kernel_tuner.energy' has no attribute '{name}'")
    raise UnsupportedError(
        "kernel_tuner.energy: xtune does not read or change clocks and power limits; `xtune run --lock-clocks` fixes one "
        "for a run"
    )
