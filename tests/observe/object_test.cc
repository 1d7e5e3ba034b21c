// Textures and tensor maps: launches that pass one touch the memory that it was made from.

#include <cstring>
#include <utility>

#include "runtime/observe/objects.h"
#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ObjectTest : public DecoderTest {
 protected:
  // A launch of a kernel that takes an int, a map (from byte 64 on), and a texture.
  Submission Launched(const CUtensorMap& map, uint64_t texture) {
    int first = 0;
    void* parameters[] = {&first, const_cast<CUtensorMap*>(&map), &texture};
    return Decode(CALL(cuLaunchKernel), DecoderTest::Launch(Observed("with_map"), parameters));
  }
  static Touch At(const Touch& place, int slot) {
    Touch touch = place;
    touch.slot = static_cast<uint16_t>(slot);
    return touch;
  }

  CUtensorMap Encoded(uint64_t address, uint64_t seed) {
    CUtensorMap map;
    for (uint64_t& word : map.opaque) word = seed++ << 40;
    const cuuint64_t lengths[] = {64, 10, 3};
    const cuuint64_t strides[] = {256, 4096};
    cuTensorMapEncodeTiled_params params{};
    params.tensorMap = &map;
    params.tensorDataType = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    params.tensorRank = 3;
    params.globalAddress = reinterpret_cast<void*>(address);
    params.globalDim = lengths;
    params.globalStrides = strides;
    Defined(CALL(cuTensorMapEncodeTiled), params);
    return map;
  }

  static constexpr uint64_t kTensor = 2 * 4096 + 9 * 256 + 64 * 2;
  const CUtensorMap none_{};
};

TEST_F(ObjectTest, Textures) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = DecoderTest::At(4096);
  resource.res.linear.sizeInBytes = 1000;
  CUtexObject texture = 77;
  const cuTexObjectCreate_params create = {&texture, &resource, nullptr, nullptr};
  EXPECT_THAT(Launched(none_, 77).touches, IsEmpty());
  Defined(CALL(cuTexObjectCreate), create);
  EXPECT_THAT(Launched(none_, 77).touches, ElementsAre(At(Reads(4096, 1000, false), 24)));
  EXPECT_THAT(Launched(none_, 78).touches, IsEmpty());

  const uint64_t packed[] = {1, 77};
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint64_t*>(packed),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  EXPECT_THAT(
      TouchesOf(CALL(cuLaunchKernel), DecoderTest::Launch(Function("nothing"), nullptr, extra)),
      ElementsAre(At(Reads(4096, 1000, false), 1)));

  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D.devPtr = DecoderTest::At(8192);
  resource.res.pitch2D.pitchInBytes = 512;
  resource.res.pitch2D.height = 4;
  texture = 5;
  Defined(CALL(cuTexObjectCreate), create);
  EXPECT_THAT(Launched(none_, 5).touches, ElementsAre(At(Reads(8192, 2048, false), 24)));
  Defining(CALL(cuTexObjectDestroy), cuTexObjectDestroy_params{5});
  EXPECT_THAT(Launched(none_, 5).touches, IsEmpty());
  Defined(CALL(cuTexObjectCreate), create, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(Launched(none_, 5).touches, IsEmpty());
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  Defined(CALL(cuTexObjectCreate), create);
  EXPECT_THAT(Launched(none_, 5).touches, IsEmpty());
}

TEST_F(ObjectTest, TextureReferencesAreReachedByAnyKernel) {
  EXPECT_FALSE(Launched(none_, 0).incomplete);
  Defined(CALL(cuTexRefSetAddress_v2), cuTexRefSetAddress_v2_params{nullptr, nullptr, 512, 64});
  EXPECT_FALSE(Launched(none_, 0).incomplete);
  Defined(CALL(cuTexRefSetAddress_v2),
          cuTexRefSetAddress_v2_params{nullptr, nullptr, DecoderTest::At(0), 64});
  EXPECT_TRUE(Launched(none_, 0).incomplete);
}

TEST_F(ObjectTest, TensorMaps) {
  const CUtensorMap map = Encoded(DecoderTest::At(1 << 20), 1);
  const CUtensorMap other = Encoded(DecoderTest::At(1 << 21), 2);
  EXPECT_THAT(Launched(map, 0).touches, ElementsAre(At(Writes(1 << 20, kTensor, false), 8)));
  EXPECT_THAT(Launched(other, 0).touches, ElementsAre(At(Writes(1 << 21, kTensor, false), 8)));
  EXPECT_THAT(Launched(none_, 0).touches, IsEmpty());
  // Made again elsewhere: the same bytes.
  CUtensorMap copy = map;
  EXPECT_THAT(Launched(copy, 0).touches, ElementsAre(At(Writes(1 << 20, kTensor, false), 8)));
  copy.opaque[15] ^= 1;
  EXPECT_THAT(Launched(copy, 0).touches, IsEmpty());
  Defined(CALL(cuTensorMapReplaceAddress),
          cuTensorMapReplaceAddress_params{&copy, PointerAt(1 << 22)});
  EXPECT_THAT(Launched(copy, 0).touches, ElementsAre(At(Writes(1 << 22, 0, false), 8)));

  // In a buffer of parameters.
  struct {
    uint64_t before[16];  // No padding, which may hold anything.
    CUtensorMap map;
  } packed{{}, map};
  static_assert(offsetof(decltype(packed), map) == 128);
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  EXPECT_THAT(
      TouchesOf(CALL(cuLaunchKernel), DecoderTest::Launch(Function("nothing"), nullptr, extra)),
      ElementsAre(At(Writes(1 << 20, kTensor, false), 16)));
}

TEST_F(ObjectTest, TensorMapsOfImages) {
  CUtensorMap map{};
  map.opaque[0] = 99;
  const cuuint64_t lengths[] = {16, 8, 8, 2};
  const cuuint64_t strides[] = {64, 512, 4096};
  cuTensorMapEncodeIm2col_params params{};
  params.tensorMap = &map;
  params.tensorDataType = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  params.tensorRank = 4;
  params.globalAddress = PointerAt(0);
  params.globalDim = lengths;
  params.globalStrides = strides;
  Defined(CALL(cuTensorMapEncodeIm2col), params);
  EXPECT_THAT(Launched(map, 0).touches, ElementsAre(At(Writes(0, 8192, false), 8)));
}

TEST(TensorBytes, AreToldWhereTheyCanBe) {
  const cuuint64_t lengths[] = {100, 3};
  const cuuint64_t strides[] = {1024};
  const auto none = CU_TENSOR_MAP_INTERLEAVE_NONE;
  const auto bytes = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  EXPECT_EQ(TensorBytes(bytes, 1, lengths, nullptr, none), Bytes(100));
  EXPECT_EQ(TensorBytes(bytes, 2, lengths, strides, none), Bytes(2148));
  EXPECT_EQ(TensorBytes(CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, 1, lengths, nullptr, none),
            Bytes(50));
  EXPECT_EQ(TensorBytes(CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B, 1, lengths, nullptr, none), Bytes());
  EXPECT_EQ(TensorBytes(bytes, 2, lengths, strides, CU_TENSOR_MAP_INTERLEAVE_16B), Bytes());
  EXPECT_EQ(TensorBytes(bytes, 2, lengths, nullptr, none), Bytes());
}

TEST(Objects, ChangesAreCounted) {
  Objects objects;
  uint64_t changes = objects.changes();
  const auto changed = [&] { return std::exchange(changes, objects.changes()) != changes; };
  objects.Name(1, {DevicePtr(4096), Bytes(8)});
  EXPECT_TRUE(changed());
  objects.Name(1, {DevicePtr(4096), Bytes(8)});
  EXPECT_FALSE(changed()) << "the same again";
  objects.Name(1, {DevicePtr(4096), Bytes(16)});
  EXPECT_TRUE(changed());
  objects.Name(1, {DevicePtr(8192), Bytes(16)});
  EXPECT_TRUE(changed());
  objects.Unname(2);
  EXPECT_FALSE(changed());
  objects.Unname(1);
  EXPECT_TRUE(changed());
}

TEST(Objects, TheLastNamedAreRemembered) {
  Objects objects;
  const auto name = [&](uint64_t value) { objects.Name(value, {DevicePtr(value), Bytes(1)}); };
  for (uint64_t i = 1; i <= Objects::kMost; ++i) name(i);
  name(1);
  name(Objects::kMost + 1);
  EXPECT_EQ(objects.Find(1).ptr, DevicePtr(1));
  EXPECT_EQ(objects.Find(2).ptr, DevicePtr());
  EXPECT_EQ(objects.Find(Objects::kMost + 1).ptr, DevicePtr(Objects::kMost + 1));
  for (uint64_t i = 1; i <= Objects::kMost + 1; ++i) objects.Unname(i);
  EXPECT_TRUE(objects.empty());
}

}  // namespace
}  // namespace vramspan
