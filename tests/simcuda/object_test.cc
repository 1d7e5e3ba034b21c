// Texture objects and tensor maps: what is refused. That kernels find what they stand for is seen
// in tests/mover/traced_objects_test.cc.

#include <cstring>

#include "tests/simcuda/sim_fixture.h"
#include "tools/simcuda/object_abi.h"

namespace simcuda {
namespace {

class ObjectTest : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    SIM_OK(cuMemAlloc(&memory_, kMiB));
  }

  CUDA_RESOURCE_DESC Linear() const {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {memory_, CU_AD_FORMAT_FLOAT, 1, kMiB};
    return resource;
  }
  CUDA_RESOURCE_DESC Rows() const {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = {memory_, CU_AD_FORMAT_UNSIGNED_INT32, 4, 64, 1024, 1024};
    return resource;
  }
  CUresult Create(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture = {}) {
    return cuTexObjectCreate(&object_, &resource, &texture, nullptr);
  }
  template <typename Change>
  CUresult LinearWith(Change change) {
    CUDA_RESOURCE_DESC resource = Linear();
    change(resource.res.linear);
    return Create(resource);
  }
  template <typename Change>
  CUresult RowsWith(Change change) {
    CUDA_RESOURCE_DESC resource = Rows();
    change(resource.res.pitch2D);
    return Create(resource);
  }

  struct Tiled {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    cuuint32_t rank = 2;
    cuuint64_t lengths[6] = {256, 256, 1, 1, 1, 1};
    cuuint64_t strides[5] = {1024, 262144, 262144, 262144, 262144};
    cuuint32_t box[6] = {32, 8, 1, 1, 1, 1};
    cuuint32_t steps[6] = {1, 1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  };
  CUresult Encode(const Tiled& t, size_t offset = 0) {
    return cuTensorMapEncodeTiled(&map_, t.type, t.rank, reinterpret_cast<void*>(memory_ + offset),
                                  t.lengths, t.strides, t.box, t.steps, t.interleave, t.swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
  // An image of one line, as far as the tensor has no more dimensions.
  struct Pixels : Tiled {
    Pixels() { rank = 3; }
    int lower[3] = {}, upper[3] = {};
    cuuint32_t channels = 32, pixels = 8;
  };
  template <typename Change>
  CUresult EncodePixelsWith(Change change) {
    Pixels t;
    change(t);
    return cuTensorMapEncodeIm2col(
        &map_, t.type, t.rank, reinterpret_cast<void*>(memory_), t.lengths, t.strides, t.lower,
        t.upper, t.channels, t.pixels, t.steps, t.interleave, t.swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
  template <typename Change>
  CUresult EncodeWith(Change change) {
    Tiled tiled;
    change(tiled);
    return Encode(tiled);
  }

  CUdeviceptr memory_ = 0;
  CUtexObject object_ = 0;
  CUtensorMap map_;
};

TEST_F(ObjectTest, TexturesAreMadeAskedAndDestroyed) {
  SIM_OK(Create(Linear()));
  const CUtexObject first = object_;
  SIM_OK(Create(Rows()));
  EXPECT_NE(object_, first);
  CUDA_RESOURCE_DESC resource = {};
  SIM_OK(cuTexObjectGetResourceDesc(&resource, first));
  EXPECT_EQ(resource.resType, CU_RESOURCE_TYPE_LINEAR);
  EXPECT_EQ(resource.res.linear.devPtr, memory_);
  CUDA_TEXTURE_DESC texture = {};
  SIM_OK(cuTexObjectGetTextureDesc(&texture, object_));
  CUDA_RESOURCE_VIEW_DESC view = {};
  EXPECT_EQ(cuTexObjectGetResourceViewDesc(&view, object_), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuTexObjectDestroy(first));
  SIM_OK(cuTexObjectDestroy(object_));
  EXPECT_EQ(cuTexObjectDestroy(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, first), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ObjectTest, TexturesThatAreRefused) {
  EXPECT_EQ(LinearWith([](auto& l) { l.devPtr += 256; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LinearWith([](auto& l) { l.numChannels = 3; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LinearWith([](auto& l) { l.sizeInBytes = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LinearWith([](auto& l) { l.sizeInBytes += 4; }), CUDA_ERROR_INVALID_VALUE)
      << "beyond the allocation";
  EXPECT_EQ(LinearWith([](auto& l) { l.devPtr = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LinearWith([](auto& l) { l.format = CU_AD_FORMAT_NV12; }), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(RowsWith([](auto& p) { p.pitchInBytes += 16; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(RowsWith([](auto& p) { p.pitchInBytes = 992; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(RowsWith([](auto& p) { p.height += 1; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(RowsWith([](auto& p) { p.width = 0; }), CUDA_ERROR_INVALID_VALUE);
  CUDA_TEXTURE_DESC filtered = {};
  filtered.filterMode = CU_TR_FILTER_MODE_LINEAR;
  SIM_EXPECT_OK(Create(Linear(), filtered)) << "ignored there";
  EXPECT_EQ(Create(Rows(), filtered), CUDA_ERROR_NOT_SUPPORTED);
  CUDA_TEXTURE_DESC plain = {};
  const CUDA_RESOURCE_DESC resource = Linear();
  CUDA_RESOURCE_VIEW_DESC view = {};
  EXPECT_EQ(cuTexObjectCreate(&object_, &resource, &plain, &view), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectCreate(nullptr, &resource, &plain, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// What is reserved and not mapped is looked up in vain.
TEST_F(ObjectTest, TexturesNeedTheirMemoryMapped) {
  CUdeviceptr reserved = 0;
  SIM_OK(cuMemAddressReserve(&reserved, kGranularity, 0, 0, 0));
  EXPECT_EQ(LinearWith([&](auto& l) { l.devPtr = reserved; }), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemAddressFree(reserved, kGranularity));
}

TEST_F(ObjectTest, TensorMapsSayWhatTheyAreOf) {
  SIM_OK(Encode({}, 4096));
  abi::TensorMap seen;
  std::memcpy(&seen, &map_, sizeof(seen));
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(seen.data()), memory_ + 4096);
  EXPECT_EQ(seen.rank, 2u);
  EXPECT_EQ(seen.element_bytes, 4u);
  EXPECT_EQ(seen.strides[0], 1024u);
  SIM_OK(cuTensorMapReplaceAddress(&map_, reinterpret_cast<void*>(memory_)));
  std::memcpy(&seen, &map_, sizeof(seen));
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(seen.data()), memory_);
}

TEST_F(ObjectTest, TensorMapsThatAreRefused) {
  constexpr CUresult kBad = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(Encode({}, 8), kBad);
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.rank = 0; }), kBad);
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.rank = 6; }), kBad);
  SIM_EXPECT_OK(EncodeWith([](Tiled& t) { t.rank = 5; }));
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.lengths[1] = 0; }), kBad);
  SIM_EXPECT_OK(EncodeWith([](Tiled& t) { t.lengths[1] = uint64_t{1} << 32; }));
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.lengths[1] = (uint64_t{1} << 32) + 1; }), kBad);
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.strides[0] = 1032; }), kBad);
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.strides[0] = uint64_t{1} << 40; }), kBad);
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.box[1] = 257; }), kBad);
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.box[0] = 2; }), kBad) << "8 bytes";
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.steps[1] = 9; }), kBad);
  SIM_EXPECT_OK(EncodeWith([](Tiled& t) { t.steps[0] = 0; })) << "ignored";
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }), kBad);
  SIM_EXPECT_OK(EncodeWith([](Tiled& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B; }));
  EXPECT_EQ(EncodeWith([](Tiled& t) { t.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B; }),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map_, reinterpret_cast<void*>(memory_ + 8)), kBad);
}

TEST_F(ObjectTest, TensorMapsOfImages) {
  constexpr CUresult kBad = CUDA_ERROR_INVALID_VALUE;
  SIM_OK(EncodePixelsWith([](Pixels&) {}));
  abi::TensorMap seen;
  std::memcpy(&seen, &map_, sizeof(seen));
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(seen.data()), memory_);
  EXPECT_EQ(seen.rank, 3u);
  EXPECT_EQ(EncodePixelsWith([](Pixels& p) { p.rank = 2; }), kBad);
  EXPECT_EQ(EncodePixelsWith([](Pixels& p) { p.channels = 257; }), kBad);
  EXPECT_EQ(EncodePixelsWith([](Pixels& p) { p.channels = 2; }), kBad) << "8 bytes";
  EXPECT_EQ(EncodePixelsWith([](Pixels& p) { p.pixels = 1025; }), kBad);
  SIM_EXPECT_OK(EncodePixelsWith([](Pixels& p) { p.lower[0] = -32768; }));
  EXPECT_EQ(EncodePixelsWith([](Pixels& p) { p.lower[0] = 32768; }), kBad);
  const auto deep = [](Pixels& p) { p.rank = 4, p.upper[1] = 128; };
  EXPECT_EQ(EncodePixelsWith(deep), kBad) << "less room for more of them";
  EXPECT_EQ(EncodePixelsWith([](Pixels& p) { p.steps[1] = 9; }), kBad);
  const Pixels wide;
  EXPECT_EQ(cuTensorMapEncodeIm2colWide(&map_, wide.type, 3, reinterpret_cast<void*>(memory_),
                                        wide.lengths, wide.strides, 0, 0, 32, 8, wide.steps,
                                        wide.interleave, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
                                        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_ERROR_NOT_SUPPORTED)
      << "of devices to come";
}

}  // namespace
}  // namespace simcuda
