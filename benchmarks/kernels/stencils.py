"""Convolution, stencils, sparse matrix times vector, histogram and n-body, against PyTorch.

CASES lists what to compare: a spec in configs/, the problem values that differ from the spec's, and a function that
prepares the same computation in PyTorch and returns a call of it. rows.py times calls and tunes specs.

  benchmarks/kernels/stencils.py --xtune build/dev/src/cli/xtune [--seconds 10] [--only conv2d]

Prints the median times of both. Needs an NVIDIA GPU and PyTorch with CUDA."""
import argparse
import dataclasses
import sys
import tomllib
from typing import Callable

import rows


@dataclasses.dataclass
class Case:
    kernel: str  # a spec in configs/
    problem: dict
    library: str  # the computation in PyTorch
    prepare: Callable

    def sizes(self):
        """The problem, with the spec's own values where this case has none."""
        return tomllib.loads((rows.ROOT / "configs" / f"{self.kernel}.toml").read_text())["problem"] | self.problem


def conv2d(torch, sizes):
    """cuDNN without TF32; f16 results are f16."""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    options = {"device": "cuda", "dtype": torch.float16 if sizes["TYPE"] == "f16" else torch.float32}
    x = torch.randn(sizes["N"], sizes["C"], sizes["H"], sizes["W"], **options)
    filters = torch.randn(sizes["F"], sizes["C"], sizes["R"], sizes["S"], **options)
    if sizes["LAYOUT"] == "nhwc":
        x, filters = (tensor.to(memory_format=torch.channels_last) for tensor in (x, filters))
    return lambda: torch.nn.functional.conv2d(x, filters, stride=sizes["STRIDE"], padding=sizes["PADDING"], dilation=sizes["DILATION"])


def element_type(torch, sizes):
    return torch.float64 if sizes["TYPE"] == "f64" else torch.float32


def stencil_2d(torch, sizes):
    """A convolution of one channel with a filter of 3 x 3."""
    x = torch.randn(1, 1, sizes["M"], sizes["N"], device="cuda", dtype=element_type(torch, sizes))
    corner = 0.015 if sizes["POINTS"] == 9 else 0
    weights = torch.tensor([[corner, 0.11, corner], [0.11, 0.5, 0.11], [corner, 0.11, corner]], device="cuda", dtype=x.dtype)
    return lambda: torch.nn.functional.conv2d(x, weights[None, None], padding=1)


def stencil_3d(torch, sizes):
    """A sum of shifted slices of a padded grid, compiled to one kernel."""
    radius = sizes["RADIUS"]
    x = torch.randn(sizes["L"], sizes["M"], sizes["N"], device="cuda", dtype=element_type(torch, sizes))
    padded = torch.nn.functional.pad(x, (radius,) * 6)
    weight = [0.4, 0.07, 0.02, 0.007, 0.003]

    def star(grid):
        def shifted(axis, by):
            for dimension in range(3):
                grid_part = (grid if dimension == 0 else grid_part).narrow(
                    dimension, radius + (by if dimension == axis else 0), x.shape[dimension])
            return grid_part

        total = weight[0] * shifted(0, 0)
        for distance in range(1, radius + 1):
            for axis in range(3):
                total = total + weight[distance] * (shifted(axis, -distance) + shifted(axis, distance))
        return total

    compiled = torch.compile(star)
    return lambda: compiled(padded)


def spmv(torch, sizes):
    """The matrix of kernels/spmv/matrix.cuh as a CSR tensor, times a vector (cuSPARSE)."""
    rows, columns = sizes["ROWS"], sizes["COLUMNS"]
    number = torch.arange(rows + 1, device="cuda")
    begin = number * sizes["WIDTH"]
    for shift in (5, 10, 15):
        begin += sizes["TAIL"] * (((number + (1 << shift) - 1) >> shift) << shift)
    elements = int(begin[-1])
    k = torch.arange(elements, device="cuda")
    scattered = (k * 2654435769) & 0xFFFFFFFF
    column = ((k * (columns * 2**32 // elements)) >> 32) + ((scattered * sizes["SPREAD"]) >> 32)
    column = torch.where(column < columns, column, column - columns).to(torch.int32)
    del k, scattered
    values = torch.rand(elements, device="cuda", dtype=element_type(torch, sizes))
    matrix = torch.sparse_csr_tensor(begin.to(torch.int32), column, values, (rows, columns))
    x = torch.rand(columns, device="cuda", dtype=values.dtype)
    return lambda: matrix @ x


def histogram(torch, sizes):
    """bincount of bytes; histc of f32 keys, of as many bytes as u32 keys."""
    if sizes["TYPE"] == "u8":
        keys = torch.randint(0, 256, (sizes["N"],), device="cuda", dtype=torch.uint8)
        return lambda: torch.bincount(keys, minlength=256)
    keys = torch.rand(sizes["N"], device="cuda")
    if sizes["SKEW"]:
        keys = keys ** (2 ** sizes["SKEW"])
    return lambda: torch.histc(keys, bins=sizes["BINS"], min=0, max=1)


def nbody(torch, sizes):
    """All pairs in slices of targets, compiled to one kernel per slice."""
    bodies = torch.randn(sizes["N"], 4, device="cuda")

    def slice_of(targets, sources):
        apart = sources[None, :, :3] - targets[:, None, :3]
        inverse = torch.rsqrt((apart * apart).sum(-1) + 0.01)
        return ((sources[None, :, 3] * inverse * inverse * inverse)[:, :, None] * apart).sum(1)

    compiled = torch.compile(slice_of)
    return lambda: [compiled(targets, bodies) for targets in bodies.split(16384)]


CASES = [
    Case("conv2d", {}, "conv2d (cuDNN)", conv2d),
    Case("conv2d", {"LAYOUT": "nhwc"}, "conv2d (cuDNN)", conv2d),
    Case("conv2d", {"TYPE": "f16"}, "conv2d (cuDNN)", conv2d),
    Case("conv2d", {"C": 256, "F": 256, "R": 1, "S": 1, "PADDING": 0}, "conv2d (cuDNN)", conv2d),
    Case("stencil_2d", {}, "conv2d (cuDNN)", stencil_2d),
    Case("stencil_2d", {"POINTS": 9}, "conv2d (cuDNN)", stencil_2d),
    Case("stencil_3d", {}, "torch.compile", stencil_3d),
    Case("stencil_3d", {"RADIUS": 4}, "torch.compile", stencil_3d),
    Case("spmv", {}, "CSR @ x", spmv),
    Case("spmv", {"WIDTH": 4, "TAIL": 4}, "CSR @ x", spmv),
    Case("spmv", {"TYPE": "f64"}, "CSR @ x", spmv),
    Case("histogram", {}, "histc of f32", histogram),
    Case("histogram", {"SKEW": 5}, "histc of f32", histogram),
    Case("histogram", {"TYPE": "u8", "N": 1073741824}, "bincount", histogram),
    Case("histogram", {"BINS": 65536}, "histc of f32", histogram),
    Case("nbody", {}, "torch.compile", nbody),
]


def measure(torch, xtune, case, seconds):
    """(median ms of the best configuration, of PyTorch, the configuration)."""
    answer = rows.tune(xtune, case.kernel, case.problem, seconds, None)
    best = answer.get("best") or {}
    return best.get("time_ms"), rows.time_torch(torch, case.prepare(torch, case.sizes())), best.get("config")


def row(case, times):
    """A line of the table."""
    ours, library, config = times
    values = " ".join(f"{name}={value}" for name, value in (config or {}).items())
    ours = f"{ours:>10.3f}" if ours else f"{'none':>10}"
    return f"{case.kernel:<11}{rows.described(case.problem):<32}{ours}{library:>10.3f}  {case.library:<15}{values}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", default=str(rows.ROOT / "build/dev/src/cli/xtune"))
    parser.add_argument("--seconds", type=float, default=10, help="for each case")
    parser.add_argument("--only", action="append", help="a kernel")
    options = parser.parse_args()
    import torch
    print(f"{'kernel':<11}{'problem':<32}{'xtune, ms':>10}{'torch, ms':>10}")
    for case in CASES:
        if options.only and case.kernel not in options.only:
            continue
        print(row(case, measure(torch, options.xtune, case, options.seconds)), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
