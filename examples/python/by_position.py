# SPDX-License-Identifier: Apache-2.0
"""Tunes the kernel of a file for the arguments of a call, by position: names, types and what is written stand in the
source. by_position.py [BACKEND]"""
import pathlib
import sys

import numpy as np

import xtune

source = pathlib.Path(__file__).parent.parent / "by_position/saxpy.cu"
x, y = np.random.rand(2, 1 << 20).astype(np.float32)
result = xtune.tune(
    source,
    params={"BLOCK": [64, 128, 256]},
    args=[x, xtune.InOut(y), 2.0, x.size],
    backend=sys.argv[1] if len(sys.argv) > 1 else "auto",
)
print(result)

if result.device.backend == "host":
    before = y.copy()
    result.kernel()(x, y, 2.0, x.size)
    assert np.allclose(y, 2 * x + before)
