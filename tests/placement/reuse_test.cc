#include "runtime/placement/reuse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

namespace vramspan {
namespace {

constexpr uint64_t kA = 0x1111'2222'3333'4444, kB = 0x5555'6666'7777'8888,
                   kC = 0x9999'aaaa'bbbb'cccc;
constexpr ChunkIndex kShared(7), kOther(8);
constexpr Bytes kReuseChunk = MiB(16);
constexpr Bytes kDevice = MiB(64);

struct Touched {
  ChunkIndex chunk;
  bool needs;
};

Reuse::Set Launch(Reuse& reuse, uint64_t signature, std::initializer_list<Touched> touched) {
  const Reuse::Set soon = reuse.Launch(signature);
  for (const Touched& t : touched) reuse.Touch(t.chunk, kReuseChunk, t.needs);
  return soon;
}

// Of chunks that nobody else touches.
void TouchOthers(Reuse& reuse, Bytes bytes) {
  reuse.Launch(0x1234);
  for (uint32_t i = 0; kReuseChunk * i < bytes; ++i) {
    reuse.Touch(ChunkIndex(1000 + i), kReuseChunk, /*needs=*/true);
  }
}

TEST(Reuse, TellsWhatTheNextLaunchNeeded) {
  Reuse reuse(kDevice);
  EXPECT_FALSE(Launch(reuse, kA, {{kShared, false}, {kOther, false}}).contains(kShared));
  Launch(reuse, kB, {{kShared, true}});
  const Reuse::Set soon = Launch(reuse, kA, {{kShared, false}, {kOther, false}});
  EXPECT_TRUE(soon.contains(kShared));
  EXPECT_FALSE(soon.contains(kOther));
}

TEST(Reuse, ForgetsWhatNobodyNeedsAnyMore) {
  Reuse reuse(kDevice);
  Launch(reuse, kA, {{kShared, false}});
  Launch(reuse, kB, {{kShared, true}});
  EXPECT_TRUE(Launch(reuse, kA, {{kShared, false}}).contains(kShared));
  Launch(reuse, kB, {{kShared, false}});
  EXPECT_FALSE(Launch(reuse, kA, {{kShared, false}}).contains(kShared));
}

TEST(Reuse, WhatMayLieOnTheHostForTheNextIsNotNeeded) {
  Reuse reuse(kDevice);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Launch(reuse, kA, {{kShared, false}}).contains(kShared));
    EXPECT_FALSE(Launch(reuse, kB, {{kShared, false}}).contains(kShared));
  }
}

TEST(Reuse, SoonIsSomeTimesWhatTheDeviceHolds) {
  for (const bool late : {false, true}) {
    Reuse reuse(kDevice);
    Launch(reuse, kA, {{kShared, false}});
    TouchOthers(reuse, kDevice * Reuse::kSoon - kReuseChunk * (late ? 0 : 1));
    Launch(reuse, kB, {{kShared, true}});
    EXPECT_EQ(Launch(reuse, kA, {{kShared, false}}).contains(kShared), !late);
  }
}

TEST(Reuse, ALaunchThatComesAgainIsNoOther) {
  Reuse reuse(kDevice);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Launch(reuse, kA, {{kShared, true}}).contains(kShared));
  }
}

TEST(Reuse, TellsAllThatCameBeforeTheNeed) {
  Reuse reuse(kDevice);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Launch(reuse, kA, {{kShared, false}}).contains(kShared), i != 0);
    EXPECT_EQ(Launch(reuse, kB, {{kShared, false}}).contains(kShared), i != 0);
    Launch(reuse, kC, {{kShared, true}});
  }
}

TEST(Reuse, TellsTheLatestOfMany) {
  Reuse reuse(kDevice);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i <= Reuse::kTouches; ++i) {
      const Reuse::Set soon = Launch(reuse, kA + (i << 32), {{kShared, false}});
      EXPECT_EQ(soon.contains(kShared), round != 0 && i != 0) << i;
    }
    Launch(reuse, kB, {{kShared, true}});
  }
}

TEST(Reuse, KeepsTheMeaningOfSignaturesThatFallTogether) {
  Reuse reuse(kDevice);
  const uint64_t same_place = kA ^ 1;
  Launch(reuse, kA, {{kShared, false}});
  Launch(reuse, kB, {{kShared, true}});
  EXPECT_FALSE(Launch(reuse, same_place, {{kShared, false}}).contains(kShared));
  EXPECT_FALSE(Launch(reuse, kA, {{kShared, false}}).contains(kShared));
}

TEST(Reuse, NothingIsKnownWithoutASignature) {
  Reuse reuse(kDevice);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Launch(reuse, 0, {{kShared, false}}).contains(kShared));
    Launch(reuse, kB, {{kShared, true}});
  }
}

}  // namespace
}  // namespace vramspan
