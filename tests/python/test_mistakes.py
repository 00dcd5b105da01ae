# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the whole interface: each raises an error of xtune that says where, and what was expected."""
import dataclasses
import inspect
import json
import math
import os
import pathlib
import re
import tempfile
import threading
import types
import unittest
import warnings

from support import HOST, N, SAXPY, arrays, np, saxpy, xtune
from xtune.compat.kernel_tuner import run_kernel, store_results, tune_kernel

ONE = [{"BLOCK": 32, "UNROLL": 1}]
HUGE = 2**70
ADD = "__global__ void add(float *y, const float *x, int n) { for (int i = 0; i < n; ++i) y[i] += x[i]; }"


def raised(make):
    """The exception of a call, without warnings; None: there was none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make()
        except BaseException as error:  # also what no user should see
            return error
    return None


def function_of(params=None, **options):
    """A decorated function."""
    options = {"tune_settings": {"keep": False}, "measure": {"rep": 2, "finals": 0}, **options}
    return xtune.autotune(params=params or {"STEP": [1, 2]}, **options)(lambda a=0, n=1, *, STEP: a)


def kernel_of(**options):
    """A decorated kernel that is never compiled."""

    @xtune.autotune(params={"BLOCK": [32]}, grid="ceildiv(n, BLOCK)", block="BLOCK", **options)
    def scale(x: xtune.InOut, factor: np.float32, on: np.bool_, n: np.int32):
        return "__global__ void scale(float* x, float factor, bool on, int n) {}"

    return scale


def by_kernel_tuner(**changes):
    x, y = arrays()
    given = {
        "kernel_name": "add",
        "kernel_source": ADD,
        "problem_size": N,
        "arguments": [y, x, np.int32(N)],
        "tune_params": {"block_size_x": [32]},
        "settings": HOST,
        "quiet": True,
        "iterations": 1,
    }
    return tune_kernel(**{**given, **changes})


def with_method(name, answer):
    """An object of a protocol, which does not keep to it."""
    return type("Broken", (), {name: lambda self, **_: answer})()


class Table(unittest.TestCase):
    def expect(self, cases, error=xtune.InvalidArgumentError):
        """cases: [(the beginning of the message, a call)]"""
        for words, make in cases:
            with self.subTest(words):
                found = raised(make)
                self.assertIs(type(found), error, f"{found!r}")
                self.assertEqual(str(found)[: len(words)], words)


def fail(text):
    raise ValueError(text)


class WrongTypes(Table):
    def test_of_definitions(self):
        x, _ = arrays()
        new = xtune.Tunable
        self.expect(
            [
                ("name: expected a text or None, not 5", lambda: new(5)),
                ("source: expected a text or None, not 5", lambda: new("t", 5)),
                ("source_file: expected a path or None, not 5", lambda: new("t", source_file=5)),
                ("params: a name: expected a text or a tuple, not 3", lambda: new("t", params={3: [64]})),
                ("params['B']: expected a list of values, not 5", lambda: new("t", params={"B": 5})),
                (
                    "param 'B': values[1]: expected a bool, a number or a text, not None",
                    lambda: new("t", params={"B": [1, None]}),
                ),
                (
                    "param 'B': values[0]: 1180591620717411303424 does not fit into 64 bits",
                    lambda: new("t", params={"B": [HUGE]}),
                ),
                (
                    "problem 'n': value: 18446744073709551615 is too large: integers up to 9223372036854775807 can be tuned",
                    lambda: new("t", args={"n": np.uint64(2**64 - 1)}),
                ),
                (
                    "value: 9223372036854775808 is too large: integers up to 9223372036854775807 can be tuned",
                    lambda: xtune.Scalar("u64", 2**63),
                ),
                ("param 'B': values[0]: an integer of ", lambda: new("t", params={"B": [10**5000]})),
                ("params: rows[0][1]: expected a bool", lambda: new("t", params={("A", "B"): [(1, None)]})),
                (
                    "param_range 'B': max: 1180591620717411303424 does not fit",
                    lambda: new("t").param_range("B", 1, HUGE),
                ),
                ("param_range 'B': min: expected a whole number, not 1.5", lambda: new("t").param_range("B", 1.5, 2)),
                ("param_pow2 'B': min: expected a whole number, not 'x'", lambda: new("t").param_pow2("B", "x", 2)),
                ("problem['n']: 1180591620717411303424 does not fit into 64 bits", lambda: saxpy(problem={"n": HUGE})),
                ("problem['n']: expected a bool, a number or a text, not [1]", lambda: saxpy(problem={"n": [1]})),
                ("args: expected a dict or None, not [1, 2]", lambda: new("t", args=[1, 2])),
                ("'n': pass a NumPy scalar", lambda: new("t", args={"n": 5})),
                (
                    "'n': (1+2j) is complex: pass xtune.Scalar('c64', 1)",
                    lambda: new("t", args={"n": np.complex64(1 + 2j)}),
                ),
                (
                    "'x': its __cuda_array_interface__ lacks typestr",
                    lambda: new("t", args={"x": with_method("__cuda_array_interface__", 5)}),
                ),
                (
                    "'x' is a masked array, and a kernel knows no mask: pass array.filled(...)",
                    lambda: new("t", args={"x": np.ma.masked_array(x, x > 3)}),
                ),
                ("'x': NumPy cannot read its __dlpack__", lambda: new("t", args={"x": with_method("__dlpack__", 5)})),
                ("'n': {} is not a type that kernels take", lambda: new("t", args={"n": xtune.Scalar({}, 1)})),
                ("measure: expected a dict or None, not 5", lambda: new("t", measure=5)),
                (
                    "search['evals']: expected a bool, a number or a text, not None",
                    lambda: new("t", search={"evals": None}),
                ),
                (
                    "grid: expected a number, a text, a list of numbers or texts, a function, or None, not {}",
                    lambda: saxpy(grid={}),
                ),
                ("block: each[0]: expected a number, a text or a function, not None", lambda: saxpy().block(None)),
                ("shared: expected a number, a text or None, not [1]", lambda: saxpy(shared=[1])),
                ("options: expected a list of texts, not '-O3'", lambda: saxpy(options="-O3")),
                ("include_dirs: expected a list of paths, not 5", lambda: saxpy(include_dirs=5)),
                ("defines['A']: expected a number or a text, not None", lambda: saxpy(defines={"A": None})),
                ("cases[0]: a name: expected a text, not 3", lambda: saxpy(cases=[{3: 5}])),
                (
                    "constraints: expected a text, a function, or a list of texts or functions, not 5",
                    lambda: saxpy(constraints=5),
                ),
                (
                    "constraint: names: expected a list of texts or None, not 5",
                    lambda: saxpy().constraint(lambda b: True, names=5),
                ),
                ("reference: expected a function or None, not 3", lambda: saxpy(reference=3)),
                ("tolerance: expected a list of numbers or None, not 5", lambda: saxpy(tolerance=5)),
                ("tolerance: expected (rtol, atol), not (1, 2, 3)", lambda: saxpy(tolerance=(1, 2, 3))),
                ("metrics['m']: expected a number, a text or a function, not [1]", lambda: saxpy(metrics={"m": [1]})),
                (
                    "minimize: goals[0]: expected a number, a text or a function, not None",
                    lambda: saxpy().minimize(None),
                ),
                ("data: name: expected a text, not 5", lambda: saxpy().data(5, x)),
                ("'x': int is not data", lambda: saxpy().data("x", 5)),
                ("kernel_args: names[0]: expected a text, not 5", lambda: saxpy().kernel_args(5)),
                ("reference_config: BLOCK: expected a bool", lambda: saxpy().reference_config(BLOCK=None)),
                (
                    "reference_builtin: a: expected a number or a text, not None",
                    lambda: saxpy().reference_builtin("gemm", a=None),
                ),
                (
                    "top_k: expected a whole number from 1 to 2147483647, not 1099511627776",
                    lambda: saxpy().candidates("matmul", top_k=2**40),
                ),
                ("compile_timeout_s: seconds: expected a number, not 'x'", lambda: saxpy().compile_timeout_s("x")),
                ("function: timed: expected a function, not 5", lambda: new("t").function(5, "1")),
                ("toml: expected a text, not 5", lambda: new.from_text(5)),
                ("path: expected a path, not 5", lambda: new.from_file(5)),
                (
                    "shape: expected a number, a text, a list of numbers or texts, or None, not a function",
                    lambda: xtune.In(x, shape=lambda: 1),
                ),
                ("value: expected a number or a text, not [1]", lambda: xtune.Scalar("f32", [1])),
                ("of: expected a text, not 5", lambda: xtune.TensorMap(5, 3)),
            ]
        )

    def test_of_runs_and_questions(self):
        one = saxpy()
        self.expect(
            [
                ("kernel: expected an xtune.Tunable or a path, not 5", lambda: xtune.tune(5)),
                ("backend: expected a text, not None", lambda: xtune.tune(one, backend=None)),
                (
                    "devices: expected a whole number, a list of whole numbers or None, not '0'",
                    lambda: xtune.tune(one, devices="0"),
                ),
                ("devices: expected a whole number of at least 0, not -1", lambda: xtune.tune(one, devices=[-1])),
                ("jobs: expected a number, not '0.9:1'", lambda: xtune.tune(one, jobs="0.9:1")),
                ("jobs: expected a number, not '0.9:1'", lambda: xtune.compile_all(one, ONE, jobs="0.9:1")),
                (
                    "evals: 1000000000000000000000000000000 does not fit into 64 bits",
                    lambda: xtune.tune(one, evals=10**30),
                ),
                ("problem['n']: 1180591620717411303424 does not fit", lambda: xtune.tune(one, problem={"n": HUGE})),
                ("store: expected a path or None, not 5", lambda: xtune.tune(one, store=5)),
                ("seconds: expected a number or None, not 'x'", lambda: xtune.tune(one, seconds="x")),
                ("settings: seconds is nan", lambda: xtune.tune(one, seconds=math.nan, **HOST)),
                ("keep: expected a bool, not 'x'", lambda: xtune.tune(one, keep="x")),
                (
                    "configs[0]['BLOCK']: expected a bool, a number or a text, not None",
                    lambda: xtune.tune(one, configs=[{"BLOCK": None}]),
                ),
                (
                    "configs[0]['BLOCK']: 1180591620717411303424 does not fit",
                    lambda: xtune.tune(one, configs=lambda problem: [{"BLOCK": HUGE}], **HOST),
                ),
                ("progress: expected a bool, a function or None, not 'x'", lambda: xtune.tune(one, progress="x")),
                ("stop: expected a threading.Event", lambda: xtune.tune(one, stop=threading.Event)),
                (
                    "max_copy_bytes: expected a whole number of at least 0, not -1",
                    lambda: xtune.tune(one, max_copy_bytes=-1),
                ),
                ("tuning: expected a dict or None, not 5", lambda: xtune.load(one, tuning=5)),
                ("tuning: backend: expected a text, not 5", lambda: xtune.load(one, tuning={"backend": 5})),
                (
                    "default_config: BLOCK = 65 is not among its values, [32, 64]",
                    lambda: xtune.load(one, default_config={"BLOCK": 65, "UNROLL": 1}, backend="host"),
                ),
                (
                    "default_config: the parameter UNROLL has no value",
                    lambda: xtune.load(one, default_config={"BLOCK": 64}, backend="host"),
                ),
                (
                    "default_config: 'BLOC' is not a parameter (did you mean 'BLOCK'?)",
                    lambda: xtune.load(one, default_config={"BLOC": 64}, backend="host"),
                ),
                ("load: tuning has no setting 'evil'", lambda: xtune.load(one, tuning={"evil": 5})),
                ("on_message: expected a function or None, not 5", lambda: xtune.load(one, on_message=5)),
                ("bundle: expected a path, not 5", lambda: xtune.load_bundle(5)),
                ("problem: expected a dict or None, not 5", lambda: xtune.best(one, 5)),
                (
                    "tune() got 'search', which only a source in code takes: edit the spec, or pass evals=",
                    lambda: xtune.tune("gemm", search={}),
                ),
                ("count: expected a whole number of at least 0, not -1", lambda: xtune.candidates(one, count=-1)),
                ("configs: expected a list of dicts, not 5", lambda: xtune.compile_all(one, 5)),
                ("most: expected a whole number of at least 0, not -1", lambda: xtune.all_configs(one, most=-1)),
                ("backend: expected a text, not 5", lambda: xtune.devices(5)),
                ("directory: expected a path, not 5", lambda: xtune.Result.load(5)),
            ]
        )

    def test_of_kernels_and_results(self):
        x, y = arrays()
        result = xtune.tune(saxpy(), configs=ONE, **HOST)
        kernel = result.kernel()
        loaded = xtune.load(saxpy(), backend="host")
        self.expect(
            [
                ("digest: problems: expected a list of dicts, not {'n': 5}", lambda: loaded.digest({"n": 5})),
                ("digest: problems[0]['n']: expected a bool, a number or a text", lambda: loaded.digest([{"n": None}])),
                ("problem: expected a dict, not 'n'", lambda: loaded.choice("n")),
                ("a name: expected a text, not 1", lambda: loaded.for_problem({1: 1})),
                ("n: expected a number, a bool or a text, not None", lambda: loaded.prepare(n=None)),
                ("n: 1180591620717411303424 does not fit into 64 bits", lambda: loaded.choice(n=HUGE)),
                (
                    "n: 9223372036854775808 is too large: integers up to 9223372036854775807 can be tuned",
                    lambda: loaded.choice(n=2**63),
                ),
                (
                    "saxpy: argument 3, 'a', is a scalar of f32 and was given 1e+300, which is too large for it",
                    lambda: kernel(x, y, 1e300, N),
                ),
                (
                    "saxpy: argument 3, 'a', is a scalar of f32 and was given -3.5e+38, which",
                    lambda: kernel(x, y, -3.5e38, N),
                ),
                (
                    "samples: expected a whole number of at least 0, not -3",
                    lambda: kernel.benchmark(x, y, 0.0, N, samples=-3),
                ),
                ("benchmark: cold: expected a bool, not 'x'", lambda: kernel.benchmark(x, y, 0.0, N, cold="x")),
                (
                    "benchmark: min_sample_ms is nan",
                    lambda: kernel.benchmark(x, y, 0.0, N, cold=False, min_sample_ms=math.nan),
                ),
                ("set_constant: name: expected a text, not 5", lambda: kernel.set_constant(5, x)),
                ("'c': int is not an array", lambda: kernel.set_constant("c", 5)),
                (
                    "stream: pass the address of a stream, or a stream of PyTorch, CuPy or Numba, not -1",
                    lambda: kernel(x, y, 0.0, N, stream=-1),
                ),
                ("stream: pass the address", lambda: kernel(x, y, 0.0, N, stream=HUGE)),
                ("stream: pass the address", lambda: kernel(x, y, 0.0, N, stream=with_method("__cuda_stream__", ()))),
                ("saxpy: argument 1, 'x', is a buffer of f32 and was given list", lambda: kernel([1.0], y, 0.0, N)),
                (
                    "saxpy: argument 1, 'x', was given a masked array, and a kernel knows no mask: pass array.filled(...)",
                    lambda: kernel(np.ma.masked_array(x, x > 3), y, 0.0, N),
                ),
                (
                    "saxpy: argument 1, 'x', has a __dlpack__ that returns 5",
                    lambda: kernel(with_method("__dlpack__", 5), y, 0.0, N),
                ),
                (
                    "saxpy: argument 1, 'x', has a __cuda_array_interface__ that lacks typestr",
                    lambda: kernel(with_method("__cuda_array_interface__", 5), y, 0.0, N),
                ),
                (
                    "saxpy: argument 4, 'n', is a scalar of i32 and was given an object of int",
                    lambda: kernel(x, y, 0.0, 10**5000),
                ),
                ("saxpy takes 4 arguments (x, y, a, n) and was given 3", lambda: kernel(x, y, 0.0, m=3)),
                ("kernel: config: expected a dict or None, not 5", lambda: result.kernel(5)),
                ("save: directory: expected a path, not 5", lambda: result.save(5)),
            ]
        )
        np.testing.assert_array_equal(y, 1)
        for which in (TypeError, ValueError, xtune.Error):  # whatever a program expects of a wrong type
            self.assertIsInstance(raised(lambda: kernel([1.0], y, 0.0, N)), which)

    def test_of_decorators(self):
        x, _ = arrays()
        settings = {"params": {"B": [1]}}
        self.expect(
            [
                ("autotune: restore: expected a text or a list of texts, not 5", lambda: function_of(restore=5)),
                ("autotune: restore: expected a text or a list of texts, not None", lambda: function_of(restore=None)),
                ("autotune: version: expected a text or None, not 7", lambda: function_of(version=7)),
                ("autotune: key: expected a text, a list of texts or None, not 5", lambda: function_of(key=5)),
                ("autotune: params['B']: expected a list of values, not 5", lambda: xtune.autotune(params={"B": 5})),
                ("autotune: configs[0]['B']: expected a bool", lambda: xtune.autotune(configs=[{"B": [1]}])),
                ("autotune: grid: expected a number, a text", lambda: xtune.autotune(**settings, grid={}, block=1)),
                ("autotune: expected a function to decorate, not 5", lambda: xtune.autotune(**settings)(5)),
                (
                    "autotune: <built-in function max> has no names of parameters",
                    lambda: xtune.autotune(**settings)(max),
                ),
                ("autotune: tune_settings: expected a dict or None, not 5", lambda: function_of(tune_settings=5)),
                (
                    "autotune: tune_settings has no setting 'second' (did you mean 'seconds'?)",
                    lambda: function_of(tune_settings={"second": 1}),
                ),
                ("autotune: tune_settings has no setting 'zz'", lambda: kernel_of(tune_settings={"zz": 1})),
                (
                    "autotune: tune_settings: seconds: expected a number or None, not 'x'",
                    lambda: function_of(tune_settings={"seconds": "x"}),
                ),
                (
                    "autotune() got an unexpected keyword argument 'measures' (did you mean 'measure'?)",
                    lambda: kernel_of(measures={}),
                ),
                ("scale(): 'x' is int, not an array", lambda: kernel_of()(5, 1.0, True, N)),
                ("scale(): 'factor': expected a number, not 'a'", lambda: kernel_of()(x, "a", True, N)),
                ("scale(): 'factor': expected a number, not [1]", lambda: kernel_of(key="factor")(x, [1], True, N)),
                ("scale(): 'on': expected a bool, not 'x'", lambda: kernel_of()(x, 1.0, "x", N)),
                ("scale(): 'n': expected a whole number, not 1.5", lambda: kernel_of()(x, 1.0, True, 1.5)),
                (
                    "scale(): 'n': expected a whole number from -2147483648 to 2147483647, not 1099511627776",
                    lambda: kernel_of()(x, 1.0, True, 2**40),
                ),
                ("<lambda>(): the key 'a' is [1], which cannot be a key", lambda: function_of(key="a")([1])),
                ("<lambda>(): restore: 'a' is 1, not an array", lambda: function_of(restore="a")(1)),
                (
                    "autotune: 'B' of <lambda> comes before '*rest', whose first value would be taken for it: write it after '*rest'",
                    lambda: xtune.autotune(**settings)(lambda B, *rest: 1),
                ),
                (
                    "autotune: 'B' of <lambda> cannot be passed by name",
                    lambda: xtune.autotune(**settings)(lambda *B: 1),
                ),
            ]
        )


class Sources(Table):
    """What tune() misses of a source is named by the keyword, not by the section of a spec."""

    def test_arguments_and_launch(self):
        x, y = arrays()

        def tuned(**definition):
            given = {"params": {"block_size_x": [32]}, "args": {"y": y, "x": x}, "grid": "1", "block": "32"}
            given = {name: value for name, value in {**given, **definition}.items() if value}
            return lambda: xtune.tune(ADD, **given, **HOST)

        self.expect(
            [
                ('tune(): grid is missing: pass it, such as grid="', tuned(grid=None)),
                ('tune(): block is missing: pass it, such as block="', tuned(block=None)),
                ('tune(): args is missing: pass it, such as args={"', tuned(args=None)),
                ("tune(): args: expected a dict of the kernel's arguments by their names", tuned(args="yx")),
            ]
        )

    def test_earlier_names(self):
        one = saxpy(name="judged", entry="saxpy").check(lambda zz: True)
        self.expect([("judged: the validator has a parameter 'zz'", lambda: xtune.tune(one, configs=ONE, **HOST))])


class RightTypes(unittest.TestCase):
    """What looks like a wrong type, and is none."""

    def test_of_definitions_and_settings(self):
        tunable = xtune.Tunable(
            np.str_("t"),
            SAXPY,
            problem={"n": np.int16(N)},
            grid=np.int64(4),
            block=("B", np.uint8(1)),
            shared=np.float32(0),
            params={
                "B": np.array([32, 64]),
                "UNROLL": (2**i for i in range(2)),
                ("U", "V"): zip((1, 2), (3.0, np.float64(4))),
            },
            constraints=(each for each in ("B == 32", lambda UNROLL: np.bool_(UNROLL == 1))),
            options=("-O1",),
            defines=types.MappingProxyType({"A": True}),
            tolerance=np.array([1e-3, 0.5]),
            measure={"race": np.bool_(False)},
            args={"x": np.zeros(4, np.float32), "n": np.int32(4), "flag": xtune.Scalar("bool", True)},
        )
        self.assertEqual(
            xtune.all_configs(tunable.check_spec(), backend=np.str_("host"), most=np.int32(9)),
            [{"B": 32, "UNROLL": 1, "U": 1, "V": 3.0}, {"B": 32, "UNROLL": 1, "U": 2, "V": 4.0}],
        )
        result = xtune.tune(
            saxpy(),
            backend="host",
            devices=np.int64(0),
            jobs=np.float32(1),
            evals=np.uint8(1),
            seed=np.int64(1),
            seconds=np.float32(60),
            keep=1,
            fresh=np.bool_(False),
            problem=types.MappingProxyType({"n": N}),
            configs=iter(ONE),
        )
        self.assertEqual(result.counts, {"ok": 1})

    def test_of_numbers_for_a_decorated_kernel(self):
        x, _ = arrays()
        plain = kernel_of().tunable(x, 2.0, True, N).toml()
        self.assertEqual(kernel_of().tunable(x, np.array(2), np.array(1.0), np.array(N)).toml(), plain)
        self.assertEqual(kernel_of().tunable(x, np.float16(2), 1, np.uint64(N)).toml(), plain)


class Numbers(Table):
    def test_keys_need_not_be_finite_nor_fit_into_64_bits(self):
        tuned = function_of(key="a")
        for value in (math.inf, math.nan, float("nan"), -HUGE, -HUGE):
            tuned(value)
        self.assertEqual(
            [each.problem for each in tuned.results],
            [{"a": "(float) inf"}, {"a": "(float) nan"}, {"a": f"(int) {-HUGE}"}],
        )

    def test_values_are_finite(self):
        for value in (math.inf, math.nan):
            for make in (
                lambda: xtune.tune(saxpy().param("A", [value]), **HOST),
                lambda: saxpy().problem("A", value).check_spec(),
                lambda: function_of({"STEP": [value]})(1),
            ):
                with self.subTest(value=value):
                    found = raised(make)
                    self.assertIs(type(found), xtune.InvalidSpecError)
                    self.assertIn(f": expected a finite number, got {value}", str(found))


class Texts(Table):
    """With a byte that is not UTF-8, as os.fsdecode gives them."""

    def test_are_valid_unicode(self):
        bad, x = "a\udc80", arrays()[0]
        new, one, loaded = xtune.Tunable, saxpy(), xtune.load(saxpy(), backend="host")
        places = {
            "name": lambda: new(bad),
            "options[0]": lambda: saxpy(options=[bad]),
            "defines['A']": lambda: saxpy(defines={"A": bad}),
            "defines: a name": lambda: saxpy(defines={bad: 1}),
            "constraints": lambda: saxpy(constraints=bad),
            "metrics: a name": lambda: saxpy(metrics={bad: "1"}),
            "params: a name": lambda: saxpy(params={bad: [1]}),
            "param 'B': values[0]": lambda: saxpy(params={"B": [bad]}),
            "params: names[1]": lambda: saxpy(params={("A", bad): [(1, 2)]}),
            "problem['n']": lambda: saxpy(problem={"n": bad}),
            "problem: a name": lambda: xtune.tune(one, problem={bad: 1}),
            "configs[0]['B']": lambda: xtune.tune(one, configs=[{"B": bad}]),
            "backend": lambda: xtune.tune(one, backend=bad),
            "configs[0]: a name": lambda: xtune.tune(one, configs=lambda problem: [{bad: 1}], **HOST),
            "arch": lambda: xtune.compile_all(one, ONE, arch=bad),
            "validator: label": lambda: one.check(lambda y: True, label=bad),
            "autotune: version": lambda: function_of(version=bad),
            "toml": lambda: new.from_text(bad),
            "problem['a']": lambda: function_of(key="a")(bad),
            "add_case: a name": lambda: one.add_case(**{bad: 1}),
            "the data of 'x'": lambda: one.data("x", bad),
            "args: a name": lambda: saxpy(args={bad: x}),
        }
        self.expect(
            [
                (f"{place}: 'a\\udc80' is not valid Unicode text ('\\udc80' at 1)", make)
                for place, make in places.items()
            ]
        )
        self.expect(
            [
                ("source: an object of str is not valid Unicode text", lambda: saxpy(source=SAXPY + bad)),
                ("'x': a\\udc80 is not a type that kernels take", lambda: new("t", args={"x": xtune.Scalar(bad, 1)})),
                ("n: 'a\\udc80' is not valid Unicode text", lambda: loaded.choice(n=bad)),
                ("a name: 'a\\udc80' is not valid Unicode text", lambda: loaded.choice(**{bad: 1})),
                ("saxpy: 'a\\udc80' is neither an argument of the call", lambda: loaded(**{bad: 1})),
                (
                    "the reference in code failed: KeyError: 'a\\udc80'",
                    lambda: xtune.tune(saxpy(reference=lambda x: {}[bad]), configs=ONE, fresh=True, **HOST),
                ),
                (
                    "the reference in code failed: ValueError: a\\udc80",
                    lambda: xtune.tune(saxpy(reference=lambda x: int(fail(bad))), configs=ONE, fresh=True, **HOST),
                ),
            ]
        )

    def test_of_paths_may_be_any_bytes(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.fsdecode(os.path.join(os.fsencode(place), b"\x80.toml"))
            with open(path, "w") as file:
                file.write(saxpy().toml())
            for given in (path, pathlib.Path(path)):
                self.assertEqual(xtune.Tunable.from_file(given).name, "saxpy")
                self.assertEqual(len(xtune.all_configs(given, backend="host")), 4)
            with open(path, "w") as file:
                file.write("x = [")
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                self.assertEqual(xtune.tune(saxpy(), configs=ONE, store=path, **HOST).counts, {"ok": 1})
            self.assertTrue(any(f"{place}/\\x80.toml" in str(each.message) for each in found))
            self.expect([(f"{place}/\\x80.toml:1:6: ", lambda: xtune.Tunable.from_file(path))], xtune.InvalidSpecError)
            self.assertIn("\\x80.cu", saxpy(source=None, source_file="\udc80.cu", name="t").toml())


class WrongAnswers(Table):
    """Of callbacks."""

    def test_metrics_and_goals(self):
        def tuned(**definition):
            return xtune.tune(saxpy(**definition), configs=ONE, **HOST)

        self.expect(
            [
                (
                    "the metric 'm' has a parameter 'nope', and there are BLOCK, UNROLL, n, ",
                    lambda: tuned(metrics={"m": lambda nope: 1}),
                ),
                (
                    "the metric 'm' reads 'nope', and there are BLOCK, UNROLL, n, ",
                    lambda: tuned(metrics={"m": lambda values: values["nope"]}),
                ),
                ("the metric 'm': expected a number, not 'wide'", lambda: tuned(metrics={"m": lambda BLOCK: "wide"})),
                (
                    "constraint over BLOCK returned an array of 2 elements",
                    lambda: tuned(constraints=[lambda BLOCK: np.ones(2)]),
                ),
                (
                    "the reference in code failed: InvalidArgumentError: the reference of 'y' is a masked array",
                    lambda: tuned(reference=lambda x: np.ma.masked_array(x)),
                ),
                (
                    "the data of 'x' has elements of object",
                    lambda: xtune.tune(
                        saxpy().data("x", lambda problem: None, dtype="f32"), configs=ONE, fresh=True, **HOST
                    ),
                ),
                (
                    "t: the function, returned: expected its time in milliseconds, a number, not None",
                    lambda: xtune.tune(
                        xtune.Tunable("t", params={"A": [1]}).function(lambda problem, config: None, "1"), keep=False
                    ),
                ),
            ]
        )
        for goal, value in (
            (lambda BLOCK: math.nan, "nan"),
            (lambda BLOCK: None, "nan"),
            ("0.0 * time_ms / 0.0", "nan"),
            (lambda BLOCK: math.inf, "inf"),
        ):
            result = tuned(metrics={"g": goal}, minimize="g")
            with self.assertRaisesRegex(
                xtune.NothingValidError, f"What ran gave the goal no finite value .g is {value}.$"
            ):
                result.best
            self.assertIn("no configuration passed, of 1 tried; what ran gave the goal no finite value", str(result))
        with self.assertRaisesRegex(xtune.NothingValidError, "What ran gave the goal no finite value$"):
            tuned(minimize=math.inf).best

    def test_functions_of_another_number_of_arguments(self):
        one, two = (
            "expected a function of one argument, not <function ",
            "expected a function of 2 arguments, not <function ",
        )

        def none():
            return 1

        self.expect(
            [
                ("progress: " + one, lambda: xtune.tune(saxpy(), progress=none, **HOST)),
                ("on_measurement: " + one, lambda: xtune.tune(saxpy(), on_measurement=none, **HOST)),
                ("configs: " + one, lambda: xtune.tune(saxpy(), configs=none, **HOST)),
                ("on_message: " + one, lambda: xtune.load(saxpy(), on_message=none)),
                ("constraint over BLOCK: " + one, lambda: saxpy().constraint(none, names=["BLOCK"])),
                ("t: the function: " + two, lambda: xtune.Tunable("t").function(none, "1")),
                ("t: prepare: " + two, lambda: xtune.Tunable("t").function(lambda a, b: 1, "1", prepare=none)),
                (
                    "the data of 'x': " + one,
                    lambda: xtune.tune(saxpy().data("x", none, dtype="f32"), fresh=True, **HOST),
                ),
                ("problem_size: " + one, lambda: by_kernel_tuner(problem_size=none)),
                ("kernel_source: " + one, lambda: by_kernel_tuner(kernel_source=none)),
                ("grid_div_y: " + one, lambda: by_kernel_tuner(grid_div_y=[none])),
                ("restrictions: " + one, lambda: by_kernel_tuner(restrictions=none)),
                ("defines: 'A': " + one, lambda: by_kernel_tuner(defines={"A": none})),
                ("metrics: 'm': " + one, lambda: by_kernel_tuner(metrics={"m": none})),
            ]
        )

    def test_a_check_that_cannot_answer_is_one_error_whichever_way_it_is_called(self):
        x, y = arrays()
        messages = []

        def once(check):
            tunable = saxpy(name="judged", entry="saxpy", check=check)
            return xtune.load(
                tunable, backend="host", policy="tune_once", tuning={"configs": ONE}, on_message=messages.append
            )

        unknown, array = lambda yy: True, lambda y: y > 0
        has_a_parameter = "judged: the validator has a parameter 'yy', and there are "
        returned = f"judged: the validator returned an array of {N} elements: return a bool"
        word = "judged: the validator, returned: expected a bool or None, not 'wrong'"
        self.expect(
            [
                (
                    word,
                    lambda: xtune.tune(
                        saxpy(name="judged", entry="saxpy", check=lambda y: "wrong"), configs=ONE, **HOST
                    ),
                ),
                (
                    "<lambda>: the validator, returned: expected a bool or None, not 1",
                    lambda: function_of(check=lambda *_, **__: 1)(),
                ),
                (
                    has_a_parameter,
                    lambda: xtune.tune(saxpy(name="judged", entry="saxpy", check=unknown), configs=ONE, **HOST),
                ),
                (returned, lambda: xtune.tune(saxpy(name="judged", entry="saxpy", check=array), configs=ONE, **HOST)),
                (has_a_parameter, lambda: once(unknown)(x, y, 0.0, N)),
                (returned, lambda: once(array)(x, y, 0.0, N)),
                (has_a_parameter, lambda: once(unknown).prepare(n=N)),
                (has_a_parameter, lambda: once(unknown).benchmark(x, y, 0.0, N, samples=1)),
                (
                    "<lambda>: the validator returned an array of 3 elements",
                    lambda: function_of(check=lambda *_, **__: np.ones(3))(),
                ),
                (
                    "<lambda>: the validator cannot be called with the result and the arguments: too many positional arguments",
                    lambda: function_of(check=lambda: True)(),
                ),
            ]
        )
        messages.clear()
        later = xtune.load(
            saxpy(name="judged", entry="saxpy", check=unknown),
            backend="host",
            policy="tune_in_background",
            tuning={"configs": ONE},
            on_message=messages.append,
        )
        later(x, y, 0.0, N)
        later.wait()
        self.assertIn("not tuned: InvalidArgumentError: " + has_a_parameter, " ".join(messages))
        later(x, y, 0.0, N)  # nothing of the mistake is left for another call
        np.testing.assert_array_equal(y, 1)

    def test_a_false_of_numpy_is_false(self):
        for no in (np.bool_(False), np.array(False), np.array([False])):
            self.assertIs(type(raised(function_of(check=lambda *_, **__: no))), xtune.NothingValidError)


class KernelTuner(Table):
    def test_mistakes_are_explained(self):
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "torn.json").write_text("{")
            (pathlib.Path(place) / "list.json").write_text("[1]")
            environment = {"device_name": "d"}
            self.expect(
                [
                    ("problem_size, x: expected a number above 0, not -5", lambda: by_kernel_tuner(problem_size=-5)),
                    (
                        "problem_size, y: expected a number above 0, not -5",
                        lambda: by_kernel_tuner(problem_size=(1, -5)),
                    ),
                    (
                        "problem_size, x: expected a number above 0, not -5",
                        lambda: by_kernel_tuner(problem_size=lambda p: -5),
                    ),
                    (
                        "problem_size: 'nope' has no value: name 'nope' is not defined (there are block_size_x)",
                        lambda: by_kernel_tuner(problem_size="nope"),
                    ),
                    ("problem_size: expected a number", lambda: by_kernel_tuner(problem_size=None)),
                    ("grid_div_x: expected a number above 0, not 0", lambda: by_kernel_tuner(grid_div_x=0)),
                    (
                        "grid_div_x[0]: expected a number, a text or a function, not None",
                        lambda: by_kernel_tuner(grid_div_x=[None]),
                    ),
                    ("cache: '/tmp' is a directory; pass the path of a file", lambda: by_kernel_tuner(cache="/tmp")),
                    ("cache: expected a path or None, not 5", lambda: by_kernel_tuner(cache=5)),
                    (
                        f"cache: '{place}/torn.json' is not a complete file of JSON",
                        lambda: by_kernel_tuner(cache=f"{place}/torn"),
                    ),
                    (
                        f"cache: the contents of '{place}/list.json': expected a dict",
                        lambda: by_kernel_tuner(cache=f"{place}/list"),
                    ),
                    ("tune_params: expected a dict, not [1]", lambda: by_kernel_tuner(tune_params=[1])),
                    (
                        "tune_params['a']: expected a list of values, not 5",
                        lambda: by_kernel_tuner(tune_params={"a": 5}),
                    ),
                    (
                        "param 'a': values[0]: 1180591620717411303424 does not fit",
                        lambda: by_kernel_tuner(tune_params={"a": [HUGE]}),
                    ),
                    ("arguments: expected a list of values, not 5", lambda: by_kernel_tuner(arguments=5)),
                    ("arguments[0] is int: pass arrays", lambda: by_kernel_tuner(arguments=[1])),
                    ("kernel_source is []: pass a text", lambda: by_kernel_tuner(kernel_source=[])),
                    (
                        "restrictions: 'nope > 2' has no value: name 'nope'",
                        lambda: by_kernel_tuner(restrictions=["nope > 2"]),
                    ),
                    (
                        "restrictions: a function reads 'nope', and there are block_size_x",
                        lambda: by_kernel_tuner(restrictions=lambda p: p["nope"]),
                    ),
                    (
                        "restrictions: a function returned an array of 2 elements",
                        lambda: by_kernel_tuner(restrictions=lambda p: np.ones(2)),
                    ),
                    (
                        "grid_size_x: the function reads 'nope', and there are block_size_x",
                        lambda: by_kernel_tuner(problem_size=lambda p: p["nope"]),
                    ),
                    (
                        "smem_args: size: expected a number, not 'x'",
                        lambda: by_kernel_tuner(smem_args={"size": lambda p: "x"}),
                    ),
                    (
                        "smem_args: size: expected a function of one argument",
                        lambda: by_kernel_tuner(smem_args={"size": lambda: 4}),
                    ),
                    ("verify: expected a function of 2 arguments", lambda: by_kernel_tuner(verify=lambda answer: True)),
                    (
                        "arguments[0]: 9223372036854775808 is too large: integers up to 9223372036854775807 can be tuned",
                        lambda: by_kernel_tuner(arguments=[np.uint64(2**63)]),
                    ),
                    (
                        "arguments[0]: expected a number, not (1+0j)",
                        lambda: by_kernel_tuner(arguments=[np.complex64(1)]),
                    ),
                    ("restrictions: expected a text, a function", lambda: by_kernel_tuner(restrictions=5)),
                    ("metrics: 'm': 'nope' has no value: name 'nope'", lambda: by_kernel_tuner(metrics={"m": "nope"})),
                    (
                        "metrics: 'm' reads 'nope', and there are block_size_x, compile_time, time, times",
                        lambda: by_kernel_tuner(metrics={"m": lambda p: p["nope"]}),
                    ),
                    (
                        "smem_args: size: expected a whole number, not None",
                        lambda: by_kernel_tuner(smem_args={"size": None}),
                    ),
                    (
                        "compiler_options: expected a list of texts or None",
                        lambda: by_kernel_tuner(compiler_options="-O3"),
                    ),
                    ("iterations: expected a whole number, not 'x'", lambda: by_kernel_tuner(iterations="x")),
                    (
                        "strategy_options: time_limit: expected a number, not 'x'",
                        lambda: by_kernel_tuner(strategy_options={"time_limit": "x"}),
                    ),
                    (
                        "tune_kernel: settings got an unexpected keyword argument 'stor' (did you mean 'store'?)",
                        lambda: by_kernel_tuner(settings={"stor": "x"}),
                    ),
                    ("log: Unknown level: 'bogus'", lambda: by_kernel_tuner(log="bogus")),
                    ("params: expected a dict, not 5", lambda: run_kernel("add", ADD, 1, [], 5)),
                    (
                        "results[0]: expected a dict, not 5",
                        lambda: store_results(f"{place}/a", {}, 1, [5], environment),
                    ),
                    ("env: it has no 'device_name'", lambda: store_results(f"{place}/a", {}, 1, [{"time": 1}], {})),
                    (
                        f"results_filename: '{place}/torn.json' is not a complete file of JSON",
                        lambda: store_results(f"{place}/torn.json", {}, 1, [{"time": 1}], environment),
                    ),
                ]
            )
            self.expect(
                [
                    (
                        f"cache: cannot write '{place}/torn.json/x.json': Not a directory",
                        lambda: by_kernel_tuner(cache=f"{place}/torn.json/x"),
                    ),
                    (
                        f"cache: cannot write '{place}/none/x.json': No such file",
                        lambda: by_kernel_tuner(cache=f"{place}/none/x"),
                    ),
                    ("cannot read /no/such.cu: No such file", lambda: by_kernel_tuner(kernel_source="/no/such.cu")),
                    (
                        f"results_filename: cannot write '{place}/none/x'",
                        lambda: store_results(f"{place}/none/x", {}, 1, [{"time": 1}], environment),
                    ),
                ],
                xtune.StorageError,
            )


class Warnings(unittest.TestCase):
    """Name the line of the program that called xtune."""

    def expect(self, make, words):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            make()
        found = [each for each in found if re.search(words, str(each.message))]
        self.assertTrue(found, words)
        for each in found:
            self.assertIs(each.category, xtune.TuneWarning)
            self.assertEqual((each.filename, each.lineno), (__file__, inspect.getsourcelines(make)[1] + 1))

    def test_of_a_run_a_call_and_a_translation(self):
        def fail(x):
            raise ValueError("on purpose")

        with tempfile.TemporaryDirectory() as store:
            xtune.tune(saxpy(), configs=ONE, **{**HOST, "store": store})
            (log,) = pathlib.Path(store).rglob("*.jsonl")
            log.write_text(log.read_text() + "not a record\n")

            def run():
                xtune.tune(saxpy(), configs=ONE, **{**HOST, "store": store})

            def look_up():
                xtune.best(saxpy(), {"n": N}, backend="host", store=store)

            self.expect(run, "jsonl")
            self.expect(look_up, "jsonl")
        kernel = xtune.load(saxpy(name="warned", entry="saxpy", reference=fail), backend="host", policy="tune_once")
        x, y = arrays()

        def call():
            kernel(x, y, 1.0, N)

        def translated():
            tune_kernel(
                "add", ADD, N, [y, x, np.int32(N)], {"block_size_x": [32]}, platform=1, settings=HOST, quiet=True
            )

        self.expect(call, "on purpose")
        self.expect(translated, "platform")


class Copies(unittest.TestCase):
    def test_a_replaced_result_keeps_its_kernels(self):
        result = dataclasses.replace(xtune.tune(saxpy(), configs=ONE, **HOST), problem={"n": N, "more": 1})
        self.assertEqual(result.problem["more"], 1)
        for kernel in (result.kernel(), result.kernel({"BLOCK": 64, "UNROLL": 1})):
            x, y = arrays()
            kernel(x, y, 2.0, N)
            np.testing.assert_array_equal(y, 2 * x + 1)
        self.assertIn("saxpy", result.source)
        self.assertNotIn("_native", json.dumps(list(dataclasses.asdict(result))))
        (compiled,) = xtune.compile_all(saxpy(), ONE, **HOST)
        self.assertEqual(dataclasses.replace(compiled, log="").kernel().name, "saxpy")


if __name__ == "__main__":
    unittest.main()
