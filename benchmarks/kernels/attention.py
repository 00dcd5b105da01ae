"""Attention on Hopper (configs/attention_hopper.toml), against PyTorch's backends.

CASES: 16,384 rows in all, heads that are 2,048 columns wide together, as in FlashAttention-3's benchmark."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from common import BYTES, Result, time_torch, tuned

CASES = [
    {"TYPE": "bf16", "HEAD_DIM": head_dim, "CAUSAL": causal, "HEADS": 2048 // head_dim, "KV_HEADS": 2048 // head_dim, "BATCH": 16384 // seq, "SEQ": seq}
    for head_dim in (64, 128) for causal in (False, True) for seq in (2048, 8192, 16384)
]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def kernel_of(_):
    return "attention_hopper"


def operations(problem):
    """Of the two products; with a causal mask, of half of them."""
    products = 4 * problem["BATCH"] * problem["HEADS"] * problem["SEQ"] ** 2 * problem["HEAD_DIM"]
    return products / 2 if problem["CAUSAL"] else products


def launches(problem):
    """A function without arguments for each backend of PyTorch that takes the problem. The tensors lie as the kernel's do:
    rows, heads, columns."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[problem["TYPE"]]

    def random(heads):
        x = torch.randn(problem["BATCH"], problem["SEQ"], problem[heads], problem["HEAD_DIM"], device="cuda", dtype=dtype)
        return x.transpose(1, 2)

    q, k, v = random("HEADS"), random("KV_HEADS"), random("KV_HEADS")
    grouped = problem["HEADS"] != problem["KV_HEADS"]

    def launch(backend):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=problem["CAUSAL"], enable_gqa=grouped)

    ready = {}
    for name, backend in BACKENDS.items():
        try:
            launch(backend)
        except RuntimeError:
            continue  # not in this build of PyTorch, or not for this problem
        ready[name] = lambda backend=backend: launch(backend)
    return ready


def measure(torch, options, problem):
    time, config = tuned(options, "attention_hopper", problem)
    others = {name: time_torch(torch, launch) for name, launch in launches(problem).items()}
    rows = problem["BATCH"] * problem["SEQ"] * problem["HEAD_DIM"] * BYTES[problem["TYPE"]]
    return Result(kernel_of(problem), problem, time, others, 2 * rows * (problem["HEADS"] + problem["KV_HEADS"]), operations(problem), problem["TYPE"], config,
                  f"head dimension {problem['HEAD_DIM']}, {problem['SEQ']} rows{', causal' if problem['CAUSAL'] else ''}")
