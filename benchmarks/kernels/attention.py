"""Attention on Hopper (configs/attention_hopper.toml, configs/attention_hopper_variable.toml), and of few rows of Q
(configs/attention_decode.toml), against PyTorch's backends.

CASES: about 16,384 rows in all. bf16 with heads that are 2,048 columns wide together, as in FlashAttention-3's benchmark;
the same in f16; heads that share keys and values; sequences of random lengths, whose rows lie one after the other; and
one new row for each sequence of a batch."""
import contextlib
import ctypes
import functools
import importlib.util
import inspect
import itertools
import math
import random

from common import BYTES, Result, difference, exported, spec_with_integers, times_in_turns, tuned, valid_calls

EQUAL, VARIABLE, DECODE = "attention_hopper", "attention_hopper_variable", "attention_decode"
# Sizes that the functions of common.exported take.
SIZES = {
    EQUAL: ("BATCH", "SEQ", "HEADS", "KV_HEADS", "HEAD_DIM"),
    DECODE: ("QUERIES", "KEYS", "KV_HEADS", "BATCH", "HEADS", "HEAD_DIM", "SPREAD"),
}
# PyTorch's names of its backends.
BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
# The module of PyPI's package fa3-fwd; it is measured if it is installed.
FLASH3 = "fa3_fwd_interface"
# Scores of all heads that the backend "math" may have in memory: with more it is far from the fastest.
MATH_SCORES = 1 << 28
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


def decode(head_dim, batch, keys, heads, kv_heads, queries=1, dtype="bf16"):
    return DECODE, {
        "TYPE": dtype,
        "HEAD_DIM": head_dim,
        "CAUSAL": queries > 1,
        "HEADS": heads,
        "KV_HEADS": kv_heads,
        "BATCH": batch,
        "QUERIES": queries,
        "KEYS": keys,
        "SPREAD": 0,
    }


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
    decode(128, 1, 65536, 32, 8),
    decode(128, 16, 8192, 32, 8),
    decode(128, 64, 2048, 64, 8),
    decode(64, 16, 8192, 32, 32),
    decode(128, 16, 8192, 32, 8, queries=4),
    decode(256, 2, 5736, 16, 8, queries=13),
]


def drawn(seed):
    """16 random cases in bf16: 8 of prefill (as many rows of Q as of K, 256 to 16,384 of them), 5 of decoding (one row
    of Q, 1,024 to 65,536 keys, 1 to 64 sequences, up to 2 GB of keys and values), 3 of 2 to 16 rows of Q. Heads have 64,
    128 or 256 columns, and 1, 2, 4 or 8 share keys and values. The order is random, so that a part of them is
    representative, too."""
    random_ = random.Random(seed)

    def size(least, most):
        return round(math.exp(random_.uniform(math.log(least), math.log(most))))

    def prefill(head_dim, group):
        seq = size(256, 16384)
        name, problem = equal(head_dim, random_.random() < 0.5, seq)
        problem["KV_HEADS"] //= group
        return name, problem | {"BATCH": size(1, max(1, 16384 // seq))}

    def few_rows(head_dim, group, queries):
        kv_heads, keys = random_.choice([1, 2, 4, 8]), size(1024, 65536)
        batch = size(1, min(64, (1 << 29) // (keys * kv_heads * head_dim)))
        return decode(head_dim, batch, keys, kv_heads * group, kv_heads, queries)

    cases = []
    for i in range(16):
        head_dim, group = (64, 128, 256)[i % 3], random_.choice([1, 2, 4, 8])
        cases.append(
            prefill(head_dim, group) if i < 8 else few_rows(head_dim, group, 1 if i < 13 else random_.randint(2, 16))
        )
    random_.shuffle(cases)
    return cases


def kernel_of(case):
    return case[0]


def starts_of(kernel, problem):
    """First row of each sequence in K and V, and the end of the last one."""
    each = lengths(problem["BATCH"], problem["SEQ"]) if kernel == VARIABLE else [keys_of(problem)] * problem["BATCH"]
    return [0, *itertools.accumulate(each)]


def keys_of(problem):
    return problem["KEYS"] if "KEYS" in problem else problem["SEQ"]


def starts_of_q(problem, starts):
    """The same in Q, which has fewer rows when decoding."""
    return [i * problem["QUERIES"] for i in range(len(starts))] if "QUERIES" in problem else starts


def sequences_of(problem, starts):
    """The first row of each sequence and its end, in Q and in K."""
    return list(zip(itertools.pairwise(starts_of_q(problem, starts)), itertools.pairwise(starts)))


def operations(problem, starts):
    """Of the two products; with a causal mask, of the scores that are needed, to half a row."""
    scores = sum(
        (q[1] - q[0]) * (k[1] - k[0] - (q[1] - q[0]) / 2 * problem["CAUSAL"]) for q, k in sequences_of(problem, starts)
    )
    return 4 * problem["HEADS"] * problem["HEAD_DIM"] * scores


def label(problem):
    heads = "/".join(dict.fromkeys(str(problem[name]) for name in ("HEADS", "KV_HEADS")))
    rows = (
        f"{problem['BATCH']} x {problem['QUERIES']} rows, {problem['KEYS']} keys"
        if "KEYS" in problem
        else f"{problem['SEQ']} rows"
    )
    # Several new rows always have a causal mask here, and the label no room for that.
    words = [f"{heads} heads of {problem['HEAD_DIM']}", rows] + ["causal"] * (
        problem["CAUSAL"] and "KEYS" not in problem
    )
    return ", ".join([problem["TYPE"]] * (problem["TYPE"] != "bf16") + words)


def spec_of(kernel, starts):
    """A context with the spec. Lengths of sequences are a file that the spec names, so theirs is a copy that names another
    one."""
    if kernel != VARIABLE:
        return contextlib.nullcontext(kernel)
    return spec_with_integers(kernel, 'file = "../kernels/attention_hopper/starts.npy"', starts)


def attend(torch, backend, q, k, v, causal):
    """The call of one of PyTorch's backends: batches, heads, rows, columns."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right

    shared = {} if q.shape[1] == k.shape[1] else {"enable_gqa": True}
    if causal and q.shape[2] == k.shape[2]:
        shared["is_causal"] = True
    elif causal:  # is_causal would align the first row with the first key
        mask = causal_lower_right(q.shape[2], k.shape[2])
        shared["attn_mask"] = mask if backend in ("flash", "efficient") else mask._materialize(q.device)

    def call():
        with sdpa_kernel(getattr(SDPBackend, BACKENDS[backend])):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **shared)

    return call


def equal_lengths(torch, problem, backend, tensors):
    """(the call, what makes rows of its result). The tensors lie as the kernel's do: rows, heads, columns."""
    q, k, v = (x.unflatten(0, (problem["BATCH"], -1)).transpose(1, 2) for x in tensors)
    if backend == "math" and q[..., 0].numel() * k.shape[2] > MATH_SCORES:
        raise ValueError(f"more than {MATH_SCORES} scores")
    return attend(torch, backend, q, k, v, problem["CAUSAL"]), lambda o: o.transpose(1, 2).flatten(0, 1)


def heads_as_rows(torch, problem, backend, tensors):
    """As equal_lengths: heads that share keys are rows of one head, if there is one row."""
    q, k, v = (x.unflatten(0, (problem["BATCH"], -1)).transpose(1, 2) for x in tensors)
    q = q.reshape(problem["BATCH"], problem["KV_HEADS"], -1, problem["HEAD_DIM"])
    return attend(torch, backend, q, k, v, False), lambda o: o.reshape(tensors[0].shape)


def flash3(torch, problem, tensors):
    """As equal_lengths, with FlashAttention-3, which chooses the number of parts of the keys itself."""
    attention = importlib.import_module(FLASH3)
    q, k, v = (x.unflatten(0, (problem["BATCH"], -1)) for x in tensors)
    call = attention.flash_attn_with_kvcache if "KEYS" in problem else attention.flash_attn_func
    # Some versions return the logarithms of the sums, too.
    rows_of = lambda o: (o[0] if isinstance(o, tuple) else o).flatten(0, 1)
    return lambda: call(q, k, v, causal=problem["CAUSAL"]), rows_of


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
    return attend(torch, backend, q, k, v, problem["CAUSAL"]), lambda o: o.transpose(1, 2).values()


def packed(torch, problem, starts, tensors):
    """As equal_lengths, with varlen_attn. Its arguments differ between PyTorch's versions."""
    from torch.nn.attention.varlen import varlen_attn

    known = inspect.signature(varlen_attn).parameters
    options = {"enable_gqa": True} if "enable_gqa" in known and tensors[0].shape[1] != tensors[1].shape[1] else {}
    if problem["CAUSAL"]:
        options |= {"is_causal": True} if "is_causal" in known else {"window_size": (-1, 0)}
    ends = torch.tensor(starts, device="cuda", dtype=torch.int32)
    return lambda: varlen_attn(*tensors, ends, ends, problem["SEQ"], problem["SEQ"], **options), lambda o: o


def exported_call(torch, problem, tensors, starts, own):
    """As equal_lengths, with the function of common.exported."""
    o = torch.empty_like(tensors[0])
    numbers = [problem["KEYS"]] * problem["BATCH"] if "KEYS" in problem else starts
    numbers = torch.tensor(numbers, device="cuda", dtype=torch.int32)
    sizes = [ctypes.c_int64(problem[name]) for name in SIZES[DECODE if "KEYS" in problem else EQUAL]]

    def call():
        arrays = [ctypes.c_void_p(array.data_ptr()) for array in (*tensors, o, numbers)]
        if own(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), *arrays, *sizes) != 0:
            raise RuntimeError("a call failed")
        return o

    return call, lambda o: o


def libraries(torch, kernel, problem, starts, own):
    """For common.valid_calls. Heads that share keys are also tried with own keys, copied before the call, because not
    every backend takes the former. own: the function of common.exported, or None."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[problem["TYPE"]]
    tensors = [
        torch.randn(rows, problem[heads], problem["HEAD_DIM"], device="cuda", dtype=dtype)
        for rows, heads in (
            (starts_of_q(problem, starts)[-1], "HEADS"),
            (starts[-1], "KV_HEADS"),
            (starts[-1], "KV_HEADS"),
        )
    ]
    inputs = {"": tensors}
    group = problem["HEADS"] // problem["KV_HEADS"]
    if group > 1:
        inputs[" (own keys)"] = [tensors[0], *(x.repeat_interleave(group, dim=1) for x in tensors[1:])]

    def checked(make, *arguments):
        launch, rows_of = make(torch, problem, *arguments)
        return launch, lambda result: distance(torch, problem, starts, tensors, rows_of(result))

    found = {"xtune": functools.partial(checked, exported_call, tensors, starts, own)} if own else {}
    for suffix, each in inputs.items():
        if kernel == VARIABLE:
            found["varlen" + suffix] = functools.partial(checked, packed, starts, each)
        for backend in ("cudnn", "flash") if suffix or kernel == VARIABLE else BACKENDS:
            if kernel == VARIABLE:
                found[f"nested {backend}{suffix}"] = functools.partial(checked, nested, starts, backend, each)
            else:
                found[backend + suffix] = functools.partial(checked, equal_lengths, backend, each)
    if group > 1 and problem.get("QUERIES") == 1:
        for backend in ("cudnn", "flash"):
            found[backend + " (heads as rows)"] = functools.partial(checked, heads_as_rows, backend, tensors)
    if kernel != VARIABLE and importlib.util.find_spec(FLASH3):
        found["FlashAttention-3"] = functools.partial(checked, flash3, tensors)
    return found


def distance(torch, problem, starts, tensors, o):
    """How far a part of the result is from one in f64, at most: the first and the last rows of the first, the longest, and
    the last sequence, for three heads."""
    sequences = sequences_of(problem, starts)
    found = []
    for (begin, end), keys in {sequences[0], max(sequences, key=lambda one: one[1][1] - one[1][0]), sequences[-1]}:
        length, more = end - begin, keys[1] - keys[0] - (end - begin)
        chosen = torch.tensor(sorted({*range(min(64, length)), *range(max(0, length - 64), length)}), device=o.device)
        for head in {0, problem["HEADS"] // 2, problem["HEADS"] - 1}:
            kv_head = head * problem["KV_HEADS"] // problem["HEADS"]
            q, k, v = (
                x[slice(*of), i].double()
                for x, of, i in zip(tensors, ((begin, end), keys, keys), (head, kv_head, kv_head))
            )
            scores = q[chosen] @ k.T / problem["HEAD_DIM"] ** 0.5
            if problem["CAUSAL"]:
                hidden = torch.arange(len(k), device=o.device) > chosen[:, None] + more
                scores.masked_fill_(hidden, -float("inf"))
            found.append(difference(o[begin:end, head][chosen], scores.softmax(1) @ v))
    return max(found)


def measure(torch, options, case):
    """Tunes, then measures the call and the libraries' in turns."""
    kernel, problem = case
    starts = starts_of(kernel, problem)
    with contextlib.ExitStack() as open_now:
        spec = open_now.enter_context(spec_of(kernel, starts))
        time, config = tuned(options, spec, problem)
        own = open_now.enter_context(exported(options, spec, problem)) if config and kernel in SIZES else None
        found = libraries(torch, kernel, problem, starts, own)
        # Calls with nested tensors take the host up to a millisecond.
        times = times_in_turns(
            torch,
            dict(valid_calls(f"{kernel}, {label(problem)}", found, TOLERANCE)),
            fills=30 if kernel == VARIABLE else 10,
        )
    if own:
        time = times.pop("xtune", None)
    rows = starts_of_q(problem, starts)[-1] * problem["HEADS"] + starts[-1] * problem["KV_HEADS"]
    moved = 2 * BYTES[problem["TYPE"]] * problem["HEAD_DIM"] * rows
    return Result(
        kernel, problem, time, times, moved, operations(problem, starts), problem["TYPE"], config, label(problem)
    )
