"""What the fault campaign tunes: numbered configurations, of which some have a fault, and the spec that says so."""
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Fault of faults.cu -> the outcome and the stage that its record must have: one of these. None: it has no record, as a
# worker that is killed by SIGKILL may have been killed for memory.
FAULTS = {
    "compiler_crash": [("crashed", "compile")],
    "illegal_address": [("crashed", "run")],
    "trap": [("crashed", "run")],
    "infinite_loop": [("timed_out", "run")],
    "out_of_bounds_write": [("wrong_result", "validate")],
    "changed_input": [("wrong_result", "measure")],
    "wrong_result": [("wrong_result", "validate")],
    "nan_output": [("wrong_result", "validate")],
    "heap_overrun": [("wrong_result", "validate"), ("crashed", "run"), ("timed_out", "run")],
    "kill_worker": [],
    "exit_worker": [("crashed", "run")],
}
# Only a kernel that runs in its worker's own process can end it, or damage its heap.
HOST_ONLY = ("heap_overrun", "kill_worker", "exit_worker")

SHARE = 0.3
# Turns of the kernel's loop. A faulty configuration that is accepted is faster than the best and takes its place.
# On a busy CPU a kernel may wait several milliseconds before it runs: the others take longer than that, on a single
# core since there is a single block.
FAULTY_WORK, BEST_WORK, LEAST_WORK = 1, 4, 100000

SPEC = """[kernel]
name = "fault_campaign"
source = "campaign.cu"
entry = "faults"
options = ["-std=c++17"]
compile_timeout_s = 60

[problem]
N = 256

[space.params]
ID = {{ min = 0, max = {last}, step = 1 }}

[launch]
grid = ["ceildiv(N, 256)"]
block = [256]

[[args]]
name = "x"
dtype = "f32"
shape = ["N"]

[[args]]
name = "y"
dtype = "f32"
shape = ["N"]
role = "out"

[[args]]
name = "n"
kind = "scalar"
dtype = "i32"
value = "N"

[validate]
reference = {{ kernel = "reference", source = "reference.cu", grid = ["ceildiv(N, 256)"], block = [256] }}

[measure]
rep = 10
max_time_ms = 50
statistic = "min"
timeout_s = {timeout_s}

[search]
strategy = "exhaustive"
"""


class Plan:
    """`faults[id]` is the fault of configuration id, `best` the id of the fastest right one."""

    def __init__(self, random, configs, backend):
        kinds = [fault for fault in FAULTS if backend == "host" or fault not in HOST_ONLY]
        faulty = random.sample(range(configs), round(SHARE * configs))
        # Each kind in turn, so that a small campaign includes all of them.
        self.faults = {number: kinds[turn % len(kinds)] for turn, number in enumerate(faulty)}
        right = [number for number in range(configs) if number not in self.faults]
        self.best = random.choice(right)
        self.work = {number: random.randint(LEAST_WORK, 2 * LEAST_WORK) for number in range(configs)}
        self.work[self.best] = BEST_WORK
        self.configs = configs

    def write_spec(self, folder, with_faults, timeout_s):
        """Writes spec and sources into a new folder; returns the spec's path."""
        folder.mkdir(parents=True)
        for name in ("faults.cu", "reference.cu"):
            shutil.copy(HERE / name, folder / name)
        lines = ["#define JOIN_TOKENS(a, b) a##b", "#define JOIN(a, b) JOIN_TOKENS(a, b)"]
        for number in range(self.configs):
            fault = self.faults.get(number, "none") if with_faults else "none"
            work = self.work[number] if fault == "none" else FAULTY_WORK
            lines += [f"#define FAULT_{number} {fault}", f"#define WORK_{number} {work}"]
        lines += ["#define FAULT JOIN(FAULT_, ID)", "#define WORK JOIN(WORK_, ID)", '#include "faults.cu"']
        (folder / "campaign.cu").write_text("\n".join(lines) + "\n")
        spec = folder / "campaign.toml"
        spec.write_text(SPEC.format(last=self.configs - 1, timeout_s=timeout_s))
        return spec
