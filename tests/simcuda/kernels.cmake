# Tests of images, modules, launches, capture and graphs: they run the kernels of tests/kernels.
set(modules "${PROJECT_SOURCE_DIR}/tools/simcuda/modules")

add_library(simcuda_foreign_library MODULE foreign_library.cc)
vramspan_target(simcuda_foreign_library)

foreach(test capture graph graph_update launch module old_launch peer)
  vramspan_add_test(simcuda_${test}_test SOURCES ${test}_test.cc
    DEPS simcuda_fixture simcuda test_kernels LABELS simcuda)
endforeach()
vramspan_add_test(simcuda_image_test
  SOURCES image_test.cc "${modules}/elf_image.cc" "${modules}/elf_validate.cc"
  DEPS simcuda_fixture simcuda test_kernels LABELS simcuda)
add_dependencies(simcuda_image_test simcuda_foreign_library)
target_compile_definitions(simcuda_image_test PRIVATE
  SIMCUDA_TEST_FOREIGN_LIBRARY="$<TARGET_FILE:simcuda_foreign_library>")
vramspan_add_test(simcuda_eager_test SOURCES eager_test.cc
  DEPS simcuda_fixture simcuda test_kernels LABELS simcuda
  ENVIRONMENT CUDA_MODULE_LOADING=EAGER)

vramspan_add_kernels(NAME array_kernels SOURCE array_kernels.cu)
vramspan_add_test(simcuda_array_object_test SOURCES array_object_test.cc
  DEPS simcuda_fixture simcuda array_kernels LABELS simcuda)

# What a kernel must not use does not compile for the host, and the message says why.
foreach(feature shared barrier)
  add_test(NAME simcuda_kernel_without_${feature}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -x c++ -fsyntax-only "-I${PROJECT_SOURCE_DIR}"
      -include tools/simcuda/kernel.h "${CMAKE_CURRENT_SOURCE_DIR}/unsupported_${feature}.cu")
  set_tests_properties(simcuda_kernel_without_${feature} PROPERTIES LABELS simcuda
    PASS_REGULAR_EXPRESSION "error: .*simcuda.*not supported")
endforeach()
