# SPDX-License-Identifier: Apache-2.0
# The toolchain of wheels: compiler and libraries of XTUNE_PORTABLE, which cmake/portable-libraries made.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES XTUNE_PORTABLE)
set(CMAKE_C_COMPILER "${XTUNE_PORTABLE}/bin/cc")
set(CMAKE_CXX_COMPILER "${XTUNE_PORTABLE}/bin/c++")
set(CMAKE_AR "${XTUNE_PORTABLE}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${XTUNE_PORTABLE}/bin/ranlib" CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH "${XTUNE_PORTABLE}")
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
