"""Native sparse attention on Hopper (configs/sparse_attention.toml), against a Triton kernel with a program for each
position and head of K and V.

CASES: 64 heads in groups of 16, 16 blocks of 64 keys for each position, chosen in two ways."""
import math

import triton
import triton.language as tl

from common import BYTES, Result, time_torch, tuned

CASES = [
    {
        "TYPE": "bf16",
        "HEAD_DIM": 128,
        "GROUP": 16,
        "KV_HEADS": 4,
        "BLOCK_SIZE": 64,
        "SELECTED": 16,
        "BATCH": 1,
        "SEQ": seq,
        "INDICES": indices,
    }
    for seq in (8192, 16384, 32768)
    for indices in ("nsa", "random")
]


def kernel_of(problem):
    return "sparse_attention"


@triton.autotune(
    [triton.Config({}, num_warps=warps, num_stages=stages) for warps in (1, 2, 4) for stages in (1, 2, 3, 4)],
    key=["seq", "HEAD_DIM", "BLOCK_SIZE"],
)
@triton.jit
def attend(
    q,
    k,
    v,
    o,
    choices,
    seq,
    scale,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SELECTED: tl.constexpr,
):
    position, kv_head = tl.program_id(0), tl.program_id(1)
    columns, heads, keys = tl.arange(0, HEAD_DIM), tl.arange(0, GROUP), tl.arange(0, BLOCK_SIZE)
    row = tl.program_id(2).to(tl.int64) * seq + position
    at = ((row * KV_HEADS + kv_head) * GROUP + heads[:, None]) * HEAD_DIM + columns[None, :]
    stride = KV_HEADS * HEAD_DIM
    begin = tl.program_id(2).to(tl.int64) * seq * stride + kv_head * HEAD_DIM
    queries = tl.load(q + at)
    maximum = tl.full((GROUP,), -1e30, tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    sums = tl.zeros((GROUP, HEAD_DIM), tl.float32)
    for slot in range(SELECTED):
        block = tl.load(choices + (row * KV_HEADS + kv_head) * SELECTED + slot)
        chosen = (block >= 0) & (block * BLOCK_SIZE <= position)
        key = tl.where(chosen, block, 0) * BLOCK_SIZE + keys
        exists = key < seq
        scores = (
            tl.dot(
                queries, tl.load(k + begin + key[None, :] * stride + columns[:, None], mask=exists[None, :], other=0.0)
            )
            * scale
        )
        scores = tl.where(((key <= position) & chosen)[None, :], scores, -float("inf"))
        larger = tl.maximum(maximum, tl.max(scores, 1))
        factor = tl.exp2(maximum - larger)
        weights = tl.exp2(scores - larger[:, None])
        total = total * factor + tl.sum(weights, 1)
        maximum = larger
        values = tl.load(v + begin + key[:, None] * stride + columns[None, :], mask=exists[:, None], other=0.0)
        sums = sums * factor[:, None] + tl.dot(weights.to(values.dtype), values)
    tl.store(o + at, tl.where(total[:, None] > 0, sums / total[:, None], 0.0).to(o.dtype.element_ty))


def choose(torch, problem):
    """Blocks for each position and head of K and V, all different; -1 where there are too few."""
    seq, size, count = problem["SEQ"], problem["BLOCK_SIZE"], problem["SELECTED"]
    blocks = torch.arange(-(-seq // size), device="cuda")
    own = (torch.arange(seq, device="cuda") // size)[:, None]
    choices = torch.full((problem["BATCH"], seq, problem["KV_HEADS"], count), -1, dtype=torch.int32, device="cuda")
    for sequence in range(problem["BATCH"]):
        for head in range(problem["KV_HEADS"]):
            score = torch.rand(seq, len(blocks), device="cuda")
            if problem["INDICES"] == "nsa":
                score += 2.0 * ((blocks == 0) | ((blocks <= own) & (blocks >= own - 1)))
            best, chosen = score.masked_fill(blocks > own, -1.0).topk(min(count, len(blocks)), 1)
            choices[sequence, :, head, : chosen.shape[1]] = chosen.masked_fill(best < 0, -1)
    return choices


def measure(torch, options, problem):
    time, config = tuned(options, "sparse_attention", problem)
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[problem["TYPE"]]
    batch, seq, kv_heads, group, dim = (problem[name] for name in ("BATCH", "SEQ", "KV_HEADS", "GROUP", "HEAD_DIM"))
    q = torch.randn(batch, seq, kv_heads * group, dim, device="cuda", dtype=dtype)
    k, v = (torch.randn(batch, seq, kv_heads, dim, device="cuda", dtype=dtype) for _ in range(2))
    o, choices = torch.empty_like(q), choose(torch, problem)

    def launch():
        attend[(seq, kv_heads, batch)](
            q,
            k,
            v,
            o,
            choices,
            seq,
            math.log2(math.e) / dim**0.5,
            KV_HEADS=kv_heads,
            GROUP=group,
            HEAD_DIM=dim,
            BLOCK_SIZE=problem["BLOCK_SIZE"],
            SELECTED=problem["SELECTED"],
        )

    launch()  # compiles and tunes
    visible = (choices >= 0).sum().item() * problem["BLOCK_SIZE"]
    moved = 2 * batch * seq * dim * BYTES[problem["TYPE"]] * kv_heads * (group + 1)
    return Result(
        kernel_of(problem),
        problem,
        time,
        {"Triton": time_torch(torch, launch)},
        moved,
        4 * visible * group * dim,
        problem["TYPE"],
        config,
        f"{seq} rows, {problem['INDICES']}",
    )
