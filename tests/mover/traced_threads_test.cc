// Threads that come and go, each with its default stream. The system gives the next thread the id
// of one that has ended, whose work may still run: they must not be taken for one.
#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class TracedThreads : public TracedTest {
 protected:
  void Start(size_t buffers) {
    TracedTest::Start(buffers);
    // A kernel's first launch waits for what runs.
    Add(0, 1, stream_);
    Wait(stream_);
  }
  // Runs `body` on a thread of its own, which has ended on return; tells what its id was.
  std::thread::id OnThread(const std::function<void()>& body) {
    std::thread thread([&] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      body();
    });
    const std::thread::id id = thread.get_id();
    thread.join();
    return id;
  }
  // On threads until one has that id; `body` is called on each.
  void OnThreadWithId(std::thread::id id, const std::function<void()>& body) {
    int tries = 0;
    while (OnThread(body) != id) ASSERT_LT(++tries, 100) << "no thread gets the id of an ended one";
  }
};

TEST_P(TracedThreads, WorkOfAnEndedThreadKeepsItsMemory) {
  Start(2 * kBudget);
  CUevent event = nullptr;
  ASSERT_CU(world_.api().EventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ExpectStay({0}, [&](CUstream parked) {
    EXPECT_CU(world_.api().EventRecord(event, parked));
    const std::thread::id ended = OnThread([&] {
      EXPECT_CU(world_.api().StreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
      Add(0, 1, CU_STREAM_PER_THREAD);
    });
    OnThreadWithId(ended, [&] {
      for (int i = 0; i < 4; ++i) Add(0, 1, CU_STREAM_PER_THREAD);
      Wait(CU_STREAM_PER_THREAD);
    });
  });
  EXPECT_CU(world_.api().EventDestroy(event));
}

// What they carried before work was recorded settles by itself: nobody waits for the context.
TEST_P(TracedThreads, ThatEndedBeforeMemoryRanShortAreSettled) {
  Start(2);
  // One thread's work comes behind another's: both write the same words.
  CUevent done = nullptr;
  EXPECT_CU(world_.api().EventCreate(&done, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 8; ++i) {
    OnThread([&] {
      EXPECT_CU(world_.api().StreamWaitEvent(CU_STREAM_PER_THREAD, done, 0));
      Add(0, 1, CU_STREAM_PER_THREAD);
      EXPECT_CU(world_.api().EventRecord(done, CU_STREAM_PER_THREAD));
    });
  }
  while (buffers_.size() < 2 * kBudget) NewBuffer();
  Wait(stream_);
  EXPECT_GT(runtime_->stats().works, 0u);
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().unsettled_streams == 0; }));
  EXPECT_CU(world_.api().EventDestroy(done));
}

// The real driver may hang or crash where a thread ends with work in its own stream (580.159.04):
// no mark is put there behind work that the thread has waited for.
TEST_P(TracedThreads, ThatWaitedForTheirWorkEndWithNone) {
  Start(2);
  const auto marks = world_.call_count("cuStreamWriteValue32");
  for (int i = 0; i < 8; ++i) {
    OnThread([&] {
      Add(0, 1, CU_STREAM_PER_THREAD);
      Wait(CU_STREAM_PER_THREAD);
    });
  }
  EXPECT_EQ(world_.call_count("cuStreamWriteValue32"), marks);
  while (buffers_.size() < 2 * kBudget) NewBuffer();
  Wait(stream_);
  EXPECT_GT(runtime_->stats().works, 0u);
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().unsettled_streams == 0; }));
}

// The mover marks the streams when memory runs short. Those that the program destroys meanwhile are
// gone: the real driver crashes on such a handle (seen on an H200, in cuStreamIsCapturing).
TEST_P(TracedThreads, StreamsMayGoWhenMemoryRunsShort) {
  Start(2);
  std::vector<CUstream> streams(40);
  for (CUstream& stream : streams) {
    stream = world_.NewStream();
    Add(0, 1, stream);
    Wait(stream);
  }
  const auto stale = world_.stale_uses();
  const auto asked = world_.call_count("cuStreamIsCapturing");
  world_.set_delay("cuStreamIsCapturing", 1000);
  std::thread destroys([&] {
    EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
    EXPECT_TRUE(Eventually([&] { return world_.call_count("cuStreamIsCapturing") > asked; }));
    for (; !streams.empty(); streams.pop_back())
      EXPECT_CU(world_.api().StreamDestroy(streams.back()));
  });
  while (buffers_.size() < 2 * kBudget) NewBuffer();
  destroys.join();
  world_.set_delay("cuStreamIsCapturing", 0);
  EXPECT_EQ(world_.stale_uses(), stale);
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().unsettled_streams == 0; }));
}

// And not before what they carried has ended.
TEST_P(TracedThreads, ThatEndedBeforeMemoryRanShortAreWaitedFor) {
  Start(2);
  HostFlag flag(world_);
  OnThread([&] {
    EXPECT_CU(flag.ParkIn(CU_STREAM_PER_THREAD, 1));
    Add(0, 1, CU_STREAM_PER_THREAD);
  });
  while (buffers_.size() < 2 * kBudget) NewBuffer();
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().works > 0; }));
  // The mover has looked at it again and again.
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().stall_drain_ns > 20'000'000; }));
  EXPECT_GE(runtime_->stats().unsettled_streams, 1u);
  EXPECT_TRUE(OnDevice(0));
  flag.Set(1);
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().unsettled_streams == 0; }));
}

TEST_P(TracedThreads, ComeAndGoWhileMemoryMoves) {
  Start(2 * kBudget);
  const Pressure pressure(this, {3, 4, 5, 6, 7});
  // What the last of a buffer's threads has left running: the next one's comes behind it.
  std::array<CUevent, 3> done{};
  for (CUevent& event : done) EXPECT_CU(world_.api().EventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int round = 0; round < 100; ++round) {
    std::array<std::thread, 3> threads;
    for (size_t i = 0; i < threads.size(); ++i) {
      threads[i] = std::thread([&, i] {
        EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
        EXPECT_CU(world_.api().StreamWaitEvent(CU_STREAM_PER_THREAD, done[i], 0));
        for (int n = 0; n < 3; ++n) Add(i, 1, CU_STREAM_PER_THREAD);
        EXPECT_CU(world_.api().EventRecord(done[i], CU_STREAM_PER_THREAD));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_CU(world_.api().CtxSynchronize());
  for (const CUevent event : done) EXPECT_CU(world_.api().EventDestroy(event));
}

INSTANTIATE_TRACED(TracedThreads);

}  // namespace
}  // namespace vramspan_test
