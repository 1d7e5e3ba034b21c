// The rules that the driver keeps, tried on the driver that VRAMSPAN_DRIVER names or on the
// machine's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/conformance/child.h"
#include "tests/conformance/gpu_only.h"

int main(int argc, char** argv) {
  // One rule is about kernels that are loaded when they are first launched.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  const int role = vramspan::conformance::RunRole(argc, argv);
  if (role >= 0) return role;
  ::testing::InitGoogleMock(&argc, argv);
  // Not listed: a list must not depend on the driver that is there when it is made.
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  try {
    vramspan::conformance::RegisterHopperTests();
    vramspan::conformance::RegisterCuptiTests();
    vramspan::conformance::RegisterPeerTests();
    vramspan::conformance::RegisterSharedDeviceTests();
  } catch (const std::exception& error) {
    // No driver: every rule fails with this reason.
    fprintf(stderr, "conformance: %s\n", error.what());
  }
  return RUN_ALL_TESTS();
}
