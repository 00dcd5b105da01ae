# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of JAX, on its CPU."""
import os
import pathlib
import tempfile
import unittest
import unittest.mock

from support import xtune

try:
    import jax
    import jax.numpy as jnp

    NEW_ENOUGH = hasattr(jax, "ffi")
except ImportError:
    NEW_ENOUGH = False


@unittest.skipUnless(NEW_ENOUGH, "JAX 0.5 or newer is not installed")
class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gemm = staticmethod(xtune.jax.op("gemm", backend="host"))
        cls.a = jax.random.normal(jax.random.key(1), (24, 32))
        cls.b = jax.random.normal(jax.random.key(2), (32, 16))

    def check(self, got, expected):
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
        self.assertLess(float(jnp.abs(got - expected).max()), 1e-4)

    def test_calls_and_compiled_calls(self):
        self.check(self.gemm(self.a, self.b), self.a @ self.b)
        self.check(self.gemm(self.a, B=self.b), self.a @ self.b)
        compiled = jax.jit(lambda a, b: jax.nn.relu(self.gemm(a, b) + 1))
        for rows in (24, 8, 16):
            self.check(compiled(self.a[:rows], self.b), jax.nn.relu(self.a[:rows] @ self.b + 1))
        self.check(compiled(self.a, self.b.T.T), jax.nn.relu(self.a @ self.b + 1))

    def test_slices_and_gradients(self):
        batch = jnp.stack([self.a, 2 * self.a])
        self.check(jax.vmap(self.gemm, (0, None))(batch, self.b), batch @ self.b)

        @jax.custom_vjp
        def product(a, b):
            return self.gemm(a, b)

        product.defvjp(lambda a, b: (product(a, b), (a, b)), lambda ab, g: (product(g, ab[1].T), product(ab[0].T, g)))
        got = jax.grad(lambda a, b: product(a, b).sum(), (0, 1))(self.a, self.b)
        for each, expected in zip(got, (jnp.ones((24, 16)) @ self.b.T, self.a.T @ jnp.ones((24, 16)))):
            self.check(each, expected)

    def test_changed_arrays_are_returned_and_the_callers_stay(self):
        histogram = xtune.jax.op("histogram", backend="host", words={"TYPE": "u8"})
        keys, counts = jnp.tile(jnp.arange(256, dtype=jnp.uint8), 3), jnp.ones(256, jnp.uint32)
        for call in (histogram, jax.jit(histogram)):
            self.assertEqual(call(keys, counts).tolist(), [4] * 256)
            self.assertEqual(counts.tolist(), [1] * 256)

    def test_numbers_by_name(self):
        conv2d = xtune.jax.op("conv2d", backend="host")
        x = jax.random.normal(jax.random.key(3), (2, 3, 10, 11))
        filters = jax.random.normal(jax.random.key(4), (4, 3, 3, 3))
        got = conv2d(x, filters, STRIDE=2, PADDING=0)
        self.check(got, jax.lax.conv_general_dilated(x, filters, (2, 2), "VALID"))

    def test_what_does_not_fit_is_named(self):
        def refused(function, *given, **named):
            with self.assertRaises(xtune.InvalidArgumentError) as caught:
                function(*given, **named)
            return str(caught.exception)

        self.assertIn("'B' has 31 elements in dimension 1, and K is 32", refused(self.gemm, self.a, self.b[:31]))
        self.assertIn("3 arrays by position, and it takes 2 (A, B)", refused(self.gemm, self.a, self.b, self.b))
        self.assertIn("'B': expected an array of JAX, not 3", refused(self.gemm, self.a, 3))
        self.assertIn("'B' is a buffer of f32", refused(self.gemm, self.a, self.b.astype(jnp.int32)))
        self.assertIn("by position and by name", refused(self.gemm, self.a, A=self.a))
        traced = jax.jit(lambda a, b, k: self.gemm(a, b, K=k))
        self.assertIn("'K' is a traced value", refused(traced, self.a, self.b, 32))

    def test_a_lack_of_a_compiler_is_said(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, variables in (("nothing", {"PATH": folder.name}), ("false", {"CXX": "false"})):
            cache = str(pathlib.Path(folder.name, path))
            environment = {**os.environ, "CXX": "", "XTUNE_CACHE_DIR": cache, **variables}
            with unittest.mock.patch.dict(os.environ, environment):
                with self.assertRaisesRegex(xtune.UnavailableError, "needs a C|false .* failed"):
                    xtune.jax._library()
            self.assertFalse([*pathlib.Path(cache).rglob("*.so")])


if __name__ == "__main__":
    unittest.main()
