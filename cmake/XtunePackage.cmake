# SPDX-License-Identifier: Apache-2.0
# Packages by CPack: a .deb from the preset package-deb, a .tar.gz from the preset package-archive (`make package`).
set(XTUNE_PACKAGE_CONTACT "xtune maintainers" CACHE STRING "The Maintainer field of the .deb: NAME <ADDRESS>")
mark_as_advanced(XTUNE_PACKAGE_CONTACT)

set(CPACK_PACKAGE_NAME xtune)
set(CPACK_PACKAGE_VENDOR xtune)
set(CPACK_PACKAGE_CONTACT "${XTUNE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
"xtune finds the fastest configuration of a GPU kernel on the GPU at hand,
checks its results, and remembers it per device architecture. The same spec
and kernel source run on NVIDIA GPUs (CUDA), AMD GPUs (HIP) and, without any
GPU, on the CPU. Vendor libraries are opened at run time.
.
This package contains the program, the C++ library that applications link,
example kernels and specs, and the documentation.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME "xtune-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# The host backend compiles kernels with g++ or clang++. `import kbench` and most formats of `store export` run python3.
# Nothing else is needed without a GPU.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ | clang, python3-yaml")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libamdhip64-5, libhiprtc-builtins5, libtrilinos-kokkos-dev, clang-19, lld-19, libllvm19, libdw1, rocm-device-libs")
# Debian's policy: directories 0755, regardless of the umask of the build.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/XtuneCompressManuals.cmake")

include(CPack)
