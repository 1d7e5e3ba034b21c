// Contents that a program gives up: chunks that lie in the range whole move without a copy, until
// something is put into them, and nothing else is lost.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

struct Moved {
  uint64_t copied = 0, without = 0;
  bool operator==(const Moved&) const = default;
};
constexpr Moved Copied(uint64_t bytes) { return {bytes, 0}; }
constexpr Moved WithoutACopy(uint64_t bytes) { return {0, bytes}; }

class DiscardTest : public MoverTest {
 protected:
  DiscardTest() : stream_(world_.NewStream()) {
    RuntimeOptions options;
    options.deadline_us = 30'000'000;
    options.tracer = "cupti";
    options.overlap = "safe";
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    buffers_ = runtime_->Filled(2 * kBudget, kChunk, stream_);
  }
  ~DiscardTest() override {
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  vramspanRuntime get() const { return runtime_->get(); }
  void Wait() const { EXPECT_CU(world_.api().StreamSynchronize(stream_)); }
  // New contents, on the device, of which the host has no copy.
  void Write(Buffer* b, Word seed) {
    Move(*b, VRAMSPAN_LOCATION_DEVICE);
    runtime_->Fill(*b, seed, stream_);
    Wait();
  }
  void Discard(const Buffer& b) { EXPECT_SPAN(Discard(b.ptr, b.bytes())); }
  CUresult Discard(CUdeviceptr p, size_t size) {
    return vramspanMemDiscard(get(), p, size, stream_);
  }
  // Without Synchronize, behind which anything may have been written.
  void Move(const Buffer& b, vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(get(), b.ptr, b.bytes(), to, stream_));
    const size_t there = to == VRAMSPAN_LOCATION_DEVICE ? b.bytes() : 0;
    EXPECT_TRUE(Eventually([&] { return runtime_->OnDevice(b) == there; }));
  }
  // What an eviction of the buffer copies, and what leaves without.
  Moved Evict(const Buffer& b) {
    const vramspanStatistics before = runtime_->stats();
    Move(b, VRAMSPAN_LOCATION_HOST);
    const vramspanStatistics after = runtime_->stats();
    return {after.bytes_out - before.bytes_out, after.bytes_out_clean - before.bytes_out_clean};
  }
  void ExpectRight(const Buffer& b) {
    runtime_->Synchronize();
    EXPECT_EQ(world_.Wrong(b), "");
  }

  const Watchdog watchdog_{"a test of discards", 60};
  const CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
};

TEST_F(DiscardTest, MovesWithoutACopyUntilItIsWritten) {
  Buffer& b = buffers_[0];
  Write(&b, 71);
  EXPECT_EQ(Evict(b), Copied(kChunk)) << "nothing was discarded";
  Write(&b, 72);
  Discard(b);
  EXPECT_EQ(Evict(b), WithoutACopy(kChunk));
  const uint64_t in = runtime_->stats().bytes_in;
  Move(b, VRAMSPAN_LOCATION_DEVICE);
  EXPECT_EQ(runtime_->stats().bytes_in, in);
  runtime_->Fill(b, 73, stream_);
  Wait();
  EXPECT_EQ(Evict(b), Copied(kChunk)) << "what was written is wanted";
  ExpectRight(b);
}

TEST_F(DiscardTest, WrittenOnTheHost) {
  Buffer& b = buffers_[0];
  Write(&b, 74);
  EXPECT_EQ(Evict(b), Copied(kChunk));
  Discard(b);
  EXPECT_SPAN(vramspanMemAdvise(get(), b.ptr, b.bytes(), VRAMSPAN_ADVISE_PREFER_HOST));
  runtime_->Fill(b, 75, stream_);
  Wait();
  EXPECT_EQ(runtime_->OnDevice(b), 0u);
  EXPECT_SPAN(vramspanMemAdvise(get(), b.ptr, b.bytes(), VRAMSPAN_ADVISE_NONE));
  Move(b, VRAMSPAN_LOCATION_DEVICE);
  ExpectRight(b);
}

TEST_F(DiscardTest, ChunksThatLieInTheRangeWhole) {
  Buffer large = runtime_->Alloc(3 * kChunk);
  Write(&large, 76);
  EXPECT_SPAN(Discard(large.ptr + 1, 3 * kChunk - 2));
  EXPECT_EQ(Evict(large), (Moved{2 * kChunk, kChunk}));
  runtime_->Synchronize();
  EXPECT_EQ(world_.Wrong({large.ptr, kChunkWords, large.seed, 0}), "");
  std::vector<Word> last(kChunkWords);
  EXPECT_CU(DRIVER(cuMemcpyDtoH)(last.data(), large.ptr + 2 * kChunk, kChunk));
  for (size_t i = 0; i < last.size(); ++i) {
    ASSERT_EQ(last[i], HashWord(2 * kChunkWords + i, large.seed)) << i;
  }
  runtime_->Free(large);
}

// Behind what was asked for an allocation has nothing that anybody could want.
TEST_F(DiscardTest, TheEndOfAnAllocation) {
  Buffer odd = runtime_->Alloc(kChunk + kMiB);
  for (const size_t left : {size_t{0}, size_t{1}}) {
    Write(&odd, 77 + left);
    EXPECT_SPAN(Discard(odd.ptr, odd.bytes() - left));
    EXPECT_EQ(Evict(odd), (Moved{left * kChunk, (2 - left) * kChunk}));
  }
  Write(&odd, 79);
  EXPECT_SPAN(Discard(odd.ptr, ~size_t{0}));
  EXPECT_SPAN(Discard(odd.ptr, 0));
  EXPECT_EQ(Evict(odd), WithoutACopy(2 * kChunk));
  runtime_->Free(odd);
}

// The launch is submitted before the discard, and reads what was there.
TEST_F(DiscardTest, WhileTheLaunchThatReadsItIsHeld) {
  HostFlag flag(world_), sums(world_);
  // The first launch of a kernel waits for all work there is.
  EXPECT_CU(DRIVER(cuFuncLoad)(world_.Kernel("checksum")));
  Buffer& read = buffers_[kBudget];
  Write(&read, 80);
  EXPECT_EQ(Evict(read), Copied(kChunk));
  for (size_t i = 0; i < kBudget; ++i) Move(buffers_[i], VRAMSPAN_LOCATION_DEVICE);
  // All the room there is, in use.
  const CUstream other = world_.NewStream();
  constexpr uint32_t kUse = VRAMSPAN_READ | VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY;
  runtime_->Begin(other, {buffers_[0].range(kUse), buffers_[1].range(kUse), buffers_[2].range(kUse),
                          buffers_[3].range(kUse)});
  EXPECT_CU(flag.SpinIn(other, 1));
  runtime_->End(other);
  runtime_->Begin(stream_, {read.range(VRAMSPAN_READ | VRAMSPAN_KERNELS_ONLY)});
  EXPECT_CU(world_.LaunchChecksum(read, sums.address(), stream_));
  runtime_->End(stream_);
  Discard(read);
  EXPECT_EQ(runtime_->OnDevice(read), 0u);
  flag.Set(1);
  Wait();
  Word right = 0;
  for (size_t i = 0; i < read.words; ++i) right ^= HashWord(i, HashWord(i, read.seed));
  Word sum = 0;
  EXPECT_CU(DRIVER(cuMemcpyDtoH)(&sum, sums.address(), sizeof(sum)));
  EXPECT_EQ(sum, right);
  Write(&read, 81);
  EXPECT_CU(world_.api().StreamSynchronize(other));
  EXPECT_CU(world_.api().StreamDestroy(other));
}

TEST_F(DiscardTest, NeitherInAScopeNorInACapture) {
  Buffer& b = buffers_[0];
  Write(&b, 82);
  runtime_->Begin(stream_, {b.range(VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY)});
  EXPECT_EQ(Discard(b.ptr, b.bytes()), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_NE(LastError().find("inside a work scope"), std::string::npos) << LastError();
  EXPECT_CU(world_.LaunchFill(b, stream_));
  runtime_->End(stream_);
  Wait();
  EXPECT_EQ(Evict(b), Copied(kChunk));
  ExpectRight(b);

  Write(&b, 83);
  const CUstream captures = world_.NewStream();
  EXPECT_CU(DRIVER(cuStreamBeginCapture)(captures, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_SPAN(vramspanMemDiscard(get(), b.ptr, b.bytes(), captures));
  CUgraph graph = nullptr;
  EXPECT_CU(DRIVER(cuStreamEndCapture)(captures, &graph));
  EXPECT_CU(DRIVER(cuGraphDestroy)(graph));
  EXPECT_CU(world_.api().StreamDestroy(captures));
  EXPECT_EQ(Evict(b), Copied(kChunk));
  ExpectRight(b);
}

// A scope may name memory of which another thread knows that it is free: what is launched in the
// scope may come behind the discard.
TEST_F(DiscardTest, BesideAScopeOfAnotherThread) {
  Buffer& b = buffers_[0];
  Write(&b, 86);
  runtime_->Begin(stream_, {b.range(VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY)});
  std::thread([&] { Discard(b); }).join();
  b.seed = 87;
  EXPECT_CU(world_.LaunchFill(b, stream_));
  runtime_->End(stream_);
  Wait();
  EXPECT_EQ(Evict(b), Copied(kChunk));
  ExpectRight(b);
  Write(&b, 88);
  Discard(b);
  EXPECT_EQ(Evict(b), WithoutACopy(kChunk)) << "there is no scope any more";
  Write(&b, 90);
}

// Where launches are not seen what is not declared may write anywhere, and nothing is discarded.
TEST_F(DiscardTest, WithoutATracer) {
  RuntimeOptions options;
  options.deadline_us = 30'000'000;
  TestRuntime declares(world_, options);
  Buffer b = declares.Alloc(kChunk);
  EXPECT_SPAN(vramspanMemPrefetchAsync(declares.get(), b.ptr, b.bytes(), VRAMSPAN_LOCATION_DEVICE,
                                       stream_));
  declares.Synchronize();
  EXPECT_SPAN(vramspanMemDiscard(declares.get(), b.ptr, b.bytes(), stream_));
  b.seed = 89;
  EXPECT_CU(world_.LaunchFill(b, stream_));
  Wait();
  EXPECT_SPAN(
      vramspanMemPrefetchAsync(declares.get(), b.ptr, b.bytes(), VRAMSPAN_LOCATION_HOST, stream_));
  declares.Synchronize();
  EXPECT_EQ(world_.Wrong(b), "");
  declares.Free(b);
}

// Behind Synchronize what is not declared may write anywhere.
TEST_F(DiscardTest, BesideWhatIsNotDeclared) {
  Buffer& b = buffers_[0];
  Write(&b, 84);
  Discard(b);
  runtime_->Synchronize();
  b.seed = 85;
  EXPECT_CU(world_.LaunchFill(b, stream_));
  Wait();
  EXPECT_EQ(Evict(b), Copied(kChunk));
  ExpectRight(b);
}

}  // namespace
}  // namespace vramspan_test
