# Where VRAMSPAN_GLIBC is set, what is packed runs with that glibc and later, whatever glibc this machine has, and needs
# no library of the C++ compiler's. The presets `package` set it. Otherwise it is linked as any program is here.
#
#   vramspan_shipped(TARGET)   links the compiler's libraries into the target, and packs it
#   vramspan_packed(TARGET)    packs it
#   vramspan_finish_shipped()  makes the target `shipped` of all that is packed, and tests
#
# Headers and archives are this machine's. Only what the linker finds as the C library is made for the purpose
# (old_glibc/stubs.sh). What the archives and headers call of a newer glibc is in old_glibc/*.cc.
set(VRAMSPAN_GLIBC "" CACHE STRING "The oldest glibc that what is packed runs with, as 2.28; empty for this machine's")

# A sanitizer's runtime is in the program and must share its C++ library.
if(VRAMSPAN_SANITIZE)
  function(vramspan_shipped target)
  endfunction()
  function(vramspan_packed target)
  endfunction()
  function(vramspan_finish_shipped)
  endfunction()
  return()
endif()

if(VRAMSPAN_GLIBC)
  if(NOT VRAMSPAN_GLIBC MATCHES "^2[.][0-9]+$")
    message(FATAL_ERROR "VRAMSPAN_GLIBC is '${VRAMSPAN_GLIBC}'; set it to a version of glibc, as 2.28, or to nothing")
  endif()
  # The start of a program changed there (old_glibc/start.cc).
  if(NOT VRAMSPAN_GLIBC VERSION_LESS 2.34)
    message(FATAL_ERROR "VRAMSPAN_GLIBC is ${VRAMSPAN_GLIBC}; set it to a version before 2.34, or to nothing")
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
endif()

function(vramspan_shipped target)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,defs)
  vramspan_packed(${target})
endfunction()

function(vramspan_packed target)
  set_property(GLOBAL APPEND PROPERTY VRAMSPAN_SHIPPED ${target})
  if(NOT VRAMSPAN_GLIBC)
    return()
  endif()
  add_dependencies(${target} vramspan_stubs)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND NOT target STREQUAL "vramspan_preload")
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/runtime/preload/unwinder.cc")
  endif()
  # First of all folders: the compiler names the system's behind it.
  target_link_options(${target} PRIVATE "SHELL:-L \"${VRAMSPAN_STUBS}\""
    -static-libstdc++ -static-libgcc -Wl,-z,defs)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${VRAMSPAN_STUBS}/libc.so")
endfunction()

function(vramspan_finish_shipped)
  get_property(targets GLOBAL PROPERTY VRAMSPAN_SHIPPED)
  add_custom_target(shipped DEPENDS ${targets} vramspan_man vramspan_completions)
  if(NOT VRAMSPAN_BUILD_TESTS)
    return()
  endif()
  set(here "${PROJECT_SOURCE_DIR}/cmake/old_glibc")
  if(VRAMSPAN_GLIBC)
    set(files ${targets})
    list(TRANSFORM files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    add_test(NAME shipped_glibc COMMAND "${here}/check.sh" ${VRAMSPAN_GLIBC} ${files})
  endif()
  add_test(NAME shipped_glibc_check COMMAND "${here}/check_test.sh" ${CMAKE_CXX_COMPILER})
  add_test(NAME packages COMMAND "${PROJECT_SOURCE_DIR}/tools/package/packages_test.sh" "${PROJECT_BINARY_DIR}")
  set_tests_properties(packages PROPERTIES LABELS slow TIMEOUT 300)
  add_test(NAME packages_tried COMMAND "${PROJECT_SOURCE_DIR}/tools/package/try.sh")
  set_tests_properties(packages_tried PROPERTIES LABELS nightly TIMEOUT 3600)
endfunction()
