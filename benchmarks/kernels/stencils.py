"""Comparisons of convolution, stencils, SpMV, histogram and n-body with PyTorch on an NVIDIA GPU.

CASES lists what to compare: a spec in configs/, the problem sizes that differ from the spec's, and a function that
returns the same computation in PyTorch, ready to be launched. median_ms() measures it as xtune does: caches are emptied
before each launch, and the median counts."""
import dataclasses
import statistics
import tomllib
from pathlib import Path
from typing import Callable

import torch

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Case:
    spec: str
    problem: dict
    library: str  # what the computation is called in PyTorch
    prepare: Callable

    def sizes(self):
        """The problem with the spec's own values where this case has none."""
        return tomllib.loads((ROOT / "configs" / self.spec).read_text())["problem"] | self.problem


def median_ms(launch, samples=20, flush_bytes=256 << 20):
    """The median of single launches, each after writing flush_bytes of other memory."""
    other = torch.empty(flush_bytes, dtype=torch.uint8, device="cuda")
    times = []
    for sample in range(samples + 2):
        other.fill_(sample)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[2:])


def copy(sizes):
    """Bandwidth of a copy, read and written bytes counted."""
    x = torch.empty(sizes["BYTES"], dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)
    return lambda: y.copy_(x)


def conv2d(sizes):
    """cuDNN without TF32; f16 results are f16."""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    options = {"device": "cuda", "dtype": torch.float16 if sizes["TYPE"] == "f16" else torch.float32}
    x = torch.randn(sizes["N"], sizes["C"], sizes["H"], sizes["W"], **options)
    filters = torch.randn(sizes["F"], sizes["C"], sizes["R"], sizes["S"], **options)
    if sizes["LAYOUT"] == "nhwc":
        x, filters = (tensor.to(memory_format=torch.channels_last) for tensor in (x, filters))
    return lambda: torch.nn.functional.conv2d(x, filters, stride=sizes["STRIDE"], padding=sizes["PADDING"], dilation=sizes["DILATION"])


def element_type(sizes):
    return torch.float64 if sizes["TYPE"] == "f64" else torch.float32


def stencil_2d(sizes):
    """A convolution of one channel with a filter of 3 x 3."""
    x = torch.randn(1, 1, sizes["M"], sizes["N"], device="cuda", dtype=element_type(sizes))
    corner = 0.015 if sizes["POINTS"] == 9 else 0
    weights = torch.tensor([[corner, 0.11, corner], [0.11, 0.5, 0.11], [corner, 0.11, corner]], device="cuda", dtype=x.dtype)
    return lambda: torch.nn.functional.conv2d(x, weights[None, None], padding=1)


def stencil_3d(sizes):
    """A sum of shifted slices of a padded grid, compiled to one kernel."""
    radius = sizes["RADIUS"]
    x = torch.randn(sizes["L"], sizes["M"], sizes["N"], device="cuda", dtype=element_type(sizes))
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


def spmv(sizes):
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
    values = torch.rand(elements, device="cuda", dtype=element_type(sizes))
    matrix = torch.sparse_csr_tensor(begin.to(torch.int32), column, values, (rows, columns))
    x = torch.rand(columns, device="cuda", dtype=values.dtype)
    return lambda: matrix @ x


def histogram(sizes):
    """bincount of bytes; histc of f32 keys, of as many bytes as u32 keys."""
    if sizes["TYPE"] == "u8":
        keys = torch.randint(0, 256, (sizes["N"],), device="cuda", dtype=torch.uint8)
        return lambda: torch.bincount(keys, minlength=256)
    keys = torch.rand(sizes["N"], device="cuda")
    if sizes["SKEW"]:
        keys = keys ** (2 ** sizes["SKEW"])
    return lambda: torch.histc(keys, bins=sizes["BINS"], min=0, max=1)


def nbody(sizes):
    """All pairs in slices of targets, compiled to one kernel per slice."""
    bodies = torch.randn(sizes["N"], 4, device="cuda")

    def slice_of(targets, sources):
        apart = sources[None, :, :3] - targets[:, None, :3]
        inverse = torch.rsqrt((apart * apart).sum(-1) + 0.01)
        return ((sources[None, :, 3] * inverse * inverse * inverse)[:, :, None] * apart).sum(1)

    compiled = torch.compile(slice_of)
    return lambda: [compiled(targets, bodies) for targets in bodies.split(16384)]


CASES = [
    Case("conv2d.toml", {}, "conv2d (cuDNN)", conv2d),
    Case("conv2d.toml", {"LAYOUT": "nhwc"}, "conv2d (cuDNN)", conv2d),
    Case("conv2d.toml", {"TYPE": "f16"}, "conv2d (cuDNN)", conv2d),
    Case("conv2d.toml", {"C": 256, "F": 256, "R": 1, "S": 1, "PADDING": 0}, "conv2d (cuDNN)", conv2d),
    Case("stencil_2d.toml", {}, "conv2d (cuDNN)", stencil_2d),
    Case("stencil_2d.toml", {"POINTS": 9}, "conv2d (cuDNN)", stencil_2d),
    Case("stencil_3d.toml", {}, "torch.compile", stencil_3d),
    Case("stencil_3d.toml", {"RADIUS": 4}, "torch.compile", stencil_3d),
    Case("spmv.toml", {}, "CSR @ x", spmv),
    Case("spmv.toml", {"WIDTH": 4, "TAIL": 4}, "CSR @ x", spmv),
    Case("spmv.toml", {"TYPE": "f64"}, "CSR @ x", spmv),
    Case("histogram.toml", {}, "histc of f32", histogram),
    Case("histogram.toml", {"SKEW": 5}, "histc of f32", histogram),
    Case("histogram.toml", {"TYPE": "u8", "N": 1073741824}, "bincount", histogram),
    Case("histogram.toml", {"BINS": 65536}, "histc of f32", histogram),
    Case("nbody.toml", {}, "torch.compile", nbody),
]
