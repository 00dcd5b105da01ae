# SPDX-License-Identifier: Apache-2.0
"""Tunes a kernel given as text, and calls the winner. saxpy.py [BACKEND]"""
import sys

import numpy as np

import xtune

source = r"""
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}"""
x, y = np.random.rand(2, 1 << 20).astype(np.float32)
result = xtune.tune(
    source,
    params={"BLOCK": [64, 128, 256]},
    args={"x": x, "y": xtune.InOut(y), "a": np.float32(2), "n": np.int32(x.size)},
    grid="ceildiv(n, BLOCK)",
    block="BLOCK",
    reference=lambda x, y, a: a * x + y,
    backend=sys.argv[1] if len(sys.argv) > 1 else "auto",
)
print(result)

if result.device.backend == "host":
    before = y.copy()
    result.kernel()(x, y, 2.0, x.size)
    assert np.allclose(y, 2 * x + before)
