# SPDX-License-Identifier: Apache-2.0
"""An advisor for xtune, without a language model: it proposes neighbours of the best configurations so far.

xtune starts it for each question, with the question as JSON on standard input. It prints a list of configurations.
"""
import json
import sys


def neighbours(config, parameters):
    for name, values in parameters.items():
        at = values.index(config[name])
        for other in (at - 1, at + 1):
            if 0 <= other < len(values):
                yield {**config, name: values[other]}


def proposals(question):
    measured = [record for record in question["records"] if record["outcome"] == "ok"]
    known = [record["config"] for record in question["records"]]
    if not measured:
        # Nothing is known yet: the middle of each list of values.
        yield {name: values[len(values) // 2] for name, values in question["parameters"].items()}
        return
    for record in sorted(measured, key=lambda record: record["time_ms"]):
        for config in neighbours(record["config"], question["parameters"]):
            if config not in known:
                known.append(config)
                yield config


question = json.load(sys.stdin)
for refused in question["refused"]:
    print(f"refused: {refused['config']}: {refused['reason']}", file=sys.stderr)
print(json.dumps([config for config, _ in zip(proposals(question), range(question["wanted"]))]))
