"""Products of groups of rows by their own matrices in one launch (configs/gemm_grouped.toml): a mixture of experts, whose
groups are as uneven as a router's choices, against PyTorch's grouped_mm and one product after another; and a batch,
against its bmm.

CASES: experts, rows of all of them (tokens times the experts of each), N and K of their matrices. As layers of language
models have them: the weights are N x K."""
import collections
import contextlib
import ctypes
import itertools
import random

from common import Result, difference, exported, spec_with_integers, times_in_turns, tuned, valid_calls

KERNEL = "gemm_grouped"


def case(groups, rows, n, k, skew=25, transposed=True):
    """skew 0: a batch."""
    sizes = {"GROUPS": groups, "M": rows, "N": n, "K": k}
    return KERNEL, sizes | {"TYPE": "bf16", "OUT": "bf16", "TRANSPOSED_B": transposed, "SKEW": skew}


CASES = [
    case(8, 8192, 14336, 4096),  # Mixtral 8x7B: 4096 tokens, two experts each
    case(8, 8192, 4096, 14336),
    case(8, 8192, 14336, 4096, transposed=False),
    case(64, 24576, 2816, 2048),  # DeepSeek V2 Lite: six experts each
    case(64, 24576, 2048, 1408),
    case(128, 1024, 1536, 2048),  # Qwen3 30B: 128 tokens, eight experts each
    case(128, 1024, 2048, 768),
    case(32, 128, 4096, 7168),  # an eighth of DeepSeek V3's experts, few tokens
    case(32, 32 * 512, 1024, 1024, skew=0, transposed=False),
]


def kernel_of(case):
    return case[0]


def label(problem):
    """Of the problem, in words."""
    batch = problem["SKEW"] == 0
    words = [f"{problem['GROUPS']} {'products' if batch else 'experts'}", f"{problem['M']} rows"]
    return ", ".join(words + [f"{problem['N']} x {problem['K']}"] + ["B row-major"] * (not problem["TRANSPOSED_B"]))


def ends_of(problem):
    """Behind the last row of each group. Experts are not equally popular, but the same in each run; a batch's groups
    have equally many rows."""
    groups, rows = problem["GROUPS"], problem["M"]
    if problem["SKEW"] == 0:
        return [rows // groups * (group + 1) for group in range(groups)]
    choice = random.Random(groups)
    popularity = [choice.lognormvariate(0, 0.5) for _ in range(groups)]
    counts = collections.Counter(choice.choices(range(groups), popularity, k=rows))
    return list(itertools.accumulate(counts[group] for group in range(groups)))


def calls(torch, problem, ends, own):
    """For common.valid_calls. own: the function of common.exported, or None."""
    groups, rows, n, k = (problem[name] for name in ("GROUPS", "M", "N", "K"))
    # As inputs of the kernel: uniform in (-1, 1).
    a, w = (torch.rand(*shape, device="cuda").mul_(2).sub_(1).bfloat16() for shape in ((rows, k), (groups, n, k)))
    b = w.transpose(1, 2) if problem["TRANSPOSED_B"] else w.transpose(1, 2).contiguous()
    del w
    offsets = torch.tensor(ends, device="cuda", dtype=torch.int32)
    parts = list(itertools.pairwise([0, *ends]))
    c = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)

    def checked(launch):
        def apart(result):
            longest = max(range(groups), key=lambda group: parts[group][1] - parts[group][0])
            found = [0.0]
            for group in {0, groups // 2, longest, groups - 1}:
                begin, end = parts[group]
                if end > begin:
                    right = a[begin:end].float() @ b[group].float()
                    found.append(difference(result.view(rows, n)[begin:end], right))
            return max(found)

        return lambda: (launch, apart)

    def launch_own():
        arrays = [ctypes.c_void_p(array.data_ptr()) for array in (a, b, offsets, c)]
        sizes = [ctypes.c_int64(size) for size in (groups, rows, n, k, problem["SKEW"], 0)]
        if own(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), *arrays, *sizes) != 0:
            raise RuntimeError("a call failed")
        return c

    def one_by_one():
        for group, (begin, end) in enumerate(parts):
            if end > begin:
                torch.mm(a[begin:end], b[group], out=c[begin:end])
        return c

    grouped = getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm
    found = {"xtune": checked(launch_own)} if own else {}
    found |= {"grouped_mm": checked(lambda: grouped(a, b, offs=offsets)), "mm": checked(one_by_one)}
    if problem["SKEW"] == 0:
        found["bmm"] = checked(lambda: torch.bmm(a.view(groups, rows // groups, k), b))
    return found


def measure(torch, options, case):
    """Tunes, then measures the call and the libraries' in turns."""
    kernel, problem = case
    ends = ends_of(problem)
    with contextlib.ExitStack() as open_now:
        spec = KERNEL
        if problem["SKEW"] != 0:
            fill = 'fill = { formula = "int((M - SPARE) * ((index + 1) / GROUPS) ** (1 + SKEW / 100))" }'
            spec = open_now.enter_context(spec_with_integers(KERNEL, fill, ends))
        _, config = tuned(options, spec, problem)
        own = open_now.enter_context(exported(options, spec, problem)) if config else None
        valid = dict(valid_calls(label(problem), calls(torch, problem, ends, own), 0.01))
        times = times_in_turns(torch, valid, fills=30)  # products one by one take the host up to a millisecond
    rows, n, k = (problem[name] for name in ("M", "N", "K"))
    used = sum(end > begin for begin, end in itertools.pairwise([0, *ends]))
    moved = 2 * (rows * k + used * n * k + rows * n)
    return Result(
        kernel, problem, times.pop("xtune", None), times, moved, 2 * rows * n * k, "bf16", config, label(problem)
    )
