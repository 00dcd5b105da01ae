# Compiles the documentation's whole programs, as they stand: cmake -DDOC=... -DINCLUDE=... -DCXX=... -DWORK=... -P
file(READ "${DOC}" text)
string(FIND "${text}" "```cpp\n#include" start)
string(SUBSTRING "${text}" ${start} -1 text)
string(FIND "${text}" "\n" end)
string(SUBSTRING "${text}" ${end} -1 text)
string(FIND "${text}" "\n```" end)
string(SUBSTRING "${text}" 0 ${end} program)
file(WRITE "${WORK}/snippet.cpp" "${program}\n")
execute_process(COMMAND "${CXX}" -std=c++20 -Wall -Wextra -Wconversion -Wpedantic -Werror -fsyntax-only "-I${INCLUDE}"
                        "${WORK}/snippet.cpp" RESULT_VARIABLE code ERROR_VARIABLE log)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${DOC}: its program does not compile:\n${log}")
endif()
