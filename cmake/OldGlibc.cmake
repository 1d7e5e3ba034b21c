# What is shipped runs with glibc 2.28 (Debian 10, RHEL 8) and later, whatever glibc this machine has, and needs no
# library of the C++ compiler's.
#
#   vramspan_shipped(TARGET)   links it so
#   vramspan_finish_shipped()  makes the target `shipped` of all of them, and tests: that they are so, that the test
#                              would find one that is not, and that they are packed alike twice
#
# Headers and archives are this machine's. Only what the linker finds as the C library is made for the purpose
# (old_glibc/stubs.sh). What the archives and headers call of a newer glibc is in old_glibc/*.cc.
set(VRAMSPAN_GLIBC 2.28 CACHE STRING "The oldest glibc that what is shipped runs with")

# A sanitizer's runtime is in the program and must share its C++ library.
if(VRAMSPAN_SANITIZE)
  function(vramspan_shipped target)
  endfunction()
  function(vramspan_finish_shipped)
  endfunction()
  return()
endif()

add_library(vramspan_old_glibc STATIC
  cmake/old_glibc/random.cc
  cmake/old_glibc/start.cc
  cmake/old_glibc/stat.cc
  cmake/old_glibc/threads.cc
  cmake/old_glibc/unwinding.cc)
vramspan_target(vramspan_old_glibc)
# Before main, and while what this file is about is not there yet.
target_compile_options(vramspan_old_glibc PRIVATE -fno-stack-protector -fno-exceptions)

set(VRAMSPAN_STUBS "${PROJECT_BINARY_DIR}/old_glibc")
set(script "${PROJECT_SOURCE_DIR}/cmake/old_glibc/stubs.sh")
add_custom_command(OUTPUT "${VRAMSPAN_STUBS}/libc.so"
  COMMAND "${script}" ${VRAMSPAN_GLIBC} "${VRAMSPAN_STUBS}" $<TARGET_FILE:vramspan_old_glibc>
    ${CMAKE_CXX_COMPILER}
  DEPENDS "${script}" vramspan_old_glibc
  COMMENT "Making libraries to link against for glibc ${VRAMSPAN_GLIBC}" VERBATIM)
add_custom_target(vramspan_stubs DEPENDS "${VRAMSPAN_STUBS}/libc.so")
unset(script)

function(vramspan_shipped target)
  add_dependencies(${target} vramspan_stubs)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/old_glibc/own_unwinder.cc")
  endif()
  # First of all folders: the compiler names the system's behind it.
  target_link_options(${target} PRIVATE "SHELL:-L \"${VRAMSPAN_STUBS}\""
    -static-libstdc++ -static-libgcc -Wl,-z,defs)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${VRAMSPAN_STUBS}/libc.so")
  set_property(GLOBAL APPEND PROPERTY VRAMSPAN_SHIPPED ${target})
endfunction()

function(vramspan_finish_shipped)
  get_property(targets GLOBAL PROPERTY VRAMSPAN_SHIPPED)
  add_custom_target(shipped DEPENDS ${targets} vramspan_man)
  if(NOT VRAMSPAN_BUILD_TESTS)
    return()
  endif()
  set(files ${targets})
  list(TRANSFORM files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  set(here "${PROJECT_SOURCE_DIR}/cmake/old_glibc")
  add_test(NAME shipped_glibc COMMAND "${here}/check.sh" ${VRAMSPAN_GLIBC} ${files})
  add_test(NAME shipped_glibc_check COMMAND "${here}/check_test.sh" "${VRAMSPAN_STUBS}" ${CMAKE_CXX_COMPILER})
  add_test(NAME packages COMMAND "${PROJECT_SOURCE_DIR}/tools/package/packages_test.sh" "${PROJECT_BINARY_DIR}")
  set_tests_properties(packages PROPERTIES LABELS slow TIMEOUT 300)
  add_test(NAME packages_tried COMMAND "${PROJECT_SOURCE_DIR}/tools/package/try.sh")
  set_tests_properties(packages_tried PROPERTIES LABELS nightly TIMEOUT 3600)
endfunction()
