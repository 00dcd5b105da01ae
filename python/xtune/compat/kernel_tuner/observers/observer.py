# SPDX-License-Identifier: Apache-2.0
"""The bases of observers, under the name of Kernel Tuner's module."""
from xtune.compat.kernel_tuner.observers import (  # noqa: F401
    BenchmarkObserver,
    ContinuousObserver,
    IterationObserver,
    OutputObserver,
    PrologueObserver,
)
