# SPDX-License-Identifier: Apache-2.0
"""xtune finds the fastest configuration of a GPU kernel on the GPU you have, and checks that its results are right.

    result = xtune.tune(source, params={"BLOCK": [64, 128, 256]},
                        args={"x": x, "y": xtune.InOut(y), "n": np.int32(n)},
                        grid="ceildiv(n, BLOCK)", block="BLOCK", reference=lambda x, y: x + y)
    kernel = result.kernel()
    kernel(x, y, n)

help(xtune.tune), help(xtune.Tunable) and help(xtune.autotune) describe all keywords,
help(xtune.Result) what comes back. docs/python.md in the source tree is the guide to the package.
xtune.compat has the functions of other tuners.
"""
import importlib.machinery
import os
import pathlib
import sys
import sysconfig
from typing import TYPE_CHECKING

# Wheels of NVRTC and ROCm beside this Python's other packages are found without an active environment.
os.environ.setdefault(
    "XTUNE_PYTHON_PACKAGES", ":".join(dict.fromkeys(sysconfig.get_path(each) for each in ("purelib", "platlib")))
)

try:
    from xtune import _native
except ImportError:
    _here = pathlib.Path(__file__).parent
    if any((_here / f"_native{ending}").exists() for ending in importlib.machinery.EXTENSION_SUFFIXES):
        raise
    _built = ", ".join(each.name for each in _here.glob("_native*.so")) or "none was built"
    _python = f"Python {sys.version_info[0]}.{sys.version_info[1]} ({sys.executable})"
    raise ImportError(
        f"xtune has no extension for {_python} in {_here}: {_built}. _native.abi3.so serves CPython 3.9 and newer, but "
        "no Python without the GIL; `pip install .` builds it"
    ) from None
from xtune._tuning import (
    Kernel,
    TuneWarning,
    all_configs,
    backends,
    best,
    candidates,
    compile_all,
    devices,
    load,
    load_bundle,
    strategies,
    tune,
    tune_cases,
)
from xtune.autotuning import Argument, autotune
from xtune.errors import (
    Error,
    InvalidArgumentError,
    InvalidSpecError,
    NothingValidError,
    StoppedError,
    StorageError,
    UnavailableError,
    UnsupportedError,
)
from xtune.results import (
    Across,
    Backend,
    Candidate,
    Choice,
    CompiledConfig,
    Device,
    ExpectedTime,
    KernelArgument,
    MeasuredDevice,
    Measurement,
    Prediction,
    Progress,
    Resources,
    Result,
    Timing,
)
from xtune.tunable import Constant, In, InOut, Out, Scalar, Scratch, Table, TensorMap, Tunable

if TYPE_CHECKING:
    from xtune import compat as compat
    from xtune import jax as jax
    from xtune import torch as torch

__version__ = _native.version()

__all__ = [
    "Across",
    "Argument",
    "Backend",
    "Candidate",
    "Choice",
    "CompiledConfig",
    "Constant",
    "Device",
    "Error",
    "ExpectedTime",
    "In",
    "InOut",
    "InvalidArgumentError",
    "InvalidSpecError",
    "Kernel",
    "KernelArgument",
    "MeasuredDevice",
    "Measurement",
    "NothingValidError",
    "Out",
    "Prediction",
    "Progress",
    "Resources",
    "Result",
    "Scalar",
    "Scratch",
    "StoppedError",
    "StorageError",
    "Table",
    "TensorMap",
    "Timing",
    "Tunable",
    "TuneWarning",
    "UnavailableError",
    "UnsupportedError",
    "all_configs",
    "autotune",
    "backends",
    "best",
    "candidates",
    "compile_all",
    "devices",
    "load",
    "load_bundle",
    "strategies",
    "tune",
    "tune_cases",
]


def __getattr__(name):
    """xtune.compat, xtune.jax and xtune.torch, which are imported when they are first used."""
    if name in ("compat", "jax", "torch"):
        return importlib.import_module(f"xtune.{name}")
    raise AttributeError(f"module 'xtune' has no attribute '{name}'")


def __dir__():
    return [*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__", "compat"]
