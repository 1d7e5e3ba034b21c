# Headers that are compiled once for many targets, in builds that are made once (VRAMSPAN_UNITY) and have no
# sanitizer, which some files are to be without.
#
#   vramspan_precompiled(NAME)   the headers for this folder, cmake/precompiled/KIND.h
#
# The compiler takes them only for the flags that they were compiled with. So files and targets with flags of
# their own go without. Preset `dev` has none: each file is compiled by itself there, with what it includes.

set(VRAMSPAN_PRECOMPILE OFF)
if(VRAMSPAN_UNITY AND VRAMSPAN_SANITIZE STREQUAL "")
  set(VRAMSPAN_PRECOMPILE ON)
endif()

function(vramspan_make_precompiled kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;FLAGS")
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
  target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/precompiled/${kind}.h")
endfunction()

function(vramspan_precompiled name)
  if(NOT VRAMSPAN_PRECOMPILE)
    return()
  endif()
  set(core absl::status absl::statusor absl::str_format absl::strings absl::flat_hash_map absl::flat_hash_set
    absl::algorithm_container absl::function_ref absl::span)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  if(folder MATCHES "^tests")
    set(kind tests)
    vramspan_make_precompiled(tests DEPS ${core} GTest::gmock FLAGS ${VRAMSPAN_TEST_FLAGS})
  elseif(folder MATCHES "^tools/simcuda")
    set(kind simcuda)
    vramspan_make_precompiled(simcuda DEPS vramspan_cuda_headers)
  elseif(folder MATCHES "^tools")
    set(kind tools)
    vramspan_make_precompiled(tools DEPS ${core} nlohmann_json::nlohmann_json)
  elseif(folder MATCHES "^runtime/preload")
    set(kind preload)
    vramspan_make_precompiled(preload DEPS ${core} vramspan_cuda_headers)
  else()
    set(kind core)
    vramspan_make_precompiled(core DEPS ${core})
  endif()
  target_precompile_headers(${name} REUSE_FROM vramspan_precompiled_${kind})
  # Libraries and programs take the same.
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()
