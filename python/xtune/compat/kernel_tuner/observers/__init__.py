# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's observers. An OutputObserver works; those of each launch have no place in xtune's workers."""
from typing import Any, Dict, Sequence

from xtune.compat.kernel_tuner.absent import refuse_others

__getattr__ = refuse_others("kernel_tuner.observers")


class BenchmarkObserver:
    """The base of observers. One that is told of each launch is refused by tune_kernel."""

    def register_device(self, dev: Any) -> None:
        pass

    def register_configuration(self, params: Any) -> None:
        pass

    def get_results(self) -> Dict[str, Any]:
        """Values by name, for the results."""
        raise NotImplementedError


class IterationObserver(BenchmarkObserver):
    pass


class ContinuousObserver(BenchmarkObserver):
    pass


class PrologueObserver(BenchmarkObserver):
    pass


class OutputObserver(BenchmarkObserver):
    """Sees the outputs of each configuration, which are then not compared with the answer unless there is a verify."""

    def process_output(self, answer: Sequence[Any], output: Sequence[Any]) -> None:
        """answer: as given to tune_kernel. output: the arguments after the launch."""
        raise NotImplementedError
