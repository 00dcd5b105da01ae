# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch, on its own CPU tensors."""
import unittest

from support import xtune

try:
    import torch

    NEW_ENOUGH = hasattr(torch.library, "register_autograd")
except ImportError:
    NEW_ENOUGH = False


@unittest.skipUnless(NEW_ENOUGH, "PyTorch 2.4 or newer is not installed")
class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def backward(grad, a, b):
            return cls.gemm(grad, b.t().contiguous()), cls.gemm(a.t().contiguous(), grad)

        signature = "(Tensor a, Tensor b) -> Tensor"
        cls.gemm = xtune.torch.op("xtune_test::gemm", "gemm", signature, backend="host", backward=backward)
        cls.a, cls.b = torch.randn(24, 32), torch.randn(32, 16)

    def check(self, got, expected):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)

    def test_calls_and_checks(self):
        self.check(self.gemm(self.a, self.b), self.a @ self.b)
        self.check(torch.ops.xtune_test.gemm(self.a, self.b), self.a @ self.b)
        torch.library.opcheck(self.gemm, (self.a.clone().requires_grad_(), self.b.clone().requires_grad_()))

    def test_compiled_without_a_break(self):
        compiled = torch.compile(lambda a, b: self.gemm(a, b).relu(), fullgraph=True, backend="aot_eager")
        for rows in (24, 8, 16):
            a = self.a[:rows].contiguous()
            self.check(compiled(a, self.b), (a @ self.b).relu())

    def test_gradients(self):
        a, b = self.a.clone().requires_grad_(), self.b.clone().requires_grad_()
        self.gemm(a, b).sum().backward()
        self.check(a.grad, torch.ones(24, 16) @ self.b.t())
        self.check(b.grad, self.a.t() @ torch.ones(24, 16))

    def test_arguments_by_name_and_in_place(self):
        conv2d = xtune.torch.op(
            "xtune_test::conv2d",
            "conv2d",
            "(Tensor x, Tensor f, int stride=1, int padding=1) -> Tensor",
            backend="host",
        )
        x, filters = torch.randn(2, 3, 10, 11), torch.randn(4, 3, 3, 3)
        expected = torch.nn.functional.conv2d(x, filters, stride=2, padding=0)
        torch.testing.assert_close(conv2d(x, filters, 2, 0), expected, rtol=1e-3, atol=1e-3)
        schema = "(Tensor keys, Tensor(a!) counts) -> ()"
        histogram = xtune.torch.op("xtune_test::histogram", "histogram", schema, backend="host", words={"TYPE": "u8"})
        counts = torch.zeros(256, dtype=torch.uint32)
        keys = torch.arange(256, dtype=torch.uint8).repeat(3)
        histogram(keys, counts)
        self.assertEqual(counts.tolist(), [3] * 256)

    def test_bits_of_narrow_floats_are_taken_where_all_arguments_are_passed(self):
        softmax = xtune.load("softmax", backend="host", defines={"TYPE": "bf16"})
        x = torch.randn(4, 64).bfloat16()
        bits = torch.empty(4, 64, dtype=torch.uint16)
        softmax(x.view(torch.uint16), bits, 4, 64)
        torch.testing.assert_close(bits.view(torch.bfloat16), x.softmax(1), rtol=1e-2, atol=1e-2)

    def test_what_does_not_fit_is_named(self):
        def refused(schema, *given):
            with self.assertRaises(xtune.InvalidArgumentError) as caught:
                xtune.torch.op(f"xtune_test::refused{len(schema)}", "gemm", schema, backend="host")(*given)
            return str(caught.exception)

        self.assertIn("'c' is neither", refused("(Tensor a, Tensor b, float c) -> Tensor"))
        self.assertIn("no argument for the input 'B'", refused("(Tensor a) -> Tensor"))
        self.assertIn("returns 2 tensors", refused("(Tensor a, Tensor b) -> (Tensor, Tensor)"))
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "'B' has 31 elements in dimension 1, and K is 32"):
            self.gemm(self.a, self.b[:31].contiguous())


if __name__ == "__main__":
    unittest.main(verbosity=2)
