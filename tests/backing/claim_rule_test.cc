#include "runtime/backing/claim_rule.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace vramspan {
namespace {

constexpr Bytes kTotal = GiB(80);

// Programs of one user and what is foreign, on one device. Each looks when the test says so.
class World {
 public:
  struct Program {
    Bytes ceiling, budget, taken, used;
    bool lacks = false;
  };

  Program& Join() {
    programs.push_back({});
    Program& p = programs.back();
    DeviceView v = ViewOf(p);
    p.ceiling = DefaultDeviceBudget(kTotal, free() + v.others.taken);
    v.ceiling = p.ceiling;
    p.budget = v.others.count == 0 ? p.ceiling : std::min(p.ceiling, StartBudget(v));
    return p;
  }
  DeviceView ViewOf(const Program& own) const {
    DeviceView v{.total = kTotal,
                 .free = free(),
                 .ceiling = own.ceiling,
                 .budget = own.budget,
                 .taken = own.taken,
                 .used = own.used,
                 .lacks = own.lacks};
    for (const Program& p : programs) {
      if (&p == &own) continue;
      const DeviceView its{.total = kTotal,
                           .ceiling = p.ceiling,
                           .budget = p.budget,
                           .used = p.used,
                           .lacks = p.lacks};
      ++v.others.count;
      v.others.taken += p.taken;
      v.others.ahead += LessOrNone(p.budget, p.taken);
      v.others.spare += LessOrNone(p.budget, ClaimKeeps(its));
      v.others.wants |= Wants(its);
    }
    return v;
  }
  void Look(Program* p) {
    p->budget = NextBudget(ViewOf(*p));
    p->taken = std::max(p->used, std::min(p->taken, p->budget));
  }
  void AllLook() {
    for (Program& p : programs) Look(&p);
  }
  // As far as its budget goes.
  static void Grow(Program* p, Bytes to) {
    p->used = std::max(p->used, std::min(to, p->budget));
    p->taken = std::max(p->taken, p->used);
    p->lacks = p->used < to;
  }
  Bytes taken() const {
    Bytes sum;
    for (const Program& p : programs) sum += p.taken;
    return sum;
  }
  Bytes free() const { return LessOrNone(kTotal, foreign + taken()); }
  Bytes budgets() const {
    Bytes sum;
    for (const Program& p : programs) sum += std::max(p.budget, p.taken);
    return sum;
  }

  Bytes foreign;
  std::vector<Program> programs;
};

TEST(ClaimRule, BudgetsSumToWhatIsThereAndGrowBackWhateverHappens) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    World w;
    w.programs.reserve(8);
    for (int step = 0; step < 200 && !HasFailure(); ++step) {
      auto pick = [&]() -> World::Program& { return w.programs[random() % w.programs.size()]; };
      const auto what = random() % 8;
      if (w.programs.empty() || (what == 0 && w.programs.size() < 6)) {
        w.Join();
      } else if (what == 1) {
        w.programs.erase(w.programs.begin() + static_cast<long>(random() % w.programs.size()));
      } else if (what == 2) {
        World::Program& p = pick();
        p.used = Bytes(WholeGranules(Bytes(p.used.value / 2)));
        p.lacks = false;
      } else if (what < 5) {
        World::Program& p = pick();
        World::Grow(&p, p.used + GiB(random() % 30));
      } else {
        World::Program& p = pick();
        const Bytes used = p.used;
        w.Look(&p);
        EXPECT_GE(p.budget, used) << "claims evict nothing";
        EXPECT_LE(p.budget, p.ceiling);
      }
      EXPECT_LE(w.budgets(), w.taken() + w.free());
    }
    while (w.programs.size() > 1) w.programs.pop_back();
    for (World::Program& p : w.programs) {
      // What is free then may be little, as where managed memory has it.
      w.foreign = kTotal - p.taken;
      w.Look(&p);
      EXPECT_EQ(p.budget, p.ceiling);
    }
  }
}

TEST(ClaimRule, OfTwoThatStartTogetherEachComesToHalf) {
  World w;
  w.programs.reserve(2);
  World::Program& a = w.Join();
  World::Program& b = w.Join();
  EXPECT_EQ(a.budget, DefaultDeviceBudget(kTotal, kTotal)) << "it was alone";
  EXPECT_LE(a.budget + b.budget, kTotal);
  EXPECT_GT(FairShare(w.ViewOf(b)), GiB(39)) << "what things are sized by";
  w.AllLook();
  EXPECT_GT(a.budget, GiB(39));
  EXPECT_GT(b.budget, GiB(38));
  World::Program before = a;
  w.AllLook();
  EXPECT_EQ(a.budget, before.budget) << "nothing changes while nothing happens";
}

TEST(ClaimRule, WhoLacksMemoryGetsWhatOthersDoNotUse) {
  World w;
  w.programs.reserve(2);
  World::Program& idle = w.Join();
  World::Grow(&idle, GiB(6));
  World::Program& works = w.Join();
  for (int i = 0; i < 4; ++i) {
    World::Grow(&works, GiB(70));
    w.AllLook();
  }
  EXPECT_EQ(idle.budget, GiB(8)) << "what it uses, and room by which it is not nearly full";
  EXPECT_GE(works.used, GiB(69));
  // The first comes again: it has its room, and no more while the other uses the rest.
  World::Grow(&idle, GiB(20));
  EXPECT_EQ(idle.used, GiB(8));
  w.AllLook();
  EXPECT_GE(works.budget, works.used);
  // What the other no longer uses is there for it, up to half.
  works.used = GiB(20);
  works.lacks = false;
  w.AllLook();
  w.AllLook();
  World::Grow(&idle, GiB(20));
  EXPECT_EQ(idle.used, GiB(20));
}

TEST(ClaimRule, WhatIsWithinReachIsWhatOthersDoNotKeep) {
  World w;
  w.programs.reserve(2);
  World::Program& idle = w.Join();
  EXPECT_EQ(ClaimReach(w.ViewOf(idle)), idle.ceiling);
  World::Grow(&idle, GiB(6));
  World::Program& works = w.Join();
  w.AllLook();
  World::Grow(&works, GiB(30));
  EXPECT_LT(works.budget, GiB(40));
  const Bytes reach = ClaimReach(w.ViewOf(works));
  EXPECT_GE(reach, GiB(70));
  World::Grow(&works, GiB(80));
  EXPECT_TRUE(MayCome(w.ViewOf(works)));
  for (int i = 0; i < 4; ++i) {
    w.AllLook();
    World::Grow(&works, GiB(80));
  }
  EXPECT_EQ(works.used, reach);
  EXPECT_FALSE(MayCome(w.ViewOf(works)));
  // Where the other uses its part, there is none.
  works.used = works.taken = works.budget = GiB(30);
  works.lacks = false;
  World::Grow(&idle, GiB(8));
  idle.used = idle.taken = idle.budget = GiB(45);
  EXPECT_LT(ClaimReach(w.ViewOf(works)), GiB(36));
  works.lacks = true;
  EXPECT_FALSE(MayCome(w.ViewOf(works)));
  // Where it lacks memory, too, it has its share.
  idle.used = idle.taken = GiB(20);
  EXPECT_TRUE(MayCome(w.ViewOf(works)));
  idle.lacks = true;
  works.used = works.taken = works.budget = GiB(40);
  EXPECT_FALSE(MayCome(w.ViewOf(works)));
}

TEST(ClaimRule, WhatWasUsedLatelyIsKeptToo) {
  World w;
  w.programs.reserve(2);
  World::Program& own = w.Join();
  DeviceView v = w.ViewOf(own);
  v.used = GiB(10);
  EXPECT_EQ(ClaimKeeps(v), GiB(10) + GrowthRoom(kTotal, GiB(10)));
  v.peak = GiB(50);
  EXPECT_EQ(ClaimKeeps(v), GiB(55));
  v.others = {.count = 1, .wants = true};
  EXPECT_EQ(NextBudget(v), GiB(55));
  v.peak = GiB(79);
  EXPECT_EQ(ClaimKeeps(v), v.budget);
}

TEST(ClaimRule, WhatWasRefusedIsNotPromisedUntilMoreIsFree) {
  World w;
  World::Program& p = w.Join();
  World::Grow(&p, GiB(10));
  w.foreign = GiB(69);
  DeviceView v = w.ViewOf(p);
  v.refused_at = v.free;
  EXPECT_EQ(NextBudget(v), GiB(10));
  v.free += GiB(5);
  EXPECT_EQ(NextBudget(v), GiB(15));
  v.refused_at.reset();
  EXPECT_EQ(NextBudget(v), p.ceiling);
}

TEST(ClaimRule, NumbersThatMakeNoSenseMakeNoBudgetOfNowhere) {
  const Bytes much(uint64_t{1} << 56);
  for (const Bytes odd : {Bytes(0), Bytes(1), kTotal, much}) {
    DeviceView v{.total = kTotal,
                 .free = odd,
                 .ceiling = GiB(70),
                 .budget = GiB(70),
                 .used = GiB(1),
                 .others = {1, odd, odd, odd, true}};
    for (const bool lacks : {false, true}) {
      v.lacks = lacks;
      EXPECT_GE(NextBudget(v), GiB(1));
      EXPECT_LE(NextBudget(v), GiB(70));
    }
  }
}

}  // namespace
}  // namespace vramspan
