# What a program links, and how it is installed.
#
#   vramspan_shared (vramspan::vramspan)   libvramspan.so: the runtime's static libraries and abseil inside,
#                                          nothing exported but the C interface
#   cmake --install BUILD --component library
#                                          the library, the headers, vramspanConfig.cmake, vramspan.pc

include_guard(GLOBAL)
if(NOT TARGET vramspan_api)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The objects of the interface itself, not its archive: --exclude-libs hides what comes out of archives.
add_library(vramspan_shared SHARED $<TARGET_OBJECTS:vramspan_api>)
add_library(vramspan::vramspan ALIAS vramspan_shared)
set_target_properties(vramspan_shared PROPERTIES
  OUTPUT_NAME vramspan
  EXPORT_NAME vramspan
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/vramspan.map")
target_include_directories(vramspan_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(vramspan_shared
  PRIVATE vramspan_api
  INTERFACE $<BUILD_INTERFACE:vramspan_cuda_headers> $<INSTALL_INTERFACE:vramspan::cuda_headers>)
# Its thread and its thread-local data outlive a dlclose, so it is never unloaded.
target_link_options(vramspan_shared PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/vramspan.map
  -Wl,--exclude-libs,ALL
  -Wl,-z,nodelete)
vramspan_shipped(vramspan_shared)

install(TARGETS vramspan_shared EXPORT vramspanTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/vramspan"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vramspan)
install(EXPORT vramspanTargets NAMESPACE vramspan:: DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/vramspanConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/package/vramspanConfig.cmake" INSTALL_DESTINATION ${package_dir})
# Below 1.0 a minor version may break.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/vramspanConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/vramspanConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/vramspanConfigVersion.cmake"
  DESTINATION ${package_dir} COMPONENT library)

# Relative to the file itself, so that an installed tree can be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix "/prefix/${pc_dir}" "/prefix")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/vramspan.pc.in"
  "${PROJECT_BINARY_DIR}/package/vramspan.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/vramspan.pc"
  DESTINATION ${pc_dir} COMPONENT library)
unset(package_dir)
unset(pc_dir)
unset(pc_prefix)

if(VRAMSPAN_BUILD_TESTS AND VRAMSPAN_SANITIZE STREQUAL "")
  add_test(NAME library_exports
    COMMAND "${PROJECT_SOURCE_DIR}/cmake/check_library.sh" $<TARGET_FILE:vramspan_shared>
      "${PROJECT_SOURCE_DIR}/include/vramspan/vramspan.h"
      "${PROJECT_SOURCE_DIR}/include/vramspan/frameworks.h"
      "${PROJECT_SOURCE_DIR}/include/vramspan/process.h")
endif()
