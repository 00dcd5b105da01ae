# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies besides the program and the library: kernels, specs, batch systems, the modulefile,
# documentation, examples, manual pages and shell completion.
include(GNUInstallDirs)
install(TARGETS xtune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY kernels configs DESTINATION ${CMAKE_INSTALL_DATADIR}/xtune)
# The program has them in itself; a site copies one for `xtune submit --scheduler FILE.toml`.
install(DIRECTORY src/cluster/systems/ DESTINATION ${CMAKE_INSTALL_DATADIR}/xtune/schedulers)
# The scripts of `xtune import kbench`, `xtune store export` and `xtune export` (src/cli/script.cpp).
foreach(script __init__ __main__ _text constraints kbench headers vllm tables export)
  install(FILES "python/xtune/compat/${script}.py" DESTINATION ${CMAKE_INSTALL_DATADIR}/xtune/compat)
endforeach()
install(DIRECTORY python/xtune/compat/exported DESTINATION ${CMAKE_INSTALL_DATADIR}/xtune/compat)
configure_file(packaging/lmod/xtune.lua.in xtune.lua @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/xtune.lua" DESTINATION ${CMAKE_INSTALL_DATADIR}/xtune/modulefiles/xtune
        RENAME ${PROJECT_VERSION}.lua)

# An application that has xtune as a subdirectory installs its own documentation.
if(PROJECT_IS_TOP_LEVEL)
  # The directories keep their names, so that the links between the documents work.
  install(FILES README.md CHANGELOG.md LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES packaging/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES packaging/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging)
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
          PATTERN "*.svg")
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

  # Files that the program writes about itself when it is built (src/cli/help_command.cpp).
  get_target_property(written xtune BINARY_DIR)
  string(APPEND written "/share")
  install(DIRECTORY "${written}/man/" DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(DIRECTORY "${written}/bash-completion" "${written}/fish" DESTINATION ${CMAKE_INSTALL_DATADIR})
  # Debian's zsh searches the functions of packages in another directory than those of a local installation.
  set(XTUNE_ZSH_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING "Where zsh's completion is installed")
  mark_as_advanced(XTUNE_ZSH_DIR)
  install(DIRECTORY "${written}/zsh/site-functions/" DESTINATION ${XTUNE_ZSH_DIR})
endif()

if(XTUNE_STATIC)
  # libxtune.so takes the shared library where an archive is not position independent: both are installed side by side.
  get_property(shared_paths GLOBAL PROPERTY XTUNE_SHARED_PATHS)
  if(shared_paths AND TARGET xtune_library)
    set_target_properties(xtune_library PROPERTIES INSTALL_RPATH "$ORIGIN")
    foreach(path IN LISTS shared_paths)
      file(GLOB versioned "${path}.*")
      install(FILES ${versioned} DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endforeach()
  endif()
  # The licences of libraries that are linked into the program.
  foreach(package libuv1-dev libcrypto++-dev zlib1g-dev libfmt-dev libtomlplusplus-dev libcli11-dev
                  nlohmann-json3-dev libsqlite3-dev libeigen3-dev libboost-context-dev libre2-dev)
    if(EXISTS "/usr/share/doc/${package}/copyright")
      file(REAL_PATH "/usr/share/doc/${package}/copyright" notice)
      install(FILES "${notice}" DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME ${package}.txt)
    endif()
  endforeach()
endif()
