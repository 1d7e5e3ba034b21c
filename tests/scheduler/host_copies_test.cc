// Which host copies still equal their chunks.
#include "runtime/scheduler/host_copies.h"

#include <gtest/gtest.h>

#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

constexpr Fingerprint kOld{1, 2}, kNew{3, 4};

class HostCopiesTest : public ::testing::Test {
 protected:
  bool Came(uint32_t chunk, std::optional<Fingerprint> print = {}, bool barrier_held = false,
            bool host_has_room = true) {
    Chunk& c = chunks_[chunk];
    c.Transition(ChunkState::kMoving);
    c.on_device = true;
    return copies_.Came(
        ChunkIndex(chunk),
        {.barrier_held = barrier_held, .host_has_room = host_has_room, .print = print});
  }
  HostCopies::Leaving Leaves(uint32_t chunk, bool print = true) {
    return copies_.Leaves(ChunkIndex(chunk), print);
  }
  void Left(uint32_t chunk, bool same, std::optional<Fingerprint> content = {}) {
    Chunk& c = chunks_[chunk];
    c.Transition(ChunkState::kMoving);
    c.on_device = false;
    copies_.Left(ChunkIndex(chunk), same, content);
  }
  // Whether its host copy is to be dropped; it is then.
  bool Write(uint32_t chunk, uint64_t work, bool alone = true, bool barrier = false,
             const void* stream = nullptr) {
    return Drop(chunk,
                copies_.MayBeWritten(
                    ChunkIndex(chunk),
                    {.by = {work, 1, stream}, .alone = alone, .barrier = barrier, .follow = true}));
  }
  bool Found(uint32_t chunk, uint64_t work, const Fingerprint& print) {
    return Drop(chunk, copies_.Found(ChunkIndex(chunk), work, print));
  }
  bool Drop(uint32_t chunk, bool drop) {
    if (drop) chunks_[chunk].Transition(ChunkState::kDevice);
    return drop;
  }
  ChunkState State(uint32_t chunk) { return chunks_[chunk].state; }

  FewChunks chunks_{4};
  HostCopies copies_{&chunks_.residency()};
};

TEST_F(HostCopiesTest, WhatIsNotWrittenIsNotCopied) {
  EXPECT_TRUE(Came(1));
  EXPECT_TRUE(Leaves(1).clean);
  EXPECT_TRUE(Write(1, 7)) << "nothing tells whether it was written";
  EXPECT_FALSE(Leaves(1).clean);
}

TEST_F(HostCopiesTest, AFingerprintTellsWhatWasWrittenWhenTheChunkLeaves) {
  EXPECT_TRUE(Came(1, kOld));
  EXPECT_FALSE(Write(1, 7));
  EXPECT_EQ(State(1), ChunkState::kDeviceStale);
  EXPECT_FALSE(Leaves(1).clean);
  EXPECT_EQ(Leaves(1).expected, kOld);
  EXPECT_EQ(Leaves(1, /*print=*/false).expected, std::nullopt);
}

TEST_F(HostCopiesTest, AFingerprintBehindTheWorkTellsIt) {
  Came(1, kOld);
  (void)Write(1, 7);
  EXPECT_FALSE(Found(1, 6, kOld)) << "another wrote it since";
  EXPECT_EQ(State(1), ChunkState::kDeviceStale);
  EXPECT_FALSE(Found(1, 7, kOld));
  EXPECT_EQ(State(1), ChunkState::kDeviceTwin);
  (void)Write(1, 8);
  EXPECT_TRUE(Found(1, 8, kNew));
  EXPECT_EQ(State(1), ChunkState::kDevice);
  EXPECT_EQ(Leaves(1).content, kNew) << "known, though it is to be copied";
}

TEST_F(HostCopiesTest, WhatSeveralWriteAtOnceNoneOfThemTells) {
  Came(1, kOld);
  (void)Write(1, 7);
  (void)Write(1, 8, /*alone=*/false, false, &chunks_);
  EXPECT_FALSE(Found(1, 8, kOld));
  EXPECT_EQ(State(1), ChunkState::kDeviceStale);
  Came(2, kOld);
  (void)Write(2, 7);
  (void)Write(2, 8, /*alone=*/false);
  (void)Found(2, 8, kOld);
  EXPECT_EQ(State(2), ChunkState::kDeviceTwin) << "in one stream they come in order";
  Came(3, kOld);
  (void)Write(3, 7, /*alone=*/true, /*barrier=*/true);
  (void)Found(3, 7, kOld);
  EXPECT_EQ(State(3), ChunkState::kDeviceStale) << "what may write anything may write it, too";
}

TEST_F(HostCopiesTest, WhatLeftIsKnownWhenItComesAgain) {
  Came(1, kOld);
  Left(1, /*same=*/true);
  EXPECT_FALSE(copies_.WorthAPrint(ChunkIndex(1)));
  Came(1);
  EXPECT_FALSE(Write(1, 7)) << "its fingerprint is known from before";
  Left(1, /*same=*/false, kNew);
  EXPECT_FALSE(copies_.WorthAPrint(ChunkIndex(1)));
  (void)Write(1, 8);  // Served in place.
  EXPECT_TRUE(copies_.WorthAPrint(ChunkIndex(1)));
  Came(1);
  EXPECT_TRUE(Write(1, 9));
}

TEST_F(HostCopiesTest, AnotherChunkAtTheSameIndexIsNotTheOneBefore) {
  Came(1, kOld);
  Left(1, true);
  EXPECT_FALSE(copies_.WorthAPrint(ChunkIndex(1)));
  chunks_.Replace(1);
  EXPECT_TRUE(copies_.WorthAPrint(ChunkIndex(1)));
}

TEST_F(HostCopiesTest, AChunkKeepsNoHostCopyWithoutRoomOrBesideABarrier) {
  EXPECT_FALSE(Came(1, kOld, false, /*host_has_room=*/false));
  EXPECT_EQ(State(1), ChunkState::kDevice);
  chunks_[2].read_mostly = true;
  EXPECT_TRUE(Came(2, {}, false, false)) << "the program said that it pays";
  EXPECT_FALSE(Came(3, {}, /*barrier_held=*/true));
  EXPECT_TRUE(Came(4, kOld, /*barrier_held=*/true)) << "its fingerprint will tell";
}

TEST_F(HostCopiesTest, WorkThatMayWriteAnythingMakesAllDoubtful) {
  Came(1);
  Came(2, kOld);
  Came(3);
  chunks_[3].read_mostly = true;
  std::vector<uint32_t> dropped;
  const auto drop = [&](ChunkIndex c) {
    dropped.push_back(c.value);
    chunks_[c.value].Transition(ChunkState::kDevice);
  };
  copies_.AnyMayBeWritten(/*but_read_mostly=*/true, drop);
  EXPECT_EQ(dropped, std::vector<uint32_t>{1});
  EXPECT_EQ(State(2), ChunkState::kDeviceStale);
  EXPECT_EQ(State(3), ChunkState::kDeviceTwin);
  copies_.AnyMayBeWritten(false, drop);
  EXPECT_EQ(dropped, (std::vector<uint32_t>{1, 3}));
  Left(2, /*same=*/false);
  EXPECT_TRUE(copies_.WorthAPrint(ChunkIndex(2)));
}

TEST_F(HostCopiesTest, FingerprintsAreTakenWhereTheyMayTellSomething) {
  Came(1, kOld);
  EXPECT_TRUE(HostCopies::WorthNow(chunks_[1]));
  chunks_[1].fingerprints_taken = 2;
  EXPECT_FALSE(HostCopies::WorthNow(chunks_[1])) << "none of them told anything";
  (void)Write(1, 7);
  (void)Found(1, 7, kOld);
  EXPECT_TRUE(HostCopies::WorthNow(chunks_[1]));
  (void)Write(1, 8);
  (void)Found(1, 8, kNew);
  EXPECT_FALSE(HostCopies::WorthNow(chunks_[1])) << "it is written";
  for (int fetch = 0; fetch < 3; ++fetch) {
    EXPECT_FALSE(HostCopies::WorthNow(chunks_[1])) << fetch;
    Left(1, false);
    Came(1);
  }
  EXPECT_TRUE(HostCopies::WorthNow(chunks_[1])) << "that may have changed since";
}

}  // namespace
}  // namespace vramspan
