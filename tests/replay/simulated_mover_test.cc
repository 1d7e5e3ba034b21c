// The simulated mover by itself: what must hold of any run, and what small runs must come to.
#include "tools/replay/simulated_mover.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>

#include "tests/replay/random_run.h"
#include "tools/replay/bound.h"
#include "tools/replay/replay_all.h"
#include "tools/replay/synthetic.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

constexpr ReplayOverlap kOverlaps[] = {ReplayOverlap::kOff, ReplayOverlap::kSafe,
                                       ReplayOverlap::kAll, ReplayOverlap::kDeclared};

ReplayResult Replay(const RecordedRun& run, const ReplaySetting& setting,
                    const ReplayPrices& prices = {}) {
  return ReplayAll(run, prices, {setting}, 1, [](size_t) {}).front();
}

RecordedRun Synthetic(const std::string& spec) { return SyntheticRun("synthetic:" + spec).value(); }

Bytes Part(const RecordedRun& run, uint64_t percent) {
  return Bytes(run.PeakBytes().value * percent / 100);
}

double Milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

TEST(SimulatedMover, WhatFitsTakesAsLongAsItDid) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true, .streams = 3, .frees = true});
    for (const char* policy : {"lru", "cost", "min"}) {
      for (const ReplayOverlap overlap : kOverlaps) {
        const ReplayResult result =
            Replay(run, {.policy = policy, .device_memory = run.PeakBytes(), .overlap = overlap});
        EXPECT_EQ(result.predicted, run.Duration()) << policy;
        EXPECT_EQ(result.resident, run.Duration());
        EXPECT_EQ(result.fetches, 0u);
        EXPECT_EQ(result.bound_fetches, 0u);
        EXPECT_EQ(result.moves_in + result.moves_out, 0u);
        EXPECT_EQ(result.stall.total(), 0u);
      }
    }
  }
}

// Also where works of several streams overlap, and the program runs ahead of them or waits.
TEST(SimulatedMover, OverlappingStreamsTakeAsLongAsTheyDid) {
  for (const char* lead : {"5", "300", "5000"}) {
    const RecordedRun run =
        Synthetic(std::string("random,allocations=12,works=500,streams=4,lead=") + lead);
    EXPECT_EQ(Replay(run, {.device_memory = run.PeakBytes()}).predicted, run.Duration()) << lead;
  }
}

TEST(SimulatedMover, AProgramThatChoosesTakesAsLongAsItDid) {
  const RecordedRun run = Synthetic("choice,models=3,layers=5,turns=2,requests=30,mib=16");
  EXPECT_EQ(run.works.size(), 300u);
  EXPECT_EQ(run.allocations.size(), 15u);
  EXPECT_EQ(Replay(run, {.device_memory = run.PeakBytes()}).predicted, run.Duration());
  const RecordedRun other = Synthetic("choice,models=3,layers=5,turns=2,requests=30,mib=16,seed=2");
  const auto sets = [](const RecordedRun& of) {
    std::vector<uint32_t> all;
    for (const RecordedWork& work : of.works) all.push_back(work.set);
    return all;
  };
  EXPECT_NE(sets(run), sets(other)) << "it chooses by the seed";
}

// Two thirds of what a training moves is dead, and the rest takes its time.
TEST(SimulatedMover, WhatIsGivenUpIsNotCopied) {
  const RecordedRun plain = Synthetic("training,layers=8,passes=12,lead=2000");
  const RecordedRun lifetimes = Synthetic("training,layers=8,passes=12,lead=2000,lifetimes=1");
  for (const uint64_t percent : {50, 75}) {
    for (const char* policy : {"cost", "min"}) {
      const ReplaySetting setting{
          .policy = policy, .device_memory = Part(plain, percent), .overlap = ReplayOverlap::kAll};
      const ReplayResult before = Replay(plain, setting), after = Replay(lifetimes, setting);
      EXPECT_LT(after.bytes_in.value, before.bytes_in.value * 4 / 5) << policy << " " << percent;
      EXPECT_LT(after.bytes_out.value, before.bytes_out.value * 4 / 5) << policy << " " << percent;
      EXPECT_LT(after.predicted, before.predicted) << policy << " " << percent;
    }
  }
  // What is given up only in part is kept.
  RecordedRun parts = lifetimes;
  for (RecordedDiscard& d : parts.discards) d = {d.time, d.allocation, 1, MiB(2).value - 1, d.step};
  const ReplaySetting setting{.policy = "cost",
                              .device_memory = Part(plain, 50),
                              .chunk_log2 = 21,
                              .overlap = ReplayOverlap::kAll};
  EXPECT_EQ(Replay(parts, setting).bytes_out, Replay(plain, setting).bytes_out);
}

TEST(SimulatedMover, NobodyFetchesLessThanTheBound) {
  for (uint64_t seed = 1; seed < 13; ++seed) {
    const RecordedRun run = RandomRun(seed, {.works = 200,
                                             .varied = seed % 2 == 0,
                                             .streams = static_cast<uint32_t>(1 + seed % 3),
                                             .frees = seed % 4 == 0});
    for (const uint64_t percent : {10, 40, 80}) {
      std::vector<ReplaySetting> settings;
      for (const std::string_view policy : PolicyNames()) {
        settings.push_back({.policy = std::string(policy),
                            .device_memory = Part(run, percent),
                            .chunk_log2 = seed % 5 == 0 ? 0 : 21,
                            .overlap = kOverlaps[seed % 4]});
      }
      settings.push_back(settings.front());
      settings.back().policy = kMinPolicy;
      const auto results = ReplayAll(run, {}, settings, 2, [](size_t) {});
      for (const ReplayResult& r : results) {
        EXPECT_EQ(r.bound_fetches, results.back().fetches);
        EXPECT_LE(r.bound_fetches, r.fetches)
            << r.setting.policy << " seed " << seed << ", " << percent << " %";
        // The bound's own schedule comes no faster than the device does the work.
        EXPECT_GE(r.predicted, r.resident) << r.setting.policy;
      }
    }
  }
}

// What moves is accounted for: what came in and did not leave is there at the end.
TEST(SimulatedMover, MovesAddUp) {
  for (const std::string_view policy : PolicyNames()) {
    for (const ReplayOverlap overlap : kOverlaps) {
      const RecordedRun run = Synthetic("random,works=600,streams=2,seed=7");
      const Bytes budget = Part(run, 50);
      const ReplayResult r = Replay(run, {.policy = std::string(policy),
                                          .device_memory = budget,
                                          .chunk_log2 = 21,
                                          .overlap = overlap,
                                          .timeline = true});
      EXPECT_EQ(r.bytes_in, MiB(2) * r.moves_in);
      EXPECT_LE(r.bytes_out, MiB(2) * r.moves_out);
      EXPECT_EQ(r.fetches, r.moves_in + r.served_in_place);
      uint64_t stall = 0, fetches = 0;
      ASSERT_TRUE(r.timeline.has_value());
      for (const uint64_t bin : r.timeline->stall) stall += bin;
      for (const uint64_t bin : r.timeline->fetches) fetches += bin;
      for (const uint64_t bin : r.timeline->device_bytes) EXPECT_LE(bin, budget.value);
      for (const Timeline::Row& row : r.timeline->rows) {
        EXPECT_THAT(row.resident, ::testing::Each(AllOf(Ge(0.0f), Le(1.0f))));
      }
      EXPECT_EQ(stall, r.stall.total());
      EXPECT_EQ(fetches, r.moves_in);
      uint64_t launches = 0;
      for (const KernelResult& k : r.kernels) {
        launches += k.launches;
        EXPECT_GE(k.predicted, k.resident);
      }
      EXPECT_EQ(launches, run.works.size());
    }
  }
}

// A loop over twice the memory, the program too close to the device to show what comes: LRU fetches
// everything, each time; what keeps a part of the loop half of it.
TEST(SimulatedMover, ALoopIsForThePoliciesThatKnowLoops) {
  const RecordedRun close = Synthetic("loop,layers=32,passes=30,mib=16,us=2000,lead=2000");
  const RecordedRun ahead = Synthetic("loop,layers=32,passes=30,mib=16,us=2000,lead=1000");
  const auto fetched = [&](const char* policy, ReplayOverlap overlap) {
    const RecordedRun& run = overlap == ReplayOverlap::kDeclared ? close : ahead;
    const ReplayResult r = Replay(
        run,
        {.policy = policy, .device_memory = Part(run, 50), .chunk_log2 = 24, .overlap = overlap});
    return static_cast<double>(r.fetches) / static_cast<double>(run.works.size());
  };
  // Without the forecast, which a declared run has not, the policy is all there is.
  EXPECT_GT(fetched("lru", ReplayOverlap::kDeclared), 0.95);
  EXPECT_GT(fetched("fifo", ReplayOverlap::kDeclared), 0.95);
  EXPECT_LT(fetched("cycle", ReplayOverlap::kDeclared), 0.65);
  EXPECT_LT(fetched("cost", ReplayOverlap::kDeclared), 0.65);
  // 16 of 31 others return in the time of a pass.
  EXPECT_THAT(fetched("min", ReplayOverlap::kDeclared), AllOf(Ge(0.48), Le(0.53)));
  // Whoever sees the queue needs no policy.
  EXPECT_LT(fetched("lru", ReplayOverlap::kSafe), 0.65);
}

// The same as the launches held ahead of a GPU did (bench/results, layers.declared.fits_8.m_2048 of
// 2026-11-21: layers of 268 MB of which half fit take 1.14 times what the link needs).
TEST(SimulatedMover, MovesRunBesideWorkWhereTheyMay) {
  const RecordedRun few = Synthetic("loop,layers=16,passes=10,mib=256,us=656,written=0");
  const RecordedRun many = Synthetic("loop,layers=16,passes=20,mib=256,us=656,written=0");
  const double resident = 16 * 0.656;
  const double link = 16 * 8.0 / 15 * 268.4 / 55;
  const auto pass = [&](ReplayOverlap overlap) {
    // What is paid once does not count.
    const ReplaySetting setting = {
        .policy = "cost", .device_memory = Part(few, 50), .chunk_log2 = 26, .overlap = overlap};
    return Milliseconds(Replay(many, setting).predicted - Replay(few, setting).predicted) / 10;
  };
  EXPECT_THAT(pass(ReplayOverlap::kDeclared), AllOf(Ge(link), Le(link * 1.25)));
  // Nothing moves beside a kernel: both times add up.
  EXPECT_THAT(pass(ReplayOverlap::kOff), AllOf(Ge(link + resident), Le((link + resident) * 1.35)));
}

// Two launches to each allocation, each to its half, round and round.
RecordedRun HalvesRun(uint32_t allocations, int laps) {
  RecordedRun run;
  run.codes.push_back({.name = "multiply", .shape = 1});
  const uint64_t half = MiB(128).value;
  for (uint32_t a = 0; a < allocations; ++a) {
    run.allocations.push_back({.size = Bytes(2 * half), .allocated = 0});
    run.steps.push_back({RecordedStep::Kind::kAllocate, a});
  }
  uint64_t time = 0;
  for (int lap = 0; lap < laps; ++lap) {
    for (uint32_t i = 0; i < 2 * allocations; ++i) {
      const RecordedRange range{
          .allocation = i / 2, .offset = i % 2 * half, .size = half, .write = false};
      RecordedWork work{.submitted = static_cast<uint64_t>(run.works.size()) * 10'000,
                        .set = run.AddSet({&range, 1})};
      work.start = std::max(time, work.submitted);
      time = work.end = work.start + 100'000;
      run.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(run.works.size())});
      run.works.push_back(work);
    }
  }
  run.setting.overlap = "safe";
  return run;
}

// Edges of a graph, and the ranks of its nodes, which are allocated last: one launch goes over
// both, again and again.
RecordedRun EdgesAndRanks() {
  RecordedRun run;
  run.codes.push_back({.name = "pass_on", .shape = 1});
  const Bytes sizes[] = {GiB(4), MiB(128)};
  std::vector<RecordedRange> both;
  for (uint32_t a = 0; a < 2; ++a) {
    run.allocations.push_back({.size = sizes[a], .allocated = 0});
    run.steps.push_back({RecordedStep::Kind::kAllocate, a});
    both.push_back({.allocation = a,
                    .size = sizes[a].value,
                    .slot = static_cast<uint16_t>(a),
                    .write = a == 1});
  }
  const uint32_t set = run.AddSet(both);
  for (uint64_t time = 0; run.works.size() < 20; time += 3'000'000) {
    run.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(run.works.size())});
    run.works.push_back({.submitted = time, .start = time, .end = time + 2'000'000, .set = set});
  }
  return run;
}

TEST(SimulatedMover, SmallArgumentsComeOfLaunchesThatDoNotFit) {
  const RecordedRun run = EdgesAndRanks();
  ASSERT_TRUE(run.Check().ok()) << run.Check();
  for (const ReplayOverlap overlap : {ReplayOverlap::kOff, ReplayOverlap::kSafe}) {
    const ReplayResult r =
        Replay(run, {.device_memory = GiB(3), .overlap = overlap, .moves = true});
    // The edges are the first 256 chunks, of 16 MiB.
    uint64_t ranks = 0, edges = 0;
    for (const auto& move : r.moves) (move.chunk.value > 256 ? ranks : edges) += move.in;
    EXPECT_EQ(ranks, 8u) << "once, and they stay";
    EXPECT_EQ(edges, 0u);
  }
}

// Each launch reads some of a table in another shape, round and round.
RecordedRun GatherRun(bool alike) {
  RecordedRun run;
  for (uint32_t a = 0; a < 8; ++a) {
    run.allocations.push_back({.size = MiB(64), .allocated = 0});
    run.steps.push_back({RecordedStep::Kind::kAllocate, a});
  }
  for (uint64_t i = 0; i < 160; ++i) {
    const RecordedRange table{
        .allocation = static_cast<uint32_t>(i % 8), .size = MiB(64).value, .write = false};
    run.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(i)});
    run.codes.push_back({.name = "gather", .shape = i});
    if (alike && i != 0) run.codes.back().alike = 0;
    run.works.push_back({.submitted = i * 5'000'000,
                         .start = i * 5'000'000,
                         .end = i * 5'000'000 + 5'000,
                         .code = static_cast<uint32_t>(i),
                         .set = run.AddSet({&table, 1})});
  }
  run.setting.overlap = "safe";
  return run;
}

// Three launches with all their memory there tell that a launch is short.
TEST(SimulatedMover, WhatIsLearntOfACodeHoldsForThoseLikeIt) {
  const ReplaySetting setting = {
      .policy = "cost", .device_memory = MiB(300), .overlap = ReplayOverlap::kSafe};
  const RecordedRun alike = GatherRun(true), others = GatherRun(false);
  ASSERT_TRUE(alike.Check().ok()) << alike.Check();
  EXPECT_LE(Replay(alike, setting).moves_in, 10u);
  EXPECT_GE(Replay(others, setting).moves_in, 100u);
}

// With kSafe neither half may move while the other is in use, and what was hidden is fetched for
// its launch and not mapped for the one before.
TEST(SimulatedMover, HalvesAreNotMappedForEachOther) {
  const RecordedRun run = HalvesRun(12, 20);
  ASSERT_TRUE(run.Check().ok()) << run.Check();
  // To map 64 MiB of host memory takes long, so that it shows.
  ReplayPrices prices;
  prices.host.back().access = 5'000;
  const ReplayResult r = Replay(
      run, {.policy = "cost", .device_memory = Part(run, 80), .overlap = ReplayOverlap::kSafe},
      prices);
  EXPECT_GT(r.moves_in, 200u);
  EXPECT_LT(r.stall.vmm, r.moves_in * 2'000'000);
}

// One fits, both do not: then it is mapped, and nobody gives up on the one that fits.
TEST(SimulatedMover, HalvesThatDoNotFitTogetherComeByTurns) {
  const RecordedRun run = HalvesRun(3, 20);
  const ReplayResult r =
      Replay(run, {.policy = "cost", .device_memory = MiB(200), .overlap = ReplayOverlap::kSafe});
  EXPECT_GT(r.moves_in, 500u);
  EXPECT_LT(r.served_in_place, r.fetches / 100);
}

TEST(SimulatedMover, HostMemoryIsMadeOnce) {
  const RecordedRun run = Synthetic("loop,layers=16,passes=4,mib=256,us=656,written=0");
  const ReplaySetting setting = {.device_memory = Part(run, 50), .chunk_log2 = 26};
  ReplayPrices free;
  free.begin = free.host.back().create = 0;
  ReplayPrices dear = free;
  dear.host.back().create = 50'000;
  // Half of the 64 chunks are placed there before anything runs; of the others each leaves
  // sometime.
  const double added =
      Milliseconds(Replay(run, setting, dear).predicted - Replay(run, setting, free).predicted);
  EXPECT_THAT(added, AllOf(Ge(28 * 50), Le(32 * 50)));
}

TEST(SimulatedMover, WhatIsNotWrittenIsNotCopiedOut) {
  const auto out = [](const char* written) {
    const RecordedRun run =
        Synthetic(std::string("loop,layers=16,passes=10,mib=64,us=3000,written=") + written);
    return Replay(run, {.device_memory = Part(run, 50), .overlap = ReplayOverlap::kDeclared});
  };
  const ReplayResult written = out("1"), read = out("0");
  EXPECT_EQ(written.bytes_out, written.bytes_in);
  // What was made on the device is copied out once.
  EXPECT_LE(read.bytes_out, GiB(1));
  EXPECT_GT(read.bytes_in, GiB(4));
}

// Recorded with everything on the device: that kernels leave it alone is known by fingerprints
// only. The runtime finds it by its own, some laps after one was found written.
class ComparedMemory : public ::testing::Test {
 protected:
  static constexpr uint32_t kLayers = 16;

  // Behind the second use and behind the fourth, in pieces that are no chunks of the replay.
  ComparedMemory() {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      for (uint64_t at = 0; at < MiB(64).value; at += MiB(8).value) {
        same_.push_back({.allocation = layer,
                         .offset = at,
                         .size = MiB(8).value,
                         .first = kLayers + layer,
                         .last = 3 * kLayers + layer,
                         .same = true});
      }
    }
  }
  double Out() const {
    EXPECT_TRUE(run_.Check().ok()) << run_.Check();
    const ReplaySetting half{.device_memory = Part(run_, 50), .overlap = ReplayOverlap::kSafe};
    return static_cast<double>(Replay(run_, half).bytes_out.value);
  }

  std::vector<RecordedComparison> same_;
  RecordedRun run_ = Synthetic("loop,layers=16,passes=40,mib=64,us=3000");
  const double written_ = Out();
};

TEST_F(ComparedMemory, WhatWasTheSameIsNotCopiedOut) {
  run_.comparisons = same_;
  EXPECT_LE(Out(), written_ / 3);
  // Before that it may have been written.
  for (RecordedComparison& c : run_.comparisons) {
    c.first += 30 * kLayers;
    c.last += 30 * kLayers;
  }
  EXPECT_GT(Out(), 0.75 * written_);
}

TEST_F(ComparedMemory, WhatChangedLaterIsCopiedOut) {
  run_.comparisons = same_;
  // A piece of each layer.
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    run_.comparisons.push_back({.allocation = layer,
                                .offset = MiB(24).value,
                                .size = MiB(8).value,
                                .first = 3 * kLayers + layer,
                                .last = 6 * kLayers + layer,
                                .same = false});
  }
  EXPECT_GT(Out(), 0.4 * written_);
}

// Code that nobody knows: what was known of memory is known no more.
TEST_F(ComparedMemory, WhatMayWriteAnythingHasAllCopiedOut) {
  run_.comparisons = same_;
  for (size_t i = 0; i < run_.works.size(); i += 4) run_.works[i].complete = false;
  EXPECT_GT(Out(), 0.75 * written_);
}

TEST(SimulatedMover, FingerprintsTakeTimeOfTheStreamWhereLaunchesAreTraced) {
  RecordedRun run = Synthetic("loop,layers=16,passes=10,mib=64,us=3000");
  const auto predicted = [&run](ReplayOverlap overlap, double gb_per_s) {
    run.setting.device_gb_per_s = gb_per_s;
    return Replay(run, {.device_memory = Part(run, 50), .overlap = overlap});
  };
  const ReplayResult fast = predicted(ReplayOverlap::kSafe, 3000);
  const ReplayResult slow = predicted(ReplayOverlap::kSafe, 10);
  EXPECT_GT(slow.predicted, fast.predicted);
  // Of the kernels themselves they are no part.
  EXPECT_EQ(slow.kernels.front().predicted - slow.kernels.front().stall.total(),
            fast.kernels.front().predicted - fast.kernels.front().stall.total());
  EXPECT_EQ(predicted(ReplayOverlap::kDeclared, 10).predicted,
            predicted(ReplayOverlap::kDeclared, 3000).predicted);
}

TEST(SimulatedMover, HardlyAnyMemoryServesInPlace) {
  const RecordedRun run = Synthetic("loop,layers=4,passes=5,mib=16,us=1000");
  for (const uint64_t bytes : {uint64_t{1}, MiB(1).value, MiB(2).value, MiB(5).value}) {
    for (const ReplayOverlap overlap : kOverlaps) {
      for (const char* policy : {"lru", "min"}) {
        const ReplayResult r =
            Replay(run, {.policy = policy, .device_memory = Bytes(bytes), .overlap = overlap});
        EXPECT_GT(r.served_in_place, 20u * 5) << bytes << " " << policy;
        EXPECT_GT(r.in_place_time, 0u);
        EXPECT_GE(r.predicted, r.resident + r.in_place_time);
      }
    }
  }
}

// What the record proves of a kernel counts, not what it looks like.
TEST(SimulatedMover, ProvedPassesAreReckonedWith) {
  RunBuilder builder;
  const uint32_t a = builder.Allocate(MiB(64));
  for (int i = 0; i < 4; ++i) builder.Work(std::vector<uint32_t>{a}, 1000, 0);
  RecordedRun run = builder.Take();
  const double once = static_cast<double>(MiB(64).value) / 51;
  // The last launch ran on the host's memory, and took three times that longer.
  run.works[3].remote = MiB(64).value;
  run.works[3].end += static_cast<uint64_t>(3 * once);
  const ReplayResult r = Replay(run, {.device_memory = MiB(2)});
  // One chunk of 32 has a place.
  EXPECT_NEAR(Milliseconds(r.predicted), 4 + 4 * 3 * once * 31 / 32 / 1e6, 0.1);
  EXPECT_NEAR(r.kernels.front().passes, 3, 0.01);
  EXPECT_EQ(r.resident, 4'000'000u);
}

// By two arguments, so that one of them reads; unless it was seen that none writes.
TEST(SimulatedMover, WhatIsReadAndWrittenInPlaceTakesLonger) {
  const auto served = [](bool write, size_t arguments, bool compared) {
    RunBuilder builder;
    const uint32_t a = builder.Allocate(MiB(16));
    const RecordedRange all{.allocation = a, .size = MiB(16).value, .write = write};
    for (int i = 0; i < 4; ++i) {
      builder.Work(std::vector<RecordedRange>(arguments, all), /*microseconds=*/1, /*code=*/0);
    }
    RecordedRun run = builder.Take();
    if (compared) run.comparisons.push_back({a, 0, MiB(16).value, 0, 3, /*same=*/true});
    return static_cast<double>(Replay(run, {.device_memory = Bytes(1)}).in_place_time);
  };
  const double once = served(/*write=*/true, /*arguments=*/1, /*compared=*/false);
  EXPECT_NEAR(served(true, 2, false) / once, ReplayPrices().both_ways, 0.001);
  EXPECT_EQ(served(false, 2, false), once);
  // One that is slow for its bytes is taken to read them again, and not more than that. What is
  // named twice is no more memory.
  const auto slow = [](bool write, size_t arguments) {
    RunBuilder builder;
    const uint32_t a = builder.Allocate(MiB(16));
    const RecordedRange all{.allocation = a, .size = MiB(16).value, .write = write};
    builder.Work(std::vector<RecordedRange>(arguments, all), /*microseconds=*/36, /*code=*/0);
    return static_cast<double>(Replay(builder.Take(), {.device_memory = Bytes(1)}).in_place_time);
  };
  EXPECT_GT(slow(true, 2), 1.5 * once / 4);
  EXPECT_EQ(slow(true, 2), slow(true, 1));
  // All but the first of the four.
  EXPECT_NEAR(served(true, 2, true) / once, 1 + (ReplayPrices().both_ways - 1) / 4, 0.001);
}

// A kernel that streams is served in place, but not what the next launch, which does not stream,
// needs on the device.
TEST(SimulatedMover, WhatIsNeededNextIsMovedBefore) {
  const auto served = [](bool needed) {
    RunBuilder builder;
    std::vector<uint32_t> arrays;
    for (int i = 0; i < 8; ++i) arrays.push_back(builder.Allocate(MiB(16)));
    for (int lap = 0; lap < 40; ++lap) {
      for (const uint32_t a : arrays) {
        builder.Work(std::vector<uint32_t>{a}, /*microseconds=*/6, /*code=*/0);
        if (needed) builder.Work(std::vector<uint32_t>{a}, /*microseconds=*/100, /*code=*/1);
      }
    }
    return Replay(builder.Take(),
                  {.policy = "cost", .device_memory = MiB(64), .overlap = ReplayOverlap::kSafe})
        .bytes_in_place;
  };
  EXPECT_LT(served(/*needed=*/true), MiB(64));
  EXPECT_GT(served(/*needed=*/false), MiB(16) * 100);
}

// Unless it was recorded so: then what the program's thread took is in it.
TEST(SimulatedMover, LaunchesTakeMoreOfTheirThreadWhileMemoryIsShort) {
  constexpr int kLaunches = 1000;
  const auto predicted = [](Bytes device_memory, double short_call, bool recorded_so) {
    RunBuilder builder;
    const uint32_t used = builder.Allocate(MiB(2));
    builder.Allocate(MiB(16));
    for (int i = 0; i < kLaunches; ++i) builder.Work(std::vector<uint32_t>{used}, 20);
    RecordedRun run = builder.Take();
    if (recorded_so) run.moves.push_back({});
    ReplayPrices prices;
    prices.short_call = short_call;
    const ReplaySetting setting = {
        .policy = "lru", .device_memory = device_memory, .overlap = ReplayOverlap::kSafe};
    return Milliseconds(Replay(run, setting, prices).predicted);
  };
  const double more = kLaunches * 100 / 1e3;
  EXPECT_NEAR(predicted(MiB(4), 100, false) - predicted(MiB(4), 0, false), more, more / 10);
  EXPECT_EQ(predicted(MiB(4), 100, true), predicted(MiB(4), 0, true));
  EXPECT_EQ(predicted(MiB(32), 100, false), predicted(MiB(32), 0, false));
}

// Memory that a chunk of one size left is none for a chunk of another.
TEST(SimulatedMover, MemoryIsMadeForChunksOfOtherSizes) {
  constexpr int kLaps = 10;
  const auto added = [](Bytes one, Bytes other) {
    RunBuilder builder;
    std::vector<uint32_t> halves[2];
    for (const bool second : {false, true}) {
      const Bytes size = second ? other : one;
      for (Bytes sum; sum < MiB(64); sum += size) halves[second].push_back(builder.Allocate(size));
    }
    // Either half takes all there is, so that none of it can stay, whatever is expected.
    for (int lap = 0; lap < kLaps; ++lap) {
      for (const std::vector<uint32_t>& half : halves) builder.Work(half, 1000);
    }
    const RecordedRun run = builder.Take();
    ReplayPrices dear;
    for (MapCosts& device : dear.device) device.create = 10'000;
    const ReplaySetting setting = {.policy = "lru",
                                   .device_memory = MiB(64),
                                   .chunk_log2 = 24,
                                   .overlap = ReplayOverlap::kOff};
    return Milliseconds(Replay(run, setting, dear).predicted - Replay(run, setting).predicted);
  };
  // Each once.
  EXPECT_LE(added(MiB(16), MiB(16)), 8 * 10);
  EXPECT_GT(added(MiB(16), MiB(4)), 2 * 8 * 10);
}

// Each layer's weights are used forwards and backwards, and all of a group's memory but what is
// kept from forward to backward by the optimiser.
TEST(SimulatedMover, ATrainingThatIsMadeUp) {
  const RecordedRun run = Synthetic("training,layers=5,passes=3,mib=16,kept=32,us=500,group=2");
  EXPECT_EQ(run.allocations.size(), 5u * 5);
  ASSERT_EQ(run.works.size(), 3u * (5 + 5 + 3));
  std::map<std::string, size_t> works;
  std::map<std::string, size_t> named;
  for (const RecordedWork& w : run.works) {
    ++works[run.codes[w.code].name];
    named[run.codes[w.code].name] += run.set(w.set).size();
  }
  EXPECT_EQ(works,
            (std::map<std::string, size_t>{{"forward", 15}, {"backward", 15}, {"optimiser", 9}}));
  EXPECT_EQ(named,
            (std::map<std::string, size_t>{{"forward", 30}, {"backward", 45}, {"optimiser", 60}}));
  const ReplayResult all = Replay(run, {.policy = "cost", .device_memory = MiB(16) * 5 * 6});
  EXPECT_EQ(all.fetches, 0u) << "all of it fits";
  EXPECT_GT(Replay(run, {.policy = "cost", .device_memory = MiB(16) * 5 * 4}).fetches, 0u);
}

TEST(SimulatedMover, TheSameWhateverTheNumberOfThreads) {
  const RecordedRun run = Synthetic("random,works=800,streams=3");
  std::vector<ReplaySetting> settings;
  for (const std::string_view policy : PolicyNames()) {
    for (const uint64_t percent : {25, 75}) {
      settings.push_back({.policy = std::string(policy),
                          .device_memory = Part(run, percent),
                          .overlap = ReplayOverlap::kAll});
    }
  }
  size_t done = 0;
  const auto one = ReplayAll(run, {}, settings, 1, [&](size_t n) { EXPECT_EQ(n, ++done); });
  EXPECT_EQ(done, settings.size());
  const auto four = ReplayAll(run, {}, settings, 4, [](size_t) {});
  for (size_t i = 0; i < settings.size(); ++i) {
    EXPECT_EQ(one[i].setting.policy, settings[i].policy);
    EXPECT_EQ(one[i].predicted, four[i].predicted);
    EXPECT_EQ(one[i].fetches, four[i].fetches);
    EXPECT_EQ(one[i].stall.total(), four[i].stall.total());
    EXPECT_EQ(one[i].bytes_out, four[i].bytes_out);
  }
}

// Memory that is freed makes room, also for what was moved out meanwhile.
TEST(SimulatedMover, FreedMemoryMakesRoom) {
  RunBuilder builder;
  const uint32_t first = builder.Allocate(MiB(64));
  builder.Work(std::vector<uint32_t>{first}, 1000, 0);
  builder.Free(first);
  const uint32_t second = builder.Allocate(MiB(64));
  for (int i = 0; i < 5; ++i) builder.Work(std::vector<uint32_t>{second}, 1000, 1);
  const RecordedRun run = builder.Take();
  const ReplayResult r = Replay(run, {.device_memory = MiB(64)});
  EXPECT_EQ(r.fetches, 0u);
  EXPECT_EQ(r.predicted, run.Duration());
}

// Packed memory stays on the device and takes its part of it.
TEST(SimulatedMover, PackedMemoryTakesRoom) {
  RunBuilder builder;
  for (int i = 0; i < 8; ++i) builder.Allocate(KiB(512));
  const uint32_t a = builder.Allocate(MiB(4));
  for (int i = 0; i < 3; ++i) builder.Work(std::vector<uint32_t>{a, 0}, 1000, 0);
  const RecordedRun run = builder.Take();
  EXPECT_EQ(Replay(run, {.device_memory = MiB(8), .chunk_log2 = 21}).fetches, 0u);
  const ReplayResult r = Replay(run, {.device_memory = MiB(7), .chunk_log2 = 21});
  EXPECT_GE(r.fetches, 3u);
  EXPECT_EQ(r.bound_fetches, 3u);
}

// As the runtime has it: room that is only waiting for work to end is better than host memory.
TEST(SimulatedMover, AnAllocationWaitsForWhatIsFreed) {
  RunBuilder builder;
  uint32_t last = builder.Allocate(MiB(8));
  for (int i = 0; i < 50; ++i) {
    builder.Work(std::vector<uint32_t>{last}, 500);
    builder.Free(last);
    last = builder.Allocate(MiB(8));
  }
  RecordedRun run = builder.Take();
  // The program runs far ahead of the device.
  for (RecordedWork& work : run.works) work.submitted = 1000 + work.submitted / 1000;
  for (RecordedAllocation& a : run.allocations) {
    a.allocated = 1000 + a.allocated / 1000;
    if (a.freed != kNever) a.freed = 1000 + a.freed / 1000;
  }
  ReplaySetting setting;
  setting.policy = "lru";
  setting.device_memory = MiB(8);
  const ReplayResult result = ReplayAll(run, ReplayPrices{}, {setting}, 1, [](size_t) {}).front();
  EXPECT_EQ(result.fetches, 0u);
  EXPECT_EQ(result.moves_out, 0u);
}

}  // namespace
}  // namespace vramspan::replay
