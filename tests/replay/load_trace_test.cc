#include "tools/replay/load_trace.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "tests/replay/random_run.h"
#include "tests/trace/sample.h"
#include "tools/replay/fill_times.h"

namespace vramspan::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::AllocateEvent;
using trace::FreeEvent;
using trace::WorkEvent;

class LoadTraceTest : public ::testing::Test {
 protected:
  // The run that these events make.
  RecordedRun Load(const std::vector<trace::Event>& events, bool trust = false) {
    trace::Header header = trace::SampleHeader();
    header.trust = trust;
    auto writer = trace::Writer::Open({.path = path_, .force = true}, header);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (const trace::Event& event : events) {
      std::visit([&](const auto& e) { (*writer)->Add(e); }, event);
    }
    EXPECT_TRUE((*writer)->Close().ok());
    StatusOr<RecordedRun> run = LoadTrace(path_);
    EXPECT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->Check().ok()) << run->Check();
    return *std::move(run);
  }
  static WorkEvent Work(uint64_t time, uint64_t id, std::vector<trace::TracedRange> ranges) {
    WorkEvent work;
    work.time = time;
    work.id = id;
    work.ranges = std::move(ranges);
    return work;
  }

  static constexpr DevicePtr kBase{0x100000000};
  trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
};

// Some is measured and some is not, so times are filled in by stream.
TEST_F(LoadTraceTest, StreamsOfAnyNumber) {
  std::vector<trace::Event> events = {AllocateEvent{0, kBase, MiB(4)}};
  const uint32_t numbers[] = {0, 0xffff, 0x10000, 0xfffffffe, 0xffffffff, 0xfffffffe};
  for (uint64_t i = 0; i < 6; ++i) {
    WorkEvent work = Work(i + 1, i + 1, {{kBase, MiB(1), 0, true, false}});
    work.stream = numbers[i];
    events.push_back(work);
    if (i % 2 == 0) events.push_back(trace::TimesEvent{i + 1, 100 * (i + 1), 50, Bytes(0)});
  }
  RecordedRun run = Load(events);
  FillTimes(&run);
  ASSERT_EQ(run.works.size(), 6u);
  EXPECT_EQ(run.works[0].stream, 0u);
  EXPECT_EQ(run.works[1].stream, 0xffffu);
  for (const RecordedWork& work : run.works) EXPECT_LT(work.stream, 0x10000u + 6);
  EXPECT_NE(run.works[3].stream, run.works[4].stream);
  EXPECT_EQ(run.works[3].stream, run.works[5].stream);
  for (const RecordedWork& work : run.works) EXPECT_TRUE(work.timed());
}

// "As before" is told of the last record of a code in its block, whatever became of that record.
TEST_F(LoadTraceTest, RangesAsBeforeAreThoseOfTheirBlock) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string file = trace::PackHeader({});
    std::map<uint64_t, std::vector<trace::TracedRange>> told;  // By work.
    uint64_t id = 0;
    trace::BlockPacker packer;
    for (uint32_t block = 0; block < 4; ++block) {
      trace::Encoder encoder;
      encoder.Start(0);
      if (block == 0) encoder.Add(AllocateEvent{0, kBase, GiB(1)});
      const uint32_t first = encoder.events();
      for (int i = 0; i < 12; ++i) {
        // One range or two, of few: most are as before. Some go on, come again, or are too late.
        std::vector<trace::TracedRange> ranges;
        for (uint64_t n = 1 + random() % 2; n > 0; --n) {
          ranges.push_back({kBase + MiB(random() % 2), MiB(1), 0, true, false});
        }
        const uint64_t what = random() % 10;
        const bool goes_on = what < 3 && encoder.events() > first && told.contains(id);
        const bool again = what == 3 && told.contains(id - 1);
        const bool late = what == 4;
        if (!goes_on && !again) ++id;
        WorkEvent work = Work(late ? ~uint64_t{0} >> 1 : id, again ? id - 1 : id, ranges);
        work.code = static_cast<uint32_t>(random() % 2);
        encoder.Add(work);
        if (again || (late && !goes_on)) {
          ++id;  // What follows is not taken for more of it.
          continue;
        }
        std::vector<trace::TracedRange>& all = told[id];
        all.insert(all.end(), ranges.begin(), ranges.end());
      }
      const uint32_t events = encoder.events();
      const trace::BlockBytes raw = encoder.Take();
      const auto frames = packer.Pack({.number = block, .events = events}, raw);
      ASSERT_TRUE(frames.ok());
      file.append(frames->begin(), frames->end());
    }
    const auto reader = trace::Reader::OfBytes(file);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const StatusOr<RecordedRun> run = LoadTrace(reader->get());
    ASSERT_TRUE(run.ok()) << run.status();
    ASSERT_EQ(run->works.size(), told.size());
    size_t w = 0;
    for (const auto& [work, ranges] : told) {
      const auto set = run->set(run->works[w].set);
      EXPECT_EQ(run->works[w++].submitted, work);
      ASSERT_EQ(set.size(), ranges.size()) << "work " << work << " of round " << round;
      for (size_t i = 0; i < set.size(); ++i) {
        EXPECT_EQ(set[i].offset, (ranges[i].ptr - kBase).value);
      }
    }
  }
}

TEST_F(LoadTraceTest, WhatIsSavedLoadsTheSame) {
  for (uint64_t seed = 1; seed < 8; ++seed) {
    RecordedRun saved = RandomRun(seed, {.varied = true, .streams = 3, .frees = true});
    saved.setting.waits_told = seed % 2 == 0;
    saved.waits = {{70, 20, RecordedWait::For::kAll},
                   {90, 0, RecordedWait::For::kEvent},
                   {100 * seed, 9, RecordedWait::For::kStream, 2}};
    for (size_t i = 0; i < saved.works.size(); i += seed) saved.works[i].cost = 1 + 10 * i;
    for (uint32_t step = 40; step < saved.steps.size(); step += 30) {
      const RecordedStep& before = saved.steps[step - 1];
      if (before.kind == RecordedStep::Kind::kFree) continue;
      const RecordedRange range = before.kind == RecordedStep::Kind::kWork
                                      ? saved.set(saved.works[before.index].set)[0]
                                      : RecordedRange{.allocation = before.index, .size = 1};
      const uint64_t time = before.kind == RecordedStep::Kind::kWork
                                ? saved.works[before.index].submitted
                                : saved.allocations[before.index].allocated;
      saved.discards.push_back({time, range.allocation, range.size / 2, range.size - range.size / 2,
                                step,
                                static_cast<RecordedDiscard::Kind>(saved.discards.size() % 3)});
    }
    ASSERT_GT(saved.discards.size(), 5u);
    saved.setting.possible_told = seed % 3 == 0;
    for (size_t i = 0; i < saved.works.size(); i += 3) {
      // The last of some ranges is only possible, and the first's end has proved itself.
      const auto set = saved.set(saved.works[i].set);
      std::vector<RecordedRange> ranges(set.begin(), set.end());
      ranges.front().settled = true;
      ranges.back().told = i % 2 == 0;
      saved.works[i].set = saved.AddSet(ranges, ranges.size() > 1 ? 1 : 0);
      saved.works[i].kind = i % 2 == 0 ? WorkKind::kForeign : WorkKind::kKernel;
    }
    ASSERT_TRUE(SaveTrace(saved, path_, true).ok());
    const auto run = LoadTrace(path_);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->Check().ok()) << run->Check();
    EXPECT_THAT(run->problems, IsEmpty());
    ASSERT_EQ(run->steps.size(), saved.steps.size());
    ASSERT_EQ(run->works.size(), saved.works.size());
    EXPECT_EQ(run->setting.waits_told, saved.setting.waits_told);
    EXPECT_EQ(run->setting.possible_told, saved.setting.possible_told);
    EXPECT_EQ(run->waits, saved.waits);
    EXPECT_EQ(run->discards, saved.discards);
    for (size_t i = 0; i < saved.steps.size(); ++i) {
      const RecordedStep& step = run->steps[i];
      ASSERT_EQ(step.kind, saved.steps[i].kind);
      if (step.kind != RecordedStep::Kind::kWork) {
        const RecordedAllocation& a = run->allocations[step.index];
        const RecordedAllocation& b = saved.allocations[saved.steps[i].index];
        EXPECT_EQ(a.base, b.base);
        EXPECT_EQ(a.size, b.size);
        EXPECT_EQ(a.freed, b.freed);
        continue;
      }
      EXPECT_EQ(step.index, saved.steps[i].index) << "not in the order of the calls";
      const RecordedWork& a = run->works[step.index];
      const RecordedWork& b = saved.works[saved.steps[i].index];
      EXPECT_EQ(a.start, b.start);
      EXPECT_EQ(a.end, b.end);
      EXPECT_EQ(a.stream, b.stream);
      EXPECT_EQ(a.cost, b.cost);
      EXPECT_EQ(run->codes[a.code].name, saved.codes[b.code].name);
      EXPECT_EQ(a.kind, b.kind);
      EXPECT_EQ(run->set(a.set), saved.set(b.set));
      EXPECT_EQ(run->may_touch(a.set), saved.may_touch(b.set));
    }
  }
  EXPECT_TRUE(absl::IsAlreadyExists(SaveTrace(RandomRun(1), path_, false)));
}

TEST_F(LoadTraceTest, PointersArePiecesOfWhatLivesThen) {
  const RecordedRun run =
      Load({AllocateEvent{1, kBase, MiB(4)},
            Work(2, 0, {{kBase + MiB(1), MiB(2), 5}, {DevicePtr(77), MiB(1)}}), FreeEvent{3, kBase},
            AllocateEvent{3, kBase, MiB(8)},
            Work(4, 1, {{kBase + MiB(1), MiB(2), 5}, {DevicePtr(77), MiB(1)}}),
            Work(5, 2, {{kBase + MiB(7), MiB(2)}}), trace::TimesEvent{1, 10, 7, MiB(2)},
            trace::MoveEvent{6, 2, kBase + MiB(2), MiB(2), true, false}});
  EXPECT_THAT(run.problems, IsEmpty());
  const RecordedRange first{
      .allocation = 0, .offset = MiB(1).value, .size = MiB(2).value, .slot = 5};
  RecordedRange second = first;
  second.allocation = 1;
  EXPECT_THAT(run.set(run.works[0].set), ElementsAre(first));
  EXPECT_THAT(run.set(run.works[1].set), ElementsAre(second));
  // Clipped to the allocation.
  EXPECT_EQ(run.set(run.works[2].set)[0].size, MiB(1).value);
  EXPECT_EQ(run.works[1].end, 17u);
  EXPECT_EQ(run.works[1].remote, MiB(2).value);
  ASSERT_EQ(run.moves.size(), 1u);
  EXPECT_EQ(run.moves[0].allocation, 1u);
  EXPECT_EQ(run.moves[0].offset, MiB(2).value);
}

TEST_F(LoadTraceTest, WaitsComeInTheOrderOfTheirEnds) {
  using For = trace::WaitEvent::For;
  const RecordedRun run =
      Load({trace::WaitEvent{50, 60}, trace::WaitEvent{40, 10, For::kEvent},
            trace::WaitEvent{30, 30, For::kStream, 7}, trace::WaitEvent{20, 0}});
  // One began before the trace did.
  EXPECT_THAT(run.waits, ElementsAre(RecordedWait{20, 0, RecordedWait::For::kAll},
                                     RecordedWait{30, 30, RecordedWait::For::kStream, 7},
                                     RecordedWait{40, 10, RecordedWait::For::kEvent}));
}

// It may be told before either code is.
TEST_F(LoadTraceTest, CodesAreLikeOthers) {
  const RecordedRun run = Load({trace::AlikeEvent{8, 5}, Work(1, 0, {}),
                                trace::CodeEvent{5, 70, "k"}, trace::CodeEvent{8, 71, "k"}});
  ASSERT_TRUE(run.Check().ok()) << run.Check();
  ASSERT_EQ(run.codes.size(), 3u);
  EXPECT_EQ(run.codes[0].shape, 70u);
  EXPECT_EQ(run.codes[0].alike, std::nullopt);
  EXPECT_EQ(run.codes[1].shape, 71u);
  EXPECT_EQ(run.codes[1].alike, 0u);
}

TEST_F(LoadTraceTest, WhatIsDiscardedIsOfWhatLivesThen) {
  const RecordedRun run = Load(
      {AllocateEvent{1, kBase, MiB(7)}, Work(3, 10, {}), AllocateEvent{2, kBase + MiB(8), MiB(2)},
       // Told late; of two pieces, whose addresses have a gap between; beyond the end.
       trace::DiscardEvent{2, kBase, MiB(4)}, trace::DiscardEvent{4, kBase + MiB(6), MiB(9)},
       // Of nothing, of nothing that lives, and of what lives no more.
       trace::DiscardEvent{5, kBase, Bytes(0)}, trace::DiscardEvent{5, DevicePtr(77), MiB(4)},
       FreeEvent{6, kBase}, trace::DiscardEvent{7, kBase, MiB(4)}});
  ASSERT_EQ(run.steps.size(), 4u);
  EXPECT_THAT(run.discards, ElementsAre(RecordedDiscard{2, 0, 0, MiB(4).value, 2},
                                        RecordedDiscard{4, 0, MiB(6).value, MiB(1).value, 3}));
}

TEST_F(LoadTraceTest, WhatIsNobodysIsSomebodysAgain) {
  using Kind = RecordedDiscard::Kind;
  const uint64_t small = MiB(2).value, large = MiB(4).value;
  const RecordedRun run = Load(
      {AllocateEvent{1, kBase, Bytes(large)},
       trace::DiscardEvent{2, kBase, Bytes(large), /*unowned=*/true},
       AllocateEvent{3, kBase + MiB(8), Bytes(small)}, trace::OwnEvent{4, kBase + MiB(2), MiB(2)},
       trace::OwnEvent{5, kBase + MiB(6), MiB(1)}, trace::OwnEvent{6, DevicePtr(), Bytes(0)}});
  EXPECT_THAT(run.discards, ElementsAre(RecordedDiscard{2, 0, 0, large, 1, Kind::kUnowned},
                                        RecordedDiscard{4, 0, small, small, 2, Kind::kOwned},
                                        RecordedDiscard{6, 0, 0, large, 2, Kind::kOwned}))
      << "none of the other was nobody's";
}

TEST_F(LoadTraceTest, CodeIsTrustedFromTheBeginningAsFarAsItIsLater) {
  const auto launch = [](uint64_t id, uint32_t code, Trust trust) {
    WorkEvent work = Work(id + 1, id, {});
    work.code = code;
    work.trust = trust;
    return work;
  };
  const std::vector<trace::Event> events = {
      // The same function in two shapes, and another.
      trace::CodeEvent{0, 1, "k"}, trace::CodeEvent{1, 2, "k"}, trace::CodeEvent{2, 1, "other"},
      launch(1, 0, Trust::kUntried), launch(2, 2, Trust::kUntried), launch(3, 1, Trust::kPlausible),
      launch(4, 1, Trust::kProven), launch(5, 0, Trust::kProven),
      // As its arguments are, or it was seen to miss.
      launch(6, 2, Trust::kPlausible), launch(7, 2, Trust::kUntried)};
  std::vector<Trust> trust;
  for (const RecordedWork& w : Load(events, /*trust=*/true).works) trust.push_back(w.trust);
  const Trust read = Trust::kProven, no = Trust::kUntried;
  EXPECT_THAT(trust, ElementsAre(read, no, read, read, read, Trust::kPlausible, no));
}

// A cost is of the last works that its thread told of, each the same.
TEST_F(LoadTraceTest, CostsAreSharedByWorksOfTheirThread) {
  const RecordedRun run =
      Load({Work(1, 0, {}), Work(2, 1, {}), Work(3, 2, {}), trace::CostEvent{2, 300},
            Work(4, 3, {}), trace::CostEvent{0, 5}, trace::CostEvent{3, 900}, Work(5, 4, {}),
            trace::CostEvent{1, UINT64_MAX}});
  std::vector<uint64_t> costs;
  for (const RecordedWork& work : run.works) costs.push_back(work.cost);
  // Of three the last is the only one that nothing was told of; no clock has the last cost.
  EXPECT_THAT(costs, ElementsAre(0, 150, 150, 300, 0));
}

// It may be the one that made its memory free to go, and is told of when it is over.
TEST_F(LoadTraceTest, MovesThatEndBehindTheirMemoryAreKept) {
  const RecordedRun run =
      Load({AllocateEvent{1, kBase, MiB(4)},
            trace::MoveEvent{9, 7, kBase + MiB(2), MiB(2), false, false},
            trace::MoveEvent{10, 1, kBase, MiB(2), true, false},
            trace::MoveEvent{7, 1, kBase, MiB(2), false, true}, FreeEvent{8, kBase}});
  ASSERT_EQ(run.moves.size(), 2u);
  // In the order of their ends, though the other began first.
  EXPECT_TRUE(run.moves[0].clean);
  EXPECT_EQ(run.moves[1].time, 9u);
  EXPECT_EQ(run.moves[1].offset, MiB(2).value);
}

// Blocks come thread by thread.
TEST_F(LoadTraceTest, WorkIsInTheOrderOfItsTime) {
  const RecordedRun run =
      Load({AllocateEvent{1, kBase, MiB(4)}, Work(9, 0, {{kBase, MiB(1)}}), Work(4, 1, {}),
            Work(7, 2, {{kBase, MiB(2)}}), trace::TimesEvent{2, 10, 7, {}}});
  ASSERT_EQ(run.works.size(), 3u);
  EXPECT_EQ(run.works[0].submitted, 4u);
  EXPECT_EQ(run.works[1].end, 17u);
  EXPECT_EQ(run.set(run.works[2].set)[0].size, MiB(1).value);
}

TEST_F(LoadTraceTest, ContradictionsAreSaidAndLeftOut) {
  const RecordedRun run =
      Load({FreeEvent{1, kBase}, AllocateEvent{2, kBase, MiB(4)},
            AllocateEvent{3, kBase + MiB(2), MiB(4)}, Work(4, 0, {{kBase, MiB(1)}}),
            Work(5, 0, {{kBase, MiB(9)}}), Work(6, 1, {}), Work(7, 0, {}),
            AllocateEvent{8, kBase, Bytes(uint64_t{1} << 60)}, trace::LostEvent{12}});
  EXPECT_THAT(run.problems, ElementsAre(HasSubstr("12 events were lost"), HasSubstr("told twice"),
                                        HasSubstr("never allocated"), HasSubstr("lies over one"),
                                        HasSubstr("no machine has that")));
  EXPECT_EQ(run.works.size(), 2u);
}

// By the work behind which it was, since the event comes when that is known.
TEST_F(LoadTraceTest, ComparisonsAreSavedToo) {
  RecordedRun saved = LoopRun(3, 4, MiB(10));
  saved.comparisons = {{1, MiB(2).value, MiB(4).value, 1, 4, true},
                       {2, MiB(8).value, MiB(2).value, 2, 8, false}};
  ASSERT_TRUE(SaveTrace(saved, path_, true).ok());
  const auto run = LoadTrace(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->comparisons, saved.comparisons);
}

TEST_F(LoadTraceTest, WhatWasComparedIsOfWhatLivedThen) {
  const auto compare = [](DevicePtr base, Bytes size, uint64_t first, uint64_t last) {
    return trace::CompareEvent{base, size, first, last, true};
  };
  const RecordedRun run = Load(
      {AllocateEvent{1, kBase, MiB(7)}, Work(2, 10, {}), Work(3, 11, {}), FreeEvent{4, kBase},
       AllocateEvent{5, kBase, MiB(3)}, Work(6, 12, {}), Work(7, 13, {}),
       compare(kBase + MiB(4), MiB(4), 10, 11), compare(kBase, MiB(2), 12, 13),
       // Across the free, of what does not live, of no work, backwards, and of more than a chunk.
       compare(kBase, MiB(2), 11, 12), compare(kBase + MiB(4), MiB(2), 12, 13),
       compare(kBase, MiB(2), 12, 99), compare(kBase, MiB(2), 99, 13),
       compare(kBase, MiB(2), 13, 12), compare(kBase, MiB(2), 12, 12),
       compare(kBase, MiB(128), 12, 13)});
  ASSERT_EQ(run.comparisons.size(), 2u);
  EXPECT_EQ(run.comparisons[0].allocation, 0u);
  EXPECT_EQ(run.comparisons[0].offset, MiB(4).value);
  EXPECT_EQ(run.comparisons[0].size, MiB(3).value) << "the allocation ends there";
  EXPECT_EQ(run.comparisons[0].first, 0u);
  EXPECT_EQ(run.comparisons[0].last, 1u);
  EXPECT_TRUE(run.comparisons[0].same);
  EXPECT_EQ(run.comparisons[1].allocation, 1u);
  EXPECT_EQ(run.comparisons[1].first, 2u);
  EXPECT_EQ(run.comparisons[1].last, 3u);
}

TEST_F(LoadTraceTest, MoreMemoryThanAnyMachineHas) {
  std::vector<trace::Event> events;
  for (uint64_t i = 0; i < 100; ++i) {
    events.emplace_back(AllocateEvent{i, DevicePtr(i << 43), GiB(8 << 10)});
  }
  auto writer = trace::Writer::Open({.path = path_, .force = true}, {});
  for (const trace::Event& e : events) (*writer)->Add(std::get<AllocateEvent>(e));
  ASSERT_TRUE((*writer)->Close().ok());
  const auto run = LoadTrace(path_);
  EXPECT_TRUE(absl::IsResourceExhausted(run.status()));
  EXPECT_THAT(std::string(run.status().message()), HasSubstr(path_));
}

}  // namespace
}  // namespace vramspan::replay
