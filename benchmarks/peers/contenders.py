# SPDX-License-Identifier: Apache-2.0
"""What peers.py compares: for each tuner how it tunes a problem, and how its answer is called afterwards.

The kernels of the others are those of their own repositories, below options.sources (peers.py lists the files)."""
import dataclasses
import functools
import importlib.metadata
import importlib.util
import math
import os
import pathlib
import sys
import time
import typing

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCHMARKS / "kernels"), str(BENCHMARKS / "python")]
SIZE = (4096, 4096, 4096)  # of the products: M, N, K
IMAGE, FILTER, MOST_WEIGHTS = 4096, 9, 33 * 33


@dataclasses.dataclass
class Contender:
    problem: str
    name: str
    package: str  # whose version is printed
    tune: typing.Callable  # options, inputs -> answer: wall_s, evaluations, config
    call: typing.Callable  # options, inputs, answer -> a function that computes the result once
    seconds: float = 0  # the budget that the tuner gets; 0: it ends by itself
    limit: float = 60  # seconds until its process is ended, start included


def example(options, path):
    """A file of another project, as a module."""
    file = options.sources / path
    if not file.exists():
        raise FileNotFoundError(f"{file} is missing: see --help")
    spec = importlib.util.spec_from_file_location("example_" + file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "?"


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


# Products: inputs are a (M x K) and b (K x N; in bf16 the view of an N x K matrix).


def product_inputs(torch):
    import triton_matmul

    a, b, c = triton_matmul.tensors(torch, *SIZE)
    return {"a": a, "b": b, "c": c}


def product_bf16_inputs(torch):
    torch.manual_seed(1)
    M, N, K = SIZE
    a = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)
    return {"a": a, "b": torch.randn(N, K, device="cuda", dtype=torch.bfloat16).t()}


def right_product(torch, inputs):
    return inputs["a"].float() @ inputs["b"].float()


def tune_triton(which, options, inputs):
    """The decorator `which` around a Triton kernel, with the configurations of triton_matmul.py."""
    import triton_matmul

    answer = triton_matmul.tune(which, SIZE, few=False)
    return {**answer, "evaluations": len(triton_matmul.configurations(False))}


def call_triton(options, inputs, answer):
    import triton
    import triton_kernels
    import triton_matmul

    M, N, K = SIZE
    grid, (a, b, c) = triton_matmul.grid_of(triton, M, N), (inputs[name] for name in "abc")

    def call():
        triton_kernels.matmul[grid](a, b, c, M, N, K, **answer["config"])
        return c

    return call


def tune_hopper(options, inputs):
    import xtune

    a, b = inputs["a"], inputs["b"]
    kind = "bf16" if "bfloat16" in str(a.dtype) else "f16"
    problem = {**dict(zip("MNK", SIZE)), "TYPE": kind, "OUT": kind, "TRANSPOSED_B": not b.is_contiguous()}
    result, wall = timed(lambda: xtune.tune("gemm_hopper", problem=problem, seconds=options.seconds))
    answer = {"wall_s": wall, "evaluations": sum(result.counts.values()), "config": result.best.config}
    return {**answer, "store": os.environ["XTUNE_CACHE_DIR"]}


def call_hopper(options, inputs, answer):
    """As applications call it: the store chooses."""
    import xtune

    return functools.partial(xtune.load("gemm_hopper", store=answer["store"]), inputs["a"], inputs["b"])


def call_cublas(options, inputs, answer):
    import torch

    return functools.partial(torch.matmul, inputs["a"], inputs["b"])


TESTED = []  # configurations of each of Helion's searches


def count_tested(search):
    """A function of this module, since Helion sends it to other processes."""
    TESTED.append(search.num_configs_tested)


def tune_helion(options, inputs):
    os.environ["HELION_AUTOTUNE_BUDGET_SECONDS"] = str(int(options.seconds))
    os.environ["HELION_AUTOTUNE_PROGRESS_BAR"] = "0"
    os.environ["HELION_AUTOTUNE_BENCHMARK_SUBPROCESS"] = "0"  # it cannot send the example's epilogue, a lambda
    from helion.autotuner import metrics

    metrics.register_post_autotune_hook(count_tested)
    matmul = example(options, "helion/examples/matmul.py").matmul
    config, wall = timed(lambda: matmul.autotune((inputs["a"], inputs["b"])))
    return {"wall_s": wall, "evaluations": sum(TESTED), "config": dict(config)}


def call_helion(options, inputs, answer):
    import helion

    matmul, arguments = example(options, "helion/examples/matmul.py").matmul, (inputs["a"], inputs["b"])
    matmul.bind(arguments).set_config(helion.Config(**answer["config"]))
    return lambda: matmul(*arguments)


def tune_tilelang(with_roller, options, inputs):
    """with_roller: the configurations that its model proposes, instead of the whole grid."""
    module = example(options, "tilelang/examples/gemm/example_gemm_autotune.py")
    tried, get_configs = [], module.get_configs

    def counted(*arguments):
        configs = get_configs(*arguments)
        tried.append(len(configs))
        return configs

    module.get_configs = counted
    result, wall = timed(lambda: module.get_best_config(*SIZE, with_roller=with_roller))
    return {"wall_s": wall, "evaluations": sum(tried), "config": result.config}


def call_tilelang(options, inputs, answer):
    import tilelang.language

    module = example(options, "tilelang/examples/gemm/example_gemm_autotune.py")
    kernel = module.matmul(*SIZE, **answer["config"], dtype=tilelang.language.bfloat16)
    return functools.partial(kernel, inputs["a"], inputs["b"].t())


# Kernel Tuner's convolution, with a filter of one size.

CONVOLUTION = {
    "filter_height": [FILTER],
    "filter_width": [FILTER],
    "block_size_x": [16 * i for i in range(1, 9)],
    "block_size_y": [1 << i for i in range(6)],
    "tile_size_x": list(range(1, 9)),
    "tile_size_y": list(range(1, 9)),
    "use_padding": [0, 1],
    "read_only": [0, 1],
}


def convolution_source(options):
    return (options.sources / "kernel_tuner/examples/cuda/convolution.cu").read_text()


def convolution_inputs(torch):
    torch.manual_seed(1)
    edge = IMAGE + FILTER - 1
    return {
        "image": torch.randn(edge, edge, device="cuda"),
        "weights": torch.randn(MOST_WEIGHTS, device="cuda"),
        "result": torch.empty(IMAGE, IMAGE, device="cuda"),
    }


def right_convolution(torch, inputs):
    torch.backends.cudnn.allow_tf32 = False
    weights = inputs["weights"][: FILTER * FILTER].view(1, 1, FILTER, FILTER)
    return torch.nn.functional.conv2d(inputs["image"][None, None], weights)[0, 0]


def tune_convolution(module, options, inputs):
    """tune_kernel of Kernel Tuner, or of xtune.compat: the same call."""
    image, weights, result = (inputs[name].cpu().numpy().ravel() for name in ("image", "weights", "result"))
    (results, environment), wall = timed(
        lambda: importlib.import_module(module).tune_kernel(
            "convolution_kernel",
            convolution_source(options),
            (IMAGE, IMAGE),
            [result, image, weights],
            CONVOLUTION,
            grid_div_x=["block_size_x", "tile_size_x"],
            grid_div_y=["block_size_y", "tile_size_y"],
            restrictions=["use_padding==0 or (block_size_x % 32 != 0)"],
            cmem_args={"d_filter": weights},
            lang="NVCUDA",
            strategy="hybrid_vndx",
            strategy_options={"time_limit": options.seconds},
            quiet=True,
        )
    )
    best = environment["best_config"]
    return {
        "wall_s": wall,
        "evaluations": len(results) + len(environment.get("failed", [])),
        "config": {name: int(best[name]) for name in CONVOLUTION},
    }


def call_convolution(options, inputs, answer):
    """Compiled by CuPy, whichever tuner chose."""
    import cupy

    config = answer["config"]
    module = cupy.RawModule(
        code='extern "C" {\n' + convolution_source(options) + "\n}",
        options=("--std=c++11", *(f"-D{name}={value}" for name, value in config.items())),
    )
    image, weights, result = (cupy.asarray(inputs[name]) for name in ("image", "weights", "result"))
    cupy.ndarray(weights.shape, weights.dtype, module.get_global("d_filter"))[:] = weights
    kernel, block = module.get_function("convolution_kernel"), (config["block_size_x"], config["block_size_y"])
    grid = tuple(math.ceil(IMAGE / size / config[f"tile_size_{axis}"]) for axis, size in zip("xy", block))

    def call():
        kernel(grid, block, (result, image, weights))
        return inputs["result"]

    return call


# name -> inputs, the right result, the norm of the difference that is tolerated
PROBLEMS = {
    "product f16": (product_inputs, right_product, 1e-2),
    "product bf16, B transposed": (product_bf16_inputs, right_product, 1e-2),
    "convolution f32, 9 x 9": (convolution_inputs, right_convolution, 1e-5),
}
F16, BF16, IMAGES = PROBLEMS
KERNEL_TUNER, COMPAT = "kernel_tuner", "xtune.compat.kernel_tuner"
HOPPER = functools.partial(Contender, name="xtune (gemm_hopper)", package="xtune", seconds=8)
CUBLAS = functools.partial(Contender, name="cuBLAS", package="torch", tune=None, call=call_cublas)
CONTENDERS = [
    Contender(
        IMAGES,
        "Kernel Tuner",
        "kernel_tuner",
        functools.partial(tune_convolution, KERNEL_TUNER),
        call_convolution,
        30,
        75,
    ),
    Contender(
        IMAGES,
        "xtune (the same script)",
        "xtune",
        functools.partial(tune_convolution, COMPAT),
        call_convolution,
        30,
        75,
    ),
    Contender(F16, "triton.autotune", "triton", functools.partial(tune_triton, "triton"), call_triton),
    Contender(F16, "xtune.autotune (the same kernel)", "xtune", functools.partial(tune_triton, "xtune"), call_triton),
    HOPPER(F16, tune=tune_hopper, call=call_hopper),
    Contender(F16, "Helion", "helion", tune_helion, call_helion, 60, 120),
    CUBLAS(F16),
    Contender(
        BF16, "TileLang (its model's 20)", "tilelang", functools.partial(tune_tilelang, True), call_tilelang, limit=90
    ),
    Contender(
        BF16, "TileLang (its grid)", "tilelang", functools.partial(tune_tilelang, False), call_tilelang, limit=180
    ),
    HOPPER(BF16, tune=tune_hopper, call=call_hopper),
    CUBLAS(BF16),
]
