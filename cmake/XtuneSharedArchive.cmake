# SPDX-License-Identifier: Apache-2.0
# Static third-party libraries in libxtune.so: a distribution makes them for programs, and a shared object takes only code
# that reaches what lies in other libraries through their tables (Debian's libuv_a.a reaches libc's environ without).

# xtune_archive_fits_shared(RESULT ARCHIVE LIBRARY...): whether the whole archive links into a shared object.
function(xtune_archive_fits_shared result archive)
  get_filename_component(name "${archive}" NAME_WE)
  set(cached XTUNE_SHARED_TAKES_${name})
  if(NOT DEFINED ${cached} OR NOT "${${cached}_OF}" STREQUAL "${archive}")
    set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/xtune-${name}")
    file(WRITE "${folder}/probe.cpp" "extern \"C\" int xtune_probe() { return 0; }\n")
    file(WRITE "${folder}/exports.map" "{ global: xtune_probe; local: *; };\n")
    execute_process(
      COMMAND "${CMAKE_CXX_COMPILER}" -shared -fPIC probe.cpp -o probe.so -Wl,--whole-archive "${archive}" -Wl,--no-whole-archive
              -Wl,--version-script=exports.map -pthread -ldl -lrt
      WORKING_DIRECTORY "${folder}" RESULT_VARIABLE code OUTPUT_VARIABLE log ERROR_VARIABLE log)
    file(WRITE "${folder}/log.txt" "${log}")
    set(fits OFF)
    if(code EQUAL 0)
      set(fits ON)
    endif()
    set(${cached} ${fits} CACHE INTERNAL "")
    set(${cached}_OF "${archive}" CACHE INTERNAL "")
  endif()
  set(${result} ${${cached}} PARENT_SCOPE)
endfunction()

# xtune_library_for_shared(RESULT ARCHIVE NAME...): the library that libxtune.so links where programs link the archive:
# the archive itself if that is possible, else the shared library. If there is none, XTUNE_SHARED_LACKS lists it.
function(xtune_library_for_shared result archive)
  xtune_archive_fits_shared(fits "${archive}")
  set(${result} "${archive}" PARENT_SCOPE)
  if(fits OR NOT XTUNE_BUILD_LIBRARY)
    return()
  endif()
  set(names ${ARGN})
  list(TRANSFORM names REPLACE "(.+)" "lib\\1.so")
  get_filename_component(name "${archive}" NAME_WE)
  find_library(XTUNE_SHARED_${name} NAMES ${names})
  mark_as_advanced(XTUNE_SHARED_${name})
  get_filename_component(file "${archive}" NAME)
  if(XTUNE_SHARED_${name})
    set(${result} "${XTUNE_SHARED_${name}}" PARENT_SCOPE)
    get_filename_component(shared "${XTUNE_SHARED_${name}}" NAME)
    set_property(GLOBAL APPEND PROPERTY XTUNE_SHARED_NEEDS "${shared}")
    set_property(GLOBAL APPEND PROPERTY XTUNE_SHARED_PATHS "${XTUNE_SHARED_${name}}")
  else()
    set_property(GLOBAL APPEND PROPERTY XTUNE_SHARED_LACKS "${file} is not position independent, and there is no shared one")
  endif()
endfunction()
