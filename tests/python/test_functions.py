# SPDX-License-Identifier: Apache-2.0
"""Functions that are prepared ahead in threads, and kernels of an imitation of Triton."""
import functools
import pickle
import tempfile
import threading
import unittest

import triton_standin as triton
from support import np, xtune

PLACE = {"keep": False, "jobs": 2}


class Prepare(unittest.TestCase):
    def test_comes_before_the_time_in_threads_and_once(self):
        lock, prepared, timed, problems = threading.Lock(), [], [], []

        def prepare(problem, config):
            with lock:
                prepared.append((config["STEP"], threading.get_ident()))
                problems.append(problem)

        def time_of(_, config):
            timed.append(config["STEP"])
            self.assertIn(config["STEP"], [step for step, _ in prepared])
            return float(config["STEP"])

        tunable = xtune.Tunable("stepping", problem={"n": 3}, params={"STEP": [4, 2, 8, 16]}, measure={"rep": 3})
        result = xtune.tune(tunable.function(time_of, "1", prepare=prepare), **PLACE)
        self.assertEqual(sorted(step for step, _ in prepared), [2, 4, 8, 16])  # also the finalists only once
        self.assertNotIn(threading.get_ident(), [thread for _, thread in prepared])
        self.assertEqual(problems[0], {"n": 3})
        self.assertEqual(result.best.config, {"STEP": 2})
        self.assertGreater(result.best.compile_s, 0)

    def test_an_exception_is_a_failed_compilation(self):
        def prepare(_, config):
            if config["STEP"] == 2:
                raise ValueError("two is not possible")

        tunable = xtune.Tunable("stepping", params={"STEP": [1, 2]}).function(
            lambda _, config: float(config["STEP"]), "1", prepare=prepare
        )
        result = xtune.tune(tunable, **PLACE)
        (failed,) = [each for each in result.measurements if each.outcome != "ok"]
        self.assertEqual((failed.outcome, failed.config), ("compile_failed", {"STEP": 2}))
        self.assertIn("ValueError: two is not possible", failed.message)

    def test_stop_ends_it(self):
        stop = threading.Event()

        def prepare(_, config):
            stop.set()

        tunable = xtune.Tunable("stepping", params={"STEP": list(range(1, 200))}).function(
            lambda *_: 1.0, "1", prepare=prepare
        )
        result = xtune.tune(tunable, stop=stop, **PLACE)
        self.assertTrue(result.interrupted)
        self.assertLess(len(result.measurements), 199)

    def test_of_a_decorator(self):
        seen = []

        @xtune.autotune(
            configs=[{"CHUNK": 16, "WAY": "a"}, {"CHUNK": 64, "WAY": "b"}],
            key=["n"],
            prepare=lambda x, n, **config: seen.append(config),
            tune_settings=PLACE,
        )
        def add(x, n, *, CHUNK, WAY):
            x[:n] += 0
            return CHUNK, WAY

        self.assertIn(add(np.zeros(64), 64), [(16, "a"), (64, "b")])
        self.assertEqual(sorted(each["CHUNK"] for each in seen), [16, 64])
        self.assertEqual(add.results[0].space_size, 2)


@xtune.autotune(params={"step": [1, 2]}, key="array", restore="array", measure={"rep": 3}, tune_settings=PLACE)
def stepped(array, step):
    array += step


class Key:
    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return "Key()"


class Decorated(unittest.TestCase):
    def test_stored_results_of_other_code_keys_and_values_do_not_answer(self):
        """Each call is like the first one in a new process: only the store knows earlier results."""
        store = tempfile.TemporaryDirectory()
        self.addCleanup(store.cleanup)

        def is_measured(key, values=(1, 2), prefers=1, other=None):
            def work(kind, STEP):
                return STEP == prefers, kind, other

            tuned = xtune.autotune(
                params={"STEP": list(values)},
                key=["kind"],
                measure={"rep": 3, "warmup": 0, "finals": 0},
                tune_settings={"store": store.name, "jobs": 1},
            )(work)
            tuned(key)
            answers = {each.from_store for each in tuned.results[-1].measurements}
            self.assertEqual(len(answers), 1)
            self.assertIn(tuned.best_config["STEP"], values)
            return answers == {False}

        self.assertTrue(is_measured(None))
        for key in (None, "None", Key(1), Key(2), (1, "a"), 1, "1", True):
            with self.subTest(key=key):
                self.assertEqual(is_measured(key), key is not None)
                self.assertFalse(is_measured(key))
        for changed in (
            {"prefers": 2},
            {"other": Key(1)},
            {"other": Key(2)},
            {"values": ("1", "2")},
            {"values": (1.0, 2.0)},
            {"values": (True, False)},
        ):
            with self.subTest(changed=changed):
                self.assertTrue(is_measured(7, **changed))
                self.assertFalse(is_measured(7, **changed))

    def test_one_name_needs_no_list(self):
        array = np.zeros(3)
        stepped(array)
        self.assertEqual(list(array), [stepped.best_config["step"]] * 3)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "the key 'size_n' is not a number"):
            xtune.autotune(params={"B": [1]}, key="size_n", grid=1, block=1)(lambda: "")

    def test_calls_do_not_pass_what_is_tuned(self):
        with self.assertRaisesRegex(TypeError, r"stepped\(\): 'step' is tuned"):
            stepped(np.zeros(3), step=1)

    def test_what_is_tuned_may_come_before_what_calls_pass(self):
        settings = {"params": {"STEP": [1, 2]}, "measure": {"rep": 2, "finals": 0}, "tune_settings": PLACE}
        prepared = []
        first = xtune.autotune(**settings, prepare=lambda a, **config: prepared.append(a))(lambda STEP, a: (STEP, a))
        self.assertEqual(first(5), (first.best_config["STEP"], 5))
        self.assertEqual(prepared, [5, 5])
        self.assertEqual(first(a=6), (first.best_config["STEP"], 6))
        between = xtune.autotune(**settings, key="b")(lambda a, STEP=7, b=3, *, c=4: (a, STEP, b, c))
        for args, named, rest in (
            ((1,), {}, (3, 4)),
            ((1, 2), {}, (2, 4)),
            ((1, 2), {"c": 5}, (2, 5)),
            ((), {"a": 1, "b": 8}, (8, 4)),
        ):
            with self.subTest(args=args, named=named):
                self.assertEqual(between(*args, **named), (1, between.best_config["STEP"], *rest))
        for result in first.results + between.results:
            self.assertEqual(result.counts, {"ok": 2})
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "too many positional arguments"):
            between(1, 2, 3)

    def test_of_what_has_no_name(self):
        class Adds:
            def __call__(self, a, *, STEP):
                return a + STEP

        for function, name in ((functools.partial(Adds.__call__, None), "__call__"), (Adds(), "Adds")):
            tuned = xtune.autotune(params={"STEP": [1, 2]}, measure={"rep": 2}, tune_settings=PLACE)(function)
            self.assertEqual(tuned(4), 4 + tuned.best_config["STEP"])
            self.assertEqual(repr(tuned), f"<xtune.autotune {name}(a)>")
            with self.assertRaisesRegex(xtune.InvalidArgumentError, f"{name}.*missing a required argument"):
                tuned()
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "annotate 'a' of __call__"):
            xtune.autotune(params={"B": [1]}, grid=1, block=1)(functools.partial(Adds.__call__, None))

    def test_is_pickled_by_name(self):
        self.assertIs(pickle.loads(pickle.dumps(stepped)), stepped)


class Triton(unittest.TestCase):
    def kernel(self):
        @triton.jit
        def scale(x, y, n, BLOCK, SCALE=2, program=0):
            y[program * BLOCK : (program + 1) * BLOCK] = SCALE * x[program * BLOCK : (program + 1) * BLOCK]

        return scale

    def launch(self, kernel, n=64, **named):
        x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
        kernel[lambda meta: (-(-n // meta["BLOCK"]),)](x, y, n, **named)
        np.testing.assert_array_equal(y, named.get("SCALE", 2) * x)

    def test_what_is_tuned_may_come_before_what_launches_pass(self):
        @xtune.autotune(params={"BLOCK": [16, 32]}, key=["n"], tune_settings=PLACE)
        @triton.jit
        def fill(x, BLOCK, n, value, program=0):
            x[program * BLOCK : min(n, (program + 1) * BLOCK)] = value

        for value in (2, 3):
            x = np.zeros(64, np.float32)
            fill[lambda meta: (-(-64 // meta["BLOCK"]),)](x, 64, value)
            np.testing.assert_array_equal(x, value)
        self.assertEqual(fill.results[0].counts, {"ok": 2})

    def test_launches_stay_as_they_were(self):
        inner = self.kernel()
        tuned = xtune.autotune(params={"BLOCK": [16, 32], "num_warps": [2, 4]}, key=["n"], tune_settings=PLACE)(inner)
        self.launch(tuned)
        self.assertEqual(len(inner.compiled), 4)
        self.assertNotIn(threading.get_ident(), inner.threads)  # all of them were compiled ahead
        self.assertEqual(set(tuned.best_config), {"BLOCK", "num_warps"})
        self.assertEqual(sum(tuned.results[0].counts.get(each, 0) for each in ("ok", "pruned")), 4)
        count = len(inner.launched)
        self.launch(tuned)
        self.assertEqual(len(inner.launched), count + 1)
        grid, named, options = inner.launched[-1]
        self.assertEqual({**named, **options}, tuned.best_config)
        self.launch(tuned, n=128)
        self.launch(tuned, n=128, SCALE=3)  # a parameter that is not in the key, by its name
        self.assertEqual(len(tuned.results), 2)
        x = np.zeros(64)  # f64
        tuned[(4,)](x, x, 64)
        self.assertEqual(len(tuned.results), 3)
        self.assertEqual(tuned.results[2].problem, {"n": 64, "x": "float64", "y": "float64"})

    def test_takes_the_list_of_triton(self):
        inner = self.kernel()
        configs = [triton.Config({"BLOCK": 16}, num_warps=8), triton.Config({"BLOCK": 32}, num_stages=5)]
        tuned = xtune.autotune(configs=configs, key=["n"], tune_settings=PLACE)(inner)
        self.launch(tuned)
        self.assertEqual(tuned.results[0].space_size, 2)
        self.assertIn(tuned.best_config, [each.all_kwargs() for each in configs])

    def test_a_configuration_that_does_not_compile_fails(self):
        tuned = xtune.autotune(params={"BLOCK": [13, 16]}, key=["n"], tune_settings=PLACE)(self.kernel())
        self.launch(tuned)
        self.assertEqual(tuned.best_config, {"BLOCK": 16})
        self.assertEqual(tuned.results[0].counts, {"compile_failed": 1, "ok": 1})

    def test_heuristics_and_restored_arrays(self):
        @triton.jit
        def add(x, n, BLOCK, EVEN, program=0):
            assert EVEN
            x[program * BLOCK : (program + 1) * BLOCK] += 1

        kernel = triton.Heuristics(add, {"EVEN": lambda args: True})
        tuned = xtune.autotune(params={"BLOCK": [8, 16]}, key=["n"], restore=["x"], tune_settings=PLACE)(kernel)
        x = np.zeros(32)
        tuned[lambda meta: (32 // meta["BLOCK"],)](x, 32)
        np.testing.assert_array_equal(x, 1)

    def test_stored_results_answer_until_triton_has_another_key(self):
        with tempfile.TemporaryDirectory() as store:
            settings = {"store": store, "jobs": 2}
            for wanted in (0, 1):
                tuned = xtune.autotune(params={"BLOCK": [16]}, key=["n"], tune_settings=settings)(self.kernel())
                self.launch(tuned)
                self.assertEqual(tuned.results[0].from_store, wanted)
            inner = self.kernel()
            inner.__name__ = inner.fn.__name__ = "scale"
            type(inner).cache_key, before = property(lambda self: "another"), type(inner).cache_key
            try:
                tuned = xtune.autotune(params={"BLOCK": [16]}, key=["n"], tune_settings=settings)(inner)
            finally:
                type(inner).cache_key = before
            self.launch(tuned)
            self.assertEqual(tuned.results[0].from_store, 0)

    def test_mistakes_are_explained(self):
        with self.assertRaisesRegex(TypeError, r"scale\[grid\]"):
            xtune.autotune(params={"BLOCK": [16]})(self.kernel())(1, 2, 3)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "'m' is not a parameter of scale"):
            xtune.autotune(params={"BLOCK": [16]}, key=["m"])(self.kernel())
        with self.assertRaisesRegex(TypeError, "either params or configs"):
            xtune.autotune()
        with self.assertRaisesRegex(xtune.InvalidArgumentError, r"configs\[0\] has a pre_hook"):
            xtune.autotune(configs=[triton.Config({"BLOCK": 16}, pre_hook=print)])
        with self.assertRaisesRegex(xtune.InvalidArgumentError, r"configs\[1\] sets A, and configs\[0\] sets B"):
            xtune.autotune(configs=[{"B": 1}, {"A": 1}])
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "at least one"):
            xtune.autotune(configs=[])
        with self.assertRaisesRegex(TypeError, r"@xtune.autotune\(params="):
            xtune.autotune(self.kernel())
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "the timer 'clock' is unknown"):
            xtune.autotune(params={"BLOCK": [16]}, timer="clock")
        autotuned = self.kernel()
        autotuned.configs = []
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "remove that decorator"):
            xtune.autotune(params={"BLOCK": [16]})(autotuned)
        with self.assertRaisesRegex(TypeError, "missing a required argument: 'n'"):
            xtune.autotune(params={"BLOCK": [16]}, key=["n"])(self.kernel())[(1,)](1, 2)


if __name__ == "__main__":
    unittest.main()
