# SPDX-License-Identifier: Apache-2.0
"""xtune, built from the checkout that this recipe lies in."""

import os

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0 it came with the names below
    CMakePackage = None

from spack.package import *

if CMakePackage is None:
    from spack.package import CMakePackage

CHECKOUT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))


class Xtune(CMakePackage):
    """Cross-vendor GPU kernel autotuner: finds the fastest configuration of a CUDA or HIP kernel
    on the GPU at hand, checks its results, and remembers it per device architecture."""

    git = "file://" + CHECKOUT

    license("Apache-2.0")

    # The checkout itself, unless a release is asked for by its number, which is a tag.
    version("main", branch="main", preferred=True)
    version("0.2.0", tag="v0.2.0")

    variant("cuda", default=False, description="CUDA's driver and NVRTC, opened at run time")
    variant("rocm", default=False, description="HIP's runtime and hipRTC, opened at run time")
    variant("library", default=True, description="The C++ library that applications link")
    variant("python", default=False, description="The Python package")
    variant("emulator", default=False, description="The emulator of AMD GPUs")
    variant("kokkos", default=False, description="The connector for Kokkos applications")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    generator("ninja")

    depends_on("nlohmann-json@3.8:")
    depends_on("cli11")
    depends_on("tomlplusplus@3:")
    depends_on("eigen@3.3:")
    depends_on("fmt")
    depends_on("libuv")
    depends_on("cryptopp")
    depends_on("zlib-api")
    depends_on("re2")
    depends_on("sqlite@3.7.15:")
    depends_on("boost+context")

    depends_on("cuda@11:", when="+cuda", type="run")  # NVRTC; nothing of it is needed to build
    depends_on("hip@5:", when="+rocm")

    depends_on("doctest", type="test")
    depends_on("python@3.9:", type=("build", "run", "test"))
    depends_on("py-pyyaml", type="run")  # of `xtune import kbench`
    depends_on("kokkos@3.4:", type="test")

    extends("python", when="+python")
    depends_on("py-numpy", when="+python", type=("build", "run"))
    depends_on("llvm@16:", when="+emulator", type="run")

    conflicts("+python~library", msg="the Python package needs the library")
    conflicts("%gcc@:11", msg="xtune is written in C++20: use GCC 12 or later")
    conflicts("platform=darwin", msg="xtune's workers need Linux")
    conflicts("platform=windows", msg="xtune's workers need Linux")

    def cmake_args(self):
        return [
            self.define("XTUNE_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("XTUNE_HIP", "ON" if self.spec.satisfies("+rocm") else "OFF"),
            self.define("XTUNE_HIP_PLATFORM", "amd"),
            self.define("XTUNE_PACKAGED", True),
            self.define_from_variant("XTUNE_BUILD_LIBRARY", "library"),
            self.define_from_variant("XTUNE_PYTHON", "python"),
            self.define_from_variant("XTUNE_EMULATOR", "emulator"),
            self.define_from_variant("XTUNE_KOKKOS_TOOLS", "kokkos"),
            self.define("XTUNE_BUILD_TESTS", self.run_tests),
        ]

    @run_after("install", when="+python")
    def install_python(self):
        component = ["--component", "python", "--prefix", python_platlib]
        cmake("--install", self.build_directory, *component)
