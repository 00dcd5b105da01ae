# SPDX-License-Identifier: Apache-2.0
"""Arguments as a list: names, types, constness and the launch come from the source."""
import ctypes
import pathlib
import tempfile
import unittest

from support import HOST, QUICK, arrays, np, xtune

SAXPY = r"""
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""
SIGNATURE = "saxpy(const float* x, float* y, float a, int n)"


class ByPosition(unittest.TestCase):
    def test_a_source_and_the_arguments_of_a_call(self):
        x, y = arrays()
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "saxpy.cu"
            file.write_text(SAXPY)
            for kernel in (SAXPY, file, str(file)):
                with self.subTest(kernel):
                    result = xtune.tune(
                        kernel, params={"BLOCK": [32, 64]}, args=[x, xtune.InOut(y), 2.0, x.size], measure=QUICK, **HOST
                    )
                    self.assertEqual(result.problem, {"n": x.size})
                    before = y.copy()
                    result.kernel()(x, y, 2.0, x.size)
                    np.testing.assert_allclose(y, 2 * x + before)

    def test_what_else_a_definition_has(self):
        x, y = arrays()
        tunable = xtune.Tunable(
            source=SAXPY,
            name="other",
            entry="saxpy",
            params={("BLOCK", "UNUSED"): [(32, 1), (64, 2)]},
            args=(x, xtune.InOut(y), np.float64(3), np.int64(x.size)),
            grid=lambda n, BLOCK: -(-n // BLOCK),
            block="BLOCK",
            constraints="BLOCK > 32",
            reference=lambda x, y, a, n: (a * x + y)[:n],
            measure=QUICK,
        )
        result = xtune.tune(tunable, **HOST)
        self.assertEqual((result.kernel_name, result.best.config), ("other", {"BLOCK": 64, "UNUSED": 2}))
        self.assertIn("reference in code", tunable.toml())
        self.assertNotIn("config =", tunable.toml())
        own = np.ones(10, np.float32)
        xtune.load(tunable, backend="host")(x, own, 3.0, 10)
        np.testing.assert_allclose(own, 3 * x[:10] + 1)

    def test_declarations_by_position(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_float)]

        source = """
        struct Pair { float a, b; };
        __global__ void fill(const float* x, float* y, Pair pair, float scale, bool twice) {
          const int i = blockIdx.x * BLOCK + threadIdx.x;
          if (i < SIZE) y[i] = x[i] * pair.a * scale * (twice ? 2 : 1);
        }"""
        x = np.arange(256, dtype=np.float32)
        args = [xtune.In("uniform", "f32", "SIZE"), xtune.Out(x), Pair(2, 0), xtune.Scalar("f32", "BLOCK"), True]
        tunable = xtune.Tunable(
            source=source,
            params={"BLOCK": [32]},
            args=args,
            grid="SIZE // BLOCK",
            block="BLOCK",
            defines={"SIZE": 256},
            problem={"SIZE": 256},
        )
        self.assertIn('dtype = "f32"\nvalue = "BLOCK"', tunable.toml())
        self.assertIn('dtype = "bool"\nvalue = "true"', tunable.toml())

    def test_mistakes_name_the_argument_and_show_the_signature(self):
        x, y = arrays()

        def refused(*args, **definition):
            with self.assertRaises(xtune.InvalidArgumentError) as raised:
                xtune.tune(SAXPY, params={"BLOCK": [32]}, args=list(args), **definition, **HOST)
            return str(raised.exception)

        self.assertIn(f"saxpy takes 4 arguments, and was given 2: {SIGNATURE}", refused(x, y))
        self.assertIn(f"argument 2, 'y', of {SIGNATURE} points to what the kernel may write", refused(x, y, 2.0, 5))
        self.assertIn("'x', of", refused(xtune.InOut(x), xtune.InOut(y), 2.0, 5))
        self.assertIn("is an integer and was given 2.5", refused(x, xtune.InOut(y), 2.0, 2.5))
        self.assertIn("has elements of f32", refused(x.astype(np.float64), xtune.InOut(y), 2.0, 5))
        self.assertIn("args[0]: expected an array, In, InOut, Out, a number", refused("x", y, 2.0, 5))
        self.assertIn("'args[0]' is an array that is not contiguous", refused(x[::2], y, 2.0, 5))
        self.assertIn("no kernel 'saxpi' was found (did you mean 'saxpy'?)", refused(x, y, 2.0, 5, entry="saxpi"))


if __name__ == "__main__":
    unittest.main()
