// Random worlds are recorded, and what they told their scheduler is told to another: the same
// comes out, to the last action.
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/scheduler_encoder.h"
#include "tests/scheduler/simulation/world.h"
#include "tools/replay/repeat_events.h"

namespace vramspan::simulation {
namespace {

using replay::EventRepeater;
using replay::RepeatedEvents;

constexpr uint64_t kRecordedWorlds = 300;
constexpr uint64_t kRecordedEvents = 6000;

// What a sink is not told of.
struct Loss {
  std::optional<SchedulerEvent::Kind> kind;
  bool chunks = false;               // What others change in chunks.
  std::optional<Duration> deadline;  // It is told of another.
};

class LossySink final : public EventSink {
 public:
  explicit LossySink(const Loss& loss) : loss_(loss) {}

  void Made(ChunkTable* chunks, const SchedulerOptions& options, std::string_view policy) override {
    SchedulerOptions told = options;
    told.deadline = loss_.deadline.value_or(options.deadline);
    chunks_ = chunks;
    encoder_.Made(chunks, told, policy);
  }
  void Begin(const SchedulerEvent& event) override {
    if (loss_.chunks && !IsToldToPolicy(event.kind)) {
      chunks_->told().changed.Drain([this](ChunkIndex) { ++lost_; });
      chunks_->told().removed.Drain([](ChunkIndex) {});
    }
    losing_ = loss_.kind == event.kind;
    lost_ += losing_;
    if (!losing_) encoder_.Begin(event);
  }
  void AskedWhatRuns() override {
    if (!losing_) encoder_.AskedWhatRuns();
  }
  void Runs(const Work& work) override {
    if (!losing_) encoder_.Runs(work);
  }
  void Dropped(ChunkIndex chunk) override {
    if (!losing_) encoder_.Dropped(chunk);
  }
  void End(const SchedulerEvent& event, const EventAnswer& answer) override {
    if (!losing_) return encoder_.End(event, answer);
#ifdef VRAMSPAN_DCHECK
    // The encoder would find out itself what a lost event changed. Who repeats it is to: an end
    // that writes nothing makes the encoder take all chunks for told.
    if (!IsToldToPolicy(event.kind)) {
      encoder_.End({.kind = SchedulerEvent::Kind::kLookAgain}, {});
    }
#endif
  }

  uint64_t lost() const { return lost_; }
  std::string TakeBytes() {
    encoder_.Finish();
    uint32_t events = 0;
    const trace::BlockBytes bytes = encoder_.Take(&events);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  const Loss loss_;
  ChunkTable* chunks_ = nullptr;
  bool losing_ = false;
  uint64_t lost_ = 0;
  trace::SchedulerEncoder encoder_;
};

struct Recorded {
  std::string bytes;
  size_t most_held = 0;
  uint64_t lost = 0;
};

Recorded RecordedOf(const WorldOptions& options, const Loss& loss = {}) {
  LossySink sink(loss);
  World world(options, &sink);
  EXPECT_TRUE(world.Run()) << world.failure();
  return {.bytes = sink.TakeBytes(), .most_held = world.most_held(), .lost = sink.lost()};
}

RepeatedEvents Repeated(std::string_view bytes) {
  EventRepeater repeater;
  repeater.Take({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return repeater.result();
}

std::string TextOf(const RepeatedEvents& r) {
  if (r.difference.has_value()) {
    return absl::StrCat("event ", r.difference->event, ", ", r.difference->name, ": recorded ",
                        r.difference->recorded, "; now ", r.difference->now);
  }
  return absl::StrCat(r.damage, r.whole ? "" : ", and there is no end");
}

bool AllTheSame(const RepeatedEvents& r) {
  return !r.difference.has_value() && r.damage.empty() && r.whole;
}

TEST(SchedulerRepeat, RandomWorldsDoTheSameAgain) {
  const char* const worlds = std::getenv("VRAMSPAN_REPEATED_WORLDS");
  const uint64_t most = worlds != nullptr ? std::strtoull(worlds, nullptr, 10) : kRecordedWorlds;
  uint64_t events = 0, actions = 0;
  std::vector<size_t> held;
  for (uint64_t seed = 1; seed <= most; ++seed) {
    WorldOptions options = WorldOptions::Draw(seed);
    options.events = kRecordedEvents;
    const Recorded recorded = RecordedOf(options);
    held.push_back(recorded.most_held);
    const RepeatedEvents again = Repeated(recorded.bytes);
    ASSERT_TRUE(AllTheSame(again)) << "seed " << seed << ": " << TextOf(again);
    EXPECT_GE(again.most_held, recorded.most_held) << seed;
    events += again.events;
    actions += again.actions;
  }
  std::nth_element(held.begin(), held.begin() + held.size() / 2, held.end());
  std::printf("%llu worlds, %llu events, %llu actions, median of most held %zu\n",
              static_cast<unsigned long long>(most), static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(actions), held[held.size() / 2]);
}

// Wherever it was cut: the last event may lack its answer, and is not told.
TEST(SchedulerRepeat, WhatWasCutDoesTheSameAsFarAsItGoes) {
  WorldOptions options = WorldOptions::Draw(1);
  options.events = 2'000;
  const std::string bytes = RecordedOf(options).bytes;
  for (size_t cut = 1; cut <= 500; ++cut) {
    const RepeatedEvents again = Repeated(bytes.substr(0, bytes.size() - cut));
    ASSERT_FALSE(again.difference.has_value() || again.whole) << cut << ": " << TextOf(again);
    // In the middle of a record, or between two.
    ASSERT_TRUE(again.damage.empty() ||
                again.damage.find("a record that is none") != std::string::npos)
        << cut << ": " << again.damage;
    EXPECT_GT(again.actions, 0u);
  }
}

// Threads that run far ahead of a slow device, and do not ask whether they may.
TEST(SchedulerRepeat, FiveHundredHeldLaunchesToo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    WorldOptions options = WorldOptions::Draw(seed);
    options.chunks = 400;
    options.streams = 12;
    options.threads = 8;
    options.most_held = 600;
    options.asks_for_room = false;
    options.most_think = std::chrono::microseconds(1);
    options.most_work = std::chrono::milliseconds(2);
    options.budget_percent = 40;
    options.steps = {.copies = 10, .frees = 5};
    options.shares_context = false;
    options.blocking_copies = false;
    options.tracked_late = false;
    options.faults = {};
    options.events = 20'000;
    const Recorded recorded = RecordedOf(options);
    const RepeatedEvents again = Repeated(recorded.bytes);
    EXPECT_TRUE(AllTheSame(again)) << "seed " << seed << ": " << TextOf(again);
    EXPECT_GE(recorded.most_held, 500u) << seed;
    EXPECT_GE(again.most_held, recorded.most_held);
  }
}

// Another figure in one rule: held work waits for half as long.
TEST(SchedulerRepeat, AChangedRuleIsNamed) {
  uint64_t differ = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    WorldOptions options = WorldOptions::Draw(seed);
    options.events = kRecordedEvents;
    const RepeatedEvents again =
        Repeated(RecordedOf(options, {.deadline = options.deadline / 2}).bytes);
    EXPECT_EQ(again.damage, "");
    if (!again.difference.has_value()) continue;
    ++differ;
    EXPECT_GT(again.difference->event, 0u);
    EXPECT_NE(again.difference->recorded, again.difference->now);
  }
  EXPECT_GT(differ, 10u);
}

// What nothing can break says nothing: who leaves out one kind of event, is found out.
class SchedulerRepeatMisses : public testing::TestWithParam<int> {
 protected:
  // Whether some world has it at all, and whether the first that has is told apart.
  static std::pair<bool, bool> Misses(const Loss& loss) {
    bool any = false;
    // A context seldom dies.
    for (uint64_t seed = 1; seed <= (any ? 150 : 400); ++seed) {
      WorldOptions options = WorldOptions::Draw(seed);
      options.events = kRecordedEvents;
      const Recorded recorded = RecordedOf(options, loss);
      if (recorded.lost == 0) continue;
      any = true;
      if (!AllTheSame(Repeated(recorded.bytes))) return {true, true};
    }
    return {any, false};
  }
};

TEST_P(SchedulerRepeatMisses, AKindOfEvent) {
  using Kind = SchedulerEvent::Kind;
  const auto kind = static_cast<Kind>(GetParam());
  const auto [any, missed] = Misses({.kind = kind});
  // No part of these worlds.
  const bool none = kind == Kind::kUsersDeclared || kind == Kind::kTeach ||
                    kind == Kind::kArrivesUntold || kind == Kind::kAnyMayBeWritten ||
                    kind == Kind::kAllInPlace || kind == Kind::kNotRemapped ||
                    kind == Kind::kAdvised;
  // They ask, and change nothing.
  const bool asks = kind == Kind::kFull || kind == Kind::kDue;
  EXPECT_EQ(any, !none) << EventName(kind);
  EXPECT_EQ(missed, !none && !asks) << EventName(kind);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SchedulerRepeatMisses,
                         testing::Range(0, static_cast<int>(SchedulerEvent::Kind::kCount)),
                         [](const testing::TestParamInfo<int>& kind) {
                           return EventName(static_cast<SchedulerEvent::Kind>(kind.param));
                         });

TEST_F(SchedulerRepeatMisses, WhatOthersChangeInChunks) {
#ifdef VRAMSPAN_DCHECK
  // What records them checks itself, and says so where messages go.
  EXPECT_DEATH(Misses({.chunks = true}), "");
#else
  EXPECT_EQ(Misses({.chunks = true}), std::pair(true, true));
#endif
}

}  // namespace
}  // namespace vramspan::simulation
