# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel that is tuned when it is first called, beside triton.autotune. Needs a GPU, PyTorch and Triton;
otherwise prints so and ends. triton_add.py"""
import sys
import time

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)
if not torch.cuda.is_available():
    print("skipped: no GPU")
    sys.exit(0)

import xtune


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    tl.store(out + place, tl.load(x + place, mask=inside) + tl.load(y + place, mask=inside), mask=inside)


blocks, warps = (256, 512, 1024, 2048), (2, 4, 8)
by_triton = triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=each) for block in blocks for each in warps], key=["n"]
)(add_kernel)


@xtune.autotune(
    params={"BLOCK": blocks, "num_warps": warps},
    key=["n"],
    validator=lambda answer, x, y, out, n: torch.equal(out, x + y),
)
def add(x, y, out, n, *, BLOCK, num_warps):
    add_kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK, num_warps=num_warps)


n = 1 << 24
x, y, out = torch.rand(n, device="cuda"), torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
for name, call in (
    ("xtune", lambda: add(x, y, out, n)),
    ("triton", lambda: by_triton[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)),
):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)
    print(f"{name}: first call {time.perf_counter() - begin:.2f} s")
print("xtune:", add.best_config, f"{add.results[-1].best.time_ms:.4f} ms;", "triton:", by_triton.best_config)
