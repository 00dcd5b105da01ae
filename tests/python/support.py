# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: one store, so that each kernel is compiled once, and small kernels."""
import os
import tempfile

if "XTUNE_PYTHON_TEST" not in os.environ:  # a process of a pool uses the store of its parent
    _STORE = tempfile.TemporaryDirectory(prefix="xtune-python-")
    os.environ["XTUNE_CACHE_DIR"] = os.environ["XTUNE_PYTHON_TEST"] = _STORE.name
os.environ.setdefault("XTUNE_JOBS", "2")

import numpy as np  # noqa: E402

import xtune  # noqa: E402

SAXPY = r"""
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
  for (int i = first; i < first + UNROLL; ++i)
    if (i < n) y[i] = a * x[i] + y[i];
}"""
QUICK = {"rep": 3, "min_rep": 2, "warmup": 0, "max_time_ms": 5, "race": False, "finals": 0}
HOST = {"backend": "host", "jobs": 2}
N = 1024


def arrays(n=N):
    return np.arange(n, dtype=np.float32), np.ones(n, np.float32)


def saxpy(n=N, **changes):
    """Four configurations, two to compile; shapes are expressions, so that calls may have any size."""
    x, y = arrays(n)
    definition = {
        "source": SAXPY,
        "problem": {"n": n},
        "params": {"UNROLL": [1, 2]},
        "block": "BLOCK",
        "grid": "ceildiv(n, BLOCK * UNROLL)",
        "measure": QUICK,
        "args": {"x": xtune.In(x, shape="n"), "y": xtune.InOut(y, shape="n"), "a": np.float32(2), "n": np.int32(n)},
    }
    definition.update(changes)
    return xtune.Tunable(**definition).param("BLOCK", [32, 64], launch_only=True)
