// The fixture of the rules: the primary context is current, and every test leaves it idle and
// sound.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_FIXTURE_H_
#define VRAMSPAN_TESTS_CONFORMANCE_FIXTURE_H_

#include <gtest/gtest.h>

#include "tests/conformance/chunks.h"
#include "tests/conformance/gate.h"
#include "tests/conformance/world.h"

#define CU_OK(call) ASSERT_EQ((call), CUDA_SUCCESS)
#define CU_EXPECT_OK(call) EXPECT_EQ((call), CUDA_SUCCESS)

namespace vramspan::conformance {

class Conformance : public ::testing::Test {
 protected:
  Conformance() : world_(World::Get()), cu_(world_.cu()) {
    Must(cu_.CtxSetCurrent(world_.primary()), "cuCtxSetCurrent");
  }

  void TearDown() override {
    CU_EXPECT_OK(cu_.CtxSynchronize());
    const Current second(world_.second());
    CU_EXPECT_OK(cu_.CtxSynchronize());
  }

  const World& world_;
  const DriverApi& cu_;
};

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_FIXTURE_H_
