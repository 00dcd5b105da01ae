# SPDX-License-Identifier: Apache-2.0
"""Triton kernels of the benchmarks, in a file because Triton reads their source."""
import triton
import triton.language as tl


@triton.jit
def axpy(x, y, a, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    tl.store(y + place, tl.load(y + place, mask=inside) + a * tl.load(x + place, mask=inside), mask=inside)


@triton.jit
def matmul(
    a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr
):
    """c = a @ b, row-major; blocks of c are visited in groups of GROUP_M rows, so that the L2 cache holds their inputs."""
    tile = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = tile // (GROUP_M * tiles_n)
    rows = min(tiles_m - group * GROUP_M, GROUP_M)
    within = tile % (GROUP_M * tiles_n)
    row = (group * GROUP_M + within % rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = (within // rows) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, tl.cdiv(K, BLOCK_K)):
        k = start * BLOCK_K + depth
        left = tl.load(a + row[:, None] * K + k[None, :], mask=(row[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + column[None, :], mask=(k[:, None] < K) & (column[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(
        c + row[:, None] * N + column[None, :], total.to(tl.float16), mask=(row[:, None] < M) & (column[None, :] < N)
    )
