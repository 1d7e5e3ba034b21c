# Headers that are compiled once for many targets, in builds that are made once (VRAMSPAN_UNITY) and have no
# sanitizer, which some files are to be without.
#
#   vramspan_precompiled(NAME [OPTIMISED])   the headers for this folder, cmake/precompiled/KIND.h
#     OPTIMISED   for what stands in tests and has no flags of tests
#
# The compiler takes them only for the flags that they were compiled with. So files and targets with flags of
# their own go without. Preset `dev` has none: each file is compiled by itself there, with what it includes.

set(VRAMSPAN_PRECOMPILE OFF)
if(VRAMSPAN_UNITY AND VRAMSPAN_SANITIZE STREQUAL "")
  set(VRAMSPAN_PRECOMPILE ON)
endif()

function(vramspan_make_precompiled kind header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEPS;FLAGS")
  set(name vramspan_precompiled_${kind})
  if(TARGET ${name})
    return()
  endif()
  # They belong to a target that compiles something.
  set(empty "${CMAKE_CURRENT_BINARY_DIR}/empty.cc")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "")
  add_library(${name} OBJECT "${empty}")
  vramspan_target(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} Threads::Threads)
  target_compile_options(${name} PRIVATE ${arg_FLAGS})
  target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/precompiled/${header}.h")
endfunction()

function(vramspan_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED" "" "")
  vramspan_reject_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT VRAMSPAN_PRECOMPILE)
    return()
  endif()
  set(core absl::status absl::statusor absl::str_format absl::strings absl::flat_hash_map absl::flat_hash_set
    absl::algorithm_container absl::function_ref absl::span)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  if(folder MATCHES "^tests")
    find_package(nlohmann_json REQUIRED)
    set(deps ${core} GTest::gmock nlohmann_json::nlohmann_json)
    if(arg_OPTIMISED)
      set(kind tests_optimised)
      vramspan_make_precompiled(tests_optimised tests DEPS ${deps})
    else()
      set(kind tests)
      vramspan_make_precompiled(tests tests DEPS ${deps} FLAGS ${VRAMSPAN_TEST_FLAGS})
    endif()
    # As GoogleTest's target has it; programs without GoogleTest take the same headers.
    target_compile_definitions(${name} PRIVATE GTEST_HAS_PTHREAD=1)
  elseif(folder MATCHES "^tools/simcuda")
    set(kind simcuda)
    vramspan_make_precompiled(simcuda simcuda DEPS vramspan_cuda_headers)
  elseif(folder MATCHES "^tools")
    find_package(nlohmann_json REQUIRED)
    set(kind tools)
    vramspan_make_precompiled(tools tools DEPS ${core} nlohmann_json::nlohmann_json)
  elseif(folder MATCHES "^runtime/preload")
    set(kind preload)
    vramspan_make_precompiled(preload preload DEPS ${core} vramspan_cuda_headers)
  else()
    set(kind core)
    vramspan_make_precompiled(core core DEPS ${core})
  endif()
  target_precompile_headers(${name} REUSE_FROM vramspan_precompiled_${kind})
  # Libraries and programs take the same.
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()
