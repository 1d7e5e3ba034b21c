// Threads that sit inside the driver behind held work: only the runtime can let that work go, so it
// must need neither them, nor a lock that they hold, nor that they have left their scope.
#include <atomic>

#include "tests/kernels/test_kernels.h"
#include "tests/mover/hangs_test_fixture.h"

namespace vramspan_test {
namespace {

// More than the driver takes behind a closed wait (about 1,020).
constexpr int kManyLaunches = 1100;

class HangsInDriver : public Hangs {
 protected:
  // add_constant from an image of its own: never launched, so not loaded.
  CUfunction FreshKernel() {
    CUlibrary library = nullptr;
    const auto load = [&](CUlibrary* loaded, const void* image) {
      return world_.LibraryLoadData(loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    };
    EXPECT_CU(simcuda::LoadKernels(test_kernels_images(), load, &library));
    libraries_.push_back(library);
    CUkernel kernel = nullptr;
    EXPECT_CU(world_.LibraryGetKernel(&kernel, library, "add_constant"));
    return reinterpret_cast<CUfunction>(kernel);
  }
  void LaunchFresh(CUfunction kernel, CUstream stream, size_t block) {
    size_t words = kWords;
    Word value = 1;
    EXPECT_CU(world_.Launch(kernel, stream, {&blocks_[block].ptr, &words, &value}, 8));
    blocks_[block].add += value;
  }
  void TearDown() override {
    for (const CUlibrary library : libraries_) {
      Await("a library to be unloaded");
      EXPECT_CU(world_.LibraryUnload(library));
    }
    Hangs::TearDown();
  }

  // Work that takes a while to be moved for: all of a budget of 16 blocks has to leave.
  static constexpr HangsOptions kMuchToMove{.budget = 16, .deadline_us = kLongDeadlineUs};
  void AddToSixteen(CUstream stream) {
    ASSERT_SPAN(Begin(stream, {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}));
    for (size_t i = 16; i < 32; ++i) LaunchAdd(stream, i);
    EXPECT_SPAN(End(stream));
  }

  std::vector<CUlibrary> libraries_;
};

// The first launch loads the kernel and waits for the device inside the call: for the held one.
TEST_F(HangsInDriver, FirstLaunchOfAKernelBehindAHeldOne) {
  int behind_held = 0;
  const CUstream a = NewStream(), b = NewStream();
  ASSERT_NO_FATAL_FAILURE(Prepare(32, 16, kMuchToMove));
  for (int attempt = 0; attempt < 5 && behind_held == 0; ++attempt) {
    const CUfunction fresh = FreshKernel();
    AddToSixteen(a);
    behind_held += cu_.StreamQuery(a) == CUDA_ERROR_NOT_READY;
    // Its own memory is on the host by then, or leaves just now.
    Await("the first launch of a kernel, behind held work");
    ASSERT_SPAN(Begin(b, {0}));
    LaunchFresh(fresh, b, 0);
    EXPECT_SPAN(End(b));
    for (const size_t i : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) Add(b, {i});
    Finish();
  }
  EXPECT_GT(behind_held, 0) << "the work was never held when the kernel was loaded";
  EXPECT_GT(Stats().works_held, 0u);
  EXPECT_GT(Stats().fetches, 0u);
}

// The driver may look up the memory of a scope while it is open, and then it is not remapped; or
// only kernels name it, and it is.
constexpr uint32_t kReadWrite = VRAMSPAN_READ | VRAMSPAN_WRITE;
class HangsInItsScope : public HangsInDriver, public testing::WithParamInterface<bool> {
 protected:
  bool kernels_only() const { return GetParam(); }
  uint32_t access() const {
    return kernels_only() ? kReadWrite | VRAMSPAN_KERNELS_ONLY : kReadWrite;
  }
};

INSTANTIATE_TEST_SUITE_P(Hangs, HangsInItsScope, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "KernelsOnly" : "AnyCalls");
});

// The held one is its own.
TEST_P(HangsInItsScope, FirstLaunchOfAKernelBehindItsOwnHold) {
  const CUstream a = NewStream();
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kernels_only() ? kLongDeadlineUs : 0}));
  const vramspanStatistics before = Stats();
  for (size_t i = 4; i < 8; ++i) {
    const CUfunction fresh = FreshKernel();
    Await("the first launch of a kernel, behind the hold of its own scope");
    ASSERT_SPAN(Begin(a, {i}, access()));
    LaunchFresh(fresh, a, i);
    EXPECT_SPAN(End(a));
  }
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GE(after.works_held - before.works_held, 4u);
  EXPECT_TRUE(!kernels_only() || after.fetches > before.fetches);
}

// The held one is its own, and may touch what is being moved for others.
TEST_F(HangsInDriver, FirstLaunchOfAKernelInItsOwnHeldScopeOfUnknownRanges) {
  const CUstream a = NewStream(), b = NewStream();
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4));
  const vramspanStatistics before = Stats();
  for (size_t i = 4; i < 8; ++i) {
    const CUfunction fresh = FreshKernel();
    Add(b, {i - 4, i});
    Await("the first launch of a kernel in a scope of unknown ranges");
    ASSERT_SPAN(BeginUnknown(a));
    LaunchFresh(fresh, a, (i + 1) % 8);
    EXPECT_SPAN(End(a));
    Finish();
  }
  EXPECT_GT(Stats().works_held, before.works_held);
}

// A thread launches until the driver takes no more behind the scope's own hold.
TEST_P(HangsInItsScope, QueueFullBehindItsOwnHold) {
  const CUstream a = NewStream();
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kernels_only() ? kLongDeadlineUs : 0}));
  const vramspanStatistics before = Stats();
  Await("1,100 launches in one scope, behind its hold");
  ASSERT_SPAN(Begin(a, {4, 5}, access()));
  for (int i = 0; i < kManyLaunches; ++i) LaunchAddHead(a, 4 + i % 2);
  EXPECT_SPAN(End(a));
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GT(after.works_held, before.works_held);
  EXPECT_TRUE(!kernels_only() || after.fetches > before.fetches);
}

// The wait is the program's own, and another thread opens it when the launching one comes no
// further, in the middle of some scope. That thread's own work needs moves, too.
TEST_F(HangsInDriver, QueueFullBehindTheProgramsOwnWait) {
  const CUstream a = NewStream(), b = NewStream();
  ASSERT_NO_FATAL_FAILURE(Prepare(10, 4));
  Flag flag;
  std::atomic<int> launched{0};
  flag.ParkIn(a, 1);
  const vramspanStatistics before = Stats();
  Start([&] {
    int seen = -1;
    while (seen != launched && seen != kManyLaunches) {
      seen = launched;
      Within(std::chrono::milliseconds(300), [&] { return launched > seen; });
    }
    flag.Set(1);
    for (const size_t i : {8, 9}) {
      for (int round = 0; round < 3; ++round) Add(b, {i});
    }
  });
  Await("1,100 scopes behind a closed wait");
  for (; launched < kManyLaunches; ++launched) {
    const size_t i = static_cast<size_t>(launched) / 8 % 8;
    ASSERT_SPAN(Begin(a, {i}));
    LaunchAddHead(a, i);
    EXPECT_SPAN(End(a));
  }
  EXPECT_CU(cu_.StreamSynchronize(a));
  Join();
  Finish();
  EXPECT_GT(Stats().works_held, before.works_held);
}

// Copies that return when they are done, from and to memory that is not page-locked, behind the
// hold of their scope; beside them a thread makes events (which waits for such a copy in the real
// driver) and has moves of its own.
TEST_F(HangsInDriver, PageableCopyInsideAScopeBehindItsHold) {
  const CUstream a = NewStream(), b = NewStream();
  ASSERT_NO_FATAL_FAILURE(Prepare(12, 4));
  const vramspanStatistics before = Stats();
  std::atomic<bool> stop{false};
  Start([&] {
    for (size_t i = 8; !stop; i = i == 11 ? 8 : i + 1) {
      CUevent event = nullptr;
      EXPECT_CU(cu_.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
      Add(b, {i});
      EXPECT_CU(cu_.EventRecord(event, b));
      EXPECT_CU(cu_.EventSynchronize(event));
      EXPECT_CU(cu_.EventDestroy(event));
    }
  });
  std::vector<Word> words(kWords);
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < 8; ++i) {
      Await("a copy to pageable memory, behind the hold of its scope");
      ASSERT_SPAN(Begin(a, {i}, VRAMSPAN_READ));
      EXPECT_CU(cu_.MemcpyDtoHAsync(words.data(), blocks_[i].ptr, kChunk, a));
      EXPECT_SPAN(End(a));
      EXPECT_CU(cu_.StreamSynchronize(a));
      for (Word& word : words) word += 1;
      Await("a copy from pageable memory, behind the hold of its scope");
      Add(a, {(i + 3) % 8});
      ASSERT_SPAN(Begin(a, {i}, VRAMSPAN_WRITE));
      EXPECT_CU(cu_.MemcpyHtoDAsync(blocks_[i].ptr, words.data(), kChunk, a));
      EXPECT_SPAN(End(a));
      EXPECT_CU(cu_.StreamSynchronize(a));
      blocks_[i].add += 1;
    }
  }
  stop = true;
  Await("the other thread");
  Join();
  Finish();
  EXPECT_GT(Stats().works_held, before.works_held);
}

// Memory runs short while a thread is inside its scope and stays there until somebody else has
// allocated and launched: work cannot be recorded from a clean start before it has left.
class HangsShort : public HangsInDriver, public testing::WithParamInterface<bool> {};

TEST_P(HangsShort, ThreadStaysInItsScopeWhileMemoryRunsShort) {
  const CUstream a = NewStream(), b = NewStream();
  ASSERT_NO_FATAL_FAILURE(Open({.budget = 8, .traced = GetParam()}));
  ASSERT_NO_FATAL_FAILURE(Fill(2));
  blocks_.reserve(16);  // The other thread looks at them.
  Flag flag;
  std::atomic<bool> inside{false}, leave{false};
  Start([&] {
    flag.ParkIn(a, 1);
    EXPECT_SPAN(Begin(a, {0}));
    LaunchAdd(a, 0);
    inside = true;
    while (!leave) std::this_thread::yield();
    EXPECT_SPAN(End(a));
  });
  Await("a thread to open its scope");
  EXPECT_TRUE(Within(std::chrono::seconds(10), [&] { return inside.load(); }));
  Await("memory to be allocated beside an open scope");
  CUdeviceptr much = 0;
  ASSERT_SPAN(vramspanMemAlloc(runtime_, &much, 14 * kChunk));
  for (size_t i = 0; i < 14; ++i) blocks_.push_back({.ptr = much + i * kChunk, .seed = i + 3});
  for (size_t i = 2; i < 16; ++i) {
    Await("work beside an open scope");
    size_t words = kWords;
    ASSERT_SPAN(Begin(b, {i}, VRAMSPAN_WRITE));
    EXPECT_CU(world_.Launch(world_.Kernel("fill_hash"), b,
                            {&blocks_[i].ptr, &words, &blocks_[i].seed}, 8));
    EXPECT_SPAN(End(b));
  }
  flag.Set(1);
  leave = true;
  Await("the thread to leave its scope");
  Join();
  Finish();
  for (int round = 0; round < 10 && Stats().fetches == 0; ++round) {
    for (size_t i = 0; i < 16; ++i) {
      Await("work when memory has run short");
      Add(i % 2 == 0 ? a : b, {i});
    }
    Finish();
  }
  EXPECT_GT(Stats().fetches, 0u);
}

// Traced, the mover has a kernel of its own in the program's context: the driver loads none beside
// a parked stream, and lets no other thread in meanwhile.
INSTANTIATE_TEST_SUITE_P(Traced, HangsShort, testing::Bool(),
                         [](const auto& each) { return each.param ? "Yes" : "No"; });

// Not a hang, but the next best thing: the driver blocks the thread when some thousand entries are
// queued, in whatever scope it is then. That is how a program that runs ahead looks, and nothing
// may be served in place for it.
TEST_F(HangsInDriver, ProgramRunsFarAheadOfABusyDevice) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 6, {.budget = 6, .deadline_us = kLongDeadlineUs}));
  const CUstream a = NewStream();
  Flag flag;
  const vramspanStatistics before = Stats();
  for (int pass = 0; pass < 90; ++pass) {
    for (size_t i = 0; i < 8; ++i) {
      Await("work to be submitted far ahead");
      ASSERT_SPAN(Begin(a, {i}));
      flag.BusyIn(a, 8'000'000);
      LaunchAdd(a, i);
      EXPECT_SPAN(End(a));
    }
  }
  Finish();
  EXPECT_GE(Stats().works_held, before.works_held + 500);
  EXPECT_EQ(Stats().works_in_place, before.works_in_place);
}

}  // namespace
}  // namespace vramspan_test
