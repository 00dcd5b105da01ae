# SPDX-License-Identifier: Apache-2.0
"""Energy and power, which xtune measures itself."""
from typing import Optional, Sequence

from xtune import _checks
from xtune._tuning import warn
from xtune.compat.kernel_tuner.absent import refuse_others, refused
from xtune.compat.kernel_tuner.observers import BenchmarkObserver
from xtune.errors import InvalidArgumentError

__getattr__ = refuse_others("kernel_tuner.observers.nvml")
#: The observables that xtune measures, as expressions of its metrics: J of a launch, and W.
MEASURED = {"nvml_energy": "energy_j", "nvml_power": "energy_j / time_s"}
_OTHERS = ("power_readings", "core_freq", "mem_freq", "temperature", "gr_voltage")
_CLOCKS = "xtune does not read or change clocks and power limits; `xtune run --lock-clocks` fixes one for a run"


class NVMLObserver(BenchmarkObserver):
    """nvml_energy (J) and nvml_power (W) of a launch, from the energy counter of the device while the kernel runs
    repeatedly; NaN on devices without one. Other observables warn, and are missing in the results."""

    def __init__(
        self,
        observables: Sequence[str],
        device: Optional[int] = None,
        save_all: bool = False,
        nvidia_smi_fallback: Optional[str] = None,
        use_locked_clocks: bool = False,
        continuous_duration: float = 1,
    ):
        _checks.require("observables", observables, Sequence[str])
        unknown = [each for each in observables if each not in MEASURED and each not in _OTHERS]
        if unknown:
            raise InvalidArgumentError(f"NVMLObserver: unknown observable '{unknown[0]}'; use {', '.join(MEASURED)}")
        lacking = [each for each in observables if each in _OTHERS]
        if lacking:
            warn(f"kernel_tuner: NVMLObserver: xtune does not record {', '.join(lacking)}: the results lack it")
        self.observables = [each for each in observables if each in MEASURED]
        self.duration_ms = 1e3 * float(_checks.require("continuous_duration", continuous_duration, float))


get_nvml_gr_clocks = refused("get_nvml_gr_clocks", _CLOCKS)
get_nvml_mem_clocks = refused("get_nvml_mem_clocks", _CLOCKS)
get_nvml_pwr_limits = refused("get_nvml_pwr_limits", _CLOCKS)
get_idle_power = refused("get_idle_power", "xtune measures the energy of kernels only")
