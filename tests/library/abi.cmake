# Compares the C interface with its recorded form by abidiff: functions may be added, nothing may change. Structs
# that say their size may grow at the end: then the recorded form is written anew.
#   cmake -DXTUNE=SOURCES -DWORK=DIR -DCXX=g++ -P abi.cmake          RECORD=ON: writes the recorded form
set(recorded "${CMAKE_CURRENT_LIST_DIR}/c_interface.abi")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/exports.map" "{ global: xtune_*; local: *; };\n")
execute_process(COMMAND "${CXX}" -std=c++20 -g -O0 -fPIC -shared -I "${XTUNE}/include" -I "${XTUNE}/src" "${XTUNE}/src/api/c_interface.cpp"
                        -o "${WORK}/libc_interface.so" "-Wl,--version-script=${WORK}/exports.map" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND abidw --header-file "${XTUNE}/include/xtune/xtune.h" --drop-private-types --exported-interfaces-only
                        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-architecture --type-id-style hash
                        "${WORK}/libc_interface.so" OUTPUT_VARIABLE interface COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "${XTUNE}/" "" interface "${interface}")
file(WRITE "${WORK}/c_interface.abi" "${interface}")
if(RECORD)
  configure_file("${WORK}/c_interface.abi" "${recorded}" COPYONLY)
  return()
endif()
execute_process(COMMAND abidiff --no-added-syms "${recorded}" "${WORK}/c_interface.abi" OUTPUT_VARIABLE report RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The C interface has changed, and programs that were linked with an earlier version break:\n${report}")
endif()
