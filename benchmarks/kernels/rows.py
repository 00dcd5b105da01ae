"""Kernels that memory limits, against PyTorch: softmax, norms, sums of all and over an axis, transpose, matrix times vector,
the Hadamard transform."""
from common import BYTES, Result, library_times, tuned

# Spec in configs/, and what is set in its problem: large and awkward sizes, all well beyond the L2 cache.
CASES = [
    ("softmax", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("softmax", {"M": 16384, "N": 8192, "TYPE": "bf16"}),
    ("softmax", {"M": 65537, "N": 1001, "TYPE": "f32"}),
    ("softmax", {"M": 65537, "N": 2001, "TYPE": "f16"}),
    ("softmax", {"M": 1048576, "N": 64, "TYPE": "f32"}),
    ("softmax", {"M": 1024, "N": 65536, "TYPE": "f32"}),
    ("softmax", {"M": 32, "N": 2000000, "TYPE": "f32"}),
    ("layernorm", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("layernorm", {"M": 16384, "N": 8192, "TYPE": "bf16"}),
    ("layernorm", {"M": 65537, "N": 1001, "TYPE": "f32"}),
    ("layernorm", {"M": 65537, "N": 2001, "TYPE": "f16"}),
    ("layernorm", {"M": 262144, "N": 512, "TYPE": "f16"}),
    ("layernorm", {"M": 32, "N": 2000000, "TYPE": "f32"}),
    ("rmsnorm", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("rmsnorm", {"M": 16384, "N": 8192, "TYPE": "bf16"}),
    ("rmsnorm", {"M": 65537, "N": 2001, "TYPE": "f16"}),
    ("reduce_axis", {"OUTER": 16384, "N": 8192, "INNER": 1, "TYPE": "f32", "OP": "sum"}),
    ("reduce_axis", {"OUTER": 65537, "N": 2001, "INNER": 1, "TYPE": "f16", "OP": "max"}),
    ("reduce_axis", {"OUTER": 16, "N": 8000000, "INNER": 1, "TYPE": "f32", "OP": "sum"}),
    ("reduce_axis", {"OUTER": 1, "N": 65536, "INNER": 2048, "TYPE": "f32", "OP": "sum"}),
    ("reduce_axis", {"OUTER": 4096, "N": 1000, "INNER": 33, "TYPE": "f32", "OP": "mean"}),
    ("reduction", {"n": 67108864}),
    ("reduction", {"n": 268435459}),
    ("transpose", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("transpose", {"M": 8191, "N": 8193, "TYPE": "f32"}),
    ("transpose", {"M": 16384, "N": 16384, "TYPE": "f16"}),
    ("transpose", {"M": 16383, "N": 16385, "TYPE": "f16"}),
    ("transpose", {"M": 16384, "N": 32768, "TYPE": "u8"}),
    ("transpose", {"M": 16383, "N": 32769, "TYPE": "u8"}),
    ("gemv", {"M": 16384, "N": 8192, "TYPE": "f32", "LEFT": "false"}),
    ("gemv", {"M": 16383, "N": 16385, "TYPE": "bf16", "LEFT": "false"}),
    ("gemv", {"M": 16384, "N": 16384, "TYPE": "f16", "LEFT": "false"}),
    ("gemv", {"M": 16384, "N": 16384, "TYPE": "f16", "LEFT": "true"}),
] + [
    ("hadamard", {"M": (1 << 28) // BYTES[dtype] // n, "N": n, "TYPE": dtype})
    for dtype in ("f32", "f16", "bf16")
    for n in (64, 256, 1024, 2048, 4096, 8192, 16384, 32768)
]


def kernel_of(case):
    return case[0]


def bytes_moved(kernel, problem):
    """(minimum of bytes read, of bytes written), without small arguments."""
    if kernel == "reduction":
        return 4 * problem["n"], 0
    size = BYTES[problem["TYPE"]]
    if kernel == "reduce_axis":
        rest = problem["OUTER"] * problem["INNER"]
        return size * rest * problem["N"], size * rest
    elements = problem["M"] * problem["N"]
    return size * elements, 0 if kernel == "gemv" else size * elements


def hadamard_call(torch, x):
    """Products with one Hadamard matrix, or with two for long rows: H of a * b rows is the Kronecker product of both."""
    rows, n = x.shape

    def matrix(size):
        h = torch.ones(1, 1, device="cuda", dtype=x.dtype)
        while len(h) < size:
            h = torch.cat((torch.cat((h, h), 1), torch.cat((h, -h), 1)))
        return h / size**0.5

    if n <= 1024:
        h = matrix(n)
        return lambda: torch.matmul(x, h)
    left, right = matrix(n // 128), matrix(128)
    return lambda: torch.matmul(left, torch.matmul(x.view(rows, n // 128, 128), right)).view(rows, n)


def label(kernel, problem):
    if kernel == "reduction":
        return f"{problem['n']} f32"
    if kernel == "reduce_axis":
        return f"[{problem['OUTER']}, {problem['N']}, {problem['INNER']}] {problem['TYPE']} {problem['OP']}"
    if kernel == "gemv":
        return f"{problem['M']} x {problem['N']} {problem['TYPE']}, {'x A' if problem['LEFT'] == 'true' else 'A x'}"
    return ""


def torch_call(torch, kernel, problem):
    """A function without arguments that does the kernel's work in PyTorch."""
    if kernel == "reduction":
        x = torch.rand(problem["n"], device="cuda")
        return lambda: torch.sum(x)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8}[problem["TYPE"]]

    def random(*shape):
        if dtype == torch.uint8:
            return torch.randint(0, 255, shape, device="cuda", dtype=dtype)
        return torch.rand(shape, device="cuda", dtype=dtype)

    functional = torch.nn.functional
    if kernel == "reduce_axis":
        x = random(problem["OUTER"], problem["N"], problem["INNER"])
        reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[problem["OP"]]
        return lambda: reduce(x, dim=1)
    x = random(problem["M"], problem["N"])
    if kernel == "hadamard":
        return hadamard_call(torch, x)
    if kernel == "gemv":
        matrix = x.t() if problem["LEFT"] == "true" else x
        vector = random(matrix.shape[1])
        return lambda: torch.mv(matrix, vector)
    if kernel == "transpose":
        return lambda: x.t().contiguous()
    if kernel == "softmax":
        return lambda: torch.softmax(x, -1)
    gamma, beta = random(problem["N"]), random(problem["N"])
    if kernel == "layernorm":
        return lambda: functional.layer_norm(x, (problem["N"],), gamma, beta, 1e-5)
    return lambda: functional.rms_norm(x, (problem["N"],), gamma, 1e-5)


def measure(torch, options, case):
    kernel, problem = case
    time, config = tuned(options, kernel, problem)
    others = library_times(
        torch, f"{kernel}, {problem}", {"PyTorch": lambda: (torch_call(torch, kernel, problem), None)}
    )
    return Result(
        kernel, problem, time, others, sum(bytes_moved(kernel, problem)), config=config, label=label(kernel, problem)
    )
