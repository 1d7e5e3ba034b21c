// What the driver says of addresses in chunks. Its answers on host chunks would mislead a program
// that called cudaMalloc, which is why they are written down here.
#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

class PointerQueries : public Conformance {
 protected:
  template <typename T>
  T Ask(CUpointer_attribute attribute, CUdeviceptr at) {
    T answer{};
    CU_EXPECT_OK(world_.PointerGetAttribute(&answer, attribute, at));
    return answer;
  }

  // The same for both kinds.
  void ExpectReservation(CUdeviceptr at, const Chunks& chunks) {
    EXPECT_EQ(Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at + 4096), chunks.at(0));
    EXPECT_EQ(Ask<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at + 4096), chunks.bytes());
    EXPECT_EQ(Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at), at);
    void* host = nullptr;
    EXPECT_EQ(world_.PointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at),
              CUDA_ERROR_INVALID_VALUE);
  }
};

TEST_F(PointerQueries, OnADeviceChunk) {
  const Chunks chunks({Where::kHostNuma, Where::kDevice});
  const CUdeviceptr at = chunks.at(1);
  EXPECT_EQ(Ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CU_MEMORYTYPE_DEVICE);
  ExpectReservation(at, chunks);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CU_OK(world_.MemGetAddressRange(&base, &bytes, at + 4096));
  EXPECT_EQ(base, at);
  EXPECT_EQ(bytes, kChunk);
}

TEST_F(PointerQueries, OnAHostChunk) {
  const Chunks chunks({Where::kDevice, Where::kHostNuma});
  const CUdeviceptr at = chunks.at(1);
  EXPECT_EQ(Ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CU_MEMORYTYPE_HOST);
  ExpectReservation(at, chunks);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CU_OK(world_.MemGetAddressRange(&base, &bytes, at + 4096));
  EXPECT_NE(base, at);  // another base, outside the reservation
  EXPECT_EQ(bytes, kChunk);
}

}  // namespace
}  // namespace vramspan::conformance
