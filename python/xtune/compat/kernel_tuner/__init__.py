# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's tune_kernel, run_kernel and store_results over xtune: change the import, and a script runs.

    from xtune.compat.kernel_tuner import tune_kernel

Its modules util, file_utils, accuracy, kernelbuilder, observers and strategies are here as well, with what scripts use
of them. `python3 -m xtune.compat.kernel_tuner SCRIPT` runs a script as it is. docs/from-kernel-tuner.md lists the
arguments: each works, warns that it has no meaning here, or is refused.
"""
from xtune.compat.kernel_tuner import strategies as strategies
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.compat.kernel_tuner.integration import store_results
from xtune.compat.kernel_tuner.interface import Environment, run_kernel, tune_kernel

__all__ = ["Environment", "run_kernel", "store_results", "tune_kernel"]

__getattr__ = refuse_others("kernel_tuner")
