# SPDX-License-Identifier: Apache-2.0
"""Metrics and goals as callables, and configurations as callables that time themselves."""
import math
import pathlib
import tempfile
import unittest

from support import HOST, N, QUICK, arrays, np, saxpy, xtune


def tuned(tunable, **settings):
    return xtune.tune(tunable, **{**HOST, **settings})


class Metrics(unittest.TestCase):
    def test_get_what_they_name(self):
        seen = []

        def with_more(values):
            seen.append(values)
            return values["half"] + 1

        result = tuned(saxpy(metrics={"half": lambda BLOCK, UNROLL, n: (BLOCK + UNROLL + n) / 2, "more": with_more,
                                      "rate": lambda n, time_s, time_ms: n / time_s if time_ms > 0 else None,
                                      "none": lambda: None, "text": "n / 2"}))
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
        self.assertEqual([each.metrics["value"] for each in again.measurements],
                         [-each.config["BLOCK"] for each in again.measurements])

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
                self.assertEqual(xtune.best(tunable, {"n": N}, backend="host", store=store).config,
                                 choices[-1].best.config)
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

        @xtune.autotune(params={"BLOCK": [32, 64]}, grid="ceildiv(n, BLOCK)", block="BLOCK", measure=QUICK,
                        maximize=lambda BLOCK: BLOCK, tune_settings=HOST)
        def twice(x: xtune.InOut, n: np.int32):
            return ('extern "C" __global__ void twice(float* x, int n) '
                    "{ int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) x[i] *= 2; }")

        x, _ = arrays(64)
        twice(x, 64)
        self.assertEqual(twice.best_config, {"BLOCK": 64})
        self.assertEqual(x[63], 126)


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
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "takes 4 arguments"):
            kernel.benchmark(x)
        with self.assertRaisesRegex(TypeError, "no argument 'z'"):
            kernel.benchmark(x, y, 0.0, z=1)


if __name__ == "__main__":
    unittest.main()
