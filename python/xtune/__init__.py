# SPDX-License-Identifier: Apache-2.0
"""xtune finds the fastest configuration of a GPU kernel on the GPU you have, and checks that its results are right.

    result = xtune.tune(source, params={"BLOCK": [64, 128, 256]}, args={"x": x, "y": xtune.InOut(y), "n": np.int32(n)},
                        grid="ceildiv(n, BLOCK)", block="BLOCK", reference=lambda x, y: x + y)
    kernel = result.kernel()
    kernel(x, y, n)

docs/python.md describes the package.
"""
from xtune import _native
from xtune._tuning import (Kernel, TuneWarning, all_configs, backends, best, candidates, compile_all, devices, load,
                           load_bundle, strategies, tune, tune_cases)
from xtune.autotuning import Argument, autotune
from xtune.errors import (Error, InvalidArgumentError, InvalidSpecError, NothingValidError, StoppedError, StorageError,
                          UnavailableError, UnsupportedError)
from xtune.results import (Across, Backend, Candidate, Choice, CompiledConfig, Device, KernelArgument, MeasuredDevice,
                           Measurement, Progress, Resources, Result, Timing)
from xtune.tunable import Constant, In, InOut, Out, Scalar, Scratch, TensorMap, Tunable

__version__ = _native.version()

__all__ = [
    "Across", "Argument", "Backend", "Candidate", "Choice", "CompiledConfig", "Constant", "Device", "Error", "In",
    "InOut", "InvalidArgumentError", "InvalidSpecError", "Kernel", "KernelArgument", "MeasuredDevice", "Measurement",
    "NothingValidError", "Out", "Progress", "Resources", "Result", "Scalar", "Scratch", "StoppedError", "StorageError",
    "TensorMap", "Timing", "Tunable", "TuneWarning", "UnavailableError", "UnsupportedError", "all_configs", "autotune",
    "backends", "best", "candidates", "compile_all", "devices", "load", "load_bundle", "strategies", "tune",
    "tune_cases",
]
