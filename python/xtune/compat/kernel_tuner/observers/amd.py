# SPDX-License-Identifier: Apache-2.0
"""Refused when it is used, in words."""
from xtune.compat.kernel_tuner.absent import refuse_others, refused

__getattr__ = refuse_others("kernel_tuner.observers.amd")
AMDSMIObserver = refused(
    "AMDSMIObserver",
    'xtune measures energy itself: NVMLObserver(["nvml_energy"]), or minimize="energy_j" of xtune.tune',
)
