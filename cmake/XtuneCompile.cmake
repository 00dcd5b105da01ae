# SPDX-License-Identifier: Apache-2.0
# Compiler settings for xtune's code, and the functions that every directory uses.
# What an earlier configure found may have been removed since: it is searched again.
get_cmake_property(variables CACHE_VARIABLES)
foreach(variable IN LISTS variables)
  get_property(help CACHE ${variable} PROPERTY HELPSTRING)
  if(variable MATCHES "^(XTUNE|xtune)_" AND help MATCHES "^Path to a (file|library|program)\\.$" AND NOT EXISTS "${${variable}}")
    unset(${variable} CACHE)
  endif()
endforeach()

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Without this sloppiness, ccache keeps no object that is compiled with a precompiled header.
find_program(XTUNE_CCACHE ccache)
if(XTUNE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${XTUNE_CCACHE}")
endif()

# Where a program that was not installed finds its files.
set(XTUNE_SOURCE_PLACE "${PROJECT_SOURCE_DIR}")
set(XTUNE_BUILD_PLACE "${PROJECT_BINARY_DIR}")
if(XTUNE_PACKAGED)
  set(XTUNE_SOURCE_PLACE /nonexistent)
  set(XTUNE_BUILD_PLACE /nonexistent)
endif()

add_library(xtune_options INTERFACE)
target_include_directories(xtune_options INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
target_compile_options(xtune_options INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${XTUNE_WERROR}>:-Werror>)
# References, ranks and proposals are the same on every machine: a product and a sum round separately unless the code says fma.
target_compile_options(xtune_options INTERFACE -ffp-contract=off)
# GCC 12 takes std::string's own memcpy for overlapping, or for out of bounds (GCC bugs 105651 and 105329); GCC 14 with -O1
# std::vector's.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(xtune_options INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  # GCC collects its garbage from 128 MB on, which takes a tenth of the time; few sources need more than 512 MB.
  target_compile_options(xtune_options INTERFACE -Wshadow --param=ggc-min-heapsize=524288)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang 19 takes a call in GCC 12's std::stable_sort for the caller's. Its -Wshadow reports names of other files in a unity build.
  target_compile_options(xtune_options INTERFACE -Wno-deprecated-declarations $<$<NOT:$<BOOL:${XTUNE_UNITY}>>:-Wshadow>)
endif()
if(XTUNE_SANITIZE)
  target_compile_options(xtune_options INTERFACE -fsanitize=${XTUNE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -UNDEBUG)  # Eigen checks shapes, too
  # With sanitizers GCC 12 takes the inside of std::regex and others for uninitialised (GCC bug 105562).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(xtune_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(xtune_options INTERFACE -fsanitize=${XTUNE_SANITIZE})
  target_compile_definitions(xtune_options INTERFACE XTUNE_SANITIZED=1)
endif()
if(XTUNE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "XTUNE_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(xtune_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(xtune_options INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(xtune_options INTERFACE XTUNE_SANITIZED=1)
endif()
if(XTUNE_PACKAGED)
  target_compile_options(xtune_options INTERFACE "-ffile-prefix-map=${PROJECT_BINARY_DIR}=." "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
endif()
# Exceptions pass between libxtune.so and the program that uses it: they share a C++ runtime.
if(XTUNE_STATIC)
  target_link_options(xtune_options INTERFACE
    "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libstdc++;-static-libgcc>")
endif()

# A whole build takes half the time where several sources are one for the compiler. XTUNE_UNITY=OFF suits work on single
# files, and shows missing includes of a source.
if(XTUNE_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
  # Its warning about classes whose members have types of an anonymous namespace concerns only headers.
  # ccache needs -fpch-preprocess.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(xtune_options INTERFACE -Wno-subobject-linkage -fpch-preprocess)
  endif()
endif()

# xtune_precompiled(TARGET): gives the target the headers that most sources include, parsed once, by xtune_base.
function(xtune_precompiled target)
  if(NOT XTUNE_UNITY)
    return()
  endif()
  if(target STREQUAL "xtune_base")
    target_precompile_headers(xtune_base PRIVATE
      <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <deque> <filesystem> <fstream> <functional> <map> <memory>
      <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set>
      <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
  else()
    target_precompile_headers(${target} REUSE_FROM xtune_base)
  endif()
endfunction()

# xtune_module(NAME LIB...): the static library xtune_NAME from every .cpp of the calling directory.
function(xtune_module name)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_library(xtune_${name} STATIC ${sources})
  target_link_libraries(xtune_${name} PUBLIC xtune_options ${ARGN})
  xtune_precompiled(xtune_${name})
endfunction()

# xtune_part(TARGET PART SOURCE...): these sources of the target as TARGET_PART, for options of their own. Options of single
# sources would keep them out of the unity build.
function(xtune_part target part)
  get_target_property(sources ${target} SOURCES)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(REMOVE_ITEM sources ${ARGN})
  add_library(${target}_${part} OBJECT ${ARGN})
  target_link_libraries(${target}_${part} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_compile_definitions(${target}_${part} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${part}>)
endfunction()

# xtune_install_if_built(TARGET WHAT COMPONENT): the install rules that follow in this directory do nothing where the target
# was not built, as after `make run`, which builds only the program.
function(xtune_install_if_built target what component)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
    message(STATUS \"Not installed, because it was not built: ${what}\")
    return()
  endif()" COMPONENT ${component})
endfunction()

# xtune_test_environment(TEST [VARIABLE=VALUE...]): a test runs with these variables, and with what the sanitizers have to
# know. A test's own ASAN_OPTIONS are added to those that every test has. Other tests that run at the same time do not make
# the machine a busy one, whose measurements are tainted.
function(xtune_test_environment name)
  set(environment XTUNE_BUSY=no ${ARGN})
  if(XTUNE_SANITIZE MATCHES "thread")
    list(APPEND environment "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
  elseif(XTUNE_SANITIZE MATCHES "address")
    set(asan "ASAN_OPTIONS=protect_shadow_gap=0")  # CUDA maps that gap
    foreach(variable IN LISTS ARGN)
      if(variable MATCHES "^ASAN_OPTIONS=(.*)")
        list(REMOVE_ITEM environment "${variable}")
        string(APPEND asan ":${CMAKE_MATCH_1}")
      endif()
    endforeach()
    list(APPEND environment "${asan}"
         "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0")
  endif()
  set_property(TEST ${name} PROPERTY ENVIRONMENT "${environment}")
endfunction()

# xtune_test(NAME LIB...): the test program test_NAME from every .cpp of the calling directory, as one CTest test, which
# gets the words of XTUNE_TEST_OPTIONS. With XTUNE_TEST_BY_FILE set, each PART_test.cpp is a CTest test, NAME_PART.
function(xtune_test name)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE xtune_options xtune_doctest ${ARGN})
  if(XTUNE_UNITY)
    target_precompile_headers(test_${name} REUSE_FROM xtune_doctest)
  endif()
  target_include_directories(test_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  set(files all)
  if(XTUNE_TEST_BY_FILE)
    set(files ${sources})
    list(FILTER files INCLUDE REGEX "_test.cpp$")
  endif()
  foreach(file IN LISTS files)
    set(test ${name})
    set(only "")
    if(XTUNE_TEST_BY_FILE)
      string(REGEX REPLACE ".*/(.*)_test.cpp" "${name}_\\1" test "${file}")
      set(only "--source-file=${file}")
    endif()
    add_test(NAME ${test} COMMAND test_${name} ${only} ${XTUNE_TEST_OPTIONS})
    # The time is that of a hang; sanitizers and busy machines take theirs.
    set_tests_properties(${test} PROPERTIES TIMEOUT 900 FAIL_REGULAR_EXPRESSION "test cases: +0 ")
    xtune_test_environment(${test})
  endforeach()
endfunction()
