# SPDX-License-Identifier: Apache-2.0
"""Kernels as operators: the ones that come with xtune, called with their inputs only, and what a call may pass."""
import unittest

from support import arrays, np, saxpy, xtune

RNG = np.random.default_rng(1)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def wide(array):
    return array.astype(np.float64)


def softmax(x):
    powers = np.exp(wide(x) - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(q, k, v):
    scores = np.einsum("bshd,bthd->bhst", wide(q), wide(k)) / np.sqrt(q.shape[-1])
    return np.einsum("bhst,bthd->bshd", softmax(scores), wide(v))


def hadamard(n):
    matrix = np.ones((1, 1))
    while len(matrix) < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.sqrt(n)


SCALE = r"""
kernel.name = "scale"
kernel.code = '''
extern "C" __global__ void scale(const T* x, T* y, T a, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}'''
kernel.defines = { T = "{'float' if TYPE == 'f32' else 'double' if TYPE == 'f64' else 'int'}" }
problem = { N = 64, TYPE = "f32" }
space.params.BLOCK = [32]
launch = { grid = ["ceildiv(N, BLOCK)"], block = ["BLOCK"] }
args = [
  { name = "x", dtype = "{TYPE}", shape = ["N"] },
  { name = "y", dtype = "{TYPE}", shape = ["N"], role = "out" },
  { name = "a", kind = "scalar", dtype = "{TYPE}", value = 2 },
  { name = "n", kind = "scalar", dtype = "i32", value = "N" },
]
"""


class Kernels(unittest.TestCase):
    """Against NumPy; Hopper's kernels are executed by threads that imitate its instructions."""

    def check(self, name, inputs, expected, tolerance=1e-4, **words):
        got = xtune.load(name, backend="host")(*inputs, **words)
        self.assertEqual(got.shape, expected.shape)
        error = np.abs(wide(got) - expected).max() / np.abs(expected).max()
        self.assertLess(error, tolerance, name)
        return got

    def test_products(self):
        a, b, x = normal(33, 70), normal(70, 45), normal(70)
        self.check("gemm", (a, b), wide(a) @ b)
        self.check("gemv", (a, x), wide(a) @ x)
        self.check("gemv", (a, x[:33]), x[:33] @ wide(a), LEFT=True)
        a, b = normal(32, 48, dtype=np.float16), normal(48, 64, dtype=np.float16)
        self.check("gemm_f16", (a, b), wide(a) @ b, 1e-2)

    def test_the_flagship_product(self):
        a, b = normal(33, 72, dtype=np.float16), normal(48, 72, dtype=np.float16)
        d, bias = normal(33, 48, dtype=np.float16), normal(48)
        product = wide(a) @ b.T
        got = self.check("gemm_hopper", (a, b.T), product, 1e-2)
        self.assertEqual(got.dtype, np.float16)
        self.check("gemm_hopper", (a, b.T), 2 * product + 3 * d + bias, 1e-2, D=d, alpha=2, beta=3, bias=bias)

    def test_rows(self):
        x, gamma, beta = normal(20, 100), normal(100), normal(100)
        centred = wide(x) - x.mean(axis=1, keepdims=True)
        self.check("softmax", (x,), softmax(x))
        self.check("layernorm", (x, gamma, beta), centred / np.sqrt(wide(x).var(axis=1) + 1e-5)[:, None] * gamma + beta)
        self.check("rmsnorm", (x, gamma), x / np.sqrt((wide(x) ** 2).mean(axis=1) + 1e-5)[:, None] * gamma)
        self.check("hadamard", (x[:, :64].copy(),), wide(x[:, :64]) @ hadamard(64))
        self.check("transpose", (x,), wide(x.T), 1e-9)

    def test_reductions(self):
        cube, ones = normal(20, 100, 3), np.ones(10007, np.float32)
        self.check("reduce_axis", (cube,), wide(cube).sum(axis=1))
        self.check("reduction", (ones,), np.array([10007.0]), 1e-9)
        keys = RNG.integers(0, 2**32, 5000, dtype=np.uint32)
        counts = np.zeros(256, np.uint32)
        self.assertIsNone(xtune.load("histogram", backend="host")(keys, counts))
        self.assertEqual(counts.tolist(), np.bincount(keys >> 24, minlength=256).tolist())

    def test_grids(self):
        x, cube, inner = normal(33, 70), normal(13, 14, 15), slice(1, -1)
        y = xtune.load("stencil_2d", backend="host")(x)
        near = x[:-2, inner] + x[2:, inner] + x[inner, :-2] + x[inner, 2:]
        np.testing.assert_allclose(y[inner, inner], 0.5 * x[inner, inner] + 0.11 * near, rtol=1e-4, atol=1e-5)
        y = xtune.load("stencil_3d", backend="host")(cube)
        near = cube[:-2, inner, inner] + cube[2:, inner, inner] + cube[inner, :-2, inner] + cube[inner, 2:, inner]
        near = near + cube[inner, inner, :-2] + cube[inner, inner, 2:]
        expected = 0.4 * cube[inner, inner, inner] + 0.07 * near
        np.testing.assert_allclose(y[inner, inner, inner], expected, rtol=1e-4, atol=1e-5)
        image, filters = normal(2, 3, 10, 11), normal(4, 3, 3, 3)
        y = xtune.load("conv2d", backend="host")(image, filters, STRIDE=2, PADDING=0)
        self.assertEqual(y.shape, (2, 4, 4, 5))
        self.assertAlmostEqual(y[1, 2, 3, 4], (image[1, :, 6:9, 8:11] * filters[2]).sum(), places=3)

    def test_bodies(self):
        bodies = np.abs(normal(100, 4))
        apart = wide(bodies[None, :, :3]) - bodies[:, None, :3]
        weights = bodies[:, 3] / ((apart**2).sum(-1) + 0.01) ** 1.5
        y = xtune.load("nbody", backend="host")(bodies)
        np.testing.assert_allclose(y[:, :3], (apart * weights[..., None]).sum(1), rtol=1e-3, atol=1e-3)

    def test_a_sparse_matrix(self):
        dense = np.where(RNG.random((60, 50)) < 0.1, RNG.random((60, 50)), 0).astype(np.float32)
        row, column = np.nonzero(dense)
        begin = np.concatenate([[0], np.bincount(row, minlength=60).cumsum()]).astype(np.int32)
        x, y = normal(50), np.zeros(60, np.float32)
        xtune.load("spmv", backend="host")(begin, column.astype(np.uint32), dense[row, column], x, y)
        np.testing.assert_allclose(y, wide(dense) @ x, rtol=1e-4, atol=1e-5)

    def test_attention_to_chosen_blocks(self):
        seq, heads, group, size = 80, 1, 16, 32
        q, k, v = (normal(1, seq, count, 64, dtype=np.float16) for count in (heads * group, heads, heads))
        choices = RNG.integers(-1, 3, (1, seq, heads, 2), dtype=np.int32)
        seen = np.zeros((seq, seq), bool)
        for i in range(seq):
            for block in choices[0, i, 0]:
                seen[i, block * size : (block + 1) * size if block >= 0 else 0] = True
        seen &= np.tri(seq, dtype=bool)
        scores = np.where(seen[:, None], np.einsum("ihd,jd->ihj", wide(q[0]), wide(k[0, :, 0])) / 8, -1e30)
        expected = np.where(seen.any(1)[:, None, None], softmax(scores) @ wide(v[0, :, 0]), 0)
        self.check("sparse_attention", (q, k, v, choices), expected[None], 1e-2, BLOCK_SIZE=size)

    def test_attention(self):
        q, k, v = (normal(1, 96, 2, 64, dtype=np.float16) for _ in range(3))
        self.check("attention_hopper", (q, k, v), attention(q, k, v), 1e-2)

    def test_attention_of_few_rows(self):
        lengths = np.array([40, 23], np.int32)
        q, (k, v) = normal(2, 1, 4, 64, dtype=np.float16), (normal(2, 40, 2, 64, dtype=np.float16) for _ in range(2))
        expected = np.concatenate(
            [
                attention(q[i : i + 1], k[i : i + 1, :length].repeat(2, 2), v[i : i + 1, :length].repeat(2, 2))
                for i, length in enumerate(lengths)
            ]
        )
        self.check("attention_decode", (q, k, v, lengths), expected, 1e-2)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gemm = xtune.load("gemm", backend="host")
        cls.a, cls.b = normal(20, 30), normal(30, 10)
        cls.c = cls.a @ cls.b

    def refused(self, *given, **named):
        with self.assertRaises(xtune.InvalidArgumentError) as caught:
            self.gemm(*given, **named)
        return str(caught.exception)

    def test_outputs(self):
        np.testing.assert_allclose(self.gemm(self.a, self.b), self.c, rtol=1e-4, atol=1e-4)
        out = np.empty((20, 10), np.float32)
        self.assertIs(self.gemm(self.a, self.b, out=out), out)
        self.assertIs(self.gemm(B=self.b, A=self.a, C=out), out)
        np.testing.assert_allclose(out, self.c, rtol=1e-4, atol=1e-4)
        out[:] = 0
        self.assertIsNone(self.gemm(self.a, self.b, out, 20, 10, 30))  # all of the kernel's arguments
        np.testing.assert_allclose(out, self.c, rtol=1e-4, atol=1e-4)

    def test_arrays_in_place(self):
        x, y = arrays()
        kernel = xtune.load(saxpy(), backend="host")
        self.assertIsNone(kernel(x, y))
        np.testing.assert_array_equal(y, 2 * x + 1)
        kernel(x, y, a=0)
        np.testing.assert_array_equal(y, 2 * x + 1)
        self.assertIn("'y' has 7 elements", self.message(lambda: kernel(x, y[:7])))

    @staticmethod
    def message(call):
        try:
            call()
        except xtune.Error as error:
            return str(error)
        return "accepted"

    def test_what_does_not_fit_is_named(self):
        a, b = self.a, self.b
        self.assertIn("'B' has 9 elements in dimension 1, and K is 30: K = 30 by 'A'", self.refused(a, b[:9]))
        self.assertIn("'B' is a buffer of f32 and was given an array of f64", self.refused(a, b.astype(float)))
        self.assertIn("argument 'B' is missing", self.refused(a))
        self.assertIn("'A' is a transposed view", self.refused(a.T, b))
        self.assertIn("'A' is not contiguous", self.refused(normal(20, 60)[:, ::2], b))
        self.assertIn("'A' has the shape (1, 20, 30), and the kernel takes 2 dimensions", self.refused(a[None], b))
        self.assertIn("'C' has 3 elements", self.refused(a, b, out=np.empty((3, 3), np.float32)))
        self.assertIn("did you mean 'K'", self.refused(a, b, KK=3))
        self.assertIn("keyword argument 'outt' (did you mean 'out'?)", self.refused(a, b, outt=a))
        self.assertIn("M: expected a number, a bool or a text, not ", self.refused(a, b, M=a))
        self.assertIn("K = 3 by the call", self.refused(a, b, K=3))
        self.assertIn("takes 6 arguments (A, B, C, m, n, k)", self.refused(a, b, a))
        self.assertIn("got 'A' twice", self.refused(a, b, A=a))
        read_only = np.empty((20, 10), np.float32)
        read_only.flags.writeable = False
        self.assertIn("'C' is written by the kernel", self.refused(a, b, out=read_only))
        self.assertIn("and was given list", self.refused(a.tolist(), b))

    def test_scalars_have_the_type_that_arrays_decide_on(self):
        kernel = xtune.load(xtune.Tunable.from_text(SCALE), backend="host")
        for dtype in (np.float32, np.float64, np.int32):
            x = np.arange(4, dtype=dtype)
            self.assertEqual(kernel(x, a=3).tolist(), [0, 3, 6, 9], dtype)
            self.assertEqual(kernel(x).tolist(), [0, 2, 4, 6], dtype)

    def test_an_output_does_not_overlap_an_input(self):
        memory = np.ones(21, np.float32)
        kernel = xtune.load(xtune.Tunable.from_text(SCALE), backend="host")
        self.assertIn(
            "scale: 'y', which the kernel writes, overlaps 'x' in memory",
            self.message(lambda: kernel(memory[:-1], out=memory[1:])),
        )
        kernel(memory[:10], out=memory[10:20])
        kernel(memory[:10], out=memory[:10])
        self.assertEqual(memory.tolist(), [2] * 20 + [1])

    def test_empty_arrays(self):
        empty = np.empty(0, np.float32)
        kernel = xtune.load(xtune.Tunable.from_text(SCALE), backend="host")
        self.assertEqual(kernel(empty).shape, (0,))
        self.assertEqual(self.gemm(self.a[:0], self.b).shape, (0, 10))
        self.assertIsNone(xtune.load(saxpy(), backend="host")(empty, empty))

    def test_a_definition_in_code_says_what_calls_may_leave_out(self):
        source = """
        extern "C" __global__ void add(const float* a, const float* bias, float* c, float scale, int n) {
          const int i = blockIdx.x * BLOCK + threadIdx.x;
          if (i < n * n) c[i] = scale * (FLIPPED ? a[i % n * n + i / n] : a[i]) + (HAS_BIAS ? bias[i % n] : 0);
        }"""
        tunable = xtune.Tunable(
            source=source,
            params={"BLOCK": [32]},
            problem={"n": 4, "HAS_BIAS": False, "FLIPPED": False},
            defines={"HAS_BIAS": "{HAS_BIAS}", "FLIPPED": "{FLIPPED}"},
            grid="ceildiv(n * n, BLOCK)",
            block="BLOCK",
            args={
                "a": xtune.In(dtype="f32", shape=("n", "n"), transposed="FLIPPED"),
                "bias": xtune.In(dtype="f32", shape="n", when="HAS_BIAS"),
                "c": xtune.Out(dtype="f32", shape=("n", "n")),
                "scale": xtune.Scalar("f32", 3, default=1),
                "n": xtune.Scalar("i32", "n"),
            },
        )
        kernel = xtune.load(tunable, backend="host")
        a, bias = normal(5, 5), normal(5)
        np.testing.assert_allclose(kernel(a), a)
        np.testing.assert_allclose(kernel(a.T), a.T)
        np.testing.assert_allclose(kernel(a, bias=bias, scale=2), 2 * a + bias, rtol=1e-6)

    def test_scratch_is_the_librarys_and_may_be_passed(self):
        kernel = xtune.load("reduction", backend="host")
        x, total = np.ones(1000, np.float32), np.empty(1, np.float32)
        kernel(x, total, 1000)
        self.assertEqual(total[0], 1000)
        self.assertIn("or 6 with its own scratch", self.message(lambda: kernel(x, total, 1000, 1)))


if __name__ == "__main__":
    unittest.main()
