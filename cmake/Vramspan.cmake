# How this project's own targets are made.
#
#   vramspan_add_subdirectory(FOLDER)                add_subdirectory, where the folder is a target folder
#   vramspan_add_library(NAME [SOURCES...] [DEPS...])
#                                                    static, position independent; INTERFACE without sources
#   vramspan_add_executable(NAME SOURCES... [DEPS...])
#   vramspan_add_test(NAME SOURCES... [DEPS...] [LABELS...] [ENVIRONMENT VAR=VALUE...] [TIMEOUT seconds]
#                     [ALONE] [OPTIMISED] [WHOLE] [MUCH FILES...])
#                                                    a GoogleTest program with gmock's main
#   vramspan_add_test_library(NAME SOURCES... [DEPS...])
#                                                    what several test programs share
#   vramspan_few_units(NAME [NOT REGEX])             with VRAMSPAN_UNITY: several of its files at a time, with
#                                                    precompiled headers
#   vramspan_target(NAME)                            this project's flags, for targets made otherwise

# What compiles without a warning here compiles without one under both compilers.
add_library(vramspan_flags INTERFACE)
target_compile_options(vramspan_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers
  $<$<BOOL:${VRAMSPAN_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # The sanitizers' instrumentation makes gcc see uninitialised uses where there are none.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${VRAMSPAN_SANITIZE}>>:-Wno-maybe-uninitialized>)
target_compile_definitions(vramspan_flags INTERFACE
  $<$<BOOL:${VRAMSPAN_DCHECK}>:VRAMSPAN_DCHECK=1>)

function(vramspan_add_subdirectory folder)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    add_subdirectory(${folder})
  endif()
endfunction()

function(vramspan_target name)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:vramspan_flags>)
endfunction()

function(vramspan_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  vramspan_reject_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    vramspan_target(${name})
    target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
    target_link_libraries(${name} PUBLIC ${arg_DEPS} Threads::Threads)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
    target_link_libraries(${name} INTERFACE ${arg_DEPS} Threads::Threads)
  endif()
endfunction()

# For targets whose files mostly compile the same headers. Files whose names match NOT stay by themselves:
# they have names of their own that others in their unit have as well.
function(vramspan_few_units name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NOT" "")
  vramspan_reject_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT VRAMSPAN_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  vramspan_precompiled(${name})
  # A file's own types in a class that only this file defines: gcc takes the file for a header here.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  if(arg_NOT)
    get_target_property(sources ${name} SOURCES)
    list(FILTER sources INCLUDE REGEX "${arg_NOT}")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

function(vramspan_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  vramspan_reject_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SOURCES})
  vramspan_target(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# What runs once is not worth an optimiser; what it tests is. So files from outside tests/ are compiled as ever.
function(vramspan_test_code name)
  target_compile_options(${name} PRIVATE ${VRAMSPAN_TEST_FLAGS})
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE)
    cmake_path(IS_PREFIX VRAMSPAN_TESTS_DIR "${source}" inside)
    if(NOT inside AND VRAMSPAN_TEST_FLAGS)
      separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_RELEASE}")
      set_source_files_properties("${source}" PROPERTIES
        COMPILE_OPTIONS "${flags}" SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(vramspan_add_test_library name)
  if(VRAMSPAN_BUILD_TESTS)
    vramspan_add_library(${name} ${ARGN})
    vramspan_few_units(${name})
    vramspan_test_code(${name})
  endif()
endfunction()

# Every test runs on the simulated driver unless the caller's ENVIRONMENT names another. In the sanitizer
# builds tools/test.sh leaves out the labels `slow` and `noasan` or `notsan`.
#   ALONE      nothing runs beside it
#   OPTIMISED  its own code is to be fast
#   MUCH       of its files, those that compute much: slightly optimised
#   WHOLE      one test of ctest: the program's tests need no process each, and it has many
# With VRAMSPAN_UNITY several files are one unit: what they have to themselves differs in name.
function(vramspan_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE;OPTIMISED;WHOLE" "TIMEOUT" "SOURCES;MUCH;DEPS;LABELS;ENVIRONMENT")
  vramspan_reject_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT VRAMSPAN_BUILD_TESTS)
    return()
  endif()
  vramspan_add_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} GTest::gmock_main)
  if(arg_OPTIMISED)
    vramspan_precompiled(${name} OPTIMISED)
  else()
    vramspan_few_units(${name})
    vramspan_test_code(${name})
  endif()
  if(arg_MUCH AND VRAMSPAN_TEST_FLAGS)
    set_source_files_properties(${arg_MUCH} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(VRAMSPAN_LLD AND VRAMSPAN_SANITIZE STREQUAL "")
    target_link_options(${name} PRIVATE -fuse-ld=lld)
  endif()
  if(TARGET simcuda)
    add_dependencies(${name} simcuda)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # ThreadSanitizer takes ten times as long and more.
  if(VRAMSPAN_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  set(environment
    "VRAMSPAN_DRIVER=${PROJECT_BINARY_DIR}/lib/simcuda/libcuda.so.1"
    # Tests of tracing ask for it.
    "VRAMSPAN_TRACER=off"
    # What `vramspan info` found on this machine is not for tests to decide by.
    "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/no-cache"
    # Nothing is left where the user's programs have their records. Tests of `vramspan top` ask for it.
    "VRAMSPAN_TOP=off"
    # Nor is code read beside each program, or beside none, as the machine's first process is. Tests of that ask for it.
    "VRAMSPAN_READ=off"
    "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions='${PROJECT_SOURCE_DIR}/tests/tsan_suppressions.txt'"
    ${arg_ENVIRONMENT})
  if(VRAMSPAN_TEST_WRAPPER)
    set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR "${VRAMSPAN_TEST_WRAPPER}")
  endif()
  if(arg_WHOLE)
    # What takes longest starts first.
    add_test(NAME ${name} COMMAND ${VRAMSPAN_TEST_WRAPPER} $<TARGET_FILE:${name}>)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST 1000 RUN_SERIAL ${arg_ALONE}
      LABELS "${arg_LABELS}" ENVIRONMENT "${environment}")
    set_property(GLOBAL APPEND PROPERTY VRAMSPAN_WHOLE_TESTS "${name}=$<TARGET_FILE:${name}>")
    return()
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}:"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_ALONE})

  # gtest_discover_tests flattens lists in its PROPERTIES, so properties that are lists are set by a script
  # which ctest reads after the discovery.
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [==[
foreach(test IN LISTS @name@_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS [=[@arg_LABELS@]=] ENVIRONMENT [=[@environment@]=])
endforeach()
]==])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

function(vramspan_reject_unparsed name unparsed)
  if(unparsed)
    message(FATAL_ERROR "${name}: not understood: ${unparsed}")
  endif()
endfunction()

set(VRAMSPAN_TESTS_DIR "${PROJECT_SOURCE_DIR}/tests")
set(VRAMSPAN_TEST_FLAGS "" CACHE STRING "Flags that the tests' own files are compiled with, after all others")
if(VRAMSPAN_BUILD_TESTS)
  find_program(VRAMSPAN_LLD ld.lld DOC "Links the test programs, where it is found")
  include(GoogleTest)
endif()
