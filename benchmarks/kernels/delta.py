"""The chunked gated delta rule on Hopper (configs/chunk_delta_h.toml, configs/gated_delta.toml), against Triton.

CASES: few long sequences, many short ones, and few of medium length with twice the heads; heads are 128 wide. Triton
gets gates and keys as a model has them: a state of random numbers takes as long as any other."""
import torch

import delta_triton
from common import Result, time_torch, tuned

SIZES = [{"B": 1, "T": 32768, "H": 16}, {"B": 8, "T": 4096, "H": 16}, {"B": 1, "T": 8192, "H": 32}]
CASES = [(kernel, size) for kernel in ("chunk_delta_h", "gated_delta") for size in SIZES]
WIDTH = 128


def kernel_of(case):
    return case[0]


def label(problem):
    return f"{problem['B']} x {problem['T']} rows, {problem['H']} heads"


def random(problem, *columns, dtype=torch.bfloat16):
    return torch.randn(problem["B"], problem["T"], problem["H"], *columns, device="cuda", dtype=dtype)


def normalised(x):
    return torch.nn.functional.normalize(x, dim=-1)


def state_launch(torch, problem):
    """The state pass in its fastest configuration. w is that of chunks whose rows have nothing in common."""
    k, u = normalised(random(problem, WIDTH)), random(problem, WIDTH)
    g = torch.rand(k.shape[:3], device="cuda") / -16
    initial = torch.randn(problem["B"], problem["H"], WIDTH, WIDTH, device="cuda")
    outputs = delta_triton.state_outputs(k, u)
    w = k / 2
    best, chosen = float("inf"), None
    for config in delta_triton.STATE_CONFIGS:
        try:
            time = time_torch(torch, lambda: delta_triton.launch_state(config, k, w, u, g, initial, *outputs), 5)
        except delta_triton.triton.runtime.errors.OutOfResources:
            continue
        if time < best:
            best, chosen = time, config
    return lambda: delta_triton.launch_state(chosen, k, w, u, g, initial, *outputs)


def whole_launch(torch, problem):
    """All steps, each in its fastest configuration. xtune's kernel normalises q and k itself."""
    q, k, v = normalised(random(problem, WIDTH)), normalised(random(problem, WIDTH)), random(problem, WIDTH)
    gates, betas = random(problem, dtype=torch.float32), random(problem, dtype=torch.float32)
    whole = delta_triton.GatedDelta(q, k, v, gates, betas, 1 / 16, WIDTH**-0.5)
    whole.tune(lambda launch: time_torch(torch, launch, 5))
    return whole.launch


def measure(torch, options, case):
    kernel, problem = case
    time, config = tuned(options, kernel, problem)
    launch = (state_launch if kernel == "chunk_delta_h" else whole_launch)(torch, problem)
    rows = problem["B"] * problem["T"] * problem["H"]
    others = {"Triton": time_torch(torch, launch)}
    if kernel == "gated_delta":
        return Result(kernel, problem, time, others, 2 * rows * 4 * WIDTH, config=config, label=label(problem))
    states = 2 * rows * WIDTH**2 // 64
    return Result(
        kernel,
        problem,
        time,
        others,
        2 * rows * 4 * WIDTH + states,
        4 * rows * WIDTH**2,
        "bf16",
        config,
        label(problem),
    )
