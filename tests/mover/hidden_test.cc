// Host chunks without a mapping (scheduler/unmapped_chunks.h): they come about where work says what
// it touches, and are mapped again before anybody could notice.
#include <chrono>
#include <thread>
#include <utility>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kBudget = 4;  // Chunks; every buffer has one.
constexpr uint32_t kUse = VRAMSPAN_READ | VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY;

class HiddenTest : public MoverTest {
 protected:
  HiddenTest() : stream_(world_.NewStream()) {
    RuntimeOptions options;
    options.deadline_us = 5'000'000;
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    buffers_ = runtime_->Filled(2 * kBudget, kChunk, stream_);
  }
  ~HiddenTest() override {
    runtime_->Synchronize();
    EXPECT_EQ(Hidden(), 0u) << "after Synchronize everything is there to be looked up";
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  void Add(size_t i) {
    runtime_->Begin(stream_, {buffers_[i].range(kUse)});
    EXPECT_CU(world_.LaunchAdd(buffers_[i], 1, stream_));
    runtime_->End(stream_);
    buffers_[i].add += 1;
  }
  void Wait() { EXPECT_CU(world_.api().StreamSynchronize(stream_)); }
  bool IsMapped(size_t i) const {
    CUmemorytype type{};
    return attribute_(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffers_[i].ptr) == CUDA_SUCCESS;
  }
  size_t Hidden() const {
    size_t unmapped = 0;
    for (size_t i = 0; i < buffers_.size(); ++i) unmapped += !IsMapped(i);
    return unmapped;
  }
  // Rounds over all buffers, of which half fit: the others are evicted to come back.
  void Cycle() {
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < buffers_.size(); ++i) Add(i);
    }
    Wait();
  }
  size_t AHidden() const {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!IsMapped(i)) return i;
    }
    ADD_FAILURE() << "nothing is hidden";
    return 0;
  }

  const Watchdog watchdog_{"a test of hidden chunks", 60};
  const CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
  const decltype(&cuPointerGetAttribute) attribute_ =
      world_.Symbol<decltype(&cuPointerGetAttribute)>("cuPointerGetAttribute");
};

TEST_F(HiddenTest, WhatIsEvictedForDeclaredKernelsIsNotMapped) {
  Cycle();
  EXPECT_GE(Hidden(), kBudget - 2);
  const vramspanStatistics before = runtime_->stats();
  Cycle();
  const vramspanStatistics after = runtime_->stats();
  EXPECT_GE(after.fetches, before.fetches + kBudget);
  EXPECT_EQ(after.moves_failed, 0u);
}

TEST_F(HiddenTest, ACopyFindsItsMemoryMapped) {
  Cycle();
  const size_t i = AHidden();
  Word word = 0;
  runtime_->Begin(stream_, {buffers_[i].range(VRAMSPAN_READ | VRAMSPAN_ONCE)});
  EXPECT_CU(world_.api().MemcpyDtoHAsync(&word, buffers_[i].ptr, sizeof(word), stream_));
  runtime_->End(stream_);
  Wait();
  EXPECT_EQ(word, HashWord(0, buffers_[i].seed) + buffers_[i].add);
  EXPECT_TRUE(IsMapped(i));
}

TEST_F(HiddenTest, WorkThatMayTouchAnythingFindsEverythingMapped) {
  Cycle();
  const size_t i = AHidden();
  EXPECT_SPAN(vramspanWorkBegin(runtime_->get(), stream_, nullptr, 0));
  EXPECT_CU(world_.LaunchAdd(buffers_[i], 1, stream_));
  EXPECT_SPAN(vramspanWorkEnd(runtime_->get(), stream_));
  buffers_[i].add += 1;
  Wait();
  EXPECT_EQ(Hidden(), 0u);
  // More of the kind is to be expected, so nothing is unmapped for a while.
  Cycle();
  EXPECT_EQ(Hidden(), 0u);
}

// Nothing says what the copy names, and the driver looks it up when it is captured.
TEST_F(HiddenTest, ACapturedCopyInAScopeThatNamesNothingFindsItsMemoryMapped) {
  const auto begin = world_.Symbol<decltype(&cuStreamBeginCapture_v2)>("cuStreamBeginCapture_v2");
  const auto end = world_.Symbol<decltype(&cuStreamEndCapture)>("cuStreamEndCapture");
  const auto destroy = world_.Symbol<decltype(&cuGraphDestroy)>("cuGraphDestroy");
  Cycle();
  const size_t i = AHidden();
  Word word = 0;
  CUgraph graph = nullptr;
  EXPECT_CU(begin(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_SPAN(vramspanWorkBegin(runtime_->get(), stream_, nullptr, 0));
  EXPECT_EQ(Hidden(), 0u);
  EXPECT_CU(world_.api().MemcpyDtoHAsync(&word, buffers_[i].ptr, sizeof(word), stream_));
  EXPECT_SPAN(vramspanWorkEnd(runtime_->get(), stream_));
  EXPECT_CU(end(stream_, &graph));
  EXPECT_CU(destroy(graph));
}

TEST_F(HiddenTest, WorkThatIsServedInPlaceFindsItsMemoryMapped) {
  Cycle();
  const size_t i = AHidden();
  runtime_->Begin(stream_, {buffers_[i].range(kUse | VRAMSPAN_ONCE)});
  EXPECT_CU(world_.LaunchAdd(buffers_[i], 1, stream_));
  runtime_->End(stream_);
  buffers_[i].add += 1;
  Wait();
  EXPECT_EQ(runtime_->OnDevice(buffers_[i]), 0u);
  EXPECT_TRUE(IsMapped(i));
}

TEST_F(HiddenTest, AnIdleProgramHasEverythingMapped) {
  Cycle();
  ASSERT_GT(Hidden(), 0u);
  while (Hidden() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(HiddenTest, FreedLikeAnyOther) {
  Cycle();
  const size_t i = AHidden();
  runtime_->Free(buffers_[i]);
  buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  Cycle();
}

// A hole in the middle of what is unmapped with one call.
TEST_F(HiddenTest, FreedBesideWhatIsMapped) {
  Buffer large = runtime_->Alloc(3 * kChunk);
  runtime_->Fill(large, 9, stream_);
  runtime_->Synchronize();
  const auto part = [&](size_t chunk) {
    return vramspanRange{large.ptr + chunk * kChunk, kChunk, kUse};
  };
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < buffers_.size(); ++i) Add(i);
    runtime_->Begin(stream_, {part(0)});
    runtime_->End(stream_);
    runtime_->Begin(stream_, {part(2)});
    runtime_->End(stream_);
  }
  Wait();
  runtime_->Free(large);
  Cycle();
  EXPECT_EQ(runtime_->stats().moves_failed, 0u);
}

// Memory that comes is mapped where it belongs, and copied to there.
TEST_F(HiddenTest, NeedsNoAliasToCome) {
  Cycle();
  const size_t i = AHidden();
  EXPECT_SPAN(vramspanSetDeviceBudget(runtime_->get(), 2 * kBudget * kChunk));
  const auto calls = [&] {
    return std::pair(world_.call_count("cuMemMap"), world_.call_count("cuMemUnmap"));
  };
  const auto [maps, unmaps] = calls();
  Add(i);
  Wait();
  EXPECT_EQ(runtime_->OnDevice(buffers_[i]), kChunk);
  EXPECT_EQ(calls(), std::pair(maps + 1, unmaps));
}

// The copy fails, and what was mapped for it cannot be taken back at once: nothing runs into it.
TEST_F(HiddenTest, ServedInPlaceAfterACopyThatFailed) {
  Cycle();
  const size_t i = AHidden();
  EXPECT_SPAN(vramspanSetDeviceBudget(runtime_->get(), 2 * kBudget * kChunk));
  ASSERT_EQ(world_.fail("cuMemcpyDtoDAsync_v2", 1, 1, CUDA_ERROR_UNKNOWN), 0);
  ASSERT_EQ(world_.fail("cuMemUnmap", 1, 3, CUDA_ERROR_NOT_READY), 0);
  Add(i);
  Wait();
  EXPECT_EQ(world_.failed_calls(), 4u);
  EXPECT_EQ(world_.Wrong(buffers_[i]), "");
  EXPECT_EQ(runtime_->OnDevice(buffers_[i]), 0u);
  EXPECT_EQ(vramspanSynchronize(runtime_->get()), CUDA_ERROR_NOT_READY) << "the last failure";
  Add(i);
  Wait();
  EXPECT_EQ(runtime_->OnDevice(buffers_[i]), kChunk);
}

// Mapping it again fails for a while: work waits for it, and nothing is lost.
TEST_F(HiddenTest, ShownWhenTheDriverIsAbleAgain) {
  Cycle();
  const size_t i = AHidden();
  ASSERT_EQ(world_.fail("cuMemMap", 1, 3, CUDA_ERROR_UNKNOWN), 0);
  Word word = 0;
  runtime_->Begin(stream_, {buffers_[i].range(VRAMSPAN_READ | VRAMSPAN_ONCE)});
  EXPECT_CU(world_.api().MemcpyDtoHAsync(&word, buffers_[i].ptr, sizeof(word), stream_));
  runtime_->End(stream_);
  Wait();
  EXPECT_EQ(word, HashWord(0, buffers_[i].seed) + buffers_[i].add);
  EXPECT_GE(runtime_->stats().moves_failed, 3u);
  EXPECT_NE(vramspanSynchronize(runtime_->get()), CUDA_SUCCESS) << "the failure is told once";
}

}  // namespace
}  // namespace vramspan_test
