# SPDX-License-Identifier: Apache-2.0
"""An imitation of the part of Triton that autotune meets: @jit, run with warmup, heuristics and Config. A kernel is a
Python function that gets its program's number; compiling is an entry in a set."""
import threading
import time


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None):
        self.kwargs, self.pre_hook = kwargs, pre_hook
        self.options = {"num_warps": num_warps, "num_ctas": num_ctas, "num_stages": num_stages, "maxnreg": maxnreg}

    def all_kwargs(self):
        return {**self.kwargs, **{name: value for name, value in self.options.items() if value is not None}}


class Jit:
    OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")

    def __init__(self, fn):
        self.fn, self.__name__ = fn, fn.__name__
        self.compiled, self.launched, self.threads = set(), [], set()
        self.lock = threading.Lock()
        self.at_once = self.most_at_once = 0
        self.keys_asked = 0

    @property
    def cache_key(self):
        self.keys_asked += 1
        return f"key of {self.__name__}"

    def __getitem__(self, grid):
        return lambda *args, **named: self.run(*args, grid=grid, warmup=False, **named)

    def run(self, *args, grid, warmup, **named):
        options = {name: named.pop(name) for name in self.OPTIONS if name in named}
        key = (tuple(sorted(named.items(), key=str)), tuple(sorted(options.items())))
        self._compile(key, named)
        if warmup:
            return None
        if callable(grid):
            grid = grid(dict(named))
        self.launched.append((grid, named, options))
        for number in range(grid[0]):
            self.fn(*args, **named, program=number)
        return key

    def _compile(self, key, named):
        with self.lock:
            if key in self.compiled:
                return
            self.threads.add(threading.get_ident())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if named.get("BLOCK") == 13:
                raise RuntimeError("CompilationError: 13 is not a power of two")
            time.sleep(0.002)  # lets others in
            with self.lock:
                self.compiled.add(key)
        finally:
            with self.lock:
                self.at_once -= 1


class Heuristics:
    def __init__(self, fn, values):
        self.fn, self.values = fn, values
        self.__name__ = fn.__name__

    def __getitem__(self, grid):
        return lambda *args, **named: self.run(*args, grid=grid, warmup=False, **named)

    def run(self, *args, **named):
        return self.fn.run(*args, **{**named, **{name: f(named) for name, f in self.values.items()}})


def jit(fn):
    return Jit(fn)
