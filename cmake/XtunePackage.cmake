# SPDX-License-Identifier: Apache-2.0
# The static .tar.gz, by CPack from the preset package-archive (tools/release).
set(CPACK_PACKAGE_NAME xtune)
set(CPACK_PACKAGE_VENDOR xtune)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME "xtune-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
include(CPack)
