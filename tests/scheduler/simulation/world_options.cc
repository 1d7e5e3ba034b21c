#include "tests/scheduler/simulation/world_options.h"

#include <algorithm>

#include "tests/scheduler/simulation/random.h"

namespace vramspan::simulation {
namespace {

void DrawSize(Random* random, WorldOptions* o) {
  const uint32_t size = random->Below(100);
  if (size < 25) {
    o->chunks = random->Between(3, 30);
    o->streams = random->Between(1, 4);
    o->sets = random->Between(1, 6);
  } else if (size < 90) {
    o->chunks = random->Between(150, 250);
    o->streams = random->Between(6, 10);
    o->sets = random->Between(20, 80);
  } else {
    o->chunks = random->Between(500, 1500);
    o->streams = random->Between(8, 24);
    o->sets = random->Between(50, 300);
  }
  o->most_held = size < 90 ? random->Between(10, 100) : 160;
  o->threads = random->Between(1, std::min<uint32_t>(o->streams, 8));
  o->most_uses = random->Between(1, 8);
  o->budget_percent = random->Between(25, 95);
  o->smallest = random->Between(kMinChunkLog2, kMaxChunkLog2);
  o->largest = random->Between(o->smallest, kMaxChunkLog2);
}

// Which kinds of steps there are at all is drawn first.
void DrawSteps(Random* random, StepShares* s) {
  const auto some = [random](uint32_t most) {
    return random->Chance(400) ? random->Between(1, most) : 0;
  };
  s->copies = some(300);
  s->unknown = some(20);
  s->partial = some(30);
  s->captured = some(50);
  s->fetches = some(40);
  s->evictions = some(40);
  s->pins = some(10);
  s->frees = some(40);
  s->waits = some(60);
  s->foreign = some(5);
  s->queries = some(10);
  s->random_sets = some(200);
  s->mapped = some(random->Chance(500) ? 10 : 800);
}

}  // namespace

WorldOptions WorldOptions::Draw(uint64_t seed) {
  Random random(seed);
  WorldOptions o;
  o.seed = seed;
  DrawSize(&random, &o);
  DrawSteps(&random, &o.steps);
  o.most_think = std::chrono::microseconds(random.Between(2, 100));
  o.most_work = std::chrono::microseconds(random.Between(20, 2000));
  o.deadline = std::chrono::milliseconds(random.Chance(700) ? 20 : random.Between(1, 50));
  o.traced = random.Chance(700);
  o.declared_first = !o.traced && random.Chance(700);
  o.tracked_late = random.Chance(200);
  o.shares_context = random.Chance(100);
  o.follows_writers = o.traced && random.Chance(500);
  o.always_prints = o.follows_writers && random.Chance(500);
  o.policy = random.Chance(500) ? "cost" : "lru";
  o.idle_fetches = random.Chance(700);
  o.blocking_copies = random.Chance(300);
  // Half of the worlds with faults have most of them, half have few.
  const uint32_t each = random.Chance(250) ? 0 : random.Chance(500) ? 200 : 600;
  for (uint32_t i = 0; i < static_cast<uint32_t>(Fault::kCount); ++i) {
    if (random.Chance(each)) o.faults.Add(static_cast<Fault>(i));
  }
  o.fault_rate = random.Between(2, 60);
  o.events = random.Between(5'000, 40'000);
  if (random.Chance(500)) o.steps.given_up = random.Between(1, 200);
  o.knows = o.traced && random.Chance(300);
  return o;
}

const char* SabotageName(Sabotage sabotage) {
  static constexpr const char* kNames[] = {"None",
                                           "RemapUnasked",
                                           "UnmapUnasked",
                                           "CopyNothing",
                                           "CopyNothingIn",
                                           "DropCurrentCopy",
                                           "SayEqual",
                                           "ReleaseOutOfOrder",
                                           "ReleaseEarly",
                                           "ForgetFinished",
                                           "ForgetReleased",
                                           "ForgetInSubmission",
                                           "ForgetSubmissionEnd",
                                           "ForgetRemapped",
                                           "ForgetMapping",
                                           "IgnoreBudget",
                                           "CountTwice",
                                           "IllegalState",
                                           "MoveBesideBarrier",
                                           "ForgetForeign",
                                           "ForgetCopied",
                                           "TrustTooMuch",
                                           "GiveUpUnasked",
                                           "EmptyTooEarly",
                                           "StaysEmpty"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == static_cast<size_t>(Sabotage::kCount));
  return kNames[static_cast<size_t>(sabotage)];
}

}  // namespace vramspan::simulation
