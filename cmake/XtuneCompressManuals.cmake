# SPDX-License-Identifier: Apache-2.0
# CPack runs this on the installed files before it makes a package: in a .deb, Debian's policy asks for compressed manual
# pages.
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB_RECURSE pages "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/share/man/man[0-9]/*.[0-9]")
  foreach(page IN LISTS pages)
    execute_process(COMMAND gzip -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
