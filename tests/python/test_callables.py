# SPDX-License-Identifier: Apache-2.0
"""Metrics and goals as callables, and configurations as callables that time themselves."""
import functools
import importlib
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

from support import HOST, N, QUICK, arrays, np, saxpy, xtune
from xtune._labels import label_of


def tuned(tunable, **settings):
    return xtune.tune(tunable, **{**HOST, **settings})


class Metrics(unittest.TestCase):
    def test_get_what_they_name(self):
        seen = []

        def with_more(values):
            seen.append(values)
            return values["half"] + 1

        result = tuned(
            saxpy(
                metrics={
                    "half": lambda BLOCK, UNROLL, n: (BLOCK + UNROLL + n) / 2,
                    "more": with_more,
                    "rate": lambda n, time_s, time_ms: n / time_s if time_ms > 0 else None,
                    "none": lambda: None,
                    "text": "n / 2",
                }
            )
        )
        for each in result.measurements:
            config = each.config
            self.assertEqual(each.metrics["half"], (config["BLOCK"] + config["UNROLL"] + N) / 2)
            self.assertEqual(each.metrics["more"], each.metrics["half"] + 1)
            self.assertAlmostEqual(each.metrics["rate"] * each.time_ms, 1e3 * N, delta=1e-6 * N)
            self.assertTrue(math.isnan(each.metrics["none"]))
            self.assertEqual(each.metrics["text"], N / 2)
        self.assertIn("time_ms", seen[0])
        self.assertIn("device.compute_units", seen[0])

    def test_are_not_stored(self):
        with tempfile.TemporaryDirectory() as store:
            tuned(saxpy(metrics={"value": lambda BLOCK: BLOCK}), store=store)
            again = tuned(saxpy(metrics={"value": lambda BLOCK: -BLOCK}), store=store)
        self.assertEqual(again.from_store, 4)
        self.assertEqual(
            [each.metrics["value"] for each in again.measurements],
            [-each.config["BLOCK"] for each in again.measurements],
        )

    def test_mistakes_are_explained(self):
        def fail(BLOCK):
            raise KeyError("on purpose")

        with self.assertRaisesRegex(KeyError, "on purpose"):
            tuned(saxpy(metrics={"value": fail}))
        with self.assertRaisesRegex(TypeError, "the metric 'value' has a parameter 'BLOK'"):
            tuned(saxpy(metrics={"value": lambda BLOK: 1}))
        with self.assertRaisesRegex((TypeError, ValueError), "float"):
            tuned(saxpy(metrics={"value": lambda BLOCK: "wide"}))
        self.assertIn("# in code", saxpy(metrics={"value": lambda BLOCK: 1}).toml())


class Goals(unittest.TestCase):
    def test_decide_whatever_the_time_is(self):
        def key(UNROLL, BLOCK):
            return 100 * UNROLL + BLOCK

        low = tuned(saxpy(minimize=key, measure={**QUICK, "race": True, "finals": 8}))
        high = tuned(saxpy(maximize=key))
        self.assertEqual(low.best.config, {"UNROLL": 1, "BLOCK": 32})
        self.assertEqual(high.best.config, {"UNROLL": 2, "BLOCK": 64})
        self.assertEqual(low.best.metrics["goal"], 132)
        self.assertEqual(low.counts, {"ok": 4})  # none was pruned

    def test_another_goal_answers_from_the_same_measurements(self):
        with tempfile.TemporaryDirectory() as store:
            choices = []
            for sign in (1, -1):  # one code, two closures: the label does not tell them apart
                tunable = saxpy(minimize=lambda BLOCK, UNROLL: sign * (BLOCK + UNROLL))
                choices.append(tuned(tunable, store=store))
                self.assertEqual(
                    xtune.best(tunable, {"n": N}, backend="host", store=store).config, choices[-1].best.config
                )
        self.assertEqual(choices[1].from_store, 4)
        self.assertEqual([each.best.config["BLOCK"] for each in choices], [32, 64])

    def test_two_goals_and_expressions(self):
        result = tuned(saxpy(minimize=[lambda BLOCK: BLOCK, lambda UNROLL: UNROLL]))
        self.assertEqual(result.best.config, {"UNROLL": 1, "BLOCK": 32})
        self.assertEqual(set(result.best.metrics), {"goal", "goal_2"})
        tunable = saxpy(metrics={"size": lambda BLOCK: BLOCK}).maximize("size")
        self.assertEqual(tuned(tunable).best.config["BLOCK"], 64)

    def test_of_functions_and_decorators(self):
        @xtune.autotune(params={"STEP": [3, 1, 2]}, minimize=lambda STEP: STEP, tune_settings={"keep": False})
        def work(*, STEP):
            return STEP

        self.assertEqual(work(), 1)

        @xtune.autotune(
            params={"BLOCK": [32, 64]},
            grid="ceildiv(n, BLOCK)",
            block="BLOCK",
            measure=QUICK,
            maximize=lambda BLOCK: BLOCK,
            tune_settings=HOST,
        )
        def twice(x: xtune.InOut, n: np.int32):
            return (
                'extern "C" __global__ void twice(float* x, int n) '
                "{ int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) x[i] *= 2; }"
            )

        x, _ = arrays(64)
        twice(x, 64)
        self.assertEqual(twice.best_config, {"BLOCK": 64})
        self.assertEqual(x[63], 126)


LIMIT = 1.0
EXPECTED = np.zeros(4)


class Judge:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, y):
        return self._largest(y) < self.limit

    def _largest(self, y):
        return y.max()


class OtherJudge(Judge):
    def _largest(self, y):
        return y.min()


def judge_of(limit):
    return lambda y: y.max() < limit


def with_global(y):
    return y.max() < LIMIT and np.allclose(y, EXPECTED)


class Limits:
    upper = 3

    @staticmethod
    def of(y):
        return y.max() < Limits.upper


def calls_another(y):
    return with_global(y) and Limits.of(y)


class Labels(unittest.TestCase):
    """A check whose verdict may differ has another label; the same check has the same one in every process."""

    def test_differ_with_everything_that_a_callable_uses(self):
        pairs = [
            (lambda y: y.max() < 1, lambda y: y.max() < 2),
            (judge_of(1), judge_of(2)),
            (Judge(1), Judge(2)),
            (Judge(1), OtherJudge(1)),
            (Judge(1).__call__, Judge(2).__call__),
            (functools.partial(judge_of, 1), functools.partial(judge_of, 2)),
            (functools.partial(lambda y: True), functools.partial(lambda y: False)),
            (lambda y: all(v >= 0 for v in y), lambda y: all(v < 0 for v in y)),
            (lambda y: y.size in {1024, 3}, lambda y: y.size in {2, 3}),
            (lambda y, limit=1: y.max() < limit, lambda y, limit=2: y.max() < limit),
            (judge_of(np.float32(1)), judge_of(np.float64(1))),
            (judge_of(None), judge_of("None")),
            (judge_of(True), judge_of(1)),
            (judge_of([1, [2]]), judge_of([1, 2])),
            (judge_of(np.arange(4)), judge_of(np.arange(1, 5))),
            (judge_of({"a": 1}), judge_of({"a": 2})),
            (judge_of(threading.Lock()), judge_of(threading.Lock())),
        ]
        for one, other in pairs:
            with self.subTest(one=one):
                self.assertNotEqual(label_of(one), label_of(other))

    def test_follow_globals_and_functions_of_the_module(self):
        for name, value in (("LIMIT", 2.0), ("EXPECTED", np.ones(4))):
            for function in (with_global, calls_another):
                before = label_of(function)
                with unittest.mock.patch.dict(function.__globals__, {name: value}):
                    self.assertNotEqual(label_of(function), before)
                self.assertEqual(label_of(function), before)
        before = label_of(calls_another)
        for member, value in (("upper", 4), ("of", staticmethod(lambda y: False))):
            with unittest.mock.patch.object(Limits, member, value):
                self.assertNotEqual(label_of(calls_another), before)

    def test_are_the_same_for_the_same(self):
        loop = []
        loop.append(loop)
        for make in (
            lambda: judge_of((1, (2, "a"))),
            lambda: Judge(np.ones(3)),
            lambda: functools.partial(judge_of, limit=3),
            lambda: judge_of({"b", "a"}),
            lambda: judge_of(loop),
            lambda: calls_another,
            lambda: judge_of(pathlib.Path("a")),
        ):
            self.assertEqual(label_of(make()), label_of(make()))
        code = "import support, test_callables as t; print(t.label_of(t.calls_another), t.label_of(t.Judge(3)))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout.split(), [label_of(self._named().calls_another), label_of(self._named().Judge(3))])

    @staticmethod
    def _named():
        return importlib.import_module("test_callables")

    def test_of_functions_that_are_timed_follow_shapes_and_numbers_only(self):
        self.assertEqual(
            label_of(judge_of(np.zeros(3)), contents=False), label_of(judge_of(np.ones(3)), contents=False)
        )
        self.assertNotEqual(
            label_of(judge_of(np.zeros(3)), contents=False), label_of(judge_of(np.zeros(4)), contents=False)
        )
        self.assertNotEqual(label_of(Judge(1), contents=False), label_of(Judge(2), contents=False))
        self.assertEqual(label_of(judge_of(threading.Lock()), False), label_of(judge_of(threading.Lock()), False))
        cached = [functools.lru_cache()(function) for function in (judge_of(1), judge_of(1), judge_of(2))]
        labels = [label_of(judge_of(each), contents=False) for each in cached]
        self.assertEqual(labels[0], labels[1])
        self.assertNotEqual(labels[0], labels[2])

    def test_a_changed_tolerance_checks_stored_results_again(self):
        with tempfile.TemporaryDirectory() as store:

            def outcomes(limit):
                return xtune.tune(saxpy(check=judge_of(limit)), store=store, **HOST).counts

            self.assertEqual(outcomes(1e9), {"ok": 4})
            self.assertEqual(outcomes(1e9), {"ok": 4})
            self.assertEqual(outcomes(1.0), {"wrong_result": 4})


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = tuned(saxpy())

    def test_every_configuration_of_a_result_can_be_called(self):
        for each in self.result.measurements:
            x, y = arrays()
            kernel = self.result.kernel(each.config)
            kernel(x, y, 2.0, N)
            np.testing.assert_array_equal(y, 2 * x + 1)
            self.assertEqual(kernel.choice().config, each.config)
        with self.assertRaisesRegex(xtune.NothingValidError, "not valid"):
            self.result.kernel({"BLOCK": 33, "UNROLL": 1})

    def test_a_result_without_a_store_leaves_none(self):
        with tempfile.TemporaryDirectory() as place:
            result = tuned(saxpy(), store=place, keep=False)
            x, y = arrays()
            result.kernel(result.measurements[0].config)(x, y, 2.0, N)
            self.assertEqual(list(pathlib.Path(place).iterdir()), [])
        self.assertEqual(y[1], 3)

    def test_a_loaded_result_has_only_the_winner(self):
        with tempfile.TemporaryDirectory() as place:
            self.result.save(pathlib.Path(place) / "saved")
            loaded = xtune.Result.load(pathlib.Path(place) / "saved")
            loaded.kernel()
            with self.assertRaisesRegex(xtune.UnavailableError, "compile_all"):
                loaded.kernel(self.result.measurements[0].config)

    def test_compiled_configurations_are_called_and_timed(self):
        tunable = saxpy()
        compiled = xtune.compile_all(tunable, xtune.all_configs(tunable, backend="host"), **HOST)
        self.assertEqual(len(compiled), 4)
        for each in compiled:
            x, y = arrays()
            each(x, y, a=2.0, n=N)
            np.testing.assert_array_equal(y, 2 * x + 1)
            timing = each.benchmark(x, y, 0.0, N, samples=5)
            self.assertIsInstance(timing, xtune.Timing)
            self.assertEqual(timing.samples, 5)
            self.assertTrue(0 < timing.low_ms <= timing.median_ms <= timing.high_ms)

    def test_warm_and_cold(self):
        kernel = self.result.kernel()
        x, y = arrays()
        for cold in (True, False):
            timing = kernel.benchmark(x, y, a=0.0, n=N, cold=cold, samples=3, min_sample_ms=0.05)
            self.assertEqual(timing.samples, 3)
        self.assertEqual(kernel.benchmark(x, y, 0.0, N, max_seconds=0).samples, 1)
        np.testing.assert_array_equal(y, 1)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "samples is 0"):
            kernel.benchmark(x, y, 0.0, N, samples=0)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "argument 'y' is missing"):
            kernel.benchmark(x)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "takes 4 arguments"):
            kernel.benchmark(x, y, 0.0, z=1)


if __name__ == "__main__":
    unittest.main()
