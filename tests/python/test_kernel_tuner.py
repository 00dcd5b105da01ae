# SPDX-License-Identifier: Apache-2.0
"""Scripts for Kernel Tuner, on the host backend: what its examples do, in words of our own, and each argument."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest
import warnings

from support import np, xtune
from xtune.compat._table import Space, evaluated
from xtune.compat.kernel_tuner import run_kernel, store_results, strategies, tune_kernel

HOST = {"backend": "host", "jobs": 2}
ADD = """
__global__ void vector_add(float *c, const float *a, const float *b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}"""
MATMUL = """
// Each thread computes tile_size_y x tile_size_x elements of C.
__global__ void matmul(float *C, const float *A, const float *B) {
  for (int j = 0; j < tile_size_y; ++j)
    for (int i = 0; i < tile_size_x; ++i) {
      const int x = (blockIdx.x * tile_size_x + i) * block_size_x + threadIdx.x;
      const int y = (blockIdx.y * tile_size_y + j) * block_size_y + threadIdx.y;
      float sum = 0;
      #pragma unroll loop_unroll_factor
      for (int k = 0; k < WIDTH; ++k) sum += A[y * WIDTH + k] * B[k * WIDTH + x];
      C[y * WIDTH + x] = sum;
    }
}"""
CONVOLUTION = """
#define WIDTH 32
#define BORDER 2
__constant__ float d_filter[9];
__global__ void convolution(float *out, const float *in) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) sum += d_filter[3 * j + i] * in[(y + j) * (WIDTH + BORDER) + x + i];
  out[y * WIDTH + x] = sum;
}
__global__ void naive(float *out, const float *in, const float *filter) {
  const int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
  float sum = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) sum += filter[3 * j + i] * in[(y + j) * (WIDTH + BORDER) + x + i];
  out[y * WIDTH + x] = sum;
}"""
REDUCTION = """
__global__ void sum_floats(float *sums, const float *x, int n) {
  extern __shared__ float part[];
  float sum = 0;
  for (int i = blockIdx.x * block_size_x + threadIdx.x; i < n; i += block_size_x * gridDim.x) sum += x[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = block_size_x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}"""


def tuned(*args, **named):
    settings = {**HOST, **named.pop("settings", {})}
    named.setdefault("quiet", True)
    named.setdefault("iterations", 3)
    return tune_kernel(*args, settings=settings, **named)


def vectors(n=1000):
    a, b = np.random.default_rng(1).random((2, n)).astype(np.float32)
    return [np.zeros_like(a), a, b, np.int32(n)]


class Examples(unittest.TestCase):
    def test_vector_add(self):
        args = vectors()
        sizes = [32 * i for i in (1, 2, 4)]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            results, env = tuned(
                "vector_add",
                ADD,
                1000,
                args,
                {"block_size_x": sizes},
                quiet=False,
                iterations=20,
                answer=[args[1] + args[2], None, None, None],
                metrics={"GB/s": lambda p: 12 * 1000 / p["time"] / 1e6, "twice": "2 * time"},
            )
        self.assertEqual(sorted(each["block_size_x"] for each in results), sizes)
        for each in results:
            self.assertEqual(len(each["times"]), 20)
            self.assertAlmostEqual(each["time"], np.mean(each["times"]), places=9)
            self.assertAlmostEqual(each["GB/s"] * each["time"], 12 * 1000 / 1e6)
            self.assertAlmostEqual(each["twice"], 2 * each["time"])
        self.assertIn(env["best_config"]["block_size_x"], sizes)
        self.assertEqual(env["failed"], [])
        self.assertEqual(env.result.problem["problem_size_x"], 1000)
        self.assertIn("best performing configuration:\nblock_size_x=", printed.getvalue())
        json.dumps([results, env])
        np.testing.assert_array_equal(args[0], 0)

    def test_matmul_with_restrictions(self):
        n = 32
        A, B = np.random.default_rng(2).random((2, n, n)).astype(np.float32)
        params = {
            "block_size_x": [8, 16],
            "block_size_y": [2, 4, 8],
            "tile_size_x": [1, 2],
            "tile_size_y": [2, 4],
            "loop_unroll_factor": [0, 4],
        }
        results, env = tuned(
            "matmul",
            MATMUL.replace("WIDTH", str(n)),
            (n, n),
            [np.zeros_like(A), A, B],
            params,
            grid_div_x=["block_size_x", "tile_size_x"],
            grid_div_y=["block_size_y", "tile_size_y"],
            restrictions=["block_size_x==block_size_y*tile_size_y"],
            answer=[A @ B, None, None],
            atol=1e-3,
            strategy="random_sample",
            strategy_options={"max_fevals": 3},
        )
        self.assertEqual(len(results), 3)
        for each in results:
            self.assertEqual(each["block_size_x"], each["block_size_y"] * each["tile_size_y"])
        self.assertEqual(env.result.space_size, 16)

    def test_convolution_against_a_naive_kernel(self):
        rng = np.random.default_rng(3)
        image, weights = rng.random((34, 34)).astype(np.float32), rng.random(9).astype(np.float32)
        out = np.zeros((32, 32), np.float32)
        answer = run_kernel(
            "naive",
            CONVOLUTION,
            (32, 32),
            [out, image, weights],
            {"block_size_x": 16, "block_size_y": 8},
            settings=HOST,
        )
        self.assertEqual(len(answer), 3)
        np.testing.assert_array_equal(answer[2], weights)
        expected = sum(weights[3 * j + i] * image[j : j + 32, i : i + 32] for j in range(3) for i in range(3))
        np.testing.assert_allclose(answer[0], expected, rtol=1e-5)
        results, env = tuned(
            "convolution",
            CONVOLUTION,
            (32, 32),
            [out, image],
            {"block_size_x": [16, 32], "block_size_y": [1, 4]},
            cmem_args={"d_filter": weights},
            answer=[answer[0], None],
            restrictions=lambda p: p["block_size_x"] * p["block_size_y"] <= 64,
        )
        self.assertEqual(len(results), 3, env["failed"])

    def test_reduction_with_a_function_that_verifies(self):
        n = 10000
        x = np.random.default_rng(4).random(n).astype(np.float32)
        params = {"block_size_x": [32], "num_blocks": [4, 16]}

        def verify(answer, computed, atol=None):
            self.assertEqual([each is None for each in answer], [False, True, True])
            return np.isclose(answer[0], np.sum(computed[0]), rtol=1e-4, atol=atol)

        results, env = tuned(
            "sum_floats",
            REDUCTION,
            "num_blocks",
            [np.zeros(16, np.float32), x, np.int32(n)],
            params,
            grid_div_x=[],
            answer=[np.sum(x), None, None],
            verify=verify,
            smem_args={"size": lambda p: 4 * p["block_size_x"]},
        )
        self.assertEqual(len(results), 2, env["failed"])
        self.assertEqual(set(results[0]) & set(params), set(params))

        results, env = tuned(
            "sum_floats",
            REDUCTION,
            "num_blocks",
            [np.zeros(16, np.float32), x, np.int32(n)],
            params,
            grid_div_x=[],
            verify=lambda answer, computed: False,
            smem_args={"size": "4*block_size_x"},
        )
        self.assertEqual(results, [])
        self.assertEqual({each["error"] for each in env["failed"]}, {"wrong_result"})


class Arguments(unittest.TestCase):
    def test_sizes_and_divisors_of_every_kind(self):
        args = vectors()
        ways = [
            {},
            {"problem_size": (1000,)},
            {"problem_size": "1000"},
            {"problem_size": lambda p: 1000},
            {"problem_size": lambda p: (1000, 1)},
            {"grid_div_x": "block_size_x"},
            {"grid_div_x": ["block_size_x"]},
            {"grid_div_x": lambda p: p["block_size_x"]},
            {"grid_div_x": ["block_size_x/2", 2]},
            {"grid_div_x": [lambda p: p["block_size_x"]], "problem_size": np.int64(1000)},
        ]
        for way in ways:
            with self.subTest(str(way)):
                size = way.pop("problem_size", 1000)
                with warnings.catch_warnings():  # the store has the same launch under other parameters
                    warnings.simplefilter("ignore", xtune.TuneWarning)
                    results, env = tuned(
                        "vector_add",
                        ADD,
                        size,
                        args,
                        {"block_size_x": [32, 64]},
                        answer=[args[1] + args[2], None, None, None],
                        **way,
                    )
                self.assertEqual(len(results), 2, env["failed"])
                grids = {
                    each.config["block_size_x"]: each.config.get("grid_size_x") for each in env.result.measurements
                }
                if callable(size) or callable(way.get("grid_div_x")):
                    self.assertEqual(grids, {32: 32, 64: 16})

    def test_too_few_blocks_are_wrong(self):
        args = vectors()
        results, env = tuned(
            "vector_add",
            ADD,
            1000,
            args,
            {"block_size_x": [32]},
            grid_div_x=["block_size_x", "2"],
            answer=[args[1] + args[2], None, None, None],
        )
        self.assertEqual((results, len(env["failed"])), ([], 1))
        self.assertNotIn("best_config", env)

    def test_defines(self):
        source = """
        __global__ void fill(int *x) {
          if (threadIdx.x == 0) {
            x[0] = grid_size_x; x[1] = block_size_x; x[2] = block_size_z; x[3] = kernel_tuner;
          }
        }"""
        (after,) = run_kernel("fill", source, 100, [np.zeros(4, np.int32)], {"block_size_x": 32}, settings=HOST)
        self.assertEqual(list(after), [4, 32, 1, 1])
        source = """
        #ifdef block_size_x
        #error a macro
        #endif
        __global__ void fill(int *x) { x[0] = CHOSEN; x[1] = TEXT; x[2] = NUMBER; x[3] = SAME; }"""
        (after,) = run_kernel(
            "fill",
            source,
            1,
            [np.zeros(4, np.int32)],
            {"block_size_x": 32, "SAME": 8},
            settings=HOST,
            defines={
                "CHOSEN": lambda p: p["block_size_x"] + 1,
                "TEXT": "(2 * block_size_x)",
                "NUMBER": 5,
                "SAME": "SAME",
            },
        )
        self.assertEqual(list(after), [33, 64, 5, 8])

    def test_names_of_block_sizes_and_templates(self):
        source = """
        template <typename T, int WIDE>
        __global__ void scale(T *x, const T factor) {
          x[blockIdx.x * WIDE + threadIdx.x] *= factor;
        }"""
        results, env = tuned(
            "scale<float, bx>",
            source,
            64,
            [np.ones(64, np.float32), np.float32(3)],
            {"bx": [32, 64]},
            block_size_names=["bx"],
            answer=[np.full(64, 3, np.float32), None],
            lang=None,
        )
        self.assertEqual(len(results), 2, env["failed"])

    def test_sources_of_every_kind(self):
        args = vectors()
        answer = [args[1] + args[2], None, None, None]
        with tempfile.TemporaryDirectory() as name:
            place = pathlib.Path(name)
            (place / "index.h").write_text("#define INDEX (blockIdx.x * block_size_x + threadIdx.x)\n")
            path = place / "add.cu"
            path.write_text('#include "index.h"\n' + ADD.replace("blockIdx.x * block_size_x + threadIdx.x", "INDEX"))
            for source in (str(path), path, [path, place / "index.h"]):
                results, env = tuned("vector_add", source, 1000, args, {"block_size_x": [32]}, answer=answer)
                self.assertEqual(len(results), 1, env["failed"])

        def generate(params):
            return ADD.replace("c[i] = ", f"c[i] = 0 * {params['block_size_x']} + ")

        results, env = tuned("vector_add", generate, 1000, args, {"block_size_x": [32, 64]}, answer=answer)
        self.assertEqual(len(results), 2, env["failed"])
        self.assertIn("kernel_source_number == 1", env.result.source)

    def test_restrictions_of_every_kind(self):
        args = vectors()
        params = {"block_size_x": [32, 64, 128], "extra": [1, 2]}
        for restrictions, wanted in (
            (["block_size_x * extra <= 64", "extra != 2"], 2),
            ("block_size_x > 32 or extra == 2", 5),
            (["block_size_x / 32 in (1, 4)"], 4),
            (["math.log2(block_size_x) == 6"], 2),
            ([lambda p: p["extra"] == 1, "block_size_x < 128"], 2),
        ):
            with self.subTest(str(restrictions)):
                _, env = tuned(
                    "vector_add", ADD, 1000, args, params, restrictions=restrictions, strategy_options={"max_fevals": 1}
                )
                self.assertEqual(env.result.space_size, wanted)

    def test_objectives_choose(self):
        args, params = vectors(), {"block_size_x": [32, 64, 128]}
        metrics = {"size": "block_size_x", "twice": lambda p: 2 * p["size"]}
        for higher, wanted in ((True, 128), (False, 32)):
            _, env = tuned(
                "vector_add",
                ADD,
                1000,
                args,
                params,
                metrics=metrics,
                objective="twice",
                objective_higher_is_better=higher,
            )
            self.assertEqual(env["best_config"]["block_size_x"], wanted)
        _, env = tuned(
            "vector_add", ADD, 1000, args, params, metrics={"GFLOP/s": lambda p: 1 / p["time"]}, objective="GFLOP/s"
        )
        self.assertAlmostEqual(env["best_config"]["GFLOP/s"], 1 / env["best_config"]["time"])

    def test_strategies(self):
        args, params = vectors(), {"block_size_x": [32, 64]}
        with self.assertWarnsRegex(xtune.TuneWarning, "'firefly_algorithm' is answered by xtune's nearest one, 'auto'"):
            tuned("vector_add", ADD, 1000, args, params, strategy="firefly_algorithm")
        with self.assertWarnsRegex(xtune.TuneWarning, "'popsize' has no meaning"):
            tuned("vector_add", ADD, 1000, args, params, strategy="brute_force", strategy_options={"popsize": 3})
        self.assertLessEqual(set(strategies.NEAREST.values()), set(xtune.strategies()))

    def test_cache_and_stored_results(self):
        args, params = vectors(), {"block_size_x": [32, 64]}
        with tempfile.TemporaryDirectory() as name:
            place = pathlib.Path(name)
            for sizes in ([32], [64]):
                results, env = tuned("vector_add", ADD, 1000, args, {"block_size_x": sizes}, cache=place / "add")
            cache = json.loads((place / "add.json").read_text())
            self.assertEqual(sorted(cache["cache"]), ["32", "64"])
            self.assertEqual(cache["cache"]["64"]["times"], results[0]["times"])
            with self.assertRaisesRegex(xtune.InvalidArgumentError, "another kernel"):
                tuned("vector_add", ADD, 1000, args, {"block_size_x": [32], "b": [1]}, cache=place / "add.json")
            store_results(place / "best.json", params, (1000,), results, env)
            store_results(place / "best.json", params, 2000, results, env, objective=("time", min))
            (data,) = json.loads((place / "best.json").read_text()).values()
            self.assertEqual(set(data), {"1000", "2000"})
            self.assertEqual(data["1000"], [{"block_size_x": 64, "time": results[0]["time"]}])

    def test_what_has_no_meaning_warns_and_what_is_missing_is_refused(self):
        args, params = vectors(), {"block_size_x": [32]}
        for named, text in (({"compiler": "nvcc"}, "compiler has no meaning"), ({"platform": 1}, "platform has no")):
            with self.assertWarnsRegex(xtune.TuneWarning, text):
                tuned("vector_add", ADD, 1000, args, params, **named)
        unsupported = (
            {"texmem_args": {"t": args[1]}},
            {"observers": [object()]},
            {"simulation_mode": True},
            {"lang": "OpenCL"},
            {"lang": "C"},
            {"strategy": object()},
            {"objective": "energy"},
            {"objective": ["a", "b"]},
            {"smem_args": {"config": 1}},
            {"restrictions": [3]},
        )
        for named in unsupported:
            with self.subTest(str(named)), self.assertRaises(xtune.UnsupportedError):
                tuned("vector_add", ADD, 1000, args, params, **named)
        with self.assertRaisesRegex(xtune.UnsupportedError, "OPENCL"):
            tuned("add", "__kernel void add() {}", 1, [], params)
        with self.assertRaisesRegex(xtune.UnsupportedError, "nvml_gr_clock"):
            tuned("vector_add", ADD, 1000, args, {"nvml_gr_clock": [1]})
        invalid = (
            {"answer": [None]},
            {"strategy": "best"},
            {"metrics": {"a": "1"}, "objective": "a"},
            {"problem_size": (1,) * 4},
        )
        for named in invalid:
            with self.subTest(str(named)), self.assertRaises(xtune.InvalidArgumentError):
                tuned("vector_add", ADD, named.pop("problem_size", 1000), args, params, **named)
        with self.assertRaisesRegex(TypeError, r"arguments\[3\] is int"):
            tuned("vector_add", ADD, 1000, [*args[:3], 1000], params)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "'block_size_x' is \\(1, 2\\)"):
            tuned("vector_add", ADD, 1000, args, {"block_size_x": [(1, 2)]})
        with self.assertRaisesRegex(xtune.NothingValidError, "compile_failed"):
            run_kernel(
                "broken", "__global__ void broken(int n) { oh }", 1, [np.int32(1)], {"block_size_x": 1}, settings=HOST
            )

    def test_a_goal_in_code_after_the_parameters_were_renamed(self):
        source = "__global__ void renamed(int *y) { y[blockIdx.x] = SIZE; }"
        for name in ("SIZE", "OTHER"):
            params = {"block_size_x": [32], name: [1, 2]}
            results, env = tuned(
                "renamed",
                source.replace("SIZE", name),
                64,
                [np.zeros(64, np.int32)],
                params,
                metrics={"m": lambda p, name=name: 1 / p[name]},
                objective="m",
                objective_higher_is_better=True,
            )
            self.assertEqual(env["best_config"][name], 1)

    def test_only_parameters_that_are_read_are_combined(self):
        wide = {each: list(range(32)) for each in "abcde"}  # 33 million combinations
        for function in (lambda p: evaluated("b // 2", p), lambda p: p["b"] // 2):
            space = Space(wide)
            self.assertEqual(space.compute("half", function), "half")
            self.assertEqual(space.computed, {"half": list(range(16))})
        self.assertEqual(Space(wide).compute("same", lambda p: 7 if p["b"] < 50 else 8), "7")

    def test_functions_that_fail_for_excluded_configurations(self):
        args = vectors()
        table = {32: 32, 64: 16}
        results, _ = tuned(
            "vector_add",
            ADD,
            lambda p: 32 * table[p["block_size_x"]],
            args,
            {"block_size_x": [32, 64, 128]},
            grid_div_x=[32],
            restrictions=["block_size_x < 128"],
        )
        self.assertEqual(len(results), 2)
        with self.assertRaises(KeyError):
            tuned("vector_add", ADD, lambda p: 32 * table[p["block_size_x"]], args, {"block_size_x": [32, 128]})

    def test_verbose_names_what_failed(self):
        args = vectors()
        with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tuned(
                "vector_add",
                ADD.replace("int i", 'static_assert(block_size_x == 32, ""); int i'),
                1000,
                args,
                {"block_size_x": [32, 64]},
                verbose=True,
            )
        self.assertIn("skipped block_size_x=64: compile_failed", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
