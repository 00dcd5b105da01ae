# SPDX-License-Identifier: Apache-2.0
"""Refused when it is used, in words."""
from xtune.compat.kernel_tuner.absent import refuse_others, refused

__getattr__ = refuse_others("kernel_tuner.observers.ncu")
NCUObserver = refused("NCUObserver", "xtune reads no hardware counters; run ncu on the best configuration")
