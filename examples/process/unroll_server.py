# SPDX-License-Identifier: Apache-2.0
"""A server for xtune: it generates a matrix product in plain Python, a function for each configuration.

Each configuration is one line of JSON on standard input, and its answer one line on standard output. The generated
functions are kept, so that a configuration is compiled once, however often xtune asks for more samples of it.
"""
import json
import os
import sys
import time

# Whatever else is printed must not be among the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def source_of(order, unroll, n):
    """Three loops in this order, the innermost unrolled."""
    if n % unroll:
        raise ValueError(f"UNROLL = {unroll} does not divide N = {n}")
    inner = order[2]
    lines = ["def product(a, b, c, n):"]
    for depth, index in enumerate(order):
        step = f", {unroll}" if index == inner else ""
        lines.append("  " * (depth + 1) + f"for {index} in range(0, n{step}):")
    for offset in range(unroll):
        at = {index: f"{index} + {offset}" if index == inner else index for index in "ijk"}
        lines.append(f"        c[{at['i']}][{at['j']}] += a[{at['i']}][{at['k']}] * b[{at['k']}][{at['j']}]")
    return "\n".join(lines)


class Configurations:
    def __init__(self):
        self.compiled = {}

    def get(self, config, n):
        key = (config["ORDER"], config["UNROLL"], n)
        if key not in self.compiled:
            names = {}
            exec(compile(source_of(*key), "<generated>", "exec"), names)
            self.compiled[key] = names["product"]
        return self.compiled[key]


def matrices(n):
    a = [[(3 * i + k) % 7 for k in range(n)] for i in range(n)]
    b = [[(k + 5 * j) % 11 for j in range(n)] for k in range(n)]
    return a, b


def right(a, b, c, n):
    return all(c[i][j] == sum(a[i][k] * b[k][j] for k in range(n)) for i in range(n) for j in range(n))


def measure(configurations, request):
    n = request["problem"]["N"]
    try:
        product = configurations.get(request["config"], n)
    except (SyntaxError, ValueError) as error:
        return {"error": "compile_failed", "message": str(error)}
    a, b = matrices(n)
    times_ms = []
    for _ in range(request["samples"]):
        c = [[0] * n for _ in range(n)]
        start = time.perf_counter()
        product(a, b, c, n)
        times_ms.append((time.perf_counter() - start) * 1e3)
    if request["validate"] and not right(a, b, c, n):
        return {"error": "wrong_result", "message": "the product differs"}
    rate = 2 * n**3 / (min(times_ms) * 1e3)
    return {"times_ms": times_ms, "validated": request["validate"], "metrics": {"MFLOPS": rate}}


def main():
    configurations = Configurations()
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"protocol": 1} if request["do"] == "start" else measure(configurations, request)
        answers.write(json.dumps({"id": request["id"], **answer}) + "\n")


main()
