#include "tests/scheduler/simulation/program.h"

#include <algorithm>
#include <array>

namespace vramspan::simulation {

Program::Program(Common* common, ModelMemory* memory, EvictionPolicy* policy)
    : common_(*common), memory_(*memory), policy_(*policy) {
  const WorldOptions& o = common_.options;
  std::vector<int> sizes;
  Bytes total;
  for (uint32_t i = 0; i < o.chunks; ++i) {
    sizes.push_back(static_cast<int>(common_.random.Between(o.smallest, o.largest)));
    total += ChunkBytes(sizes.back());
  }
  memory_.SetBudget(std::max(Bytes(total.value / 100 * o.budget_percent),
                             ChunkBytes(static_cast<int>(o.largest))));
  for (const int log2 : sizes) arrays_.push_back(memory_.Add(log2, &policy_));
  sets_.resize(o.sets);
  for (Set& set : sets_) MakeSet(&set);
  at_.resize(o.threads);
  for (uint32_t& at : at_) at = common_.random.Below(o.sets);
}

void Program::MakeSet(Set* set) {
  const WorldOptions& o = common_.options;
  set->kernel = o.traced && common_.random.Chance(900) ? common_.random.Next() | 1 : 0;
  set->takes = common_.random.Between(Duration(2000), o.most_work);
  const uint32_t likely = common_.random.Between(1, o.most_uses);
  const uint32_t may = o.traced ? common_.random.Below(4) : 0;
  const bool loose = common_.random.Chance(500);
  for (uint32_t i = 0; i < likely + may; ++i) {
    vramspan::Use how{.slot = static_cast<uint16_t>(common_.random.Below(4)),
                      .write = common_.random.Chance(500),
                      .kernels_only = true};
    how.once = common_.random.Chance(50);
    how.part = vramspan::NamedPart::FromCode(static_cast<uint8_t>(common_.random.Below(256)));
    how.possible = i >= likely;
    how.mapped_only = how.possible && loose;
    how.told = how.possible && common_.random.Chance(700);
    set->named.push_back({common_.random.Below(static_cast<uint32_t>(arrays_.size())), how});
  }
}

void Program::TellWhatIsKnown() {
  for (const Set& set : sets_) {
    if (set.kernel == 0 || set.kernel % 4 == 3) continue;
    const bool right = set.kernel % 8 != 5;
    const Duration takes = right ? set.takes : 50 * set.takes;
    common_.scheduler->Know(set.kernel, static_cast<uint64_t>(takes.count()), MiB(256));
    for (uint16_t slot = 0; slot < 4; ++slot) {
      const auto drawn = static_cast<uint32_t>(set.kernel >> (8 * slot + 8));
      common_.scheduler->KnowArgument(set.kernel, {.slot = slot,
                                                   .wide = drawn % 16 == 0,
                                                   .sure = drawn % 4 != 0,
                                                   .passes = drawn % 256 / 32.0});
    }
  }
}

Program::Step Program::NextStep() {
  const StepShares& s = common_.options.steps;
  const std::array<std::pair<uint32_t, Step>, 13> shares = {{{s.copies, Step::kCopy},
                                                             {s.unknown, Step::kUnknown},
                                                             {s.partial, Step::kPartial},
                                                             {s.mapped, Step::kMapped},
                                                             {s.captured, Step::kCaptured},
                                                             {s.fetches, Step::kFetch},
                                                             {s.evictions, Step::kEvict},
                                                             {s.pins, Step::kPin},
                                                             {s.frees, Step::kFree},
                                                             {s.waits, Step::kWait},
                                                             {s.foreign, Step::kForeign},
                                                             {s.queries, Step::kQuery},
                                                             {s.given_up, Step::kGiveUp}}};
  uint32_t drawn = common_.random.Below(1000);
  for (const auto& [share, step] : shares) {
    if (drawn < share) return step;
    drawn -= share;
  }
  return Step::kLaunch;
}

bool Program::Compose(Step step, uint32_t thread, SimWork* work) {
  const WorldOptions& o = common_.options;
  const vramspan::Use no_use{.write = false, .kernels_only = true};
  switch (step) {
    case Step::kCopy: {
      // The driver looks up what it names; each byte once.
      vramspan::Use how;
      how.once = common_.random.Chance(500);
      how.waited = how.once && common_.random.Chance(300);
      UseSome(common_.random.Between(1, 2), how, work);
      work->kernels = false;
      work->duration = std::chrono::microseconds(common_.random.Between(5, 300));
      break;
    }
    case Step::kUnknown:
      // It names nothing: nobody could fetch that for it.
      work->access = Access::kUnknown;
      work->kernels = false;
      work->duration = common_.random.Between(Duration(1000), o.most_work);
      break;
    case Step::kCaptured:
      work->kind = Work::Kind::kCaptured;
      work->access = common_.random.Chance(100) ? Access::kUnknown : Access::kExact;
      UseSome(common_.random.Between(1, 3), {}, work);
      break;
    case Step::kFetch:
    case Step::kEvict:
    case Step::kPin:
      work->kind = step == Step::kFetch   ? Work::Kind::kFetch
                   : step == Step::kEvict ? Work::Kind::kEvict
                                          : Work::Kind::kPin;
      UseSome(common_.random.Between(1, 4), no_use, work);
      break;
    default: {
      Set once;
      const bool random = common_.random.Chance(o.steps.random_sets);
      if (random) MakeSet(&once);
      if (!random && ++at_[thread] >= sets_.size()) at_[thread] = 0;
      Use(random ? once : sets_[at_[thread]], work);
      if (step == Step::kPartial) {
        work->access = Access::kPartial;
        work->kernel = 0;
      }
      work->all_mapped = step == Step::kMapped;
      if (work->all_mapped && !common_.Lies(Sabotage::kTrustTooMuch)) {
        work->access = Access::kMapped;
      }
    }
  }
  if (o.faults.Has(Fault::kLongWork) && common_.random.Chance(1) && common_.faults_on) {
    work->duration = common_.random.Between(o.deadline, 3 * o.deadline);
  }
  if (o.traced && work->kind == Work::Kind::kScope) work->signature = Sequence::Signature(*work);
  return !work->all.empty() || work->access == Access::kUnknown;
}

void Program::Use(const Set& set, SimWork* work) {
  size_t likely = 0, may = 0;
  for (const Named& named : set.named) {
    const ChunkIndex c = arrays_[named.array];
    const bool twice = std::any_of(work->all.begin(), work->all.end(),
                                   [c](const ChunkUse& use) { return use.chunk == c; });
    if (!c || twice) continue;
    work->all.push_back({c, named.how});
    likely += !named.how.possible;
    may += named.how.possible && !named.how.mapped_only;
  }
  work->Split(likely, may);
  if (std::any_of(work->uses.begin(), work->uses.end(), [](const auto& u) { return u.how.once; })) {
    work->ServeOnce();
  }
  work->kernel = set.kernel;
  work->duration = set.takes;
}

void Program::UseSome(uint32_t count, vramspan::Use how, SimWork* work) {
  for (; count != 0; --count) {
    const ChunkIndex c = SomeChunk();
    const bool twice = std::any_of(work->all.begin(), work->all.end(),
                                   [c](const ChunkUse& use) { return use.chunk == c; });
    if (c && !twice) work->all.push_back({c, how});
  }
  work->Split(work->all.size(), 0);
  if (how.once) work->ServeOnce();
}

ChunkIndex Program::SomeChunk() {
  return arrays_[common_.random.Below(static_cast<uint32_t>(arrays_.size()))];
}

bool Program::Reallocate(absl::FunctionRef<bool(ChunkIndex)> in_hand) {
  ChunkIndex& array = arrays_[common_.random.Below(static_cast<uint32_t>(arrays_.size()))];
  if (!array) {
    const WorldOptions& o = common_.options;
    array = memory_.Add(static_cast<int>(common_.random.Between(o.smallest, o.largest)), &policy_);
    return bool{array};
  }
  if (in_hand(array) || memory_[array].pins != 0) return false;
  memory_.Free(array);
  array = ChunkIndex();
  return true;
}

}  // namespace vramspan::simulation
