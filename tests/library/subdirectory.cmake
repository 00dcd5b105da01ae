# Configures an application that has xtune as a subdirectory: cmake -DXTUNE=... -DSOURCE=... -DWORK=... -DCXX=... -P
file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}/consumer" -B "${WORK}" "-DCMAKE_CXX_COMPILER=${CXX}"
                        -DCONSUMER_BY=add_subdirectory "-DXTUNE_SOURCE=${XTUNE}"
                RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
if(NOT code EQUAL 0 OR EXISTS "${WORK}/xtune/tests")
  message(FATAL_ERROR "as a subdirectory, without tests of its own, xtune does not configure (${code}):\n${out}")
endif()
file(REMOVE_RECURSE "${WORK}")
