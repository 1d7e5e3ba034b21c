// What a recording tells of memory that kernels change or leave alone, while all of it is on the
// device: what never moves shows neither by itself.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>

#include "runtime/api/content_watch.h"
#include "runtime/api/runtime.h"
#include "tests/mover/alone.h"
#include "tests/mover/recorded.h"
#include "tests/mover/traced_fixture.h"
#include "tests/mover/unmap_one.h"
#include "tests/mover/world.h"
#include "tests/trace/sample.h"
#include "tools/replay/load_run.h"
#include "tools/replay/replay_all.h"

namespace vramspan_test {
namespace {

using namespace vramspan::replay;  // NOLINT
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using vramspan::ContentWatch;
using vramspan::DetachedMemory;
using vramspan::DevicePtr;
using vramspan::MiB;
using vramspan::Runtime;
using vramspan::StatusOr;

constexpr size_t kLarge = 8 * kMiB;

class ComparedTest : public MoverTest {
 protected:
  ComparedTest() : stream_(world_.NewStream()) { setenv("VRAMSPAN_RECORD", path_.c_str(), 1); }
  ~ComparedTest() override {
    unsetenv("VRAMSPAN_RECORD");
    const CUresult destroyed = world_.api().StreamDestroy(stream_);
    EXPECT_TRUE(destroyed == CUDA_SUCCESS || context_dead_) << destroyed;
  }
  void Start(const char* device_memory) {
    RuntimeOptions options;
    options.chunk = "8MiB";
    options.device_memory = device_memory;
    options.tracer = "cupti";
    runtime_ = std::make_unique<TestRuntime>(world_, options);
  }
  // All of it is there now; some launches later its contents are what they are.
  Buffer NewBuffer(Word seed) {
    Buffer b = runtime_->Alloc(kLarge);
    b.seed = seed;
    EXPECT_CU(world_.LaunchFill(b, stream_));
    return b;
  }
  void Add(Buffer& b, Word value) {
    EXPECT_CU(world_.LaunchAdd(b, value, stream_));
    b.add += value;
  }
  void Wait() { EXPECT_CU(world_.api().StreamSynchronize(stream_)); }
  RecordedRun End(const std::vector<Buffer>& buffers) {
    Wait();
    for (const Buffer& b : buffers) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    runtime_.reset();
    return LoadedWhole(path_);
  }
  // So many launches that leave a buffer as it is; then it is freed, and others add to another.
  RecordedRun OneInThePlaceOfTheOther(int before, int then, Word add) {
    Start("96MiB");
    Buffer first = NewBuffer(1);
    for (int i = 0; i < before; ++i) Add(first, 0);
    Wait();
    const CUdeviceptr place = first.ptr;
    runtime_->Free(first);
    Buffer second = NewBuffer(1);
    EXPECT_EQ(second.ptr, place);
    for (int i = 0; i < then; ++i) Add(second, add);
    return End({second});
  }
  // Memory that the program maps itself, in a runtime that has nothing else.
  void Map() {
    RuntimeOptions options;
    options.chunk = "8MiB";
    options.device_memory = "256MiB";
    options.tracer = "cupti";
    const vramspanConfig config = Config(options);
    StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(&config);
    ASSERT_TRUE(made.ok()) << made.status();
    mapper_ = *std::move(made);
    const StatusOr<DevicePtr> base = mapper_->memory().vmm().Reserve(MiB(8), MiB(2));
    ASSERT_TRUE(base.ok()) << base.status();
    const StatusOr<DetachedMemory> loose = mapper_->MakeDetached(MiB(8));
    ASSERT_TRUE(loose.ok()) << loose.status();
    ASSERT_TRUE(mapper_->memory().vmm().MapDetached(*loose, *base).ok());
    mapped_.ptr = base->value;
    mapped_.words = kLarge / sizeof(Word);
  }
  void Unmap() {
    const DevicePtr base(mapped_.ptr);
    StatusOr<DetachedMemory> loose = UnmapOne(*mapper_, base, MiB(8));
    ASSERT_TRUE(loose.ok()) << loose.status();
    mapper_->memory().vmm().ReleaseDetached(*std::move(loose));
    EXPECT_TRUE(mapper_->memory().vmm().Unreserve(base, MiB(8)).ok());
  }
  static std::vector<bool> Of(const RecordedRun& run, uint32_t allocation) {
    std::vector<bool> same;
    for (const RecordedComparison& c : run.comparisons) {
      if (c.allocation != allocation) continue;
      EXPECT_EQ(c.offset, 0u);
      EXPECT_EQ(c.size, kLarge);
      same.push_back(c.same);
    }
    return same;
  }

  const Watchdog watchdog_{"a test of what is compared", 60};
  vramspan::trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
  const CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
  std::unique_ptr<Runtime> mapper_;
  Buffer mapped_;
  bool context_dead_ = false;
};

TEST_F(ComparedTest, WhatKernelsLeaveAndWhatTheyChange) {
  Start("256MiB");
  Buffer left = NewBuffer(1), changed = NewBuffer(2), later = NewBuffer(3), seldom = NewBuffer(4);
  for (int i = 1; i < 60; ++i) {
    Add(left, 0);
    Add(changed, 1);
    Add(later, i == 30 ? 1 : 0);
    if (i < 6) Add(seldom, 0);
  }
  RecordedRun run = End({left, changed, later, seldom});
  EXPECT_THAT(Of(run, 0), ElementsAre(true, true, true));
  EXPECT_EQ(Of(run, 0).size() + 1, std::size(ContentWatch::kBehind));
  EXPECT_THAT(Of(run, 1), ElementsAre(false, false, false));
  EXPECT_THAT(Of(run, 2), ElementsAre(true, true, false));
  EXPECT_THAT(Of(run, 3), IsEmpty());
}

// In the place of the first, with its contents.
TEST_F(ComparedTest, MemoryThatWasFreedIsAnothers) {
  // Behind the third launch and the eighth of its own.
  const RecordedRun run = OneInThePlaceOfTheOther(/*before=*/5, /*then=*/9, /*add=*/0);
  EXPECT_THAT(Of(run, 0), IsEmpty());
  EXPECT_THAT(Of(run, 1), ElementsAre(true));
}

// Also where no more was to be learnt of the first.
TEST_F(ComparedTest, MemoryInThePlaceOfWhatIsKnownIsLookedAtAnew) {
  const RecordedRun run = OneInThePlaceOfTheOther(/*before=*/59, /*then=*/59, /*add=*/1);
  // The last look may come too late: the memory may be freed by then.
  EXPECT_THAT(Of(run, 0), AnyOf(ElementsAre(true, true), ElementsAre(true, true, true)));
  EXPECT_THAT(Of(run, 1), ElementsAre(false, false, false));
}

// The program may unmap it as soon as it has seen, in memory, that its kernel is done.
TEST_F(ComparedTest, MemoryThatTheProgramMapsStaysUntilItIsLookedAt) {
  Map();
  EXPECT_CU(world_.LaunchFill(mapped_, stream_));
  for (int i = 1; i < 20; ++i) Add(mapped_, 0);
  // Unmapping waits for named memory for a second: less than all of these may take.
  Wait();
  // The last fingerprint is behind this one, and the program does not know of it.
  Add(mapped_, 0);
  Unmap();
  EXPECT_CU(world_.api().StreamQuery(stream_));
  mapper_.reset();
  const StatusOr<RecordedRun> run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 21u);
  EXPECT_THAT(Of(*run, 0), ElementsAre(true, true));
}

// In a dead context no fingerprint is ever taken, and nothing must wait for one.
TEST_F(ComparedTest, MemoryThatTheProgramMapsGoesWithItsContext) {
  if (!IsAlone()) return ExpectPassesAlone();
  Map();
  void* flag = nullptr;
  ASSERT_CU(world_.api().MemHostAlloc(&flag, sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
  auto* const word = new (flag) std::atomic<uint32_t>(0);
  EXPECT_CU(world_.LaunchFill(mapped_, stream_));
  Add(mapped_, 0);
  EXPECT_CU(world_.api().StreamWaitValue32(stream_, reinterpret_cast<CUdeviceptr>(flag), 1,
                                           CU_STREAM_WAIT_VALUE_GEQ));
  Add(mapped_, 0);
  // It waits for a while only, and the kernel finds nothing there.
  Unmap();
  context_dead_ = true;
  word->store(1);
  EXPECT_TRUE(
      Eventually([&] { return world_.api().StreamQuery(stream_) == CUDA_ERROR_ILLEGAL_ADDRESS; }));
  mapper_.reset();
}

// Then what moves tells it, and what would be queued here might run while its memory is remapped.
TEST_F(ComparedTest, NothingWhereMemoryIsShort) {
  Start("24MiB");
  std::vector<Buffer> buffers;
  for (Word seed = 1; seed < 6; ++seed) buffers.push_back(NewBuffer(seed));
  // What is asked for moves, however long kernels take here.
  Wait();
  for (const Buffer& b : buffers) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_->get(), b.ptr, kLarge, VRAMSPAN_LOCATION_DEVICE,
                                         stream_));
    Wait();
  }
  for (int i = 1; i < 20; ++i) {
    for (Buffer& b : buffers) Add(b, 0);
  }
  const RecordedRun run = End(buffers);
  EXPECT_THAT(run.comparisons, IsEmpty());
  EXPECT_FALSE(run.moves.empty());
}

// What the record is for: at half of the memory the replay knows what need not be copied.
TEST_F(ComparedTest, AReplayWithLessMemoryCopiesLess) {
  Start("256MiB");
  std::vector<Buffer> buffers;
  for (Word seed = 1; seed < 9; ++seed) buffers.push_back(NewBuffer(seed));
  for (int i = 1; i < 22; ++i) {
    for (Buffer& b : buffers) Add(b, 0);
  }
  RecordedRun run = End(buffers);
  EXPECT_THAT(run.moves, IsEmpty());
  EXPECT_THAT(run.comparisons, Each(Field(&RecordedComparison::same, true)));
  // As if nothing else had run on this machine: what moves ahead depends on how long all takes.
  constexpr uint64_t kLap = 2'000'000;
  uint64_t at = run.works.front().submitted;
  for (RecordedWork& w : run.works) {
    w.submitted = w.start = at;
    w.end = at + kLap / 2;
    at += kLap;
  }
  const ReplaySetting setting = {
      .policy = "lru", .device_memory = MiB(32), .chunk_log2 = 23, .overlap = ReplayOverlap::kSafe};
  const auto replay = [&] { return ReplayAll(run, {}, {setting}, 1, [](size_t) {}).front(); };
  const ReplayResult told = replay();
  run.comparisons.clear();
  const ReplayResult untold = replay();
  EXPECT_LT(told.bytes_out.value, untold.bytes_out.value / 2);
}

}  // namespace
}  // namespace vramspan_test
