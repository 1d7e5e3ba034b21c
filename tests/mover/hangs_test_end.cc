// What ends while work is held: memory that the work uses, and the context.
#include <atomic>
#include <cstdio>

#include "tests/mover/alone.h"
#include "tests/mover/hangs_test_fixture.h"

namespace vramspan_test {
namespace {

// Memory of work in flight, which the program's own wait keeps from running, and of work that is
// held because of it.
TEST_F(Hangs, FreeOfMemoryThatHeldWorkUses) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  const CUstream a = NewStream(), b = NewStream(), c = NewStream();
  Flag flag;
  flag.ParkIn(a, 1);
  const vramspanStatistics before = Stats();
  Await("work to be submitted behind a closed wait, and work that needs its room");
  Add(a, {0, 1, 2, 3});
  Add(b, {4, 5});
  EXPECT_GT(Stats().works_held, before.works_held);
  for (const size_t i : {0, 1, 4}) {
    Await("memory to be freed that work uses which cannot run");
    EXPECT_SPAN(vramspanMemFree(runtime_, blocks_[i].ptr));
    EXPECT_NE(vramspanMemFree(runtime_, blocks_[i].ptr), CUDA_SUCCESS) << "freed twice";
    blocks_[i].ptr = 0;
  }
  Await("memory to be allocated while some is freed but in use");
  Block block;
  block.seed = 100;
  ASSERT_SPAN(vramspanMemAlloc(runtime_, &block.ptr, kChunk));
  blocks_.push_back(block);
  ASSERT_SPAN(Begin(c, {8}, VRAMSPAN_WRITE));
  size_t words = kWords;
  EXPECT_CU(world_.Launch(world_.Kernel("fill_hash"), c, {&block.ptr, &words, &block.seed}, 8));
  EXPECT_SPAN(End(c));
  flag.Set(1);
  Finish();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].ptr != 0) Add(c, {i});
  }
  Finish();
  EXPECT_EQ(Stats().allocations, 6u);
  EXPECT_GT(Stats().fetches, before.fetches);
}

// cuMemFree waits for all work of its context, held work too, and other launches wait with it.
TEST_F(Hangs, DriversFreeBehindHeldWork) {
  ASSERT_NO_FATAL_FAILURE(Prepare(32, 16, {.budget = 16, .deadline_us = kLongDeadlineUs}));
  const CUstream a = NewStream(), b = NewStream();
  const vramspanStatistics before = Stats();
  for (int round = 0; round < 2; ++round) {
    CUdeviceptr foreign = 0;
    ASSERT_CU(cu_.MemAlloc(&foreign, kChunk));
    Await("work that needs many moves");
    ASSERT_SPAN(Begin(a, {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}));
    for (size_t i = 16; i < 32; ++i) LaunchAdd(a, i);
    EXPECT_CU(cu_.MemcpyDtoDAsync(foreign, blocks_[16].ptr, kChunk, a));
    EXPECT_SPAN(End(a));
    Start([&] {
      for (size_t i = 0; i < 8; ++i) Add(b, {i});
    });
    Await("cuMemFree of memory that held work uses");
    EXPECT_CU(cu_.MemFree(foreign));
    Await("work beside cuMemFree");
    Join();
    for (size_t i = 8; i < 16; ++i) Add(b, {i});
    Finish();
  }
  EXPECT_GT(Stats().works_held, before.works_held);
  EXPECT_GT(Stats().fetches, before.fetches);
}

class HangsContextDies : public Hangs {
 protected:
  // Submits, behind the flag, a kernel that kills the context: an address that is the driver's,
  // with nothing there. Ahead of all else, since a thread that is blocked inside the driver may
  // keep others from submitting anything (seen on the H200: a copy from pageable memory behind a
  // hold).
  void Doom(Flag* flag, CUstream stream) {
    CUdeviceptr nowhere = 0;
    ASSERT_CU(cu_.MemAddressReserve(&nowhere, kChunk, 0, 0, 0));
    flag->ParkIn(stream, 1);
    EXPECT_CU(world_.Launch(world_.Kernel("touch"), stream, {&nowhere}, 1));
  }
  void Die(Flag* flag, CUstream stream) {
    Await("the context to die");
    flag->Set(1);
    EXPECT_TRUE(Within(std::chrono::seconds(20),
                       [&] { return cu_.StreamQuery(stream) == CUDA_ERROR_ILLEGAL_ADDRESS; }));
  }

  void WhileWorkIsHeld();
};

void HangsContextDies::WhileWorkIsHeld() {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  const CUstream a = NewStream(), b = NewStream(), c = NewStream(), d = NewStream();
  Flag flag, doom;
  ASSERT_NO_FATAL_FAILURE(Doom(&doom, c));
  flag.ParkIn(a, 1);
  const vramspanStatistics before = Stats();
  Await("work to be submitted behind a closed wait, and work that needs its room");
  Add(a, {0, 1, 2, 3});
  Add(b, {4, 5});
  EXPECT_GT(Stats().works_held, before.works_held);
  std::atomic<int> waiting{0};
  // In the driver behind the held work, and in the runtime for its end.
  std::vector<Word> words(kWords);
  Start([&] {
    EXPECT_SPAN(Begin(d, {6}, VRAMSPAN_READ));
    ++waiting;
    // Given way to before the context dies, or not: both are right, as long as it comes back.
    (void)cu_.MemcpyDtoHAsync(words.data(), blocks_[6].ptr, kChunk, d);
    vramspanWorkEnd(runtime_, d);
  });
  Start([&] {
    ++waiting;
    EXPECT_NE(vramspanSynchronize(runtime_), CUDA_SUCCESS);
  });
  Await("two threads to wait for held work");
  EXPECT_TRUE(Within(std::chrono::seconds(10), [&] { return waiting == 2; }));
  context_dead_ = true;
  Die(&doom, c);
  Await("vramspanSynchronize in a dead context");
  EXPECT_NE(vramspanSynchronize(runtime_), CUDA_SUCCESS);
  Await("work in a dead context");
  // What it answers is not laid down; it must come back, and leave no scope open.
  for (const CUstream stream : {a, b, c}) {
    if (Begin(stream, {7}) == CUDA_SUCCESS) End(stream);
    EXPECT_NE(End(stream), CUDA_SUCCESS);
  }
  Await("memory to be freed and allocated in a dead context");
  vramspanMemFree(runtime_, blocks_[0].ptr);
  vramspanMemFree(runtime_, blocks_[4].ptr);
  CUdeviceptr p = 0;
  vramspanMemAlloc(runtime_, &p, kChunk);
  Await("a pin and a prefetch in a dead context");
  vramspanMemPin(runtime_, blocks_[5].ptr, kChunk);
  vramspanMemPrefetchAsync(runtime_, blocks_[6].ptr, kChunk, VRAMSPAN_LOCATION_DEVICE, a);
  vramspanStreamForget(runtime_, a);
  Await("the threads that waited for held work in a dead context");
  Join();
}

TEST_F(HangsContextDies, WhileWorkIsHeld) {
  // The error of a dead context stays for the life of the process.
  if (!IsAlone()) {
    Await("a process of its own in which the context dies");
    return ExpectPassesAlone();
  }
  WhileWorkIsHeld();
  std::fflush(nullptr);
}

}  // namespace
}  // namespace vramspan_test
