# SPDX-License-Identifier: Apache-2.0
"""A server for xtune that compiles a Triton kernel for each configuration: sums of rows. Needs PyTorch and Triton."""
import json
import os
import sys

# Whatever libraries print must not be among the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources


@triton.jit
def row_sum(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(y + row, tl.sum(sums))


class Problem:
    """The arrays of one problem, made once."""

    def __init__(self, rows, columns):
        self.columns = columns
        self.x = torch.rand(rows, columns, device="cuda")
        self.y = torch.empty(rows, device="cuda")
        self.expected = self.x.double().sum(1).float()

    def launch(self, config):
        row_sum[(self.y.numel(),)](
            self.x, self.y, self.columns, BLOCK=config["BLOCK"], num_warps=config["WARPS"], num_stages=config["STAGES"]
        )

    def right(self, config):
        self.y.fill_(float("nan"))
        self.launch(config)
        return torch.allclose(self.y, self.expected, rtol=1e-4)


def measure(problem, request):
    config = request["config"]
    try:
        problem.launch(config)
        torch.cuda.synchronize()
    except OutOfResources as error:
        return {"error": "rejected", "message": str(error)}
    except triton.CompilationError as error:
        return {"error": "compile_failed", "message": str(error)}
    if request["validate"] and not problem.right(config):
        return {"error": "wrong_result", "message": "the sums differ from torch.sum"}
    # do_bench flushes the L2 cache before each launch; a failed launch raises, and ends the server.
    times_ms = [
        triton.testing.do_bench(lambda: problem.launch(config), warmup=2, rep=10, return_mode="median")
        for _ in range(request["samples"])
    ]
    gb_per_s = [4 * problem.x.numel() / time_ms / 1e6 for time_ms in times_ms]
    return {"times_ms": times_ms, "validated": request["validate"], "metrics": {"GB_per_s": gb_per_s}}


def main():
    problems = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "start":
            answer = {"protocol": 1}
        else:
            sizes = request["problem"]["ROWS"], request["problem"]["COLUMNS"]
            if sizes not in problems:
                problems[sizes] = Problem(*sizes)
            answer = measure(problems[sizes], request)
        answers.write(json.dumps({"id": request["id"], **answer}) + "\n")


main()
