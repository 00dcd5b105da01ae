# SPDX-License-Identifier: Apache-2.0
"""Calls of kernels: arrays of several libraries, what does not fit, threads."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

from support import HOST, N, arrays, np, saxpy, xtune


class OnlyDlpack:
    """As JAX's arrays on the CPU: nothing but the protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnlyCuda:
    """As CuPy's arrays, by the protocol."""

    def __init__(self, array, pointer=4096):
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "strides": None,
            "data": (pointer, False),
            "version": 3,
        }


class FakeTensor:
    """What a call asks of a torch.Tensor."""

    def __init__(self, array, is_cuda=False):
        self.array, self.is_cuda = array, is_cuda
        self.dtype = f"torch.{array.dtype.name}"
        self.shape = array.shape

    def stride(self):
        return tuple(each // self.array.itemsize for each in self.array.strides)

    def get_device(self):
        return 0

    def data_ptr(self):
        return self.array.ctypes.data


def fake_torch():
    torch = types.ModuleType("torch")
    torch.Tensor = FakeTensor
    return mock.patch.dict(sys.modules, {"torch": torch})


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = xtune.load(saxpy(), backend="host")

    def expect(self, x, y, array_x=None, array_y=None, n=N):
        before = y.copy()
        self.kernel(x if array_x is None else array_x, y if array_y is None else array_y, 2.0, n)
        np.testing.assert_array_equal(y[:n], 2 * x[:n] + before[:n])
        np.testing.assert_array_equal(y[n:], before[n:])

    def test_describes_itself(self):
        self.assertEqual(
            repr(self.kernel), "<xtune.Kernel saxpy(x: f32[n], y: f32[n] (written), a: f32, n: i32) on host>"
        )
        self.assertEqual([each.name for each in self.kernel.arguments], ["x", "y", "a", "n"])
        self.assertEqual(self.kernel.arguments[0].shape, ["n"])
        self.assertEqual(self.kernel.arguments[3].size, "n")
        self.assertEqual((self.kernel.name, self.kernel.backend), ("saxpy", "host"))
        self.assertIsInstance(self.kernel, xtune.Kernel)
        with self.assertRaises(TypeError):
            xtune.Kernel()

    def test_takes_arrays_of_numpy_dlpack_and_torch(self):
        x, y = arrays()
        self.expect(x, y)
        self.expect(x, y, OnlyDlpack(x), OnlyDlpack(y))
        with fake_torch():
            self.expect(x, y, FakeTensor(x), FakeTensor(y))
            self.expect(x, y, FakeTensor(x), y)
        self.expect(x, y)

    def test_takes_any_size_and_larger_arrays(self):
        for n in (1, 100, 5000):
            self.expect(*arrays(n + 3), n=n)

    def test_takes_names_and_numpy_scalars(self):
        x, y = arrays()
        self.kernel(x, n=np.int64(N), a=np.float16(3), y=y)
        np.testing.assert_array_equal(y, 3 * x + 1)
        self.kernel.__call__(x, *(y, True), **{"n": N, "stream": None})
        np.testing.assert_array_equal(y, 4 * x + 1)

    def test_takes_streams_by_address_and_of_several_libraries(self):
        class Handle:
            def __int__(self):
                return 0

        x, y = arrays()
        streams = (
            0,
            None,
            types.SimpleNamespace(ptr=0),
            types.SimpleNamespace(cuda_stream=0, ptr="not this one"),
            types.SimpleNamespace(handle=Handle()),
            types.SimpleNamespace(__cuda_stream__=lambda: (0, 0)),
        )
        for stream in streams:
            self.kernel(x, y, 1.0, N, stream=stream)
        np.testing.assert_array_equal(y, len(streams) * x + 1)

    def test_what_does_not_fit_is_explained(self):
        x, y = arrays()
        frozen = y.copy()
        frozen.flags.writeable = False
        cases = (
            (xtune.InvalidArgumentError, "takes 4 arguments .x, y, a, n. and was given 3", (x, y, 2.0), {}),
            (xtune.InvalidArgumentError, "takes 4 arguments .* and was given 5", (x, y, 2.0, N, 1), {}),
            (xtune.InvalidArgumentError, "takes 4 arguments .* and was given 3", (x, y, 2.0), {"m": N}),
            (xtune.InvalidArgumentError, "'m' is neither an argument of the call", (x, y), {"m": N}),
            (TypeError, "got 'y' twice", (x, y, 2.0), {"y": y}),
            (xtune.InvalidArgumentError, "argument 'y' is missing", (x,), {"n": N}),
            (
                xtune.InvalidArgumentError,
                "'x', is a buffer of f32 and was given an array of f64",
                (x.astype("f8"), y, 2.0, N),
                {},
            ),
            (xtune.InvalidArgumentError, "array of >f4", (x.astype(">f4"), y, 2.0, N), {}),
            (
                xtune.InvalidArgumentError,
                "argument 1, 'x', was given an array that is not contiguous",
                (x[::2], y, 2.0, 4),
                {},
            ),
            (
                xtune.InvalidArgumentError,
                "'y', is written by the kernel and was given a read-only array",
                (x, frozen, 2.0, N),
                {},
            ),
            (xtune.InvalidArgumentError, "'y', has 40 bytes, and this problem needs 4096", (x, y[:10], 2.0, N), {}),
            (
                xtune.InvalidArgumentError,
                "'x', was given a pointer that is 1 byte beyond",
                (np.frombuffer(bytes(4100), np.uint8)[1:4097].view(np.float32), y, 2.0, N),
                {},
            ),
            (TypeError, "'x', is a buffer of f32 and was given list", ([1.0], y, 2.0, N), {}),
            (TypeError, "was given int", (4096, y, 2.0, N), {}),
            (TypeError, "was given NoneType", (None, y, 2.0, N), {}),
            (
                xtune.InvalidArgumentError,
                "'x', was given an array on a GPU, and the kernel runs on the host",
                (OnlyCuda(x), y, 2.0, N),
                {},
            ),
            (xtune.InvalidArgumentError, "array of f64", (OnlyDlpack(x.astype("f8")), y, 2.0, N), {}),
            (xtune.InvalidArgumentError, "not contiguous", (OnlyDlpack(x[::2]), y, 2.0, 4), {}),
            (xtune.InvalidArgumentError, "'n', is a scalar of i32 and was given 1.5", (x, y, 2.0, 1.5), {}),
            (xtune.InvalidArgumentError, "was given 1099511627776", (x, y, 2.0, 2**40), {}),
            (xtune.InvalidArgumentError, "'a', is a scalar of f32 and was given 'two'", (x, y, "two", N), {}),
            (xtune.InvalidArgumentError, "'a', is a scalar of f32", (x, y, 1j, N), {}),
            (TypeError, "stream: pass the address", (x, y, 2.0, N), {"stream": "s"}),
        )
        for error, words, args, named in cases:
            with self.subTest(words), self.assertRaisesRegex(error, words):
                self.kernel(*args, **named)
        with fake_torch():
            for words, tensor in (
                ("on a GPU, and the kernel runs on the host", FakeTensor(x, True)),
                ("array of f64", FakeTensor(x.astype("f8"))),
                ("not contiguous in C order", FakeTensor(x[::2])),
            ):
                with self.subTest(words), self.assertRaisesRegex(xtune.InvalidArgumentError, words):
                    self.kernel(tensor, y, 2.0, 4)
        np.testing.assert_array_equal(y, np.ones(N))

    def test_arguments_are_released(self):
        x, y = arrays()
        scalar = 1234567.5
        self.kernel(x, y, scalar, 1)  # keeps the dtype
        before = [sys.getrefcount(each) for each in (x, y, scalar, x.dtype)]
        for _ in range(100):
            self.kernel(x, y, scalar, 1)
            with self.assertRaises(xtune.InvalidArgumentError):
                self.kernel(x, y, scalar, "n")
        self.assertEqual([sys.getrefcount(each) for each in (x, y, scalar, x.dtype)], before)

    def test_exceptions_of_an_array_come_out(self):
        class Broken:
            def __dlpack__(self):
                raise KeyError("broken")

        with self.assertRaisesRegex(KeyError, "broken"):
            self.kernel(Broken(), arrays()[1], 2.0, N)

    def test_every_scalar_type_arrives(self):
        source = 'extern "C" __global__ void put(T* out, T value) { out[0] = value; }'
        values = {
            "i8": -5,
            "u8": 250,
            "i16": -300,
            "u16": 65000,
            "i32": -70000,
            "u32": 4000000000,
            "i64": -(2**40),
            "u64": 2**63,
            "f32": 1.5,
            "f64": 0.1,
            "bool": True,
            "c64": 1 + 2j,
            "c128": 0.1 - 2j,
        }
        ctypes_of = {"c64": "double", "c128": "P16", "f16": "unsigned short", "bf16": "unsigned short"}
        arguments = []
        for dtype, value in values.items():
            xtype = xtune._arrays._NUMPY[dtype]
            text = ctypes_of.get(dtype, xtune._arrays.CTYPES[dtype])
            arguments.append((dtype, value, xtype, text))
        # One kernel for all of them, so that one is compiled.
        fields = ", ".join(f"{text}* out{i}, {text} value{i}" for i, (_, _, _, text) in enumerate(arguments))
        body = " ".join(f"out{i}[0] = value{i};" for i in range(len(arguments)))
        source = f'struct P16 {{ double a, b; }}; extern "C" __global__ void put({fields}) {{ {body} }}'
        args, call = {}, []
        for i, (dtype, value, xtype, _) in enumerate(arguments):
            args[f"out{i}"] = xtune.Out(dtype=dtype, shape=1)
            args[f"value{i}"] = xtune.Scalar(dtype, {"bool": "true"}.get(dtype, "1"))
            call += [np.zeros(1, xtype), value]
        kernel = xtune.load(xtune.Tunable("put", source, params={"P": [1]}, grid=1, block=1, args=args), backend="host")
        kernel(*call)
        for array, value in zip(call[::2], call[1::2]):
            self.assertEqual(array[0], array.dtype.type(value))
        call[2 * list(values).index("c64") + 1] = complex(0, 1e39)
        with self.assertRaisesRegex(
            xtune.InvalidArgumentError, r"is a scalar of c64 and was given 1e\+39j, which is too large"
        ):
            kernel(*call)

    def test_structs_arrive_whole(self):
        source = """
struct P { int n; float a[2]; };
extern "C" __global__ void put(float* x, P p) { x[0] = p.n + p.a[1] * SCALE; }"""

        class P(ctypes.Structure):
            _fields_ = [("n", ctypes.c_int32), ("a", ctypes.c_float * 2)]

        value = P(3, (0, 0.5))
        args = {"x": xtune.Out(dtype="f32", shape=(1,)), "p": value}
        tunable = xtune.Tunable("put", source, params={"SCALE": [4]}, grid=1, block=1, args=args)
        kernel = xtune.load(tunable, backend="host")
        record = np.array([(3, (0, 0.5))], dtype=[("n", "i4"), ("a", "f4", 2)])[0]
        for given in (value, record, bytes(value), np.frombuffer(bytes(value), np.uint8)):
            x = np.zeros(1, np.float32)
            kernel(x, given)
            self.assertEqual(x[0], 5)
        x = np.zeros(1, np.float32)
        xtune.tune(tunable, backend="host").kernel()(x, P(1, (0, 2)))
        self.assertEqual(x[0], 9)
        for wrong, text in ((np.zeros(2, np.int32), "12 bytes and was given 8"), (7, "pass a ctypes.Structure")):
            with self.assertRaisesRegex(xtune.InvalidArgumentError, text):
                kernel(np.zeros(1, np.float32), wrong)

    def test_f16_and_bf16_scalars_round(self):
        source = (
            'extern "C" __global__ void put(unsigned short* out, unsigned short half, unsigned short brain) '
            "{ out[0] = half; out[1] = brain; }"
        )
        kernel = xtune.load(
            xtune.Tunable(
                "halves",
                source,
                entry="put",
                params={"P": [1]},
                grid=1,
                block=1,
                args={
                    "out": xtune.Out(dtype="u16", shape=2),
                    "half": xtune.Scalar("f16", 1),
                    "brain": xtune.Scalar("bf16", 1),
                },
            ),
            backend="host",
        )
        out = np.zeros(2, np.uint16)
        for value in (
            0.0,
            -0.0,
            1.0,
            -2.5,
            1 + 2**-11,
            1 + 3 * 2**-11,
            65504.0,
            65519.9,
            6e-8,
            2**-25,
            3e-5,
            float("inf"),
            float("nan"),
        ):
            kernel(out, value, value)
            self.assertEqual(out[0], np.float16(np.float32(value)).view(np.uint16), value)
            brain = xtune._arrays.encode(np.float32([value]), "bf16", (1,), "value").view(np.uint16)
            self.assertEqual(out[1], brain[0], value)
        kernel(out, 0.0, 3.3895e38)  # bf16 has the range of f32, nearly
        for half, brain, refused in ((65520.0, 0, "f16"), (-1e30, 0, "f16"), (0, 3.4e38, "bf16"), (0, -1e39, "bf16")):
            with self.subTest(half=half, brain=brain):
                with self.assertRaisesRegex(
                    xtune.InvalidArgumentError, f"is a scalar of {refused} .*, which is too large for it"
                ):
                    kernel(out, half, brain)

    def test_choice_prepare_and_sizes(self):
        self.assertEqual(self.kernel.choice(n=100).config, self.kernel.choice({"n": 100}).config)
        self.kernel.prepare(n=64)
        self.kernel.wait()
        fixed = self.kernel.for_problem(n=8)
        x, y = arrays()
        fixed(x, y, 1.0, 8)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "says n = 9"):
            fixed(x, y, 1.0, 9)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "no problem size 'm'"):
            self.kernel.for_problem(m=8)

    def test_policies(self):
        kernel = xtune.load(saxpy(name="once", entry="saxpy"), backend="host", policy="tune_once", tuning={"jobs": 2})
        self.assertEqual(kernel.choice(n=N).kind, "default")
        x, y = arrays()
        kernel(x, y, 1.0, N)
        self.assertEqual(kernel.choice(n=N).kind, "exact")
        with self.assertRaisesRegex(TypeError, "no setting 'second'"):
            xtune.load(saxpy(), tuning={"second": 5})

    def test_messages_are_warnings(self):
        def broken(x):
            raise ValueError("on purpose")

        kernel = xtune.load(saxpy(name="warned", entry="saxpy", reference=broken), backend="host", policy="tune_once")
        x, y = arrays()
        with self.assertWarnsRegex(xtune.TuneWarning, "ValueError: on purpose"):
            kernel(x, y, 1.0, N)
        np.testing.assert_array_equal(y, x + 1)

    def test_threads_may_call_at_once(self):
        failures = []

        def work(n):
            x, y = arrays(n)
            for _ in range(20):
                self.kernel(x, y, 1.0, n)
            if not np.array_equal(y, 20 * x + 1):
                failures.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in (64, 100, 1000, 2000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_the_gil_is_free_during_a_launch(self):
        source = (
            'extern "C" __global__ void wait_for(volatile int* flag) '
            "{ for (long i = 0; i < 100000000000 && flag[0] == 0; ++i) {} flag[1] = flag[0]; }"
        )
        kernel = xtune.load(
            xtune.Tunable(
                "wait_for", source, params={"P": [1]}, grid=1, block=1, args={"flag": xtune.InOut(dtype="i32", shape=2)}
            ),
            backend="host",
        )
        flag = np.zeros(2, np.int32)
        kernel.prepare()
        thread = threading.Thread(target=kernel, args=(flag,))
        thread.start()
        flag[0] = 1  # impossible while the other thread's launch holds the GIL
        thread.join()
        self.assertEqual(flag[1], 1)


class Frozen(unittest.TestCase):
    def test_only_the_bundle_answers(self):
        program = pathlib.Path(xtune.__file__).parents[2] / "src/cli/xtune"
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            tuned = xtune.tune(saxpy(), store=place / "store", **HOST)
            bundle, log = place / "saxpy.xtune", place / "problems"
            subprocess.run(
                [program, "store", "bundle", "--store", place / "store", "-o", bundle], check=True, capture_output=True
            )
            frozen = {"backend": "host", "bundle": bundle, "frozen": True}
            with mock.patch.dict(os.environ, {"XTUNE_CACHE_DIR": str(place / "none")}):
                kernel = xtune.load(saxpy(), **frozen, coverage=log)
                x, y = arrays()
                kernel(x, y, 2.0, N)
                self.assertEqual(kernel.choice(n=N).config, tuned.best.config)
                self.assertEqual(xtune.best(saxpy(), {"n": N}, **frozen).config, tuned.best.config)
                digests = [kernel.digest(), kernel.digest([{"n": N}]), xtune.load(saxpy(), **frozen).digest([{"n": N}])]
                del kernel
                self.assertFalse((place / "none").exists())
            self.assertEqual(digests[1], digests[2])
            self.assertNotEqual(digests[0], digests[1])
            self.assertIn("saxpy", log.read_text())
        for ask in (xtune.load, xtune.best):
            with self.assertRaisesRegex(xtune.InvalidArgumentError, "without a bundle"):
                ask(saxpy(), backend="host", frozen=True)


class Names(unittest.TestCase):
    """Kernels that come with xtune."""

    def test_a_kernel_is_loaded_and_tuned_by_its_name(self):
        x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((4, 3), np.float32)
        with tempfile.TemporaryDirectory() as store:
            xtune.load("transpose", backend="host", store=store)(x, y, 3, 4)
            np.testing.assert_array_equal(y, x.T)
            result = xtune.tune("transpose", backend="host", store=store, evals=1, problem={"M": 64, "N": 64})
            self.assertEqual((result.counts, result.problem["M"]), ({"ok": 1}, 64))
            self.assertEqual(xtune.best("transpose", result.problem, backend="host", store=store).kind, "exact")

    def test_an_unknown_name_has_a_hint(self):
        for make in (lambda: xtune.load("transpos"), lambda: xtune.Tunable.from_file("transpos")):
            with self.assertRaisesRegex(xtune.StorageError, "did you mean 'transpose'.*`xtune kernels` lists them"):
                make()
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "neither a path .*did you mean 'transpose'"):
            xtune.tune("transpos")


class Coverage(unittest.TestCase):
    def test_a_size_among_the_defines_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            spec = pathlib.Path(directory) / "saxpy.toml"
            spec.write_text(saxpy().toml())
            with self.assertRaisesRegex(xtune.InvalidArgumentError, "'n' among the defines is a problem size"):
                xtune.load(spec, backend="host", defines={"n": 4})

    def test_names_the_spec_that_a_kernel_was_read_from(self):
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            spec = place / "saxpy.toml"
            spec.write_text(saxpy().toml())
            for given, defines in (
                (spec, {"defines": {"UNROLL": 2}}),
                (xtune.Tunable.from_file(spec, {"UNROLL": 2}), {}),
            ):
                log = place / f"log of {type(given).__name__}"
                kernel = xtune.load(given, backend="host", store=place / "store", coverage=log, **defines)
                x, y = arrays()
                expected = 2 * x + y
                kernel(x, y, 2.0, N)
                np.testing.assert_allclose(y, expected)
                del kernel
                head = json.loads(log.read_text().splitlines()[0])
                self.assertEqual((head["spec"], head["defines"]), (str(spec.resolve()), {"UNROLL": 2}))


class Autotune(unittest.TestCase):
    def test_tunes_once_for_each_key(self):
        described = []

        @xtune.autotune(
            {"BLOCK": [32, 64]},
            key=["n"],
            grid="ceildiv(n, BLOCK)",
            block="BLOCK",
            measure={"rep": 3, "finals": 0},
            reference=lambda x, y, a: a * x + y,
            tune_settings=HOST,
        )
        def axpy(x: xtune.In(shape="n"), y: xtune.InOut(shape="n"), a: "f64", n: np.int32):
            """The text of the function."""
            described.append((repr(x), repr(n), n.value))
            return (
                f'extern "C" __global__ void axpy(const {x.ctype}* x, {y.ctype}* y, {a.ctype} a, int n) {{'
                " const int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) y[i] += a * x[i]; }"
            )

        self.assertIsNone(axpy.best_config)
        for dtype, n in ((np.float32, 100), (np.float32, 100), (np.float64, 100), (np.float32, 64)):
            x, y = np.arange(n, dtype=dtype), np.ones(n, dtype)
            axpy(x, y, 2.0, n=n)
            np.testing.assert_array_equal(y, 2 * x + 1)
        self.assertEqual(len(axpy.results), 3)
        self.assertIn(axpy.best_config["BLOCK"], (32, 64))
        self.assertEqual((axpy.__name__, axpy.__doc__), ("axpy", "The text of the function."))
        self.assertEqual(described[0], ("xtune.Argument(x: f32[100])", "xtune.Argument(n: i32)", 100))

    def test_a_source_that_reads_a_shape_is_made_for_each(self):
        @xtune.autotune(
            {"BLOCK": [32]}, key=[], grid=1, block="BLOCK", measure={"rep": 2, "finals": 0}, tune_settings=HOST
        )
        def sums(x: xtune.In, y: xtune.Out):
            rows, columns = x.shape
            return (
                'extern "C" __global__ void sums(const float* x, float* y) { for (int i = threadIdx.x; i < %d; i += BLOCK) {'
                " y[i] = 0; for (int k = 0; k < %d; ++k) y[i] += x[i * %d + k]; } }" % (rows, columns, columns)
            )

        for shape in ((4, 64), (64, 4), (4, 64), (128, 8)):
            x, y = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape), np.zeros(shape[0], np.float32)
            sums(x, y)
            np.testing.assert_array_equal(y, x.sum(axis=1))
        self.assertEqual(len(sums.results), 3)

    def test_sizes_outside_the_key_may_change(self):
        @xtune.autotune(
            {"BLOCK": [32]},
            key=[],
            grid="ceildiv(n, BLOCK)",
            block="BLOCK",
            measure={"rep": 2, "finals": 0},
            constraints="BLOCK <= n",
            tune_settings={**HOST, "keep": False},
        )
        def fill(y: xtune.Out(shape="n"), n: np.int32):
            return 'extern "C" __global__ void fill(int* y, int n) { int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) y[i] = n; }'

        for n in (64, 200, 5):
            y = np.zeros(n, np.int32)
            fill(y, n)
            np.testing.assert_array_equal(y, n)
        self.assertEqual(len(fill.results), 1)

    def test_mistakes_are_explained(self):
        options = {"params": {"B": [1]}, "grid": 1, "block": "B"}
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "annotate 'x' of bad"):

            @xtune.autotune(**options)
            def bad(x):
                return ""

        with self.assertRaisesRegex(xtune.InvalidArgumentError, "key 'm' is not a number"):

            @xtune.autotune(**options, key=["m"])
            def other(n: np.int32):
                return ""

        @xtune.autotune(**options, tune_settings=HOST)
        def third(y: xtune.Out, n: np.int32):
            return None

        with self.assertRaisesRegex(TypeError, r"third\(\): missing a required argument: 'n'"):
            third(np.zeros(1))
        with self.assertRaisesRegex(TypeError, "third must return the source"):
            third(np.zeros(1), 1)
        with self.assertRaisesRegex(TypeError, "'y' is list, not an array"):
            third([1], 1)


class AutotuneFunctions(unittest.TestCase):
    def test_another_check_judges_again(self):
        with tempfile.TemporaryDirectory() as store:

            def tuned(check):
                @xtune.autotune({"P": [1, 2]}, key=[], check=check, tune_settings={"store": store})
                def identity(*, P):
                    return P

                return identity()

            self.assertIn(tuned(None), (1, 2))
            self.assertEqual(tuned(lambda result: result == 2), 2)
            with self.assertRaises(xtune.NothingValidError):
                tuned(lambda result: result == 99)
            self.assertEqual(tuned(lambda result: result == 1), 1)

    def test_any_function_is_tuned_in_process(self):
        calls = []

        @xtune.autotune(
            params={"CHUNK": [16, 1024], "WAY": ["plain", "wrong", "raises"]},
            key=["x", "a"],
            restore=["y"],
            constraints="CHUNK == 1024 or WAY == 'plain'",
            measure={"rep": 3, "finals": 0},
            check=lambda answer, x, y, a: np.array_equal(y, a * x + 1),
        )
        def axpy(x, y, a=2, *, CHUNK, WAY):
            """The text."""
            calls.append((CHUNK, WAY))
            if WAY == "raises":
                raise MemoryError("too large")
            for i in range(0, len(x), CHUNK):
                y[i : i + CHUNK] += (a if WAY == "plain" else 5) * x[i : i + CHUNK]
            return "returned"

        x, y = arrays()
        self.assertEqual(axpy(x, y), "returned")
        np.testing.assert_array_equal(y, 2 * x + 1)  # as after one call
        (result,) = axpy.results
        self.assertEqual(axpy.best_config, {"CHUNK": 1024, "WAY": "plain"})
        self.assertEqual(result.problem, {"x": f"float32[{N}]", "a": 2})
        self.assertEqual(
            {each.config["WAY"]: each.message for each in result.measurements if each.outcome == "launch_failed"},
            {"wrong": "ValueError: the validator says that the result is wrong", "raises": "MemoryError: too large"},
        )
        tuned = len(calls)
        axpy(x, y)
        self.assertEqual(calls[tuned:], [(1024, "plain")])
        axpy(x, np.ones_like(x), a=3)
        self.assertEqual(len(axpy.results), 2)
        self.assertEqual((axpy.__doc__, repr(axpy)), ("The text.", "<xtune.autotune axpy(x, y, a)>"))

    def test_stored_results_answer_until_the_function_changes(self):
        def tuned(version):
            calls = []
            decorated = xtune.autotune(params={"P": [1, 2]}, version=version, measure={"rep": 2, "finals": 0})(
                lambda P: calls.append(P)
            )
            decorated()
            return len(calls)

        self.assertGreater(tuned("1"), 2)
        self.assertEqual(tuned("1"), 1)
        self.assertGreater(tuned("2"), 2)

    def test_timed_functions_of_ones_own(self):
        tunable = xtune.Tunable("own", params={"P": [3, 1, 2]}).function(lambda problem, config: config["P"] * 0.5, "1")
        self.assertEqual(xtune.tune(tunable).best.time_ms, 0.5)
        with self.assertRaisesRegex(xtune.UnsupportedError, "own cannot be called"):
            xtune.load(tunable, backend="host")

    def test_interrupts_and_mistakes(self):
        def interrupted(P):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            xtune.autotune(params={"P": [1, 2]})(interrupted)()
        for error, words, options in (
            (xtune.InvalidArgumentError, "'Q' is not a parameter of", {"params": {"Q": [1]}}),
            (xtune.InvalidArgumentError, "'x' is not a parameter of", {"key": ["x"]}),
            (TypeError, "both grid and block", {"grid": 1}),
            (TypeError, "got 'reference'", {"reference": print}),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                xtune.autotune(**{"params": {"P": [1]}, **options})(lambda P: None)


if __name__ == "__main__":
    unittest.main()
