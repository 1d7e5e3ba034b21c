# Tests of libcupti.so.13, and of libraries that the driver injects.
vramspan_add_library(simcuda_cupti_fixture SOURCES cupti_fixture.cc
  DEPS simcuda_fixture test_kernels vramspan_cuda_headers GTest::gtest ${CMAKE_DL_LIBS})
target_compile_definitions(simcuda_cupti_fixture PRIVATE
  SIMCUDA_TEST_CUPTI="$<TARGET_FILE:simcuda_cupti>")
foreach(test cupti cupti_calls cupti_subscribe)
  vramspan_add_test(simcuda_${test}_test SOURCES ${test}_test.cc
    DEPS simcuda_cupti_fixture simcuda LABELS simcuda)
endforeach()
add_test(NAME simcuda_cupti_exports
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_exports.sh
    $<TARGET_FILE:simcuda_cupti> libcupti.so.13 "cupti[A-Z]")
set_tests_properties(simcuda_cupti_exports PROPERTIES LABELS simcuda)

add_library(simcuda_injected_library MODULE injected_library.cc)
vramspan_target(simcuda_injected_library)
target_link_libraries(simcuda_injected_library PRIVATE simcuda vramspan_cuda_headers)
vramspan_add_test(simcuda_injection_test SOURCES injection_test.cc
  DEPS simcuda vramspan_cuda_headers LABELS simcuda)
add_dependencies(simcuda_injection_test simcuda_injected_library)
target_compile_definitions(simcuda_injection_test PRIVATE
  SIMCUDA_TEST_INJECTED_LIBRARY="$<TARGET_FILE:simcuda_injected_library>")
