#!/usr/bin/env python3
"""The parts of tests/releases that need no root: what is installed where, and the reading of outputs."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import suites  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Suites(unittest.TestCase):
    def test_packages_of_an_extra_suite_are_packages(self):
        for name, suite in suites.SUITES.items():
            with self.subTest(name):
                self.assertLessEqual(set(suite.extra_packages), set(suites.packages(suite)))
                self.assertEqual(bool(suite.extra), bool(suite.extra_packages))

    def test_an_extra_suite_is_a_second_source(self):
        self.assertEqual(
            suites.sources(suites.SUITES["trixie"], "http://m/debian"),
            "deb http://m/debian trixie main contrib non-free\n",
        )
        self.assertEqual(
            suites.sources(suites.SUITES["experimental"], "http://m/debian"),
            "deb http://m/debian sid main contrib non-free\ndeb http://m/debian experimental main contrib non-free\n",
        )

    def test_versions_are_those_of_compilers_and_libraries(self):
        listed = "bash 5.2\ng++-14 14.2.0-19\ng++-14-x86-64-linux-gnu 14.2.0-19\nlibamdhip64-5 5.7.1-6\nlibamdhip64-dev 5.7.1-6\nlibhiprtc6 \n"
        self.assertEqual(suites.shown_versions(listed), {"g++-14": "14.2.0-19", "libamdhip64-5": "5.7.1-6"})

    def test_the_archives_of_a_cmake_file(self):
        text = 'IMPORTED_LOCATION_NONE "${_IMPORT_PREFIX}/lib/m/libsimd.a"\nIMPORTED_LOCATION_NONE "${_IMPORT_PREFIX}/lib/m/libcore.so.5"\n'
        self.assertEqual(suites.imported_archives(text), ["lib/m/libsimd.a"])

    def test_the_mirror_is_read_from_both_formats_of_apt(self):
        self.assertEqual(
            suites.mirror_of("Types: deb\n# a comment\nURIs: http://a/debian/\nSuites: x\n"), "http://a/debian"
        )
        self.assertEqual(
            suites.mirror_of("# none\ndeb [arch=amd64 signed-by=/k] https://b/debian x main\n"), "https://b/debian"
        )
        self.assertEqual(suites.mirror_of("deb http://c/debian x main\n"), "http://c/debian")
        self.assertIsNone(suites.mirror_of("# deb http://d x main\n"))

    def test_the_architectures_are_those_that_xtune_knows(self):
        known = suites.known_archs((ROOT / "src/core/device/known_devices.def").read_text())
        self.assertIn("sm_90", known["nvidia"])
        self.assertIn("gfx942", known["amd"])
        self.assertTrue(all(arch.startswith("gfx") for arch in known["amd"]))
        for archs in suites.KERNEL_ARCHS.values():
            for arch in archs:
                self.assertIn(arch.removesuffix("a") if arch.startswith("sm") else arch, known["nvidia"] + known["amd"])


class Outputs(unittest.TestCase):
    def test_architectures_that_compile_that_are_unknown_and_that_fail(self):
        report = [
            {"arch": "gfx90a", "outcome": "ok"},
            {"arch": "gfx1030", "outcome": "compile_failed", "message": "no such thing"},
            {"arch": "gfx90a", "compiled": 1, "configurations": 1},
            {"arch": "gfx1030", "compiled": 0, "configurations": 1},
            {
                "arch": "gfx950",
                "compiled": 0,
                "configurations": 0,
                "error": {"kind": "unsupported", "message": "cannot"},
            },
            {
                "arch": "gfx942",
                "compiled": 0,
                "configurations": 0,
                "error": {"kind": "unavailable", "message": "no bitcode"},
            },
            {"arch": "gfx1100", "compiled": 0, "configurations": 0},
        ]
        compiled, unknown, failed = suites.compiled_archs(report)
        self.assertEqual(compiled, ["gfx90a"])
        self.assertEqual(unknown, ["gfx950"])
        self.assertEqual(
            failed, {"gfx1030": "compile_failed: no such thing", "gfx942": "no bitcode", "gfx1100": "0 of 0 compiled"}
        )

    def test_toolchains_with_the_reasons_of_those_that_cannot_be_used(self):
        report = {
            "backends": [
                {"name": "cuda", "toolchain": "nvrtc 12.4", "toolchain_reason": ""},
                {"name": "kokkos", "toolchain": "", "toolchain_reason": "no CMake"},
                {
                    "name": "hip",
                    "toolchain": "hiprtc 5",
                    "compilers": [
                        {"name": "hiprtc", "toolchain": "hiprtc 5", "reason": ""},
                        {"name": "clang", "toolchain": "", "reason": "no lld"},
                    ],
                },
            ]
        }
        self.assertEqual(
            suites.toolchains(report),
            {"cuda": "nvrtc 12.4", "kokkos": "(no CMake)", "hip hiprtc": "hiprtc 5", "hip clang": "(no lld)"},
        )

    def test_the_spaces_of_a_kokkos(self):
        self.assertEqual(suites.kokkos_spaces("Kokkos 5.0.2 Serial, g++ (Debian) 16.2.0, flags -fopenmp"), ["Serial"])
        self.assertEqual(suites.kokkos_spaces("Kokkos 5.2 Serial, OpenMP, g++ (Debian) 16.2.0"), ["OpenMP", "Serial"])

    def test_the_summary_of_a_test_program(self):
        output = (
            "suite.cpp:84: MESSAGE: skipped: hip clang: no clang\n/s.cpp:1: MESSAGE: targets: cuda sm_80 (compile only), host x86_64\n"
            "\x1b[0;36m[doctest] \x1b[0mtest cases:  61 |  \x1b[0;32m59 passed\x1b[0m |  \x1b[0;31m2 failed\x1b[0m | 0 skipped\n"
        )
        result = suites.doctest_result(output)
        self.assertEqual((result.passed, result.failed), (59, 2))
        self.assertEqual(result.targets, "cuda sm_80 (compile only), host x86_64")
        self.assertEqual(result.skipped, ["hip clang: no clang"])
        self.assertIsNone(suites.doctest_result("Segmentation fault\n"))

    def test_the_failed_cases_of_a_test_program(self):
        output = (
            "===\na.cpp:3:\nTEST CASE:  one\n\na.cpp:4: MESSAGE: skipped\n===\na.cpp:9:\nTEST CASE:  two\n\n"
            "a.cpp:10: ERROR: CHECK( x ) is NOT correct!\n===\na.cpp:12:\nTEST CASE:  three\n\na.cpp:13: FATAL ERROR: no\n"
        )
        self.assertEqual(suites.failed_cases(output), ["three", "two"])

    def test_the_kernels_that_compile_are_counted_for_each_architecture(self):
        output = (
            "gemm: compiles for gfx90a, no compiler for gfx950\nconv2d: compiles for gfx90a, no compiler for gfx950\n"
            "attention_hopper: compiles for none of these architectures\nspmv, compile:\nfor gfx90a: exit code 1\n"
        )
        self.assertEqual(
            suites.kernel_summary(output),
            "2 kernels: compiles for gfx90a, 2 kernels: no compiler for gfx950, "
            "1 kernel: compiles for none of these architectures; failed: spmv",
        )

    def test_the_summary_of_ctest_names_what_failed(self):
        output = "98% tests passed, 2 tests failed out of 61\n\nThe following tests FAILED:\n\t  3 - gpu (Failed)\n\t 17 - cli_run (Timeout)\n"
        self.assertEqual(suites.ctest_result(output), "98% tests passed, 2 tests failed out of 61: gpu, cli_run")

    def test_the_first_errors_of_a_build(self):
        self.assertEqual(
            suites.first_errors("[1/2] a\nx.cpp:1:2: error: bad\ny\nz.cpp:3: error: worse\n", 1),
            "x.cpp:1:2: error: bad",
        )
        self.assertEqual(suites.first_errors("killed\n"), "killed")


if __name__ == "__main__":
    unittest.main()
