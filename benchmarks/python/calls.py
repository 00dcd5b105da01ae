#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call of a tuned kernel costs from Python, beside calls of others. calls.py [--backend host|cuda] [--repeats N]

host: a kernel of one thread with NumPy arrays, beside a function of the C library through ctypes and a NumPy function. The
      launch on the CPU takes most of the time; the difference between 2 and 42 arguments is what an argument costs.
cuda: PyTorch tensors, beside Tensor.copy_, Tensor.add_, torch.matmul and, if it is installed, an autotuned Triton kernel. A call does
not wait for its kernel; every 100 calls the stream is waited for, outside the time, so that the queue is never full.

Prints the median over repeats of the mean time of a call in us, and its ratio to the call of xtune.
"""
import argparse
import ctypes
import statistics
import time

import numpy as np

import xtune

SOURCE = """
extern "C" __global__ void axpy(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}"""


def kernel_for(backend, n, block, checked=True):
    tunable = xtune.Tunable(
        source=SOURCE,
        params={"BLOCK": [block]},
        grid="ceildiv(n, BLOCK)",
        block="BLOCK",
        args={
            "x": xtune.In(dtype="f32", shape="n"),
            "y": xtune.InOut(dtype="f32", shape="n"),
            "a": np.float32(2),
            "n": np.int32(n),
        },
    )
    return xtune.load(tunable, backend=backend, checked=checked)


def time_of(call, repeats, between, batch=100, choose=statistics.median):
    """Microseconds of one call."""
    for _ in range(batch):
        call()
    means = []
    for _ in range(repeats):
        between()
        begin = time.perf_counter_ns()
        for _ in range(batch):
            call()
        means.append((time.perf_counter_ns() - begin) / batch / 1e3)
    between()
    return choose(means)


def wide_call(kind, count):
    """A call with `count` arrays, or `count` numbers."""
    takes, gives = {
        "array": ("float* v", xtune.InOut(dtype="f32", shape=1)),
        "number": ("float v", xtune.Scalar("f32", 1)),
    }[kind]
    parameters = ", ".join(f"{takes}{i}" for i in range(count))
    tunable = xtune.Tunable(
        "wide",
        f'extern "C" __global__ void wide({parameters}) {{}}',
        params={"P": [1]},
        grid=1,
        block=1,
        args={f"v{i}": gives for i in range(count)},
    )
    kernel = xtune.load(tunable, backend="host")
    values = [np.zeros(1, np.float32) if kind == "array" else 1.5 for _ in range(count)]
    return lambda: kernel(*values)


def print_cost_of_arguments(repeats):
    for kind in ("array", "number"):
        # The minimum: other work on the machine only adds.
        few, many = (time_of(wide_call(kind, count), repeats, lambda: None, 20, min) for count in (2, 42))
        print(f"xtune: each {kind:28}{(many - few) / 40 * 1e3:8.0f} ns")


def host_calls():
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    kernel = kernel_for("host", 1, 1)
    unchecked = kernel_for("host", 1, 1, checked=False)
    absolute = ctypes.CDLL(None).labs
    yield "xtune: kernel(x, y, 2.0, 1)", lambda: kernel(x, y, 2.0, 1)
    yield "xtune, checked=False", lambda: unchecked(x, y, 2.0, 1)
    yield "xtune, arguments by name", lambda: kernel(x=x, y=y, a=2.0, n=1)
    yield "numpy.add(x, y, out=y)", lambda: np.add(x, y, out=y)
    yield "ctypes: labs(-5)", lambda: absolute(-5)


def cuda_calls():
    import torch

    n = 4096
    x, y = torch.ones(n, device="cuda"), torch.zeros(n, device="cuda")
    kernel = kernel_for("cuda", n, 256)
    unchecked = kernel_for("cuda", n, 256, checked=False)
    stream = torch.cuda.current_stream()
    yield "xtune: kernel(x, y, 2.0, n)", lambda: kernel(x, y, 2.0, n)
    yield "xtune, stream=stream.cuda_stream", lambda: kernel(x, y, 2.0, n, stream=stream.cuda_stream)
    yield "xtune, checked=False", lambda: unchecked(x, y, 2.0, n)
    yield "Tensor.copy_", lambda: y.copy_(x)
    yield "Tensor.add_(x, alpha=2)", lambda: y.add_(x, alpha=2)

    gemm = xtune.load("gemm", backend="cuda")
    a, b, c = (torch.ones(128, 128, device="cuda") for _ in range(3))
    yield "xtune: c = gemm(a, b)", lambda: gemm(a, b)
    yield "xtune: gemm(a, b, out=c)", lambda: gemm(a, b, out=c)
    yield "xtune: gemm(a, b, c, m, n, k)", lambda: gemm(a, b, c, 128, 128, 128)
    yield "torch.matmul(a, b)", lambda: torch.matmul(a, b)
    yield "Tensor.new_empty(128, 128)", lambda: a.new_empty(128, 128)

    decorated = xtune.autotune(
        params={"BLOCK": [128, 256]},
        key=["n"],
        grid="ceildiv(n, BLOCK)",
        block="BLOCK",
        tune_settings={"backend": "cuda"},
    )(axpy)
    yield "@xtune.autotune", lambda: decorated(x, y, 2.0, n)
    try:
        import triton
    except ImportError:
        print("no Triton here")
        return
    launch = triton_axpy(triton)
    yield "Triton, autotuned", lambda: launch(x, y, n)


def axpy(x: xtune.In, y: xtune.InOut, a: np.float32, n: np.int32):
    return SOURCE


def triton_axpy(triton):
    import triton_kernels as module

    tuned = triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])(
        module.axpy
    )
    return lambda x, y, n: tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, 2.0, n)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("host", "cuda"), default="host")
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args()
    if options.backend == "cuda":
        import torch

        between, calls = torch.cuda.synchronize, cuda_calls()
    else:
        between, calls = (lambda: None), host_calls()
    first = None
    for name, call in calls:
        us = time_of(call, options.repeats, between)
        first = first or us
        print(f"{name:36} {us:8.3f} us {us / first:7.2f}")
    if options.backend == "host":
        print_cost_of_arguments(options.repeats)


if __name__ == "__main__":
    main()
