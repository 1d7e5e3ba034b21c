// A recorded run of the runtime, replayed under the settings that it had: move by move the same.
//
// Each piece of work ends before the next is submitted, and lacks one chunk at the most, so that
// what is decided does not depend on how fast this machine is.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "runtime/placement/pins.h"
#include "runtime/placement/policy.h"
#include "tests/mover/world.h"
#include "tests/trace/sample.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/load_run.h"
#include "tools/replay/replay_all.h"

namespace vramspan_test {
namespace {

using namespace vramspan::replay;  // NOLINT
using vramspan::Bytes;
using vramspan::ChunkIndex;
using vramspan::Pin;
using vramspan::StatusOr;

constexpr size_t kChunkBytes = 2 << 20;
constexpr size_t kBuffers = 20;  // There is room for eight.

class ReplayTest : public MoverTest, public testing::WithParamInterface<std::string> {
 protected:
  ReplayTest() { setenv("VRAMSPAN_RECORD", path_.c_str(), 1); }
  ~ReplayTest() override {
    unsetenv("VRAMSPAN_RECORD");
    unsetenv("VRAMSPAN_KEEP");
  }

  void RunProgram(uint64_t seed) {
    const CUstream stream = world_.NewStream();
    {
      RuntimeOptions options;
      options.device_memory = "16MiB";
      options.policy = policy_.c_str();
      options.deadline_us = 5'000'000;  // What this machine is slow at is not to be seen.
      TestRuntime runtime(world_, options);
      std::vector<Buffer> buffers;
      for (size_t i = 0; i < kBuffers; ++i) buffers.push_back(runtime.Alloc(kChunkBytes));
      // Recording of work has begun when this returns.
      runtime.Synchronize();
      for (Buffer& b : buffers) {
        runtime.Fill(b, 5, stream);
        runtime.Synchronize();
      }
      std::mt19937_64 random(seed);
      for (int i = 0; i < 120; ++i) {
        // Some are hotter than others.
        const size_t a = std::min(random() % kBuffers, random() % kBuffers);
        runtime.Add(buffers[a], i, stream);
        runtime.Synchronize();
      }
      for (const Buffer& b : buffers) EXPECT_EQ(world_.Wrong(b), "");
    }
    EXPECT_CU(world_.api().StreamDestroy(stream));
  }

  using Moves = std::vector<std::pair<uint32_t, bool>>;  // Of allocations: to the device or not.

  // The moves of a run, which must be those of its replay.
  void RunAndReplay(uint64_t seed, const std::vector<Pin>& pins, Moves* moves) {
    std::filesystem::remove(path_);
    if (!pins.empty()) setenv("VRAMSPAN_KEEP", vramspan::PinsText(pins).c_str(), 1);
    RunProgram(seed);
    const StatusOr<RecordedRun> run = LoadRun(path_);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_THAT(run->problems, testing::IsEmpty());
    for (const RecordedMove& move : run->moves) moves->emplace_back(move.allocation, move.in);
    EXPECT_GT(moves->size(), 60u);

    ReplaySetting setting;
    setting.policy = policy_;
    setting.device_memory = run->setting.device_budget;
    setting.chunk_log2 = run->setting.chunk_log2;
    setting.overlap = ReplayOverlap::kDeclared;
    setting.pins = pins;
    setting.moves = true;
    const auto results = ReplayAll(*run, ReplayPrices{}, {setting}, 1, [](size_t) {});
    const ChunkedRun chunks(&*run, setting.chunk_log2, setting.device_memory);
    Moves replayed;
    for (const ReplayedMove& move : results[0].moves) {
      replayed.emplace_back(chunks.allocation(move.chunk), move.in);
    }
    EXPECT_EQ(replayed, *moves) << "seed " << seed;
  }

  const std::string policy_ = GetParam();
  vramspan::trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
};

TEST_P(ReplayTest, MoveByMoveTheSame) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Moves moves;
    RunAndReplay(seed, {}, &moves);
  }
}

// What a profile names comes when it is first used, and stays: but for the fifth, for which half
// the budget has no room.
TEST_P(ReplayTest, MoveByMoveTheSameWithPins) {
  std::vector<Pin> pins;
  for (const uint32_t a : {19, 18, 3, 12, 7}) pins.push_back({Bytes(kChunkBytes), a + 1});
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Moves moves;
    RunAndReplay(seed, pins, &moves);
    for (const uint32_t a : {3, 7, 12, 18}) {
      EXPECT_THAT(moves, testing::Not(testing::Contains(std::pair(a, false)))) << "seed " << seed;
    }
    EXPECT_THAT(moves, testing::Contains(std::pair(18u, true)));
    EXPECT_THAT(moves, testing::Contains(std::pair(19u, false)));
  }
}

std::vector<std::string> AllPolicies() {
  std::vector<std::string> names;
  for (const std::string_view name : vramspan::PolicyNames()) names.emplace_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Policies, ReplayTest, testing::ValuesIn(AllPolicies()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vramspan_test
