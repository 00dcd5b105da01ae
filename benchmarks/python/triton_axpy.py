# SPDX-License-Identifier: Apache-2.0
"""The same kernel in Triton, which reads the source from a file."""
import triton
import triton.language as tl


@triton.jit
def axpy(x, y, a, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    tl.store(y + place, tl.load(y + place, mask=inside) + a * tl.load(x + place, mask=inside), mask=inside)
