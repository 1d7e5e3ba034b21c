#include "tests/odd/program.h"

#include <algorithm>
#include <string>

namespace odd {
namespace {

constexpr size_t kChunk = size_t{2} << 20;

std::string Number(size_t n) { return std::to_string(n); }

// By its name. Copies and fills are no code.
bool IsUntried(const Item& item) {
  return item.text.compare(0, 8, "odd_walk") == 0 || item.text.find("_new ") != std::string::npos;
}

}  // namespace

Program::Program(const Machine& machine, uint64_t seed, std::vector<std::string>* log, Met* met)
    : draw_(seed),
      log_(*log),
      met_(*met),
      budget_(draw_.Between(3, 4)),
      runtime_(machine.NewRuntime(budget_ * kChunk, draw_.Percent(50) ? 2'000 : 20'000)),
      memory_(runtime_, &draw_),
      tools_{machine, draw_, memory_},
      streams_(draw_.Between(1, 3)) {
  Say("seed " + std::to_string(seed) + ": room for " + Number(budget_) + " chunks");
  DrawKnown();
}

// Memory is left unmapped where all that runs is proven, so that is the case more often than not.
void Program::DrawKnown() {
  const size_t percent = draw_.Percent(75) ? 100 : 50;
  for (const char* name : {"plain_add", "plain_copy", "plain_sum", "plain_store"}) {
    if (draw_.Percent(percent)) tools_.known.insert(name);
  }
  for (const char* name : {"odd_packed", "odd_in_front", "odd_apart", "odd_halves", "odd_tagged",
                           "odd_page", "odd_table"}) {
    if (draw_.Percent(60)) tools_.known.insert(name);
  }
}

void Program::Run() {
  const size_t arrays = budget_ + draw_.Between(2, 3);
  for (size_t i = 0; i < arrays; ++i) memory_.Allocate();
  Say(Number(arrays) + " arrays");
  // Honest ones first, most often: odd ones find memory unmapped then.
  if (draw_.Percent(85)) {
    const bool tables = draw_.Percent(25);
    for (size_t n = draw_.Between(6, 14); n > 0; --n) {
      Launch(Kind::kHonest);
      if (draw_.Percent(25)) LaunchProven(FoundLaunch(false, false, &tools_));
      if (tables && draw_.Percent(70)) LaunchProven(TableLaunchOf(&tools_));
    }
    // Odd ones come while those run, or when they have run.
    if (draw_.Percent(75)) streams_.Wait();
    Launch(OddKind());
  }
  for (size_t laps = draw_.Percent(70) ? 1 : 2; laps > 0; --laps) {
    for (size_t n = draw_.Between(5, 14); n > 0; --n) Step();
    CheckAll();
  }
  End();
}

void Program::End() {
  const vramspanStatistics s = Statistics();
  met_.evictions += s.evictions;
  met_.fetches += s.fetches;
  met_.untried += s.launches_untried;
  met_.plausible += s.launches_plausible;
  met_.proven += s.launches_proven;
  ++met_.programs;
  DropGraphs();
  memory_.FreeAll();
  ODD_SPAN(vramspanDestroy(runtime_));
}

void Program::Step() {
  ++met_.steps;
  const size_t what = draw_.Below(100);
  if (what < 56) return Launch(SomeKind());
  if (what < 66) return LaunchAgain();
  if (what < 76) return MakeGraph();
  if (what < 80 && !graphs_.empty()) return LaunchGraph(&graphs_[draw_.Below(graphs_.size())]);
  if (what < 84) return Park();
  if (what < 89) return CopyOrFill();
  if (what < 92) return Prefetch();
  if (what < 94) return ChangeBudget();
  if (what < 97) return CheckSome();
  Synchronize();
  const size_t array = memory_.Some();
  Say("free and allocate array " + Number(array));
  DropGraphs();
  launched_.clear();
  tools_.last_table = {};
  memory_.Replace(array);
}

// Half of what is odd is drawn.
Kind Program::SomeKind() { return draw_.Percent(40) ? Kind::kHonest : OddKind(); }

Kind Program::OddKind() {
  if (draw_.Percent(50)) return Kind::kDrawn;
  return draw_.Percent(50) ? Kind::kFound : Kind::kListed;
}

void Program::Launch(Kind kind) {
  const size_t stream = streams_.Some(&draw_);
  launched_.push_back(
      LaunchOfKind(kind, /*captured=*/false, /*lasting=*/draw_.Percent(4), &tools_));
  Submit(launched_.back(), stream);
  ++met_.launches[static_cast<size_t>(kind)];
}

// Unless some of its code is not.
void Program::LaunchProven(const Bundle& bundle) {
  if (std::any_of(bundle.begin(), bundle.end(), IsUntried)) return;
  Submit(bundle, streams_.Some(&draw_));
  ++met_.launches[static_cast<size_t>(Kind::kFound)];
}

// As it was: an earlier one tells all about it.
void Program::LaunchAgain() {
  if (launched_.empty()) return;
  const size_t which = draw_.Below(launched_.size());
  for (size_t n = draw_.Between(1, 3); n > 0; --n) {
    Submit(launched_[which], streams_.Some(&draw_));
    ++met_.again;
  }
}

void Program::Submit(const Bundle& bundle, size_t stream) {
  for (const Item& item : bundle) {
    Say("stream " + Number(stream) + ": " + item.text);
    streams_.Use(stream, item.arrays, &memory_);
    if (IsUntried(item)) CountUnmapped();
    item.submit(streams_[stream]);
    item.effect();
  }
}

// Once a program: nothing is left unmapped for a second after it.
void Program::CountUnmapped() {
  if (counted_) return;
  counted_ = true;
  const size_t unmapped = memory_.Unmapped();
  met_.unmapped += unmapped;
  met_.before_unmapped += unmapped != 0 ? 1 : 0;
}

void Program::CheckSome() {
  const size_t array = memory_.Some();
  Say("check array " + Number(array));
  ODD_CU(cuStreamSynchronize(streams_[memory_[array].last_stream]));
  memory_.CheckWords(array);
}

void Program::CheckAll() {
  Synchronize();
  for (size_t i = 0; i < memory_.size(); ++i) memory_.CheckWords(i);
}

void Program::Synchronize() {
  Say("synchronize");
  ODD_CU(cuCtxSynchronize());
  ODD_SPAN(vramspanTakeBackgroundError(runtime_));
}

vramspanStatistics Program::Statistics() const {
  vramspanStatistics s{};
  s.struct_size = sizeof(s);
  ODD_SPAN(vramspanGetStatistics(runtime_, &s));
  return s;
}

}  // namespace odd
