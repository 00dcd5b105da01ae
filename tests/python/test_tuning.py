# SPDX-License-Identifier: Apache-2.0
"""Tuning from Python on the host backend: definitions, results, callables, questions."""
import ast
import builtins
import concurrent.futures
import contextlib
import copy
import dataclasses
import functools
import html
import inspect
import io
import json
import logging
import math
import multiprocessing
import os
import pathlib
import pickle
import pydoc
import re
import subprocess
import sys
import sysconfig
import tempfile
import threading
import typing
import unittest
import warnings

from support import HOST, N, QUICK, SAXPY, arrays, np, saxpy, xtune
from xtune.tunable import AutotuneDefinition, Definition, MeasureKeys, SearchKeys, ValidationKeys

try:
    import pandas
except ImportError:
    pandas = None


class Raised(Exception):
    pass


def fail(*_, **__):
    raise Raised("on purpose")


def tuned_elsewhere(unroll):
    return xtune.tune(saxpy(params={"UNROLL": [unroll]}), **HOST)


class OtherOutputs(unittest.TestCase):
    def test_times_ratios_ranks_and_ties_are_those_of_the_json(self):
        program = pathlib.Path(xtune.__file__).parents[2] / "src/cli/xtune"
        measure = {**QUICK, "rep": 20, "min_rep": 5, "finals": 3}
        with tempfile.TemporaryDirectory() as directory:
            spec, store = pathlib.Path(directory) / "saxpy.toml", pathlib.Path(directory) / "store"
            spec.write_text(saxpy(n=1 << 16, params={"UNROLL": [1, 2, 4]}, measure=measure).toml())
            done = subprocess.run(
                [
                    program,
                    "run",
                    spec,
                    "--backend",
                    "host",
                    "--store",
                    store,
                    "--top",
                    "6",
                    "--quiet",
                    "--format",
                    "json",
                ],
                capture_output=True,
                text=True,
                check=True,
            )
            shown = json.loads(done.stdout)
            result = xtune.tune(spec, store=store, **HOST)
        self.assertEqual(result.from_store, 6)
        self.assertEqual(result.best.config, shown["best"]["config"])
        self.assertCountEqual([tie.config for tie in result.ties], shown["best"]["ties"])
        self.assertEqual(len(shown["top"]), 6)
        measured = {tuple(each.config.items()): each for each in [*result.measurements, *result.ties, result.best]}
        for row in shown["top"]:
            own = measured[tuple(sorted(row["config"].items()))]
            for value, expected in ((own.time_ms, row["time_ms"]), (own.time_ms / result.best.time_ms, row["vs_best"])):
                self.assertAlmostEqual(value / expected, 1, places=5)
        # The best may be a tie that is a little slower.
        equals = [shown["best"]["config"], *shown["best"]["ties"]]
        ranked = [each.config for each in sorted(measured.values(), key=lambda each: each.time_ms)]
        self.assertEqual(
            [config for config in ranked if config not in equals],
            [row["config"] for row in shown["top"] if row["config"] not in equals],
        )


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x, cls.y = arrays()
        cls.seen = []
        cls.result = xtune.tune(
            SAXPY,
            params={"BLOCK": [32, 64], "UNROLL": [1, 2]},
            constraints="BLOCK * UNROLL <= 64",
            args={"x": cls.x, "y": xtune.InOut(cls.y), "a": np.float32(2), "n": np.int32(N)},
            grid="ceildiv(n, BLOCK * UNROLL)",
            block="BLOCK",
            reference=lambda x, y, a: a * x + y,
            metrics={"GB_per_s": "12 * n / time_s / 1e9"},
            measure=QUICK,
            on_measurement=cls.seen.append,
            **HOST,
        )

    def test_has_the_winner_and_every_measurement(self):
        result = self.result
        self.assertEqual(result.kernel_name, "saxpy")
        self.assertEqual(result.problem, {"n": N})
        self.assertEqual(result.counts, {"ok": 3})
        self.assertEqual(result.space_size, 3)
        self.assertEqual(self.seen, result.measurements)
        self.assertEqual(result.best, result.winner)
        self.assertEqual(result.best.time_ms, min(each.time_ms for each in result.measurements))
        self.assertGreater(result.best.metrics["GB_per_s"], 0)
        self.assertEqual(len(result.best.samples_ms), result.best.timing.samples)
        self.assertEqual(result.device.backend, "host")
        self.assertTrue(result.found)
        self.assertFalse(result.interrupted)
        self.assertIn("saxpy on ", str(result))
        self.assertEqual(repr(result), f"<xtune.Result {result}>")
        self.assertNotIn("samples_ms", repr(result.best))
        self.assertIn("float a", result.source)

    def test_arrays_of_the_caller_stay_as_they_were(self):
        np.testing.assert_array_equal(self.y, np.ones(N, np.float32))

    def test_is_made_of_dataclasses(self):
        as_dict = dataclasses.asdict(self.result.best)
        self.assertEqual(as_dict["timing"]["median_ms"], self.result.best.timing.median_ms)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            self.result.best.time_ms = 0

    def test_saves_and_loads(self):
        with tempfile.TemporaryDirectory() as directory:
            self.result.save(pathlib.Path(directory))
            loaded = xtune.Result.load(directory)
            self.assertEqual(loaded.best.config, self.result.best.config)
            y = np.ones(N, np.float32)
            loaded.kernel()(self.x, y, 3.0, N)
            np.testing.assert_array_equal(y, 3 * self.x + 1)
            (pathlib.Path(directory) / "kernel.so").write_bytes(b"other")
            with self.assertRaisesRegex(xtune.StorageError, "kernel.so"):
                xtune.Result.load(directory)

    def test_its_fields_are_plain_data(self):
        as_dict = dataclasses.asdict(self.result)
        self.assertEqual(as_dict["winner"]["config"], self.result.best.config)
        self.assertEqual(json.loads(json.dumps(as_dict))["problem"], {"n": N})

    def assert_works(self, result):
        """It equals the original, and its winner can be called, saved and shown."""
        self.assertEqual(result, self.result)
        y = np.ones(N, np.float32)
        result.kernel()(self.x, y, 3.0, N)
        np.testing.assert_array_equal(y, 3 * self.x + 1)
        self.assertEqual(result.source, self.result.source)
        with tempfile.TemporaryDirectory() as directory:
            result.save(directory)
            self.assertEqual(xtune.Result.load(directory).best.config, self.result.best.config)

    def test_is_copied(self):
        for twin in (copy.copy(self.result), copy.deepcopy(self.result)):
            self.assert_works(twin)
            twin.kernel(self.result.measurements[-1].config)
        self.assertIsNot(copy.deepcopy(self.result).best.config, self.result.best.config)
        self.assertFalse(dataclasses.replace(self.result, winner=None).found)

    def test_is_pickled(self):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            twin = pickle.loads(pickle.dumps(self.result, protocol))
            self.assert_works(twin)
            self.assert_works(pickle.loads(pickle.dumps(twin, protocol)))
            self.assert_works(copy.deepcopy(twin))
        with self.assertRaisesRegex(xtune.UnavailableError, "another process"):
            twin.kernel(self.result.measurements[-1].config)
        for part in (
            self.result.best,
            self.result.device,
            *xtune.devices("host"),
            *xtune.backends(),
            xtune.best(saxpy(), backend="host"),
        ):
            self.assertEqual(pickle.loads(pickle.dumps(part)), part)

    def test_any_gpu_or_none(self):
        if xtune.devices("gpu"):
            self.skipTest("there is a GPU")
        for call in (xtune.tune, xtune.load, xtune.best):
            with self.assertRaisesRegex(xtune.UnavailableError, "no usable device\n  cuda: "):
                call(saxpy(), backend="gpu")

    def test_one_without_a_winner_is_pickled(self):
        failed = xtune.tune(saxpy(reference=lambda x: x), configs=[{"BLOCK": 32, "UNROLL": 1}], fresh=True, **HOST)
        twin = pickle.loads(pickle.dumps(failed))
        self.assertEqual(twin, failed)
        self.assertEqual(twin.source, "")
        for ask in (lambda: twin.best, twin.kernel, lambda: twin.save("nowhere")):
            with self.assertRaisesRegex(xtune.NothingValidError, "wrong_result") as caught:
                ask()
            self.assertIs(type(pickle.loads(pickle.dumps(caught.exception))), xtune.NothingValidError)

    def test_pools_of_processes_return_results(self):
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            results = list(pool.map(tuned_elsewhere, [1, 2]))
        self.assertEqual([each.best.config["UNROLL"] for each in results], [1, 2])
        y = np.ones(N, np.float32)
        results[0].kernel()(self.x, y, 3.0, N)
        np.testing.assert_array_equal(y, 3 * self.x + 1)

    @unittest.skipUnless(pandas, "pandas is not installed [apt: python3-pandas]")
    def test_is_a_frame(self):
        frame = self.result.to_pandas()
        self.assertEqual(len(frame), 3)
        self.assertEqual(frame.sort_values("time_ms").iloc[0]["BLOCK"], self.result.best.config["BLOCK"])
        self.assertIn("GB_per_s", frame.columns)

    def test_without_effort_there_is_a_prediction_which_can_be_called(self):
        with tempfile.TemporaryDirectory() as store:
            result = xtune.tune(saxpy(), effort="none", store=store, **HOST)
            self.assertEqual(result.measurements, [])
            self.assertIsNone(result.prediction.time_ms)
            self.assertIsNone(result.prediction.expected)
            self.assertRaisesRegex(xtune.NothingValidError, "effort is none", lambda: result.best)
            self.assertTrue(result.kernel(result.prediction.config))

    def test_a_second_run_answers_from_the_store(self):
        self.assertEqual(xtune.tune(saxpy(), fresh=True, **HOST).from_store, 0)
        again = xtune.tune(saxpy(), **HOST)
        self.assertEqual(again.from_store, 4)
        self.assertTrue(again.best.from_store)


class Definitions(unittest.TestCase):
    def test_a_source_in_a_file(self):
        x, y = arrays()
        definition = {
            "params": {"UNROLL": [1], "BLOCK": [32]},
            "grid": "ceildiv(n, 32)",
            "block": "BLOCK",
            "measure": QUICK,
            "args": {"x": x, "y": xtune.InOut(y), "a": np.float32(2), "n": np.int32(N)},
        }
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "kernel.cu"
            source.write_text(SAXPY)
            for path in (source, str(source)):
                result = xtune.tune(path, problem={"more": 1}, **definition, **HOST)
                self.assertEqual((result.kernel_name, result.counts), ("saxpy", {"ok": 1}))
                self.assertEqual(result.problem, {"n": N, "more": 1})
            self.assertEqual(xtune.Tunable(source_file=source).name, "saxpy")
        with self.assertRaisesRegex(xtune.StorageError, "kernel.cu: No such file"):
            xtune.tune(source, **definition)
        self.assertEqual(xtune.tune(SAXPY + "// as in saxpy.cu", **definition, **HOST).counts, {"ok": 1})

    def test_the_entry_is_found_in_the_source(self):
        launch = '// __global__ no();\nextern "C" __global__ __launch_bounds__(64 * (2)) void good(int n) {}'
        self.assertEqual(xtune.Tunable(source=launch).name, "good")
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "2 __global__ functions .a, b."):
            xtune.Tunable(source="__global__ void a() {}\n__global__ void b() {}")

    def test_a_spec_from_a_text_and_from_a_file(self):
        text = saxpy().toml()
        self.assertEqual(len(xtune.all_configs(xtune.Tunable.from_text(text), backend="host")), 4)
        with tempfile.TemporaryDirectory() as directory:
            spec = pathlib.Path(directory) / "saxpy.toml"
            spec.write_text(text)
            self.assertEqual(xtune.tune(spec, configs=[{"BLOCK": 32, "UNROLL": 1}], **HOST).counts, {"ok": 1})
            self.assertEqual(len(xtune.all_configs(str(spec), backend="host")), 4)

    def test_constraints_are_expressions_and_callables(self):
        tunable = saxpy(constraints=["UNROLL < 2", lambda BLOCK, n: n // BLOCK == 32])
        self.assertEqual(xtune.all_configs(tunable, backend="host"), [{"BLOCK": 32, "UNROLL": 1}])
        named = saxpy().constraint(lambda *values: sum(values) == 65, names=["BLOCK", "UNROLL"])
        self.assertEqual(xtune.all_configs(named, backend="host"), [{"BLOCK": 64, "UNROLL": 1}])
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "names="):
            saxpy().constraint(lambda *values: True)

    def test_constraints_keep_the_defaults_that_nothing_replaces(self):
        def below(most, BLOCK, UNROLL=100, *, least=0):
            return least < BLOCK * UNROLL < most

        for constraint, expected in (
            (lambda BLOCK, most=64: BLOCK < most, [(32, 1), (32, 2)]),
            (lambda BLOCK=1, n=0: BLOCK * 32 == n, [(32, 1), (32, 2)]),  # n is a name of the problem
            (functools.partial(below, 64), [(32, 1)]),
            (functools.partial(below, most=128, least=32), [(32, 2), (64, 1)]),
            (lambda none=True: none, [(32, 1), (64, 1), (32, 2), (64, 2)]),
        ):
            with self.subTest(expected):
                configs = xtune.all_configs(saxpy(constraints=[constraint]), backend="host")
                self.assertEqual({(each["BLOCK"], each["UNROLL"]) for each in configs}, set(expected))
        with self.assertRaisesRegex(
            xtune.InvalidArgumentError, "'most' is neither a parameter nor a name of the problem"
        ):
            xtune.all_configs(saxpy(constraints=[below]), backend="host")

    def test_parameters_are_ranges_and_powers(self):
        tunable = (
            xtune.Tunable("s", SAXPY, grid=1, block="B", args={"n": np.int32(1)})
            .param_range("B", 32, 96, 32)
            .param_pow2("UNROLL", 1, 4)
        )
        self.assertEqual({each["B"] for each in xtune.all_configs(tunable, backend="host")}, {32, 64, 96})
        self.assertEqual({each["UNROLL"] for each in xtune.all_configs(tunable, backend="host")}, {1, 2, 4})
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "more than the 2"):
            xtune.all_configs(tunable, backend="host", most=2)

    def test_cases_and_one_configuration_for_all(self):
        tunable = saxpy(cases=[{"n": 512}, {"n": 1024}])
        for name in "xy":
            tunable.data(name, lambda problem: np.ones(problem["n"]), dtype="f32")
        tunable.reference(lambda x, y: 2 * x + y).across("worst")
        results = xtune.tune_cases(tunable, **HOST)
        self.assertEqual([each.problem for each in results], [{"n": 512}, {"n": 1024}])
        self.assertEqual(results[0].across.measurement.config, results[1].across.measurement.config)
        self.assertGreaterEqual(results[0].across.score, 1)

    def test_values_that_belong_together(self):
        tunable = xtune.Tunable(
            "s", SAXPY, grid=1, block="B", args={"n": np.int32(1)}, params={("B", "UNROLL"): [(32, 2), (64, 1)]}
        )
        rows = [{"B": 32, "UNROLL": 2}, {"B": 64, "UNROLL": 1}]
        self.assertEqual(xtune.all_configs(tunable, backend="host"), rows)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "a row has 1 values"):
            tunable.params(("C", "D"), [(1,)])

    def test_a_class_of_ones_own_declares_arrays_too(self):
        class Rows(xtune.InOut):
            def __init__(self, rows):
                super().__init__(shape=(rows,), dtype="f32")

        class Vector(xtune.In):
            pass

        class Last(Vector):
            pass

        x, y = arrays()
        args = {"x": Last(x, shape="n"), "y": Rows("n"), "a": np.float32(2), "n": np.int32(N)}
        plain = {
            "x": xtune.In(x, shape="n"),
            "y": xtune.InOut(dtype="f32", shape=("n",)),
            "a": np.float32(2),
            "n": np.int32(N),
        }
        self.assertEqual(saxpy(args=args).toml(), saxpy(args=plain).toml())
        rows = Rows("n")

        def declared(first, second):
            def function(x: first, y: second, a: np.float32, n: np.int32):
                return SAXPY

            return xtune.autotune(params={"BLOCK": [32]}, grid="n", block="BLOCK")(function).tunable(x, y, 2, N).toml()

        self.assertEqual(declared(Vector, rows), declared(xtune.In, xtune.InOut(dtype="f32", shape=("n",))))
        self.assertIsNone(rows.data)

    def test_random_integers_lie_in_their_range(self):
        seen = []
        source = 'extern "C" __global__ void k(const int* rows, int* y) { y[threadIdx.x] = rows[threadIdx.x]; }'
        tunable = xtune.Tunable(
            "k",
            source,
            params={"P": [1]},
            grid=1,
            block=64,
            measure=QUICK,
            args={"rows": xtune.In({"integers": (5, "M")}, "i32", 64), "y": xtune.Out(dtype="i32", shape=64)},
            problem={"M": 9},
            reference=lambda rows: seen.extend(rows.tolist()) or rows,
        )
        self.assertEqual(xtune.tune(tunable, **HOST).counts, {"ok": 1})
        self.assertEqual(set(seen), {5, 6, 7, 8})
        for wrong in ({"integers": (5, 9), "sorted": (5, 9)}, {}):
            with self.assertRaisesRegex(xtune.InvalidArgumentError, "the data of 'rows': expected .*integers"):
                tunable.data("rows", wrong)

    def test_a_reference_gets_the_offsets_of_a_sparse_matrix(self):
        seen = {}

        def reference(begins, hot):
            seen.update(begins=begins.tolist(), hot=hot.sum(axis=1).tolist())
            return begins[1:] - begins[:-1]

        source = """extern "C" __global__ void k(const int* begins, const float* values, const unsigned char* hot, int* y) {
  y[threadIdx.x] = begins[threadIdx.x + 1] - begins[threadIdx.x];
}"""
        tunable = xtune.Tunable(
            "k",
            source,
            params={"P": [1]},
            grid=1,
            block=64,
            measure=QUICK,
            args={
                "begins": xtune.In({"offsets": "values"}, "i32", 65),
                "values": xtune.In("normal", "f32", 300),
                "hot": xtune.In({"one_hot": 2}, "u8", (16, 8)),
                "y": xtune.Out(dtype="i32", shape=64),
            },
            reference=reference,
        )
        self.assertEqual(xtune.tune(tunable, **HOST).counts, {"ok": 1})
        self.assertEqual((seen["begins"][0], seen["begins"][-1]), (0, 300))
        self.assertEqual(seen["begins"], sorted(seen["begins"]))
        self.assertEqual(seen["hot"], [2] * 16)

    def test_generators_see_their_buffer(self):
        seen = []

        def generate(shape, dtype, name, seed, problem):
            seen.append((name, dtype, tuple(shape), seed, problem["n"]))
            return np.ones(shape, dtype.replace("f32", "float32"))

        tunable = saxpy(search={"seed": 5})
        for name in "xy":
            tunable.data(name, generate, dtype="f32")
        self.assertTrue(xtune.tune(tunable, **HOST).found)
        self.assertEqual(seen, [("x", "f32", (N,), 5, N), ("y", "f32", (N,), 5, N)])
        seen.clear()
        for name in "xy":
            tunable.data(name, lambda **all: generate(**all), dtype="f32")
        self.assertTrue(xtune.tune(tunable, **HOST, fresh=True).found)
        self.assertEqual(seen, [("x", "f32", (N,), 5, N), ("y", "f32", (N,), 5, N)])

    def test_copies_are_independent(self):
        for copied in (lambda tunable: tunable.copy(), copy.copy, copy.deepcopy):
            first = saxpy()
            second = copied(first).constraint("UNROLL == 1")
            self.assertEqual(len(xtune.all_configs(first, backend="host")), 4)
            self.assertEqual(len(xtune.all_configs(second, backend="host")), 2)
        with self.assertRaisesRegex(TypeError, "make it in each process"):
            pickle.dumps(saxpy())

    def test_values_that_compile_alike_share_results_and_keep_their_types(self):
        with tempfile.TemporaryDirectory() as store, warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "a measurement was disturbed|.* disturbed when measured")  # busy CPUs
            for i, value in enumerate((1, "1", True, 1)):
                result = xtune.tune(
                    saxpy(params={"UNROLL": [value]}, grid="ceildiv(n, BLOCK)", constraints="BLOCK == 32"),
                    store=store,
                    **HOST,
                )
                self.assertEqual((repr(result.best.config["UNROLL"]), result.best.from_store), (repr(value), i > 0))

    def test_scalars_may_be_infinite(self):
        fill = """extern "C" __global__ void fill(float* y, float low, float none, int n) {
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) y[i] = i % 2 ? low : none;
        }"""
        args = {
            "y": xtune.Out(dtype="f32", shape="n"),
            "low": np.float32("-inf"),
            "none": xtune.Scalar("f32", float("nan")),
            "n": np.int32(64),
        }
        result = xtune.tune(
            fill,
            params={"BLOCK": [64]},
            args=args,
            grid=1,
            block="BLOCK",
            measure=QUICK,
            reference=lambda low, none: np.tile([np.float32("nan"), low], 32),
            **HOST,
        )
        self.assertEqual(result.counts, {"ok": 1})

    def test_a_scalar_that_is_no_number_explains_outputs_without_numbers(self):
        x, y = arrays()
        for dtype, ctype, read, value in (("f32", "float", "a", "nan"), ("f16", "__half", "__half2float(a)", "inf")):
            source = SAXPY.replace("float a,", f"{ctype} a,").replace("a * x[i]", f"({read} - {read}) / 0.0f")
            if dtype == "f16":
                source = "#include <cuda_fp16.h>\n" + source

            def tuned(number):
                args = {"x": xtune.In(x), "y": xtune.InOut(y), "a": xtune.Scalar(dtype, number), "n": np.int32(N)}
                return xtune.tune(
                    saxpy(source=source, args=args, reference=lambda x: np.full_like(x, np.nan)),
                    configs=[{"BLOCK": 32, "UNROLL": 1}],
                    **HOST,
                )

            with self.subTest(dtype=dtype):
                self.assertEqual(tuned(float(value)).counts, {"ok": 1})
                with self.assertRaisesRegex(
                    xtune.InvalidSpecError, "NaN in all 1024 elements of output 'y', although no input"
                ):
                    tuned(1)

    def test_several_steps_scratch_and_constants(self):
        source = r"""
        __constant__ float weights[2];
        extern "C" __global__ void first(const float* x, float* part) { part[threadIdx.x] = weights[0] * x[threadIdx.x]; }
        extern "C" __global__ void second(const float* part, float* y) { y[threadIdx.x] = part[threadIdx.x] + weights[1]; }
        """
        x = np.arange(8, dtype=np.float32)
        tunable = xtune.Tunable(
            "two",
            source,
            params={"P": [1]},
            measure=QUICK,
            args={
                "x": x,
                "part": xtune.Scratch("f32", 8),
                "y": xtune.Out(dtype="f32", shape=8),
                "weights": xtune.Constant(np.float32([3, 4])),
            },
            reference=lambda x: 3 * x + 4,
        )
        tunable.step("first", 1, 8, args=["x", "part"]).step("second", 1, 8, args=["part", "y"])
        self.assertEqual(xtune.tune(tunable, **HOST).counts, {"ok": 1})
        kernel = xtune.load(tunable, backend="host")
        y, part = np.zeros_like(x), np.zeros_like(x)
        kernel.set_constant("weights", np.float32([1, 2]))
        kernel(x, part, y)
        np.testing.assert_array_equal(y, x + 2)

    def test_tensor_maps_reach_the_spec(self):
        tunable = xtune.Tunable(
            "t",
            source="__global__ void t() {}",
            args={"a": xtune.In(dtype="bf16", shape=(128, 64)), "a_map": xtune.TensorMap("a", (64, 64), swizzle=128)},
        )
        self.assertIn('swizzle = "128"', tunable.toml())
        self.assertIn('dtype = "bf16"', tunable.toml())

    def test_mistakes_are_explained(self):
        x, _ = arrays()
        for error, words, make in (
            (TypeError, "numpy.int32.5.", lambda: xtune.Tunable("t", args={"n": 5})),
            (TypeError, "'x': str is not an argument", lambda: xtune.Tunable("t", args={"x": "what"})),
            (xtune.InvalidArgumentError, "not contiguous", lambda: xtune.Tunable("t", args={"x": x[::2]})),
            (
                xtune.InvalidArgumentError,
                "declared as f16",
                lambda: xtune.In(x, "f16") and xtune.Tunable("t", args={"x": xtune.In(x, "f16")}),
            ),
            (xtune.InvalidArgumentError, "dtype and a shape", lambda: xtune.Tunable("t", args={"x": xtune.Out()})),
            (
                xtune.InvalidArgumentError,
                "not a type that kernels take",
                lambda: xtune.Scalar and xtune.Tunable("t", args={"x": np.array(["a"])}),
            ),
            (xtune.InvalidArgumentError, "list of values", lambda: xtune.Tunable("t", params={"B": 5})),
            (TypeError, "did you mean 'params'", lambda: xtune.tune(SAXPY, parms={"B": [1]})),
            (TypeError, "'grid', which only a source", lambda: xtune.tune(saxpy(), grid=1)),
            (xtune.InvalidArgumentError, "neither a path", lambda: xtune.tune("unknown")),
            (xtune.StorageError, "missing.toml", lambda: xtune.tune("missing.toml")),
            (xtune.InvalidArgumentError, "isolation", lambda: xtune.tune(saxpy(), isolation="thread")),
            (xtune.InvalidArgumentError, "strategy", lambda: xtune.tune(saxpy(), strategy="magic", **HOST)),
            (xtune.InvalidArgumentError, "effort is .much.", lambda: xtune.tune(saxpy(), effort="much", **HOST)),
            (xtune.InvalidSpecError, "BLOK", lambda: saxpy(grid="BLOK").check_spec()),
            (xtune.InvalidArgumentError, "policy", lambda: xtune.load(saxpy(), policy="guess")),
            (TypeError, r"load\(\) takes a Tunable .* not a source", lambda: xtune.load("saxpy.cu")),
            (TypeError, r"best\(\) takes a Tunable .* not a source", lambda: xtune.best(SAXPY)),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                make()

    def test_errors_have_kinds_and_python_classes(self):
        with self.assertRaises(ValueError) as caught:
            xtune.tune(saxpy(), backend="metal")
        self.assertIsInstance(caught.exception, xtune.Error)
        self.assertEqual(caught.exception.kind, "invalid_argument")


class Validation(unittest.TestCase):
    def counts(self, tunable, **settings):
        self.result = xtune.tune(tunable, fresh=True, configs=[{"BLOCK": 32, "UNROLL": 1}], **HOST, **settings)
        return self.result.counts

    def test_references_return_an_array_or_a_dict(self):
        for reference in (
            lambda x, y, a, n: a * x[:n] + y,
            lambda inputs, problem: {"y": 2 * inputs["x"] + inputs["y"]},
            lambda **all: (2 * all["x"] + all["y"]).astype(np.float64),
        ):
            self.assertEqual(self.counts(saxpy(reference=reference)), {"ok": 1})
        self.assertEqual(self.counts(saxpy(reference=lambda x: x)), {"wrong_result": 1})
        with self.assertRaisesRegex(xtune.NothingValidError, "wrong_result"):
            self.result.best

    def test_references_that_fail_are_explained(self):
        for words, reference in (
            ("ValueError: on purpose", lambda x: int("on purpose")),
            ("returned None", lambda: None),
            ("no_such", lambda no_such: 0),
            ("shape .4,", lambda: np.zeros(4)),
            ("'z', and the outputs are y", lambda: {"z": np.zeros(N)}),
        ):
            if "ValueError" in words:

                def reference(x):
                    raise ValueError("on purpose")

            with self.subTest(words), self.assertRaisesRegex(xtune.InvalidArgumentError, words) as caught:
                self.counts(saxpy(reference=reference))
            self.assertIsInstance(caught.exception.__cause__, (ValueError, TypeError))

    def test_checks_see_inputs_and_outputs(self):
        seen = []

        def check(x, y, inputs, config, a):
            seen.append(config["BLOCK"])
            np.testing.assert_array_equal(y, a * x + inputs["y"])

        self.assertEqual(self.counts(saxpy(check=check)), {"ok": 1})
        self.assertEqual(set(seen), {32})
        self.assertEqual(self.counts(saxpy(check=lambda y: False)), {"wrong_result": 1})
        self.assertEqual(self.counts(saxpy(check=fail)), {"wrong_result": 1})
        self.assertIn("Raised: on purpose", self.result.measurements[0].message)

    def test_a_check_that_cannot_answer_ends_the_run_and_is_not_a_wrong_result(self):
        with tempfile.TemporaryDirectory() as store:
            with self.assertRaisesRegex(
                xtune.InvalidArgumentError, "the validator has a parameter 'yy', and there are .*y"
            ):
                xtune.tune(saxpy().check(lambda yy: True), **{**HOST, "store": store})
            with self.assertRaisesRegex(
                xtune.InvalidArgumentError, "the validator returned an array of .* return a bool"
            ):
                xtune.tune(saxpy().check(lambda y: y > 0), **{**HOST, "store": store})
            self.assertNotIn("wrong_result", "".join(each.read_text() for each in pathlib.Path(store).rglob("*.jsonl")))

    def test_the_label_of_a_check_follows_its_code(self):
        texts = [saxpy(check=check).toml() for check in (lambda y: True, lambda y: bool(y.size), fail)]
        self.assertEqual(len(set(texts)), 3)

    def test_narrow_types_are_f32_arrays(self):
        source = 'extern "C" __global__ void copy(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x]; }'
        for dtype, bits, ctype in (
            ("bf16", "u2", "unsigned short"),
            ("f8e4m3", "u1", "unsigned char"),
            ("f16", "f2", "_Float16"),
        ):
            values = np.array([0, 1, -2, 0.5, 1.75, 448, 2**-6, -(2**-9)], np.float32)
            x = xtune._arrays.encode(values, dtype, values.shape, "x").view(bits)
            tunable = xtune.Tunable(
                "copy",
                source,
                params={"P": [1]},
                grid=1,
                block=8,
                measure=QUICK,
                defines={"T": ctype},
                args={
                    "x": xtune.In(lambda problem, values=values: values, dtype, 8),
                    "y": xtune.Out(dtype=dtype, shape=8),
                },
                reference=lambda x: x,
            )
            with self.subTest(dtype):
                self.assertEqual(xtune.tune(tunable, **HOST).counts, {"ok": 1})
                y = np.zeros_like(x)
                xtune.load(tunable, backend="host")(x, y)
                np.testing.assert_array_equal(y, x)

    def test_narrow_types_round_to_nearest_even(self):
        arrays = xtune._arrays
        for dtype, count in (("f8e4m3", 256), ("f8e5m2", 256), ("bf16", 65536)):
            codes = np.arange(count, dtype=np.uint8 if count == 256 else np.uint16)
            values = arrays.decode(codes.tobytes(), dtype, codes.shape)
            finite = np.isfinite(values)
            again = arrays.encode(values, dtype, values.shape, "x").view(codes.dtype)
            np.testing.assert_array_equal(again[finite], codes[finite])
        halfway = arrays.encode(np.array([1 + 1 / 16, 1 + 3 / 16, 1e9]), "f8e4m3", (3,), "x")
        np.testing.assert_array_equal(halfway, [0x38, 0x3A, 0x7F])


class Callbacks(unittest.TestCase):
    def test_exceptions_leave_tune_as_they_are(self):
        for tunable, settings in (
            (saxpy(constraints=[lambda BLOCK: fail()]), {}),
            (saxpy(), {"progress": fail}),
            (saxpy(), {"on_measurement": fail}),
            (saxpy(), {"configs": fail}),
            (saxpy().data("x", fail, dtype="f32"), {}),
        ):
            with self.assertRaisesRegex(Raised, "on purpose"):
                xtune.tune(tunable, fresh=True, **settings, **HOST)
        self.assertTrue(xtune.tune(saxpy(), **HOST).found)

    def test_a_run_cannot_start_in_a_callback(self):
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "callback"):
            xtune.tune(saxpy(), progress=lambda progress: xtune.tune(saxpy(), **HOST), **HOST)

    def test_progress_counts_and_shows(self):
        seen = []
        xtune.tune(saxpy(), fresh=True, progress=seen.append, **HOST)
        self.assertEqual((seen[-1].done, seen[-1].total), (4, 4))
        self.assertGreater(seen[-1].best_ms, 0)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            xtune.tune(saxpy(), progress=True, **HOST)
        self.assertIn("4", shown.getvalue())
        self.assertIn("saxpy", shown.getvalue())

    def test_logs_come_with_measurements(self):
        seen = []
        xtune.tune(
            saxpy(), fresh=True, on_measurement=lambda measurement, log: seen.append((measurement.outcome, log)), **HOST
        )
        self.assertEqual([outcome for outcome, _ in seen], ["ok"] * 4)
        self.assertTrue(all(isinstance(log, str) for _, log in seen))

    def test_wrong_types_are_refused_by_name(self):
        for named in (
            {"evals": -1},
            {"evals": "3"},
            {"jobs": -5},
            {"jobs": "all"},
            {"jobs": 1.5},
            {"jobs": 0.0},
            {"jobs": float("nan")},
            {"stop": 3},
            {"configs": []},
            {"configs": "BLOCK=64"},
            {"configs": [3]},
            {"configs": lambda problem: None},
            {"seed": 0.5},
        ):
            ((name, value),) = named.items()
            with self.subTest(**named), self.assertRaisesRegex(xtune.InvalidArgumentError, f"^{name}"):
                xtune.tune(saxpy(), **{**HOST, **named})
        for params in ([1, 2], {"A": [None]}, {"A": [2**64]}, {"A": [(1, 2)]}, {("A", "B"): [(1, None)]}):
            with self.subTest(params=params), self.assertRaisesRegex(xtune.InvalidArgumentError, "^param"):
                saxpy(params=params)
        for named in ({"reference": 3}, {"validator": "x"}):
            with self.assertRaisesRegex(xtune.InvalidArgumentError, f"^{list(named)[0]}: expected a function"):
                saxpy(**named)
        self.assertEqual(xtune.tune(saxpy(), backend="host", jobs=0.5).counts, {"ok": 4})

    def test_a_lookup_knows_what_code_computed_for_a_run(self):
        kernel = saxpy(reference=lambda x, y, a: a * x + y).metric("one", "1")
        xtune.tune(kernel, **HOST)
        for choice in (xtune.best(kernel, {"n": N}, backend="host"), xtune.load(kernel, backend="host").choice(n=N)):
            self.assertEqual(choice.kind, "exact")
            self.assertNotIn("earlier state", " ".join(choice.reasons))
        other = saxpy(reference=lambda x, y, a: a * x + y, options=["-DEXTRA"])
        self.assertIn("earlier state", " ".join(xtune.best(other, {"n": N}, backend="host").reasons))

    def test_warnings_are_pythons(self):
        bad = [{"BLOCK": 32, "UNROLL": 1}, {"BLOCK": 33, "UNROLL": 1}]
        with self.assertWarnsRegex(xtune.TuneWarning, "33"):
            xtune.tune(saxpy(), configs=bad, **HOST)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(xtune.TuneWarning, "33"):
                xtune.tune(saxpy(), configs=bad, **HOST)

    def test_stop_returns_what_was_measured(self):
        stop = threading.Event()
        many = saxpy(params={"UNROLL": list(range(1, 101))})
        result = xtune.tune(many, fresh=True, stop=stop, on_measurement=lambda measurement: stop.set(), **HOST)
        self.assertLess(len(result.measurements), 200)
        self.assertTrue(result.interrupted)
        with self.assertRaises(xtune.StoppedError):
            xtune.all_configs(saxpy(constraints=[lambda BLOCK: True]), backend="host", stop=stop)
        self.assertEqual(xtune.compile_all(saxpy(), [{"BLOCK": 32, "UNROLL": 1}], backend="host", stop=stop), [])

    def test_other_threads_go_on(self):
        steps, stop = [], threading.Event()

        def count():
            while not stop.wait(0.005):
                steps.append(1)

        thread = threading.Thread(target=count)
        thread.start()
        first = []
        xtune.tune(saxpy(), fresh=True, progress=lambda progress: first.append(len(steps)), **HOST)
        stop.set()
        thread.join()
        self.assertGreater(first[-1], 0)

    def test_a_run_in_another_thread(self):
        results = []
        threads = [threading.Thread(target=lambda: results.append(xtune.tune(saxpy(), **HOST))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([each.counts for each in results], [{"ok": 4}] * 2)


class Questions(unittest.TestCase):
    def test_compile_all(self):
        compiled = xtune.compile_all(saxpy(), [{"BLOCK": 32, "UNROLL": 2}, {"BLOCK": 33, "UNROLL": 2}], backend="host")
        self.assertEqual([each.outcome for each in compiled], ["ok", "rejected"])
        x, y = arrays()
        compiled[0].kernel()(x, y, 1.0, N)
        np.testing.assert_array_equal(y, x + 1)
        with self.assertRaises(xtune.Error):
            compiled[1].kernel()
        broken = saxpy(source="__global__ void saxpy() { error }")
        failed = xtune.compile_all(broken, [{"BLOCK": 32, "UNROLL": 2}], backend="host")
        self.assertEqual(failed[0].outcome, "compile_failed")
        self.assertIn("error", failed[0].log)
        copy.deepcopy(compiled[0])(x, y, 1.0, N)
        compiled[0](x, y, 1.0, N)
        np.testing.assert_array_equal(y, 3 * x + 1)
        elsewhere = pickle.loads(pickle.dumps(compiled))
        self.assertEqual(elsewhere, compiled)
        with self.assertRaisesRegex(xtune.UnavailableError, "compile_all here"):
            elsewhere[0](x, y, 1.0, N)

    def test_best(self):
        tunable = saxpy(name="asked", entry="saxpy")
        self.assertEqual(xtune.best(tunable, backend="host").kind, "default")
        won = xtune.tune(tunable, **HOST).best.config
        choice = xtune.best(tunable, {"n": N}, backend="host")
        self.assertEqual((choice.kind, choice.config), ("exact", won))
        self.assertIsNone(choice.expected)
        near = xtune.best(tunable, {"n": 4096}, backend="host")
        self.assertEqual(near.kind, "nearest")
        self.assertTrue(0 < near.expected.low_ms < near.expected.time_ms < near.expected.high_ms)

    def test_candidates(self):
        tunable = saxpy().candidates("elementwise", {"n": "n", "threads": "BLOCK", "items": "UNROLL"})
        suggested = xtune.candidates(tunable, arch="sm_90", count=2)
        self.assertEqual(len(suggested), 2)
        self.assertGreater(suggested[0].estimated_ms, 0)

    def test_the_inventory(self):
        self.assertEqual([each.backend for each in xtune.devices("host")], ["host"])
        self.assertIn("host", [each.name for each in xtune.backends()])
        # Wheels beside this Python's packages are found.
        self.assertIn(sysconfig.get_path("purelib"), os.environ["XTUNE_PYTHON_PACKAGES"].split(":"))
        self.assertIn("random", xtune.strategies())
        self.assertRegex(xtune.__version__, r"^\d+\.\d+\.\d+$")


class Package(unittest.TestCase):
    def run_code(self, code):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_submodules_need_no_import_of_their_own(self):
        self.run_code("import sys, xtune; assert 'xtune.compat' not in sys.modules")
        self.run_code("import xtune; xtune.compat.kernel_tuner.tune_kernel")
        self.run_code("import xtune.compat; xtune.compat.kernel_tuner.run_kernel")
        self.run_code("from xtune import *; tune, Tunable")
        for module in (xtune, xtune.compat):
            with self.assertRaisesRegex(AttributeError, f"module '{module.__name__}' has no attribute 'kernel_tuna'"):
                module.kernel_tuna

    def test_another_python_than_it_was_built_for_is_told_so(self):
        with tempfile.TemporaryDirectory() as directory:
            package = pathlib.Path(directory) / "xtune"
            package.mkdir()
            for file in pathlib.Path(xtune.__file__).parent.glob("*.py"):
                (package / file.name).write_text(file.read_text())
            (package / "_native.cpython-27-none.so").write_text("")
            done = subprocess.run(
                [sys.executable, "-c", "import xtune"],
                cwd=directory,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": directory},
                check=False,
            )
        self.assertRegex(done.stderr, r"ImportError: xtune has no extension for Python 3.*_native\.cpython-27-none\.so")

    def test_completion_shows_what_is_public(self):
        public = [each for each in dir(xtune) if not each.startswith("__")]
        self.assertEqual(sorted(public), sorted([*xtune.__all__, "compat"]))
        self.assertEqual([each for each in dir(xtune.compat) if not each.startswith("__")], ["kernel_tuner"])
        for module in (xtune, xtune.compat):
            for name in dir(module):
                getattr(module, name)

    def test_help_describes_everything(self):
        text = pydoc.plain(pydoc.render_doc(xtune))
        for name in xtune.__all__:
            self.assertIn(name, text)
        self.assertIn("seconds: budget", text)


class Extents(unittest.TestCase):
    def test_functions_become_expressions(self):
        def cdiv(a, b):  # as triton.cdiv
            return (a + b - 1) // b

        size = np.int32(N)
        for grid, text in (
            (lambda n, BLOCK, UNROLL: -(-n // (BLOCK * UNROLL)), "(-((-n) // (BLOCK * UNROLL)))"),
            (lambda META: (cdiv(size, META["BLOCK"] * META["UNROLL"]), 1), None),
            (lambda n, BLOCK, UNROLL: math.ceil(n / (BLOCK * UNROLL)), "ceildiv(n, (BLOCK * UNROLL))"),
        ):
            tunable = saxpy(grid=grid, block=lambda BLOCK: BLOCK, reference=lambda x, y, a: a * x + y)
            if text is not None:
                self.assertIn(text, tunable.toml())
            self.assertEqual(xtune.tune(tunable, **HOST).counts, {"ok": 4})

    def test_a_function_cannot_decide(self):
        for grid, message in (
            (lambda n: max(n, 2), "cannot decide by a value"),
            (lambda n: n if n > 3 else 2, "cannot decide by a value"),
            (lambda n: int(n), "cannot decide by a value"),
            (lambda n: "n", "expected numbers, parameters"),
            (lambda n: n.size, "'n.size' is not an expression"),
            (lambda *n: 1, "parameters are not names"),
            (lambda: (1, 2, 3, 4), "returned 4 extents"),
        ):
            with self.subTest(message), self.assertRaisesRegex(xtune.InvalidArgumentError, message):
                saxpy(grid=grid)


class Keywords(unittest.TestCase):
    """What editors and help() complete."""

    def test_are_those_of_tunable(self):
        of_tunable = typing.get_type_hints(inspect.unwrap(xtune.Tunable.__init__))
        names = set(of_tunable) - {"source", "return"}
        for definition, own in ((Definition, {"problem"}), (AutotuneDefinition, {"params", "grid", "block"})):
            hints = typing.get_type_hints(definition)
            self.assertEqual(set(hints), names - own)
            self.assertEqual(hints, {name: of_tunable[name] for name in hints})
        for function in (xtune.tune, xtune.tune_cases, xtune.autotune):
            shown = inspect.signature(function).parameters
            self.assertLessEqual(names, set(shown))
            self.assertNotIn("definition", shown)

    def test_of_sections_are_those_of_specs(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "spec-format.md").read_text()
        for keys, title, missing in (
            (MeasureKeys, "measure", set()),
            (SearchKeys, "search", set()),
            (ValidationKeys, "validate", {"reference", "validator"}),
        ):
            section = re.search(rf"^## \[{title}\]\n(.*?)^##", page, re.S | re.M).group(1)
            cells = re.findall(r"^\|((?: `\w+`,?)+) \|", section, re.M)
            self.assertEqual(set(keys.__annotations__), set(re.findall(r"\w+", " ".join(cells))) - missing)


class Html(unittest.TestCase):
    def test_a_result_is_a_table_of_the_best(self):
        result = xtune.tune(saxpy(), **HOST)
        text = result._repr_html_()
        self.assertIn(html.escape(str(result)), text)
        self.assertIn("4 ok", text)
        self.assertEqual(text.count("<tr>"), 5)
        first = text.split("</tr>")[1]
        self.assertTrue(all(f"<td>{value}</td>" in first for value in result.best.config.values()))
        hostile = dataclasses.replace(result, kernel_name="<b>", measurements=[], winner=None, counts={})
        self.assertNotIn("<b>", hostile._repr_html_())
        self.assertNotIn("<table>", hostile._repr_html_())


class Stubs(unittest.TestCase):
    def names_in(self, body):
        names = {each.name for each in body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}
        return {
            name
            for name in names | {each.target.id for each in body if isinstance(each, ast.AnnAssign)}
            if not name.startswith("__")
        }

    def test_describe_the_extension(self):
        native = xtune._native
        stub = ast.parse((pathlib.Path(xtune.__file__).parent / "_native.pyi").read_text()).body
        public = [each for each in dir(native) if not each.startswith("__")]
        self.assertEqual(sorted(self.names_in(stub)), sorted(public))
        self.assertEqual(pathlib.Path(native.__file__).name, "_native.abi3.so")  # of every version of Python
        for each in stub:
            if isinstance(each, ast.ClassDef):
                members = [name for name in vars(getattr(native, each.name)) if not name.startswith("__")]
                self.assertEqual(sorted(self.names_in(each.body)), sorted(members), each.name)

    def test_use_names_that_they_define(self):
        tree = ast.parse((pathlib.Path(xtune.__file__).parent / "_native.pyi").read_text())
        known = set(dir(builtins))
        for each in ast.walk(tree):
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                known |= {alias.asname or alias.name for alias in each.names}
            elif isinstance(each, (ast.ClassDef, ast.FunctionDef)):
                known.add(each.name)
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                known.add(each.id)
        used = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
        self.assertLessEqual(used, known)

    def test_everything_public_is_documented(self):
        for name in xtune.__all__:
            with self.subTest(name):
                self.assertTrue(getattr(xtune, name).__doc__)
        for name, each in vars(xtune.Tunable).items():
            if callable(each) and not name.startswith("_"):
                with self.subTest(name):
                    self.assertTrue(each.__doc__)


if __name__ == "__main__":
    logging.basicConfig()
    unittest.main()
