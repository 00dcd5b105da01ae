# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's PythonKernel: one configuration of a kernel as a function."""
import tempfile
from typing import Any, List, Mapping, Optional, Sequence

import numpy

import xtune
from xtune import _checks
from xtune._arrays import is_array
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.compat.kernel_tuner.definition import Divisors, Sizes
from xtune.compat.kernel_tuner.integration import TuneResults
from xtune.compat.kernel_tuner.interface import run_kernel
from xtune.errors import InvalidArgumentError
from xtune.tunable import Path

__getattr__ = refuse_others("kernel_tuner.kernelbuilder")


def _name_of_device(index: int) -> str:
    """Of the device that the kernel will run on; empty: none is known, and any device's results serve."""
    backends = [each for each in xtune.backends() if each.devices and each.compiler]
    gpus = [each for each in backends if each.name != "host"] or backends
    return next((device.name for each in gpus for device in each.devices if device.index == index), "")


class PythonKernel:
    """A kernel with its parameters. A call takes the kernel's arguments and returns the arrays that are outputs.

    inputs, outputs: a bool for each argument. An argument that is not an input keeps the value it got here; the list
    that a call returns has the arrays that are outputs. The arrays are copied to the device and back in each call.
    results_file: of store_results, whose best configuration for this device and problem is used.
    """

    @_checks.checked
    def __init__(
        self,
        kernel_name: str,
        kernel_string: Any,
        problem_size: Sizes,
        arguments: Sequence[Any],
        params: Optional[Mapping[str, Any]] = None,
        inputs: Optional[Sequence[bool]] = None,
        outputs: Optional[Sequence[bool]] = None,
        device: int = 0,
        platform: int = 0,
        block_size_names: Optional[Sequence[str]] = None,
        grid_div_x: Divisors = None,
        grid_div_y: Divisors = None,
        grid_div_z: Divisors = None,
        verbose: bool = True,
        lang: Optional[str] = None,
        results_file: Optional[Path] = None,
        *,
        settings: Optional[Mapping[str, Any]] = None,
    ):
        for name, flags in (("inputs", inputs), ("outputs", outputs)):
            if flags is not None and len(flags) != len(arguments):
                raise InvalidArgumentError(f"{name} has {len(flags)} elements, and arguments has {len(arguments)}")
        self.params = dict(params or {})
        if results_file is not None:
            self.params.update(TuneResults(results_file).get_best_config(_name_of_device(device), problem_size))
        self._arguments = list(arguments)
        self._inputs = list(inputs or [True] * len(arguments))
        self._outputs = list(outputs or [True] * len(arguments))
        self._store = tempfile.TemporaryDirectory(prefix="xtune-")  # of the compiled kernel
        self._launch = (kernel_name, kernel_string, problem_size)
        self._named = {
            "grid_div_x": grid_div_x,
            "grid_div_y": grid_div_y,
            "grid_div_z": grid_div_z,
            "lang": lang,
            "device": device,
            "platform": platform,
            "block_size_names": block_size_names,
            "settings": {"store": self._store.name, "keep": True, "fresh": True, **(settings or {})},
        }

    def run_kernel(self, args: Sequence[Any]) -> List[numpy.ndarray]:
        """Runs the kernel with these arguments, and returns the arrays that are outputs."""
        if len(args) != len(self._arguments):
            raise InvalidArgumentError(
                f"{self._launch[0]}: {len(args)} arguments are passed, and it takes {len(self._arguments)}"
            )
        values = [new if given else old for new, old, given in zip(args, self._arguments, self._inputs)]
        after = run_kernel(*self._launch, values, self.params, **self._named)
        return [each for each, wanted in zip(after, self._outputs) if wanted and is_array(each)]

    def __call__(self, *args: Any) -> List[numpy.ndarray]:
        return self.run_kernel(args)
