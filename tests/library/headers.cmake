# Compiles each public header on its own, with warnings as errors: cmake -DINCLUDE=... -DCOMPILERS=... -P headers.cmake
file(GLOB headers RELATIVE "${INCLUDE}" "${INCLUDE}/xtune/*.hpp" "${INCLUDE}/xtune/detail/*.hpp")
if(NOT headers)
  message(FATAL_ERROR "no headers in ${INCLUDE}/xtune")
endif()
foreach(compiler IN LISTS COMPILERS)
  foreach(header IN LISTS headers)
    execute_process(COMMAND "${compiler}" -std=c++20 -Wall -Wextra -Wconversion -Wpedantic -Werror -fsyntax-only
                            "-I${INCLUDE}" -include "${header}" -x c++ /dev/null
                    RESULT_VARIABLE code ERROR_VARIABLE log)
    if(NOT code EQUAL 0)
      message(SEND_ERROR "${compiler}: <${header}> does not stand alone:\n${log}")
    endif()
  endforeach()
  list(LENGTH headers count)
  message(STATUS "${compiler}: ${count} headers stand alone")
endforeach()
