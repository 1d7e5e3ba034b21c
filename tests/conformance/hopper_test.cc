// What only a GPU of compute capability 9.0 or more can do to a chunk.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <vector>

#include "tests/conformance/fixture.h"
#include "tests/conformance/gpu_only.h"
#include "tests/conformance/hopper_image.h"

namespace vramspan::conformance {
namespace {

class Hopper : public Conformance {
 public:
  Hopper(const char* kernel, Where where) : kernel_(kernel), chunk_({where}) {}

 protected:
  void SetUp() override {
    CU_OK(cu_.ModuleLoadData(&module_, HopperImage()));
    CU_OK(cu_.ModuleGetFunction(&function_, module_, kernel_));
  }

  void TearDown() override {
    if (module_ != nullptr) {
      CU_EXPECT_OK(cu_.ModuleUnload(module_));
    }
    Conformance::TearDown();
  }

  template <typename T>
  std::vector<T> Read(size_t offset, size_t count) {
    std::vector<T> values(count);
    Must(world_.MemcpyDtoH(values.data(), chunk_.at(0) + offset, count * sizeof(T)),
         "cuMemcpyDtoH");
    return values;
  }

  const char* const kernel_;
  const Chunks chunk_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

class PackedAtomics : public Hopper {
 public:
  explicit PackedAtomics(Where where) : Hopper("add_packed", where) {}
  void TestBody() override {
    CU_OK(world_.MemsetD8(chunk_.at(0), 0, kChunk));
    CU_OK(Launch(function_, 8, 128, nullptr, chunk_.at(0), chunk_.at(0) + 64));
    const __half2 half_sum = Read<__half2>(0, 1)[0];
    const __nv_bfloat162 bfloat_sum = Read<__nv_bfloat162>(64, 1)[0];
    EXPECT_EQ(__half2float(half_sum.x), 1024);
    EXPECT_EQ(__half2float(half_sum.y), 1024);
    EXPECT_EQ(__bfloat162float(bfloat_sum.x), 128);
    EXPECT_EQ(__bfloat162float(bfloat_sum.y), 128);
  }
};

class VectorAtomics : public Hopper {
 public:
  explicit VectorAtomics(Where where) : Hopper("add_vectors", where) {}
  void TestBody() override {
    CU_OK(world_.MemsetD8(chunk_.at(0), 0, kChunk));
    CU_OK(Launch(function_, 64, 256, nullptr, chunk_.at(0)));
    const std::vector<float> sums = Read<float>(0, 64);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(sums[i], (i % 4 + 1) * 1024) << i;
  }
};

class BulkCopies : public Hopper {
 public:
  explicit BulkCopies(Where where) : Hopper("add_one_in_bulk", where) {}
  void TestBody() override {
    constexpr unsigned kTile = 4096;  // words, as in hopper_kernels.cu
    const size_t count = kChunk / sizeof(unsigned);
    CU_OK(world_.MemsetD32(chunk_.at(0), 41, count));
    CU_OK(Launch(function_, count / kTile, 128, nullptr, chunk_.at(0)));
    EXPECT_EQ(Read<unsigned>(0, count), std::vector<unsigned>(count, 42));
  }
};

template <typename Test>
void Register(const char* name, Where where) {
  ::testing::RegisterTest("Hopper", name, nullptr, nullptr, __FILE__, __LINE__,
                          [where]() -> Hopper* { return new Test(where); });
}

}  // namespace

void RegisterHopperTests() {
  const World& world = World::Get();
  if (world.simulated() || world.compute_major() < 9 || HopperImage() == nullptr) return;
  Register<PackedAtomics>("PackedAtomicsOnDeviceChunks", Where::kDevice);
  Register<PackedAtomics>("PackedAtomicsOnHostChunks", Where::kHostNuma);
  Register<VectorAtomics>("VectorAtomicsOnDeviceChunks", Where::kDevice);
  Register<VectorAtomics>("VectorAtomicsOnHostChunks", Where::kHostNuma);
  Register<BulkCopies>("BulkCopiesOnDeviceChunks", Where::kDevice);
  Register<BulkCopies>("BulkCopiesOnHostChunks", Where::kHostNuma);
}

}  // namespace vramspan::conformance
