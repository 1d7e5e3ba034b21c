// Launches that name memory by an object: a texture object or a tensor map. No parameter holds an
// address; the memory must be found all the same, be on the device when the launch runs, and stay
// while it may be used.
#include <cstring>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

constexpr size_t kWidth = 512;  // Words of a row.
constexpr size_t kHeight = kChunkWords / kWidth;
constexpr size_t kRowBytes = kWidth * sizeof(Word);

class TracedObjects : public TracedTest {
 protected:
  ~TracedObjects() override {
    for (const CUtexObject texture : textures_) EXPECT_CU(DRIVER(cuTexObjectDestroy)(texture));
  }

  CUtexObject Texture(CUDA_RESOURCE_DESC resource) {
    CUDA_TEXTURE_DESC texture{};
    texture.addressMode[0] = texture.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    CUtexObject object = 0;
    EXPECT_CU(DRIVER(cuTexObjectCreate)(&object, &resource, &texture, nullptr));
    return textures_.emplace_back(object);
  }
  CUtexObject LinearTexture(size_t i) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {buffers_[i].ptr, CU_AD_FORMAT_UNSIGNED_INT32, 2, kChunk};
    return Texture(resource);
  }
  CUtexObject RowsTexture(size_t i) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = {buffers_[i].ptr, CU_AD_FORMAT_UNSIGNED_INT32, 2, kWidth, kHeight,
                            kRowBytes};
    return Texture(resource);
  }
  TensorMap Tensor(size_t i) const {
    CUtensorMap map;
    const cuuint64_t lengths[] = {kWidth, kHeight}, strides[] = {kRowBytes};
    const cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
    EXPECT_CU(DRIVER(cuTensorMapEncodeTiled)(
        &map, CU_TENSOR_MAP_DATA_TYPE_UINT64, 2, Words(i), lengths, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return ValueOf(map);
  }
  static TensorMap ValueOf(const CUtensorMap& map) {
    TensorMap value;
    static_assert(sizeof(value) == sizeof(map));
    std::memcpy(&value, &map, sizeof(map));
    return value;
  }

  // Copies what a texture or a tensor map shows; the target is named by address or by a map.
  void CopyLinear(CUtexObject texture, size_t to, CUstream stream) {
    size_t count = kChunkWords;
    Word* target = Words(to);
    EXPECT_CU(world_.Launch(Traced("copy_texture"), stream, Parameters(texture, count, target)));
  }
  void CopyRows(CUtexObject texture, size_t to, CUstream stream) {
    size_t width = kWidth, height = kHeight;
    Word* target = Words(to);
    EXPECT_CU(world_.Launch(Traced("copy_texture_rows"), stream,
                            Parameters(texture, width, height, target)));
  }
  void CopyTensor(TensorMap from, TensorMap to, CUstream stream) {
    size_t width = kWidth, height = kHeight;
    EXPECT_CU(world_.Launch(Traced("copy_tensor"), stream, Parameters(from, to, width, height)));
  }

  // All of it is `from` now.
  void ExpectCopied(size_t to, size_t from) {
    Copied(to, from);
    Wait(stream_);
    EXPECT_EQ(world_.Wrong(buffers_[to]), "");
  }

 private:
  std::vector<CUtexObject> textures_;
};
INSTANTIATE_TRACED(TracedObjects);

TEST_P(TracedObjects, MemoryOfATexture) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUtexObject texture = LinearTexture(2);
  ExpectFetched({2, 5}, [&] { CopyLinear(texture, 5, stream_); });
  ExpectCopied(5, 2);
  // What was written since is what it shows, wherever that was.
  Add(2, 7, stream_);
  ExpectFetched({2, 6}, [&] { CopyLinear(texture, 6, stream_); });
  ExpectCopied(6, 2);
}

TEST_P(TracedObjects, MemoryOfATextureOfRows) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUtexObject texture = RowsTexture(1);
  ExpectFetched({1, 7}, [&] { CopyRows(texture, 7, stream_); });
  ExpectCopied(7, 1);
}

TEST_P(TracedObjects, MemoryOfTensorMaps) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const TensorMap from = Tensor(0), to = Tensor(4);
  ExpectFetched({0, 4}, [&] { CopyTensor(from, to, stream_); });
  ExpectCopied(4, 0);
}

TEST_P(TracedObjects, TensorMapWhoseAddressIsReplaced) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const TensorMap from = Tensor(0), other = Tensor(3);
  CUtensorMap map;
  std::memcpy(&map, &other, sizeof(map));
  EXPECT_CU(DRIVER(cuTensorMapReplaceAddress)(&map, Words(6)));
  ExpectFetched({0, 6}, [&] { CopyTensor(from, ValueOf(map), stream_); });
  ExpectCopied(6, 0);
}

// Objects outlive any placement: they are made before memory runs short, when nothing else is
// looked at.
TEST_P(TracedObjects, MadeBeforeMemoryRanShort) {
  ASSERT_NO_FATAL_FAILURE(Start(2));
  const CUtexObject texture = LinearTexture(0);
  const TensorMap map = Tensor(1);
  while (buffers_.size() < 2 * kBudget) NewBuffer();
  ExpectFetched({0, 5}, [&] { CopyLinear(texture, 5, stream_); });
  ExpectCopied(5, 0);
  ExpectFetched({1, 6}, [&] { CopyTensor(map, Tensor(6), stream_); });
  ExpectCopied(6, 1);
}

// The driver looks the memory of a texture up when it is made, also that which was evicted and left
// without a mapping.
TEST_P(TracedObjects, MadeWhileTheirMemoryIsOut) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    SCOPED_TRACE(i);
    // This one was used first, and was evicted for the rest.
    for (size_t k = 0; k < buffers_.size(); ++k) Add((i + k) % buffers_.size(), 1, stream_);
    Wait(stream_);
    const size_t to = (i + 1) % buffers_.size();
    CopyRows(RowsTexture(i), to, stream_);
    ExpectCopied(to, i);
  }
}

// A handle stands for what it was made of last, and for nothing once it is destroyed.
TEST_P(TracedObjects, DestroyedTexture) {
  ASSERT_NO_FATAL_FAILURE(Start());
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {buffers_[2].ptr, CU_AD_FORMAT_UNSIGNED_INT32, 2, kChunk};
  const CUDA_TEXTURE_DESC texture{};
  CUtexObject gone = 0;
  EXPECT_CU(DRIVER(cuTexObjectCreate)(&gone, &resource, &texture, nullptr));
  EXPECT_CU(DRIVER(cuTexObjectDestroy)(gone));
  const uint64_t touches = runtime_->stats().touches;
  size_t count = 0;  // The handle is passed, and not used.
  Word* target = Words(5);
  EXPECT_CU(world_.Launch(Traced("copy_texture"), stream_, Parameters(gone, count, target)));
  EXPECT_EQ(runtime_->stats().touches, touches + 1);
  Wait(stream_);
}

// Memory that only an object leads to stays where it is while a launch that may use it has not run.
TEST_P(TracedObjects, MemoryStaysWhileItMayBeUsed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (const char* kernel : {"copy_texture", "copy_texture_rows", "copy_tensor"}) {
    EXPECT_CU(DRIVER(cuFuncLoad)(Traced(kernel)));
  }
  const CUtexObject linear = LinearTexture(0), rows = RowsTexture(1);
  const TensorMap from = Tensor(2), to = Tensor(3);
  ExpectStay({0}, [&](CUstream stream) { CopyLinear(linear, 4, stream); });
  Copied(4, 0);
  ExpectStay({1}, [&](CUstream stream) { CopyRows(rows, 5, stream); });
  Copied(5, 1);
  ExpectStay({2, 3}, [&](CUstream stream) { CopyTensor(from, to, stream); });
  Copied(3, 2);
}

// Many launches while everything moves: memory that is unmapped under a kernel kills the context.
TEST_P(TracedObjects, RightWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  Wait(stream_);
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  const CUstream other = NewStream();
  const CUtexObject linear = LinearTexture(6);
  const CUtexObject rows = RowsTexture(8);
  const TensorMap from = Tensor(7), to = Tensor(9);
  for (int round = 0; round < 40; ++round) {
    Add(6, 1, stream_);
    CopyLinear(linear, 7, stream_);
    Copied(7, 6);
    CopyTensor(from, to, stream_);
    Copied(9, 7);
    Add(8, 1, other);
    CopyRows(rows, 10, other);
    Copied(10, 8);
  }
  Wait(stream_);
  Wait(other);
}

}  // namespace
}  // namespace vramspan_test
