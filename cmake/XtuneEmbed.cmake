# SPDX-License-Identifier: Apache-2.0
# xtune_embed(FOLDER FILE...): a source file of xtune_backends that holds the files' texts as
# xtune::FOLDER::runtime_files (backends/runtime_files.hpp), by their names.
function(xtune_embed folder)
  set(text "// Texts of the files in runtime/${folder}; generated.\n#include \"backends/runtime_files.hpp\"\n\nnamespace xtune::${folder} {\n
extern const backend::RuntimeFile runtime_files[];
extern const int runtime_file_count;
const backend::RuntimeFile runtime_files[] = {\n")
  foreach(path IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    get_filename_component(name "${path}" NAME)
    file(READ "${path}" body)
    string(APPEND text "{\"${name}\", R\"__xtune__(${body})__xtune__\"},\n")
  endforeach()
  list(LENGTH ARGN count)
  string(APPEND text "};\nconst int runtime_file_count = ${count};\n\n}  // namespace xtune::${folder}\n")
  set(embedded "${CMAKE_CURRENT_BINARY_DIR}/runtime_files.cpp")
  set(before "")
  if(EXISTS "${embedded}")
    file(READ "${embedded}" before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE "${embedded}" "${text}")
  endif()
  target_sources(xtune_backends PRIVATE "${embedded}")
endfunction()
