# SPDX-License-Identifier: Apache-2.0
"""Scratch from the allocators of frameworks: here of stand-ins for PyTorch and CuPy."""
import contextlib
import sys
import types
import unittest
from unittest import mock

from support import saxpy, xtune
from xtune import _allocators


class FakeCuda(types.SimpleNamespace):
    """The calls of torch.cuda and cupy.cuda that are made, with what they are given."""

    def __init__(self):
        super().__init__(calls=[], streams=[])
        self.Stream = types.SimpleNamespace(null=self.ExternalStream(0))

    def caching_allocator_alloc(self, size, device=None, stream=None):
        self.calls.append(("alloc", size, device, stream))
        return 4096

    def caching_allocator_delete(self, memory):
        self.calls.append(("delete", memory))

    @contextlib.contextmanager
    def ExternalStream(self, stream):
        self.streams.append(stream)
        yield
        self.streams.pop()

    def alloc(self, size):
        self.calls.append(("alloc", size, *self.streams))
        return types.SimpleNamespace(ptr=8192)


class Allocators(unittest.TestCase):
    def test_torch(self):
        cuda = FakeCuda()
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=cuda)):
            allocate, release = _allocators.pair_of("torch")
        self.assertEqual(allocate(256, 7), 4096)
        release(4096, 256, 7)
        self.assertEqual(cuda.calls, [("alloc", 256, None, 7), ("delete", 4096)])

    def test_cupy(self):
        cuda = FakeCuda()
        with mock.patch.dict(sys.modules, cupy=types.SimpleNamespace(cuda=cuda)):
            allocate, release = _allocators.pair_of("cupy")
        self.assertEqual(allocate(256, 7), 8192)
        release(8192, 256, 7)
        self.assertEqual(allocate(512, 0), 8192)
        self.assertEqual(cuda.calls, [("alloc", 256, 7), ("alloc", 512, 0)])

    def test_a_pair_reaches_the_library(self):
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "an allocator is for device memory"):
            xtune.load(saxpy(), backend="host", allocator=(lambda size, stream: 0, lambda *given: None))

    def test_mistakes(self):
        for allocator, text in (
            ("tensorflow", "allocator: 'tensorflow' is unknown; use torch, cupy, or a pair of functions"),
            ([len], "allocator: expected .allocate, release., not"),
            ([len, print], "allocator: allocate: expected a function of 2 arguments"),
            (3, "allocator: expected a text, a list of functions or None, not 3"),
        ):
            with self.subTest(text), self.assertRaisesRegex(xtune.InvalidArgumentError, text):
                xtune.load(saxpy(), backend="host", allocator=allocator)
        with mock.patch.dict(sys.modules, cupy=None), self.assertRaisesRegex(xtune.UnavailableError, "cupy"):
            xtune.load(saxpy(), allocator="cupy")


if __name__ == "__main__":
    unittest.main()
