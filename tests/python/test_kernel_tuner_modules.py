# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's modules beside its two functions, on the host backend, and scripts that run as they are."""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

from support import np, xtune
from test_kernel_tuner import ADD, HOST, tuned, vectors
from xtune.compat import kernel_tuner
from xtune.compat.kernel_tuner import file_utils, store_results, util
from xtune.compat.kernel_tuner.accuracy import AccuracyObserver, Tunable, TunablePrecision, error_metric_from_name
from xtune.compat.kernel_tuner.integration import TuneResults
from xtune.compat.kernel_tuner.kernelbuilder import PythonKernel
from xtune.compat.kernel_tuner.observers import BenchmarkObserver, OutputObserver
from xtune.compat.kernel_tuner.observers.nvml import NVMLObserver

TYPED = """
template <typename T>
__global__ void add(int n, const T *a, const T *b, T *c) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}"""


class Files(unittest.TestCase):
    def test_results_and_metadata_in_the_t4_format(self):
        results, _ = tuned("vector_add", ADD, 1000, vectors(), {"block_size_x": [32]}, metrics={"twice": "2 * time"})
        with tempfile.TemporaryDirectory() as name:
            place = pathlib.Path(name) / "new" / "add"
            file_utils.store_output_file(place, results, {"block_size_x": [32]})
            file_utils.store_metadata_file(str(place) + "-metadata.json")
            data = json.loads((place.parent / "add.json").read_text())
            metadata = json.loads((place.parent / "add-metadata.json").read_text())
        (row,) = data["results"]
        self.assertEqual(row["configuration"], {"block_size_x": 32})
        self.assertEqual((row["invalidity"], row["correctness"], row["objectives"]), ("correct", 1, ["time"]))
        self.assertEqual(row["times"]["runtimes"], results[0]["times"])
        self.assertEqual([each["name"] for each in row["measurements"]], ["time", "twice"])
        self.assertEqual(data["schema_version"], metadata["schema_version"])
        self.assertEqual(metadata["metadata"]["operating_system"], "Linux")
        failed = file_utils.get_t4_results([{"b": 1, "__error__": util.CompilationFailedConfig()}], {"b": [1]}, "time")
        self.assertEqual(failed["results"][0]["invalidity"], "compile")

    def test_stored_results_by_device_and_problem(self):
        rows = [{"b": 32, "time": 2.0}, {"b": 64, "time": 1.0}, {"b": 128, "time": 1.01}]
        params = {"b": [32, 64, 128]}
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "best.json"
            for size, device, results in (
                (1000, "GPU A", rows),
                (1000, "GPU A", rows[:2]),  # replaces the first
                ((64, 64), "GPU A", rows[:1]),
                (1000, "GPU B", rows[:1]),
            ):
                store_results(path, "add", ADD, params, size, results, {"device_name": device})
            stored = TuneResults(path)
            self.assertEqual(len(stored.data), 3)
            self.assertEqual(stored.get_best_config("GPU A", 1000), {"b": 64})
            self.assertEqual(stored.get_best_config("GPU A", [64, 64]), {"b": 32})
            self.assertEqual(stored.get_best_config("GPU C"), {"b": 32})  # most often among the best
            self.assertEqual(stored.meta["kernel_string"], ADD)
            with self.assertRaisesRegex(xtune.InvalidArgumentError, "has another kernel_name \\('add'\\)"):
                store_results(path, "sub", ADD, params, 1000, rows, {"device_name": "GPU A"})
            args = vectors(100)
            params, path = {"block_size_x": [32]}, path.with_name("own.json")
            store_results(
                path, "vector_add", ADD, params, 100, [{"block_size_x": 32, "time": 1.0}], {"device_name": "x"}
            )
            add = PythonKernel("vector_add", ADD, 100, args, results_file=path, settings=HOST)
            self.assertEqual(add.params, {"block_size_x": 32})
            np.testing.assert_allclose(add(*args)[0], args[1] + args[2], rtol=1e-6)
            with self.assertRaisesRegex(xtune.InvalidArgumentError, "has no results of store_results"):
                TuneResults(path.with_name("none.json"))

    def test_util(self):
        rows = [{"b": 1, "time": 2.0, "e": 1.0}, {"b": 2, "time": 1.0, "e": 5.0}, {"b": 3, "time": 3.0, "e": 5.0}]
        self.assertEqual(util.get_best_config(rows, "time")["b"], 2)
        self.assertEqual(util.get_best_config([*rows, {"b": 4, "time": util.InvalidConfig()}], "time", True)["b"], 3)
        self.assertEqual([each["b"] for each in util.get_pareto_results(rows, ["time", "e"], [False, False])], [1, 2])
        self.assertEqual(util.get_config_string(rows[0], ["b", "time"], {"time": "ms"}), "b=1, time=2.000ms")
        self.assertEqual(util.get_instance_string({"a": 1, "b": 2}), "1_2")
        self.assertEqual(json.dumps([np.float32(1), np.arange(2)], cls=util.NpEncoder), "[1.0, [0, 1]]")
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "no result has a value of 'x'"):
            util.get_best_config(rows, "x")
        self.assertEqual(kernel_tuner.strategies.minimize, "minimize")

    def test_what_is_missing_says_so(self):
        for text in (
            "from xtune.compat.kernel_tuner import tune_cache",
            "from xtune.compat.kernel_tuner.util import check_restrictions",
            "from xtune.compat.kernel_tuner.energy import energy",
            "from xtune.compat.kernel_tuner.observers.ncu import NCUObserver; NCUObserver(metrics=[])",
            "from xtune.compat.kernel_tuner.observers.nvml import get_nvml_gr_clocks; get_nvml_gr_clocks(0)",
        ):
            with self.subTest(text), self.assertRaisesRegex(xtune.UnsupportedError, "xtune"):
                exec(text, {})


class Observers(unittest.TestCase):
    def test_precision_is_a_parameter_and_errors_are_results(self):
        n = 1000
        a, b = np.random.default_rng(1).random((2, n))
        arguments = [np.int32(n), *(TunablePrecision("real", each) for each in (a, b, np.zeros(n)))]
        results, env = tuned(
            "add<real>",
            TYPED,
            n,
            arguments,
            {"block_size_x": [64], "real": ["float", "double"]},
            answer=[None, None, None, a + b],
            observers=[AccuracyObserver("MRE", "error"), lambda: AccuracyObserver("max", "largest")],
            objective="error",
            objective_higher_is_better=False,
        )
        errors = {each["real"]: each["error"] for each in results}
        self.assertEqual(errors["double"], 0)
        self.assertTrue(0 < errors["float"] < 1e-6)
        self.assertTrue(all(each["largest"] >= 0 for each in results))
        self.assertEqual((env["best_config"]["real"], env["failed"]), ("double", []))
        chosen = Tunable("layout", {"c": a, "f": b})
        self.assertIs(chosen({"layout": "f"}), b)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "layout='x' has no array"):
            chosen({"layout": "x"})
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "'other', which chooses an array"):
            tuned("add<real>", TYPED, n, [np.int32(n), Tunable("other", [a]), b, a], {"block_size_x": [64]})

    def test_error_metrics(self):
        right, found = np.array([1.0, 2.0, -4.0]), np.array([1.0, 3.0, -2.0])
        for name, value in (
            ("RMSE", np.sqrt(5 / 3)),
            ("mean squared error", 5 / 3),
            ("avg abs error", 1),
            ("max", 2),
            ("maximum relative", 0.5),
            ("mean_relative_error", 1 / 3),
            ("nrmse", np.sqrt(5 / 21)),
        ):
            self.assertAlmostEqual(error_metric_from_name(name)(right, found), value, msg=name)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "error metric 'best' is unknown; use mse, rmse"):
            error_metric_from_name("best")

    def test_outputs_are_observed_and_launches_are_not(self):
        class Sum(OutputObserver):
            def process_output(self, answer, output):
                self.sum = float(np.sum(output[0]))

            def get_results(self):
                return {"sum": self.sum}

        class Launches(BenchmarkObserver):
            pass

        args, params = vectors(), {"block_size_x": [32, 64]}
        for _ in range(2):  # also with a full store
            results, _ = tuned("vector_add", ADD, 1000, args, params, observers=[Sum()], metrics={"twice": "2 * sum"})
            for each in results:
                self.assertAlmostEqual(each["sum"], float(np.sum(args[1] + args[2])), places=2)
                self.assertEqual(each["twice"], 2 * each["sum"])
        with self.assertRaisesRegex(xtune.UnsupportedError, "Launches is told of each launch"):
            tuned("vector_add", ADD, 1000, args, params, observers=[Launches()])
        with self.assertWarnsRegex(xtune.TuneWarning, "does not record temperature"):
            observer = NVMLObserver(["nvml_energy", "temperature"], continuous_duration=0.01)
        results, _ = tuned("vector_add", ADD, 1000, args, {"block_size_x": [32]}, observers=[observer])
        self.assertIn("nvml_energy", results[0])  # NaN without a counter


class Calls(unittest.TestCase):
    def test_a_kernel_as_a_function(self):
        c, a, b, n = vectors(100)
        add = PythonKernel(
            "vector_add",
            ADD,
            100,
            [c, a, b, n],
            {"block_size_x": 32},
            outputs=[True, False, False, False],
            settings=HOST,
        )
        for factor in (1, 2):
            (after,) = add(c, factor * a, b, n)
            np.testing.assert_allclose(after, factor * a + b, rtol=1e-6)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "1 arguments are passed, and it takes 4"):
            add(c)

    def test_newer_arguments(self):
        args, params = vectors(), {"block_size_x": [32, 64]}
        for named in (
            {"parallel": True, "seed": 3},
            {"parallel": 2, "strategy": kernel_tuner.strategies.random_sample},
            {"objectives": {"time": False}},
            {"objective": ["time"], "objective_higher_is_better": [False]},
        ):
            results, _ = tuned("vector_add", ADD, 1000, args, params, **named)
            self.assertEqual(len(results), 2)
        with self.assertRaisesRegex(xtune.UnsupportedError, "two goals"):
            tuned("vector_add", ADD, 1000, args, params, objectives={"time": False, "e": False})

    @unittest.skipIf(any(each.devices for each in xtune.backends() if each.name == "cuda"), "there is a GPU")
    def test_a_language_without_its_device_runs_on_the_first_device(self):
        with warnings.catch_warnings(record=True) as seen, contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("always")
            _, env = kernel_tuner.tune_kernel("vector_add", ADD, 1000, vectors(), {"block_size_x": [32]}, lang="cupy")
        self.assertTrue(any("no device for it was found" in str(each.message) for each in seen))
        self.assertNotEqual(env.result.device.backend, "cuda")

    def test_a_script_runs_as_it_is(self):
        text = (
            "import sys, numpy, kernel_tuner\n"
            "from kernel_tuner import tune_kernel\n"
            "from kernel_tuner.util import get_best_config\n"
            "from kernel_tuner.observers.nvml import NVMLObserver\n"
            f"source = {ADD!r}\n"
            "a = numpy.ones(100, numpy.float32)\n"
            "results, env = tune_kernel('vector_add', source, 100, [numpy.zeros_like(a), a, a, numpy.int32(100)],\n"
            "                           {'block_size_x': [32]}, quiet=True)\n"
            "print(sys.argv[1:], get_best_config(results)['block_size_x'], kernel_tuner.tune_kernel is tune_kernel)\n"
        )
        with tempfile.TemporaryDirectory() as name:
            script = pathlib.Path(name) / "tune.py"
            script.write_text(text)
            done, missing = (
                subprocess.run(
                    [sys.executable, "-W", "ignore", "-m", "xtune.compat.kernel_tuner", path, "more"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                for path in (str(script), "missing.py")
            )
        self.assertEqual((done.returncode, done.stdout), (0, "['more'] 32 True\n"), done.stderr)
        self.assertEqual(missing.stderr, "missing.py: the file does not exist; pass the path of a script\n")


if __name__ == "__main__":
    unittest.main()
