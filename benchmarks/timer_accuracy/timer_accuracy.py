#!/usr/bin/env python3
"""Measures kernels of known length with xtune, with a loop over event pairs, and with triton.testing.do_bench.

A kernel counts cycles of its compute unit's clock (spin.cu), so that it lasts cycles / clock. The clock is what the
same kernel counts in some milliseconds of the device's timer; no event has a part in it.

  benchmarks/timer_accuracy/timer_accuracy.py build/run/src/cli/xtune

Needs the xtune program, an NVIDIA GPU, and Python with CuPy; with PyTorch and Triton their timers are compared too.
Exits with 1 when xtune misses its target, unless --no-check is given: an error of at most 3 % or 0.3 us, and for
repeated runs of one configuration a spread (max - min) / median of at most 0.5 %, from 20 us on.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

LENGTHS_US = [2, 5, 20, 200, 2000]
HERE = pathlib.Path(__file__).resolve().parent


class Device:
    """The spin kernel without xtune."""

    def __init__(self):
        import cupy

        self.cupy = cupy
        text = (HERE / "spin.cu").read_text()
        self.kernel, self.counting = cupy.RawKernel(text, "spin"), cupy.RawKernel(text, "spin_counted")
        self.out = cupy.zeros(2, dtype=cupy.uint64)
        self.mhz = self.clock_mhz()

    def launch(self, cycles):
        self.kernel((1,), (1,), (self.cupy.uint64(cycles),))

    def count(self, cycles):
        self.counting((1,), (1,), (self.out, self.cupy.uint64(cycles)))

    def clock_mhz(self):
        """Of a device that was kept busy for a while."""
        for _ in range(100):
            self.count(4_000_000)
        cycles, ns = (int(value) for value in self.out.get())
        return cycles / ns * 1e3

    def counted(self, cycles):
        """What the kernel counts when it is to count that many: it looks at the clock now and then only."""
        counts = []
        for _ in range(20):
            self.count(cycles)
            counts.append(int(self.out.get()[0]))
        return statistics.median(counts)

    def event_loop_us(self, cycles):
        times = []
        for _ in range(60):
            start, stop = self.cupy.cuda.Event(), self.cupy.cuda.Event()
            start.record()
            self.launch(cycles)
            stop.record()
            stop.synchronize()
            times.append(self.cupy.cuda.get_elapsed_time(start, stop) * 1e3)
        return statistics.median(times[10:])

    def do_bench_us(self, cycles):
        try:
            import torch
            import triton.testing
        except ImportError:
            return None
        # PyTorch's own stream and CuPy's are both the default one: the events of the one enclose the other's launches.
        assert torch.cuda.current_stream().cuda_stream == self.cupy.cuda.get_current_stream().ptr
        return triton.testing.do_bench(lambda: self.launch(cycles), return_mode="median") * 1e3


def records_of(store):
    for path in sorted(pathlib.Path(store).glob("records/**/*.jsonl")):
        for line in path.read_text().splitlines()[1:]:
            yield json.loads(line)


def run(arguments, spec, *more):
    """The records of one `xtune run` in a store of its own."""
    with tempfile.TemporaryDirectory() as store:
        command = [
            arguments.xtune,
            "run",
            str(spec),
            "--backend",
            arguments.backend,
            "--store",
            store,
            "--quiet",
            "--format",
            "json",
            *more,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr}{done.stdout}")
        return list(records_of(store))


def spin_runs(arguments, mode, cycles, folder):
    """Record by length in cycles, one dictionary a repetition."""
    spec = pathlib.Path(folder) / f"spin-{mode}.toml"
    text = (HERE / "spin.toml").read_text().replace('"spin.cu"', json.dumps(str(HERE / "spin.cu")))
    if mode == "rotate":
        text = text.replace('mode = "cold"', 'flush = "rotate"')
    text = text.replace('mode = "cold"', f'mode = "{mode}"')
    spec.write_text(text + "".join(f"\n[[cases]]\nCYCLES = {count}\n" for count in cycles))
    return [{record["problem"]["CYCLES"]: record for record in run(arguments, spec)} for _ in range(arguments.repeat)]


def spread(times):
    return (max(times) - min(times)) / statistics.median(times)


def print_table(rows):
    widths = [max(len(line[i]) for line in rows) for i in range(len(rows[0]))]
    for line in [rows[0], ["-" * width for width in widths], *rows[1:]]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print()


def accuracy(arguments, device, folder):
    cycles = [round(length * device.mhz) for length in LENGTHS_US]
    truth_us = {count: device.counted(count) / device.mhz for count in cycles}
    modes = ["cold", "hot"]
    runs = {mode: spin_runs(arguments, mode, cycles, folder) for mode in modes}
    error = [["length us", *(f"xtune {mode}" for mode in modes), "event loop", "do_bench", "met"]]
    spreads = [
        [
            "length us",
            *(f"spread {mode}" for mode in modes),
            "launches (hot)",
            "overhead us (cold, hot)",
            "clock MHz",
            "met",
        ]
    ]
    met = True
    for count in cycles:
        truth = truth_us[count]
        times = {mode: [one[count]["time_ms"]["median"] * 1e3 for one in runs[mode]] for mode in modes}
        of_xtune = {mode: statistics.median(times[mode]) - truth for mode in modes}
        good = all(abs(wrong) <= max(0.03 * truth, 0.3) for wrong in of_xtune.values())
        others = [device.event_loop_us(count), device.do_bench_us(count)]
        wrongs = [*(of_xtune[mode] for mode in modes), *(None if time is None else time - truth for time in others)]
        error.append(
            [
                f"{truth:.2f}",
                *("-" if wrong is None else f"{wrong:+.3f} us ({wrong / truth:+.2%})" for wrong in wrongs),
                "yes" if good else "NO",
            ]
        )
        steady = truth < 19 or all(spread(times[mode]) <= 0.005 for mode in modes)
        hot, cold = runs["hot"][0][count].get("telemetry", {}), runs["cold"][0][count].get("telemetry", {})
        spreads.append(
            [
                f"{truth:.2f}",
                *(f"{spread(times[mode]):.3%}" for mode in modes),
                str(hot.get("launches", 1)),
                f"{cold.get('overhead_ms', 0) * 1e3:.3f}, {hot.get('overhead_ms', 0) * 1e3:.3f}",
                f"{hot.get('clock_mhz', 0):.0f}",
                "yes" if steady else "NO",
            ]
        )
        met = met and good and steady
    print(f"clock: {device.mhz:.1f} MHz before, {device.clock_mhz():.1f} MHz after\n")
    print("error of the median time:")
    print_table(error)
    print(f"spread of {arguments.repeat} runs:")
    print_table(spreads)
    return met


def repeated(arguments, spec):
    """One configuration of a real kernel, measured in several runs."""
    records = [
        run(arguments, spec, "--evals", "1", "--strategy", "random", "--seed", "3")[0] for _ in range(arguments.repeat)
    ]
    if any(record["outcome"] != "ok" for record in records):
        sys.exit(f"{spec}: the configuration ended as {[record['outcome'] for record in records]}")
    times = [record["time_ms"]["median"] for record in records]
    good = spread(times) <= 0.005
    print(
        f"{spec} {records[0]['config']}: median {statistics.median(times):.5f} ms, spread of {len(times)} runs "
        f"{spread(times):.3%} {'met' if good else 'NOT met'}; telemetry {records[0].get('telemetry')}"
    )
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xtune", help="the program")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each configuration")
    parser.add_argument("--spec", action="append", default=[], help="also measure one configuration of this spec")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 whatever comes out")
    arguments = parser.parse_args()
    device = Device()
    with tempfile.TemporaryDirectory() as folder:
        met = accuracy(arguments, device, folder)
    for spec in arguments.spec:
        met = repeated(arguments, spec) and met
    return 0 if met or arguments.no_check else 1


if __name__ == "__main__":
    sys.exit(main())
