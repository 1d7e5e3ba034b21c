// Atomics, on memory that has no atomics of its own for the device.
#include "tests/conformance/fixture.h"
#include "tests/kernels/test_kernels.h"

namespace vramspan::conformance {
namespace {

class Atomics : public Conformance {
 protected:
  void ExpectRightOn(Where where) {
    constexpr unsigned kBlocks = 32;
    constexpr unsigned kThreads = 32;
    constexpr unsigned kAll = kBlocks * kThreads;
    const Chunks chunk({where});
    CU_OK(world_.MemsetD8(chunk.at(0), 0, kChunk));
    CU_OK(Launch(world_.Kernel("atomics"), kBlocks, kThreads, nullptr, chunk.at(0)));
    vramspan_test::AtomicCells cells;
    CU_OK(world_.MemcpyDtoH(&cells, chunk.at(0), sizeof(cells)));
    EXPECT_EQ(cells.sum_u32, kAll);
    EXPECT_EQ(cells.sum_u64, kAll);
    EXPECT_EQ(cells.sum_f32, static_cast<float>(kAll));
    EXPECT_EQ(cells.sum_f64, static_cast<double>(kAll));
    EXPECT_EQ(cells.system_u64, kAll);
    EXPECT_EQ(cells.max_u32, kAll - 1);
    EXPECT_EQ(cells.cas_u16, kAll);
    EXPECT_EQ(cells.cas_u32, kAll);
    EXPECT_EQ(cells.cas_u64, kAll);
    EXPECT_EQ(cells.locked, kAll) << "a spin lock let two in";
    // Every token went in and came out again but the last.
    EXPECT_EQ(cells.tokens, cells.exchange) << "an exchange lost a value";
  }
};

TEST_F(Atomics, AreRightOnDeviceChunks) { ExpectRightOn(Where::kDevice); }

TEST_F(Atomics, AreRightOnHostChunks) { ExpectRightOn(Where::kHostNuma); }

TEST_F(Atomics, HostNativeAtomicsAreNotClaimed) {
  int native = -1;
  CU_OK(cu_.DeviceGetAttribute(&native, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
                               world_.device()));
  EXPECT_EQ(native, 0);
}

}  // namespace
}  // namespace vramspan::conformance
