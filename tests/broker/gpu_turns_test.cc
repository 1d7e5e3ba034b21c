// Turns on the GPU: when there are any, who has them, for how long, and when they end.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLook = milliseconds(200);

class GpuTurns : public testing::Test {
 protected:
  // One that works on so much, and can hold its work.
  ProcessId Add(uint64_t id, Bytes need, const Policy& policy = {}) {
    const ProcessId process = machine_.Add(id, policy);
    machine_.client(process).takes_turns = true;
    machine_.Works(process, need);
    ids_.push_back(process);
    return process;
  }
  // All work so long, and say so five times a second.
  void Work(Duration time) {
    for (Duration passed{0}; passed < time; passed += kLook) {
      machine_.Run(kLook);
      for (const ProcessId id : ids_) {
        if (machine_.state().processes.contains(id) && !machine_.client(id).stuck) {
          machine_.Speak(id);
        }
      }
    }
  }
  uint64_t Works(ProcessId id) { return machine_.client(id).works; }
  size_t Working() {
    size_t working = 0;
    for (const ProcessId id : ids_) {
      if (machine_.state().processes.contains(id)) working += !machine_.At(id).part.holds;
    }
    return working;
  }
  bool on() { return machine_.state().gpu.on; }
  void Gone(ProcessId id) {
    machine_.Tell(Dies{id});
    machine_.Tell(BytesGone{id});
  }

  Machine machine_{GiB(80)};
  std::vector<ProcessId> ids_;
};

TEST_F(GpuTurns, OneWorksWhereTwoDoNotFit) {
  const ProcessId a = Add(1, GiB(48)), b = Add(2, GiB(48));
  Work(seconds(20));
  ASSERT_TRUE(on());
  const uint64_t before_a = Works(a), before_b = Works(b);
  for (int i = 0; i < 400; ++i) {
    Work(kLook);
    ASSERT_EQ(Working(), 1u);
  }
  // One alone would have done 80,000 pieces of work. Without turns both together do 32,000.
  const uint64_t did_a = Works(a) - before_a, did_b = Works(b) - before_b;
  EXPECT_GT(did_a + did_b, 75'000u);
  EXPECT_NEAR(static_cast<double>(did_a), static_cast<double>(did_b), 15'000);
}

TEST_F(GpuTurns, MovingIsASmallPartOfTheTime) {
  Add(1, GiB(75));
  Add(2, GiB(75));
  Work(seconds(100));
  ASSERT_TRUE(on());
  const Bytes before = machine_.recalled();
  Work(seconds(1000));
  // Each turn moves 70 GiB out, in 1.6 s, and is as long as 33 times that.
  const Bytes moved = machine_.recalled() - before;
  EXPECT_LE(moved.value / 47 / 1'000'000'000, 40u);
  EXPECT_GE(moved, GiB(500));
}

TEST_F(GpuTurns, NoneWhereAllFits) {
  Add(1, GiB(38));
  Add(2, GiB(40));
  Work(seconds(30));
  EXPECT_FALSE(on());
}

TEST_F(GpuTurns, NoneForOneThatDoesNotFitAlone) {
  Add(1, GiB(120));
  Work(seconds(30));
  EXPECT_FALSE(on());
}

TEST_F(GpuTurns, NoneWhereItIsSaid) {
  machine_.state().settings.turns.on = false;
  Add(1, GiB(48));
  Add(2, GiB(48));
  Work(seconds(30));
  EXPECT_FALSE(on());
}

// A process of a version that cannot hold its work is never told to, nor one that must answer soon.
TEST_F(GpuTurns, WhoCannotHoldItsWorkTakesNoPart) {
  const ProcessId a = Add(1, GiB(48)), b = Add(2, GiB(48));
  machine_.client(b).takes_turns = false;
  Work(seconds(30));
  EXPECT_FALSE(on());
  Add(3, GiB(48));
  Work(seconds(30));
  EXPECT_TRUE(on());
  EXPECT_FALSE(machine_.At(b).part.takes);
  EXPECT_TRUE(machine_.At(a).part.takes);
}

TEST_F(GpuTurns, TheClassLatencyTakesNoPart) {
  Add(1, GiB(50));
  const ProcessId b = Add(2, GiB(50), {.klass = Class::kLatency});
  Work(seconds(30));
  EXPECT_FALSE(on());
  machine_.Works(b, GiB(20));
  Add(3, GiB(50));
  Work(seconds(60));
  EXPECT_TRUE(on());
  EXPECT_FALSE(machine_.At(b).part.holds);
}

TEST_F(GpuTurns, WeightsAreTime) {
  const ProcessId a = Add(1, GiB(75), Weighs(100)), b = Add(2, GiB(75), Weighs(300));
  Work(seconds(20));
  ASSERT_TRUE(on());
  const uint64_t before_a = Works(a), before_b = Works(b);
  Work(seconds(1000));
  const double ratio =
      static_cast<double>(Works(b) - before_b) / static_cast<double>(Works(a) - before_a);
  EXPECT_NEAR(ratio, 3, 0.4);
}

// Programs that fill each other's gaps lose by turns: these end, and are tried less and less.
TEST_F(GpuTurns, NoneWhereTheyBringNothing) {
  for (uint64_t i = 1; i <= 2; ++i) machine_.client(Add(i, GiB(48))).in_gaps = true;
  uint64_t held = 0, began = 0;
  bool before = false;
  for (int i = 0; i < 5 * 600; ++i) {
    Work(kLook);
    held += on();
    began += on() && !before;
    before = on();
  }
  EXPECT_GE(began, 2u);
  EXPECT_LE(began, 6u);
  // A fifth of ten minutes.
  EXPECT_LE(held, 600u);
}

TEST_F(GpuTurns, WhoDiesHoldsNobodyUp) {
  Add(1, GiB(48));
  Add(2, GiB(48));
  Add(3, GiB(48));
  Work(seconds(20));
  ASSERT_TRUE(on());
  Gone(machine_.state().gpu.holder);
  ASSERT_TRUE(on());
  EXPECT_TRUE(machine_.state().processes.contains(machine_.state().gpu.holder));
  Gone(machine_.state().gpu.holder);
  EXPECT_FALSE(on());
  EXPECT_EQ(Working(), 1u);
}

TEST_F(GpuTurns, WhoIsStoppedHoldsNobodyUp) {
  const ProcessId a = Add(1, GiB(30)), b = Add(2, GiB(60)), c = Add(3, GiB(60));
  Work(seconds(30));
  ASSERT_TRUE(on());
  for (const ProcessId id : {a, b, c}) {
    if (machine_.state().gpu.holder != id) continue;
    machine_.client(id).stuck = true;
    machine_.Tell(IsStuck{id});
    EXPECT_FALSE(machine_.At(id).part.takes);
    EXPECT_NE(machine_.state().gpu.holder, id);
    break;
  }
}

// One that is silent whenever turns begin would have all memory moved again and again.
TEST_F(GpuTurns, WhoIsLeftOutAgainAndAgainIsTriedLessAndLess) {
  for (const bool stops : {true, false}) {
    SCOPED_TRACE(stops ? "it stops" : "it cannot hold its work");
    const ProcessId a = Add(stops ? 1 : 3, GiB(48)), b = Add(stops ? 2 : 4, GiB(48));
    int began = 0;
    for (int i = 0; i < 5 * 600; ++i) {
      Work(kLook);
      if (!on()) continue;
      ++began;
      if (stops) {
        machine_.Tell(IsStuck{b});
        EXPECT_FALSE(on());
        machine_.Tell(Beats{b});
      } else {
        machine_.client(b).takes_turns = false;
        machine_.Speak(b);
        EXPECT_FALSE(on());
        machine_.client(b).takes_turns = true;
        machine_.Speak(b);
      }
    }
    // 30 s, 60, 120, 240 and so on behind each other.
    EXPECT_GE(began, 3);
    EXPECT_LE(began, 6);
    Gone(a);
    Gone(b);
    machine_.state().gpu = {};
  }
}

// Who ends, or is drained by an operator, is no reason to wait.
TEST_F(GpuTurns, WhoEndsOrIsDrainedMakesNobodyWait) {
  for (uint64_t i = 1; i <= 2; ++i) Add(i, GiB(48));
  Work(seconds(20));
  ASSERT_TRUE(on());
  Gone(ids_[0]);
  EXPECT_FALSE(on());
  Add(3, GiB(48));
  Work(seconds(10));
  ASSERT_TRUE(on());
  machine_.Tell(TenantDrains{TenantId(3), true});
  EXPECT_FALSE(on());
  Add(4, GiB(48));
  Work(seconds(10));
  EXPECT_TRUE(on());
}

TEST_F(GpuTurns, WhoDoesNothingGivesItsTurnAway) {
  Add(1, GiB(60));
  Add(2, GiB(60));
  Work(seconds(20));
  ASSERT_TRUE(on());
  const ProcessId holder = machine_.state().gpu.holder;
  machine_.client(holder).rests = true;
  Work(seconds(1));
  EXPECT_NE(machine_.state().gpu.holder, holder);
  // It does not get it back while it wants nothing, and the other goes on as if it were alone.
  Work(seconds(300));
  EXPECT_EQ(Working(), 2u) << "turns that nobody else wants are over";
}

TEST_F(GpuTurns, EverybodyHasItsTurn) {
  for (uint64_t i = 1; i <= 4; ++i) Add(i, GiB(48));
  Work(seconds(30));
  ASSERT_TRUE(on());
  std::vector<uint64_t> before;
  for (const ProcessId id : ids_) before.push_back(Works(id));
  Work(seconds(600));
  for (size_t i = 0; i < ids_.size(); ++i) EXPECT_GT(Works(ids_[i]) - before[i], 100'000u) << i;
}

// A broker that does nothing any more holds nobody up for ever. While there is one no hold runs
// out.
TEST_F(GpuTurns, AHoldHasAnEndAndIsSaidAgain) {
  for (uint64_t i = 1; i <= 4; ++i) Add(i, GiB(60));
  std::map<ProcessId, Instant> until;
  size_t heard = 0;
  for (int i = 0; i < 5 * 1200; ++i) {
    Work(kLook);
    for (; heard < machine_.held().size(); ++heard) {
      const Action& action = machine_.held()[heard];
      until[action.process] = action.deadline;
      ASSERT_LT(action.deadline, After(machine_.now(), seconds(200)));
    }
    for (const ProcessId id : ids_) {
      if (machine_.At(id).part.holds) {
        ASSERT_GT(until[id], machine_.now()) << i;
      }
    }
  }
  EXPECT_TRUE(on());
}

// A newcomer is served by its weight from when it comes, whatever others had before.
TEST_F(GpuTurns, NewcomersAndWeightsCountFromNowOn) {
  const ProcessId a = Add(1, GiB(60)), b = Add(2, GiB(60));
  Work(seconds(1800));
  ASSERT_TRUE(on());
  const ProcessId c = Add(3, GiB(60), Weighs(50));
  Work(seconds(100));
  const uint64_t before_a = Works(a), before_b = Works(b), before_c = Works(c);
  Work(seconds(1500));
  const auto share = [](uint64_t now, uint64_t before) {
    return static_cast<double>(now - before);
  };
  const double all =
      share(Works(a), before_a) + share(Works(b), before_b) + share(Works(c), before_c);
  EXPECT_NEAR(share(Works(c), before_c) / all, 0.2, 0.06);
  EXPECT_NEAR(share(Works(a), before_a) / all, 0.4, 0.06);
}

// What was submitted before goes on for a while, and keeps its memory: that is no disobedience.
TEST_F(GpuTurns, WhoHasMuchToEndIsNotFenced) {
  const ProcessId a = Add(1, GiB(48)), b = Add(2, GiB(48));
  for (int i = 0; i < 100 && !on(); ++i) Work(kLook);
  ASSERT_TRUE(on());
  const ProcessId held = machine_.At(a).part.holds ? a : b;
  for (int i = 0; i < 20; ++i) {
    if (machine_.Recalled(held)) machine_.Answer(held, Acknowledges::Result::kDeferred);
    machine_.Pass(milliseconds(150));
  }
  EXPECT_NE(machine_.At(held).state, LeaseState::kFenced);
  EXPECT_TRUE(on());
}

}  // namespace
}  // namespace vramspan::broker
