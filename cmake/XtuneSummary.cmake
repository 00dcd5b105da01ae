# SPDX-License-Identifier: Apache-2.0
# The contents of the build, and how to get the rest; printed at the end of configure.
message(STATUS "")
message(STATUS "xtune ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE})")
get_property(lines GLOBAL PROPERTY XTUNE_SUMMARY)
foreach(line IN LISTS lines)
  message(STATUS "  ${line}")
endforeach()
message(STATUS "")
