# SPDX-License-Identifier: Apache-2.0
"""What must end before Python does: a thread that asks for the GIL afterwards is killed inside C++ code. This concerns
daemon threads: Python waits for others before atexit."""
import atexit
import threading
from typing import Any, Callable, Dict

from xtune import _native
from xtune.errors import UnavailableError

_LONGEST_S = 10  # a callback may never return


class _Runs:
    def __init__(self):
        self._changed = threading.Condition()
        self._count = 0
        self._is_ending = False
        atexit.register(self._end)

    def call(self, function: Callable, *args: Any, settings: Dict[str, Any]) -> Any:
        """function(*args, settings), which the end of Python stops, as `stop` in the settings does."""
        with self._changed:
            if self._is_ending:
                raise UnavailableError("no run can begin any more: Python is ending")
            self._count += 1
        try:
            return function(*args, {**settings, "stop": _Stop(self, settings.get("stop"))})
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def _end(self) -> None:
        _native._end_kernels()
        with self._changed:
            self._is_ending = True
            self._changed.wait_for(lambda: self._count == 0, _LONGEST_S)


class _Stop:
    def __init__(self, runs: _Runs, stop: Any):
        self._runs, self._stop = runs, stop

    def is_set(self) -> bool:
        return self._runs._is_ending or (self._stop is not None and self._stop.is_set())


run = _Runs().call
