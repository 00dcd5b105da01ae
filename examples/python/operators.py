# SPDX-License-Identifier: Apache-2.0
"""Kernels that come with xtune, called as operators. operators.py [BACKEND]"""
import sys

import numpy as np

import xtune

backend = sys.argv[1] if len(sys.argv) > 1 else "host"  # the host takes NumPy's arrays, a GPU those of PyTorch or CuPy
gemm = xtune.load("gemm", backend=backend)
a, b = np.ones((64, 32), np.float32), np.full((32, 16), 2, np.float32)
c = gemm(a, b)
print("c = gemm(a, b):", c.shape, "right" if (c == 64).all() else "wrong")

layernorm = xtune.load("layernorm", backend=backend)
x, gamma, beta = np.random.rand(8, 100).astype(np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
y = layernorm(x, gamma, beta, eps=1e-6)
print("layernorm:", "right" if abs(y.mean(axis=1)).max() < 1e-5 else "wrong")

try:
    gemm(a, b.T)
except xtune.InvalidArgumentError as error:
    print("not accepted:", error)
