# SPDX-License-Identifier: Apache-2.0
"""Records as results of other tuners: Kernel Tuner's T4 file and the lines of kbench's output.csv, for `xtune store
export`."""
import datetime
import re
import statistics

from ._text import value_text

# By the enumeration of the T4 schema.
INVALIDITY = {
    "ok": "correct",
    "pruned": "correct",
    "rejected": "constraints",
    "compile_failed": "compile",
    "wrong_result": "correctness",
    "timed_out": "timeout",
}
KBENCH_COLUMNS = (
    "throughput (GElems/s)",
    "DataMovement (GB/s)",
    "Arithmetic (GFLOPS/s)",
    "TheoreticalArithmetic (GFLOPS/s)",
)


def medians_of(record):
    """The metrics that its program reported."""
    return {
        metric: statistics.median(map(float, values)) if values else None
        for metric, values in record.get("reported", {}).items()
    }


def finals_goals(records):
    """What the newest finals compared: "median least energy_j, most rate" names two goals. Empty: the time."""
    newest = max(records, key=lambda record: ("finals" in record, record["unix_time_ms"]), default={})
    text = newest.get("finals_by", "") if "finals" in newest else ""
    return re.findall(r"\b(?:least|most) (.+?)(?: \(\S+ \S+\))?(?=, (?:least|most) |$)", text)


def values_of(record, goals):
    """Of goals, as far as the record has them itself."""
    known = {**record.get("usage", {}), **record.get("telemetry", {}), **medians_of(record)}
    return {goal: known.get(goal, record["time_ms"]["median"] if goal == "time_ms" else None) for goal in goals}


def measurements_of(record, goals):
    time = {"name": "time", "value": record["time_ms"]["median"], "unit": "ms"}
    return [time] + [{"name": name, "value": value, "unit": ""} for name, value in goals.items() if value is not None]


def t4_result(record, finals_goals):
    passed = record["outcome"] == "ok"
    goals = record.get("goals") or (values_of(record, finals_goals) if passed else dict.fromkeys(finals_goals))
    failed_in = "compile" if record.get("stage") == "compile" else "runtime"
    when = datetime.datetime.fromtimestamp(record["unix_time_ms"] // 1000, datetime.timezone.utc)
    return {
        "timestamp": when.isoformat(),
        "configuration": record["config"],
        "objectives": list(goals) or ["time"],
        "times": {
            "compilation_time": record.get("compile_s", 0) * 1e3,
            "framework": 0,
            "search_algorithm": 0,
            "validation": 0,
            "runtimes": record.get("samples_ms", []),
        },
        "invalidity": INVALIDITY.get(record["outcome"], failed_in),
        "correctness": int(record["outcome"] in ("ok", "pruned")),
        "measurements": measurements_of(record, goals) if passed else [],
    }


def kbench_row(record):
    """Its column spec is "gemm/M=64/BLOCK=128"."""
    columns = {column.split(" (")[0]: column for column in KBENCH_COLUMNS}
    row = {"name": record["kernel"], "met (ms)": record["time_ms"]["median"], "iters": record["time_ms"]["count"]}
    row.update({columns.get(metric, metric): value for metric, value in medians_of(record).items()})
    bindings = (f"{name}={value_text(value)}" for part in ("problem", "config") for name, value in record[part].items())
    row["spec"] = "/".join((record["kernel"], *bindings))
    return row


def answer(request, warnings):
    """request: "format" and "records". Returns the file of T4 results, or the rows of the table."""
    if request["format"] == "kbench":
        return [kbench_row(record) for record in request["records"]]
    goals = finals_goals(request["records"])
    return {"schema_version": "1.0.0", "results": [t4_result(record, goals) for record in request["records"]]}
