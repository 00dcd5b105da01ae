#!/usr/bin/env python3
"""The Spack recipe against CMake's options and dependencies, and the modulefile under Lmod where it is installed.

  tests/packaging/packaging.py --build build/dev

Needs Python 3.8. What is not installed (pyflakes, Lmod) is skipped, with a line that says so.
"""

import argparse
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging/spack/packages/xtune/package.py"
LMOD = next((path for path in sorted(pathlib.Path("/usr/share/lmod").glob("*/init/bash"))), None)
BUILD = pathlib.Path()

# What cmake/install-deps asks Debian for, and who has it in Spack. The compiler is Spack's own business.
IN_SPACK = {
    "g++": "cxx", "cmake": "cmake", "ninja-build": "ninja", "nlohmann-json3-dev": "nlohmann-json", "libcli11-dev": "cli11",
    "libtomlplusplus-dev": "tomlplusplus", "libfmt-dev": "fmt", "libuv1-dev": "libuv", "libcrypto++-dev": "cryptopp",
    "zlib1g-dev": "zlib-api", "libboost-context-dev": "boost", "libeigen3-dev": "eigen", "libyaml-cpp-dev": "yaml-cpp",
    "libtrilinos-kokkos-dev": "kokkos", "libnanoflann-dev": "nanoflann", "doctest-dev": "doctest", "python3": "python",
}


class StandIn:
    """A package of Spack's, as far as the recipe asks: directives that note what they are told."""

    variants = {}

    def __init__(self, chosen, run_tests=False):
        self.chosen, self.run_tests = chosen, run_tests
        self.spec = types.SimpleNamespace(satisfies=lambda text: chosen[text[1:]] == (text[0] == "+"))

    @staticmethod
    def define(name, value):
        value = {True: "ON", False: "OFF"}.get(value, value)
        return f"-D{name}={value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.chosen[variant])


def load_recipe(before_1_0):
    """The recipe's module, with the directives that it called."""
    told = []

    def directive(name):
        return lambda *positional, **named: told.append((name, positional, named))

    package = types.ModuleType("spack.package")
    for name in ("version", "variant", "depends_on", "conflicts", "generator"):
        setattr(package, name, directive(name))
    stand_ins = {"spack": types.ModuleType("spack"), "spack.package": package}
    if before_1_0:
        package.CMakePackage = StandIn
    else:
        cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        cmake.CMakePackage = StandIn
        for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            stand_ins[name] = types.ModuleType(name)
        stand_ins[cmake.__name__] = cmake
    sys.modules.update(stand_ins)
    try:
        spec = importlib.util.spec_from_file_location("recipe", RECIPE)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name in stand_ins:
            del sys.modules[name]
    return module, told


class SpackRecipe(unittest.TestCase):
    def test_it_loads_with_spack_of_today_and_before_1_0(self):
        for before in (False, True):
            module, told = load_recipe(before)
            self.assertTrue(issubclass(module.Xtune, StandIn))
            self.assertEqual(module.Xtune.git, f"file://{ROOT}")
            self.assertTrue(any(name == "version" for name, _, _ in told))

    def test_every_dependency_of_the_build_is_named_and_no_other(self):
        _, told = load_recipe(False)
        named = {re.match(r"[a-z0-9-]+", what[0]).group() for name, what, _ in told if name == "depends_on"}
        text = (ROOT / "cmake/install-deps").read_text()
        debian = re.search(r'packages="([^"]*)"', text).group(1).split()
        self.assertEqual({IN_SPACK[package] for package in debian} | {"cuda", "hip"}, named)

    def test_every_option_exists_in_cmake_and_follows_its_variant(self):
        module, told = load_recipe(False)
        variants = {what[0] for name, what, _ in told if name == "variant"}
        self.assertEqual(variants, {"cuda", "rocm", "library"})
        cmake = (ROOT / "CMakeLists.txt").read_text()
        all_on = module.Xtune(dict.fromkeys(variants, True), run_tests=True).cmake_args()
        all_off = module.Xtune(dict.fromkeys(variants, False)).cmake_args()
        for argument in all_on:
            name = re.match(r"-D(\w+)=", argument).group(1)
            self.assertRegex(cmake, rf"(option|set)\({name}\b")
        switches = ("XTUNE_CUDA", "XTUNE_HIP", "XTUNE_BUILD_LIBRARY", "XTUNE_BUILD_TESTS")
        for switch in switches:
            self.assertIn(f"-D{switch}=ON", all_on)
            self.assertIn(f"-D{switch}=OFF", all_off)

    def test_the_tools_and_versions_are_cmakes(self):
        _, told = load_recipe(False)
        cmake = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertIn(f"cmake@{cmake}:", [what[0] for name, what, _ in told if name == "depends_on"])

    @unittest.skipUnless(shutil.which("pyflakes3"), "pyflakes is not installed (Debian: pyflakes3)")
    def test_pyflakes_finds_nothing_but_spacks_own_idiom(self):
        result = subprocess.run(["pyflakes3", str(RECIPE)], capture_output=True, text=True)
        others = [line for line in result.stdout.splitlines() if "import *" not in line and "star imports" not in line]
        self.assertEqual(others, [])


class Modulefile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name) / "moved here"
        before = pathlib.Path(folder.name) / "installed"
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(before)], check=True, capture_output=True)
        before.rename(self.prefix)

    def module(self, script):
        modules = self.prefix / "share/xtune/modulefiles"
        text = f'. "{LMOD}"; module use "{modules}"; {script}'
        return subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True)

    def test_it_is_installed_with_the_version(self):
        version = re.search(r"project\(xtune VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        text = (self.prefix / f"share/xtune/modulefiles/xtune/{version}.lua").read_text()
        self.assertIn(f'whatis("Version: {version}")', text)
        self.assertNotIn("@", text)

    @unittest.skipUnless(LMOD, "Lmod is not installed (Debian: lmod)")
    def test_load_finds_the_program_wherever_the_tree_lies_and_unload_takes_it_back(self):
        result = self.module('module load xtune && command -v xtune && xtune --version && echo "$XTUNE_ROOT" '
                             '&& module unload xtune && echo "left: $XTUNE_ROOT" && echo "$PATH"')
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], str(self.prefix / "bin/xtune"))
        self.assertEqual(lines[2:4], [str(self.prefix), "left: "])
        self.assertNotIn(str(self.prefix), lines[4])

    @unittest.skipUnless(LMOD, "Lmod is not installed (Debian: lmod)")
    def test_out_of_its_place_it_says_so(self):
        module = next((self.prefix / "share/xtune/modulefiles/xtune").glob("*.lua"))
        other = self.prefix / "elsewhere/xtune"
        other.mkdir(parents=True)
        shutil.move(str(module), str(other / module.name))
        result = self.module(f'module use "{other.parent}"; module load xtune')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("is not where it was installed", result.stderr)


def main():
    global BUILD
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder whose targets are built")
    BUILD = parser.parse_args().build.resolve()
    unittest.main(argv=[sys.argv[0], "-v"])


if __name__ == "__main__":
    main()
