# Compares the C interface with its recorded form by abidiff: nothing may change. Where functions were
# added, or structs that say their size grew at the end, record the new form.
#   cmake -DXTUNE=SOURCES -DWORK=DIR -DCXX=g++ -P abi.cmake          RECORD=ON: writes the recorded form
set(recorded "${CMAKE_CURRENT_LIST_DIR}/c_interface.abi")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/exports.map" "{ global: xtune_*; local: *; };\n")
# abidiff compares only types that functions use, and these take constants as int32_t. So one more takes the enums.
file(READ "${XTUNE}/include/xtune/xtune.h" header)
string(REGEX MATCHALL "enum xtune_[a-z]+" constants "${header}")
list(JOIN constants "," constants)
file(WRITE "${WORK}/interface.cpp" "#include \"${XTUNE}/src/api/c_interface.cpp\"\nextern \"C\" void xtune_constants(${constants}) {}\n")
execute_process(COMMAND "${CXX}" -std=c++20 -g -O0 -fPIC -shared -I "${XTUNE}/include" -I "${XTUNE}/src" "${WORK}/interface.cpp"
                        -o "${WORK}/libc_interface.so" "-Wl,--version-script=${WORK}/exports.map" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND abidw --header-file "${XTUNE}/include/xtune/xtune.h" --drop-private-types --exported-interfaces-only
                        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-architecture --type-id-style hash
                        "${WORK}/libc_interface.so" OUTPUT_VARIABLE interface COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "(${XTUNE}|${WORK})/" "" interface "${interface}")
file(WRITE "${WORK}/c_interface.abi" "${interface}")
if(RECORD)
  configure_file("${WORK}/c_interface.abi" "${recorded}" COPYONLY)
  return()
endif()
execute_process(COMMAND abidiff "${recorded}" "${WORK}/c_interface.abi" OUTPUT_VARIABLE report RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The C interface has changed. Record what is only added; else programs that were linked with an earlier "
                      "version break:\n${report}")
endif()
