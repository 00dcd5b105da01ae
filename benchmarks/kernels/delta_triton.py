"""The chunked gated delta rule in Triton, from the formulas of Yang, Kautz and Hatamizadeh (2024): what
configs/chunk_delta_h.toml is compared with."""
import itertools

import torch
import triton
import triton.language as tl

CHUNK = 64


@triton.jit
def state_pass(
    k,
    w,
    u,
    g,
    initial,
    h,
    v_new,
    last,
    T,
    H: tl.constexpr,
    DK: tl.constexpr,
    DV: tl.constexpr,
    BT: tl.constexpr,
    BV: tl.constexpr,
    INITIAL: tl.constexpr,
):
    """One program: BV columns of one head's state, chunk after chunk. g is cumulated within each chunk."""
    column, sequence = tl.program_id(0) * BV, tl.program_id(1)
    batch, head = sequence // H, sequence % H
    chunks = tl.cdiv(T, BT)
    row0 = batch * T * H + head
    state = tl.zeros([DK, BV], dtype=tl.float32)
    if INITIAL:
        first = tl.make_block_ptr(initial + sequence * DK * DV, (DK, DV), (DV, 1), (0, column), (DK, BV), (1, 0))
        state += tl.load(first)
    for c in range(chunks):
        at = tl.make_block_ptr(
            h + ((batch * chunks + c).to(tl.int64) * H + head) * DK * DV,
            (DK, DV),
            (DV, 1),
            (0, column),
            (DK, BV),
            (1, 0),
        )
        tl.store(at, state.to(h.dtype.element_ty))
        at = tl.make_block_ptr(w + row0.to(tl.int64) * DK, (T, DK), (H * DK, 1), (c * BT, 0), (BT, DK), (1, 0))
        values = tl.dot(tl.load(at, boundary_check=(0,), padding_option="zero"), state.to(w.dtype.element_ty))
        at = tl.make_block_ptr(u + row0.to(tl.int64) * DV, (T, DV), (H * DV, 1), (c * BT, column), (BT, BV), (1, 0))
        values = tl.load(at, boundary_check=(0,), padding_option="zero").to(tl.float32) - values
        at = tl.make_block_ptr(v_new + row0.to(tl.int64) * DV, (T, DV), (H * DV, 1), (c * BT, column), (BT, BV), (1, 0))
        tl.store(at, values.to(v_new.dtype.element_ty), boundary_check=(0,))
        rows = c * BT + tl.arange(0, BT)
        gate = tl.load(g + row0 + rows * H, mask=rows < T, other=0)
        gate_last = tl.load(g + row0 + (tl.minimum((c + 1) * BT, T) - 1) * H)
        values *= tl.where(rows < T, tl.exp(gate_last - gate), 0)[:, None]
        state *= tl.exp(gate_last)
        at = tl.make_block_ptr(k + row0.to(tl.int64) * DK, (DK, T), (1, H * DK), (0, c * BT), (DK, BT), (0, 1))
        state += tl.dot(tl.load(at, boundary_check=(1,), padding_option="zero"), values.to(k.dtype.element_ty))
    at = tl.make_block_ptr(last + sequence * DK * DV, (DK, DV), (DV, 1), (0, column), (DK, BV), (1, 0))
    tl.store(at, state)


STATE_CONFIGS = [
    dict(BV=columns, num_warps=warps, num_stages=stages)
    for columns, warps, stages in itertools.product([16, 32, 64, 128], [2, 4, 8], [1, 2, 3, 4])
    if (columns, warps) in ((16, 2), (16, 4), (32, 2), (32, 4), (64, 4), (64, 8), (128, 8))
]


def launch_state(config, k, w, u, g, initial, h, v_new, last):
    batches, length, heads, dk = k.shape
    dv = u.shape[-1]
    config = dict(config)
    state_pass[(dv // config["BV"], batches * heads)](
        k, w, u, g, initial, h, v_new, last, length, heads, dk, dv, CHUNK, INITIAL=initial is not None, **config
    )


def state_outputs(k, u):
    """h, v_new and the last state, for launch_state."""
    batches, length, heads, dk = k.shape
    h = torch.empty(batches, triton.cdiv(length, CHUNK), heads, dk, u.shape[-1], device=k.device, dtype=k.dtype)
    return h, torch.empty_like(u), torch.empty(batches, heads, dk, u.shape[-1], device=k.device)


@triton.jit
def inner_products(
    k, gate_logits, beta_logits, g, betas, a, rate, T, H: tl.constexpr, DK: tl.constexpr, BT: tl.constexpr
):
    """One program: a chunk's cumulated gates, betas, and A = tril(beta k k^T gates, -1)."""
    c, sequence = tl.program_id(0), tl.program_id(1)
    row0 = (sequence // H) * T * H + sequence % H
    rows = c * BT + tl.arange(0, BT)
    x = tl.load(gate_logits + row0 + rows * H, mask=rows < T, other=0)
    gate = tl.where(rows < T, -rate * (tl.maximum(x, 0) + tl.log(1 + tl.exp(-tl.abs(x)))), 0)
    gate = tl.cumsum(gate, 0)
    beta = tl.where(rows < T, tl.sigmoid(tl.load(beta_logits + row0 + rows * H, mask=rows < T, other=0)), 0)
    tl.store(g + row0 + rows * H, gate, mask=rows < T)
    tl.store(betas + row0 + rows * H, beta, mask=rows < T)
    at = tl.make_block_ptr(k + row0.to(tl.int64) * DK, (T, DK), (H * DK, 1), (c * BT, 0), (BT, DK), (1, 0))
    keys = tl.load(at, boundary_check=(0,), padding_option="zero")
    product = tl.dot(keys, tl.trans(keys)) * tl.exp(gate[:, None] - gate[None, :]) * beta[:, None]
    i = tl.arange(0, BT)
    product = tl.where(i[:, None] > i[None, :], product, 0)
    at = tl.make_block_ptr(a + row0.to(tl.int64) * BT, (T, BT), (H * BT, 1), (c * BT, 0), (BT, BT), (1, 0))
    tl.store(at, product, boundary_check=(0,))


@triton.jit
def inverted_block(a, row, T, H: tl.constexpr, BT: tl.constexpr, column: tl.constexpr):
    """(I + a diagonal block of 16 rows)^-1, by substitution, row after row."""
    i = tl.arange(0, 16)
    at = tl.make_block_ptr(a, (T, BT), (H * BT, 1), (row, column), (16, 16), (1, 0))
    x = -tl.load(at, boundary_check=(0,), padding_option="zero")
    for j in range(2, 16):
        line = -tl.load(a + (row + j) * H * BT + column + i, mask=row + j < T, other=0)
        line = tl.where(i < j, line, 0)
        line += tl.sum(line[:, None] * x, 0)
        x = tl.where((i == j)[:, None], line, x)
    return x + (i[:, None] == i[None, :])


@triton.jit
def load_block(a, row, T, H: tl.constexpr, BT: tl.constexpr, column: tl.constexpr):
    return tl.load(
        tl.make_block_ptr(a, (T, BT), (H * BT, 1), (row, column), (16, 16), (1, 0)),
        boundary_check=(0,),
        padding_option="zero",
    )


@triton.jit
def store_block(to, row, T, H: tl.constexpr, BT: tl.constexpr, column: tl.constexpr, x):
    at = tl.make_block_ptr(to, (T, BT), (H * BT, 1), (row, column), (16, 16), (1, 0))
    tl.store(at, x.to(to.dtype.element_ty), boundary_check=(0,))


@triton.jit
def invert(a, inverse, T, H: tl.constexpr, BT: tl.constexpr, PRECISION: tl.constexpr):
    """One program: (I + A)^-1 of a chunk, of blocks of 16 x 16. `inverse` is zero above the diagonal."""
    row, sequence = tl.program_id(0) * BT, tl.program_id(1)
    first = ((sequence // H) * T * H + sequence % H).to(tl.int64) * BT
    a += first
    inverse += first
    x00 = inverted_block(a, row, T, H, BT, 0)
    x11 = inverted_block(a, row + 16, T, H, BT, 16)
    x22 = inverted_block(a, row + 32, T, H, BT, 32)
    x33 = inverted_block(a, row + 48, T, H, BT, 48)
    a10 = load_block(a, row + 16, T, H, BT, 0)
    a20 = load_block(a, row + 32, T, H, BT, 0)
    a21 = load_block(a, row + 32, T, H, BT, 16)
    a30 = load_block(a, row + 48, T, H, BT, 0)
    a31 = load_block(a, row + 48, T, H, BT, 16)
    a32 = load_block(a, row + 48, T, H, BT, 32)
    x10 = -tl.dot(tl.dot(x11, a10, input_precision=PRECISION), x00, input_precision=PRECISION)
    x21 = -tl.dot(tl.dot(x22, a21, input_precision=PRECISION), x11, input_precision=PRECISION)
    x32 = -tl.dot(tl.dot(x33, a32, input_precision=PRECISION), x22, input_precision=PRECISION)
    sum20 = tl.dot(a20, x00, input_precision=PRECISION) + tl.dot(a21, x10, input_precision=PRECISION)
    x20 = -tl.dot(x22, sum20, input_precision=PRECISION)
    sum31 = tl.dot(a31, x11, input_precision=PRECISION) + tl.dot(a32, x21, input_precision=PRECISION)
    x31 = -tl.dot(x33, sum31, input_precision=PRECISION)
    sum30 = tl.dot(a30, x00, input_precision=PRECISION) + tl.dot(a31, x10, input_precision=PRECISION)
    sum30 += tl.dot(a32, x20, input_precision=PRECISION)
    x30 = -tl.dot(x33, sum30, input_precision=PRECISION)
    store_block(inverse, row, T, H, BT, 0, x00)
    store_block(inverse, row + 16, T, H, BT, 0, x10)
    store_block(inverse, row + 16, T, H, BT, 16, x11)
    store_block(inverse, row + 32, T, H, BT, 0, x20)
    store_block(inverse, row + 32, T, H, BT, 16, x21)
    store_block(inverse, row + 32, T, H, BT, 32, x22)
    store_block(inverse, row + 48, T, H, BT, 0, x30)
    store_block(inverse, row + 48, T, H, BT, 16, x31)
    store_block(inverse, row + 48, T, H, BT, 32, x32)
    store_block(inverse, row + 48, T, H, BT, 48, x33)


@triton.jit
def replace_rows(
    k, v, inverse, g, betas, w, u, T, H: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BT: tl.constexpr
):
    """One program: w = (I + A)^-1 (beta gate k) and u = (I + A)^-1 (beta v) of a chunk."""
    c, sequence = tl.program_id(0), tl.program_id(1)
    row0 = ((sequence // H) * T * H + sequence % H).to(tl.int64)
    rows = c * BT + tl.arange(0, BT)
    beta = tl.load(betas + row0 + rows * H, mask=rows < T, other=0)
    gate = tl.load(g + row0 + rows * H, mask=rows < T, other=0)
    at = tl.make_block_ptr(inverse + row0 * BT, (T, BT), (H * BT, 1), (c * BT, 0), (BT, BT), (1, 0))
    x = tl.load(at, boundary_check=(0,), padding_option="zero")
    at = tl.make_block_ptr(v + row0 * DV, (T, DV), (H * DV, 1), (c * BT, 0), (BT, DV), (1, 0))
    values = tl.load(at, boundary_check=(0,), padding_option="zero")
    values = tl.dot(x, (values * beta[:, None]).to(values.dtype))
    at = tl.make_block_ptr(u + row0 * DV, (T, DV), (H * DV, 1), (c * BT, 0), (BT, DV), (1, 0))
    tl.store(at, values.to(u.dtype.element_ty), boundary_check=(0,))
    at = tl.make_block_ptr(k + row0 * DK, (T, DK), (H * DK, 1), (c * BT, 0), (BT, DK), (1, 0))
    keys = tl.load(at, boundary_check=(0,), padding_option="zero")
    keys = tl.dot(x, (keys * (beta * tl.exp(gate))[:, None]).to(keys.dtype))
    at = tl.make_block_ptr(w + row0 * DK, (T, DK), (H * DK, 1), (c * BT, 0), (BT, DK), (1, 0))
    tl.store(at, keys.to(w.dtype.element_ty), boundary_check=(0,))


@triton.jit
def chunk_output(
    q,
    k,
    v_new,
    h,
    g,
    o,
    scale,
    T,
    H: tl.constexpr,
    DK: tl.constexpr,
    DV: tl.constexpr,
    BT: tl.constexpr,
    BV: tl.constexpr,
):
    """One program: BV columns of scale * (gate q h + tril(q k^T gates) v_new) of a chunk."""
    column, c, sequence = tl.program_id(0) * BV, tl.program_id(1), tl.program_id(2)
    batch, head = sequence // H, sequence % H
    row0 = (batch * T * H + head).to(tl.int64)
    at = tl.make_block_ptr(q + row0 * DK, (T, DK), (H * DK, 1), (c * BT, 0), (BT, DK), (1, 0))
    queries = tl.load(at, boundary_check=(0,), padding_option="zero")
    at = tl.make_block_ptr(k + row0 * DK, (DK, T), (1, H * DK), (0, c * BT), (DK, BT), (0, 1))
    scores = tl.dot(queries, tl.load(at, boundary_check=(1,), padding_option="zero"))
    first = ((batch * tl.cdiv(T, BT) + c).to(tl.int64) * H + head) * DK * DV
    at = tl.make_block_ptr(h + first, (DK, DV), (DV, 1), (0, column), (DK, BV), (1, 0))
    out = tl.dot(queries, tl.load(at))
    rows = c * BT + tl.arange(0, BT)
    gate = tl.load(g + row0 + rows * H, mask=rows < T, other=0)
    i = tl.arange(0, BT)
    scores = tl.where(i[:, None] >= i[None, :], scores * tl.exp(gate[:, None] - gate[None, :]), 0)
    at = tl.make_block_ptr(v_new + row0 * DV, (T, DV), (H * DV, 1), (c * BT, column), (BT, BV), (1, 0))
    values = tl.load(at, boundary_check=(0,), padding_option="zero")
    out = out * tl.exp(gate)[:, None] + tl.dot(scores.to(values.dtype), values)
    at = tl.make_block_ptr(o + row0 * DV, (T, DV), (H * DV, 1), (c * BT, column), (BT, BV), (1, 0))
    tl.store(at, (scale * out).to(o.dtype.element_ty), boundary_check=(0,))


class GatedDelta:
    """All launches of one problem; q and k have length 1. `best` has the fastest configuration of each step."""

    def __init__(self, q, k, v, gate_logits, beta_logits, rate, scale):
        batches, length, heads, dk = k.shape
        dv = v.shape[-1]
        chunks = triton.cdiv(length, CHUNK)
        full, rows = (batches, length, heads), dict(device=k.device)
        self.g, self.betas = torch.empty(full, **rows), torch.empty(full, **rows)
        self.a, self.inverse = torch.empty(*full, CHUNK, **rows), torch.zeros(*full, CHUNK, **rows, dtype=k.dtype)
        self.w, self.u, self.o = torch.empty_like(k), torch.empty_like(v), torch.empty_like(v)
        self.h, self.v_new, self.last = state_outputs(k, v)
        grid = (chunks, batches * heads)
        warps = [dict(num_warps=warps, num_stages=stages) for warps in (1, 2, 4, 8) for stages in (1, 2, 3)]
        self.steps = {
            "inner_products": (
                lambda **c: inner_products[grid](
                    k, gate_logits, beta_logits, self.g, self.betas, self.a, rate, length, heads, dk, CHUNK, **c
                ),
                warps[3:],
            ),
            "invert": (
                lambda **c: invert[grid](self.a, self.inverse, length, heads, CHUNK, **c),
                [dict(PRECISION=precision, **c) for precision in ("tf32", "ieee") for c in warps[:9:3]],
            ),
            "replace_rows": (
                lambda **c: replace_rows[grid](
                    k, v, self.inverse, self.g, self.betas, self.w, self.u, length, heads, dk, dv, CHUNK, **c
                ),
                warps[3:],
            ),
            "state": (
                lambda **c: launch_state(c, k, self.w, self.u, self.g, None, self.h, self.v_new, self.last),
                STATE_CONFIGS,
            ),
            "output": (
                lambda BV, **c: chunk_output[(dv // BV, *grid)](
                    q, k, self.v_new, self.h, self.g, self.o, scale, length, heads, dk, dv, CHUNK, BV, **c
                ),
                [dict(BV=columns, **c) for columns in (64, 128) for c in warps[6:]],
            ),
        }
        self.best = {}

    def tune(self, time):
        """time: the milliseconds of a function without arguments."""
        for name, (launch, configs) in self.steps.items():
            times = []
            for config in configs:
                try:
                    launch(**config)
                    times.append((time(lambda: launch(**config)), config))
                except triton.runtime.errors.OutOfResources:
                    continue
            self.best[name] = min(times, key=lambda entry: entry[0])[1]

    def launch(self):
        for name, (launch, _) in self.steps.items():
            launch(**self.best[name])
