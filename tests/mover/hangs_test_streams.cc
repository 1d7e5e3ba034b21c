// Streams that stand in each other's way: parked ones, which hold back others of their context by
// the hardware queues they share; the legacy stream, which waits for all; streams of which the
// runtime knows nothing; captures, which a wait anywhere else in the process ruins.
#include <array>
#include <atomic>

#include "tests/mover/hangs_test_fixture.h"

namespace vramspan_test {
namespace {

constexpr size_t kManyStreams = 64;  // More than a context can have hardware queues.

class HangsManyStreams : public Hangs {
 protected:
  // Streams take hardware queues when they have done a kernel and a copy.
  void MakeStreams() {
    Await("64 streams to do a kernel and a copy each");
    ASSERT_CU(cu_.MemAlloc(&scratch_, kManyStreams * 4096));
    ASSERT_CU(cu_.MemHostAlloc(&pinned_, 4096, CU_MEMHOSTALLOC_PORTABLE));
    for (size_t i = 0; i < kManyStreams; ++i) {
      const CUstream stream = NewStream(i % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
      ASSERT_CU(world_.Launch(world_.Kernel("nothing"), stream, {}, 1));
      many_.push_back(stream);
      Copy(i);
    }
    ASSERT_CU(cu_.CtxSynchronize());
  }
  void Copy(size_t i) {
    EXPECT_CU(cu_.MemcpyHtoDAsync(scratch_ + i * 4096, pinned_, 4096, many_[i]));
  }
  void ParkAll(Flag& flag) {
    Await("64 streams to be parked");
    for (size_t i = 0; i < kManyStreams; ++i) {
      Copy(i);
      flag.ParkIn(many_[i], 1);
      EXPECT_CU(world_.Launch(world_.Kernel("nothing"), many_[i], {}, 1));
    }
  }

  void TearDown() override {
    CloseRuntime();
    Await("64 streams to end");
    EXPECT_CU(cu_.MemFree(scratch_));
    EXPECT_CU(cu_.MemFreeHost(pinned_));
    Hangs::TearDown();
  }

  CUdeviceptr scratch_ = 0;
  void* pinned_ = nullptr;
  std::vector<CUstream> many_;
};

// The runtime's own holds park them; what they wait for are copies.
TEST_F(HangsManyStreams, HeldAfterCopiesWhileTheirChunksMustMove) {
  ASSERT_NO_FATAL_FAILURE(Prepare(kManyStreams, 4, {.deadline_us = kLongDeadlineUs}));
  ASSERT_NO_FATAL_FAILURE(MakeStreams());
  const vramspanStatistics before = Stats();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kManyStreams; ++i) {
      Await("work in stream " + std::to_string(i) + " to be submitted");
      Copy(i);
      Add(many_[i], {i});
    }
  }
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GE(after.works_held - before.works_held, kManyStreams);
  EXPECT_GE(after.fetches - before.fetches, kManyStreams);
  EXPECT_EQ(after.deadlines, before.deadlines);
}

// The program parks them, and opens the wait when it has seen the move.
TEST_F(HangsManyStreams, ParkedByTheProgramWhileAChunkMustMove) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  ASSERT_NO_FATAL_FAILURE(MakeStreams());
  const CUstream ours = NewStream();
  Add(ours, {0, 1});
  Finish();
  Flag flag;
  ParkAll(flag);
  const vramspanStatistics before = Stats();
  Await("work beside parked streams to be submitted");
  Add(ours, {4, 5});
  Await("memory to be moved beside parked streams");
  EXPECT_TRUE(Within(std::chrono::seconds(20), [&] { return OnDevice(4) && OnDevice(5); }));
  flag.Set(1);
  Finish();
  EXPECT_GE(Stats().fetches - before.fetches, 2u);
}

// Without a context of its own the runtime's copies stand behind the parked streams: the launching
// thread, which is to open the wait, must come back all the same.
TEST_F(HangsManyStreams, ParkedByTheProgramWhileAChunkMustMoveInASharedContext) {
  // One chunk finds room and is on its way, another must make room first.
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 3, {.flags = VRAMSPAN_CONFIG_SHARE_CONTEXT}));
  ASSERT_NO_FATAL_FAILURE(MakeStreams());
  const CUstream ours = NewStream();
  Add(ours, {0, 1});
  Finish();
  Flag flag;
  ParkAll(flag);
  const vramspanStatistics before = Stats();
  CUdeviceptr seen = 0;
  ASSERT_CU(cu_.MemAlloc(&seen, kChunk));
  size_t words = kWords;
  Await("work beside parked streams to be submitted, in a shared context");
  // Only read: what a copy has begun that was given up may still read as well.
  ASSERT_SPAN(Begin(ours, {4, 5}, VRAMSPAN_READ));
  for (const size_t i : {4, 5}) {
    EXPECT_CU(world_.Launch(world_.Kernel("copy"), ours, {&seen, &blocks_[i].ptr, &words}, 8));
  }
  EXPECT_SPAN(End(ours));
  flag.Set(1);
  Finish();
  std::vector<Word> read(kWords), right(kWords);
  ASSERT_CU(world_.MemcpyDtoH(read.data(), seen, kChunk));
  ASSERT_CU(world_.MemcpyDtoH(right.data(), blocks_[5].ptr, kChunk));
  EXPECT_EQ(read, right);
  EXPECT_CU(cu_.MemFree(seen));
  EXPECT_GT(Stats().works_held, before.works_held);
}

// A copy of the legacy stream waits for the held work of every blocking stream, inside the call and
// inside its own scope; it needs memory that is on the host itself.
TEST_F(Hangs, LegacyCopyInFlightBehindHeldWork) {
  ASSERT_NO_FATAL_FAILURE(Prepare(24, 8, {.budget = 8}));
  const CUstream blocking = NewStream(CU_STREAM_DEFAULT), other = NewStream(CU_STREAM_DEFAULT);
  const vramspanStatistics before = Stats();
  std::vector<Word> words(kWords);
  for (int round = 0; round < 3; ++round) {
    Await("work that needs moves, in blocking streams");
    for (size_t i = 8; i < 20; ++i) Add(i % 2 == 0 ? blocking : other, {i});
    Await("a legacy copy of memory on the host behind held work");
    ASSERT_SPAN(Begin(nullptr, {20}, VRAMSPAN_READ));
    EXPECT_CU(world_.MemcpyDtoH(words.data(), blocks_[20].ptr, kChunk));
    EXPECT_SPAN(End(nullptr));
    EXPECT_CU(cu_.StreamQuery(blocking)) << "the legacy stream has not waited";
    Await("a legacy copy to memory on the host behind held work");
    for (size_t i = 0; i < 8; ++i) Add(i % 2 == 0 ? blocking : other, {i});
    ASSERT_SPAN(Begin(nullptr, {20}));
    EXPECT_CU(world_.MemcpyHtoD(blocks_[20].ptr, words.data(), kChunk));
    EXPECT_SPAN(End(nullptr));
  }
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GT(after.works_held, before.works_held);
  EXPECT_GT(after.fetches, before.fetches);
}

// One thread sits in a legacy copy behind a wait of the program's own, which somebody opens who has
// seen memory move for the work of a third. On a real driver that one's launch may wait with the
// copy, inside its scope; then the wait is opened all the same.
TEST_F(Hangs, LegacyCopyInFlightBehindTheProgramsOwnWait) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  const CUstream s = NewStream();
  Add(s, {0});
  Finish();
  CUdeviceptr foreign = 0;
  ASSERT_CU(cu_.MemAlloc(&foreign, kChunk));
  std::vector<char> bytes(kChunk);
  Flag flag;
  std::atomic<bool> copying{false}, submitted{false};
  flag.ParkIn(CU_STREAM_LEGACY, 1);
  Start([&] {
    copying = true;
    EXPECT_CU(world_.MemcpyDtoH(bytes.data(), foreign, kChunk));
  });
  Start([&] {
    const bool free = Within(std::chrono::seconds(3), [&] { return submitted.load(); });
    const auto moved = [&] { return OnDevice(4) && OnDevice(5); };
    EXPECT_TRUE(!free || Within(std::chrono::seconds(10), moved));
    flag.Set(1);
  });
  Await("the copying thread to start");
  EXPECT_TRUE(Within(std::chrono::seconds(10), [&] { return copying.load(); }));
  const vramspanStatistics before = Stats();
  Await("work beside a legacy copy");
  Add(s, {4, 5});
  submitted = true;
  Await("the legacy copy");
  Join();
  Finish();
  EXPECT_GT(Stats().works_held, before.works_held);
  EXPECT_CU(cu_.MemFree(foreign));
}

// A stream that was made, and given work that waits, before there was a runtime, and that is never
// declared to it: not to be waited for.
TEST_F(Hangs, WorkOnAStreamNeverSeenSpinsWhileOthersNeedMoves) {
  const CUstream unseen = NewStream(), s = NewStream();
  Flag flag;
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  flag.SpinIn(unseen, 1);
  const vramspanStatistics before = Stats();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 8; ++i) {
      Await("work that needs a move, beside a spinning kernel of a stream never seen");
      Add(s, {i});
    }
  }
  Await("work that needed moves, beside a spinning kernel of a stream never seen");
  EXPECT_CU(cu_.StreamSynchronize(s));
  EXPECT_GT(Stats().fetches, before.fetches);
  EXPECT_EQ(cu_.StreamQuery(unseen), CUDA_ERROR_NOT_READY);
  // Its next work is declared: held behind a kernel of which nobody knows when it ends.
  Await("declared work behind undeclared work that spins");
  Add(unseen, {0, 5});
  Add(s, {6});
  flag.Set(1);
  Finish();
  EXPECT_EQ(Stats().deadlines, before.deadlines);
}

// Streams that carried work before memory ran short and were destroyed without a word: when their
// work ends is never told, and what it may have touched stays where it is. The rest moves.
TEST_F(Hangs, StreamsDestroyedWithoutAWord) {
  ASSERT_NO_FATAL_FAILURE(Open({.budget = 8, .deadline_us = kLongDeadlineUs}));
  ASSERT_NO_FATAL_FAILURE(Fill(2));
  for (int i = 0; i < 3; ++i) {
    CUstream gone = nullptr;
    ASSERT_CU(cu_.StreamCreate(&gone, CU_STREAM_NON_BLOCKING));
    Add(gone, {0, 1});
    ASSERT_CU(cu_.StreamSynchronize(gone));
    ASSERT_CU(cu_.StreamDestroy(gone));
  }
  ASSERT_NO_FATAL_FAILURE(Fill(14));
  const CUstream s = NewStream();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 16; ++i) {
      Await("work beside memory whose users are not known");
      Add(s, {i});
    }
    Finish();
  }
  EXPECT_GT(Stats().fetches, 0u);
}

// Global captures of another thread: no wait that the runtime makes may ruin them, and work that is
// declared in the capturing stream is not held (the hold would be captured). Memory runs short
// before the capture begins, or while it goes on.
class HangsCapture : public Hangs, public testing::WithParamInterface<bool> {
 protected:
  // Until `stop` is set; leaves the graph of one addition to a block.
  void Capture(size_t block, const std::atomic<bool>& stop, std::atomic<bool>& started,
               CUgraph* graph) {
    CUstream stream = nullptr;
    ASSERT_CU(cu_.StreamCreate(&stream, CU_STREAM_DEFAULT));
    ASSERT_CU(world_.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    started = true;
    EXPECT_SPAN(Begin(stream, {block}));
    LaunchAdd(stream, block);
    EXPECT_SPAN(End(stream));
    while (!stop) std::this_thread::yield();
    EXPECT_CU(world_.StreamEndCapture(stream, graph)) << "the capture was ruined";
    EXPECT_SPAN(vramspanStreamForget(runtime_, stream));
    EXPECT_CU(cu_.StreamDestroy(stream));
    blocks_[block].add -= 1;  // It was captured, and has not run.
  }
};

TEST_P(HangsCapture, InAnotherThread) {
  const bool short_before = GetParam();
  CUstream s = nullptr;
  const HangsOptions options{.budget = 4, .deadline_us = kLongDeadlineUs};
  if (short_before) {
    ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, options));
    s = NewStream();
  } else {
    ASSERT_NO_FATAL_FAILURE(Open(options));
    ASSERT_NO_FATAL_FAILURE(Fill(2));
    s = NewStream();
    blocks_.reserve(8);  // The capturing thread looks at them.
  }
  const size_t captured = short_before ? 7 : 0;
  std::atomic<bool> stop{false}, started{false};
  CUgraph graph = nullptr;
  Start([&] { Capture(captured, stop, started, &graph); });
  Await("the capture to begin");
  EXPECT_TRUE(Within(std::chrono::seconds(10), [&] { return started.load(); }));
  while (blocks_.size() < 8) {
    Await("memory to be allocated beside a capture");
    Block block;
    block.seed = blocks_.size() + 1;
    ASSERT_SPAN(vramspanMemAlloc(runtime_, &block.ptr, kChunk));
    blocks_.push_back(block);
    size_t words = kWords;
    ASSERT_SPAN(Begin(s, {blocks_.size() - 1}, VRAMSPAN_WRITE));
    EXPECT_CU(world_.Launch(world_.Kernel("fill_hash"), s, {&block.ptr, &words, &block.seed}, 8));
    EXPECT_SPAN(End(s));
  }
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 1; i < 7; ++i) {
      Await("work that needs moves beside a capture");
      Add(s, {i});
    }
    Await("vramspanSynchronize beside a capture");
    EXPECT_SPAN(vramspanSynchronize(runtime_));
  }
  Await("memory to be freed and allocated beside a capture");
  CUdeviceptr extra = 0;
  EXPECT_SPAN(vramspanMemAlloc(runtime_, &extra, 3 * kChunk));
  EXPECT_SPAN(vramspanMemFree(runtime_, extra));
  EXPECT_SPAN(vramspanSynchronize(runtime_));
  EXPECT_GT(Stats().works_held, 0u);
  // What is older than the shortage moves when all streams of that time are known to be done, and
  // the capturing one is not.
  if (short_before) {
    EXPECT_GT(Stats().fetches, 0u);
  }
  stop = true;
  Await("the capture to end");
  Join();
  ASSERT_NE(graph, nullptr);

  Await("the captured graph to run");
  CUgraphExec exec = nullptr;
  ASSERT_CU(world_.GraphInstantiate(&exec, graph, 0));
  ASSERT_SPAN(Begin(s, {captured}));
  EXPECT_CU(world_.GraphLaunch(exec, s));
  EXPECT_SPAN(End(s));
  blocks_[captured].add += 1;
  Finish();
  for (size_t i = 1; i < 7; ++i) Add(s, {i});
  Finish();
  EXPECT_GT(Stats().fetches, 0u);
  EXPECT_CU(world_.GraphExecDestroy(exec));
  EXPECT_CU(world_.GraphDestroy(graph));
}

INSTANTIATE_TEST_SUITE_P(Hangs, HangsCapture, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "MemoryIsShort" : "MemoryRunsShort");
});

}  // namespace
}  // namespace vramspan_test
