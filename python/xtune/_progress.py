# SPDX-License-Identifier: Apache-2.0
"""Progress bars: tqdm's where it is installed, also in notebooks, else a line on standard error."""
import contextlib
import sys

from xtune._checks import takes


class _Bar:
    def __init__(self, name, make):
        self._name, self._make, self._bar = name, make, None

    def __call__(self, progress):
        if self._bar is None:
            self._bar = self._make(total=progress.total, desc=self._name, unit="config")
        self._bar.total = progress.total
        if progress.best_ms is not None:
            self._bar.set_postfix(best=f"{progress.best_ms:.4g} ms", refresh=False)
        self._bar.update(progress.done - self._bar.n)

    def close(self):
        if self._bar is not None:
            self._bar.close()


class _Line:
    def __init__(self, name):
        self._name, self._shown = name, False

    def __call__(self, progress):
        best = "" if progress.best_ms is None else f", best {progress.best_ms:.4g} ms"
        text = f"{self._name}: {progress.done} of {progress.total} configurations, {progress.elapsed_s:.0f} s{best}"
        self._shown = True
        print("\r" + text.ljust(78), end="", file=sys.stderr, flush=True)

    def close(self):
        if self._shown:
            print(file=sys.stderr)


@contextlib.contextmanager
def progress_listener(progress, name):
    """A callable for Progress, or None. progress: True, False or a callable."""
    if callable(progress):
        yield takes("progress", progress, 1)
        return
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm

        listener = _Bar(name, tqdm)
    except ImportError:
        listener = _Line(name)
    try:
        yield listener
    finally:
        listener.close()
