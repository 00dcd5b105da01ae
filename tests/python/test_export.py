# SPDX-License-Identifier: Apache-2.0
"""Exported libraries: they build without xtune, give the bits of xtune's own calls, and name mistakes."""
import ctypes
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np
import support  # noqa: F401  sets the store

import xtune

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["XTUNE_PROGRAM"]
STRICT = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CASES = [{"M": 64, "N": 48, "K": 32}, {"M": 40, "N": 64, "K": 24}]


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("extents", ctypes.c_int64 * 8),
    ]


def array(values, kind=0):
    return Array(values.ctypes.data, kind, values.ndim, (ctypes.c_int64 * 8)(*values.shape))


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=250, **options)


class Exports(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def suite(self, spec, cases):
        path = self.root / "cases.toml"
        rows = ", ".join("{ " + ", ".join(f"{name} = {value}" for name, value in one.items()) + " }" for one in cases)
        path.write_text(f'[[suite]]\nspec = "{spec}"\ncases = [{rows}]\n')
        return path

    def export(self, spec, *options, code=0):
        done = run(PROGRAM, "export", spec, "--out", self.root / "out", *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def build(self, name, *more, sources=("", "_images", "_selftest", "_reference"), output="selftest"):
        parts = [f"{name}{part}.cpp" for part in sources]
        done = run("c++", "-std=c++17", *STRICT, *more, *parts, "-o", output, "-ldl", "-pthread", cwd=self.root / "out")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_cpu(self):
        spec = ROOT / "configs/gemm.toml"
        suite = self.suite(spec, CASES)
        self.assertEqual(run(PROGRAM, "run", suite, "--backend", "host", "--evals", "3", "--quiet").returncode, 0)
        told = self.export(spec, "--cases", suite, "--arch", "host")
        self.assertNotIn("warning", told)
        declared = "int gemm(void *stream, const float *A, const float *B, float *C, int64_t M, int64_t N, int64_t K);"
        self.assertIn(declared, (self.root / "out/gemm.h").read_text())
        source = (self.root / "out/gemm.cpp").read_text()
        self.assertIn("Above the best of a problem: ", source)
        page = (self.root / "out/README.md").read_text()
        self.assertRegex(page, r" for 2 measured problems\. Above the best of a problem: .* % on average\.\n")
        self.assertNotIn("driver", page)
        for path in (self.root / "out").rglob("*.*"):
            if path.suffix in (".cpp", ".hpp", ".h"):
                self.assertNotRegex(path.read_text(), r"#include .*xtune|libxtune")
        header = run("cc", "-std=c99", *STRICT, "-fsyntax-only", "-x", "c", self.root / "out/gemm.h")
        self.assertEqual(header.returncode, 0, header.stderr)
        self.build("gemm")
        done = run("./selftest", cwd=self.root / "out")
        self.assertEqual((done.returncode, done.stdout.count("ok ")), (0, 2), done.stdout)
        self.build("gemm", "-shared", "-fPIC", sources=("", "_images"), output="libgemm.so")
        self.call(ctypes.CDLL(self.root / "out/libgemm.so"))
        self.assertIn("the file exists", self.export(spec, "--cases", suite, "--arch", "host", code=2))
        self.page()

    def call(self, library):
        library.gemm_error.restype = ctypes.c_char_p
        own = xtune.load(str(ROOT / "configs/gemm.toml"), backend="host")
        random = np.random.default_rng(1)
        for m, n, k in ((64, 48, 32), (40, 64, 24), (33, 17, 5)):
            a, b = random.random((m, k), np.float32), random.random((k, n), np.float32)
            c = np.zeros((m, n), np.float32)
            sizes = map(ctypes.c_int64, (m, n, k))
            self.assertEqual(library.gemm(None, *(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)), *sizes), 0)
            if (m, n, k) != (33, 17, 5):
                self.assertEqual(c.tobytes(), own(a, b).tobytes())
            np.testing.assert_allclose(c, a @ b, rtol=1e-4)
            c[:] = 0
            self.assertEqual(library.gemm_arrays(None, array(a), array(b), array(c)), 0, library.gemm_error())
            np.testing.assert_allclose(c, a @ b, rtol=1e-4)

        def fails(text, *arrays):
            self.assertNotEqual(library.gemm_arrays(None, *arrays), 0)
            self.assertIn(text, library.gemm_error().decode())

        good = array(a), array(b), array(c)
        fails(
            "gemm: 'B' has 9 elements in dimension 1, and it is [K, N], which has 5 there",
            good[0],
            array(np.zeros((9, 17), np.float32)),
            good[2],
        )
        fails("gemm: 'A' is an array of f32 and was given one of f64", array(a.astype(float), 1), *good[1:])
        fails("gemm: 'C' has 1 dimensions, and the kernel takes 2", *good[:2], array(c.ravel()))
        fails("gemm: 'B' is a null pointer", good[0], Array(None, 0, 2, good[1].extents), good[2])

    def page(self):
        """The C of docs/calls.md compiles."""
        (block,) = re.findall(r"^```c\n(.*gemm_error.*\n)```", (ROOT / "docs/calls.md").read_text(), re.M)
        text = (
            '#include "gemm.h"\nint fail(const char *);\nint call(void *stream, const float *a, const float *b, float *c, int m, int n, int k) {\n'
            + block
            + "return 0;\n}\n"
        )
        (self.root / "out/page.c").write_text(text)
        done = run("cc", "-std=c99", *STRICT, "-fsyntax-only", "page.c", cwd=self.root / "out")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_mistakes(self):
        spec, other = ROOT / "configs/gemm.toml", ROOT / "configs/softmax.toml"

        def fails(code, text, *command):
            self.assertIn(text, self.export(*command, code=code))

        fails(2, "unknown architecture 'zx1'", spec, "--arch", "sm_80,zx1")
        fails(2, "unknown architecture 'hosts' (did you mean 'host'?); known: host, sm_", spec, "--arch", "hosts")
        fails(2, "is named twice", spec, "--arch", "host,host")
        fails(2, "the suite has no entry with spec", spec, "--arch", "host", "--cases", self.suite(other, [{"M": 8}]))
        fails(2, "it is not a suite", spec, "--arch", "host", "--cases", spec)
        fails(4, "clusters and cooperative launches", ROOT / "configs/gemm_hopper.toml", "--arch", "host")
        self.assertFalse((self.root / "out").exists())
        (self.root / "out").write_text("mine")
        fails(2, "it is not a directory", spec, "--arch", "host")

    def without_device(self, spec, name, cases, archs):
        done = run(PROGRAM, "compile", spec, "--arch", archs, "--limit", "1")
        if done.returncode != 0:
            self.skipTest(f"no compiler for {archs}")
        told = self.export(spec, "--cases", self.suite(spec, cases), "--arch", archs)
        self.assertIn("nothing was measured for", told)
        self.build(name)

    def test_nvidia(self):
        cases = [{"M": 256, "N": 192, "K": 128, "TRANSPOSED_B": "true"}]
        self.without_device(ROOT / "configs/gemm_hopper.toml", "gemm_hopper", cases, "sm_90a")
        source = (self.root / "out/gemm_hopper.cpp").read_text()
        self.assertIn("plan.maps.push_back", source)
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        done = run("./selftest", cwd=self.root / "out", env=environment)
        self.assertEqual(done.returncode, 77, done.stdout)

    def test_amd(self):
        self.without_device(ROOT / "configs/gemm.toml", "gemm", CASES[:1], "sm_80,gfx942")
        library = os.environ.get("XTUNE_EMULATED_HIP", "")
        if not library:
            self.skipTest("the emulator was not built")
        environment = {**os.environ, "HIP_LIBRARY": library, "CUDA_VISIBLE_DEVICES": ""}
        done = run("./selftest", cwd=self.root / "out", env={**environment, "XTUNE_EMULATED_ARCH": "gfx942"})
        self.assertEqual(done.returncode, 0, done.stdout)
        done = run("./selftest", cwd=self.root / "out", env={**environment, "XTUNE_EMULATED_ARCH": "gfx90a"})
        self.assertIn("gemm: this device is gfx90a-emulated, and the library has code for sm_80, gfx942", done.stdout)


if __name__ == "__main__":
    unittest.main()
