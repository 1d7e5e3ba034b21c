#ifndef VRAMSPAN_TESTS_CONFORMANCE_HOPPER_IMAGE_H_
#define VRAMSPAN_TESTS_CONFORMANCE_HOPPER_IMAGE_H_

// Kernels for GPUs of 9.0 and later, where this was built with nvcc.
namespace vramspan::conformance {

// What cuModuleLoadData takes, or null. Lasts for the life of the program.
const void* HopperImage();

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_HOPPER_IMAGE_H_
