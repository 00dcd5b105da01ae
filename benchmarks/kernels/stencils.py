"""Convolution, stencils, sparse matrix times vector, histogram and n-body, against PyTorch."""
import dataclasses
import functools
import tomllib

from common import BYTES, ROOT, Result, difference, library_times, tuned


@dataclasses.dataclass
class Case:
    kernel: str  # a spec in configs/
    problem: dict
    libraries: dict  # by name, from PyTorch and the sizes: the call, and how far its result is from the right one, or None
    label: str

    def sizes(self):
        """The problem, with the spec's own values where this case has none."""
        return tomllib.loads((ROOT / "configs" / f"{self.kernel}.toml").read_text())["problem"] | self.problem


def conv2d(torch, sizes):
    """cuDNN without TF32; f16 results are f16."""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    options = {"device": "cuda", "dtype": torch.float16 if sizes["TYPE"] == "f16" else torch.float32}
    x = torch.randn(sizes["N"], sizes["C"], sizes["H"], sizes["W"], **options)
    filters = torch.randn(sizes["F"], sizes["C"], sizes["R"], sizes["S"], **options)
    if sizes["LAYOUT"] == "nhwc":
        x, filters = (tensor.to(memory_format=torch.channels_last) for tensor in (x, filters))
    return (
        lambda: torch.nn.functional.conv2d(
            x, filters, stride=sizes["STRIDE"], padding=sizes["PADDING"], dilation=sizes["DILATION"]
        ),
        None,
    )


def element_type(torch, sizes):
    return torch.float64 if sizes["TYPE"] == "f64" else torch.float32


def compiled(torch, function):
    """As if nothing had been compiled before, which could make sizes and constants of another case variables here."""
    torch.compiler.reset()
    return torch.compile(function)


def stencil_2d_weights(sizes):
    """Of the centre, an edge, and a corner."""
    return 0.5, 0.11, 0.015 if sizes["POINTS"] == 9 else 0


def stencil_2d_sum(grid, weights):
    """A sum of shifted slices of a padded grid."""
    rows, columns = grid.shape[0] - 2, grid.shape[1] - 2
    total = 0
    for i in range(3):
        for j in range(3):
            weight = weights[(i != 1) + (j != 1)]
            if weight:
                total = total + weight * grid[i : i + rows, j : j + columns]
    return total


def stencil_2d_grid(torch, sizes):
    """A padded grid, and a function that says how far a result is from the right one, by the first and the last rows."""
    grid = torch.nn.functional.pad(
        torch.randn(sizes["M"], sizes["N"], device="cuda", dtype=element_type(torch, sizes)), (1,) * 4
    )

    def distance(result):
        rows = min(64, sizes["M"])
        parts = ((grid[: rows + 2], result[:rows]), (grid[-rows - 2 :], result[-rows:]))
        return max(difference(own, stencil_2d_sum(part.double(), stencil_2d_weights(sizes))) for part, own in parts)

    return grid, distance


def stencil_2d(torch, sizes):
    """Compiled to one kernel."""
    grid, distance = stencil_2d_grid(torch, sizes)
    weights = stencil_2d_weights(sizes)
    call = compiled(torch, lambda x: stencil_2d_sum(x, weights))
    return lambda: call(grid), distance


def stencil_2d_as_convolution(torch, sizes):
    """A convolution of one channel with a filter of 3 x 3."""
    grid, distance = stencil_2d_grid(torch, sizes)
    x = grid[1:-1, 1:-1].contiguous()[None, None]
    centre, edge, corner = stencil_2d_weights(sizes)
    filters = torch.tensor(
        [[corner, edge, corner], [edge, centre, edge], [corner, edge, corner]], device="cuda", dtype=x.dtype
    )[None, None]
    return lambda: torch.nn.functional.conv2d(x, filters, padding=1), lambda result: distance(result[0, 0])


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
                    dimension, radius + (by if dimension == axis else 0), x.shape[dimension]
                )
            return grid_part

        total = weight[0] * shifted(0, 0)
        for distance in range(1, radius + 1):
            for axis in range(3):
                total = total + weight[distance] * (shifted(axis, -distance) + shifted(axis, distance))
        return total

    call = compiled(torch, star)
    return lambda: call(padded), lambda result: difference(result, star(padded))


def spmv(torch, sizes):
    """The matrix of configs/spmv.toml as a CSR tensor, times a vector (cuSPARSE)."""
    rows, columns, elements = sizes["ROWS"], sizes["COLUMNS"], sizes["ELEMENTS"]
    number = torch.arange(rows + 1, device="cuda")
    shares = number.clone()
    for shift in (5, 10, 15):
        shares += sizes["TAIL"] * (((number + (1 << shift) - 1) >> shift) << shift)
    begin = elements * shares // int(shares[-1])
    k = torch.arange(elements, device="cuda")
    column = k * columns // elements + (((k * 2654435769) & 0xFFFFFFFF) * sizes["SPREAD"] >> 32)
    column = (column % columns).to(torch.int32)
    del k
    values = torch.rand(elements, device="cuda", dtype=element_type(torch, sizes))
    matrix = torch.sparse_csr_tensor(begin.to(torch.int32), column, values, (rows, columns))
    x = torch.rand(columns, device="cuda", dtype=values.dtype)
    return lambda: matrix @ x, None


def histogram(torch, sizes):
    """bincount of bytes; histc of f32 keys, of as many bytes as u32 keys."""
    if sizes["TYPE"] == "u8":
        keys = torch.randint(0, 256, (sizes["N"],), device="cuda", dtype=torch.uint8)
        return lambda: torch.bincount(keys, minlength=256), None
    keys = torch.rand(sizes["N"], device="cuda")
    if sizes["SKEW"]:
        keys = keys ** (2 ** sizes["SKEW"])
    return lambda: torch.histc(keys, bins=sizes["BINS"], min=0, max=1), None


SOFTENING = 0.01


def accelerations(targets, sources):
    """Accelerations of some bodies by others, from all pairs at once; x, y and z are separate rows or columns."""
    apart = [sources[None, :, axis] - targets[:, None, axis] for axis in range(3)]
    square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2] + SOFTENING
    scale = sources[None, :, 3] * square.rsqrt() / square
    return [(scale * one).sum(1) for one in apart]


def bodies_of(torch, sizes):
    """Bodies, and a function that says how far slices of accelerations are from the right ones, by some of them."""
    bodies = torch.randn(sizes["N"], 4, device="cuda")
    chosen = torch.arange(0, sizes["N"], max(1, sizes["N"] // 64), device="cuda")
    return bodies, lambda slices: difference(
        torch.cat(slices)[chosen], torch.stack(accelerations(bodies[chosen].double(), bodies.double()), 1)
    )


def nbody(torch, sizes):
    """In slices of targets, each compiled to one kernel."""
    bodies, distance = bodies_of(torch, sizes)
    call = compiled(torch, accelerations)
    return lambda: [call(targets, bodies) for targets in bodies.split(16384)], lambda slices: distance(
        [torch.stack(axes, 1) for axes in slices]
    )


def nbody_as_products(torch, sizes):
    """In slices of targets: distances and sums by matrix products in f32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    bodies, distance = bodies_of(torch, sizes)
    positions, masses = bodies[:, :3], bodies[:, 3]
    squares = (positions * positions).sum(1)
    with_ones = torch.cat((positions, torch.ones_like(masses)[:, None]), 1)

    def slice_of(begin, end):
        targets = positions[begin:end]
        scale = torch.addmm(squares[None] + SOFTENING, targets, positions.T, alpha=-2)
        scale.add_(squares[begin:end, None]).clamp_min_(SOFTENING).pow_(-1.5).mul_(masses)
        sums = scale @ with_ones
        return sums[:, :3] - sums[:, 3:] * targets

    return lambda: [slice_of(begin, begin + 16384) for begin in range(0, len(bodies), 16384)], distance


CASES = [
    Case("conv2d", {}, {"conv2d (cuDNN)": conv2d}, "3 x 3, 128 channels, nchw"),
    Case("conv2d", {"LAYOUT": "nhwc"}, {"conv2d (cuDNN)": conv2d}, "3 x 3, 128 channels, nhwc"),
    Case("conv2d", {"TYPE": "f16"}, {"conv2d (cuDNN)": conv2d}, "3 x 3, 128 channels, nchw f16"),
    Case(
        "conv2d",
        {"C": 256, "F": 256, "R": 1, "S": 1, "PADDING": 0},
        {"conv2d (cuDNN)": conv2d},
        "1 x 1, 256 channels, nchw",
    ),
    Case("stencil_2d", {}, {"torch.compile": stencil_2d, "conv2d (cuDNN)": stencil_2d_as_convolution}, "5 points"),
    Case(
        "stencil_2d",
        {"POINTS": 9},
        {"torch.compile": stencil_2d, "conv2d (cuDNN)": stencil_2d_as_convolution},
        "9 points",
    ),
    Case("stencil_3d", {}, {"torch.compile": stencil_3d}, "7 points"),
    Case("stencil_3d", {"RADIUS": 4}, {"torch.compile": stencil_3d}, "25 points"),
    Case("spmv", {}, {"CSR @ x": spmv}, "32 elements a row"),
    Case("spmv", {"SPREAD": 256}, {"CSR @ x": spmv}, "32 elements a row, wider band"),
    Case(
        "spmv", {"ELEMENTS": 67108864, "TAIL": 1, "SPREAD": 256}, {"CSR @ x": spmv}, "4 elements a row, and long rows"
    ),
    Case("spmv", {"TYPE": "f64"}, {"CSR @ x": spmv}, "32 elements a row, f64"),
    Case("histogram", {}, {"histc of f32": histogram}, "u32, 256 bins"),
    Case("histogram", {"SKEW": 5}, {"histc of f32": histogram}, "u32, 256 bins, skewed"),
    Case("histogram", {"TYPE": "u8", "N": 1073741824}, {"bincount": histogram}, "u8, 256 bins"),
    Case("histogram", {"BINS": 65536}, {"histc of f32": histogram}, "u32, 65536 bins"),
    Case("nbody", {}, {"torch.compile": nbody, "products": nbody_as_products}, "131072 bodies"),
]


def kernel_of(case):
    return case.kernel


def minimum_work(kernel, sizes):
    """(minimum of bytes read and written, operations, their key in PEAK_TFLOPS or "")."""
    size = BYTES.get(sizes.get("TYPE"), 4)
    if kernel == "conv2d":
        height, width = (
            (sizes[extent] + 2 * sizes["PADDING"] - sizes["DILATION"] * (sizes[filters] - 1) - 1) // sizes["STRIDE"] + 1
            for extent, filters in (("H", "R"), ("W", "S"))
        )
        results = sizes["N"] * sizes["F"] * height * width
        read = size * (
            sizes["N"] * sizes["C"] * sizes["H"] * sizes["W"] + sizes["F"] * sizes["C"] * sizes["R"] * sizes["S"]
        )
        return read + 4 * results, 2 * results * sizes["C"] * sizes["R"] * sizes["S"], "f32"
    if kernel == "stencil_2d":
        return 2 * size * sizes["M"] * sizes["N"], 0, ""
    if kernel == "stencil_3d":
        return 2 * size * sizes["L"] * sizes["M"] * sizes["N"], 0, ""
    if kernel == "spmv":
        elements = sizes["ELEMENTS"]
        return elements * (size + 4) + sizes["ROWS"] * (4 + size) + sizes["COLUMNS"] * size, 2 * elements, ""
    if kernel == "histogram":
        return size * sizes["N"], 0, ""
    return 32 * sizes["N"], 20 * sizes["N"] ** 2, "f32"  # nbody


def measure(torch, options, case):
    time, config = tuned(options, case.kernel, case.problem)
    sizes = case.sizes()
    least, operations, rate = minimum_work(case.kernel, sizes)
    libraries = {name: functools.partial(prepare, torch, sizes) for name, prepare in case.libraries.items()}
    others = library_times(torch, f"{case.kernel}, {case.label}", libraries)
    return Result(case.kernel, case.problem, time, others, least, operations, rate, config, case.label)
