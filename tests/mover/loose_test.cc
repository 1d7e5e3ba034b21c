// Memory and addresses that come apart: what is mapped moves and keeps its contents, what is not
// keeps them too, and what cannot be is refused and changes nothing.
#include <memory>
#include <vector>

#include "runtime/api/runtime.h"
#include "tests/mover/unmap_one.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using vramspan::Bytes;
using vramspan::ChunkIndex;
using vramspan::DetachedMemory;
using vramspan::DevicePtr;
using vramspan::Memory;
using vramspan::MiB;
using vramspan::Runtime;
using vramspan::Status;
using vramspan::StatusOr;

constexpr Bytes kPiece = MiB(6);  // 4 MiB and 2 MiB, where the budget lets it be so.

class LooseTest : public MoverTest {
 protected:
  void SetUp() override { Start({}); }
  void TearDown() override {
    EXPECT_CU(world_.api().StreamDestroy(stream_));
    runtime_.reset();
  }
  void Start(RuntimeOptions options) {
    runtime_.reset();
    options.chunk = "4MiB";
    options.deadline_us = 5'000'000;
    const vramspanConfig config = Config(options);
    StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(&config);
    ASSERT_TRUE(made.ok()) << made.status();
    runtime_ = *std::move(made);
    if (stream_ == nullptr) stream_ = world_.NewStream();
  }
  Memory& memory() { return runtime_->memory(); }
  DevicePtr Reserve(Bytes size) {
    const StatusOr<DevicePtr> base = memory().vmm().Reserve(size, MiB(2));
    EXPECT_TRUE(base.ok()) << base.status();
    return base.value_or(DevicePtr());
  }
  DetachedMemory Make(Bytes size) {
    StatusOr<DetachedMemory> loose = runtime_->MakeDetached(size);
    EXPECT_TRUE(loose.ok()) << loose.status();
    return loose.ok() ? *std::move(loose) : DetachedMemory();
  }
  DetachedMemory Unmap(DevicePtr at) {
    StatusOr<DetachedMemory> loose = UnmapOne(*runtime_, at, kPiece);
    EXPECT_TRUE(loose.ok()) << loose.status();
    return loose.ok() ? *std::move(loose) : DetachedMemory();
  }
  static Buffer At(DevicePtr p, Word seed) {
    Buffer b;
    b.ptr = p.value;
    b.words = kPiece.value / sizeof(Word);
    b.seed = seed;
    return b;
  }
  void Fill(const Buffer& b) {
    EXPECT_CU(world_.LaunchFill(b, stream_));
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
  }
  size_t ChunksIn(DevicePtr p, Bytes size) {
    size_t count = 0;
    vramspan::MutexLock lock(memory().mu);
    memory().ForEachChunk(p, size, [&](ChunkIndex, vramspan::Chunk&) { ++count; });
    return count;
  }

  const Watchdog watchdog_{"a test of loose memory", 60};
  std::unique_ptr<Runtime> runtime_;
  CUstream stream_ = nullptr;
};

TEST_F(LooseTest, ContentsGoWithTheMemory) {
  const DevicePtr base = Reserve(MiB(64));
  const DetachedMemory one = Make(kPiece);
  ASSERT_TRUE(memory().vmm().MapDetached(one, base + MiB(2)).ok());
  const Buffer b = At(base + MiB(2), 1);
  Fill(b);
  const DetachedMemory again = Unmap(base + MiB(2));
  const DetachedMemory two = Make(kPiece);
  ASSERT_TRUE(memory().vmm().MapDetached(two, base + MiB(2)).ok());
  Fill(At(base + MiB(2), 2));
  ASSERT_TRUE(memory().vmm().MapDetached(again, base + MiB(40)).ok());
  EXPECT_EQ(world_.Wrong(At(base + MiB(40), 1)), "");
  EXPECT_EQ(world_.Wrong(At(base + MiB(2), 2)), "");
  memory().vmm().ReleaseDetached(Unmap(base + MiB(2)));
  memory().vmm().ReleaseDetached(Unmap(base + MiB(40)));
  EXPECT_TRUE(memory().vmm().Unreserve(base, MiB(64)).ok());
  EXPECT_EQ(memory().counts().allocated, Bytes());
  EXPECT_EQ(memory().device_pool().used(), Bytes());
  EXPECT_EQ(memory().host_pool().used(), Bytes());
}

// The budget has room for 8 MiB: the second piece is partly, the third wholly on the host.
TEST_F(LooseTest, WhatDoesNotFitIsOnTheHostAndMovesWhenItIsUsed) {
  const DevicePtr base = Reserve(MiB(64));
  std::vector<Buffer> buffers;
  for (uint64_t i = 0; i < 3; ++i) {
    const DevicePtr at = base + Bytes(i * kPiece.value);
    ASSERT_TRUE(memory().vmm().MapDetached(Make(kPiece), at).ok());
    buffers.push_back(At(at, i));
    Fill(buffers.back());
  }
  EXPECT_EQ(memory().device_pool().used(), MiB(8));
  EXPECT_EQ(memory().host_pool().used(), MiB(10));
  // Declared, as work of linked programs is: what it says is fetched, and others leave for it.
  for (const Buffer& b : {buffers[2], buffers[0], buffers[1], buffers[2]}) {
    const vramspan::WorkRange range{DevicePtr(b.ptr), Bytes(b.bytes()), {.kernels_only = true}};
    EXPECT_TRUE(runtime_->mover().Begin(stream_, {&range, 1}).ok());
    EXPECT_CU(world_.LaunchAdd(b, 0, stream_));
    EXPECT_TRUE(runtime_->mover().End(stream_).ok());
  }
  EXPECT_TRUE(runtime_->mover().Synchronize().ok());
  EXPECT_GT(runtime_->Statistics().fetches, 0u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world_.Wrong(buffers[i]), "");
    const DetachedMemory loose = Unmap(DevicePtr(buffers[i].ptr));
    // Wherever it is, a copy of it is right.
    const DevicePtr other = base + MiB(32);
    const DetachedMemory target = Make(kPiece);
    ASSERT_TRUE(memory().vmm().MapDetached(target, other).ok());
    EXPECT_TRUE(memory().vmm().CopyDetached(loose, other).ok());
    EXPECT_EQ(world_.Wrong(At(other, i)), "");
    memory().vmm().ReleaseDetached(Unmap(other));
    memory().vmm().ReleaseDetached(loose);
  }
  EXPECT_TRUE(memory().vmm().Unreserve(base, MiB(64)).ok());
}

TEST_F(LooseTest, AReservationIsOneAllocationWithHoles) {
  const DevicePtr base = Reserve(MiB(64));
  EXPECT_FALSE(memory().Find(base).ok()) << "nothing is mapped in it";
  EXPECT_EQ(ChunksIn(base, MiB(64)), 0u);
  ASSERT_TRUE(memory().vmm().MapDetached(Make(kPiece), base + MiB(8)).ok());
  ASSERT_TRUE(memory().vmm().MapDetached(Make(kPiece), base + MiB(32)).ok());
  const DevicePtr next = Reserve(MiB(8));
  ASSERT_TRUE(memory().vmm().MapDetached(Make(kPiece), next).ok());
  EXPECT_EQ(ChunksIn(base, MiB(64)), 4u);
  EXPECT_EQ(ChunksIn(base, MiB(256)), 4u) << "clipped to the reservation";
  EXPECT_EQ(ChunksIn(base, MiB(8)), 0u);
  EXPECT_EQ(ChunksIn(base + MiB(13), MiB(20)), 2u) << "the 2 MiB before the hole, 4 behind it";
  for (const uint64_t offset : {0, 8, 20, 37}) {
    const auto found = memory().Find(base + MiB(offset));
    ASSERT_TRUE(found.ok()) << offset;
    EXPECT_EQ(found->base, base);
    EXPECT_EQ(found->requested, MiB(38));
  }
  EXPECT_FALSE(memory().Find(base + MiB(38)).ok());
  memory().vmm().ReleaseDetached(Unmap(base + MiB(32)));
  EXPECT_EQ(memory().Find(base)->requested, MiB(14));
  memory().vmm().ReleaseDetached(Unmap(base + MiB(8)));
  memory().vmm().ReleaseDetached(Unmap(next));
  EXPECT_TRUE(memory().vmm().Unreserve(base, MiB(64)).ok());
  EXPECT_TRUE(memory().vmm().Unreserve(next, MiB(8)).ok());
}

TEST_F(LooseTest, Refusals) {
  const DevicePtr base = Reserve(MiB(16));
  const DetachedMemory loose = Make(kPiece);
  const auto refused = [](const Status& s) { return absl::IsInvalidArgument(s); };
  EXPECT_TRUE(refused(memory().vmm().MapDetached(loose, base + MiB(12))))
      << "it ends beyond the range";
  EXPECT_TRUE(refused(memory().vmm().MapDetached(loose, base + MiB(16))));
  EXPECT_TRUE(refused(UnmapOne(*runtime_, base, kPiece).status()));
  ASSERT_TRUE(memory().vmm().MapDetached(loose, base).ok());
  const DetachedMemory other = Make(kPiece);
  EXPECT_TRUE(refused(memory().vmm().MapDetached(other, base + MiB(4)))) << "something is there";
  EXPECT_TRUE(refused(UnmapOne(*runtime_, base + MiB(4), MiB(2)).status()))
      << "a piece of a mapping";
  EXPECT_TRUE(refused(memory().vmm().Unreserve(base, MiB(16))));
  EXPECT_TRUE(refused(memory().Free(base)));
  EXPECT_TRUE(refused(memory().Free(base + MiB(4))));
  memory().vmm().ReleaseDetached(Unmap(base));
  EXPECT_TRUE(refused(memory().vmm().Unreserve(base, MiB(8))));
  EXPECT_TRUE(refused(memory().Free(base)));
  memory().vmm().ReleaseDetached(other);
  EXPECT_TRUE(memory().vmm().Unreserve(base, MiB(16)).ok());
  EXPECT_TRUE(refused(memory().vmm().Unreserve(base, MiB(16))));
}

TEST_F(LooseTest, NoRoomAnywhere) {
  Start({.host_memory = "4MiB"});
  const DevicePtr base = Reserve(MiB(64));
  const DetachedMemory one = Make(kPiece), two = Make(MiB(4));
  const StatusOr<DetachedMemory> three = runtime_->MakeDetached(kPiece);
  EXPECT_TRUE(absl::IsResourceExhausted(three.status())) << three.status();
  EXPECT_EQ(memory().counts().allocations, 2u);
  EXPECT_TRUE(absl::IsResourceExhausted(runtime_->MakeDetached(Bytes(uint64_t{1} << 50)).status()));
  memory().vmm().ReleaseDetached(one);
  memory().vmm().ReleaseDetached(Make(kPiece));
  memory().vmm().ReleaseDetached(two);
  EXPECT_TRUE(memory().vmm().Unreserve(base, MiB(64)).ok());
}

// Every driver call in it fails once: nothing is lost, nothing is left over.
TEST_F(LooseTest, ADriverThatFails) {
  const DevicePtr base = Reserve(MiB(64));
  const DetachedMemory loose = Make(kPiece);
  for (const char* call : {"cuMemMap", "cuMemSetAccess"}) {
    for (int nth = 1; nth <= 2; ++nth) {
      world_.fail(call, static_cast<unsigned long long>(nth), 1, CUDA_ERROR_OUT_OF_MEMORY);
      const Status status = memory().vmm().MapDetached(loose, base);
      if (std::string(call) == "cuMemMap" || nth == 1) {
        EXPECT_FALSE(status.ok()) << call << nth;
        EXPECT_FALSE(memory().Find(base).ok());
      } else {
        EXPECT_TRUE(status.ok());
      }
      world_.reset();
    }
  }
  Fill(At(base, 9));
  world_.fail("cuMemUnmap", 1, 1, CUDA_ERROR_UNKNOWN);
  EXPECT_FALSE(UnmapOne(*runtime_, base, kPiece).ok());
  world_.reset();
  EXPECT_EQ(world_.Wrong(At(base, 9)), "") << "as it was";
  EXPECT_EQ(ChunksIn(base, kPiece), 2u);
  memory().vmm().ReleaseDetached(Unmap(base));
  EXPECT_TRUE(memory().vmm().Unreserve(base, MiB(64)).ok());
}

// Addresses and memory that are still out when the runtime ends.
TEST_F(LooseTest, EndsWithMemoryOut) {
  const DevicePtr base = Reserve(MiB(64));
  ASSERT_TRUE(memory().vmm().MapDetached(Make(kPiece), base).ok());
  const DetachedMemory left = Make(kPiece);
}

}  // namespace
}  // namespace vramspan_test
