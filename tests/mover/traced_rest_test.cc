// Programs that were short of memory and are no more: launches pass unseen again, and what they did
// meanwhile is found out when memory runs short anew.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

constexpr size_t kAll = 2 * kBudget;

class TracedRest : public TracedTest {
 protected:
  // Memory is short by half.
  void Start() {
    TracedTest::Start(kAll);
    for (size_t i = 0; i < kAll; ++i) Add(i, 1, stream_);
    Wait(stream_);
    ASSERT_GT(runtime_->stats().evictions, 0u);
  }
  void BudgetIs(size_t chunks) {
    EXPECT_SPAN(vramspanSetDeviceBudget(runtime_->get(), chunks * kChunk));
  }
  // Adds to these until recording has ended once more. The program computes in between: with `off`
  // nothing comes back while anything runs.
  void AwaitRest(const Indices& which) {
    const uint64_t before = runtime_->stats().rests;
    ASSERT_TRUE(Eventually([&] {
      for (const size_t i : which) Add(i, 1, stream_);
      Wait(stream_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return runtime_->stats().rests > before;
    }));
  }
  // Makes memory short and adds to these until each of the others was on the host.
  void AwaitOut(const Indices& which) {
    BudgetIs(kBudget);
    std::vector<bool> out(kAll, false);
    for (const size_t i : which) out[i] = true;
    ASSERT_TRUE(Eventually([&] {
      for (const size_t i : which) Add(i, 1, stream_);
      Wait(stream_);
      for (size_t i = 0; i < kAll; ++i) out[i] = out[i] || DeviceBytes(i) == 0;
      return std::find(out.begin(), out.end(), false) == out.end();
    }));
  }
};

TEST_P(TracedRest, LaunchesPassUnseenWhereAllIsOnTheDeviceAgain) {
  Start();
  BudgetIs(kAll);
  AwaitRest({0, 1});
  const vramspanStatistics before = runtime_->stats();
  for (size_t i = 0; i < kAll; ++i) Add(i, 1, stream_);
  Wait(stream_);
  EXPECT_EQ(runtime_->stats().works, before.works);
  EXPECT_EQ(runtime_->stats().launches, before.launches);
  for (size_t i = 0; i < kAll; ++i) EXPECT_TRUE(OnDevice(i)) << "buffer " << i;
}

TEST_P(TracedRest, NotWhileAnythingIsOnTheHost) {
  Start();
  BudgetIs(kAll - 1);
  // Others come and go; the pause is longer than what it takes elsewhere.
  for (int round = 0; round < 30; ++round) {
    Add(0, 1, stream_);
    Wait(stream_);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(runtime_->stats().rests, 0u);
}

TEST_P(TracedRest, MemoryMovesWhereItRunsShortAnew) {
  Start();
  for (int round = 0; round < 3; ++round) {
    BudgetIs(kAll);
    AwaitRest({0, 1});
    const vramspanStatistics before = runtime_->stats();
    AwaitOut({0, 1, 2, 3});
    EXPECT_GT(runtime_->stats().evictions, before.evictions);
    // Those may all have passed before work was recorded again, and the rest have left meanwhile.
    Add(0, 1, stream_);
    Wait(stream_);
    EXPECT_GT(runtime_->stats().works, before.works);
  }
}

TEST_P(TracedRest, AllocationsThatDoNotFitAreEnough) {
  Start();
  BudgetIs(kAll);
  AwaitRest({0, 1});
  const vramspanStatistics before = runtime_->stats();
  NewBuffer();
  Add(kAll, 1, stream_);
  Wait(stream_);
  EXPECT_GT(runtime_->stats().works, before.works);
}

// What came back unused has a copy on the host.
TEST_P(TracedRest, CopiesOnTheHostAreOldOnceWorkPassedUnseen) {
  Start();
  AwaitOut({0, 1, 2, 3});
  BudgetIs(kAll);
  AwaitRest({0, 1});
  for (size_t i = kBudget; i < kAll; ++i) Add(i, 5, stream_);
  AwaitOut({0, 1, 2, 3});
}

// The stream carried recorded work, and then work that passed unseen: the end of the first says
// nothing of the other.
TEST_P(TracedRest, WorkThatPassedUnseenIsWaitedFor) {
  Start();
  BudgetIs(kAll);
  HostFlag flag(world_);
  const CUstream parked = NewStream();
  ASSERT_TRUE(Eventually([&] {
    return runtime_->stats().device_used == kAll * kChunk && OnDevice(0) && OnDevice(7);
  }));
  EXPECT_CU(flag.ParkIn(parked, 1));
  Add(6, 1, parked);
  AwaitRest({0, 1});
  EXPECT_CU(flag.ParkIn(parked, 2));
  Add(7, 1, parked);
  const uint64_t remaps = runtime_->stats().remaps, works = runtime_->stats().works;
  flag.Set(1);
  // That the first has ended the mover sees by itself.
  ASSERT_TRUE(Eventually([&] {
    CUresult done = CUDA_ERROR_NOT_READY;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = world_.api().StreamQuery(stream_);
    return done == CUDA_SUCCESS;
  }));
  BudgetIs(kBudget);
  // Long enough for the mover to look again and again.
  ASSERT_TRUE(Eventually([&] {
    for (size_t i = 0; i < kBudget; ++i) Add(i, 1, stream_);
    Wait(stream_);
    return runtime_->stats().works > works + 200;
  }));
  EXPECT_TRUE(OnDevice(7));
  EXPECT_GE(runtime_->stats().unsettled_streams, 1u);
  EXPECT_EQ(runtime_->stats().remaps, remaps) << "nothing is known of its users yet";
  flag.Set(2);
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().unsettled_streams == 0; }));
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().remaps > remaps; }));
}

// Nobody but the thread can mark its stream. Memory from before may be in use there, also such as
// was allocated while work was recorded; other memory moves.
TEST_P(TracedRest, WorkOfAThreadsOwnStreamKeepsItsMemory) {
  Start();
  BudgetIs(kAll);
  AwaitRest({0, 1});
  HostFlag flag(world_);
  std::atomic<bool> submitted{false};
  std::thread thread([&] {
    EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
    EXPECT_CU(flag.ParkIn(CU_STREAM_PER_THREAD, 1));
    Add(kAll - 1, 1, CU_STREAM_PER_THREAD);
    submitted.store(true);
    Wait(CU_STREAM_PER_THREAD);
  });
  EXPECT_TRUE(Eventually([&] { return submitted.load(); }));
  BudgetIs(kBudget);
  const uint64_t works = runtime_->stats().works;
  ASSERT_TRUE(Eventually([&] {
    for (size_t i = 0; i < kBudget; ++i) Add(i, 1, stream_);
    Wait(stream_);
    return runtime_->stats().works > works + 200;
  }));
  EXPECT_TRUE(OnDevice(kAll - 1));
  flag.Set(1);
  thread.join();
}

// A launch that was recorded keeps what was freed, and ends when nothing is recorded.
TEST_P(TracedRest, WhatIsFreedMeanwhileIsGivenBack) {
  Start();
  BudgetIs(kAll);
  // With `off` nothing comes beside what runs.
  ASSERT_TRUE(Eventually([&] { return runtime_->stats().device_used == kAll * kChunk; }));
  HostFlag flag(world_);
  const CUstream parked = NewStream();
  EXPECT_CU(flag.ParkIn(parked, 1));
  Add(7, 1, parked);
  AwaitRest({0, 1});
  ASSERT_TRUE(OnDevice(7));
  std::thread frees([&] {
    EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
    runtime_->Free(buffers_[7]);
    runtime_->Synchronize();
  });
  flag.Set(1);
  frees.join();
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().device_used <= (kAll - 1) * kChunk; }));
}

TEST_P(TracedRest, ThreadsGoOnMeanwhile) {
  Start();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  // Each with memory of its own.
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      const CUstream own = t == 0 ? CU_STREAM_PER_THREAD : world_.NewStream();
      while (!stop.load()) {
        for (size_t i = 2 + 2 * t; i < 4 + 2 * t; ++i) Add(i, 1, own);
        EXPECT_CU(world_.api().StreamSynchronize(own));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      if (own != CU_STREAM_PER_THREAD) {
        EXPECT_CU(world_.api().StreamDestroy(own));
      }
    });
  }
  for (int round = 0; round < 3; ++round) {
    BudgetIs(kAll);
    AwaitRest({0, 1});
    const uint64_t evictions = runtime_->stats().evictions;
    BudgetIs(kBudget);
    EXPECT_TRUE(Eventually([&] { return runtime_->stats().evictions > evictions + 8; }));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TRACED(TracedRest);

}  // namespace
}  // namespace vramspan_test
