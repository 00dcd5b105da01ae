# SPDX-License-Identifier: Apache-2.0
"""Times of Python functions, in milliseconds: by wall clock, or by events of a GPU's stream."""
import contextlib
import sys
import time

from xtune.errors import UnavailableError

#: A sample of a short function is several calls that take about this long.
SAMPLE_MS = 0.1
#: More than the L2 cache of any GPU: overwritten before each sample, which also gives the host a lead.
FLUSH_BYTES = 256 << 20


class WallTimer:
    """For functions that return when their work is done."""

    device = "host"
    measure = {}  #: defaults for [measure]

    def __init__(self):
        self._calls = {}

    def in_thread(self):
        """A context in which a thread prepares configurations."""
        return contextlib.nullcontext()

    def time(self, key, call, restore):
        """The time of one call. key: of the configuration. restore: called before each call, outside of the time; None:
        calls may follow each other."""
        calls = self._calls.get(key, 1) if restore is None else 1
        if restore is not None:
            restore()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        each_ms = (time.perf_counter() - begin) * 1e3 / calls
        self._calls.setdefault(key, max(1, min(1000, round(SAMPLE_MS / max(each_ms, 1e-6)))))
        return max(each_ms, 1e-6)


class TorchTimer:
    """For functions that queue work in PyTorch's current stream."""

    # A sample takes about as long as the flush, a tenth of a millisecond: cheaper than a wrong choice.
    measure = {"rep": 20, "min_rep": 5}

    def __init__(self, torch):
        self._torch = torch
        self._index = torch.cuda.current_device()
        self._flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self.device = "hip" if getattr(torch.version, "hip", None) else "cuda"

    def in_thread(self):
        """As WallTimer's: the current device belongs to a thread."""
        return self._torch.cuda.device(self._index)

    def time(self, key, call, restore):
        """As WallTimer's."""
        torch = self._torch
        if restore is not None:
            restore()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self._flush.zero_()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return max(begin.elapsed_time(end), 1e-6)


def timer_for(name, arguments):
    """The timer of a name: "wall", "torch", or "auto": torch if an argument is a tensor on a GPU."""
    torch = sys.modules.get("torch")
    on_gpu = torch is not None and any(isinstance(each, torch.Tensor) and each.is_cuda for each in arguments)
    if name == "torch" or (name == "auto" and on_gpu):
        try:
            import torch
        except ImportError as error:
            raise UnavailableError(f"timer 'torch': PyTorch cannot be imported ({error}); use timer='wall'") from None
        return TorchTimer(torch)
    return WallTimer()
