# What the tests' programs share or open.
vramspan_add_test_library(simcuda_fixture
  SOURCES sim_fixture.cc
  DEPS vramspan_cuda_headers GTest::gtest)
vramspan_add_test_library(simcuda_cupti_fixture
  SOURCES cupti_fixture.cc
  DEPS simcuda_fixture test_kernels vramspan_cuda_headers GTest::gtest ${CMAKE_DL_LIBS})
target_compile_definitions(simcuda_cupti_fixture PRIVATE
  SIMCUDA_TEST_CUPTI="$<TARGET_FILE:simcuda_cupti>")

vramspan_add_kernels(NAME array_kernels SOURCE array_kernels.cu)

add_library(simcuda_foreign_library MODULE foreign_library.cc)
vramspan_target(simcuda_foreign_library)

add_library(simcuda_injected_library MODULE injected_library.cc)
vramspan_target(simcuda_injected_library)
target_link_libraries(simcuda_injected_library PRIVATE simcuda vramspan_cuda_headers)
