// Reservations. ThreadSanitizer has addresses for less than 1 TiB, so its build has the last alone.
#include <gmock/gmock.h>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Reservation = Conformance;

#ifndef __SANITIZE_THREAD__
TEST_F(Reservation, TakesUpTo64TiB) {
  for (int bits = 38; bits <= 46; ++bits) {
    CUdeviceptr base = 0;
    CU_OK(cu_.MemAddressReserve(&base, size_t{1} << bits, 0, 0, 0)) << "2^" << bits;
    CU_OK(cu_.MemAddressFree(base, size_t{1} << bits));
  }
}

TEST_F(Reservation, Of128TiBIsRefused) {
  CUdeviceptr base = 0;
  EXPECT_EQ(cu_.MemAddressReserve(&base, size_t{1} << 47, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
}
#endif

TEST_F(Reservation, HonoursAFixedAddress) {
  constexpr size_t kBytes = size_t{1} << 30;
  CUdeviceptr free = 0;  // a place that is free for certain
  CU_OK(cu_.MemAddressReserve(&free, 4 * kBytes, 0, 0, 0));
  CU_OK(cu_.MemAddressFree(free, 4 * kBytes));
  CUdeviceptr base = 0;
  CU_OK(cu_.MemAddressReserve(&base, kBytes, 0, free + kBytes, 0));
  EXPECT_EQ(base, free + kBytes);
  CU_OK(cu_.MemAddressFree(base, kBytes));
}

}  // namespace
}  // namespace vramspan::conformance
