// What a recording tells of memory that work may touch beside what it likely does, and of work of
// other contexts.
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "tests/mover/recorded.h"
#include "tests/mover/world.h"
#include "tests/trace/sample.h"
#include "tools/replay/known_sets.h"

namespace vramspan_test {
namespace {

using namespace vramspan::replay;  // NOLINT
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using vramspan::ChunkIndex;
using vramspan::ChunkUse;
using vramspan::MiB;

constexpr size_t kWhole = 8 * kMiB;
constexpr size_t kPiece = kWhole / 2;

// With the overlap of the run, which the recording does not depend on.
class RecordedSets : public MoverTest, public ::testing::WithParamInterface<const char*> {
 protected:
  RecordedSets() : stream_(world_.NewStream()) { setenv("VRAMSPAN_RECORD", path_.c_str(), 1); }
  ~RecordedSets() override {
    unsetenv("VRAMSPAN_RECORD");
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }
  void Start() {
    RuntimeOptions options;
    options.chunk = "2MiB";
    options.device_memory = "64MiB";
    options.tracer = "cupti";
    options.overlap = GetParam();
    runtime_ = std::make_unique<TestRuntime>(world_, options);
  }
  // Half of a buffer, as a program sees it that puts two arrays into one allocation.
  static Buffer Half(const Buffer& b, size_t which) {
    Buffer half = b;
    half.ptr = b.ptr + which * kPiece;
    half.words = kPiece / sizeof(Word);
    return half;
  }
  RecordedRun End() {
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
    EXPECT_SPAN(runtime_->Destroy());
    runtime_.reset();
    return LoadedWhole(path_);
  }
  static size_t Count(const RecordedRun& run, WorkKind kind) {
    return static_cast<size_t>(std::count_if(
        run.works.begin(), run.works.end(), [&](const RecordedWork& w) { return w.kind == kind; }));
  }

  const Watchdog watchdog_{"a test of what is recorded", 60};
  vramspan::trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
  const CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
};
INSTANTIATE_TEST_SUITE_P(Overlaps, RecordedSets, ::testing::Values("off", "safe", "all"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RecordedSets, WhichKernelsAreAlikeIsTold) {
  Start();
  const Buffer whole = runtime_->Alloc(kWhole);
  for (const unsigned blocks : {16, 17, 40, 23}) {
    EXPECT_CU(world_.LaunchAdd(whole, 1, stream_, blocks));
  }
  EXPECT_CU(world_.LaunchFill(whole, stream_));
  const RecordedRun run = End();
  ASSERT_TRUE(run.Check().ok()) << run.Check();
  std::vector<uint32_t> codes;
  std::vector<std::optional<uint32_t>> alike;
  for (const RecordedWork& w : run.works) {
    if (w.kind != WorkKind::kKernel) continue;
    codes.push_back(w.code);
    alike.push_back(run.codes[w.code].alike);
  }
  ASSERT_EQ(codes.size(), 5u);
  const uint32_t first = codes[0];
  EXPECT_THAT(alike, ElementsAre(std::nullopt, first, std::nullopt, first, std::nullopt));
}

TEST_P(RecordedSets, AnEndThatHasProvedItselfIsTold) {
  Start();
  Buffer whole = runtime_->Alloc(kWhole);
  for (int i = 0; i < 8; ++i) {
    for (size_t half = 0; half < 2; ++half) {
      EXPECT_CU(world_.LaunchAdd(Half(whole, half), 1, stream_));
    }
  }
  const RecordedRun run = End();
  EXPECT_TRUE(run.setting.possible_told);
  ASSERT_EQ(Count(run, WorkKind::kKernel), 16u);
  // The first knows of no other array; the last but one has been the same for long.
  const auto first = run.set(run.works[0].set);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].size, kWhole);
  EXPECT_FALSE(first[0].settled);
  const auto early = run.set(run.works[2].set);
  ASSERT_EQ(early.size(), 1u);
  EXPECT_EQ(early[0].size, kPiece);
  EXPECT_FALSE(early[0].settled);
  const uint32_t last = run.works[14].set;
  ASSERT_EQ(run.set(last).size(), 1u);
  EXPECT_EQ(run.set(last)[0].size, kPiece);
  EXPECT_TRUE(run.set(last)[0].settled);
  // What a replay makes of it: the other half moves beside the last, and not beside the early one.
  const ChunkedRun chunks(&run, 21, MiB(64));
  KnownSets safe(&chunks, /*loose=*/false), all(&chunks, /*loose=*/true);
  // No allocator of the program's told of any block.
  std::vector<ChunkUse> none;
  const auto possible = [&](const KnownSets& known, uint32_t set) {
    return known.PossibleOf(
        set, [](ChunkIndex) { return vramspan::Chunk(); }, &none);
  };
  EXPECT_EQ(possible(safe, last).stay.size(), 2u);
  EXPECT_THAT(possible(safe, last).mapped_only, IsEmpty());
  EXPECT_THAT(possible(all, last).stay, IsEmpty());
  EXPECT_EQ(possible(all, last).mapped_only.size(), 2u);
  EXPECT_EQ(possible(all, run.works[2].set).stay.size(), 2u);
  EXPECT_THAT(possible(all, run.works[2].set).mapped_only, IsEmpty());
}

TEST_P(RecordedSets, WorkOfAnotherContextIsTold) {
  Start();
  Buffer mine = runtime_->Alloc(kWhole);
  EXPECT_CU(world_.LaunchFill(mine, stream_));
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  CUcontext own = nullptr, other = nullptr;
  ASSERT_CU(world_.api().CtxGetCurrent(&own));
  CUctxCreateParams params{};
  ASSERT_CU(world_.api().CtxCreate(&other, &params, 0, 0));
  CUdeviceptr theirs = 0;
  ASSERT_CU(world_.api().MemAlloc(&theirs, kPiece));
  // One that names this memory, and one that does not.
  EXPECT_CU(world_.api().MemcpyDtoDAsync(theirs, mine.ptr, kPiece, nullptr));
  EXPECT_CU(world_.api().MemsetD8Async(theirs, 0, kPiece, nullptr));
  EXPECT_CU(world_.api().CtxSynchronize());
  EXPECT_CU(world_.api().MemFree(theirs));
  EXPECT_CU(world_.api().CtxDestroy(other));
  ASSERT_CU(world_.api().CtxSetCurrent(own));
  EXPECT_CU(world_.LaunchAdd(mine, 1, stream_));
  const RecordedRun run = End();
  EXPECT_EQ(Count(run, WorkKind::kForeign), 1u);
  EXPECT_EQ(Count(run, WorkKind::kKernel), 2u);
  const auto foreign = std::find_if(run.works.begin(), run.works.end(), [](const RecordedWork& w) {
    return w.kind == WorkKind::kForeign;
  });
  ASSERT_NE(foreign, run.works.end());
  EXPECT_EQ(run.codes[foreign->code].name, "(work of another context)");
  EXPECT_FALSE(foreign->complete);
  // The stream is another one, whatever its handle.
  for (const RecordedWork& w : run.works) {
    if (&w == &*foreign) continue;
    EXPECT_NE(w.stream, foreign->stream);
  }
}

}  // namespace
}  // namespace vramspan_test
