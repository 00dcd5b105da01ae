# SPDX-License-Identifier: Apache-2.0
# Texts of files as C++ sources of a target.

# The file's text as a literal. A change of the file configures again.
function(xtune_literal variable path)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  file(READ "${path}" body)
  set(${variable} "R\"__xtune__(${body})__xtune__\"" PARENT_SCOPE)
endfunction()

# Adds the text to the target as a source of that name; leaves the file as it is where it has that text.
function(xtune_generated_source target name text)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(before "")
  if(EXISTS "${source}")
    file(READ "${source}" before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE "${source}" "${text}")
  endif()
  target_sources(${target} PRIVATE "${source}")
endfunction()

# xtune_embed(FOLDER FILE...): a source file of xtune_backends that holds the files' texts as
# xtune::FOLDER::runtime_files (backends/runtime_files.hpp), by their names.
function(xtune_embed folder)
  set(text "// Texts of the files in runtime/${folder}; generated.\n#include \"backends/runtime_files.hpp\"\n\nnamespace xtune::${folder} {\n
extern const backend::RuntimeFile runtime_files[];
extern const int runtime_file_count;
const backend::RuntimeFile runtime_files[] = {\n")
  foreach(path IN LISTS ARGN)
    get_filename_component(name "${path}" NAME)
    xtune_literal(body "${path}")
    string(APPEND text "{\"${name}\", ${body}},\n")
  endforeach()
  list(LENGTH ARGN count)
  string(APPEND text "};\nconst int runtime_file_count = ${count};\n\n}  // namespace xtune::${folder}\n")
  xtune_generated_source(xtune_backends runtime_files.cpp "${text}")
endfunction()

# xtune_embed_texts(TARGET HEADER NAMESPACE FILE...): the text of each file of the calling directory as NAMESPACE::file_ext, a
# std::string_view that the header declares.
function(xtune_embed_texts target header namespace)
  set(text "// Texts of files; generated.\n#include \"${header}\"\n\nnamespace ${namespace} {\n\nusing namespace std::literals;\n\n")
  foreach(file IN LISTS ARGN)
    xtune_literal(body "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    string(MAKE_C_IDENTIFIER "${file}" name)
    string(APPEND text "const std::string_view ${name} = ${body}sv;\n")
  endforeach()
  xtune_generated_source(${target} texts.cpp "${text}\n}  // namespace ${namespace}\n")
endfunction()

# xtune_embed_list(TARGET HEADER LIST FILE...): names and texts of the files as LIST, a vector of pairs of std::string_view that
# the header declares.
function(xtune_embed_list target header list)
  set(text "// Texts of files; generated.\n#include \"${header}\"\n\nconst std::vector<std::pair<std::string_view, std::string_view>> ${list}{\n")
  foreach(file IN LISTS ARGN)
    xtune_literal(body "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    get_filename_component(name "${file}" NAME)
    string(APPEND text "{\"${name}\", ${body}},\n")
  endforeach()
  xtune_generated_source(${target} texts.cpp "${text}};\n")
endfunction()
