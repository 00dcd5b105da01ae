"""Attention on Hopper (configs/attention_hopper.toml, configs/attention_hopper_variable.toml), against PyTorch's backends.

CASES: about 16,384 rows in all. bf16 with heads that are 2,048 columns wide together, as in FlashAttention-3's benchmark;
the same in f16; heads that share keys and values; and sequences of random lengths, whose rows lie one after the other."""
import contextlib
import functools
import inspect
import itertools
import random

from common import BYTES, Result, difference, library_times, spec_with_integers, tuned

EQUAL, VARIABLE = "attention_hopper", "attention_hopper_variable"
# PyTorch's names of its backends.
BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
# Of the norm of a result: more than rounding to 8 bits makes, less than any wrong weight.
TOLERANCE = 0.02


def equal(head_dim, causal, seq, dtype="bf16", heads=None, kv_heads=None):
    heads = heads or 2048 // head_dim
    return EQUAL, {
        "TYPE": dtype,
        "HEAD_DIM": head_dim,
        "CAUSAL": causal,
        "HEADS": heads,
        "KV_HEADS": kv_heads or heads,
        "BATCH": 16384 // seq,
        "SEQ": seq,
    }


def lengths(sequences, longest):
    """Of one sequence of the greatest length, and of others of random lengths: the same in each run."""
    choice = random.Random(longest)
    found = [longest] + [choice.randint(1, longest) for _ in range(sequences - 1)]
    choice.shuffle(found)
    return found


def variable(head_dim, causal, seq, dtype="bf16", heads=None, kv_heads=None):
    problem = equal(head_dim, causal, seq, dtype, heads, kv_heads)[1]
    problem["BATCH"] = 2 * 16384 // seq
    return VARIABLE, problem | {"ROWS": sum(lengths(problem["BATCH"], seq))}


CASES = [
    equal(head_dim, causal, seq) for head_dim in (64, 128) for causal in (False, True) for seq in (2048, 8192, 16384)
] + [
    equal(64, False, 8192, "f16"),
    equal(128, False, 2048, "f16"),
    equal(128, True, 8192, "f16"),
    equal(128, True, 16384, "f16"),
    equal(128, True, 2048, heads=32, kv_heads=8),
    equal(128, False, 8192, heads=32, kv_heads=8),
    equal(128, True, 16384, heads=32, kv_heads=8),
    equal(128, False, 2048, heads=64, kv_heads=8),
    equal(128, True, 8192, "f16", heads=64, kv_heads=8),
    variable(128, False, 2048),
    variable(128, True, 2048),
    variable(64, True, 8192, "f16"),
    variable(128, True, 8192, heads=32, kv_heads=8),
    variable(128, False, 16384),
    variable(128, True, 16384),
]


def kernel_of(case):
    return case[0]


def starts_of(kernel, problem):
    """First row of each sequence, and the end of the last one."""
    each = lengths(problem["BATCH"], problem["SEQ"]) if kernel == VARIABLE else [problem["SEQ"]] * problem["BATCH"]
    return [0, *itertools.accumulate(each)]


def operations(problem, starts):
    """Of the two products; with a causal mask, of half of them."""
    products = (
        4
        * problem["HEADS"]
        * problem["HEAD_DIM"]
        * sum((end - begin) ** 2 for begin, end in itertools.pairwise(starts))
    )
    return products / 2 if problem["CAUSAL"] else products


def label(problem):
    heads = "/".join(dict.fromkeys(str(problem[name]) for name in ("HEADS", "KV_HEADS")))
    words = [f"{heads} heads of {problem['HEAD_DIM']}", f"{problem['SEQ']} rows"] + ["causal"] * problem["CAUSAL"]
    return ", ".join([problem["TYPE"]] * (problem["TYPE"] != "bf16") + words)


def spec_of(kernel, starts):
    """A context with the spec. Lengths of sequences are a file that the spec names, so theirs is a copy that names another
    one."""
    if kernel != VARIABLE:
        return contextlib.nullcontext(kernel)
    return spec_with_integers(kernel, 'file = "../kernels/attention_hopper/starts.npy"', starts)


def attend(torch, backend, q, k, v, causal):
    """With one of PyTorch's backends: batches, heads, rows, columns."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shared = {} if q.shape[1] == k.shape[1] else {"enable_gqa": True}
    with sdpa_kernel(getattr(SDPBackend, BACKENDS[backend])):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, **shared)


def equal_lengths(torch, problem, backend, tensors):
    """(the call, what makes rows of its result). The tensors lie as the kernel's do: rows, heads, columns."""
    q, k, v = (x.view(problem["BATCH"], problem["SEQ"], *x.shape[1:]).transpose(1, 2) for x in tensors)
    return lambda: attend(torch, backend, q, k, v, problem["CAUSAL"]), lambda o: o.transpose(1, 2).flatten(0, 1)


def nested(torch, problem, starts, backend, tensors):
    """As equal_lengths, with nested tensors."""
    offsets = torch.tensor(starts, device="cuda")
    shortest = min(end - begin for begin, end in itertools.pairwise(starts))
    q, k, v = (
        torch.nested.nested_tensor_from_jagged(x, offsets, min_seqlen=shortest, max_seqlen=problem["SEQ"]).transpose(
            1, 2
        )
        for x in tensors
    )
    return lambda: attend(torch, backend, q, k, v, problem["CAUSAL"]), lambda o: o.transpose(1, 2).values()


def packed(torch, problem, starts, tensors):
    """As equal_lengths, with varlen_attn. Its arguments differ between PyTorch's versions."""
    from torch.nn.attention.varlen import varlen_attn

    known = inspect.signature(varlen_attn).parameters
    options = {"enable_gqa": True} if "enable_gqa" in known and tensors[0].shape[1] != tensors[1].shape[1] else {}
    if problem["CAUSAL"]:
        options |= {"is_causal": True} if "is_causal" in known else {"window_size": (-1, 0)}
    ends = torch.tensor(starts, device="cuda", dtype=torch.int32)
    return lambda: varlen_attn(*tensors, ends, ends, problem["SEQ"], problem["SEQ"], **options), lambda o: o


def libraries(torch, kernel, problem, starts):
    """For common.library_times. Heads that share keys are also tried with own keys, copied before the call, because not
    every backend takes the former."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[problem["TYPE"]]
    tensors = [
        torch.randn(starts[-1], problem[heads], problem["HEAD_DIM"], device="cuda", dtype=dtype)
        for heads in ("HEADS", "KV_HEADS", "KV_HEADS")
    ]
    inputs = {"": tensors}
    group = problem["HEADS"] // problem["KV_HEADS"]
    if group > 1:
        inputs[" (own keys)"] = [tensors[0], *(x.repeat_interleave(group, dim=1) for x in tensors[1:])]

    def checked(make, *arguments):
        launch, rows_of = make(torch, problem, *arguments)
        return launch, lambda result: distance(torch, problem, starts, tensors, rows_of(result))

    found = {}
    for suffix, each in inputs.items():
        if kernel == VARIABLE:
            found["varlen" + suffix] = functools.partial(checked, packed, starts, each)
        for backend in BACKENDS:
            if kernel == VARIABLE:
                found[f"nested {backend}{suffix}"] = functools.partial(checked, nested, starts, backend, each)
            else:
                found[backend + suffix] = functools.partial(checked, equal_lengths, backend, each)
    return found


def distance(torch, problem, starts, tensors, o):
    """How far a part of the result is from one in f64, at most: the first and the last rows of the first, the longest, and
    the last sequence, for three heads."""
    sequences = list(itertools.pairwise(starts))
    found = []
    for begin, end in {sequences[0], max(sequences, key=lambda one: one[1] - one[0]), sequences[-1]}:
        length = end - begin
        chosen = torch.tensor(sorted({*range(min(64, length)), *range(max(0, length - 64), length)}), device=o.device)
        for head in {0, problem["HEADS"] // 2, problem["HEADS"] - 1}:
            kv_head = head * problem["KV_HEADS"] // problem["HEADS"]
            q, k, v = (x[begin:end, i].double() for x, i in zip(tensors, (head, kv_head, kv_head)))
            scores = q[chosen] @ k.T / problem["HEAD_DIM"] ** 0.5
            if problem["CAUSAL"]:
                scores.masked_fill_(torch.arange(length, device=o.device) > chosen[:, None], -float("inf"))
            found.append(difference(o[begin:end, head][chosen], scores.softmax(1) @ v))
    return max(found)


def measure(torch, options, case):
    kernel, problem = case
    starts = starts_of(kernel, problem)
    with spec_of(kernel, starts) as spec:
        time, config = tuned(options, spec, problem)
    # Calls with nested tensors take the host up to a millisecond.
    others = library_times(
        torch,
        f"{kernel}, {label(problem)}",
        libraries(torch, kernel, problem, starts),
        TOLERANCE,
        fills=30 if kernel == VARIABLE else 3,
    )
    moved = 2 * BYTES[problem["TYPE"]] * starts[-1] * problem["HEAD_DIM"] * (problem["HEADS"] + problem["KV_HEADS"])
    return Result(
        kernel, problem, time, others, moved, operations(problem, starts), problem["TYPE"], config, label(problem)
    )
