#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes and calls a CUDA kernel with arrays of PyTorch, CuPy, Numba and JAX on a GPU, and compares the results.

Parts for each library: tune (contents are read from the GPU), call (right results), stream (the kernel runs after what is
queued in the library's current stream, or in the one that is passed), benchmark (cold and warm), autotune. A part that
fails does not stop the others. The last lines are a table.

To see the stream, a long work is queued in it, then the input is overwritten, and the kernel must see the new values.
"""
import json
import os
import subprocess
import sys
import traceback

import numpy as np

import xtune
from calls import SOURCE

N = 1 << 20


class Torch:
    streams = "current"

    def __init__(self):
        import torch

        self.torch = torch
        self.version = torch.__version__

    def array(self, values):
        return self.torch.from_numpy(values).cuda()

    def host(self, array):
        return array.cpu().numpy()

    def in_stream(self, x, run):
        torch = self.torch
        stream = torch.cuda.Stream()
        big = torch.randn(8192, 8192, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for _ in range(4):
                big @ big
            x.fill_(3)
            run(None)
        stream.synchronize()

    def wait(self):
        self.torch.cuda.synchronize()


class CuPy:
    streams = "current"

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.version = cupy.__version__

    def array(self, values):
        return self.cupy.asarray(values)

    def host(self, array):
        return array.get()

    def in_stream(self, x, run):
        cupy = self.cupy
        big = cupy.ones((8192, 8192), dtype=cupy.float32)
        big @ big  # loads the library
        cupy.cuda.Device().synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            for _ in range(4):
                big @ big
            x.fill(3)
            run(None)
        stream.synchronize()

    def wait(self):
        self.cupy.cuda.Device().synchronize()


class Numba:
    streams = "passed"

    def __init__(self):
        import numba
        from numba import cuda

        self.cuda = cuda
        self.version = numba.__version__
        self.cuda.current_context()

        @cuda.jit
        def slow_fill(array, value, steps):
            i = cuda.grid(1)
            if i < array.size:
                total = 0.0
                for step in range(steps):
                    total += step * 1e-9
                array[i] = value if total >= 0 else total

        self.slow_fill = slow_fill

    def array(self, values):
        return self.cuda.to_device(values)

    def host(self, array):
        return array.copy_to_host()

    def in_stream(self, x, run):
        stream = self.cuda.stream()
        self.slow_fill[(N + 255) // 256, 256, stream](x, 0.0, 1)
        stream.synchronize()
        self.slow_fill[(N + 255) // 256, 256, stream](x, 3.0, 100000)
        run(stream)
        stream.synchronize()

    def wait(self):
        self.cuda.synchronize()


class Jax:
    read_only = True  # no kernel may write to its arrays: they are read when a kernel is tuned

    def __init__(self):
        import jax

        self.jax = jax
        self.version = jax.__version__
        if jax.default_backend() not in ("gpu", "cuda"):
            raise RuntimeError(f"JAX has no GPU here, but {jax.default_backend()}")

    def array(self, values):
        return self.jax.block_until_ready(self.jax.numpy.asarray(values).copy())

    def host(self, array):
        return np.asarray(self.jax.numpy.array(array, copy=True))


KINDS = {"PyTorch": Torch, "CuPy": CuPy, "Numba": Numba, "JAX": Jax}


def arrays(library):
    x, y = np.arange(N, dtype=np.float32) % 17, np.ones(N, np.float32)
    return library.array(x), library.array(y), x, y


def part_tune(library):
    x, y, hx, hy = arrays(library)
    result = xtune.tune(
        SOURCE,
        params={"BLOCK": [64, 128, 256]},
        args={"x": x, "y": xtune.InOut(y), "a": np.float32(2), "n": np.int32(N)},
        grid="ceildiv(n, BLOCK)",
        block="BLOCK",
        reference=lambda x, y, a: a * x + y,
        backend="cuda",
        keep=False,
    )
    assert result.counts.get("ok", 0) + result.counts.get("pruned", 0) == 3, result.counts
    assert np.array_equal(library.host(y), hy), "tuning changed the caller's array"
    library.kernel = result.kernel()
    return f"{result.best.config} {result.best.time_ms * 1e3:.1f} us"


def part_call(library):
    x, y, hx, hy = arrays(library)
    library.kernel(x, y, 2.0, N)
    library.wait()
    assert np.array_equal(library.host(y), hy + 2 * hx)
    library.kernel(n=N, a=0.5, y=y, x=x)
    library.wait()
    assert np.array_equal(library.host(y), hy + 2.5 * hx)
    return "right"


def part_stream(library):
    x, y, hx, hy = arrays(library)
    library.wait()
    library.in_stream(x, lambda stream: library.kernel(x, y, 2.0, N, stream=stream))
    seen = library.host(y)
    assert np.array_equal(seen, hy + 6), f"the kernel saw other values: {seen[:4]}"
    return f"{library.streams} stream"


def part_benchmark(library):
    x, y, hx, hy = arrays(library)
    cold = library.kernel.benchmark(x, y, 0.0, N)
    warm = library.kernel.benchmark(x, y, 0.0, N, cold=False)
    assert np.array_equal(library.host(y), hy)
    return f"cold {cold.median_ms * 1e3:.2f} us (noise {cold.noise:.1%}), warm {warm.median_ms * 1e3:.2f} us"


def part_autotune(library):
    @xtune.autotune(
        params={"BLOCK": [128, 256]},
        key=["n"],
        grid="ceildiv(n, BLOCK)",
        block="BLOCK",
        tune_settings={"backend": "cuda", "keep": False},
        reference=lambda x, y, a: a * x + y,
    )
    def axpy(x: xtune.In, y: xtune.InOut, a: np.float32, n: np.int32):
        return SOURCE

    x, y, hx, hy = arrays(library)
    axpy(x, y, 2.0, N)
    library.wait()
    assert np.array_equal(library.host(y), hy + 2 * hx)
    return str(axpy.best_config)


def parts_of(name):
    """The rows of one library, in this process."""
    try:
        library = KINDS[name]()
    except Exception as error:
        return [(name, "import", f"SKIPPED: {type(error).__name__}: {str(error)[:200]}")]
    rows = []
    for part in (part_tune, part_call, part_stream, part_benchmark, part_autotune):
        applies = part is part_tune or not getattr(library, "read_only", False)
        try:
            answer = part(library) if applies else "not applicable: arrays are read-only"
        except Exception as error:
            traceback.print_exc()
            answer = f"FAILED: {type(error).__name__}: {str(error)[:200]}"
        rows.append((f"{name} {library.version}", part.__name__[len("part_") :], answer))
    return rows


def main():
    if len(sys.argv) > 1:
        for row in parts_of(sys.argv[1]):
            print("ROW " + json.dumps(row), flush=True)
        return
    rows = []
    for name in KINDS:  # each in its own process, because a library makes its context current
        try:
            done = subprocess.run(
                [sys.executable, __file__, name],
                stdout=subprocess.PIPE,
                text=True,
                timeout=200,
                env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
                check=False,
            )
            own = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("ROW ")]
            if done.returncode != 0 or not own:
                own.append((name, "process", f"FAILED: ended with {done.returncode}"))
        except subprocess.TimeoutExpired:
            own = [(name, "process", "FAILED: no end after 200 s")]
        rows += own
    print("\nlibrary | part | result")
    for row in rows:
        print(*row, sep=" | ")
    sys.exit(1 if any("FAILED" in row[2] for row in rows) else 0)


if __name__ == "__main__":
    main()
