# SPDX-License-Identifier: Apache-2.0
"""A kernel that is tuned when it is first called, with the arrays of that call. autotune.py [BACKEND]

On a GPU the arrays are PyTorch's, otherwise NumPy's."""
import sys

import numpy as np

import xtune

backend = sys.argv[1] if len(sys.argv) > 1 else "host"


@xtune.autotune(
    params={"BLOCK": [64, 256]},
    key=["columns"],
    grid="rows",
    block="BLOCK",
    reference=lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    tune_settings={"backend": backend},
)
def softmax(
    y: xtune.Out(shape=("rows", "columns")), x: xtune.In(shape=("rows", "columns")), rows: np.int32, columns: np.int32
):
    """The softmax of each row."""
    return f"""
extern "C" __global__ void softmax({y.ctype}* y, const {x.ctype}* x, int rows, int columns) {{
  __shared__ float part[BLOCK];
  const float* row = x + (long long)blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += BLOCK) sum += expf(row[i]);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {{
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }}
  for (int i = threadIdx.x; i < columns; i += BLOCK)
    y[(long long)blockIdx.x * columns + i] = expf(row[i]) / part[0];
}}"""


def random(rows, columns):
    if backend == "host":
        return np.random.rand(rows, columns).astype(np.float32)
    import torch

    return torch.rand(rows, columns, device="cuda")


for rows, columns in ((64, 256), (32, 256), (64, 1024)):  # the second call has a known key
    x, y = random(rows, columns), random(rows, columns)
    softmax(y, x, rows, columns)
    assert abs(float(y.sum()) - rows) < 1e-3 * rows
    print(rows, columns, softmax.best_config)
assert len(softmax.results) == 2
