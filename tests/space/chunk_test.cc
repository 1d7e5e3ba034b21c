#include "runtime/space/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vramspan {
namespace {

using enum ChunkState;
using ::testing::HasSubstr;

constexpr ChunkState kAll[] = {kNone,       kFresh,       kDevice, kHost,
                               kDeviceTwin, kDeviceStale, kMoving, kPinned};

using Names = std::set<std::pair<std::string, std::string>>;

// The first two columns of the rows "| `from` | `to` | ..." of docs/chunk-states.md.
Names TransitionsOfThePage() {
  Names rows;
  std::ifstream page(VRAMSPAN_STATES_PAGE);
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> quoted;
    size_t at = 0;
    while (quoted.size() < 2 && line.compare(at, 3, "| `") == 0) {
      const size_t end = line.find("` ", at + 3);
      if (end == std::string::npos) break;
      quoted.push_back(line.substr(at + 3, end - at - 3));
      at = end + 2;
    }
    if (quoted.size() == 2) rows.emplace(quoted[0], quoted[1]);
  }
  return rows;
}

TEST(ChunkStates, AreThoseOfThePage) {
  Names of_the_code;
  for (const ChunkState from : kAll) {
    for (const ChunkState to : kAll) {
      if (IsLegalTransition(from, to)) {
        of_the_code.emplace(ChunkStateName(from), ChunkStateName(to));
      }
    }
  }
  EXPECT_EQ(of_the_code, TransitionsOfThePage());
}

TEST(ChunkStates, OnlyMovingCannotBeFreed) {
  for (const ChunkState from : kAll) {
    EXPECT_EQ(IsLegalTransition(from, kNone), from != kMoving && from != kNone)
        << ChunkStateName(from);
  }
}

TEST(ChunkStates, AMoveMayGoBackToWhereItCameFrom) {
  for (const ChunkState from : kAll) {
    if (IsLegalTransition(from, kMoving)) {
      EXPECT_TRUE(IsLegalTransition(kMoving, from)) << ChunkStateName(from);
    }
  }
}

TEST(ChunkStates, HostAndDeviceAreJoinedByMovingOnly) {
  for (const ChunkState device : {kDevice, kDeviceTwin, kDeviceStale, kPinned}) {
    EXPECT_FALSE(IsLegalTransition(kHost, device)) << ChunkStateName(device);
    EXPECT_FALSE(IsLegalTransition(device, kHost)) << ChunkStateName(device);
  }
  EXPECT_FALSE(IsLegalTransition(kPinned, kMoving));
}

TEST(ChunkStates, AgreeWithTheMemoryMapped) {
  for (const ChunkState state : {kDevice, kDeviceTwin, kDeviceStale, kPinned}) {
    EXPECT_TRUE(StateFitsMemory(state, true)) << ChunkStateName(state);
    EXPECT_FALSE(StateFitsMemory(state, false)) << ChunkStateName(state);
  }
  EXPECT_TRUE(StateFitsMemory(kHost, false));
  EXPECT_FALSE(StateFitsMemory(kHost, true));
  for (const ChunkState state : {kNone, kFresh, kMoving}) {
    EXPECT_TRUE(StateFitsMemory(state, true) && StateFitsMemory(state, false))
        << ChunkStateName(state);
  }
}

TEST(Chunk, GoesThroughALife) {
  Chunk chunk;
  chunk.on_device = true;
  for (const ChunkState to : {kFresh, kDevice, kMoving}) chunk.Transition(to);
  chunk.on_device = false;
  for (const ChunkState to : {kHost, kMoving}) chunk.Transition(to);
  chunk.on_device = true;
  for (const ChunkState to : {kDeviceTwin, kDevice, kPinned, kDevice, kNone}) chunk.Transition(to);
  EXPECT_EQ(chunk.state, kNone);
}

#ifdef VRAMSPAN_DCHECK
TEST(ChunkDeathTest, IllegalTransitionsStopADebugBuild) {
  Chunk chunk;
  chunk.on_device = true;
  chunk.Transition(kFresh);
  EXPECT_DEATH(chunk.Transition(kDeviceTwin), HasSubstr("IsLegalTransition"));
  EXPECT_DEATH(chunk.Transition(kHost), HasSubstr("StateFitsMemory"));
}
#endif

TEST(Chunk, SizeFollowsFromItsLog2) {
  Chunk chunk;
  chunk.log2_size = 24;
  EXPECT_EQ(chunk.size(), MiB(16));
}

}  // namespace
}  // namespace vramspan
